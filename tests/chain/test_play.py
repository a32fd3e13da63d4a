"""The loop: what is sent back for each shape of a reply, when it asks once more, and how a play ends."""

from __future__ import annotations

import json
from typing import Any

import pytest

from infranode_eval.chain.opening import NO_MORE_CALLS
from infranode_eval.chain.play import BLANK_REPLIES
from infranode_eval.providers.protocol import Answer
from lm_eval_task.errors import EmptyReplyError, RateLimitedError
from tests.chain.plays import (
    check_protocol,
    cut,
    entry,
    native,
    played,
    resource,
    said,
    text_call,
)
from tests.chain.sample_rows import row, task

TOURISM = resource("koeln", "tourism")
GOLD = row("stop")["expect"]["answer"]["value"]
RIGHT = said(GOLD)
CALL = native(entry(*TOURISM, "c1"))
TEXT_CALL = text_call(*TOURISM)


def final_only(text: str) -> Any:
    """Says one thing while calls are allowed, and the right answer when none is."""
    return lambda messages: RIGHT if messages[-1]["content"] == NO_MORE_CALLS else text


# --- the ordinary way -------------------------------------------------------------------------------------------------

def test_a_native_play_sends_results_under_the_ids_of_their_calls() -> None:
    found = played(task("stop"), [CALL, RIGHT])
    system, question, echo, result, answer = found.messages
    assert (system["role"], question) == ("system", {"role": "user", "content": row("stop")["question"]})
    assert echo == CALL
    assert (result["role"], result["tool_call_id"], result["name"]) == ("tool", "c1", "get_city_resource")
    assert json.loads(result["content"])["data"]["payload"]["values"]["ankuenfte"] == GOLD
    assert answer == {"role": "assistant", "content": RIGHT}
    assert (found.kinds, found.course.stop_reason, found.score.outcome) == (["calls", "answer"], "answered", "ok")
    assert all(tools is not None and sampling.tool_choice is None for _, tools, sampling in found.provider.requests)


def test_a_prompted_play_sends_no_tools_and_gets_results_as_text() -> None:
    found = played(task("stop"), [TEXT_CALL, RIGHT], "prompt")
    prompt, echo, result, _ = found.messages
    assert prompt["role"] == "user" and prompt["content"].endswith(row("stop")["question"])
    assert echo == {"role": "assistant", "content": TEXT_CALL}
    header, body = result["content"].split("\n")
    assert result["role"] == "user"
    assert header == 'Ergebnis von get_city_resource(slug="koeln", resource="tourism"):'
    assert json.loads(body)["data"]["payload"]["values"]["ankuenfte"] == GOLD
    assert {tools for _, tools, _ in found.provider.requests} == {None}
    assert found.score.outcome == "ok"


@pytest.mark.parametrize("mode", ["native", "prompt"])
def test_several_calls_in_a_reply_are_one_turn_and_are_answered_in_order(mode: str) -> None:
    names = ["bonn", "koeln", "dresden"]
    script = {"native": native(*(entry("weather", {"slug": slug}, f"c{slug}") for slug in names)),
              "prompt": json.dumps([{"name": "weather", "arguments": {"slug": slug}} for slug in names])}[mode]
    found = played(task("compare"), [script, said(row("compare")["expect"]["answer"]["value"])], mode)
    assert found.kinds == ["calls", "answer"]
    assert found.requests == [f"/cities/{slug}/weather" for slug in names]
    assert found.score.outcome == "ok"
    check_protocol(found.messages[:-1])


# --- what each reply is taken for -------------------------------------------------------------------------------------

