"""The text formats in which model families write tool calls, as a table of openers and how to read on from there.

An opener decides; the closer is never searched first. A format is read to its end or it is unreadable: nothing is
completed. Source of the families and rules: specification, formats, sections 2 and 3.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

from lm_eval_task.decode import decode_at, literal_at
from lm_eval_task.jsoncalls import FENCE_HEADER, calls_of_value, plain_name, read_arguments, without_duplicates
from lm_eval_task.records import Call
from lm_eval_task.scan import Scan, Unreadable
from lm_eval_task.tools import Toolset, cast


class Section(NamedTuple):
    """Everything that a text says in one format: where it starts, the format's label, and the calls in order."""

    start: int
    label: str
    calls: list[Call]
    notes: tuple[str, ...]
    repairs: tuple[str, ...]
    broken: bool
    end: int = 0   # the index behind what was read


Reader = Callable[[Scan, int], int]


# --- bodies of JSON ---------------------------------------------------------------------------------------------------

def json_body(*closers: str) -> Reader:
    """Call objects or lists of them, one after the other, up to an optional closer; further prose is not touched."""
    def read(scan: Scan, at: int) -> int:
        block: list[Call] = []
        while True:
            decoded = scan.value(at)
            found = calls_of_value(decoded.value, scan.tools, whole=True)
            if found is None or found.broken:
                raise Unreadable
            block += found.calls or []
            scan.notes += found.notes
            scan.repairs += found.repairs
            at = scan.accept(decoded.end, ";", ",")
            if closers and scan.sees(at, *closers):
                at = scan.expect(at, *closers)
                break
            if isinstance(decoded.value, list) or not _another_call(scan, at):
                break
        distinct = block if scan.several or isinstance(decoded.value, list) else without_duplicates(block)
        if len(distinct) < len(block):
            scan.repairs.append("duplicate_collapsed")
        scan.calls += distinct
        return at
    return read


_OBJECT_START = re.compile(r"""\s*\{\s*["']""")


def _another_call(scan: Scan, at: int) -> bool:
    """Does a further call object begin here, or something that wants to be one? Other braces are prose."""
    if not _OBJECT_START.match(scan.text, at):
        return False
    decoded = decode_at(scan.text, at)
    return decoded is None or calls_of_value(decoded.value, scan.tools, whole=True) is not None


def arguments_object(scan: Scan, name: str, at: int) -> int:
    """A call whose name is known already; its arguments object stands here."""
    decoded = scan.value(at)
    arguments = read_arguments(decoded.value)
    if arguments is None or not isinstance(decoded.value, dict):
        raise Unreadable
    scan.add(name, arguments.value)
    return decoded.end


def name_as_key(scan: Scan, at: int) -> int:
    """Apertus: [{"name": {arguments}}]."""
    decoded = scan.value(at)
    items = decoded.value if isinstance(decoded.value, list) else [decoded.value]
    for item in items:
        if not isinstance(item, dict) or len(item) != 1:
            raise Unreadable
        (name, value), = item.items()
        arguments = read_arguments(value)
        if arguments is None:
            raise Unreadable
        scan.add(name, arguments.value)
    return scan.accept(decoded.end, "<|tools_suffix|>")


# --- Python-like calls ------------------------------------------------------------------------------------------------

_NAME = re.compile(r"[A-Za-z_][\w.-]*")


def python_call(scan: Scan, at: int, offered_only: bool = False) -> int:
    """name(key=literal, …); one positional argument stands for the only required parameter (formats, rule 12)."""
    at = scan.skip(at)
    match = _NAME.match(scan.text, at)
    if match is None:
        raise Unreadable
    name, at = match[0].removeprefix("default_api."), scan.expect(match.end(), "(")
    if name == "print" and "print" not in scan.tools:
        return scan.expect(python_call(scan, at, offered_only), ")")
    if offered_only and name not in scan.tools:
        raise Unreadable
    arguments: dict[str, Any] = {}
    while not scan.sees(at, ")"):
        at = scan.skip(at)
        key = _NAME.match(scan.text, at)
        if key and scan.sees(key.end(), "=") and not scan.sees(key.end(), "=="):
            at = scan.expect(key.end(), "=")
            parameter = key[0]
        else:
            parameter = _only_required(scan, name, arguments)
        literal = literal_at(scan.text, at)
        if literal is None or parameter in arguments:
            raise Unreadable
        scan.repairs += literal.repairs
        arguments[parameter] = literal.value
        at = literal.end
        if not scan.sees(at, ")"):
            at = scan.expect(at, ",")
    scan.add(name, arguments)
    return scan.expect(at, ")")


