"""A call written as JSON: {"name": …, "arguments": …} in the variants that models use.

Source: specification, scoring, "Reading a reply", rules 1, 4 and 6.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from lm_eval_task.decode import MAX_DEPTH, Decoded, decode_all, decode_at
from lm_eval_task.records import Call, canonical_json
from lm_eval_task.tools import Toolset

NAME_KEYS = ("name", "tool", "tool_name", "function")
ARGUMENT_KEYS = ("arguments", "parameters", "args", "input", "tool_input")


_ASKED_FOR = {"name", "arguments"}


class Found(NamedTuple):
    """Calls in a piece of text or a value.

    calls: None = none, [] = says that nothing is called. notes keep a reading direct, repairs make it a recovery.
    broken: a call was attempted and cannot be read. special: found by a text format's own opener.
    """

    calls: list[Call] | None = None
    notes: tuple[str, ...] = ()
    repairs: tuple[str, ...] = ()
    broken: bool = False
    special: bool = False


BROKEN = Found(broken=True)


MAX_DUPLICATES = 100   # copies of one arguments object; whoever writes more is stuck, not calling


class Arguments(NamedTuple):
    """Decoded arguments with the notes and repairs that reading them took."""

    value: dict[str, Any]
    notes: tuple[str, ...] = ()
    repairs: tuple[str, ...] = ()


FENCE_HEADER = re.compile(r"```[ \t]*[\w+-]*\s*")


def unfenced(text: str) -> str | None:
    """The content of a text that is one fenced block (a missing end fence is accepted); None if it is none."""
    header = FENCE_HEADER.match(text)
    if header is None:
        return None
    decoded = decode_at(text, header.end())
    if decoded is None or text[decoded.end:].strip() not in ("```", ""):
        return None
    return text[header.end():decoded.end]


def read_arguments(value: Any) -> Arguments | None:
    """Arguments as an object or a JSON string (a string inside is decoded once more); None if unreadable."""
    if isinstance(value, dict):
        return None if _too_deep(value) else Arguments(value)
    if value is None or (isinstance(value, str) and not value.strip()):
        return Arguments({}, ("empty_arguments",))
    repairs: tuple[str, ...] = ()
    for _ in range(2):
        decoded = _decode_text(value) if isinstance(value, str) else None
        if decoded is None:
            return None
        repairs += decoded.repairs
        value = decoded.value
        if isinstance(value, dict):
            return Arguments(value, (), repairs)
        if value is None:
            return Arguments({}, ("empty_arguments",), repairs)
        repairs += ("args_double_encoded",)
    return None


def _too_deep(value: dict[str, Any]) -> bool:
    """Nested beyond MAX_DEPTH? Objects that an endpoint decoded itself were never measured."""
    level: list[Any] = [v for v in value.values() if isinstance(v, (dict, list))]
    for _ in range(MAX_DEPTH):
        if not level:
            return False
        level = [inner for outer in level for inner in (outer.values() if isinstance(outer, dict) else outer)
                 if isinstance(inner, (dict, list))]
    return True


def _decode_text(text: str) -> Decoded | None:
    """One value, also inside a fence, also the same object several times (a repair)."""
    inner = unfenced(text.strip())
    if inner is not None:
        decoded = decode_all(inner)
        return decoded and decoded._replace(repairs=(*decoded.repairs, "args_fenced"))
    decoded = decode_all(text)
    if decoded is not None:
        return decoded
    first = decode_at(text)
    if first is None or not isinstance(first.value, dict):
        return None
    at, said = first.end, canonical_json(first.value)
    for _ in range(MAX_DUPLICATES):
        if not text[at:].strip():
            break
        again = decode_at(text, at)
        if again is None or canonical_json(again.value) != said:
            return None
        at = again.end
    else:
        return None
    return Decoded(first.value, at, (*first.repairs, "duplicate_collapsed"))


_COUNTER = re.compile(r":[0-9]+$")


def plain_name(name: str, tools: Toolset) -> str:
    """A name without `functions.` and `:N`, which some templates leak; an offered name stays as it is."""
    name = name.strip()
    return name if name in tools else _COUNTER.sub("", name.removeprefix("functions."))


def calls_of_value(value: Any, tools: Toolset, whole: bool) -> Found | None:
    """The calls that a decoded JSON value stands for; None if it is no call at all.

    whole: the value is the whole text, a fence or a format's body; there a name counts whatever it is, elsewhere only
    an offered one does.
    """
    if isinstance(value, dict) and isinstance(value.get("tool_calls"), list):
        value = value["tool_calls"]
    if isinstance(value, dict):
        return call_of_object(value, tools, whole)
    if not isinstance(value, list):
        return None
    items = [call_of_object(v, tools, whole) if isinstance(v, dict) else None for v in value]
    if value and all(item is None for item in items):
        return None
    if value and all(item is not None and item.calls == [] for item in items):
        return Found([], ("says_no_call",))
    if any(item is None or not item.calls for item in items):
        return BROKEN
    calls = [call for item in items for call in item.calls]
    notes = ("list_of_one",) if len(calls) == 1 else ()
    return Found(calls, notes + tuple(n for i in items for n in i.notes), tuple(r for i in items for r in i.repairs))


def call_of_object(value: dict[str, Any], tools: Toolset, whole: bool) -> Found | None:
    """One call from an object. None: no call. Found.calls == []: it says that nothing is called."""
    if value.keys() == _ASKED_FOR and isinstance(value["arguments"], dict) and isinstance(value["name"], str) \
            and value["name"] in tools:
        return Found([Call(value["name"], value["arguments"])])   # exactly what the prompt asks for
    inner = value.get("function")
    if isinstance(inner, dict):
        value = inner
    key = next((k for k in NAME_KEYS if k in value and (value[k] is None or isinstance(value[k], str))), None)
    if key is None:
        return None
    raw = value[key]
    if raw is None or not raw.strip():
        return Found([], ("says_no_call",))
    name = plain_name(raw, tools)
    others = [value[k] for k in NAME_KEYS if k != key and isinstance(value.get(k), str)]
    if any(plain_name(other, tools) != name for other in others) and any(n in tools for n in (name, *others)):
        return BROKEN   # two names for one call; which one is meant is not ours to guess
    present = [k for k in ARGUMENT_KEYS if k in value]
    if name not in tools and not (whole and present):
        return None
    filled = [k for k in present if value[k] not in (None, "", {})] or present
    if len(filled) > 1 and len({canonical_json(value[k]) for k in filled}) > 1:
        return BROKEN
    arguments = read_arguments(value[filled[0]]) if filled else Arguments({}, ("no_arguments_key",))
    if arguments is None:
        return BROKEN if name in tools else None
    notes = arguments.notes + (("name_affix",) if name != raw.strip() else ())
    if key != "name" or (filled and filled[0] != "arguments"):
        notes += ("other_keys",)
    return Found([Call(name, arguments.value)], notes, arguments.repairs)


def without_duplicates(calls: list[Call]) -> list[Call]:
    """The calls, each once, in order of their first appearance."""
    if len(calls) < 2:
        return calls
    seen: dict[str, Call] = {}
    for call in calls:
        seen.setdefault(canonical_json(call.to_json()), call)
    return list(seen.values())
