"""A transcript as JSON and back, every reply as it came; and what is none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from infranode_eval.providers.protocol import Answer
from infranode_eval.team.course import Course, answers_of
from infranode_eval.team.manager import Replied
from lm_eval_task.errors import DataError
from tests.team.plays import Until as until
from tests.team.plays import background, calls, create, play, read, run, tiny, used


def test_a_play_reads_back_as_it_was(tmp_path: Path) -> None:
    done = play(tiny(tmp_path), [used(calls(create(), background("a"), run("b"), read("akten/x")), 7), until(1),
                                 calls(("Read", "{")), {"role": "assistant", "content": " Fertig. ", "refusal": None}])
    stored = json.loads(json.dumps(done.course.to_json()))
    assert Course.from_json(stored) == Course(done.course.messages, done.course.replies, done.course.told)
    assert answers_of(stored) == [one.answer for one in done.course.replies]
    assert set(stored["team"]) >= {"sessions", "events", "workflows", "rounds"}


def test_a_reply_stands_twice_only_where_it_went_back_otherwise() -> None:
    said, other = {"role": "assistant", "content": "x"}, {"role": "assistant", "content": "(unlesbar)"}
    course = Course(({"role": "user", "content": "?"}, said, other), (
        Replied(Answer(said, "stop"), "k1"), Replied(Answer({"role": "assistant", "content": ""}, "stop"), "")), {})
    replies = course.to_json()["team"]["replies"]
    assert "reply" not in replies[0] and replies[0]["key"] == "k1" and course.keys == ("k1",)
    assert replies[1]["reply"] == {"role": "assistant", "content": ""} and "key" not in replies[1]
    assert Course.from_json(course.to_json()) == course


@pytest.mark.parametrize("value", [
    {}, {"messages": []}, {"messages": [], "team": {}}, {"messages": 7, "team": {"replies": []}},
    {"messages": [{"role": "assistant"}], "team": {"replies": []}}, {"messages": [], "team": {"replies": [{}]}},
    {"messages": [], "team": []}, {"messages": ["x"], "team": {"replies": []}}])
def test_what_is_no_transcript_is_said_to_be_none(value: dict) -> None:
    with pytest.raises(DataError):
        Course.from_json(value)