def _only_required(scan: Scan, name: str, arguments: dict[str, Any]) -> str:
    tool = scan.tools.get(plain_name(name, scan.tools))
    if tool is None or len(tool.required) != 1 or arguments:
        raise Unreadable
    return tool.required[0]


def python_list(scan: Scan, at: int, offered_only: bool = False) -> int:
    """[name(…), name(…)]."""
    at = scan.expect(at, "[")
    while not scan.sees(at, "]"):
        at = python_call(scan, at, offered_only)
        if not scan.sees(at, "]"):
            at = scan.expect(at, ",")
    return scan.expect(at, "]")


def python_body(*closers: str) -> Reader:
    """A list of Python-like calls, such calls one a line, or JSON, up to the closer."""
    def read(scan: Scan, at: int) -> int:
        if scan.sees(at, "{") or (scan.sees(at, "[") and scan.sees(scan.expect(at, "["), "{")):
            return json_body(*closers)(scan, at)
        if scan.sees(at, "["):
            return scan.accept(python_list(scan, at), *closers)
        at = python_call(scan, at)
        while not scan.sees(at, *closers) and scan.skip(at) < len(scan.text):
            at = python_call(scan, scan.accept(at, ";", ","))
        return scan.accept(at, *closers)
    return read


def tool_code(scan: Scan, at: int) -> int:
    """Gemma 3: Python-like calls in a fence of its own."""
    return python_body("```")(scan, at)


# --- XML-like bodies --------------------------------------------------------------------------------------------------

def function_element(scan: Scan, at: int) -> int:
    """Behind `<function=`: name> and either parameters (Qwen3-Coder) or a JSON object (Llama 3.1)."""
    name, at = scan.until(at, ">")
    if scan.sees(at, "{"):
        return scan.accept(arguments_object(scan, name, at), "</function>")
    arguments: dict[str, Any] = {}
    while scan.sees(at, "<parameter="):
        parameter, at = scan.until(scan.expect(at, "<parameter="), ">")
        value, at = scan.element(at, "</parameter>", "<parameter=", "</function>")
        scan.put(arguments, parameter, scan.untyped(name, parameter, value))
    at = scan.expect(at, "</function>")
    scan.add(name, arguments)
    return at


def function_elements(closer: str) -> Reader:
    def read(scan: Scan, at: int) -> int:
        at = function_element(scan, scan.expect(at, "<function="))
        while scan.sees(at, "<function="):
            at = function_element(scan, scan.expect(at, "<function="))
        return scan.accept(at, closer)
    return read


def key_value_element(prefix: str, closer: str, suffix: str = "") -> Reader:
    """GLM, LongCat, Hunyuan: name, then <arg_key>…</arg_key><arg_value>…</arg_value> pairs, then the closer."""
    key, key_end = f"<{prefix}arg_key{suffix}>", f"</{prefix}arg_key{suffix}>"
    val, val_end = f"<{prefix}arg_value{suffix}>", f"</{prefix}arg_value{suffix}>"

    def read(scan: Scan, at: int) -> int:
        match = _TAG_NAME.match(scan.text, scan.skip(at))
        if match is None:
            raise Unreadable
        name, at = match[0].strip(), scan.accept(match.end(), f"<tool_sep{suffix}>")
        arguments: dict[str, Any] = {}
        while scan.sees(at, key):
            parameter, at = scan.until(scan.expect(at, key), key_end)
            value, at = scan.element(scan.expect(at, val), val_end, key, closer)
            scan.put(arguments, parameter.strip(), scan.untyped(name, parameter.strip(), value))
        at = scan.expect(at, closer)
        scan.add(name, arguments)
        return at
    return read


