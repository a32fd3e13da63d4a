"""Every text family of the formats specification: its example, its neighbours, and what must never become a call."""

from __future__ import annotations

import json
import random
import string
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from lm_eval_task.formats import FORMATS
from lm_eval_task.metrics import score_reply
from lm_eval_task.parse import calls_from_message
from lm_eval_task.records import Call, Reading, Reply, Task
from lm_eval_task.tools import read_tools

TOOLS = read_tools(Path(__file__).parent / "data" / "reply_tools.json")
MODES = ("prompt", "native")


def read(text: str, mode: str = "native", finish_reason: str | None = "stop") -> Reading:
    return calls_from_message({"role": "assistant", "content": text}, TOOLS, mode, finish_reason)


def outcome(text: str, gold: list[Call], mode: str = "native", finish_reason: str = "stop") -> str:
    return score_reply(Task("t", "q", tuple(gold)), Reply.from_text(text, finish_reason), TOOLS, mode).outcome


# --- how each family writes a list of calls ---------------------------------------------------------------------------

def js(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def named(call: Call, name: str = "name", arguments: str = "arguments") -> dict[str, Any]:
    return {name: call.name, arguments: dict(call.arguments)}


def raw(value: Any) -> str:
    """A value as untyped XML formats write it."""
    return value if isinstance(value, str) else js(value)


def python(call: Call, olmo: bool = False) -> str:
    def literal(value: Any) -> str:
        return js(value) if olmo or isinstance(value, str) else repr(value)
    return f"{call.name}({', '.join(f'{k}={literal(v)}' for k, v in call.arguments.items())})"


def each(template: Callable[[Call], str], sep: str = "\n") -> Callable[[list[Call]], str]:
    return lambda calls: sep.join(map(template, calls))


def around(before: str, inner: Callable[[list[Call]], str], after: str) -> Callable[[list[Call]], str]:
    return lambda calls: before + inner(calls) + after


def json_list(name: str = "name", arguments: str = "arguments") -> Callable[[list[Call]], str]:
    return lambda calls: js([named(c, name, arguments) for c in calls])


def elements(open_: str, close: str, value: Callable[[str, Any], str]) -> Callable[[Call], str]:
    return lambda c: open_.format(c.name) + "".join(value(k, v) for k, v in c.arguments.items()) + close


def qwen(c: Call) -> str:
    inner = "".join(f"<parameter={k}>\n{raw(v)}\n</parameter>\n" for k, v in c.arguments.items())
    return f"<function={c.name}>\n{inner}</function>"


def glm(newline: str, prefix: str = "") -> Callable[[Call], str]:
    def write(c: Call) -> str:
        pairs = "".join(f"<{prefix}arg_key>{k}</{prefix}arg_key>{newline}<{prefix}arg_value>{raw(v)}</{prefix}"
                        f"arg_value>"
                        f"{newline}" for k, v in c.arguments.items())
        return f"<{prefix}tool_call>{c.name}{newline}{pairs}</{prefix}tool_call>"
    return write


def hunyuan(c: Call) -> str:
    pairs = "".join(f"<arg_key>{k}</arg_key><arg_value>{raw(v)}</arg_value>" for k, v in c.arguments.items())
    return f"<tool_call>{c.name}<tool_sep>{pairs}</tool_call>"


def invoke(prefix: str = "", newline: str = "") -> Callable[[Call], str]:
    return elements(f'<{prefix}invoke name="{{}}">{newline}', f"</{prefix}invoke>{newline}",
                    lambda k, v: f'<{prefix}parameter name="{k}">{raw(v)}</{prefix}parameter>{newline}')


DSML = elements('<｜DSML｜invoke name="{}">\n', "</｜DSML｜invoke>\n", lambda k, v:
                f'<｜DSML｜parameter name="{k}" string="{js(isinstance(v, str))}">{raw(v)}</｜DSML｜parameter>\n')

JSON_TYPES = ((bool, "boolean"), (str, "string"), ((int, float), "number"), (list, "array"), (dict, "object"))


def kimi_k3(calls: list[Call]) -> str:
    def argument(k: str, v: Any) -> str:
        kind = next((name for types, name in JSON_TYPES if isinstance(v, types)), "null")
        return f'<|open|>argument key="{k}" type="{kind}"<|sep|>{raw(v)}<|close|>argument<|sep|>'
    one = [f'<|open|>call tool="{c.name}" index="{i}'
           f'"<|sep|>' + "".join(map(argument, c.arguments, c.arguments.values()))
           + "<|close|>call<|sep|>" for i, c in enumerate(calls, 1)]
    return f"<|open|>tools<|sep|>{''.join(one)}<|close|>tools<|sep|>"


M = "]<]minimax[>["
minimax_m3 = elements(f'{M}<invoke name="{{}}">', f"{M}</invoke>\n", lambda k, v: f"{M}<{k}>{raw(v)}{M}</{k}>")


def gemma(quote: str) -> Callable[[Call], str]:
    def value(v: Any) -> str:
        if isinstance(v, str):
            return quote + v + quote
        if isinstance(v, list):
            return "[" + ",".join(map(value, v)) + "]"
        if isinstance(v, dict):
            return "{" + ",".join(f"{k}:{value(w)}" for k, w in v.items()) + "}"
        return js(v)
    return lambda c: f"call:{c.name}{{{','.join(f'{k}:{value(v)}' for k, v in c.arguments.items())}}}"


def kimi_k2(calls: list[Call]) -> str:
    one = (f"<|tool_call_begin|>functions.{c.name}:{i}<|tool_call_argument_begin|>{js(dict(c.arguments))}"
           f"<|tool_call_end|>"
           for i, c in enumerate(calls))
    return f"<|tool_calls_section_begin|>{''.join(one)}<|tool_calls_section_end|>"


def harmony_after(c: Call) -> str:
    return (f"<|start|>assistant<|channel|>commentary to=functions.{c.name} <|constrain|>json<|message|>"
            f"{js(dict(c.arguments))}<|call|>")


def harmony_before(c: Call) -> str:
    return (f"<|start|>assistant to=functions.{c.name}<|channel|>commentary json<|message|>{js(dict(c.arguments))}"
            f"<|call|>")


DS_BEGIN, DS_END = "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"


class Family(NamedTuple):
    """write: calls -> text. complete: the token at which the last call is complete; kind: what its values can be."""

    write: Callable[[list[Call]], str]
    complete: str
    kind: str
    closer: str


FAMILIES = {
    "1-hermes": Family(each(lambda c: f"<tool_call>\n{js(named(c))}\n</tool_call>"), "}}", "json", "</tool_call>"),
    "1-nemotron": Family(around("<TOOLCALL>", json_list(), "</TOOLCALL>"), "]", "json", "</TOOLCALL>"),
    "2-qwen3-coder": Family(each(lambda c: f"<tool_call>\n{qwen(c)}\n</tool_call>"), "</function>", "xml",
                            "</parameter>"),
    "2-seed-oss": Family(each(lambda c: f"<seed:tool_call>\n{qwen(c)}\n</seed:tool_call>"), "</function>", "xml",
                         "</function>"),
    "2-two-in-one-block": Family(around("<tool_call>\n", each(qwen), "\n</tool_call>"), "</function>", "xml",
                                 "</tool_call>"),
    "3-llama-json": Family(around("<|python_tag|>", each(lambda c: js(named(c, "name", "parameters")), "; "),
                                  "<|eom_id|>"), "}}", "json", "<|eom_id|>"),
    "4-llama-function": Family(each(lambda c: f"<function={c.name}>{js(dict(c.arguments))}</function>"), "}", "json",
                               "</function>"),
    "5-pythonic": Family(around("[", each(python, ", "), "]"), "]", "python", ")]"),
    "5-llama4": Family(around("<|python_start|>[", each(python, ", "), "]<|python_end|>"), "]", "python",
                       "<|python_end|>"),
    "5b-olmo": Family(around("<function_calls>\n", each(lambda c: python(c, olmo=True)), "\n</function_calls>"), ")",
                      "python", "</function_calls>"),
    "6-lfm2": Family(around("<|tool_call_start|>[", each(python, ", "), "]<|tool_call_end|>"), "]", "python",
                     "<|tool_call_end|>"),
    "6-lfm2-json": Family(around("<|tool_call_start|>", json_list(), "<|tool_call_end|>"), "]", "json",
                          "<|tool_call_end|>"),
    "7-mistral-list": Family(around("[TOOL_CALLS] ", json_list(), ""), "]", "json", "]"),
    "8-mistral-args": Family(each(lambda c: f"[TOOL_CALLS]{c.name}[ARGS]{js(dict(c.arguments))}", ""), "}", "json",
                             "[ARGS]"),
    "8-mistral-id": Family(each(lambda c: f"[TOOL_CALLS]{c.name}[CALL_ID]a1B2[ARGS]{js(dict(c.arguments))}", ""), "}",
                           "json", "[TOOL_CALLS]"),
    "8-mistral-compact": Family(each(lambda c: f"[TOOL_CALLS]{c.name}{js(dict(c.arguments))}", ""), "}", "json", "}"),
    "9-deepseek-v3": Family(around(DS_BEGIN, each(
        lambda c: f"<｜tool▁call▁begin｜>function<｜tool▁sep｜>{c.name}\n```json\n{js(dict(c.arguments))}\n"
                  "```<｜tool▁call▁end｜>"), DS_END), "}", "json", "```<｜tool▁call▁end｜>"),
    "10-deepseek-v31": Family(around(DS_BEGIN, each(
        lambda c: f"<｜tool▁call▁begin｜>{c.name}<｜tool▁sep｜>{js(dict(c.arguments))}"
                  "<｜tool▁call▁end｜>", ""), DS_END), "}", "json", "<｜tool▁call▁end｜>"),
    "11-dsml": Family(around("<｜DSML｜function_calls>\n", each(DSML, ""), "</｜DSML｜function_calls>"),
                      "</｜DSML｜invoke>", "typed-xml", "</｜DSML｜parameter>"),
    "11-dsml-v4": Family(around("<｜DSML｜tool_calls>\n", each(DSML, ""), "</｜DSML｜tool_calls>"),
                         "</｜DSML｜invoke>", "typed-xml", "</｜DSML｜invoke>"),
    "11-dsml-v41": Family(around("<｜DSML｜ calls>\n", each(DSML, ""), "</｜DSML｜ calls>"),
                          "</｜DSML｜invoke>", "typed-xml", "</｜DSML｜ calls>"),
    "11-dsml-bare": Family(each(DSML, ""), "</｜DSML｜invoke>", "typed-xml", "</｜DSML｜parameter>"),
    "12-glm45": Family(each(glm("\n")), "</tool_call>", "xml", "</arg_value>"),
    "13-glm47": Family(each(glm(""), ""), "</tool_call>", "xml", "</tool_call>"),
    "14-hunyuan": Family(around("<tool_calls>", each(hunyuan, ""), "</tool_calls>"), "</tool_call>", "xml",
                         "</arg_value>"),
    "15-kimi-k2": Family(kimi_k2, "}", "json", "<|tool_call_end|>"),
    "16-kimi-k3": Family(kimi_k3, "<|close|>call<|sep|>", "typed-xml", "<|close|>argument<|sep|>"),
    "17-minimax-m2": Family(around("<minimax:tool_call>\n", each(invoke("", "\n"), ""), "</minimax:tool_call>"),
                            "</invoke>", "xml", "</parameter>"),
    "17-minimax-m1": Family(around("<tool_calls>\n", each(lambda c: js(named(c))), "\n</tool_calls>"), "}}", "json",
                            "</tool_calls>"),
    "18-minimax-m3": Family(around(f"{M}<tool_call>\n", each(minimax_m3, ""), f"{M}</tool_call>"), f"{M}</invoke>",
                            "xml", f"{M}</note>"),
    "19-harmony-after": Family(each(harmony_after, ""), "}", "json", "<|call|>"),
    "19-harmony-before": Family(each(harmony_before, ""), "}", "json", "<|call|>"),
    "20-tool-code": Family(around("```tool_code\n", each(python), "\n```"), ")", "python", "```"),
    "20-default-api": Family(around("```tool_code\n", each(lambda c: f"print(default_api.{python(c)})"), "\n```"), "))",
                             "python", "```"),
    "21-functiongemma": Family(each(lambda c: f"<start_function_call>{gemma('<escape>')(c)}<end_function_call>", ""),
                               "}", "gemma", "<end_function_call>"),
    "22-gemma4": Family(each(lambda c: "<|tool_call>" + gemma('<|"|>')(c) + "<tool_call|>", ""), "}", "gemma",
                        "<tool_call|>"),
    "23-phi4": Family(around("functools", json_list(), ""), "]", "json", "]"),
    "23-phi4-token": Family(around("<|tool_call|>", json_list(), "<|/tool_call|>"), "]", "json", "<|/tool_call|>"),
    "24-granite31": Family(around("<tool_call>", json_list(), ""), "]", "json", "</tool_call>"),
    "25-cohere": Family(around("<|START_ACTION|>", json_list("tool_name", "parameters"), "<|END_ACTION|>"), "]", "json",
                        "<|END_ACTION|>"),
    "26-apertus": Family(around("<|tools_prefix|>", lambda calls: js([{c.name: dict(c.arguments)} for c in calls]),
                                "<|tools_suffix|>"), "]", "json", "<|tools_suffix|>"),
    "27-internlm": Family(each(lambda c: f"<|action_start|> <|plugin|>\n{js(named(c, 'name', 'parameters'))}"
                                         "<|action_end|>"), "}}", "json", "<|action_end|>"),
    "28-step3": Family(around("<｜tool_calls_begin｜>", each(
        lambda c: f"<｜tool_call_begin｜>function<｜tool_sep｜>{invoke('steptml:')(c)}<｜tool_call_end｜>", ""),
        "<｜tool_calls_end｜>"), "</steptml:invoke>", "xml", "</steptml:parameter>"),
    "29-longcat": Family(each(glm("\n", "longcat_")), "</longcat_tool_call>", "xml", "</longcat_arg_value>"),
    "30-claude": Family(around("<function_calls>", each(invoke(), ""), "</function_calls>"), "</invoke>", "xml",
                        "</parameter>"),
    "32-react": Family(each(lambda c: f"Action: {c.name}\nAction Input: {js(dict(c.arguments))}"), "}", "json", "}"),
}
FAMILY = pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
# Read in every set-up but not by an opener of their own: no special token stands in the text.
WITHOUT_TOKEN = ("5-pythonic", "32-react")
TOKENS = {k: f for k, f in FAMILIES.items() if k not in WITHOUT_TOKEN}
TOKEN_FAMILY = pytest.mark.parametrize("family", TOKENS.values(), ids=TOKENS)

KOELN = Call("nearby", {"slug": "koeln", "limit": 3, "radius_km": 2.5, "open_only": True, "tags": ["a", "b, c"]})
WEATHER = Call("weather", {"slug": "bonn"})


# --- the ten things every family must do ------------------------------------------------------------------------------

@FAMILY
@pytest.mark.parametrize("mode", MODES)
def test_one_call_is_read_as_a_recovery(family: Family, mode: str) -> None:
    reading = read(family.write([KOELN]), mode)
    assert reading.calls == (KOELN,)
    assert reading.attempted and reading.recovered and not reading.broken
    assert outcome(family.write([KOELN]), [KOELN], mode) == "ok_recovered"


@FAMILY
@pytest.mark.parametrize("mode", MODES)
def test_two_calls_are_read_in_order(family: Family, mode: str) -> None:
    reading = read(family.write([KOELN, WEATHER]), mode)
    assert reading.calls == (KOELN, WEATHER)
    assert not reading.broken


@FAMILY
def test_a_call_without_arguments_is_a_call(family: Family) -> None:
    call = Call("list_cities", {})
    assert read(family.write([call])).calls == (call,)


@FAMILY
def test_a_call_without_arguments_beside_another(family: Family) -> None:
    calls = [Call("list_cities", {}), WEATHER, Call("sources", {})]
    assert read(family.write(calls)).calls == tuple(calls)


@FAMILY
def test_an_argument_may_contain_the_closer(family: Family) -> None:
    call = Call("nearby", {"slug": "koeln", "note": f"was heißt {family.closer} hier?", "limit": 2})
    assert read(family.write([call])).calls == (call,)


@FAMILY
def test_umlauts_and_other_scripts_survive(family: Family) -> None:
    call = Call("nearby", {"slug": "münchen", "note": "Größe ½ – „Straße“ 東京 🚲", "tags": ["ä", "ß"]})
    assert read(family.write([call])).calls == (call,)


@TOKEN_FAMILY
@pytest.mark.parametrize("mode", MODES)
def test_prose_around_the_call_changes_nothing(family: Family, mode: str) -> None:
    text = "Gern, ich sehe nach.\n" + family.write([KOELN]) + "\nDas dauert einen Moment, {ok}?"
    assert read(text, mode).calls == (KOELN,)
    assert outcome(text, [KOELN], mode) == "ok_recovered"


BEFORE = ("", "Gern. ", "Ich nehme {das Wetter}: ", "[Hinweis] ", 'Laut {"quelle": 1} gilt:\n', "```\ncode\n```\n",
"<b>x</b> ",
          "a < b und c > d. ", "„Zitat“ ", "Action: keine\n", '{"name": "Anna"} ', "| a | b |\n",
          "https://x.example/?a=1#b ",
          "functions.weather ", "<think>hm</think>", "<|im_start|>assistant\n")
BEHIND = ("", "\nFertig.", "\n```\nx\n```", "<|im_end|>", "</s>", "<|eot_id|>", "\n<b>", "\n- a\n- b")
BRACKETS = (" {ok}", " [1]", '\n\n{"status": "ok"}')


@TOKEN_FAMILY
def test_whatever_stands_before_and_behind(family: Family) -> None:
    for before in BEFORE:
        for behind in BEHIND:
            reading = read(before + family.write([KOELN]) + behind)
            assert (reading.calls, reading.broken, reading.recovered) == ((KOELN,), False, True), (before, behind)


@pytest.mark.parametrize("family", TOKENS.values(), ids=TOKENS)
def test_brackets_behind_a_complete_call_are_prose(family: Family) -> None:
    for behind in BRACKETS:
        assert read(family.write([KOELN]) + behind).calls == (KOELN,), behind


@TOKEN_FAMILY
def test_an_unoffered_name_is_an_unknown_tool(family: Family) -> None:
    call = Call("get_forecast", {"slug": "koeln"})
    assert read(family.write([call])).calls == (call,)
    assert outcome(family.write([call]), [WEATHER]) == "unknown_tool"


@FAMILY
@pytest.mark.parametrize("mode", MODES)
def test_cut_at_every_byte_it_is_never_another_call(family: Family, mode: str) -> None:
    gold = Call("nearby", {"slug": "köln", "limit": 20, "note": "}ä]) </a>", "tags": ["x}", "schluss"]})
    text = family.write([gold])
    done = text.index(family.complete, text.rindex("schluss")) + len(family.complete)
    data = text.encode()
    for length in range(len(data)):
        part = data[:length].decode("utf-8", "ignore")
        reading = read(part, mode)
        if reading.calls and not reading.broken:
            assert reading.calls == (gold,), part
            assert len(part) >= done, part
        if len(part) < done:
            assert outcome(part, [gold], mode) in ("malformed_call", "no_call", "empty_reply", "truncated"), part
            assert outcome(part, [gold], mode, "length") == "truncated", part


@FAMILY
def test_a_cut_second_call_spoils_the_first(family: Family) -> None:
    second = Call("nearby", {"slug": "bonn", "note": "schluss"})
    text = family.write([WEATHER, second])
    part = text[:text.rindex("schluss") + 3]
    assert outcome(part, [WEATHER]) == "malformed_call"
    assert outcome(part, [WEATHER], finish_reason="length") == "truncated"


@FAMILY
@pytest.mark.parametrize("mode", MODES)
def test_cut_at_every_byte_two_calls_never_become_others(family: Family, mode: str) -> None:
    calls = (Call("weather", {"slug": "koeln"}), Call("pois", {"slug": "bonn", "type": "school"}))
    data = family.write(list(calls)).encode()
    for length in range(len(data)):
        reading = read(data[:length].decode("utf-8", "ignore"), mode)
        assert (reading.calls or ()) in ((), calls[:1], calls), data[:length]


@pytest.mark.parametrize("opener", FORMATS)
@pytest.mark.parametrize("times", [400, 20_000])
def test_repeated_openers_are_unreadable_in_no_time(opener: str, times: int) -> None:
    start = time.process_time()
    reading = read(opener * times)
    assert time.process_time() - start < (0.1 if times == 400 else 2.0)
    assert not reading.calls
    assert reading.broken or reading.truncated or not reading.attempted


@pytest.mark.parametrize("family", [   # <|start|>assistant alone is a role header, no attempt
    pytest.param(f, id=k) for k, f in TOKENS.items() if not k.startswith("19-")])
def test_a_call_behind_400_openers_is_not_fished_out(family: Family) -> None:
    text = family.write([WEATHER])
    opener = next(o for o in sorted(FORMATS, key=len, reverse=True) if text.startswith(o))
    assert outcome(opener * 400 + text, [WEATHER]) == "malformed_call"


# --- the very examples of the specification ---------------------------------------------------------------------------

EXAMPLES = [
    ("1", '<tool_call>\n{"name": "nearby", "arguments": {"slug": "köln", "limit": 3}}\n</tool_call>'),
    ("1 Nemotron", '<TOOLCALL>[{"name": "nearby", "arguments": {"slug": "köln", "limit": 3}}]</TOOLCALL>'),
    ("2", "<tool_call>\n<function=nearby>\n<parameter=slug>\nköln\n</parameter>\n<parameter=limit>\n3\n</parameter>\n"
          "</function>\n</tool_call>"),
    ("3", '<|python_tag|>{"name": "nearby", "parameters": {"slug": "köln", "limit": 3}}'),
    ("3 end", '<|python_tag|>{"name": "nearby", "parameters": {"slug": "köln", "limit": 3}}<|eot_id|>'),
    ("4", '<function=nearby>{"slug": "köln", "limit": 3}</function>'),
    ("5", '[nearby(slug="köln", limit=3)]'),
    ("5 Llama 4", '<|python_start|>[nearby(slug="köln", limit=3)]<|python_end|>'),
    ("5b", '<function_calls>\nnearby(slug="köln", limit=3)\n</function_calls>'),
    ("6", '<|tool_call_start|>[nearby(slug="köln", limit=3)]<|tool_call_end|>'),
    ("7", '[TOOL_CALLS] [{"name": "nearby", "arguments": {"slug": "köln", "limit": 3}}]'),
    ("8", '[TOOL_CALLS]nearby[ARGS]{"slug": "köln", "limit": 3}'),
    ("8 thoughts", '[THINK]Wo?[/THINK][TOOL_CALLS]nearby[ARGS]{"slug": "köln", "limit": 3}'),
    ("9", '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>nearby\n```json\n{"slug": "köln", '
          '"limit": 3}\n'
          "```<｜tool▁call▁end｜><｜tool▁calls▁end｜>"),
    ("10", '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>nearby<｜tool▁sep｜>{"slug": "köln", "limit": 3}'
           '<｜tool▁call▁end｜>'
           "<｜tool▁calls▁end｜>"),
    ("11", '<｜DSML｜function_calls>\n<｜DSML｜invoke name="nearby">\n<｜DSML｜parameter name="slug" string="true">köln'
           '</｜DSML｜parameter>\n<｜DSML｜parameter name="limit" string="false">3</｜DSML｜parameter>'
           '\n</｜DSML｜invoke>\n'
           "</｜DSML｜function_calls>"),
    ("12", "<tool_call>nearby\n<arg_key>slug</arg_key>\n<arg_value>köln</arg_value>\n<arg_key>limit</arg_key>\n"
           "<arg_value>3</arg_value>\n</tool_call>"),
    ("13", "<tool_call>nearby<arg_key>slug</arg_key><arg_value>köln</arg_value><arg_key>limit</arg_key>"
           "<arg_value>3</arg_value></tool_call>"),
    ("14", "<tool_calls><tool_call>nearby<tool_sep><arg_key>slug</arg_key><arg_value>köln</arg_value>"
           "<arg_key>limit</arg_key><arg_value>3</arg_value></tool_call></tool_calls>"),
    ("15", "<|tool_calls_section_begin|><|tool_call_begin|>functions.nearby:0<|tool_call_argument_begin|>"
           '{"slug": "köln", "limit": 3}<|tool_call_end|><|tool_calls_section_end|>'),
    ("16", '<|open|>tools<|sep|><|open|>call tool="nearby" index="1"<|sep|><|open|>argument key="slug" type="string"'
           '<|sep|>köln<|close|>argument<|sep|><|open|>argument key="limit" type="number"<|sep|>3<|close|>'
           'argument<|sep|>'
           "<|close|>call<|sep|><|close|>tools<|sep|>"),
    ("17", '<minimax:tool_call>\n<invoke name="nearby">\n<parameter name="slug">köln</parameter>\n'
           '<parameter name="limit">3</parameter>\n</invoke>\n</minimax:tool_call>'),
    ("18", f'{M}<tool_call>\n{M}<invoke name="nearby">{M}<slug>köln{M}</slug>{M}<limit>3{M}</limit>{M}</invoke>\n'
           f"{M}</tool_call>"),
    ("19", "<|channel|>analysis<|message|>Ich brauche das.<|end|><|start|>assistant<|channel|>commentary "
           'to=functions.nearby <|constrain|>json<|message|>{"slug": "köln", "limit": 3}<|call|>'),
    ("19 other", "<|channel|>analysis<|message|>Ich brauche das.<|end|><|start|>assistant to=functions.nearby"
                 '<|channel|>commentary json<|message|>{"slug": "köln", "limit": 3}<|call|>'),
    ("19 no end", '<|channel|>commentary to=functions.nearby<|message|>{"slug": "köln", "limit": 3}'),
    ("20", '```tool_code\nnearby(slug="köln", limit=3)\n```'),
    ("20 print", '```tool_code\nprint(default_api.nearby(slug="köln", limit=3))\n```'),
    ("21", "<start_function_call>call:nearby{slug:<escape>köln<escape>,limit:3}<end_function_call>"),
    ("22", '<|tool_call>call:nearby{slug:<|"|>köln<|"|>,limit:3}<tool_call|>'),
    ("23", 'functools[{"name": "nearby", "arguments": {"slug": "köln", "limit": 3}}]'),
    ("23 token", '<|tool_call|>[{"name": "nearby", "arguments": {"slug": "köln", "limit": 3}}]<|/tool_call|>'),
    ("24", '<|tool_call|>[{"name": "nearby", "arguments": {"slug": "köln", "limit": 3}}]'),
    ("24 3.1", '<tool_call>[{"name": "nearby", "arguments": {"slug": "köln", "limit": 3}}]'),
    ("25", '<|START_THINKING|>Wo?<|END_THINKING|><|START_ACTION|>[{"tool_call_id": "0", "tool_name": "nearby", '
           '"parameters": {"slug": "köln", "limit": 3}}]<|END_ACTION|>'),
    ("26", '<|tools_prefix|>[{"nearby": {"slug": "köln", "limit": 3}}]<|tools_suffix|>'),
    ("27", '<|action_start|> <|plugin|>\n{"name": "nearby", "parameters": {"slug": "köln", "limit": 3}}<|action_end|>'),
    ("28", '<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="nearby">'
           '<steptml:parameter name="slug">köln</steptml:parameter><steptml:parameter name="limit">3'
           "</steptml:parameter></steptml:invoke><｜tool_call_end｜><｜tool_calls_end｜>"),
    ("29", "<longcat_tool_call>nearby\n<longcat_arg_key>slug</longcat_arg_key>\n<longcat_arg_value>köln"
           "</longcat_arg_value>\n<longcat_arg_key>limit</longcat_arg_key>\n<longcat_arg_value>3</longcat_arg_value>"
           "</longcat_tool_call>"),
    ("30", '<function_calls><invoke name="nearby"><parameter name="slug">köln</parameter><parameter name="limit">3'
           "</parameter></invoke></function_calls>"),
    ("31", '{"name": "nearby", "arguments": {"slug": "köln", "limit": 3}}'),
    ("31 fence", '```json\n{"tool_calls": [{"tool_name": "nearby", "tool_input": {"slug": "köln", "limit": 3}}]}\n```'),
    ("32", 'Action: nearby\nAction Input: {"slug": "köln", "limit": 3}'),
]


@pytest.mark.parametrize(("row", "text"), EXAMPLES, ids=[row for row, _ in EXAMPLES])
@pytest.mark.parametrize("mode", MODES)
def test_example_of_the_specification(row: str, text: str, mode: str) -> None:
    assert read(text, mode).calls == (Call("nearby", {"slug": "köln", "limit": 3}),)


# --- single rules of the recovery layer -------------------------------------------------------------------------------

OK = Call("weather", {"slug": "koeln"})
RULES = [
    # (rule, text, calls or None if unreadable, why)
    (10, '<tool_call>weather</tool_call>', [Call("weather", {})], "identifier followed by the closer"),
    (10, '<tool_call>weather\n</tool_call>', [Call("weather", {})], "identifier followed by a newline"),
    (10, '<tool_call>das Wetter in Köln</tool_call>', None, "anything else in the shared tag is malformed"),
    (10, '<tool_call></tool_call>', None, "an empty block is no call"),
    (10, '<tool_call>\n<tool_call name="weather" arguments={"slug": "koeln"}/>\n</tool_call>', None, "attributes"),
    (10, 'Nimm [TOOL_CALLS]weather{"slug": "koeln"} <tool_call>{"name": "pois", "arguments": {}}</tool_call>', [OK],
     "the earliest opener decides, formats are never mixed"),
    (11, '[TOOL_CALLS]weather[CALL_ID]x9[ARGS]{"slug": "koeln"}', [OK], "call id before the arguments"),
    (11, '[TOOL_CALLS] ich nehme weather {"slug": "koeln"}', None, "JSON must follow its opener directly"),
    (11, '<|python_tag|> Hier: {"name": "weather", "parameters": {"slug": "koeln"}}', None, "the same for a token"),
    (11, '<tool_call>Gern: {"name": "weather", "arguments": {"slug": "koeln"}}</tool_call>', None, "and for a tag"),
    (12, '[weather("koeln")]', [OK], "one positional argument is the only required parameter"),
    (12, '[pois("koeln", "school")]', None, "two required parameters: positionals are malformed"),
    (12, '[weather("koeln", "bonn")]', None, "a second positional is malformed"),
    (12, '[list_cities("x")]', None, "no required parameter to fill"),
    (12, '[nearby("koeln", limit=2)]', [Call("nearby", {"slug": "koeln", "limit": 2})], "positional, then keyword"),
    (12, '[nearby(limit=2, "koeln")]', None, "a positional behind a keyword is no Python"),
    (12, '[geo.find-place(text="Dom")]', [Call("geo.find-place", {"text": "Dom"})], "names may hold dots and hyphens"),
    (12, "[nearby(slug='koeln', open_only=true, note=null)]",
     [Call("nearby", {"slug": "koeln", "open_only": True, "note": None})], "true and null as literals"),
    (12, "[nearby(slug='koeln', open_only=True, note=None, tags=['a', 'b'])]",
     [Call("nearby", {"slug": "koeln", "open_only": True, "note": None, "tags": ["a", "b"]})], "Python literals"),
    (8, "[weather(slug=stadt)]", None, "a variable is no literal"),
    (8, '[weather(slug="ko" + "eln")]', None, "an expression is no literal"),
    (8, '[weather(slug=str("koeln"))]', None, "a call is no literal"),
    (8, '[nearby(slug="koeln", limit=2*10)]', None, "arithmetic is no literal"),
    (8, '[weather(slug="koeln", slug="bonn")]', None, "one parameter twice"),
    (8, '[weather(**{"slug": "koeln"})]', None, "unpacking is no literal"),
    (13, "<tool_call><function=nearby><parameter=slug>koeln</parameter><parameter=note>a</parameter>b</parameter>"
         "</function></tool_call>", [Call("nearby", {"slug": "koeln", "note": "a</parameter>b"})],
     "a closer counts only before the next opener or the enclosing closer"),
    (13, "<tool_call><function=nearby><parameter=slug>koeln</parameter> \n <parameter=note>a</parameter>\n</function>",
     [Call("nearby", {"slug": "koeln", "note": "a"})], "blanks between elements"),
    (13, "<tool_call><function=nearby><parameter=slug>koeln</parameter><parameter=note>a", None, "an open value"),
    (13, "<tool_call><function=nearby><parameter=slug>koeln</parameter>", None, "an open function element"),
    (10,
     "<tool_calls:hy><tool_call:hy>weather<tool_sep:hy><arg_key:hy>slug</arg_key:hy><arg_value:hy>koeln</arg_value:hy>"
         "</tool_call:hy></tool_calls:hy>", [OK], "Hunyuan's token names may carry a suffix"),
    (12, "[geo.find-place(text='it\\'s')]", [Call("geo.find-place", {"text": "it's"})], "a Python escape"),
    (12, "[geo.find-place(text=\"it\\'s\")]", [Call("geo.find-place", {"text": "it's"})], "in double quotes, too"),
    (15, 'Moment. <tool_call>{"name": "weather", "arguments": {"slug": "koeln"}}</tool_call> So, fertig: '
         '{"a": 1}', [OK],
     "prose behind a complete call is ignored"),
    (15, '<tool_call>{"name": "weather", "arguments": {"slug": "koeln"}}</tool_call><tool_call>{"name": "wea', None,
     "a further broken opener is not"),
    (2, '<tool_call>{"name": "nearby", "arguments": {"slug": "koeln", "note": "</tool_call>"}}</tool_call>',
     [Call("nearby", {"slug": "koeln", "note": "</tool_call>"})], "the opener decides, never the closer"),
    (4, '<tool_call>{"name": "nearby", "arguments": {"slug": "koeln", "area": {"name": "weather", "arguments": {}}}}'
        "</tool_call>", [Call("nearby", {"slug": "koeln", "area": {"name": "weather", "arguments": {}}})],
     "JSON nested in a call is no call of its own"),
    (6, "<tool_call>{'name': 'weather', 'arguments': {'slug': 'koeln'}}</tool_call>", [OK], "single quotes"),
    (6, '<tool_call>{"name": "weather", "arguments": {"slug": "koeln",}}</tool_call>', [OK], "trailing comma"),
    (6, '<tool_call>{"name": "weather", "arguments": "{\\"slug\\": \\"koeln\\"}"}'
        '</tool_call>', [OK], "double encoding"),
    (6, '<tool_call>{"name": "weather", "arguments": {"slug": "koeln"}}{"name": "weather", "arguments": '
        '{"slug": "koeln"}}</tool_call>', [OK], "identical duplicates inside one block collapse"),
    (6, '<tool_call>{"name": "weather", "arguments": {"slug": "koeln"}</tool_call>', None, "no brace is closed"),
    (6, '<tool_call>{"name": "weather", "arguments": {"slug": "koeln}}</tool_call>', None, "no string is closed"),
    (6, '<tool_call>{"name": "nearby", "arguments": {"slug": "koeln", "limit": NaN}}</tool_call>', None, "NaN"),
    (6, '<tool_call>{"name": "nearby", "arguments": {"slug": "koeln", "limit": Infinity}}'
        '</tool_call>', None, "Infinity"),
    (6, '<tool_call>{"name": "weather", "arguments": {"slug": "koeln", "slug": "bonn"}}</tool_call>', None,
     "a key twice with different values"),
    (3, "Action: Wetter abrufen\nAction Input: {}", (), "ReAct: only offered names count"),
    (3, "Action: weather\nNun ja.", None, "ReAct without its input cannot be read"),
    (15, 'Thought: Köln.\nAction: weather\nAction Input: {"slug": "koeln"}\nObservation: 12 Grad', [OK],
     "prose around ReAct lines"),
    (7, '<|tool_calls_section_begin|><|tool_call_begin|>0<|tool_call_argument_begin|>{"slug": "koeln"}'
        '<|tool_call_end|>',
     None, "a counter instead of a name names no tool"),
    (5, '<｜DSML｜invoke name="nearby"><｜DSML｜parameter name="slug" string="true">koeln</｜DSML｜parameter>'
        '<｜DSML｜parameter name="limit" string="true">3</｜DSML｜parameter></｜DSML｜invoke>',
     [Call("nearby", {"slug": "koeln", "limit": "3"})], "a typed format is not cast"),
    (5, '<|open|>tools<|sep|><|open|>call tool="nearby" index="1"<|sep|><|open|>argument key="slug" '
        'type="string"<|sep|>'
        'koeln<|close|>argument<|sep|><|open|>argument key="limit" type="string"<|sep|>3<|close|>argument<|sep|>'
        "<|close|>call<|sep|><|close|>tools<|sep|>",
     [Call("nearby", {"slug": "koeln", "limit": "3"})], "nor is Kimi K3"),
    (5, '<｜DSML｜invoke name="nearby"><｜DSML｜parameter name="slug" string="true">koeln</｜DSML｜parameter>'
        '<｜DSML｜parameter name="limit" string="false"> 3\n</｜DSML｜parameter></｜DSML｜invoke>',
     [Call("nearby", {"slug": "koeln", "limit": 3})], "blanks around a typed value"),
    (5, '<｜DSML｜invoke name="nearby"><｜DSML｜parameter name="limit" string="false">drei</｜DSML｜parameter>'
        "</｜DSML｜invoke>", None, "a typed value that is no JSON"),
    (10, "<seed:tool_call><function=weather><parameter=slug>koeln</parameter></function></seed:tool_call>", [OK],
     "without newlines"),
    (5, '<|tool_call>call:nearby{slug:<|"|>koeln<|"|>,tags:[<|"|>Eis, Kaffee<|"|>,<|"|>Park<|"|>]}<tool_call|>',
     [Call("nearby", {"slug": "koeln", "tags": ["Eis, Kaffee", "Park"]})], "commas inside strings of a list"),
    (5, "<|tool_call>call:weather{slug:koeln}<tool_call|>", None, "a Gemma string without its quote tokens"),
]


@pytest.mark.parametrize(("rule", "text", "calls", "why"), RULES, ids=[f"rule{r[0]}-{r[3]}" for r in RULES])
def test_rule(rule: int, text: str, calls: list[Call] | None, why: str) -> None:
    reading = read(text)
    if calls is None:
        assert reading.broken, why
        assert outcome(text, [OK]) == "malformed_call"
    else:
        assert not reading.broken, why
        assert list(reading.calls or ()) == list(calls), why


UNTYPED = [
    # (parameter, text, value, why): formats, rule 14
    ("note", "  zwei Leerzeichen ", "  zwei Leerzeichen ", "strings are verbatim"),
    ("note", "\nZeile\n", "Zeile", "one newline at each end belongs to the format"),
    ("note", "\n\nZeile\n\n", "\nZeile\n", "only one"),
    ("note", "5", "5", "no cast where a string is allowed"),
    ("note", "null", None, "the schema allows null"),
    ("slug", "null", "null", "a required string is never null"),
    ("limit", "20", 20, "integer"),
    ("limit", "-7", -7, "negative integer"),
    ("limit", "20.0", "20.0", "-?\\d+ only"),
    ("limit", "+5", "+5", "no plus sign"),
    ("limit", "zwanzig", "zwanzig", "what does not cast stays text"),
    ("limit", "null", None, "literal null for an optional number"),
    ("limit", "None", "None", "only the literal null"),
    ("limit", "9" * 5000, "9" * 5000, "the digits limit of int is caught"),
    ("radius_km", "2.5", 2.5, "number"),
    ("radius_km", "3", 3, "an integer is a JSON number"),
    ("radius_km", "1e3", 1000.0, "exponent"),
    ("radius_km", "2,5", "2,5", "a German comma is no JSON number"),
    ("radius_km", "NaN", "NaN", "NaN is no JSON number"),
    ("radius_km", ".5", ".5", "a JSON number has a leading digit"),
    ("open_only", "True", True, "any case"),
    ("open_only", "FALSE", False, "any case"),
    ("open_only", "ja", "ja", "no other word"),
    ("open_only", "1", "1", "no number"),
    ("tags", '["a", "b"]', ["a", "b"], "array"),
    ("tags", "a, b", "a, b", "no array"),
    ("tags", '{"a": 1}', '{"a": 1}', "an object is no array"),
    ("area", '{"a": [1]}', {"a": [1]}, "object"),
    ("area", "[1]", "[1]", "an array is no object"),
    ("nix", "5", "5", "a parameter that the schema does not have stays text"),
]
UNTYPED_FAMILIES = {
    "qwen": lambda k, v: f"<tool_call><function=nearby><parameter={k}>{v}</parameter></function></tool_call>",
    "glm": lambda k, v: f"<tool_call>nearby<arg_key>{k}</arg_key><arg_value>{v}</arg_value></tool_call>",
    "hunyuan": lambda k, v: f"<tool_calls><tool_call>nearby<tool_sep><arg_key>{k}</arg_key><arg_value>{v}</arg_value>"
                            "</tool_call></tool_calls>",
    "minimax": lambda k, v: f'<minimax:tool_call><invoke name="nearby"><parameter name="{k}">{v}</parameter></invoke>'
                            "</minimax:tool_call>",
    "minimax-m3": lambda k, v: f'{M}<tool_call>{M}<invoke name="nearby">{M}<{k}>{v}{M}</{k}>{M}</invoke>{M}'
                               f'</tool_call>',
    "step3": lambda k, v: '<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke '
                          'name="nearby">'
                          f'<steptml:parameter name="{k}">{v}</steptml:parameter></steptml:invoke><｜tool_call_end｜>'
                          "<｜tool_calls_end｜>",
    "longcat": lambda k, v: f"<longcat_tool_call>nearby<longcat_arg_key>{k}</longcat_arg_key><longcat_arg_value>{v}"
                            "</longcat_arg_value></longcat_tool_call>",
    "claude": lambda k, v: f'<function_calls><invoke name="nearby"><parameter name="{k}">{v}</parameter></invoke>'
                           "</function_calls>",
}


@pytest.mark.parametrize("write", UNTYPED_FAMILIES.values(), ids=UNTYPED_FAMILIES)
@pytest.mark.parametrize(("parameter", "text", "value", "why"), UNTYPED, ids=[f"{u[0]}-{u[1][:12]!r}" for u in UNTYPED])
def test_untyped_values_are_cast_by_schema(write: Callable[[str, str], str], parameter: str, text: str, value: Any,
                                           why: str) -> None:
    reading = read(write(parameter, text))
    assert reading.calls is not None and len(reading.calls) == 1, why
    read_value = reading.calls[0].arguments[parameter]
    assert (type(read_value), read_value) == (type(value), value), why


# --- seeded properties ------------------------------------------------------------------------------------------------

NASTY = ("</tool_call>x", "}", "]", ")", '"', "'", "\\", "\n", "\t", "ä", "ß", "🚲", "<b>", "{", "[", "(", ",", ";",
         ":", "=", "```", "null", "true", "5", "</parameter>x", "</arg_value>x", "<|call|>x", "e\u0301",
         "\u202e", "&amp;")


def random_text(rng: random.Random, nasty: bool) -> str:
    pieces = rng.choices(NASTY if nasty else tuple(string.ascii_letters + " äöüß-."), k=rng.randint(1, 12))
    return "a" + "".join(pieces) + "z"


def random_call(rng: random.Random, kind: str) -> Call:
    name = rng.choice(("weather", "pois", "compare", "list_cities", "nearby", "nearby", "nearby"))
    arguments: dict[str, Any] = {}
    for parameter, schema in TOOLS.by_name[name].properties.items():
        if parameter not in TOOLS.by_name[name].required and rng.random() < 0.4:
            continue
        types = schema["type"] if isinstance(schema["type"], str) else schema["type"][0]
        if types == "string":
            arguments[parameter] = random_text(rng, rng.random() < 0.5)
        elif types == "integer":
            arguments[parameter] = rng.randint(-10**6, 10**6)
        elif types == "number":
            arguments[parameter] = round(rng.uniform(-99, 99), rng.randint(1, 5))
        elif types == "boolean":
            arguments[parameter] = rng.random() < 0.5
        elif types == "array":
            arguments[parameter] = [random_text(rng, kind != "gemma") for _ in range(rng.randint(0, 3))]
        else:
            arguments[parameter] = {"k": rng.randint(0, 9), "l": [True, None, random_text(rng, False)]}
    return Call(name, arguments)


@FAMILY
def test_random_calls_written_and_read_back_are_equal(family: Family) -> None:
    rng = random.Random(f"infranode {family.complete} {family.closer}")
    for _ in range(150):
        calls = [random_call(rng, family.kind) for _ in range(rng.randint(1, 3))]
        if len({js(c.to_json()) for c in calls}) < len(calls):
            continue
        text = family.write(calls)
        reading = read(text)
        assert reading.calls == tuple(calls), text
        assert not reading.broken


@FAMILY
def test_a_damaged_text_never_raises(family: Family) -> None:
    rng = random.Random(f"damage {family.closer}")
    text = family.write([KOELN, WEATHER])
    for _ in range(300):
        chars = list(text)
        for _ in range(rng.randint(1, 4)):
            where = rng.randrange(len(chars))
            chars[where:where + rng.randint(0, 3)] = rng.choice(("", "{", "\x00", "\ud800", '"', "<", chars[where] * 3))
        for mode in MODES:
            damaged = read("".join(chars), mode)
            assert damaged.calls is None or all(isinstance(c, Call) for c in damaged.calls)


DSML_41 = ('<｜DSML｜ calls>\n<｜DSML｜ invoke name="weather">\n<｜DSML｜ parameter name="slug" string="true">koeln'
           "</｜DSML｜ parameter>\n</｜DSML｜ invoke>\n</｜DSML｜ calls>")


@pytest.mark.parametrize("text", [DSML_41, DSML_41.removeprefix("<｜DSML｜ calls>\n")], ids=["wrapped", "bare"])
def test_deepseek_41_has_a_blank_in_every_tag(text: str) -> None:
    weather = (Call("weather", {"slug": "koeln"}),)
    assert read(text).calls == weather
    for end in range(len(text)):
        assert read(text[:end]).calls in (None, weather)


M3 = "]<]minimax[>["


@pytest.mark.parametrize(("body", "arguments", "why"), [
    (f"{M3}<slug>koeln{M3}</slug>{M3}<tags>{M3}<item>a{M3}</item>{M3}<item>b, c{M3}</item>{M3}</tags>",
     {"slug": "koeln", "tags": ["a", "b, c"]}, "<item> makes a list"),
    (f"{M3}<slug>koeln{M3}</slug>{M3}<area>{M3}<k>2{M3}</k>{M3}</area>", {"slug": "koeln", "area": {"k": "2"}},
     "other tags make an object; without a schema its values are text"),
    (f'{M3}<slug>koeln{M3}</slug>{M3}<tags>["a"]{M3}</tags>', {"slug": "koeln", "tags": ["a"]}, "JSON as text"),
])
def test_minimax_m3_nests_tags(body: str, arguments: dict[str, object], why: str) -> None:
    text = f'{M3}<tool_call>\n{M3}<invoke name="nearby">{body}{M3}</invoke>\n{M3}</tool_call>'
    assert [dict(call.arguments) for call in read(text).calls] == [arguments], why