ANSWER_CUT = '{"antwort": 12, "quelle": "amtl'
CALL_CUT = '{"name": "weather", "arguments": {"slug": "bo'
REPLIES: list[tuple[str, str, Any, list[str], str, str]] = [
    # (mode, what, the first reply, kinds of all turns, stop reason, why)
    ("both", "an answer at once", RIGHT, ["answer"], "answered", "nothing forces a call"),
    ("both", "an answer in a fence", f"```json\n{RIGHT}\n```", ["answer"], "answered", "a format note"),
    ("both", "an answer in prose", f"Also: {RIGHT}", ["answer"], "answered", "a format note"),
    ("both", "an answer that was cut behind its object", cut(f"{RIGHT} Und noch"), ["answer"], "answered",
     "the object is whole"),
    ("both", "prose", f"Es waren {GOLD}.", ["silent", "final"], "answered_late", "no object, so it is asked for"),
    ("both", "two different objects", said(1) + said(2), ["silent", "final"], "answered_late", "which one?"),
    ("both", "the same object twice", f"{RIGHT}\n{RIGHT}", ["answer"], "answered", "says one thing"),
    ("both", "thoughts in the text", f"<think>hm</think>{RIGHT}", ["answer"], "answered", "closed reasoning"),
    ("both", "thoughts that never close", f"<think>{RIGHT}", ["truncated"], "truncated", "nothing outside them"),
    ("both", "thoughts alone", {"role": "assistant", "content": "", "reasoning_content": "Hm."},
     ["silent", "final"], "answered_late", "it answered, though nothing reached us"),
    ("both", "a refusal", {"role": "assistant", "content": None, "refusal": "Das darf ich nicht."},
     ["silent", "final"], "answered_late", "text as well"),
    ("both", "prose that was cut", cut("Zunächst sehe ich"), ["truncated"], "truncated", "neither call nor answer"),
    ("both", "nothing that was cut", cut(""), ["truncated"], "truncated", "all tokens went into thoughts"),
    ("both", "an answer that was cut", cut(ANSWER_CUT), ["truncated"], "truncated", "neither call nor answer"),
    ("both", "an answer that is no JSON", ANSWER_CUT, ["silent", "final"], "answered_late", "an answer is no call"),
    ("prompt", "a call that is no JSON", CALL_CUT, ["unreadable", "answer"], "answered", "costs a turn"),
    ("native", "a call in text that is no JSON", CALL_CUT, ["unreadable", "answer"], "answered", "costs a turn"),
    ("native", "a call in text", TEXT_CALL, ["calls", "answer"], "answered", "recovered"),
    ("prompt", "a native call", CALL, ["calls", "answer"], "answered", "some servers make one of the text"),
    ("native", "an entry without a function", native({"id": "c1", "type": "function"}), ["unreadable", "answer"],
     "answered", "there is nothing to answer"),
    ("native", "a call named by nothing", native(entry("", {}, "c1")), ["unreadable", "answer"], "answered",
     "it has an id, so it has a result"),
    ("native", "a malformed call", Answer({"role": "assistant", "content": ""}, "malformed_function_call"),
     ["unreadable", "answer"], "answered", "Gemini's way to say it"),
    ("both", "the word null", "null", ["silent", "final"], "answered_late", "no object"),
    ("both", "an empty list", "[]", ["silent", "final"], "answered_late", "a readable: no call"),
    ("both", "another object", '{"ergebnis": 12}', ["silent", "final"], "answered_late", "has not the key"),
]
CASES = [(mode, *case[1:]) for case in REPLIES for mode in (("native", "prompt") if case[0] == "both" else case[:1])]


@pytest.mark.parametrize(("mode", "what", "reply", "kinds", "stop_reason", "why"), CASES,
                         ids=[f"{case[0]}: {case[1]}" for case in CASES])
def test_what_a_reply_is_taken_for(mode: str, what: str, reply: Any, kinds: list[str], stop_reason: str,
                                   why: str) -> None:
    found = played(task("stop"), [reply, RIGHT], mode)
    assert (found.kinds, found.course.stop_reason) == (kinds, stop_reason), why
    assert not found.score.failed
    check_protocol(found.messages[:-1])


@pytest.mark.parametrize("mode", ["native", "prompt"])
def test_an_answer_beside_a_call_is_ignored_and_labelled(mode: str) -> None:
    first = native(entry(*TOURISM, "c1"), content=said(1)) if mode == "native" else f"{TEXT_CALL}\n{said(1)}"
    found = played(task("stop"), [first, RIGHT], mode)
    assert (found.kinds, found.score.outcome) == (["calls", "answer"], "ok")
    assert "answer_with_call" in found.score.labels
    plain = played(task("stop"), [native(entry(*TOURISM, "c1"), content="Ich will die Frage beantworten.")
                                  if mode == "native" else f"Zur Beantwortung:\n{TEXT_CALL}", RIGHT], mode)
    assert "answer_with_call" not in plain.score.labels, "a word that holds the key is no answer"