_TAG_NAME = re.compile(r"[\w.:-]+")


def invoke_element(prefix: str = "") -> Reader:
    """Behind `<invoke name="`: name"> and <parameter name="…">…</parameter>; typed where string="…" says so (DSML)."""
    parameter_open, parameter_close = f'<{prefix}parameter name="', f"</{prefix}parameter>"
    invoke_close = f"</{prefix}invoke>"

    def read(scan: Scan, at: int) -> int:
        name, at = scan.until(at, '"')
        at = scan.expect(at, ">")
        arguments: dict[str, Any] = {}
        while scan.sees(at, parameter_open):
            parameter, at = scan.until(scan.expect(at, parameter_open), '"')
            attributes, at = scan.until(at, ">")
            value, at = scan.element(at, parameter_close, parameter_open, invoke_close)
            scan.put(arguments, parameter, _typed(scan, name, parameter, attributes, value))
        at = scan.expect(at, invoke_close)
        scan.add(name, arguments)
        return at
    return read


def _typed(scan: Scan, name: str, parameter: str, attributes: str, text: str) -> Any:
    if 'string="true"' in attributes:
        return text
    if 'string="false"' in attributes:
        decoded = decode_at(text)
        if decoded is None or text[decoded.end:].strip():
            raise Unreadable
        return decoded.value
    return scan.untyped(name, parameter, text)


def invoke_elements(closers: tuple[str, ...], prefix: str = "") -> Reader:
    """One or more invoke elements up to an optional closer."""
    opener, element = f'<{prefix}invoke name="', invoke_element(prefix)

    def read(scan: Scan, at: int) -> int:
        at = element(scan, scan.expect(at, opener))
        while scan.sees(at, opener):
            at = element(scan, scan.expect(at, opener))
        return scan.accept(at, *closers)
    return read


def _m3_value(scan: Scan, tag: re.Match[str], schema: Mapping[str, Any], leaf: Callable[[str], Any],
              depth: int = 0) -> tuple[Any, int]:
    """The value behind a tag: text that `leaf` casts, or nested tags (<item> makes a list, others an object)."""
    closer = f"{_M3}</{tag[1]}>"
    child = _M3_TAG.match(scan.text, tag.end() + len(_M3)) if scan.text.startswith(_M3, tag.end()) else None
    if child is None:
        value, at = scan.element(tag.end(), closer, _M3)
        return leaf(value), at
    if depth > 50:
        raise Unreadable
    pairs: list[tuple[str, Any]] = []
    at = tag.end()
    while not scan.sees(at, closer):
        child = _M3_TAG.match(scan.text, scan.expect(at, _M3))
        if child is None:
            raise Unreadable
        inner = schema.get("items") if child[1] == "item" else (schema.get("properties") or {}).get(child[1])
        inner = inner if isinstance(inner, dict) else {}
        value, at = _m3_value(scan, child, inner, partial(cast, inner), depth + 1)
        pairs.append((child[1], value))
    at = scan.expect(at, closer)
    if all(name == "item" for name, _ in pairs):
        return [value for _, value in pairs], at
    if len(dict(pairs)) < len(pairs):
        raise Unreadable
    return dict(pairs), at


_M3 = "]<]minimax[>["
_M3_INVOKE = re.compile(r'<invoke name="([^"]*)">')
_M3_TAG = re.compile(r"<([\w.-]+)>")


def minimax_m3(scan: Scan, at: int) -> int:
    """MiniMax M3: every tag behind a marker; the tag of a value is the parameter's name."""
    while not scan.sees(at, _M3 + "</tool_call>"):
        at = scan.expect(at, _M3)
        match = _M3_INVOKE.match(scan.text, at)
        if match is None:
            raise Unreadable
        name, at, arguments = match[1], match.end(), {}
        while not scan.sees(at, _M3 + "</invoke>"):
            at = scan.expect(at, _M3)
            tag = _M3_TAG.match(scan.text, at)
            if tag is None or tag[1] in arguments:
                raise Unreadable
            schema, parameter = scan.schema(name, tag[1]), tag[1]
            arguments[parameter], at = _m3_value(scan, tag, schema, partial(scan.untyped, name, parameter))
        at = scan.expect(at, _M3 + "</invoke>")
        scan.add(name, arguments)
        if scan.skip(at) == len(scan.text):
            return at
    return scan.expect(at, _M3 + "</tool_call>")


