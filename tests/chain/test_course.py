"""A play as it is stored: what its JSON holds, what it needs to be read again, and what is told of a broken one."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

import pytest

from infranode_eval.chain.course import KINDS, STOP_REASONS, Course, Executed, answers_of
from infranode_eval.providers.protocol import Answer
from infranode_eval.suites import chain
from lm_eval_task.errors import DataError
from lm_eval_task.records import Call
from tests.chain.plays import TOOLS, entry, native, played, resource, said, setup
from tests.chain.sample_rows import task

TOURISM = resource("koeln", "tourism")
SCRIPTS: list[tuple[str, list[Any]]] = [
    ("an answer", [native(entry(*TOURISM, "a")), said(1)]),
    ("every kind of call", [native(entry(*TOURISM, "a"), entry("weather", "{", "b"), entry("wetter", {}, "c")), "",
                            Answer({"role": "assistant", "content": "Hm."}, "stop", {"total_tokens": 3}, 0.5, "m",
                                   "end_turn", ("no_seed",), "router"), said(1)]),
    ("odd letters", [native(entry("wea\ud800ther", '{"a": "\\ud800\\u0000"}', "a")), said("\ud800")]),
    ("the last without an answer", ["Hm.", "Hm."]),
    ("cut", [Answer({"role": "assistant", "content": "Hm"}, "length")]),
]


def stored(course: Course) -> tuple[dict[str, Any], dict[str, str]]:
    """As a results file gives it back."""
    return tuple(json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "backslashreplace"))
                 for value in (course.to_json(), course.bodies()))


@pytest.mark.parametrize(("what", "script"), SCRIPTS, ids=[case[0] for case in SCRIPTS])
@pytest.mark.parametrize("mode", ["native", "prompt"])
def test_a_play_is_read_as_it_was_written(mode: str, what: str, script: list[Any]) -> None:
    found = played(task("stop"), script, mode)
    value, bodies = stored(found.course)
    again = Course.from_json(value, bodies)
    assert again == found.course
    assert again.responses == found.course.responses and again.calls == found.course.calls
    assert answers_of(value) == [turn.answer for turn in found.course.turns]
    assert {turn["kind"] for turn in value["turns"]} <= set(KINDS) and value["stop_reason"] in STOP_REASONS
    rescored = chain.rescore(task("stop"), {"transcript": value}, bodies, TOOLS, mode)
    assert rescored == found.score


def test_results_stand_once_under_their_hash() -> None:
    call = entry(*TOURISM)
    found = played(task("stop"), [native(call, call, call), native(call), said(1)])
    value, bodies = stored(found.course)
    keys = [one["body"] for turn in value["turns"] for one in turn["executed"]]
    assert len(keys) == 4 and set(keys) == set(bodies)
    for key, text in bodies.items():
        assert sha256(text.encode()).hexdigest() == key
    assert "Übernachtungen" not in json.dumps(value) and "uebernachtungen" not in json.dumps(value)


def test_a_stored_result_is_whole_whatever_the_model_saw() -> None:
    found = played(task("stop"), [native(entry(*TOURISM, "a")), said(1)], max_result_chars=40)
    (text,) = found.course.bodies().values()
    assert found.messages[3]["content"] == f"{text[:40]}…[gekürzt: 40 von {len(text)} Zeichen]"
    assert json.loads(text)["data"]["payload"]


def test_a_live_play_keeps_what_the_gold_needed() -> None:
    course = Course((), "answered", {"answer": {"type": "number", "value": 1}, "must_call": {"req": "/x"}},
                    {"/x": (200, '{"data":1}')})
    value, bodies = stored(course)
    assert value["world"] == {"/x": [200, sha256(b'{"data":1}').hexdigest()]}
    assert Course.from_json(value, bodies) == course


GOOD, BODIES = stored(played(task("stop"), [native(entry(*TOURISM, "a")), said(1)]).course)


def without(key: str) -> dict[str, Any]:
    turn = {name: value for name, value in GOOD["turns"][0].items() if name != key}
    return {**GOOD, "turns": [turn]}


@pytest.mark.parametrize(("value", "bodies", "said_", "why"), [
    (GOOD, {}, '"bodies" lacks the result', "a result that is gone"),
    ({"stop_reason": "answered"}, BODIES, "cannot be read", "no turns"),
    ({"turns": []}, BODIES, "cannot be read", "no reason"),
    ({"turns": None, "stop_reason": "answered"}, BODIES, "cannot be read", "null for turns"),
    ({"turns": ["x"], "stop_reason": "answered"}, BODIES, "cannot be read", "a text for a turn"),
    ({"turns": [None], "stop_reason": "answered"}, BODIES, "cannot be read", "null for a turn"),
    (without("reply"), BODIES, "cannot be read", "no reply"),
    (without("executed"), BODIES, "cannot be read", "no results"),
    (without("kind"), BODIES, "cannot be read", "no kind"),
    ({**GOOD, "world": {"/x": [200, "nowhere"]}}, BODIES, "cannot be read", "an answer of the world that is gone"),
    ({**GOOD, "world": {"/x": 5}}, BODIES, "cannot be read", "an answer that is none"),
    ({**GOOD, "world": []}, BODIES, "cannot be read", "no object"),
    ({**GOOD, "turns": [{**GOOD["turns"][0], "executed": [5]}]}, BODIES, "cannot be read", "a number for a result"),
    ({**GOOD, "turns": [{**GOOD["turns"][0], "executed": [{**GOOD["turns"][0]["executed"][0], "call": {"name": 5}}]}]},
     BODIES, "a call is", "a call that is none"),
    ([], BODIES, "cannot be read", "a list"),
    (None, BODIES, "cannot be read", "null"),
])
def test_a_broken_transcript_is_told(value: Any, bodies: dict[str, str], said_: str, why: str) -> None:
    with pytest.raises(DataError, match=said_):
        Course.from_json(value, bodies)


@pytest.mark.parametrize("text", ["{", "", "[]", "null"])
def test_a_result_that_somebody_changed_is_told(text: str) -> None:
    key = next(iter(BODIES))
    with pytest.raises(DataError, match="is no answer of the world"):
        chain.rescore(task("stop"), {"transcript": GOOD}, {key: text}, TOOLS, "native")


def test_a_result_without_a_request_is_none_of_the_world() -> None:
    assert Executed(Call("weather", {}), '{"error":{}}').response is None
    assert Executed(None, '{"error":{}}', "a").to_json()["call"] is None
    assert setup().mode == "native"
