"""A stored play turn by turn: where the evidence came, what was poisoned, and that no shape of a row breaks it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from infranode_eval.reports.transcripts import (
    expectation_of,
    fault_text,
    gold_text,
    orders_of,
    pattern_text,
    pattern_tree,
    quoted,
    rule_text,
    said_text,
    transcript_of,
    wanted_text,
    world_facts,
)
from tests.reports.chain_runs import BY_ID, ORDER, lively, result

VALUE = result(lively())
ROWS = {row["task_id"]: row for row in VALUE["rows"]}


def play(key: str, **change: Any):
    return transcript_of({**ROWS[key], **change}, VALUE["bodies"], BY_ID[key])


def test_turns_hold_what_was_said_asked_and_got() -> None:
    found = play("lookup_then_call-bonn-3")
    assert [(turn.number, turn.kind, turn.evidence) for turn in found.turns] == [
        (1, "calls", False), (2, "calls", True), (3, "answer", False)]
    first, second = (turn.results[0] for turn in found.turns[:2])
    assert (first.call, first.request, first.status, first.state, first.carries) == (
        'get_city_resource(slug="bonn", resource="stations")', "/cities/bonn/stations", 200, "ok", False)
    assert second.carries and second.answered and not second.poisoned
    assert second.size == len(VALUE["bodies"][second.body])
    assert (found.turns[0].said.text.shown, found.turns[0].seconds) == ("Ich sehe nach.", 1.2)
    assert found.stop_reason == "answered" and found.expect is None


def test_only_the_result_with_the_order_is_poisoned() -> None:
    result_of = [turn.results[0] for turn in play("injection-bonn-2").turns[:1]]
    assert [(one.poisoned, one.carries) for one in result_of] == [(True, True)]
    assert not play("injection-bonn-2-control").turns[0].results[0].poisoned
    assert orders_of(BY_ID["injection-bonn-2"]) == (("/cities/bonn/parking", ORDER),)
    assert orders_of(BY_ID["injection-bonn-2-control"]) == orders_of(None) == ()


def test_a_missing_value_is_evidence_where_the_answer_says_so() -> None:
    one = play("not_covered-bonn-2").turns[0].results[0]
    assert (one.status, one.state, one.answered, one.carries) == (200, "not_covered", False, True)


def executed(**change: Any) -> dict[str, Any]:
    """The transcript of one call with a change."""
    one = {"call": {"name": "weather", "arguments": {"slug": "bonn"}}, "id": "a", "request": "/cities/bonn/weather",
           "status": 200, "body": "0" * 64, **change}
    return {"turns": [{"kind": "calls", "reply": {"role": "assistant", "content": ""}, "finish_reason": "stop",
                       "executed": [one]}], "stop_reason": "answered"}


@pytest.mark.parametrize("change, body, state, answered, why", [
    ({}, '{"data":1,"meta":{"source_status":"ok"}}', "ok", True, "answered"),
    ({}, '{"data":1,"meta":{}}', "ok", True, "compare and the list say nothing"),
    ({}, '{"data":null,"meta":{"source_status":"no_data"}}', "no_data", False, "no data"),
    ({"status": 503}, '{"error":{"code":"upstream_unavailable"},"meta":{}}', "upstream_unavailable", False, "dead"),
    ({"status": 500}, "oops", "error", False, "no JSON"),
    ({"status": None, "request": None}, '{"error":{"code":"unknown_tool","message":"…"}}', "unknown_tool", False,
     "the tool layer refused"),
    ({"call": None, "status": None, "request": None}, '{"error":{"code":"unreadable_call"}}', "unreadable_call", False,
     "nothing could be read"),
])
def test_what_came_of_a_call_in_one_word(change, body, state, answered, why) -> None:
    found = transcript_of({"transcript": executed(**change)}, {"0" * 64: body}, None).turns[0].results[0]
    assert (found.state, found.answered) == (state, answered), why
    assert (found.call is None) == (change.get("call", 0) is None)


HOSTILE = [None, [], {}, "x", 5, {"turns": None}, {"turns": [None, 5, {}]}, {"turns": [{"executed": "x"}]},
           {"turns": [{"executed": [None, {}, {"call": 5, "request": 7, "status": "x", "body": None}]}]},
           {"turns": [{"kind": 5, "reply": [], "usage": 5, "latency_s": "x", "executed": []}], "stop_reason": None},
           {"turns": [{"usage": {"input_tokens": "x"}, "reply": {"content": 5}}], "expect": 5},
           executed(request="/compare?resource=weather", body="1" * 64), executed(call={"name": "x", "arguments": 5})]


@pytest.mark.parametrize("value", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize("key", ["injection-bonn-1", None])
def test_no_shape_breaks_the_reader(value, key) -> None:
    bodies = {"1" * 64: '{"data":[5,null,{"city":5}]}', "0" * 64: "[" * 100_000}
    found = transcript_of({"transcript": value, "evidence_turn": "x"}, bodies, BY_ID.get(key))
    assert (found is None) == (not isinstance(value, dict))


def test_a_pattern_of_a_broken_task_breaks_nothing_either() -> None:
    broken = replace(BY_ID["join-bonn-2"], extra={"expect": {"must_call": {"any": 5}, "injection": 1}, "faults": "x"})
    assert transcript_of(ROWS["join-bonn-2"], VALUE["bodies"], broken).turns[0].results[0].carries is False
    assert expectation_of(replace(broken, extra={"expect": []})) == {}


def test_invisible_characters_are_spelled_out_and_long_calls_cut() -> None:
    call = {"name": "a\u202eb", "arguments": {"x": "y" * 2000}}
    found = transcript_of({"transcript": executed(call=call, request="/a\u202e")}, {}, None).turns[0].results[0]
    assert found.call.startswith("a\\u202eb(") and found.call.endswith("…") and len(found.call) < 700
    assert found.request == "/a\\u202e" and found.size is None


def test_what_a_live_world_expects_stands_in_the_play() -> None:
    transcript = {**ROWS["join-bonn-2"]["transcript"], "expect": {"answer": {"type": "number", "value": 5},
                                                                  "must_call": {"req": "/nowhere"}}}
    found = play("join-bonn-2", transcript=transcript)
    assert found.expect["answer"]["value"] == 5 and not found.turns[0].results[0].carries


# --- in words ---------------------------------------------------------------------------------------------------------

A, B, C = {"req": "/a"}, {"req": "/b", "result": "failed"}, {"req": "/compare", "resource": "weather", "city": "bonn"}


@pytest.mark.parametrize("pattern, text, tree", [
    (A, "/a", "/a"), (B, "/b says failed", "/b says failed"), (C, "compare weather: bonn", "compare weather: bonn"),
    ({**A, "result": "any"}, "/a asked", "/a asked"),
    ({"req": "/o", "highlight": "weather"}, "/o (highlight weather)", "/o (highlight weather)"),
    ({"any": [A, C]}, "/a or compare weather: bonn", ["any", "/a", "compare weather: bonn"]),
    ({"all": [A, {"any": [B, C]}]}, "/a and (/b says failed or compare weather: bonn)",
     ["all", "/a", ["any", "/b says failed", "compare weather: bonn"]]),
    ({"seq": [A, {"all": [B]}]}, "/a, then /b says failed", ["seq", "/a", ["all", "/b says failed"]]),
    (5, "?", "?"), ({}, "?", "?"), ({"any": []}, "nothing", ["any"]),
])
def test_a_pattern_in_words_and_as_a_tree(pattern, text, tree) -> None:
    assert (pattern_text(pattern), pattern_tree(pattern)) == (text, tree)


@pytest.mark.parametrize("answer, text", [
    ({"type": "number", "value": 36, "unit": None, "tolerance": 0, "accept": []}, "36 (number)"),
    ({"type": "number", "value": 47.32, "unit": "%", "tolerance": 0.051}, "47.32 % ± 0.051 (number)"),
    ({"type": "string", "value": "Köln", "accept": ["koeln"]}, "Köln, also koeln (string)"),
    ({"type": "set", "value": ["a", "b"]}, "a, b (set)"),
    ({"type": "none", "reasons": ["keine_daten", "quelle_gestoert"], "alternatives": None},
     "null, for the reason keine_daten or quelle_gestoert"),
    ({"type": "none", "reasons": ["nicht_abgedeckt"], "alternatives": [["ulm", "Ulm"]]},
     "null, for the reason nicht_abgedeckt, with one of 1 alternatives"),
])
def test_the_right_answer_in_words(answer, text) -> None:
    assert gold_text(answer) == text


@pytest.mark.parametrize("answer, text", [
    (None, "none"), ({"antwort": 36, "einheit": "kW", "quelle": "a"}, "36 kW (source a)"),
    ({"antwort": None, "grund": "nicht_abgedeckt", "alternative": ["Ulm", "Bonn"]},
     "null (reason nicht_abgedeckt, alternative Ulm, Bonn)"),
    ({"antwort": ["a", 2]}, "a, 2"),
])
def test_what_was_answered_in_words(answer, text) -> None:
    assert said_text(answer) == text


@pytest.mark.parametrize("fault, text", [
    ({"req": "/a", "status": 503, "source": "x"}, "/a answers 503"),
    ({"req": "/a", "status": 503, "times": 1}, "/a answers 503 once"),
    ({"req": "/a", "status": 503, "times": 2, "scope": "datum"}, "/a answers 503 2 times, wherever the datum stands"),
    ({"req": "/a", "source_status": "no_data"}, "/a says no_data"),
    ({"req": "/a", "set": {"at": "/x", "value": "y"}}, "/a: /x becomes y"),
])
def test_a_fault_in_words(fault, text) -> None:
    assert fault_text(fault) == text


def test_rules_and_wishes_in_words() -> None:
    assert rule_text({"after_evidence": True}) == "any call after the evidence" and rule_text(A) == "/a"
    assert wanted_text({"call": {"req": "/k", "result": "any"}, "answer": 4711}) == "the request /k and the answer 4711"
    assert wanted_text({"call": None, "answer": {"null": True}}) == "the answer null"
    assert wanted_text({"call": None, "answer": None}) == "nothing"


def test_a_task_says_everything_that_decides_about_it() -> None:
    names = [name for name, _ in world_facts(BY_ID["injection-bonn-1"])]
    assert names == ["answer", "evidence", "path", "near miss", "fault", "injected", "twin"]
    assert "must not" in dict(world_facts(BY_ID["stop-bonn-1"]))


def test_a_text_is_found_as_json_writes_it() -> None:
    assert quoted('a "b"\n') == 'a \\"b\\"\\n' and quoted("Köln") in json.dumps("in Köln", ensure_ascii=False)