# --- special tokens ---------------------------------------------------------------------------------------------------

def tool_call_tag(scan: Scan, at: int) -> int:
    """`<tool_call>` is shared by four families; its body decides (formats, rule 10)."""
    if scan.sees(at, "{", "["):
        return json_body("</tool_call>")(scan, at)
    if scan.sees(at, "<function="):
        return function_elements("</tool_call>")(scan, at)
    return key_value_element("", "</tool_call>")(scan, at)


_HUNYUAN_SUFFIX = re.compile(r":[\w-]{1,40}(?=>)|")


def tool_calls_tag(scan: Scan, at: int) -> int:
    """Behind `<tool_calls`: JSON lines (MiniMax M1) or tool_call elements (Hunyuan, its tags may carry a suffix)."""
    suffix = _HUNYUAN_SUFFIX.match(scan.text, at)[0]
    at = scan.expect(at + len(suffix), ">")
    opener, closer = f"<tool_call{suffix}>", f"</tool_call{suffix}>"
    if not scan.sees(at, opener):
        return json_body("</tool_calls>")(scan, at)
    while scan.sees(at, opener):
        at = key_value_element("", closer, suffix)(scan, scan.expect(at, opener))
    return scan.accept(at, f"</tool_calls{suffix}>")


def function_calls_tag(scan: Scan, at: int) -> int:
    """`<function_calls>`: invoke elements (Claude) or Python-like calls, one a line (Olmo-3)."""
    if scan.sees(at, "<"):
        return invoke_elements(("</function_calls>",))(scan, at)
    return python_body("</function_calls>")(scan, at)


_MISTRAL_NAME = re.compile(r"([\w.-]+)(?:\s*\[CALL_ID\]\s*[\w.-]+)?(?:\s*\[ARGS\])?\s*(?=\{)")


def mistral(scan: Scan, at: int) -> int:
    """`[TOOL_CALLS]` takes a list, name{…}, name[ARGS]{…}, name[CALL_ID]…[ARGS]{…} (formats, rule 11)."""
    if scan.sees(at, "[", "{"):
        return json_body("</s>")(scan, at)
    match = _MISTRAL_NAME.match(scan.text, scan.skip(at))
    if match is None:
        raise Unreadable
    return arguments_object(scan, match[1], match.end())


def begin_sep_end(begin: str, sep: str, end: str, closer: str) -> Reader:
    """DeepSeek: name SEP {…} END, or `function` SEP name, a fence with {…}, END; repeated behind BEGIN."""
    def one(scan: Scan, at: int) -> int:
        head, at = scan.until(at, sep)
        if head.strip() == "function" and not scan.sees(at, "{"):
            head, at = scan.until(at, "\n")
            fence = FENCE_HEADER.match(scan.text, scan.skip(at))
            at = fence.end() if fence else at
        return scan.accept(scan.accept(arguments_object(scan, head, at), "```"), end)

    def read(scan: Scan, at: int) -> int:
        at = one(scan, at)
        while scan.sees(at, begin):
            at = one(scan, scan.expect(at, begin))
        return scan.accept(at, closer)
    return read


_DEEPSEEK = begin_sep_end("<｜tool▁call▁begin｜>", "<｜tool▁sep｜>", "<｜tool▁call▁end｜>", "<｜tool▁calls▁end｜>")


def deepseek_calls(scan: Scan, at: int) -> int:
    return _DEEPSEEK(scan, scan.expect(at, "<｜tool▁call▁begin｜>"))


def step3(scan: Scan, at: int) -> int:
    """Step-3: DeepSeek-like tokens around steptml invoke elements."""
    while scan.sees(at, "<｜tool_call_begin｜>"):
        at = scan.expect(scan.expect(scan.expect(at, "<｜tool_call_begin｜>"), "function"), "<｜tool_sep｜>")
        at = invoke_element("steptml:")(scan, scan.expect(at, '<steptml:invoke name="'))
        at = scan.accept(at, "<｜tool_call_end｜>")
    if not scan.calls:
        raise Unreadable
    return scan.accept(at, "<｜tool_calls_end｜>")