def test_a_broken_call_beside_a_readable_one_in_text_is_told_so() -> None:
    found = played(task("stop"), [f'{TEXT_CALL}\n{{"name": "weather", "argum', RIGHT], "prompt")
    assert found.codes == [None, "unreadable_call"]
    assert found.messages[2]["content"].split("\n")[2] == "Ergebnis von (unlesbar):"
    assert found.score.parsed is False
    check_protocol(found.messages[:-1])


# --- asking once more -------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("mode", ["native", "prompt"])
def test_blank_replies_are_asked_for_again_and_kept(mode: str) -> None:
    blank = Answer({"role": "assistant", "content": " \n"}, "stop")
    found = played(task("stop"), [blank, CALL if mode == "native" else TEXT_CALL, blank, blank, RIGHT], mode)
    assert found.kinds == ["blank", "calls", "blank", "blank", "answer"]
    assert (found.score.outcome, found.score.details["evidence_turn"]) == ("ok", 2)
    check_protocol(found.messages[:-1])


@pytest.mark.parametrize("script", [[""] * BLANK_REPLIES, [CALL, *[""] * BLANK_REPLIES],
                                    ["Hm.", *[""] * BLANK_REPLIES]], ids=["first", "later", "last"])
def test_replies_that_stay_blank_are_a_failure(script: list[Any]) -> None:
    with pytest.raises(EmptyReplyError, match="3 replies in a row were blank"):
        played(task("stop"), script)


def test_what_the_provider_raises_goes_through() -> None:
    with pytest.raises(RateLimitedError):
        played(task("stop"), [CALL, RateLimitedError("later")])


# --- the end ----------------------------------------------------------------------------------------------------------

def test_the_finalisation_forbids_calls_and_keeps_the_tools() -> None:
    found = played(task("stop"), [CALL, "Fertig.", RIGHT])
    assert found.messages[-2] == {"role": "user", "content": NO_MORE_CALLS}
    choices = [(tools is not None, sampling.tool_choice) for _, tools, sampling in found.provider.requests]
    assert choices == [(True, None), (True, None), (True, "none")]
    assert (found.course.stop_reason, found.score.outcome) == ("answered_late", "ok")


def test_the_finalisation_of_a_prompted_play_is_a_message_only() -> None:
    found = played(task("stop"), final_only("Fertig."), "prompt")
    assert [(tools, sampling.tool_choice) for _, tools, sampling in found.provider.requests] == [(None, None)] * 2
    assert found.messages[-2]["content"] == NO_MORE_CALLS


@pytest.mark.parametrize(("last", "stop_reason", "why"), [
    (RIGHT, "answered_late", "an answer is an answer"),
    (CALL, "max_turns", "a call is not executed"),
    (native(entry(*TOURISM, "c9"), content=RIGHT), "answered_late", "nor where an answer stands beside it"),
    ("Keine Ahnung.", "max_turns", "nothing that could be read"),
    (cut(ANSWER_CUT), "max_turns", "the budget forced it"),
])
def test_used_up_turns_force_an_answer(last: Any, stop_reason: str, why: str) -> None:
    turns = row("stop")["max_turns"]
    found = played(task("stop"), [CALL] * turns + [last])
    assert found.kinds == ["calls"] * turns + ["final"]
    assert found.course.stop_reason == stop_reason, why
    assert len(found.course.calls) == turns
    check_protocol(found.messages[:-1])


def test_unreadable_calls_use_turns_up_as_well() -> None:
    turns = row("stop")["max_turns"]
    found = played(task("stop"), final_only(CALL_CUT), "prompt")
    assert found.kinds == ["unreadable"] * turns + ["final"]
    assert (found.course.stop_reason, found.score.outcome) == ("answered_late", "no_evidence")
    assert found.score.parsed is False


def test_there_is_one_finalisation_and_no_more() -> None:
    found = played(task("stop"), ["Hm.", "Hm."])
    assert found.kinds == ["silent", "final"]
    assert (found.course.stop_reason, found.score.outcome) == ("no_answer", "no_answer")


# --- the same replies give the same requests --------------------------------------------------------------------------

@pytest.mark.parametrize("mode", ["native", "prompt"])
def test_the_same_replies_give_the_same_messages(mode: str) -> None:
    script = [CALL if mode == "native" else TEXT_CALL, CALL_CUT, "Hm.", RIGHT]
    one, other = (played(task("stop"), script, mode) for _ in range(2))
    assert list(one.messages) == list(other.messages)
    assert one.course == other.course
