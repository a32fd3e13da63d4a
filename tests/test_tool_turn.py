"""One reply with tools: which calls are in it, what goes back, what its results look like."""

from __future__ import annotations

import json
from typing import Any

import pytest

from infranode_eval.providers.protocol import Answer
from infranode_eval.team.tools import offered
from infranode_eval.tool_turn import NAMELESS, tool_turn
from tests.team.plays import call, calls

TOOLS = offered(frozenset({"Read", "Bash"}))
READ = call("Read", file_path="/arbeit/x")


def turn(message: Any, finish_reason: str | None = "stop", taken: set[str] | None = None, number: int = 0):
    return tool_turn(Answer(message, finish_reason), TOOLS, number, set() if taken is None else taken)


@pytest.mark.parametrize("wanted, found", [
    ((READ,), [("Read", True)]), ((READ, READ), [("Read", True)] * 2), ((("Read", "{"),), [("Read", False)]),
    ((("Read", "[]"),), [("Read", False)]), ((("Read", ""), READ), [("Read", True), ("Read", True)]),
    ((("Write", {"file_path": "x"}),), [("Write", True)]), (((" Read ", {}),), None)])
def test_native_calls_are_found_in_order_and_unreadable_ones_stay_calls(wanted: tuple, found: list | None) -> None:
    made = turn(calls(*wanted), "tool_calls")
    if found is not None:
        assert [(one.name, one.call is not None) for one in made.calls] == found
    assert len(made.messages(["gut"] * len(wanted))) == len(wanted)


def test_every_result_follows_its_call_and_the_echo_holds_arguments_that_are_json() -> None:
    made = turn(calls(READ, ("Read", "{kaputt")), "tool_calls")
    ids = [entry["id"] for entry in made.echo["tool_calls"]]
    assert [json.loads(entry["function"]["arguments"]) for entry in made.echo["tool_calls"]] == [
        {"file_path": "/arbeit/x"}, {}]
    assert made.messages(["eins", "zwei \ud800"]) == [
        {"role": "tool", "tool_call_id": ids[0], "name": "Read", "content": "eins"},
        {"role": "tool", "tool_call_id": ids[1], "name": "Read", "content": "zwei \ufffd"}]


def test_ids_are_unique_over_a_whole_play() -> None:
    taken: set[str] = set()
    first, second = turn(calls(READ), taken=taken), turn(calls(READ, READ), taken=taken, number=1)
    ids = [one.id for one in (*first.calls, *second.calls)]
    assert len(set(ids)) == 3 and set(ids) == taken


@pytest.mark.parametrize("text", ["Fertig.", "", "  \n", None])
def test_a_reply_without_calls_ends_the_turns_and_never_goes_back_empty(text: str | None) -> None:
    made = turn({"role": "assistant", "content": text})
    assert made.calls == () and made.echo["content"]


def test_calls_in_the_text_are_calls_and_their_results_a_message_of_the_user() -> None:
    text = json.dumps([{"name": "Read", "arguments": {"file_path": "/a"}}, {"name": "Bash", "arguments": {
        "command": "ls"}}])
    made = turn({"role": "assistant", "content": text})
    assert [(one.id, one.name) for one in made.calls] == [(None, "Read"), (None, "Bash")]
    (message,) = made.messages(["eins", "zwei"])
    assert message["role"] == "user" and message["content"].count("Ergebnis von ") == 2
    assert message["content"].index("eins") < message["content"].index("zwei")


def test_a_call_in_the_text_of_a_tool_that_is_not_offered_is_a_text() -> None:
    made = turn({"role": "assistant", "content": '{"name": "Loesche", "arguments": {}}'})
    assert made.calls == ()


def test_a_broken_call_in_the_text_is_told_as_such_unless_it_was_cut_off() -> None:
    text = '{"name": "Read", "arguments": {"file_path": '
    assert [(one.name, one.call) for one in turn({"role": "assistant", "content": text}).calls] == [(NAMELESS, None)]
    assert turn({"role": "assistant", "content": text}, "length").calls == ()


def test_what_the_budget_cut_off_is_not_read() -> None:
    assert turn(calls(READ, ("Read", "")), "length").calls[-1].call is None
    assert turn(calls(READ, ("Read", "{\"file_path\": \"/a")), "length").calls[-1].call is None