_KIMI_HEAD = re.compile(r"(?:functions\.)?([A-Za-z_][\w.-]*)(?::[0-9]+)?")


def kimi_call(scan: Scan, at: int) -> int:
    """Kimi K2: functions.name:N, then the arguments. A counter alone names no tool."""
    head, at = scan.until(at, "<|tool_call_argument_begin|>")
    match = _KIMI_HEAD.fullmatch(head.strip())
    if match is None:
        raise Unreadable
    at = scan.accept(arguments_object(scan, match[1], at), "<|tool_call_end|>")
    return scan.accept(at, "<|tool_calls_section_end|>")


def kimi_section(scan: Scan, at: int) -> int:
    return kimi_call(scan, scan.expect(at, "<|tool_call_begin|>"))


_K3_CALL = re.compile(r'call\s+tool="([^"]*)"[^<]*<\|sep\|>')
_K3_ARGUMENT = re.compile(r'argument\s+key="([^"]*)"(?:\s+type="([^"]*)")?[^<]*<\|sep\|>')


def kimi_k3(scan: Scan, at: int) -> int:
    """Kimi K3: <|open|>/<|close|> elements; arguments carry their type."""
    while scan.sees(at, "<|open|>"):
        match = _K3_CALL.match(scan.text, scan.expect(at, "<|open|>"))
        if match is None:
            raise Unreadable
        at, arguments = match.end(), {}
        while scan.sees(at, "<|open|>"):
            argument = _K3_ARGUMENT.match(scan.text, scan.expect(at, "<|open|>"))
            if argument is None:
                raise Unreadable
            value, at = scan.element(argument.end(), "<|close|>argument<|sep|>", "<|open|>", "<|close|>")
            string = argument[2] in (None, "string")
            scan.put(arguments, argument[1], _typed(scan, "", "", f'string="{str(string).lower()}"', value))
        at = scan.expect(at, "<|close|>call<|sep|>")
        scan.add(match[1], arguments)
    if not scan.calls:
        raise Unreadable
    return scan.accept(at, "<|close|>tools<|sep|>")


_HARMONY_HEADER = re.compile(r"[^<]*(?:<\|(?:start|channel|constrain)\|>[^<]*)*<\|message\|>")
_RECIPIENT = re.compile(r"to=(?:functions\.)?([\w.-]+)")


def harmony(scan: Scan, at: int) -> int:
    """GPT-OSS: a message with a recipient; the recipient stands before or after the channel word."""
    match = _HARMONY_HEADER.match(scan.text, at)
    if match is None:
        raise Unreadable
    recipient = _RECIPIENT.search(match[0])
    if recipient is None:
        raise Unreadable
    return scan.accept(arguments_object(scan, recipient[1], match.end()), "<|call|>", "<|end|>")


def call_braces(quote: str, closer: str) -> Reader:
    """Gemma: call:name{key:value,…}; strings stand between `quote` tokens, lists and objects nest."""
    def value(scan: Scan, at: int, depth: int) -> tuple[Any, int]:
        if depth > 100:
            raise Unreadable
        if scan.sees(at, quote):
            return scan.until(scan.expect(at, quote), quote)
        if scan.sees(at, "["):
            items: list[Any] = []
            at = scan.expect(at, "[")
            while not scan.sees(at, "]"):
                item, at = value(scan, at, depth + 1)
                items.append(item)
                at = at if scan.sees(at, "]") else scan.expect(at, ",")
            return items, scan.expect(at, "]")
        if scan.sees(at, "{"):
            return pairs(scan, scan.expect(at, "{"), depth + 1)
        decoded = decode_at(scan.text, at)
        if decoded is None or isinstance(decoded.value, str) or decoded.repairs:
            raise Unreadable
        return decoded.value, decoded.end

    def pairs(scan: Scan, at: int, depth: int) -> tuple[dict[str, Any], int]:
        result: dict[str, Any] = {}
        while not scan.sees(at, "}"):
            if scan.sees(at, quote):
                key, at = scan.until(scan.expect(at, quote), quote)
                at = scan.expect(at, ":")
            else:
                key, at = scan.until(at, ":")
            if key.strip() in result:
                raise Unreadable
            result[key.strip()], at = value(scan, at, depth)
            at = at if scan.sees(at, "}") else scan.expect(at, ",")
        return result, scan.expect(at, "}")

    def read(scan: Scan, at: int) -> int:
        name, at = scan.until(scan.expect(at, "call:"), "{")
        arguments, at = pairs(scan, at, 0)
        scan.add(name, arguments)
        return scan.accept(at, closer)
    return read


