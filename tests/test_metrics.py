"""The verdict: every outcome, sub-code, step and label of the scoring specification, and the numbers made from them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from lm_eval_task.metrics import ability, aggregate, confusion, mean, score_reply
from lm_eval_task.records import FAILURES, MATCHES, Call, Reply, Score, Task, calls_from_json
from lm_eval_task.tools import read_tools

HERE = Path(__file__).parent
TOOLS = read_tools(HERE / "data" / "reply_tools.json")
TWELVE = read_tools()
SHARED = HERE.parent.parent / "shared" / "cases"


def call(name: str, **arguments: Any) -> Call:
    return Call(name, arguments)


def entries(*calls: Call | tuple[str, Any], **more: Any) -> dict[str, Any]:
    """A message with native calls; a pair gives the arguments as they stand."""
    pairs = [c if isinstance(c, tuple) else (c.name, json.dumps(dict(c.arguments))) for c in calls]
    return {"role": "assistant", "content": None, **more, "tool_calls": [
        {"id": str(i), "type": "function", "function": {"name": n, "arguments": a}} for i, (n, a) in enumerate(pairs)]}


def judge(reply: Any, *gold: Call, accept: Sequence[Sequence[Call]] = (), mode: str = "native",
          finish: str | None = "stop", then: Any = None, tools: Any = TOOLS) -> Score:
    message = {"role": "assistant", "content": reply} if isinstance(reply, str) or reply is None else reply
    extra = {} if then is None else {"then": then}
    task = Task("t", "Frage?", gold, tuple(map(tuple, accept)), extra=extra)
    return score_reply(task, Reply(message, finish), tools, mode)


def bits(score: Score) -> str:
    """parsed tool_match args_match call_match request_match lenient_call_match as 0, 1, - (a failure).

    datum_match has tables of its own in test_datum.py.
    """
    return "".join("-" if getattr(score, m) is None else str(int(getattr(score, m))) for m in MATCHES
                   if m != "datum_match")


# --- the cases in files -----------------------------------------------------------------------------------------------

CASES = [json.loads(line) for line in (HERE / "data" / "reply_cases.jsonl").read_text("utf-8").splitlines()]
VERDICT = ("outcome", "sub", "parsed", "tool_match", "args_match", "call_match", "lenient_call_match")


@pytest.mark.parametrize("case", CASES, ids=[c["id"] for c in CASES])
def test_reply_case(case: dict[str, Any]) -> None:
    task = Task(case["id"], "Frage?", calls_from_json(case["expected"]))
    score = score_reply(task, Reply(case["message"], case["finish_reason"]), TOOLS, case["mode"])
    wanted = {key: case[key] for key in VERDICT if key in case}
    assert {key: getattr(score, key) for key in wanted} == wanted, case["why"]
    assert set(case.get("labels", ())) <= set(score.labels)
    assert score.why and "\n" not in score.why


def shared_cases() -> list[Any]:
    path = SHARED / "replies.jsonl"
    if not path.is_file():
        return [pytest.param(None, marks=pytest.mark.skip(reason="the shared cases are not beside this checkout"))]
    return [pytest.param(row, id=row["id"]) for row in map(json.loads, path.read_text("utf-8").splitlines())]


@pytest.mark.parametrize("case", shared_cases())
def test_shared_case(case: dict[str, Any]) -> None:
    expected = case["expected"]
    gold = [] if expected is None or "expect" in expected else expected if isinstance(expected, list) else [expected]
    task = Task(case["id"], "Frage?", calls_from_json(gold))
    tools = read_tools(SHARED / "tools.json")
    score = score_reply(task, Reply(case["reply"]["message"], case["reply"]["finish_reason"]), tools, case["mode"])
    wanted = {key: case["verdict"][key] for key in VERDICT if key in case["verdict"]}
    assert {key: getattr(score, key) for key in wanted} == wanted, case["why"]
    if case["verdict"].get("recovered") and case["verdict"]["call_match"]:
        assert score.outcome == "ok_recovered" and score.labels


# --- the verdict, step by step ----------------------------------------------------------------------------------------

W, BONN = call("weather", slug="koeln"), call("weather", slug="bonn")
GOOD = '{"name": "weather", "arguments": {"slug": "koeln"}}'
TAG = f"<tool_call>{GOOD}</tool_call>"
STEPS = [
    # (step, reply, gold, keywords, outcome, bits, why)
    ("2", entries(W), [W], {"finish": "MALFORMED_FUNCTION_CALL"}, "malformed_call", "000000",
     "before anything is read"),
    ("2", "Nein.", [], {"finish": "malformed_function_call"}, "malformed_call", "000000", "also where no call was due"),
    ("3", entries(("weather", "{")), [W], {}, "malformed_call", "010000", "the expected name, arguments unreadable"),
    ("3", entries(("weather", "{")), [W], {"finish": "length"}, "truncated", "010000", "cut by the budget"),
    ("3", entries(("weather", "{")), [], {}, "malformed_call", "000000", "no name was expected"),
    ("3", entries(("pois", "{")), [W], {}, "malformed_call", "000000", "another name"),
    ("3", entries(W, ("pois", "{")), [W], {}, "malformed_call", "000000", "even beside a complete call"),
    ("3", entries(W, ("", "{}")), [W], {}, "malformed_call", "000000", "a function object without a name is no "
                                                                       "exception"),
    ("3", '<tool_call>{"name": "weather"', [W], {}, "malformed_call", "000000", "tool_match is false in text formats"),
    ("3", TAG + "<tool_call>{", [W], {"finish": "length"}, "truncated", "000000", "a cut further call"),
    ("3", TAG + "<think>und nun", [W], {}, "ok_recovered", "111111", "a thought behind a complete call loses nothing"),
    ("3", "<tool_call>{<think>", [W], {}, "truncated", "000000", "an unclosed reasoning block"),
    ("3", entries(("air_quality", "{")), [W], {"accept": [[call("air_quality", slug="koeln")]]}, "malformed_call",
     "010000",
     "the name of an accepted call"),
    ("4", "Das Wetter in", [W], {"finish": "length"}, "truncated", "000000", "no call and cut"),
    ("4", "Das geht n", [], {"finish": "length"}, "truncated", "000000", "a cut refusal is none"),
    ("4", "", [], {"finish": "length"}, "truncated", "000000", "length comes before blank"),
    ("4", "<think>also", [], {}, "truncated", "000000", "an unclosed thought, no finish reason"),
    ("4", "Nein.<think>also", [], {"finish": None}, "truncated", "000000", "text before an unclosed thought"),
    ("5", {"content": "", "reasoning": "Hm"}, [W], {}, "no_call", "000000", "a thought without any text"),
    ("5", {"content": " \n", "reasoning_content": "Hm"}, [], {}, "no_call", "000000", "whatever was expected"),
    ("5", "<think>Hm</think>", [], {}, "no_call", "000000", "a thought inside the text is a thought"),
    ("5", "<|channel|>analysis<|message|>Hm<|end|>", [], {}, "no_call", "000000", "a harmony thought alone"),
    ("5", "<|channel|>analysis<|message|> <|end|>", [], {}, "empty_reply", "------", "a blank harmony thought"),
    ("5", {"parts": [{"thought": True, "text": "Hm"}]}, [], {}, "no_call", "000000", "a Gemini thought alone"),
    ("5", "", [W], {}, "empty_reply", "------", "retried, then a failure"),
    ("5", "  \n\t", [], {}, "empty_reply", "------", "an empty string is never a silence"),
    ("5", None, [], {}, "empty_reply", "------", "content null"),
    ("5", {"content": "", "reasoning": "  "}, [], {}, "empty_reply", "------", "all blank"),
    ("5", {"content": "", "tool_calls": []}, [], {}, "empty_reply", "------", "an empty list of native calls"),
    ("5", "<|channel|>final<|message|><|return|>", [], {}, "empty_reply", "------",
     "an empty final channel, no thought"),
    ("5", {"role": "assistant"}, [W], {}, "empty_reply", "------", "a message without anything"),
    ("6", "Das weiß ich nicht.", [], {}, "abstain_ok", "111111", "silence was right"),
    ("6", "abc", [], {}, "abstain_ok", "111111", "a constant text, too"),
    ("6", "Das weiß ich nicht.", [W], {}, "no_call", "000000", "silence was wrong"),
    ("7", entries(W), [], {}, "extra_calls", "100000", "a call where none was expected"),
    ("7", entries(call("erfunden")), [], {}, "extra_calls", "100000", "whatever its name"),
    ("7", entries(W, BONN), [], {}, "extra_calls", "100000", "however many"),
    ("8", entries(W, BONN), [W], {}, "extra_calls", "111000", "the first equals an expected one"),
    ("8", entries(BONN, W), [W], {}, "extra_calls", "110000", "the first equals it in name only"),
    ("8", entries(call("list_cities"), W), [W], {}, "extra_calls", "100000", "the first is another tool"),
    ("8", entries(BONN), [W, BONN], {}, "missing_calls", "111000", "the first equals some expected call"),
    ("8", entries(call("weather", slug="essen")), [W, BONN], {}, "missing_calls", "110000", "in name only"),
    ("8", entries(call("air_quality", slug="koeln")), [W, BONN], {}, "missing_calls", "100000", "in arguments only"),
    ("9", entries(BONN, W), [W, BONN], {}, "ok", "111111", "a perfect matching, any order"),
    ("9", entries(W, W), [W, BONN], {}, "wrong_args", "110000", "[koeln, koeln] is not [koeln, bonn]"),
    ("9", entries(W), [W], {"finish": "length"}, "ok", "111111", "a complete call at the budget"),
    ("9", entries(call("air_quality", slug="koeln")), [W], {}, "wrong_tool", "101000", "equal arguments, another tool"),
    ("9", entries(call("air_quality", slug="bonn")), [W], {}, "wrong_tool", "100000", "other arguments, another tool"),
    ("9", entries(call("wetter", slug="koeln")), [W], {}, "unknown_tool", "101000", "a tool that was not offered"),
    ("9", entries(call("sources")), [call("list_cities")], {}, "wrong_tool", "101000",
     "no arguments are equal arguments"),
    ("9", entries(W, call("pois", slug="bonn", type="school")), [call("pois", slug="bonn", type="school"), BONN], {},
     "wrong_args", "110000", "the unmatched call is judged beside the open one of its name"),
    ("9", entries(call("wetter", slug="koeln"), BONN), [W, BONN], {}, "unknown_tool", "101000",
     "the first unmatched one"),
    ("9", entries(call("weather")), [W], {}, "missing_args", "110000", "a required one is absent"),
    ("9", entries(call("nearby", slug="koeln")), [call("nearby", slug="koeln", limit=3)], {}, "missing_args", "110000",
     "an expected optional one is absent"),
    ("9", entries(call("nearby", slug="koeln", limit=10)), [call("nearby", slug="koeln", limit=3)], {}, "missing_args",
     "110000", "its default is as good as absent"),
    ("9", entries(call("weather", slug="koeln", tage=3)), [W], {}, "hallucinated_arg", "110000", "no such parameter"),
    ("9", entries(call("weather", slug="koeln", tage=None)), [W], {}, "hallucinated_arg", "110000", "not even as null"),
    ("9", entries(call("nearby", slug="koeln", limit=3)), [call("nearby", slug="koeln")], {}, "hallucinated_arg",
     "110000",
     "an optional one that the gold does not have"),
    ("9", entries(call("weather", slug=["koeln"])), [W], {}, "type_error", "110001", "a list for the string of one"),
    ("9", entries(call("weather", slug=5)), [W], {}, "type_error", "110000", "a number for a string"),
    ("9", entries(call("weather", stadt=5)), [W], {}, "missing_args", "110000", "missing before hallucinated"),
    ("9", entries(call("weather", slug=5, x=1)), [W], {}, "hallucinated_arg", "110000", "hallucinated before type"),
    ("9", entries(call("pois", slug="bonn", type=5)), [call("pois", slug="koeln", type="school")], {}, "type_error",
     "110000", "type before value"),
]


@pytest.mark.parametrize(("step", "reply", "gold", "keywords", "outcome", "wanted", "why"), STEPS,
                         ids=[f"step{s[0]}-{s[6]}" for s in STEPS])
def test_step(step: str, reply: Any, gold: list[Call], keywords: dict[str, Any], outcome: str, wanted: str,
              why: str) -> None:
    score = judge(reply, *gold, **keywords)
    assert (score.outcome, bits(score)) == (outcome, wanted), why
    assert score.failed is (wanted == "------")
    assert score.datum_match is score.request_match, "these tasks name no datum"


@pytest.mark.parametrize("text", ["<|im_end|>", "<|eot_id|>\n", "<think></think>\n<|im_end|>"])
def test_an_end_token_alone_is_an_empty_reply(text: str) -> None:
    assert judge(text).outcome == "empty_reply"


FILTERED = [
    ("", [], "infra_error", "content_filter"), ("  ", [W], "infra_error", "content_filter"),
    ("Das darf ich nicht.", [], "abstain_ok", None), ("Das darf ich nicht.", [W], "no_call", None),
    (GOOD, [W], "ok_recovered", None), (entries(W), [W], "ok", None),
    ({"content": "", "reasoning": "Hm"}, [W], "infra_error", "content_filter"),
]


@pytest.mark.parametrize(("reply", "gold", "outcome", "sub"), FILTERED, ids=range(len(FILTERED)))
def test_content_filter_is_a_failure_only_where_nothing_is_left(reply: Any, gold: list[Call], outcome: str,
                                                                sub: str | None) -> None:
    score = judge(reply, *gold, finish="content_filter")
    assert (score.outcome, score.sub) == (outcome, sub)


# --- sub-codes of wrong_args ------------------------------------------------------------------------------------------

def city(slug: str) -> Call:
    return call("weather", slug=slug)


def resource(key: str, slug: str = "koeln") -> Call:
    return call("get_city_resource", slug=slug, resource=key)


def poi(kind: str) -> Call:
    return call("pois", slug="koeln", type=kind)


def compared(cities: str, key: str = "air") -> Call:
    return call("compare", resource=key, cities=cities)


SUBS = [
    (city("köln"), city("koeln"), "umlaut_unresolved", "composed"),
    (city("ko\u0308ln"), city("koeln"), "umlaut_unresolved", "decomposed"),
    (city(" KÖLN "), city("koeln"), "umlaut_unresolved", "trimmed, case-folded"),
    (city("gießen"), city("giessen"), "umlaut_unresolved", "ß"),
    (city("düsseldorf"), city("duesseldorf"), "umlaut_unresolved", "ü"),
    (city("mülheim-an-der-ruhr"), city("muelheim-an-der-ruhr"), "umlaut_unresolved", "with hyphens"),
    (compared("Köln, bonn"), compared("bonn,koeln"), "umlaut_unresolved", "a city list"),
    (city("mülheim"), city("muelheim-an-der-ruhr"), "other", "umlaut and short form: neither alone makes it equal"),
    (city("köln"), city("bonn"), "other", "another city"),
    (city("koln"), city("koeln"), "other", "no umlaut was held"),
    (city("ｋｏｅｌｎ"), city("koeln"), "other", "full-width letters are no umlauts"),
    (resource("Charging"), resource("charging"), "enum_case", "with an enum"),
    (poi("SCHOOL"), poi("school"), "enum_case", "without an enum"),
    (compared("koeln,bonn", "AIR"), compared("koeln,bonn"), "enum_case", "in compare"),
    (poi("Restaurant"), poi("restaurant"), "enum_case", "the German word differs by case only"),
    (poi("Apotheke"), poi("pharmacy"), "value_language", "a type"),
    (poi("apotheken"), poi("pharmacy"), "value_language", "plural, lower case"),
    (poi("Krankenhäuser"), poi("hospital"), "value_language", "umlaut"),
    (resource("Ladesäulen"), resource("charging"), "value_language", "a key"),
    (resource("Parkhäuser"), resource("parking"), "value_language", "a key"),
    (compared("koeln,bonn", "Wetter"), compared("koeln,bonn", "weather"), "value_language", "in compare"),
    (city("frankfurt"), city("frankfurt-am-main"), "long_form", "short for long"),
    (city("essen-ruhr"), city("essen"), "long_form", "long for short"),
    (city("Frankfurt"), city("frankfurt-am-main"), "long_form", "case is free"),
    (city("frankfurtammain"), city("frankfurt-am-main"), "other", "no hyphens at all"),
    (city("frank"), city("frankfurt-am-main"), "other", "not up to a hyphen"),
    (city("frankfurt-"), city("frankfurt-am-main"), "other", "a stray hyphen"),
    (resource("klima"), resource("charging"), "unknown_key", "not offered"),
    (resource("Krankenhaus"), resource("charging"), "unknown_key", "a German name of another value"),
    (compared("koeln,bonn", "parking"), compared("koeln,bonn"), "unknown_key", "not among the eight of compare"),
    (resource("parking"), resource("charging"), "other", "an offered key"),
    (compared("koeln,bonn", "weather"), compared("koeln,bonn"), "other", "an offered key of compare"),
    (city("frankfurt am main"), city("frankfurt-am-main"), "not_executable", "blank inside"),
    (city("koeln "), city("koeln"), "not_executable", "edge blank"),
    (city("koeln/weather"), city("koeln"), "not_executable", "slash"),
    (city("koeln?x"), city("koeln"), "not_executable", "question mark"),
    (city("koeln#x"), city("koeln"), "not_executable", "hash"),
    (city("koeln:x"), city("koeln"), "not_executable", "colon"),
    (city("koeln@x"), city("koeln"), "not_executable", "at"),
    (city("ko\\eln"), city("koeln"), "not_executable", "backslash"),
    (city(""), city("koeln"), "not_executable", "blank"),
    (call("station_board_departures", eva="12345"), call("station_board_departures", eva="8000207"), "not_executable",
     "five digits"),
    (call("station_board_departures", eva="800020712"), call("station_board_departures", eva="8000207"),
     "not_executable",
     "nine digits"),
    (call("station_board_departures", eva="Köln Hbf"), call("station_board_departures", eva="8000207"),
     "not_executable",
     "a name"),
    (call("station_board_departures", eva="8000208"), call("station_board_departures", eva="8000207"), "other",
     "another station"),
    (call("station_board_departures", eva="08000207"), call("station_board_departures", eva="8000207"), "other",
     "leading zeros are kept"),
    (poi("cinema"), poi("school"), "not_executable", "outside the six types"),
    (poi("police"), poi("school"), "other", "another type"),
    (compared("koeln,bonn,bonn"), compared("koeln,bonn"), "other", "a duplicate"),
    (compared("koeln,essen"), compared("koeln,bonn"), "other", "another city"),
    (compared("koeln;bonn"), compared("koeln,bonn"), "other", "another separator"),
    (call("transit_departures", slug="koeln", stop_id="1"), call("transit_departures", slug="koeln", stop_id="2"),
     "other",
     "another stop"),
    (resource("parking", "köln"), resource("charging"), "umlaut_unresolved",
     "several wrong: the first in schema order"),
    (compared("köln,bonn", "weather"), compared("koeln,bonn"), "other", "resource stands before cities"),
    (call("geo.find-place", text="köln"), call("geo.find-place", text="koeln"), "other",
     "a tool that is not of the twelve"),
    (call("nearby", slug="KOELN"), call("nearby", slug="koeln"), "other", "there even ASCII case counts"),
    (call("nearby", slug="köln"), call("nearby", slug="koeln"), "other", "and no sub-code hangs on the name slug"),
    (call("nearby", slug="k", tags=["a"]), call("nearby", slug="k", tags=["a", "b"]), "other", "a list"),
]


@pytest.mark.parametrize(("actual", "gold", "sub", "why"), SUBS, ids=[f"{s[2]}-{s[3]}" for s in SUBS])
def test_sub_code(actual: Call, gold: Call, sub: str, why: str) -> None:
    score = judge(entries(actual), gold)
    assert (score.outcome, score.sub) == ("wrong_args", sub), why
    assert bits(score)[:4] == "1100"


def test_only_wrong_args_has_a_sub_code() -> None:
    for _, reply, gold, keywords, outcome, _, _ in STEPS:
        score = judge(reply, *gold, **keywords)
        assert (score.sub is not None) is (outcome == "wrong_args")


def test_why_names_the_argument_and_both_values() -> None:
    why = judge(entries(city("köln")), city("koeln")).why
    assert "slug" in why and "köln" in why and "koeln" in why


# --- accept, several calls --------------------------------------------------------------------------------------------

AIR = call("air_quality", slug="koeln")
RAW = resource("air-uba")
ACCEPT = [
    (entries(W), [W], [[AIR]], "ok", "the gold"),
    (entries(AIR), [W], [[AIR]], "ok", "an accepted call"),
    (entries(W, BONN), [RAW], [[W, BONN]], "ok", "an accepted pair where one call is gold"),
    (entries(W), [RAW], [[W, BONN]], "missing_calls", "the accepted pair is nearer: right tool and arguments, one "
                                                      "too few"),
    (entries(call("list_cities")), [W], [[RAW]], "wrong_tool", "ties go to the gold"),
    ("Nein.", [W], [[]], "abstain_ok", "silence may be accepted"),
    (entries(W), [], [[W]], "ok", "a call may be accepted beside silence"),
    (entries(call("air_quality", slug="bonn")), [W], [[AIR]], "wrong_args", "the nearest alternative: right tool"),
    (entries(resource("parking", "bonn")), [resource("charging")], [[AIR]], "wrong_args", "the gold is nearer"),
]


@pytest.mark.parametrize(("reply", "gold", "accept", "outcome", "why"), ACCEPT, ids=[a[4] for a in ACCEPT])
def test_accept(reply: Any, gold: list[Call], accept: list[list[Call]], outcome: str, why: str) -> None:
    assert judge(reply, *gold, accept=accept).outcome == outcome, why


# --- request_match ----------------------------------------------------------------------------------------------------

REQUESTS = [
    (resource("weather"), W, True, "weather"),
    (W, resource("weather"), True, "the other way"),
    (resource("air-uba"), AIR, True, "air quality"),
    (resource("base"), call("get_city", slug="koeln"), True, "get_city"),
    (resource("overview"), call("get_city_overview", slug="koeln"), True, "overview"),
    (resource("weather", "KOELN"), W, True, "the slug is lower-cased"),
    (resource("weather", "bonn"), W, False, "another city"),
    (resource("air"), AIR, False, "air is not air-uba"),
    (compared("koeln"), AIR, False, "compare is another request"),
    (call("get_city_resource", slug="koeln", resource="weather", x=1), W, False, "an argument too many is no request"),
    (call("get_city_resource", slug="köln", resource="weather"), W, False, "an umlaut is another path"),
    (call("weather", slug="köln"), W, False, "wrong arguments"),
]


@pytest.mark.parametrize(("actual", "gold", "same", "why"), REQUESTS, ids=[r[3] for r in REQUESTS])
def test_request_match(actual: Call, gold: Call, same: bool, why: str) -> None:
    score = judge(entries(actual), gold, tools=TWELVE)
    assert score.request_match is same, why
    assert score.call_match is False


def test_request_match_compares_multisets() -> None:
    assert judge(entries(resource("weather"), AIR), W, AIR).request_match
    assert not judge(entries(resource("weather"), resource("weather")), W, AIR).request_match
    assert not judge(entries(W, resource("weather")), W).request_match


def test_request_match_equals_call_match_outside_the_twelve() -> None:
    gold = call("nearby", slug="koeln")
    assert not judge(entries(call("nearby", slug="KOELN")), gold).request_match
    assert judge(entries(gold), gold).request_match


# --- lenient_call_match -----------------------------------------------------------------------------------------------

STATIONS = resource("stations")
THEN = [{"name": "station_board_departures", "arguments": {"eva": "8000208"}},
        {"name": "station_board_departures", "arguments": {"eva": "8073368"}}]
N3 = call("nearby", slug="koeln", limit=3)
LENIENT = [
    (entries(call("nearby", slug="koeln", limit="3")), [N3], {}, True, "digits as text for an integer"),
    (entries(call("nearby", slug="koeln", limit="4")), [N3], {}, False, "other digits"),
    (entries(call("nearby", slug="koeln", radius_km="2.5")), [call("nearby", slug="koeln", radius_km=2.5)], {}, True,
     "digits with a point for a number"),
    (entries(call("nearby", slug="koeln", limit="drei")), [N3], {}, False, "no digits"),
    (entries(call("nearby", slug="koeln", open_only="true")), [call("nearby", slug="koeln", open_only=True)], {}, True,
     "true as text"),
    (entries(call("nearby", slug="koeln", open_only=1)), [call("nearby", slug="koeln", open_only=True)], {}, False,
     "1 is not true"),
    (entries(call("station_board_departures", eva=8000208)), [call("station_board_departures", eva="8000208")], {},
     True,
     "an integer for a digit string"),
    (entries(call("station_board_departures", eva=8000208.5)), [call("station_board_departures", eva="8000208")], {},
     False,
     "no integer"),
    (entries(call("compare", resource="air", cities=["bonn", "koeln"])), [compared("koeln,bonn")], {}, True,
     "a list for the comma string"),
    (entries(call("compare", resource="air", cities=["bonn"])), [compared("koeln,bonn")], {}, False, "another list"),
    (entries(call("nearby", slug="köln", limit="3")), [N3], {}, False, "only these conversions"),
    (entries(call("nearby", slug="koeln", limit="3", x=1)), [N3], {}, False, "an argument too many stays wrong"),
    (entries(W, BONN), [W], {}, False, "more calls stay wrong"),
    ({"content": "", "reasoning": TAG}, [W], {}, True, "a tagged call in the reasoning field"),
    ({"content": "Ich sehe nach.", "reasoning_content": TAG}, [W], {}, True, "beside a text without a call"),
    (f"<think>{TAG}</think>", [W], {}, True, "in a closed block"),
    (f"<think>{TAG}</think>Ich sehe nach.", [W], {}, True, "in a closed block before text"),
    ({"content": "", "reasoning": GOOD}, [W], {}, False, "bare JSON is a draft"),
    ({"content": "", "reasoning": f"```json\n{GOOD}\n```"}, [W], {}, False, "so is fenced JSON"),
    ({"content": "", "reasoning": '[weather(slug="koeln")]'}, [W], {}, False, "pythonic text has no token"),
    ({"content": "", "reasoning": "Action: weather\nAction Input: {\"slug\": "
                                  "\"koeln\"}"}, [W], {}, False, "nor has ReAct"),
    ({"content": "", "reasoning": TAG + "<tool_call>{"}, [W], {}, False, "broken"),
    ({"content": "", "reasoning": TAG}, [W], {"finish": "length"}, False, "truncated stays false"),
    (f"<think>{TAG}", [W], {}, False, "an unclosed block is never read"),
    ({"content": '{"name": "wea', "reasoning": TAG}, [W], {}, False, "malformed stays false"),
    (f"<|channel|>analysis<|message|>{TAG}<|end|><|start|>assistant<|channel|>final<|message|>Nein.<|return|>", [W], {},
     False, "the harmony analysis channel is never read"),
    (entries(call("station_board_departures", eva="8000208")), [STATIONS], {"then": THEN}, True, "the EVA from memory"),
    (entries(call("station_board_departures", eva=8000208)), [STATIONS], {"then": THEN}, True, "the EVA as a number"),
    (entries(call("station_board_departures", eva="8073368")), [STATIONS], {"then": THEN}, True,
     "any EVA of the station"),
    (entries(call("station_board_departures", eva="8000001")), [STATIONS], {"then": THEN}, False, "an invented EVA"),
    (entries(call("station_board_arrivals", eva="8000208")), [STATIONS], {"then": THEN}, False, "the other board"),
    (entries(call("station_board_departures", eva="8000208")), [STATIONS], {}, False, "no look-up was asked for"),
]


@pytest.mark.parametrize(("reply", "gold", "keywords", "lenient", "why"), LENIENT, ids=[x[4] for x in LENIENT])
def test_lenient_call_match(reply: Any, gold: list[Call], keywords: dict[str, Any], lenient: bool, why: str) -> None:
    score = judge(reply, *gold, **keywords)
    assert score.lenient_call_match is lenient, why
    assert score.call_match is False


# --- labels -----------------------------------------------------------------------------------------------------------

LABELS = [
    (entries(W, BONN), [W], {}, "right_plus_extra", True, "the right call and another"),
    (entries(BONN, W), [W], {}, "right_plus_extra", True, "in any order"),
    (entries(BONN, BONN), [W], {}, "right_plus_extra", False, "the right call is not among them"),
    (entries(W, BONN, BONN), [W, W], {}, "right_plus_extra", False, "one call covers one expected call"),
    (entries(W, BONN, AIR), [W, AIR], {}, "right_plus_extra", True, "both expected calls and one more"),
    (entries(W), [W], {}, "right_plus_extra", False, "no extra"),
    (entries(W), [], {}, "right_plus_extra", False, "none was right"),
    (entries(call("station_board_departures", eva="8000208")), [STATIONS], {"then": THEN}, "eva_from_memory_right",
     True, ""),
    (entries(call("station_board_departures", eva="8000001")), [STATIONS], {"then": THEN}, "eva_invented", True, ""),
    (entries(call("station_board_arrivals", eva="8000208")), [STATIONS], {"then": THEN}, "eva_invented", True,
     "the other board"),
    (entries(STATIONS), [STATIONS], {"then": THEN}, "eva_invented", False, "it looked up"),
    (entries(W), [STATIONS], {"then": THEN}, "eva_invented", False, "no board"),
    ("Welche Stadt?", [], {}, "asks", True, "a question"),
    ("Bitte nennen Sie mir die Stadt.", [], {}, "asks", True, "a request without a question mark"),
    ("Ich brauche noch die EVA-Nummer.", [], {}, "asks", True, "ich brauche"),
    ("Mir fehlt der Name der Stadt.", [], {}, "asks", True, "mir fehlt"),
    ("Dafür passt kein Werkzeug.", [], {}, "asks", False, "a statement"),
    ("Dafür passt kein Werkzeug. Kann ich sonst noch etwas tun?", [], {}, "asks", False, "a closing offer"),
    ("Das heißt „Was ist das?“ auf Deutsch.", [], {}, "asks", False, "a quoted question mark"),
    ("Der Ausdruck `a?b` passt nicht.", [], {}, "asks", False, "code"),
    ("Ich habe den Termin angelegt.", [], {}, "claims_done", True, "an action that no call performed"),
    ("Ich habe den Termin noch nicht angelegt.", [], {}, "claims_done", False, "it says that it has not"),
    ("Dafür passt kein Werkzeug.", [], {}, "claims_done", False, "a plain refusal"),
]


@pytest.mark.parametrize(("reply", "gold", "keywords", "label", "present", "why"), LABELS, ids=range(len(LABELS)))
def test_label(reply: Any, gold: list[Call], keywords: dict[str, Any], label: str, present: bool, why: str) -> None:
    assert (label in judge(reply, *gold, **keywords).labels) is present, why


# --- ok or ok_recovered -----------------------------------------------------------------------------------------------

MODES = [
    # (text, prompted outcome, native outcome, why); gold is W, or no call where the last item says so
    (GOOD, "ok", "ok_recovered", "bare object"),
    (f"[{GOOD}]", "ok", "ok_recovered", "list of one"),
    (f"```json\n{GOOD}\n```", "ok", "ok_recovered", "fence"),
    (f"```\n{GOOD}\n```", "ok", "ok_recovered", "fence without a language"),
    (f"Gern: {GOOD}", "ok", "no_call", "prose before"),
    (f"{GOOD}\nFertig.", "ok", "malformed_call", "prose behind: native text that starts like a call and is none"),
    (f"Gern:\n```json\n{GOOD}\n```", "ok", "no_call", "fence behind prose"),
    ('{"tool": "weather", "args": {"slug": "koeln"}}', "ok", "ok_recovered", "other keys"),
    ('{"function": {"name": "weather", "arguments": {"slug": "koeln"}}}', "ok", "ok_recovered", "function wrapper"),
    ('{"tool_calls": [' + GOOD + "]}", "ok", "ok_recovered", "tool_calls wrapper"),
    (f"<think>Köln</think>{GOOD}", "ok", "ok_recovered", "closed thought"),
    (TAG, "ok_recovered", "ok_recovered", "special token"),
    (GOOD.replace('"', "'"), "ok_recovered", "ok_recovered", "single quotes"),
    (GOOD[:-1] + ",}", "ok_recovered", "ok_recovered", "trailing comma"),
    (GOOD + '"', "ok_recovered", "ok_recovered", "trailing quote"),
    (f"{GOOD}\n{GOOD}", "ok_recovered", "malformed_call", "identical objects"),
    (f"{GOOD}{GOOD.replace('koeln', 'bonn')}", "extra_calls", "malformed_call", "two objects glued"),
    ('{"name": "weather", "arguments": "{\\"slug\\": '
     '\\"koeln\\"}"}', "ok", "ok_recovered", "arguments as a JSON string"),
    ('{"name": "weather", "arguments": {"slug": "koeln"}', "malformed_call", "malformed_call", "an open brace"),
    ('{"name": "weather", "arguments": {"slug": NaN}}', "malformed_call", "malformed_call", "NaN"),
    ('{"name": "weather", "arguments": {"slug": "koeln", "slug": "bonn"}}', "malformed_call", "malformed_call",
     "a key twice with different values"),
    ('Gern: {"name": "weather", "arguments": {"slug": "koe', "malformed_call", "no_call", "cut inside prose"),
    ('Gern: {"slug": "koe', "no_call", "no_call", "no name key: no attempt"),
    ('{"name": "wetter", "arguments": {"slug": '
     '"koeln"}}', "unknown_tool", "unknown_tool", "whole text: any name is a call"),
    ('```\n{"name": "wetter", "arguments": {}}\n```', "unknown_tool", "unknown_tool", "a fence: any name is a call"),
    ('Etwa {"name": "wetter", "arguments": {}} so', "no_call", "no_call", "inside prose only offered names count"),
    ('{"name": "wetter"}', "no_call", "no_call", "without an arguments key only offered names count"),
    ('{"name": "Köln", "parameters": "keine"}', "no_call", "no_call", "arguments that are neither object nor JSON "
                                                                      "string"),
    ('[weather(slug="koeln")]', "ok_recovered", "ok_recovered", "pythonic"),
    ('```python\n[weather(slug="koeln")]\n```', "ok_recovered", "ok_recovered", "pythonic in a fence"),
    (GOOD + "<|eot_id|>", "ok", "ok_recovered", "an end token behind the object is no text"),
    (GOOD + "<|im_end|>\n<|endoftext|>\n", "ok", "ok_recovered", "several, with blanks between"),
    (GOOD + "<|im_end|>", "ok", "ok_recovered", "nor is another family's"),
    ('[wetter(slug="koeln")]', "no_call", "no_call", "pythonic: only offered names count"),
    ('[weather(slug="koeln"', "malformed_call", "malformed_call", "pythonic, cut"),
    ('{"ort": "koeln"}', "no_call", "no_call", "an object that is no call"),
    ('{"name": null}', "no_call", "no_call", "a deliberate no call"),
    ('{"name": ""}', "no_call", "no_call", "a deliberate no call"),
    ('{"tool_calls": []}', "no_call", "no_call", "a deliberate no call"),
]


@pytest.mark.parametrize(("text", "prompted", "native", "why"), MODES, ids=[m[3] for m in MODES])
def test_modes(text: str, prompted: str, native: str, why: str) -> None:
    assert judge(text, W, mode="prompt").outcome == prompted, why
    assert judge(text, W, mode="native").outcome == native, why


@pytest.mark.parametrize("text", [t for t, p, n, _ in MODES if p == n == "no_call"])
def test_what_is_no_attempt_is_silence(text: str) -> None:
    for mode in ("prompt", "native"):
        assert judge(text, mode=mode).outcome == "abstain_ok"


# --- lm-eval: no finish reason, no reasoning field --------------------------------------------------------------------

def test_without_a_finish_reason_a_cut_reply_is_what_its_text_says() -> None:
    assert judge('{"name": "wea', W, mode="prompt", finish=None).outcome == "malformed_call"
    assert judge("Das Wetter in", W, mode="prompt", finish=None).outcome == "no_call"
    assert judge("Das geht nic", mode="prompt", finish=None).outcome == "abstain_ok"


# --- no exception, ever -----------------------------------------------------------------------------------------------

HOSTILE = [
    {}, {"content": 5}, {"content": [1, None, {"text": 5}]}, {"tool_calls": "x"}, {"tool_calls": [None, 5, "x", []]},
    {"tool_calls": [{"function": 5}]}, {"tool_calls": [{"function": {"name": 5}}]},
    {"tool_calls": [{"function": {"name": "weather", "arguments": 5}}]},
    {"tool_calls": [{"function": {"name": "weather", "arguments": [[]]}}]},
    {"tool_calls": [{"function": {"name": "weather", "arguments": {"slug": {"a": [None] * 9}}}}]},
    {"tool_calls": [{"function": {"name": "weather", "arguments": '{"slug": "\\ud800"}'}}]},
    {"tool_calls": [{"function": {"name": "nearby", "arguments": '{"slug": "k", "limit": ' + "9" * 5000 + "}"}}]},
    {"tool_calls": [{"function": {"name": "nearby", "arguments": '{"slug": "k", "limit": 1e999}'}}]},
    {"function_call": 5}, {"function_call": {"name": "weather"}}, {"content": "\ud800\x00"}, {"reasoning": 5},
    {"content": "", "reasoning": ["x"]}, {"content": "[" * 10_000}, {"content": '{"a":' * 10_000},
    {"content": GOOD.replace('"koeln"', "[" * 10_000 + "]" * 10_000)}, {"content": "\x00" * 1000},
    {"content": "{" * 1000},
    {"parts": [5]}, {"output": {"a": 1}}, {"content": "\u202e<tool_call>\u202d"},
    {"content": "\x1b[31m"},
]


@pytest.mark.parametrize("message", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize("mode", ["prompt", "native"])
@pytest.mark.parametrize("finish", ["stop", "length", None, "", "malformed", "content_filter", 5])
def test_any_message_gets_a_verdict(message: dict[str, Any], mode: str, finish: Any) -> None:
    for gold in ([W], [], [W, BONN], [N3]):
        score = judge(message, *gold, mode=mode, finish=finish)
        assert score.call_match in (None, False) or gold == []
        json.dumps(score.to_json())


@pytest.mark.parametrize("then", [5, ["x"], [{}], [{"name": "station_board_departures", "arguments": 5}], {"a": 1}])
def test_a_strange_follow_up_in_a_row_is_no_exception(then: Any) -> None:
    assert judge(entries(call("station_board_departures", eva="8000208")), STATIONS, then=then).outcome == "wrong_tool"


# --- aggregates -------------------------------------------------------------------------------------------------------

def score(right: bool, tool: bool = False, **more: Any) -> Score:
    return Score("ok" if right else "wrong_args", parsed=True, tool_match=right or tool, args_match=right,
                 call_match=right, request_match=right, lenient_call_match=right, **more)


FAILED = Score.failure("infra_error", "timeout")


def test_ability_is_the_unweighted_mean_over_categories_without_not_covered() -> None:
    rows = [("a", True), ("a", False), ("b", True), ("not_covered", False), ("not_covered", False)]
    assert ability(rows) == (0.5 + 1.0) / 2


def test_ability_of_nothing_is_none() -> None:
    assert ability([]) is None
    assert ability([("not_covered", True)]) is None


def test_mean_of_nothing_is_none_not_zero() -> None:
    assert mean([]) is None
    assert mean([True, False, False, False]) == 0.25


def test_a_failure_counts_as_not_solved() -> None:
    rows = [("a", score(True)), ("a", FAILED)]
    assert aggregate(rows)["call_match"] == 0.5
    assert aggregate([r for r in rows if not r[1].failed])["call_match"] == 1.0


def test_args_given_tool_is_call_match_among_rows_with_the_right_tool() -> None:
    rows = [("a", score(True)), ("a", score(False, tool=True)), ("a", score(False)), ("a", FAILED)]
    metrics = aggregate(rows)
    assert metrics["args_given_tool"] == 0.5
    assert metrics["tool_choice"] == metrics["tool_match"] == 0.5
    assert aggregate([("a", score(False))])["args_given_tool"] is None


def test_call_match_of_a_category_is_not_diluted_by_others() -> None:
    metrics = aggregate([("a", score(True)), ("b", score(False)), ("b", score(True)), ("b", score(False))])
    assert metrics["call_match_a"] == 1.0
    assert metrics["call_match_b"] == pytest.approx(1 / 3)
    assert metrics["ability"] == pytest.approx((1 + 1 / 3) / 2)
    assert "call_match_c" not in metrics


def test_every_published_name_is_there() -> None:
    names = {"ability", "call_match", "tool_match", "args_match", "args_given_tool", "tool_choice", "parsed",
             "request_match", "datum_match", "lenient_call_match"}
    assert names <= set(aggregate([("a", score(True))]))
    assert all(value is None for value in aggregate([]).values())


def test_confusion_counts_gold_by_called_tool() -> None:
    def pair(gold: list[Call], verdict: Score) -> tuple[Task, Score]:
        return Task("t", "?", tuple(gold)), verdict

    table = confusion([
        pair([W], score(True, calls=(W,))), pair([W], score(False, calls=(AIR,))), pair([W], score(False, calls=None)),
        pair([W], score(False, calls=(call("wetter"),))), pair([W], FAILED), pair([], score(False, calls=(W,))),
    ], TOOLS)
    assert dict(table["weather"]) == {"weather": 1, "air_quality": 1, "none": 1, "unknown": 1}
    assert dict(table["none"]) == {"weather": 1}


@pytest.mark.parametrize("outcome", FAILURES)
def test_a_failure_has_no_score(outcome: str) -> None:
    failure = Score.failure(outcome, "no answer")
    assert failure.failed and bits(failure) == "------"


def test_request_match_sees_equal_requests_where_names_match_as_a_multiset() -> None:
    tools = read_tools()
    resource = {"name": "get_city_resource", "arguments": {"slug": "bonn", "resource": "weather"}}
    task = Task.from_json({"task_id": "t", "question": "?", "expected": [
        {"name": "weather", "arguments": {"slug": "koeln"}}, resource]})
    swapped = [("weather", '{"slug": "bonn"}'), ("get_city_resource", '{"slug": "koeln", "resource": "weather"}')]
    message = {"tool_calls": [{"function": {"name": n, "arguments": a}} for n, a in swapped]}
    score = score_reply(task, Reply(message, "tool_calls"), tools, "native")
    assert (score.tool_match, score.call_match, score.request_match) == (True, False, True)


def key(name: str) -> Call:
    return Call("get_city_resource", {"slug": "bonn", "resource": name})


@pytest.mark.parametrize(("one", "other", "reply", "why"), [
    (Call("air_quality", {"slug": "bonn"}), key("air"), key("air-uba"), "the URL of the one, the name of the other"),
    (key("geo"), Call("get_city", {"slug": "bonn"}), key("base"), "and the other way round"),
])
def test_the_same_request_as_any_accepted_answer_is_the_same_request(one, other, reply, why):
    for first, second in ((one, other), (other, one)):
        task = Task("t", "?", (first,), ((second,),))
        score = score_reply(task, Reply.from_text(json.dumps(reply.to_json())), read_tools())
        assert (score.call_match, score.request_match, score.datum_match) == (False, True, True), why
