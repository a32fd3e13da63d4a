"""Replies that no one should send: every call is still answered once, the world is never left, nothing is raised."""

from __future__ import annotations

import json
from typing import Any

import pytest

from infranode_eval.chain.course import Course
from infranode_eval.chain.scoring import score_play
from infranode_eval.chain.tasks import ChainTask
from infranode_eval.chain.toolbox import MOST_CALLS
from infranode_eval.providers import anthropic, gemini, openai_chat, responses
from infranode_eval.providers.protocol import Answer
from lm_eval_task.tools import read_tools
from tests.chain.plays import check_protocol, entry, native, played, resource, said, text_call
from tests.chain.sample_rows import row, task

TOURISM = resource("koeln", "tourism")
BONN = {"slug": "bonn"}
RIGHT = said(row("stop")["expect"]["answer"]["value"])
OK, BROKEN = None, "unreadable_call"
LONG = "x" * 1_000_000


def deep(levels: int) -> Any:
    found: Any = "x"
    for _ in range(levels):
        found = {"a": found}
    return found


def tool_use(name: Any, given: Any, **more: Any) -> dict[str, Any]:
    return {"type": "tool_use", "name": name, "input": given, **more}


ENTRIES: list[tuple[str, dict[str, Any], list[str | None], str]] = [
    # (what, message, the error code of each result, why)
    ("no ids", native(entry(*TOURISM), entry(*TOURISM)), [OK, OK], "ids are made"),
    ("equal ids", native(entry(*TOURISM, "a"), entry(*TOURISM, "a")), [OK, OK], "the second gets one of its own"),
    ("ids that are none", native(entry(*TOURISM, 7), entry(*TOURISM, ""), entry(*TOURISM, ["a"])), [OK] * 3,
     "no texts"),
    ("an id like ours", native(entry(*TOURISM, "call_0_1"), entry(*TOURISM)), [OK, OK], "must not be made twice"),
    ("broken arguments beside good ones", native(entry("weather", '{"slug": "bo', "a"), entry(*TOURISM, "b"),
                                                 entry("weather", "[1]", "c")), [BROKEN, OK, BROKEN],
     "the good one is executed, the others are told so"),
    ("an entry without a function beside a good one",
     native({"id": "x"}, entry(*TOURISM, "b"), {"function": 7}, 3, None), [OK], "what has no function is no call"),
    ("a function that is a list", native({"id": "a", "function": ["weather"]}), [BROKEN], "nothing to answer"),
    ("names that are no texts", native(entry(None, {}, "a"), entry({"a": 1}, {}, "b")), [BROKEN, BROKEN], "no name"),
    ("a name of blanks", native(entry("  ", {}, "a")), [BROKEN], "no name either"),
    ("a name with lines", native(entry("weather\nErgebnis von x:\n{}", {"slug": "bonn"}, "a")), ["unknown_tool"],
     "no such tool"),
    ("a name of any letters", native(entry("wetter in köln?!", {}, "a")), ["unknown_tool"], "made acceptable"),
    ("a leaked prefix", native(entry("functions.weather", {"slug": "bonn"}, "a")), [OK], "read as the tool"),
    ("a hundred calls", native(*[entry(*TOURISM, f"c{i}") for i in range(100)]),
     [OK] * MOST_CALLS + ["budget"] * (100 - MOST_CALLS), "each is answered, not each executed"),
    ("an unknown tool", native(entry("delete_city", {"slug": "bonn"}, "a")), ["unknown_tool"], "the tools are named"),
    ("a missing argument", native(entry("get_city_resource", {"slug": "bonn"}, "a")), ["invalid_arguments"], ""),
    ("null arguments", native(entry("get_city_resource", {"slug": None, "resource": None}, "a")), ["invalid_arguments"],
     "null is missing"),
    ("null for all arguments", native({"id": "a", "function": {"name": "list_cities", "arguments": None}}), [OK],
     "nothing is needed"),
    ("wrong types", native(entry("weather", {"slug": 5}, "a"), entry("weather", {"slug": ["bonn"]}, "b"),
                           entry("weather", {"slug": {"a": 1}}, "c"), entry("weather", {"slug": True}, "d")),
     ["invalid_arguments"] * 4, "a slug is a text"),
    ("a parameter that does not exist", native(entry("weather", {"slug": "bonn", "unit": "F"}, "a")),
     ["invalid_arguments"], ""),
    ("a megabyte as slug", native(entry("weather", {"slug": LONG}, "a")), ["not_found"], "the API does not know it"),
    ("a megabyte as name", native(entry(LONG, {}, "a")), ["unknown_tool"], "shortened in the answer"),
    ("a megabyte beside a call", native(entry(*TOURISM, "a"), content=LONG), [OK], "text is text"),
    ("half a pair as slug", native(entry("weather", '{"slug": "a\\ud800"}', "a")), ["invalid_arguments"], "no URL"),
    ("half a pair as tool", native(entry("we\ud800ather", {}, "a")), ["unknown_tool"], "not sent back"),
    ("half a pair beside a call", native(entry(*TOURISM, "a"), content="a\ud800"), [OK], ""),
    ("a deep argument", native(entry("weather", {"slug": deep(150)}, "a")), ["invalid_arguments"], "no text"),
    ("a deeper one", native(entry("weather", '{"slug": ' + '{"a":' * 5_000 + "1" + "}" * 5_001, "a")), [BROKEN],
     "nobody reads that"),
    ("a key twice", native(entry("weather", '{"slug": "bonn", "slug": "koeln"}', "a")), [BROKEN], "says two things"),
    ("NaN", native(entry("weather", '{"slug": NaN}', "a")), [BROKEN], "no JSON"),
    ("a number without end", native(entry("weather", '{"slug": ' + "9" * 5_000 + "}", "a")), [BROKEN], "too long"),
    ("the older spelling", {"role": "assistant", "content": None,
                            "function_call": {"name": "weather", "arguments": '{"slug": "bonn"}'}}, [OK], "one call"),
    ("both spellings", native(entry("weather", {"slug": "bonn"}, "a"),
                              function_call={"name": "weather", "arguments": '{"slug": "bonn"}'}), [OK], "one call"),
    ("one entry without a list", {"role": "assistant", "tool_calls": entry("weather", BONN, "a")}, [OK], "one call"),
    ("arguments as an object", native({"id": "a", "function": {"name": "weather", "arguments": BONN}}), [OK],
     "as Ollama has them"),
    ("the older spelling and blocks", {"role": "assistant", "content": "Hm", "output": [
        tool_use("weather", BONN, id="b")], "function_call": {"name": "list_cities", "arguments": "{}"}}, [OK, OK],
     "two shapes at once"),
    ("a call without a function in a second list", {"role": "assistant", "content": [tool_use("weather", BONN, id="a")],
                                                    "parts": [{"functionCall": [1]}]}, [OK], "would wait for a result"),
    ("blocks and entries", native(entry("weather", {"slug": "bonn"}, "a"),
                                  content=[{"type": "text", "text": "Hm"}, tool_use("weather", BONN, id="b")]),
     [OK, OK], "two shapes at once"),
]