def python_tag(scan: Scan, at: int) -> int:
    """Llama: JSON objects joined by ;, or Python-like calls."""
    return python_body("<|python_end|>", "<|eom_id|>", "<|eot_id|>")(scan, at)


def internlm(scan: Scan, at: int) -> int:
    return json_body("<|action_end|>")(scan, scan.expect(at, "<|plugin|>"))


def longcat(scan: Scan, at: int) -> int:
    if scan.sees(at, "{", "["):
        return json_body("</longcat_tool_call>")(scan, at)
    return key_value_element("longcat_", "</longcat_tool_call>")(scan, at)


_DSML_CLOSERS = ("</｜DSML｜function_calls>", "</｜DSML｜tool_calls>", "</｜DSML｜ calls>")


def dsml(scan: Scan, at: int) -> int:
    """DeepSeek V3.2 and V4; in V4.1 every name of a tag has a blank before it."""
    prefix = "｜DSML｜ " if scan.sees(at, '<｜DSML｜ invoke name="') else "｜DSML｜"
    return invoke_elements(_DSML_CLOSERS, prefix)(scan, at)


# The table: opener -> (label, reader). At one place the longest opener counts (formats, rule 10).
FORMATS: dict[str, tuple[str, Reader]] = {
    "<tool_call>": ("tool_call_tag", tool_call_tag),
    "<TOOLCALL>": ("nemotron", json_body("</TOOLCALL>")),
    "<seed:tool_call>": ("seed_oss", function_elements("</seed:tool_call>")),
    "<function=": ("function_tag", function_element),
    "<|python_tag|>": ("llama3_json", python_tag),
    "<|python_start|>": ("llama4_wrapper", python_tag),
    "<|tool_call_start|>": ("lfm2", python_body("<|tool_call_end|>")),
    "[TOOL_CALLS]": ("mistral", mistral),
    "<｜tool▁calls▁begin｜>": ("deepseek", deepseek_calls),
    "<｜tool▁call▁begin｜>": ("deepseek", _DEEPSEEK),
    "<｜DSML｜function_calls>": ("deepseek_dsml", dsml),
    "<｜DSML｜tool_calls>": ("deepseek_dsml", dsml),
    "<｜DSML｜ calls>": ("deepseek_dsml", dsml),
    '<｜DSML｜invoke name="': ("deepseek_dsml", invoke_element("｜DSML｜")),
    '<｜DSML｜ invoke name="': ("deepseek_dsml", invoke_element("｜DSML｜ ")),
    "<tool_calls>": ("tool_calls_tag", lambda scan, at: tool_calls_tag(scan, at - 1)),
    "<tool_calls:": ("tool_calls_tag", lambda scan, at: tool_calls_tag(scan, at - 1)),
    "<|tool_calls_section_begin|>": ("kimi_k2", kimi_section),
    "<|tool_call_begin|>": ("kimi_k2", kimi_call),
    "<|open|>tools<|sep|>": ("kimi_k3", kimi_k3),
    "<minimax:tool_call>": ("minimax_m2", invoke_elements(("</minimax:tool_call>",))),
    f"{_M3}<tool_call>": ("minimax_m3", minimax_m3),
    "<|start|>assistant": ("harmony", harmony),
    "<|channel|>": ("harmony", harmony),
    "```tool_code": ("gemma3_tool_code", tool_code),
    "<start_function_call>": ("functiongemma", call_braces("<escape>", "<end_function_call>")),
    "<|tool_call>": ("gemma4", call_braces('<|"|>', "<tool_call|>")),
    "functools[": ("phi4_functools", lambda scan, at: json_body()(scan, at - 1)),
    "<|tool_call|>": ("granite", json_body("<|/tool_call|>")),
    "<|START_ACTION|>": ("cohere", json_body("<|END_ACTION|>")),
    "<|tools_prefix|>": ("apertus", name_as_key),
    "<|action_start|>": ("internlm", internlm),
    "<｜tool_calls_begin｜>": ("step3", step3),
    "<longcat_tool_call>": ("longcat", longcat),
    "<function_calls>": ("function_calls_tag", function_calls_tag),
    '<invoke name="': ("invoke_tag", invoke_element()),
}
_OPENER = re.compile("|".join(map(re.escape, sorted(FORMATS, key=len, reverse=True))))
_REACT = re.compile(r"^[ \t]*Action[ \t]*:[ \t]*([\w.-]+)[ \t]*\r?$", re.MULTILINE)
_REACT_INPUT = re.compile(r"\s*Action[ \t]+Input[ \t]*:[ \t]*")


