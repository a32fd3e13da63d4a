"""The file of votes: what counts as one, what does not, and when there are enough."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from infranode_eval.db_routing.jury import Jury, Vote, count_votes, invented, read_votes, vote_of
from lm_eval_task.errors import DataError

PROMPT, PANEL = "p" * 64, "q" * 64
A, B, C, D = "fixture-a", "fixture-b", "fixture-c", "fixture-d"


def vote(task: str, model: str, value: bool | None = True, **other: Any) -> Vote:
    return Vote.from_json({"task_id": task, "model": model, "vote": value, "raw": "…", "prompt_sha256": PROMPT,
                           "panel_sha256": PANEL, "time": "2026-12-01T00:00:00Z", **other})


def count(*votes: Vote, tasks: tuple[str, ...] = ("t1",)) -> Jury:
    return count_votes(votes, tasks, PROMPT, PANEL)


THREE = (vote("t1", A), vote("t1", B, False), vote("t1", C))


@pytest.mark.parametrize("votes, expected, why", [
    (THREE, Jury((A, B, C), {"t1": 2}, 0, 0, 0, 0), "three models, two of them confused"),
    (THREE[:2], Jury((), None, 1, 0, 0, 0), "two models are no jury"),
    ((), Jury((), None, 1, 0, 0, 0), "nobody"),
    ((*THREE[:2], vote("t1", A)), Jury((), None, 1, 0, 0, 1), "one model twice is one model"),
    ((*THREE[:2], vote("t1", C, None)), Jury((), None, 1, 0, 1, 0), "null is no vote"),
    ((vote("t1", C, None), *THREE), Jury((A, B, C), {"t1": 2}, 0, 0, 1, 0),
     "null, then a readable one: it was asked again"),
    ((*THREE, vote("t1", A, None)), Jury((A, B, C), {"t1": 2}, 0, 0, 1, 0), "null takes nothing back"),
    ((*THREE, vote("t1", B, True)), Jury((A, B, C), {"t1": 2}, 0, 0, 0, 1), "the first readable vote stands"),
    ((*THREE[:2], vote("t1", C, prompt_sha256="0")), Jury((), None, 1, 1, 0, 0), "another prompt"),
    ((*THREE[:2], vote("t1", C, panel_sha256="0")), Jury((), None, 1, 1, 0, 0), "another panel"),
    ((vote("t1", B, True, panel_sha256="0"), *THREE), Jury((A, B, C), {"t1": 2}, 0, 1, 0, 0),
     "a stale vote does not stand in the way of a new one"),
    ((*THREE, vote("t1", D)), Jury((A, B, C), {"t1": 2}, 0, 0, 0, 0), "a fourth model changes nothing"),
    ((*THREE, vote("gone", A)), Jury((A, B, C), {"t1": 2}, 0, 0, 0, 0), "a question that is not asked"),
])
def test_count_votes(votes, expected, why):
    found = count(*votes)
    assert found == expected, why
    assert found.complete == (expected.votes is not None)


def test_one_question_without_three_votes_leaves_all_incomplete():
    votes = [vote(task, model) for task in ("t1", "t2") for model in (A, B, C)][:-1]
    found = count(*votes, tasks=("t1", "t2"))
    assert (found.complete, found.missing) == (False, 1)


def test_the_jury_is_the_same_for_all_questions():
    """D fills A's gap on t2; with D every question has three votes, but no three models voted on both."""
    votes = [vote("t1", A), vote("t1", B), vote("t1", C), vote("t2", B), vote("t2", C), vote("t2", D)]
    found = count(*votes, tasks=("t1", "t2"))
    assert (found.complete, found.missing) == (False, 0)
    assert count(*votes, vote("t1", D, False), tasks=("t1", "t2")).models == (B, C, D)


def test_no_question_is_no_panel():
    assert not count(*THREE, tasks=()).complete


@pytest.mark.parametrize("text, expected, why", [
    ('{"confusing": true}', True, "as asked"),
    ('```json\n{"confusing": false}\n```', False, "a fence"),
    ('Ich meine: {"confusing": true}', True, "in prose"),
    ('<think>{"confusing": false}</think>{"confusing": true}', True, "reasoning is no vote"),
    ('{"confusing": true} {"confusing": true}', True, "twice the same"),
    ('{"confusing": true} {"confusing": false}', None, "two different"),
    ('{"confusing": "true"}', None, "a text is no truth value"),
    ('{"confusing": 1}', None, "a number neither"),
    ('{"confusing": null}', None, "nothing said"),
    ("true", None, "no object"),
    ("", None, "blank"),
    ('{"confusing": tr', None, "cut"),
])
def test_vote_of_a_reply(text, expected, why):
    assert vote_of({"role": "assistant", "content": text}) is expected, why


def test_file(tmp_path: Path):
    path = tmp_path / "jury.jsonl"
    assert read_votes(path) == (), "no file: nobody has voted"
    path.write_text("".join(json.dumps(one.to_json()) + "\n" for one in THREE), "utf-8")
    assert read_votes(path) == THREE


@pytest.mark.parametrize("change, message", [
    ({"vote": "true"}, '"vote" must be true, false or null'),
    ({"vote": 1}, '"vote" must be true, false or null'),
    ({"model": None}, '"model" of a vote must be a string'),
    ({"panel_sha256": 3}, '"panel_sha256" of a vote must be a string'),
])
def test_broken_lines_are_named(tmp_path: Path, change: dict[str, Any], message: str):
    path = tmp_path / "jury.jsonl"
    path.write_text(json.dumps(THREE[0].to_json()) + "\n" + json.dumps(THREE[1].to_json() | change) + "\n", "utf-8")
    with pytest.raises(DataError, match=message) as error:
        read_votes(path)
    assert error.value.line == 2


def test_votes_without_the_key_or_no_object(tmp_path: Path):
    row = THREE[0].to_json()
    del row["vote"]
    for broken in (row, [row]):
        with pytest.raises(DataError):
            Vote.from_json(broken)


def test_votes_of_tests_are_found():
    real = vote("t1", "qwen3-8b")
    assert invented([*THREE, real]) == list(THREE) and invented([real]) == []