@pytest.mark.parametrize(("what", "message", "codes", "why"), ENTRIES, ids=[case[0] for case in ENTRIES])
@pytest.mark.parametrize("mode", ["native", "prompt"])
def test_every_entry_has_exactly_one_result(mode: str, what: str, message: dict[str, Any], codes: list[str | None],
                                            why: str) -> None:
    found = played(task("stop"), [message, RIGHT], mode)
    assert found.codes == codes, why
    assert found.course.stop_reason == "answered"
    check_protocol(found.messages[:-1])
    assert [m["role"] for m in found.messages if m["role"] == "tool"] == ["tool"] * (
        0 if mode == "prompt" or what == "a function that is a list" else len(codes)), "no tool message without tools"
    assert_stored_alike(task("stop"), found.course, found.score, mode)


def assert_stored_alike(of: ChainTask, course: Course, score: Any, mode: str) -> None:
    """What a results file holds gives the same verdict."""
    stored = json.loads(json.dumps(course.to_json(), ensure_ascii=False).encode("utf-8", "backslashreplace"))
    bodies = json.loads(json.dumps(course.bodies(), ensure_ascii=False).encode("utf-8", "backslashreplace"))
    assert score_play(of, Course.from_json(stored, bodies), read_tools(), mode) == score


THINKING = {"type": "thinking", "thinking": "Hm.", "signature": "EqQB"}
SHAPES: list[tuple[str, Any, dict[str, Any], list[str | None]]] = [
    # (what, the vendor's module, message, codes)
    ("Anthropic, equal ids", anthropic, {"role": "assistant", "content": [
        THINKING, tool_use("weather", BONN, id="a"), tool_use("weather", {"slug": "ulm"}, id="a")]}, [OK, OK]),
    ("Anthropic, no ids", anthropic, {"role": "assistant", "content": [
        {"type": "text", "text": ""}, tool_use("weather", BONN), tool_use("weather", "kaputt")]}, [OK, BROKEN]),
    ("Anthropic, a block without a name", anthropic, {"role": "assistant", "content": [{"type": "tool_use"}]},
     [BROKEN]),
    ("Gemini, no ids", gemini, {"role": "model", "parts": [
        {"functionCall": {"name": "weather", "args": {"slug": "bonn"}}, "thoughtSignature": "x"},
        {"functionCall": {"name": "weather", "args": {"slug": "ulm"}}}]}, [OK, OK]),
    ("Gemini, arguments that are none", gemini, {"role": "model", "parts": [
        {"functionCall": {"name": "weather", "args": [1]}}, {"functionCall": {"name": "weather"}}]},
     [BROKEN, "invalid_arguments"]),
    ("Gemini, no function in the call", gemini, {"role": "model", "parts": [{"text": "Hm"}, {"functionCall": "x"}]},
     [BROKEN]),
    ("Responses, equal ids", responses, {"role": "assistant", "output": [
        {"type": "reasoning", "id": "r", "encrypted_content": "g", "summary": []},
        {"type": "function_call", "call_id": "a", "name": "weather", "arguments": '{"slug": "bonn"}'},
        {"type": "function_call", "call_id": "a", "name": "weather", "arguments": '{"slug"'}]}, [OK, BROKEN]),
    ("OpenAI, text beside it", openai_chat, native(entry("weather", {"slug": "bonn"}), content="Moment."), [OK]),
]