def find_opener(text: str, at: int = 0) -> int | None:
    """Where the next opener of a format stands; None if there is none."""
    match = _OPENER.search(text, at)
    return match and match.start()


_BEGUN = tuple(sorted({opener[:n] for opener in FORMATS if opener[0] == "<" for n in range(1, len(opener))
                       if opener[n - 1] != ">"}))


def ends_in_opener(text: str) -> int | None:
    """Where an opener begins that the end of the text cuts; None if none does."""
    at = text.rfind("<")
    return at if at >= 0 and text[at:] in _BEGUN else None


def read_untagged(text: str, tools: Toolset) -> Section | None:
    """Read ReAct or Python-like text, which have no opener of their own; None if it is neither."""
    return _read_react(text, tools) or _read_python_list(text, tools)


def read_tagged(text: str, tools: Toolset, start: int = 0, several: bool = False) -> Section | None:
    """Read the first format with an opener of its own from `start` on; later openers of the same format are read too.

    several: the same call twice in one block is two calls.
    None: no opener there. Reading stops at the first part that cannot be read (Section.broken).
    """
    first = _OPENER.search(text, start)
    if first is None:
        return None
    label = FORMATS[first[0]][0]
    scan, broken, at = Scan(text, tools, several), False, first.end()
    match: re.Match[str] | None = first
    try:
        while match is not None:
            found, reader = FORMATS[match[0]]
            at = reader(scan, match.end()) if found == label else match.end()
            match = _OPENER.search(text, at)
    except (Unreadable, RecursionError):
        broken = True
    return Section(first.start(), label, scan.calls, tuple(scan.notes), tuple(scan.repairs), broken, at)


def _read_react(text: str, tools: Toolset) -> Section | None:
    """ReAct: Action: name, Action Input: {…}; only offered names count."""
    scan, start, end = Scan(text, tools), None, 0
    for match in _REACT.finditer(text):
        if match[1] not in tools:
            continue
        start = match.start() if start is None else start
        given = _REACT_INPUT.match(text, match.end())
        try:
            if given is None:
                raise Unreadable
            end = arguments_object(scan, match[1], given.end())
        except Unreadable:
            return Section(start, "react", scan.calls, (), tuple(scan.repairs), True)
    return None if start is None else Section(start, "react", scan.calls, (), tuple(scan.repairs), False, end)


_PYTHON_LIST = re.compile(r"\s*\[\s*([A-Za-z_][\w.-]*)\s*\(")


def _read_python_list(text: str, tools: Toolset) -> Section | None:
    """Llama 3.2: the whole text is [name(…)]; only offered names count."""
    header = FENCE_HEADER.match(text)
    start = header.end() if header else 0
    match = _PYTHON_LIST.match(text, start)
    if match is None or match[1] not in tools:
        return None
    scan, broken = Scan(text, tools), False
    try:
        end = python_list(scan, start, offered_only=True)
        broken = scan.skip(scan.accept(end, "```") if header else end) < len(text)
    except (Unreadable, RecursionError):
        broken = True
    return Section(0, "pythonic", scan.calls, (), tuple(scan.repairs), broken, len(text))
