"""From a chat message to calls: shapes of providers, order of the rules, modes, texts that try to break the reader."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path
from typing import Any

import pytest

from lm_eval_task.parse import calls_from_message
from lm_eval_task.records import Call, Reading
from lm_eval_task.tools import read_tools

TOOLS = read_tools(Path(__file__).parent / "data" / "reply_tools.json")
W, BONN = Call("weather", {"slug": "koeln"}), Call("weather", {"slug": "bonn"})
GOOD = '{"name": "weather", "arguments": {"slug": "koeln"}}'
TAG = f"<tool_call>\n{GOOD}\n</tool_call>"


def read(message: Any, mode: str = "native", finish: str | None = "stop") -> Reading:
    if isinstance(message, str):
        message = {"role": "assistant", "content": message}
    return calls_from_message(message, TOOLS, mode, finish)


def function(arguments: Any, name: str = "weather") -> dict[str, Any]:
    return {"id": "c0", "type": "function", "function": {"name": name, "arguments": arguments}}


# --- structured shapes (formats, section 1) ---------------------------------------------------------------------------

SHAPES = [
    ("OpenAI chat", {"content": None, "tool_calls": [function('{"slug": "koeln"}')]}),
    ("OpenAI chat with text", {"content": "Moment …", "tool_calls": [function('{"slug": "koeln"}')]}),
    ("OpenAI legacy", {"content": None, "function_call": {"name": "weather", "arguments": '{"slug": "koeln"}'}}),
    ("OpenAI Responses", {"output": [
        {"type": "reasoning", "summary": []},
        {"type": "function_call", "name": "weather", "arguments": '{"slug": "koeln"}', "call_id": "c0"}]}),
    ("Anthropic", {"role": "assistant", "content": [
        {"type": "text", "text": "Ich sehe nach."}, {"type": "tool_use", "id": "t", "name": "weather",
                                                     "input": {"slug": "koeln"}}]}),
    ("Gemini with a thought", {"parts": [
        {"thought": True, "text": TAG.replace("koeln", "bonn")}, {"functionCall": {"name": "weather",
                                                                                   "args": {"slug": "koeln"}}}]}),
    ("Gemini", {"parts": [{"text": "Ich sehe nach."}, {"functionCall": {"name": "weather",
     "args": {"slug": "koeln"}}}]}),
    ("Ollama", {"content": "", "tool_calls": [{"function": {"name": "weather", "arguments": {"slug": "koeln"}}}]}),
]


@pytest.mark.parametrize(("shape", "message"), SHAPES, ids=[s for s, _ in SHAPES])
@pytest.mark.parametrize("mode", ["prompt", "native"])
def test_structured_call_is_read_directly(shape: str, message: dict[str, Any], mode: str) -> None:
    reading = read(message, mode)
    assert reading.calls == (W,)
    assert reading.attempted and not reading.broken and not reading.recovered


ARGUMENTS = [
    # (arguments of a native entry, value or None if unreadable, recovered, why)
    ('{"slug": "koeln"}', {"slug": "koeln"}, False, "a JSON string"),
    ({"slug": "koeln"}, {"slug": "koeln"}, False, "an object"),
    (' {"slug": "koeln"}\n', {"slug": "koeln"}, False, "blanks around"),
    ('"{\\"slug\\": \\"koeln\\"}"', {"slug": "koeln"}, True, "a string inside a string"),
    (json.dumps(json.dumps('{"slug": "koeln"}')), None, False, "not a third time"),
    ("", {}, False, "blank arguments are {}"), (None, {}, False, "null arguments are {}"), ("{}", {}, False, "{}"),
    ("null", {}, False, "the text null is {}"), ("  ", {}, False, "blanks are {}"),
    ('{"slug": "koeln"}{"slug": "koeln"}', {"slug": "koeln"}, True, "identical duplicates collapse"),
    ('{"slug": "koeln"}{"slug": "bonn"}', None, False, "different ones do not"),
    ('{"limit": 1}{"limit": true}', None, False, "1 and true are different"),
    ("{'slug': 'koeln'}", {"slug": "koeln"}, True, "single quotes"),
    ("{'open_only': True, 'note': None}", {"open_only": True, "note": None}, True, "Python words"),
    ('{"slug": "koeln",}', {"slug": "koeln"}, True, "trailing comma"),
    ('{"slug": "koeln"}"', {"slug": "koeln"}, True, "trailing quote"),
    ('```json\n{"slug": "koeln"}\n```', {"slug": "koeln"}, True, "fence"),
    ('{"slug": "koeln"} ja', None, False, "a word behind"),
    ('{"slug": "koeln"', None, False, "open brace"), ('{"slug": "koe', None, False, "open string"), ("{", None, False,
     "{"),
    ('["koeln"]', None, False, "a list"), (["koeln"], None, False, "a list, decoded"), ("koeln", None, False, "a word"),
    (5, None, False, "a number"), (True, None, False, "a boolean"), ("5", None, False, "digits"),
    ('{"slug": NaN}', None, False, "NaN"), ('{"slug": -Infinity}', None, False, "Infinity"),
    ('{"slug": 1e999}', None, False, "beyond every float"),
    ('{"slug": "a", "slug": "b"}', None, False, "a key twice, different values"),
    ('{"slug": "a", "slug": "a"}', {"slug": "a"}, False, "a key twice, the same value"),
    ('{slug: "koeln"}', None, False, "a bare key"),
    ("slug=koeln", None, False, "no JSON"),
    ('{"slug": "K\\u00f6ln"}', {"slug": "Köln"}, False, "escapes"),
    ('{"limit": ' + "9" * 5000 + "}", None, False, "more digits than int takes"),
]


@pytest.mark.parametrize(("arguments", "value", "recovered", "why"), ARGUMENTS, ids=[a[3] for a in ARGUMENTS])
def test_native_arguments(arguments: Any, value: dict[str, Any] | None, recovered: bool, why: str) -> None:
    reading = read({"content": None, "tool_calls": [function(arguments, "nearby")]})
    assert reading.attempted
    if value is None:
        assert reading.broken and reading.calls is None and reading.broken_name == "nearby", why
    else:
        assert reading.calls is not None and json.dumps(dict(reading.calls[0].arguments)) == json.dumps(value), why
        assert reading.recovered is recovered
        assert bool(reading.labels) >= recovered


NAMES = [
    ("weather", "weather"), (" weather ", "weather"), ("functions.weather", "weather"), ("functions.weather:0",
     "weather"),
    ("weather:12", "weather"), ("functions.erfunden:3", "erfunden"), ("geo.find-place", "geo.find-place"),
    ("Weather", "Weather"), ("tools.weather", "tools.weather"),
]


@pytest.mark.parametrize(("given", "name"), NAMES, ids=[n[0] for n in NAMES])
def test_native_name(given: str, name: str) -> None:
    reading = read({"content": None, "tool_calls": [function("{}", given)]})
    assert reading.calls == (Call(name, {}),)


ENTRIES = [
    ([function('{"slug": "koeln"}'), {"id": "x"}], (W,), False, "an entry without a function beside a complete call"),
    ([None, function('{"slug": "koeln"}')], (W,), False, "null beside a complete call"),
    ([{"id": "x"}], None, True, "alone it is an attempt"),
    ([{"function": None}], None, True, "function null"),
    ([function('{"slug": "koeln"}'), function("{", "pois")], (W,), True, "unreadable arguments beside a complete call"),
    ([function('{"slug": "koeln"}'), function("{}", "")], (W,), True,
     "a function without a name beside a complete call"),
    ([function('{"slug": "koeln"}'), function('{"slug": "koeln"}')], (W, W), False, "two entries are two calls"),
    ([], None, False, "an empty list is no attempt"),
]


@pytest.mark.parametrize(("entries", "calls", "broken", "why"), ENTRIES, ids=[e[3] for e in ENTRIES])
def test_native_entries(entries: list[Any], calls: tuple[Call, ...] | None, broken: bool, why: str) -> None:
    reading = read({"content": "", "tool_calls": entries})
    assert (reading.calls, reading.broken, reading.attempted) == (calls, broken, bool(entries)), why


def test_native_calls_win_over_text() -> None:
    assert read({"content": TAG.replace("koeln", "bonn"), "tool_calls": [function('{"slug": "koeln"}')]}).calls == (W,)
    assert read({"content": TAG, "tool_calls": []}).calls == (W,)
    assert read({"content": TAG, "tool_calls": None}).calls == (W,)


def test_malformed_finish_reason_is_an_attempt_whatever_else_is_there() -> None:
    for message in ("", "Nein.", GOOD, {"content": None, "tool_calls": [function('{"slug": "koeln"}')]}):
        for finish in ("malformed_function_call", "MALFORMED_FUNCTION_CALL", "malformed"):
            reading = read(message, finish=finish)
            assert reading.attempted and reading.broken


# --- JSON in text: what is a call in which mode -----------------------------------------------------------------------

J = json.dumps
TEXTS = [
    # (text, calls in prompted mode, calls in native mode, why); BROKEN = attempted and unreadable, None = no attempt
    (GOOD, [W], [W], "bare object"),
    (f"  \n{GOOD}\n ", [W], [W], "blanks around"),
    (J([json.loads(GOOD)]), [W], [W], "list of one"),
    (J([W.to_json(), BONN.to_json()]), [W, BONN], [W, BONN], "list of two"),
    (f"```json\n{GOOD}\n```", [W], [W], "fence"),
    (f"```\n{GOOD}\n```", [W], [W], "fence without a language"),
    (f"```tool_call\n{GOOD}\n```", [W], [W], "fence with another language"),
    (f"```json {GOOD} ```", [W], [W], "fence on one line"),
    (f"```json\n{J([W.to_json(), BONN.to_json()])}\n```", [W, BONN], [W, BONN], "list in a fence"),
    (f"Gern. {GOOD}", [W], None, "behind prose"),
    (f"Ich rufe\n{GOOD}\nauf.", [W], None, "inside prose"),
    (f"{GOOD} {J(BONN.to_json())}", [W, BONN], "BROKEN", "one after the other"),
    (f"{GOOD}; {J(BONN.to_json())}", [W, BONN], "BROKEN", "joined by ;"),
    (f"```json\n{GOOD}\n```\nund\n```json\n{J(BONN.to_json())}\n```", [W, BONN], "BROKEN", "several fences"),
    (f"{GOOD}\n{GOOD}", [W], "BROKEN", "identical bare objects collapse in prompted mode"),
    ('{"tool_calls": [' + GOOD + "]}", [W], [W], "tool_calls wrapper"),
    ('{"function": ' + GOOD + "}", [W], [W], "function wrapper"),
    (J([{"type": "function", "function": W.to_json()}]), [W], [W], "function wrapper in a list"),
    ('{"name": "list_cities"}', [Call("list_cities")], [Call("list_cities")],
     "an offered name without an arguments key"),
    ('{"name": "list_cities", "arguments": null}', [Call("list_cities")], [Call("list_cities")], "null arguments"),
    ('{"name": "list_cities", "arguments": ""}', [Call("list_cities")], [Call("list_cities")], "blank arguments"),
    ('{"name": "erfunden", "arguments": {}}', [Call("erfunden")], [Call("erfunden")], "whole text: whatever its name"),
    ('Etwa {"name": "erfunden", "arguments": {}}.', None, None, "inside prose: offered names only"),
    ('{"name": "erfunden"}', None, None, "no arguments key: offered names only"),
    ('{"name": "Anna", "input": 5}', None, None, "an arguments key needs an object or JSON string"),
    ('{"name": 5, "arguments": {}}', None, None, "a name is a string"),
    ('{"name": null}', [], [], "a deliberate no call"), ('{"name": ""}', [], [], "a deliberate no call"),
    ("[]", [], [], "a deliberate no call"), ('{"tool_calls": []}', [], [], "a deliberate no call"),
    ("{}", None, None, "an empty object says nothing"),
    ('{"ort": "Köln"}', None, None, "no call"), ("[1, 2]", None, None, "no call"), ("12", None, None, "no call"),
    ("{", None, None, "a brace alone does not start a call"), ("[", None, None, "nor does a bracket"),
    ('{"', "BROKEN", "BROKEN", "a brace and a quote do"), ("[{", "BROKEN", "BROKEN", "a bracket and a brace do"),
    ("[weather(", "BROKEN", "BROKEN", "a bracket and an offered name do"), ("[wetter(", None, None,
     "another name does not"),
    ('```json\n{"na', "BROKEN", "BROKEN", "behind a fence header"),
    ('<think>x</think>{"na', "BROKEN", "BROKEN", "behind a closed thought"),
    ('Gern: {"name": "weather", "arg', "BROKEN", None, "prompted mode: a quoted name key anywhere"),
    ("Gern: {'tool': 'weather', 'arg", "BROKEN", None, "in single quotes, too"),
    ('Gern: {"slug": "koeln", ', None, None, "no name key"),
    ("Das sind {viele, Klammern}", None, None, "braces in prose"),
    ('{"name": "weather", "arguments": "koeln"}', "BROKEN", "BROKEN", "an offered name with unreadable arguments"),
    ('{"name": "weather", "arguments": ["koeln"]}', "BROKEN", "BROKEN", "an offered name with a list"),
    ('{"name": "nearby", "arguments": {"slug": "k", "area": ' + GOOD + "}}",
     [Call("nearby", {"slug": "k", "area": json.loads(GOOD)})], [Call("nearby", {"slug": "k",
      "area": json.loads(GOOD)})],
     "a call nested in a call is none of its own"),
    ('Siehe {"daten": ' + GOOD + "}", None, None, "a call nested in another object is none"),
    ('{"antwort": "Zwölf Grad."}', None, None, "an answer"),
    ('{"name": "nearby", "arguments": {"slug": "k", "note": "<tool_call>{"}}', [Call("nearby", {
        "slug": "k", "note": "<tool_call>{"})], [Call("nearby", {"slug": "k", "note": "<tool_call>{"})],
     "an opener inside a string is data"),
    ('{"name": "nearby", "arguments": {"slug": "k", "note": "<think>x</think>"}}', [Call("nearby", {
        "slug": "k", "note": "<think>x</think>"})], [Call("nearby", {"slug": "k", "note": "<think>x</think>"})],
     "thinking tags inside a string are data"),
    ('Gern: {"name": "nearby", "arguments": {"slug": "k", "note": "<tool_call>{"}} so.',
     [Call("nearby", {"slug": "k", "note": "<tool_call>{"})], None, "an opener inside JSON in prose is data"),
    ("Ich kann <tool_call> nicht nutzen.", "BROKEN", "BROKEN", "an opener is an attempt"),
]
KEYS = [({n: "weather", a: {"slug": "koeln"}}) for n in ("name", "tool", "tool_name", "function")
        for a in ("arguments", "parameters", "args", "input", "tool_input")]


@pytest.mark.parametrize("mode", ["prompt", "native"])
def test_an_opener_inside_json_does_not_hide_the_one_behind_it(mode: str) -> None:
    reading = read('Etwa {"a": "<tool_call>"}, danach ' + TAG, mode)
    assert reading.calls == (W,) and reading.recovered


@pytest.mark.parametrize(("text", "prompted", "native", "why"), TEXTS, ids=[f"{i} {t[3]}" for i, t in enumerate(TEXTS)])
def test_json_text(text: str, prompted: Any, native: Any, why: str) -> None:
    for mode, wanted in (("prompt", prompted), ("native", native)):
        reading = read(text, mode)
        if wanted == "BROKEN":
            assert reading.broken and reading.attempted, (mode, why)
            continue
        assert not reading.broken, (mode, why)
        assert reading.attempted is bool(wanted), (mode, why)
        assert list(reading.calls or ()) == (wanted or []), (mode, why)


NOTES = [
    # (text, mode, labels): the names are ours; each says what the reading took
    (GOOD, "prompt", ()), (GOOD, "native", ("bare_json",)), (f"[{GOOD}]", "prompt", ("list_of_one",)),
    (J([W.to_json(), BONN.to_json()]), "prompt", ()), (f"```\n{GOOD}\n```", "prompt", ("fenced_json",)),
    (f"Gern: {GOOD}", "prompt", ("prose_around",)), ('{"tool": "list_cities", "args": {}}', "prompt", ("other_keys",)),
    ('{"name": "list_cities"}', "prompt", ("no_arguments_key",)),
    ('{"name": "list_cities", "arguments": null}', "prompt", ("empty_arguments",)),
    ('{"name": "functions.list_cities:0", "arguments": {}}', "prompt", ("name_affix",)),
    (f"<think>Hm</think>{GOOD}", "prompt", ("reasoning_removed",)), (f"{GOOD}\n{GOOD}", "prompt",
                                                                    ("prose_around", "duplicate_collapsed")),
    (GOOD.replace('"', "'"), "prompt", ("single_quotes",)), (GOOD[:-1] + ",}", "prompt", ("trailing_comma",)),
    (GOOD + '"', "prompt", ("trailing_quotes",)), (TAG, "prompt", ("tool_call_tag",)), ("Nein.", "prompt", ()),
]


@pytest.mark.parametrize(("text", "mode", "labels"), NOTES, ids=range(len(NOTES)))
def test_every_step_of_a_reading_leaves_its_label(text: str, mode: str, labels: tuple[str, ...]) -> None:
    assert read(text, mode).labels == labels


def test_a_native_reading_without_any_step_has_no_label() -> None:
    assert read({"content": None, "tool_calls": [function('{"slug": "koeln"}')]}).labels == ()
    assert read({"content": None, "tool_calls": [function("", "functions.list_cities:0")]}).labels == (
        "name_affix", "empty_arguments")


@pytest.mark.parametrize("value", KEYS, ids=["-".join(k) for k in KEYS])
def test_key_variants(value: dict[str, Any]) -> None:
    assert read(J(value), "prompt").calls == (W,)
    assert not read(J(value), "prompt").recovered
    assert read("Gern: " + J(value), "prompt").calls == (W,)
    assert read(J([value]), "native").calls == (W,)


@pytest.mark.parametrize("length", range(len(GOOD)))
def test_bare_json_cut_at_every_byte_is_never_a_call(length: int) -> None:
    for mode in ("prompt", "native"):
        for text in (GOOD[:length], "Gern: " + GOOD[:length], f"```json\n{GOOD[:length]}", f"[{GOOD}, {GOOD[:length]}"):
            reading = read(text, mode)
            assert not reading.calls or reading.broken


def test_a_broken_object_beside_a_complete_call_spoils_it_and_keeps_it_on_record() -> None:
    for text in (f'Erst {GOOD}, dann {{"name": "wea', f'Erst {GOOD}, dann {{"name": "pois", "arguments": 5}}.'):
        reading = read(text, "prompt")
        assert reading.broken and reading.calls == (W,)


POIS = Call("pois", {"slug": "essen", "type": "school"})
PIECES = [
    # (a piece of a prompted reply, the calls it holds, is it an unreadable attempt)
    ("Ich sehe nach:", [], False), ("Das {ist} [nichts] (gar) nichts.", [], False), ("Umlaute: äöüß „so“ – 🚲", [],
     False),
    (GOOD, [W], False), (J(POIS.to_json()), [POIS], False), (f"```json\n{GOOD}\n```", [W], False),
    (J([W.to_json(), BONN.to_json()]), [W, BONN], False), ('{"tool": "list_cities"}', [Call("list_cities")], False),
    ('{"daten": {"name": "weather", "arguments": {}}}', [], False), ('{"name": "Anna", "alter": 5}', [], False),
    ("[1, 2, 3]", [], False), ('{"name": null}', [], False), ('{"name": "weather", "arguments": {"slug": x}}', [],
     True),
    ('{"name": "weather", "arguments": 5}', [], True),
]


def test_prompted_replies_of_several_pieces() -> None:
    """Calls come in order, identical ones once; one unreadable attempt spoils the reply; prose changes nothing."""
    rng = random.Random("infranode pieces")
    for _ in range(3000):
        chosen = rng.choices(PIECES, k=rng.randint(2, 5))
        reading = read("Nun: " + "\n".join(piece for piece, _, _ in chosen), "prompt")
        distinct, bare = [], []
        for piece, found, _ in chosen:   # bare objects collapse, lists and fences say what they say
            if piece.startswith("{") and found and found[0] in bare:
                continue
            bare += found if piece.startswith("{") else []
            distinct += found
        assert reading.broken is any(broken for _, _, broken in chosen), chosen
        if not reading.broken:
            assert list(reading.calls or ()) == distinct, chosen
            assert reading.recovered is (len(distinct) < sum(len(found) for _, found, _ in chosen)), chosen


# --- reasoning --------------------------------------------------------------------------------------------------------

WRAPPERS = [("<think>", "</think>"), ("<thinking>", "</thinking>"), ("<seed:think>", "</seed:think>"),
            ("[THINK]", "[/THINK]"), ("<|START_THINKING|>", "<|END_THINKING|>"), ("<|channel>thought\n", "<channel|>"),
            ("", "</think>"), ("<|channel|>analysis<|message|>", "<|end|>")]


@pytest.mark.parametrize(("opener", "closer"), WRAPPERS, ids=[o or "no opener" for o, _ in WRAPPERS])
def test_a_draft_in_closed_reasoning_is_not_the_call(opener: str, closer: str) -> None:
    draft = TAG.replace("koeln", "bonn")
    for mode in ("prompt", "native"):
        reading = read(f"{opener}Erst dachte ich {draft}{closer}{GOOD}", mode)
        assert reading.calls == (W,)
        assert not reading.truncated


@pytest.mark.parametrize("opener", [o for o, _ in WRAPPERS if o], ids=[o for o, _ in WRAPPERS if o])
@pytest.mark.parametrize("draft", [GOOD, TAG])
def test_an_unclosed_block_is_never_searched(opener: str, draft: str) -> None:
    for finish in ("stop", "length", None):
        reading = read(f"{opener}Ich denke {draft}", "prompt", finish)
        assert reading.truncated and not reading.calls and reading.lenient is None


def test_reasoning_fields_are_thoughts_not_text() -> None:
    for key in ("reasoning", "reasoning_content"):
        reading = read({"content": "", key: GOOD})
        assert reading.thought and not reading.text and reading.calls is None
    blocks = [{"type": "thinking", "thinking": "Hm"}, {"type": "text", "text": "Nein."}]
    assert read({"content": blocks}).text == "Nein."


# --- whatever comes, no exception, in linear time ---------------------------------------------------------------------

SIZE = 100_000


def repeated(unit: str, before: str = "", after: str = "") -> str:
    return before + unit * (SIZE // len(unit)) + after


LONG = {
    "letters": repeated("a"), "blanks": repeated(" ", "x", "x"), "open braces": repeated("{"),
    "open brackets": repeated("["),
    "brace quote": repeated('{"'), "nested objects": repeated('{"a":'), "nested name keys": repeated('{"name":'),
    "quotes": repeated('"'), "backslashes": repeated("\\", '{"a": "'), "objects": repeated('{"a": 1} '),
    "calls": repeated(GOOD + " "), "list of calls": repeated(GOOD + ",", "[", GOOD + "]"), "think": repeated("<think>"),
    "end of think": repeated("</think>"), "empty thoughts": repeated("<think></think>"), "fences": repeated("```"),
    "fence headers": repeated("```json\n"), "harmony message": repeated("<|message|>"),
    "harmony long headers": repeated("x" * 200 + "<|message|>"),
    "harmony behind": repeated("a", "<|channel|>analysis<|message|>x<|end|>"), "channels": repeated("<|channel|>"),
    "pythonic": repeated("[weather("), "pythonic calls": repeated("weather(slug='a'),", "["),
    "ReAct": repeated("Action: x\n"),
    "ReAct blanks": repeated(" ", "Action: weather\nAction Input:"), "lines": repeated(" \n"),
    "mistral name": repeated("a", "[TOOL_CALLS]"), "mistral blanks": repeated(" ", "[TOOL_CALLS]a", "x"),
    "mistral ids": repeated("a ", "[TOOL_CALLS]a[CALL_ID]"), "tag and letters": repeated("a.", "<tool_call>"),
    "closers in a value": repeated("</parameter>x", "<tool_call><function=weather><parameter=slug>"),
    "parameters": repeated("<parameter=slug>a</parameter>", "<tool_call><function=weather>"),
    "functions": repeated("<function=a>"),
    "gemma": repeated("a:[[", "<|tool_call>call:weather{"), "gemma keys": repeated("a,", "<|tool_call>call:weather{"),
    "kimi blanks": repeated(" ", "<|tool_call_begin|>functions.a", "<|tool_call_argument_begin|>"),
    "kimi names": repeated("functions.a:1", "<|tool_call_begin|>"), "digits": repeated("9",
    '{"name": "nearby", "limit": '),
    "marks": repeated("o\u0308", '{"name": "weather", "arguments": {"slug": "', '"}}'), "umlauts": repeated("ä"),
    "commas": repeated(","), "empty objects": repeated("{}"), "German quotes": repeated("„"),
    "backticks": repeated("`a"),
    "question marks": repeated("?"), "sentences": repeated("Ich habe nichts angelegt. "),
}


@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
def test_a_long_text_is_read_in_linear_time(text: str) -> None:
    """Quadratic readers need minutes for these; the bound is wide so that a slow machine passes."""
    start = time.process_time()
    for message in ({"content": text}, {"content": "", "reasoning": text},
                    {"content": None, "tool_calls": [function(text)]}):
        for mode in ("prompt", "native"):
            read(message, mode)
    assert time.process_time() - start < 6


@pytest.mark.parametrize("text", [GOOD, TAG, "Das Wetter. "], ids=["object", "tag", "prose"])
def test_a_megabyte_in_front_does_not_hide_the_call(text: str) -> None:
    assert bool(read("Nun, also. " * 90_000 + text, "prompt").calls) is (text != "Das Wetter. ")


DEEP = ["[" * 10_000 + "]" * 10_000, '{"a":' * 10_000 + "1" + "}" * 10_000, "[" * 10_000, '{"a":' * 10_000]


@pytest.mark.parametrize("deep", DEEP, ids=["lists", "objects", "open lists", "open objects"])
def test_deep_nesting_is_unreadable(deep: str) -> None:
    message = '{"name": "nearby", "arguments": {"slug": "k", "tags": ' + deep + "}}"
    for text in (message, f"<tool_call>{message}</tool_call>", f"[nearby(slug='k', tags={deep})]", "Gern: " + message,
                 f"<|tool_call>call:nearby{{tags:{deep}}}<tool_call|>"):
        for mode in ("prompt", "native"):
            assert not read(text, mode).calls
    assert read({"content": None, "tool_calls": [function(deep)]}).broken


ODD = ["\x00", "\ud800", "\udfff\ud800", "\u202e", "\x1b[31m", "\ufeff", "\u2028", "\x85", "\u200b", "𝕨"]


@pytest.mark.parametrize("odd", ODD, ids=[ascii(o) for o in ODD])
def test_odd_characters_are_data(odd: str) -> None:
    call = Call("nearby", {"slug": "k", "note": f"a{odd}b"})
    for ascii_only in (True, False):
        text = json.dumps(call.to_json(), ensure_ascii=ascii_only)
        if ascii_only or odd not in ("\x00", "\x1b[31m"):   # control characters stand in JSON escaped only
            assert read(text, "prompt").calls == (call,)
            assert read(f"<tool_call>{text}</tool_call>").calls == (call,)
    for text in (odd, odd + GOOD, GOOD[:20] + odd + GOOD[20:], GOOD + odd):
        read(text, "prompt")
        read(text, "native")


def test_random_text_never_raises_and_never_calls_an_unoffered_tool_in_prose() -> None:
    rng = random.Random("infranode random text")
    tokens = [*'{}[]()"\',:;=<>|/\\ \n', "name", "arguments", "weather", "slug", "koeln", "<tool_call>",
    "</tool_call>", "null",
              "<think>", "</think>", "```json", "```", "[TOOL_CALLS]", "[ARGS]", "<function=", "<parameter=", "\x00",
              "\ud800",
              "<|channel|>", "<|message|>", "analysis", "to=", "call:", "<|\"|>", "Action: ", "ä", "5", "true", GOOD,
              TAG]
    for _ in range(4000):
        text = "".join(rng.choices(tokens, k=rng.randint(1, 30)))
        for mode in ("prompt", "native"):
            reading = read(text, mode, rng.choice(("stop", "length", None)))
            assert reading.calls is None or all(c.name for c in reading.calls)
            assert not (reading.broken and not reading.attempted)


def test_random_bytes_never_raise() -> None:
    rng = random.Random("infranode random bytes")
    for _ in range(300):
        text = rng.randbytes(rng.randint(0, 400)).decode("utf-8", rng.choice(("replace", "surrogateescape", "ignore")))
        for message in (text, {"content": None, "tool_calls": [function(text, text or "x")]},
        {"content": [{"text": text}]}):
            read(message, rng.choice(("prompt", "native")))


def test_a_mirrored_function_call_is_no_second_call() -> None:
    function = {"name": "weather", "arguments": '{"slug": "koeln"}'}
    message = {"content": None, "tool_calls": [{"type": "function", "function": function}], "function_call": function}
    assert read(message, "native").calls == (W,)


@pytest.mark.parametrize("details", [[{"type": "reasoning.text", "text": "Hm"}], [{"text": "Hm"}, {"data": "x"}]])
def test_reasoning_details_are_a_thought(details: Any) -> None:
    reading = read({"content": "", "reasoning_details": details})
    assert reading.thought and reading.calls is None


@pytest.mark.parametrize(("text", "calls", "why"), [
    ('{"name": "weather", "tool": "pois", "arguments": {"slug": "koeln"}}', None, "two names, which one is meant?"),
    ('{"name": "weather", "tool": "weather", "arguments": {"slug": "koeln"}}', (W,), "the same name twice"),
])
def test_two_names_for_one_call(text: str, calls: Any, why: str) -> None:
    reading = read(text)
    assert (reading.calls, reading.broken) == (calls, calls is None), why


def test_a_refusal_in_its_own_field_is_a_text() -> None:
    assert read({"content": None, "refusal": "Das kann ich nicht."}).text == "Das kann ich nicht."


def test_openai_responses_refusal_and_reasoning_content() -> None:
    refusal = {"output": [{"type": "message", "content": [{"type": "refusal", "refusal": "Nein."}]}]}
    assert read(refusal, "native").text == "Nein."
    thought = {"output": [{"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "Hm"}]}]}
    assert read(thought, "native").thought and not read(thought, "native").text


G = '{"name": "weather", "arguments": {"slug": "koeln"}}'


@pytest.mark.parametrize(("text", "calls", "broken", "why"), [
    (f"Gern: [{G}, {G}]", (W, W), False, "a list says what it says, prose before it or not"),
    (f"```json\n{G}\n```\n```json\n{G}\n```", (W, W), False, "two fenced blocks are two"),
    (f"{G} und {G}", (W,), False, "bare objects collapse"),
    ('{\n  // Wetter\n  "name": "weather",\n  "arguments": {"slug": "koeln"}\n}', None, True, "a comment is no JSON"),
    ('{type: "function", "name": "weather", "arguments": {"slug": "koeln"}}', None, True, "an unquoted key"),
    ("Gern: {„name“: „weather“, „arguments“: {„slug“: „koeln“}}", None, True, "German quotes"),
    ("Der Bereich {x} und {y} ist leer.", None, False, "braces in prose"),
    ('```\nx\n```\n{"name": "erfunden", "arguments": {}}\n```\ny\n```', None, False, "between two fences is prose"),
    ('[{"name": null}]', (), False, "a list of nothing calls nothing"),
    ("\ufeff" + G, (W,), False, "a byte order mark is no text"),
])
def test_prompted_texts_that_an_attack_found(text: str, calls: Any, broken: bool, why: str) -> None:
    reading = read(text, "prompt")
    assert (reading.calls, reading.broken) == (calls, broken), why


@pytest.mark.parametrize("text", ["\ufeff", "\u200b", "\0"])
def test_what_nobody_sees_is_no_text(text: str) -> None:
    assert read(text, "prompt").text == ""


TWICE = {
    "qwen": "<tool_call>\n<function=weather>\n<parameter=slug>\n{}\n</parameter>\n<parameter=slug>\n{}\n</parameter>\n"
            "</function>\n</tool_call>",
    "glm": "<tool_call>weather<arg_key>slug</arg_key><arg_value>{}</arg_value><arg_key>slug</arg_key><arg_value>{}"
           "</arg_value></tool_call>",
    "claude": '<function_calls><invoke name="weather"><parameter name="slug">{}</parameter><parameter name="slug">{}'
              "</parameter></invoke></function_calls>",
    "dsml": '<｜DSML｜invoke name="weather">\n<｜DSML｜parameter name="slug" string="true">{}</｜DSML｜parameter>\n'
            '<｜DSML｜parameter name="slug" string="true">{}</｜DSML｜parameter>\n</｜DSML｜invoke>',
    "kimi k3": '<|open|>tools<|sep|><|open|>call tool="weather" index="1"<|sep|>'
               '<|open|>argument key="slug" type="string"<|sep|>{}<|close|>argument<|sep|>'
               '<|open|>argument key="slug" type="string"<|sep|>{}<|close|>argument<|sep|>'
               "<|close|>call<|sep|><|close|>tools<|sep|>",
}


@pytest.mark.parametrize("family", TWICE)
def test_a_parameter_twice_with_different_values_is_unreadable(family: str) -> None:
    assert read(TWICE[family].format("bonn", "koeln")).broken
    assert read(TWICE[family].format("koeln", "koeln")).calls == (W,)


@pytest.mark.parametrize("text", [
    'Action: weather\r\nAction Input: {"slug": "koeln"}',
    '<|tool_call_start|>[\nweather(slug="koeln")\n]<|tool_call_end|>',
    f"<|tool_call_start|>[\r\n{G}\r\n]<|tool_call_end|>",
    f"<|tool_call_start|>[  {G}]<|tool_call_end|>",
    f"{G}<|channel|>analysis<|message|>Hm<|end|>",
])
@pytest.mark.parametrize("mode", ["prompt", "native"])
def test_line_ends_blanks_and_channels_lose_no_call(text: str, mode: str) -> None:
    assert read(text, mode).calls == (W,)


def test_text_before_an_analysis_channel_is_kept_and_a_call_inside_it_is_not_read() -> None:
    assert read("Das geht nicht.<|channel|>analysis<|message|>Hm<|end|>").text == "Das geht nicht."
    assert read('<|channel|>analysis to=functions.weather<|message|>{"slug": "koeln"}<|call|>').calls is None


@pytest.mark.parametrize("depth", [300, 990, 5_000])
def test_arguments_that_an_endpoint_nested_too_deeply_are_unreadable(depth: int) -> None:
    arguments: dict[str, Any] = {"slug": "koeln"}
    for _ in range(depth):
        arguments = {"a": arguments}
    reading = read({"tool_calls": [{"function": {"name": "weather", "arguments": arguments}}]})
    assert reading.broken and reading.broken_name == "weather"


def test_an_entry_without_a_function_gives_way_to_the_older_spelling() -> None:
    message = {"tool_calls": [{"id": "x"}], "function_call": {"name": "weather", "arguments": '{"slug": "koeln"}'}}
    assert read(message).calls == (W,)


# --- a prompt that asks for several calls -----------------------------------------------------------------------------

OTHER = '{"name": "unknown", "arguments": {"slug": "bonn"}}'
TWO = '{"name": "weather", "arguments": {"slug": "bonn"}}'
SEVERAL = [
    # (text, names and slugs where several calls were asked for, where one was)
    (f"[{GOOD}, {TWO}]", "koeln bonn", "koeln bonn"), (f"{GOOD}\n{TWO}", "koeln bonn", "koeln bonn"),
    (f"```json\n{GOOD}\n```\n```json\n{TWO}\n```", "koeln bonn", "koeln bonn"),
    (f"```json\n{GOOD}\n{TWO}\n```", "koeln bonn", "koeln bonn"), (f"{GOOD}, {TWO}", "koeln bonn", "koeln bonn"),
    (f"Erst {GOOD}, dann {TWO}.", "koeln bonn", "koeln bonn"), (GOOD, "koeln", "koeln"),
    (f"{GOOD}\n{GOOD}", "koeln koeln", "koeln"), (f"{GOOD}\n{OTHER}", "koeln bonn", "koeln"),
    (f"{GOOD};\n```\n{OTHER}\n```", "koeln bonn", "koeln bonn"), (f"Wie {OTHER}: {GOOD}", "koeln", "koeln"),
]


@pytest.mark.parametrize(("text", "several", "one"), SEVERAL, ids=range(len(SEVERAL)))
def test_objects_one_after_the_other_are_calls_in_order(text: str, several: str, one: str) -> None:
    message = {"role": "assistant", "content": text}
    for wanted, flag in ((several, True), (one, False)):
        reading = calls_from_message(message, TOOLS, "prompt", "stop", several=flag)
        assert " ".join(call.arguments["slug"] for call in reading.calls) == wanted
        assert not reading.broken


def test_several_calls_change_nothing_in_native_mode_and_repair_nothing() -> None:
    def reading(text: str, mode: str) -> Reading:
        return calls_from_message({"role": "assistant", "content": text}, TOOLS, mode, "stop", several=True)
    assert reading(f"{GOOD}\n{TWO}", "native").broken
    assert reading(f"{GOOD}\n{TWO[:-4]}", "prompt").broken
    assert reading(f"{GOOD}\n{GOOD}", "prompt").labels == ("one_after_another",)