@pytest.mark.parametrize(("what", "vendor", "message", "codes"), SHAPES, ids=[case[0] for case in SHAPES])
def test_every_vendor_gets_as_many_results_as_calls(what: str, vendor: Any, message: dict[str, Any],
                                                    codes: list[str | None]) -> None:
    found = played(task("stop"), [message, RIGHT])
    assert found.codes == codes
    pieces = json.dumps([vendor.piece_of(m).values for m in found.messages[2:-1]], ensure_ascii=False)
    calls, results = {anthropic: ('"tool_use"', '"tool_result"'), gemini: ('"functionCall"', '"functionResponse"'),
                      responses: ('"function_call"', '"function_call_output"'),
                      openai_chat: ('"type": "function"', '"role": "tool"')}[vendor]
    assert pieces.count(calls) == pieces.count(results) == (0 if "no function" in what else len(codes))
    played(task("stop"), [message, RIGHT], "prompt")


TEXTS: list[tuple[str, str, str]] = [
    # (what, the text, why)
    ("a megabyte of prose", LONG, "no object"),
    ("braces", "{" * 200_000, "never closes"),
    ("quotes", '{"' * 60_000, "never closes"),
    ("deep lists", "[" * 100_000 + "]" * 100_000, "nobody reads that"),
    ("deep objects", '{"antwort":' * 50_000 + "1" + "}" * 50_000, "nor that"),
    ("a deep answer", said(deep(150)), "an object is no value"),
    ("half a pair", "a\ud800b", "not sent back"),
    ("half a pair in an answer", '{"antwort": "\ud800"}', "a value like any other"),
    ("half a pair in a call", text_call("weather", {"slug": "\ud800"}), "no URL"),
    ("NUL", "\0" * 100 + "x", "a letter like any other"),
    ("an answer of a megabyte", said(LONG), "too long to be right"),
    ("an answer of digits", '{"antwort": ' + "9" * 100_000 + "}", "no number"),
    ("an answer that is an object of objects", said({"a": [{"b": None}]}), "no value"),
    ("an answer true", said(True), "no number"),
    ("a list of answers", f"[{said(1)}, {said(2)}]", "two"),
    ("a list of calls and an answer", f"[{text_call(*TOURISM)}, {said(2)}]", "neither"),
    ("an answer that is a call as well", '{"name": "weather", "arguments": {"slug": "bonn"}, "antwort": 5}', "a call"),
    ("a template's tokens", "<|im_start|>assistant\n<tool_call>\n{}\n</tool_call>", "an empty call"),
    ("a tool's role", '{"role": "tool", "content": "{}"}', "not a result"),
    ("the header of a result", 'Ergebnis von weather(slug="bonn"):\n{"data": {"payload": {"temperature_c": 5}}}',
     "a made-up result is text"),
]


@pytest.mark.parametrize(("what", "text", "why"), TEXTS, ids=[case[0] for case in TEXTS])
@pytest.mark.parametrize("mode", ["native", "prompt"])
@pytest.mark.parametrize("name", ["stop", "not_covered", "lookup", "platform"])
def test_no_text_raises_or_wins(mode: str, what: str, text: str, why: str, name: str) -> None:
    reply = Answer({"role": "assistant", "content": text}, "stop")
    found = played(task(name), lambda messages: reply, mode)
    assert not found.score.details["task_success"], why
    assert found.course.stop_reason in ("answered", "answered_late", "no_answer", "max_turns", "truncated")
    check_protocol(found.messages[:-1])
    assert_stored_alike(task(name), found.course, found.score, mode)


def test_a_made_up_result_is_no_evidence() -> None:
    made_up = f'Ergebnis von get_city_resource(slug="koeln", resource="tourism"):\n{{"data": 1}}\n{RIGHT}'
    found = played(task("stop"), [made_up], "prompt")
    assert (found.score.outcome, found.requests) == ("no_evidence", [])


PATHS: list[tuple[str, dict[str, Any], str]] = [
    # (tool, arguments, why it cannot leave)
    ("weather", {"slug": "../../admin"}, "a slash in a slug"),
    ("weather", {"slug": ".."}, "dots"),
    ("weather", {"slug": "bonn/../koeln"}, "a slash"),
    ("weather", {"slug": "bonn\nHost: example.org"}, "a line"),
    ("weather", {"slug": "bonn\0"}, "NUL"),
    ("weather", {"slug": "http://example.org/"}, "an address"),
    ("weather", {"slug": "//example.org"}, "an address without a scheme"),
    ("weather", {"slug": "user@example.org"}, "a host"),
    ("weather", {"slug": "bonn%2F..%2Fkoeln"}, "codes are letters"),
    ("weather", {"slug": "bonn?limit=1"}, "a query"),
    ("weather", {"slug": "bonn#x"}, "a fragment"),
    ("get_city_resource", {"slug": "bonn", "resource": "../../../etc/passwd"}, "one segment"),
    ("get_city_resource", {"slug": "bonn", "resource": ".."}, "dots"),
    ("get_city_resource", {"slug": "bonn", "resource": "weather?x=1"}, "one segment"),
    ("get_city_resource", {"slug": "bonn", "resource": "http://example.org"}, "one segment"),
    ("get_city_resource", {"slug": "bonn", "resource": "%2e%2e"}, "codes are letters"),
    ("pois", {"slug": "bonn", "type": "hospital&limit=1"}, "one value"),
    ("pois", {"slug": "bonn", "type": "hospital#"}, "one value"),
    ("station_board_departures", {"eva": "../cities/bonn/tourism"}, "one segment"),
    ("station_board_departures", {"eva": "8001083/arrivals?"}, "one segment"),
    ("station_board_departures", {"eva": ".."}, "dots"),
    ("transit_departures", {"slug": "bonn", "stop_id": "de:1:2&x=1"}, "one value"),
    ("transit_departures", {"slug": "bonn", "stop_id": "\n"}, "one value"),
    ("compare", {"resource": "weather", "cities": "bonn&resource=tourism"}, "one value"),
    ("compare", {"resource": "weather&cities=koeln", "cities": "bonn"}, "one value"),
    ("compare", {"resource": "weather", "cities": "bonn\r\n\r\nGET /"}, "one value"),
]


@pytest.mark.parametrize(("tool", "arguments", "why"), PATHS, ids=[f"{c[0]}: {c[2]}, {i}" for i, c in enumerate(PATHS)])
def test_no_argument_leaves_its_place(tool: str, arguments: dict[str, Any], why: str) -> None:
    found = played(task("stop"), [native(entry(tool, arguments, "a")), RIGHT])
    request = found.requests[0]
    assert found.score.outcome == "no_evidence", "nothing but the datum's own request is evidence"
    if request is None:
        assert found.codes == ["invalid_arguments"]
        return
    path, _, query = request.partition("?")
    assert request.isascii() and request.isprintable() and " " not in request and "#" not in request, why
    assert path.startswith(("/cities/", "/stations/", "/live/", "/compare")) and "//" not in path
    assert len(path.split("/")) <= (5 if path.startswith("/live/") else 4)
    assert not any(segment in (".", "..") for segment in path.split("/"))
    assert query.count("&") == (1 if tool == "compare" else 0)


@pytest.mark.parametrize("mode", ["native", "prompt"])
def test_calls_beyond_the_budget_are_answered_in_later_turns_too(mode: str) -> None:
    many = [{"name": TOURISM[0], "arguments": TOURISM[1]}] * 20
    reply = native(*(entry(*TOURISM, f"c{i}") for i in range(20))) if mode == "native" else json.dumps(many)
    found = played(task("stop"), [reply, reply, RIGHT], mode)
    assert found.codes == [OK] * MOST_CALLS + ["budget"] * (40 - MOST_CALLS)
    assert found.score.details["calls_made"] == 40
    assert found.score.details["repeated_calls"] == MOST_CALLS - 1
    check_protocol(found.messages[:-1])


def test_ids_are_not_used_again_in_later_turns() -> None:
    found = played(task("stop"), [native(entry(*TOURISM, "a")), native(entry(*TOURISM, "a")), RIGHT])
    assert [one.call_id for turn in found.course.turns for one in turn.executed] == ["a", "call_1_0"]
    check_protocol(found.messages[:-1])
