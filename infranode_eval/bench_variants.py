"""Variants of a bench case's gold: spellings that must succeed, each with what the original's rule says, and mutations.

Written from the specification (bench, "Matching" and "Metrics"), not from the scorer that they check.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

from infranode_eval.mutations import SENTENCE, native_reply, prompted_text, tagged_text
from lm_eval_task.records import Call, Reply, Task, canonical_json
from lm_eval_task.tools import Toolset

QUESTION = "Können Sie mir das genauer sagen?"
MODES = ("prompt", "native")


@dataclass(frozen=True, slots=True)
class BenchVariant:
    """One reply to a case. strict: does it succeed under the original's rule? None: this check does not say."""

    kind: str
    mode: str
    reply: Reply
    strict: bool | None = None
    calls: tuple[Call, ...] = ()


def _both(kind: str, calls: Sequence[Call], strict: bool | None = None) -> Iterator[BenchVariant]:
    calls = tuple(calls)
    yield BenchVariant(kind, "prompt", Reply.from_text(prompted_text(calls)), strict, calls)
    yield BenchVariant(kind, "native", native_reply(calls), strict, calls)


# --- what must succeed ------------------------------------------------------------------------------------------------

def successes(task: Task, tools: Toolset, zone: str | None) -> Iterator[BenchVariant]:
    """The gold as it stands, respelled argument by argument, reordered, and in the wrappings that a prompt invites."""
    gold = task.expected
    if not gold:
        for mode in MODES:
            for text in (SENTENCE, QUESTION):
                yield BenchVariant("silence", mode, Reply.from_text(text), True)
        yield BenchVariant("silence as JSON", "prompt", Reply.from_text("[]"))
        return
    yield from _both("as expected", gold, True)
    for place, call in enumerate(gold):
        for kind, same, strict in _respelled(call, tools, zone):
            yield from _both(kind, _with(gold, place, same), strict)
        for other in alternatives(task, place):
            yield from _both("another right call", _with(gold, place, other))
    if len(gold) > 1 and not task.extra.get("reihenfolge"):
        yield from _both("calls in another order", gold[::-1])
    values = [call.to_json() for call in gold]
    for kind, text in (("fence", f"```json\n{prompted_text(gold)}\n```"),
                       ("prose before", f"Ich erledige das:\n{prompted_text(gold)}"),
                       ("objects in a row", "\n".join(map(canonical_json, values))),
                       ("several fences", "\n".join(f"```json\n{canonical_json(v)}\n```" for v in values))):
        yield BenchVariant(kind, "prompt", Reply.from_text(text), True, gold)
    yield BenchVariant("tags", "native", Reply.from_text(tagged_text(gold)), True, gold)


def alternatives(task: Task, place: int) -> Sequence[Call]:
    """The further calls that fulfil a step."""
    found = task.extra.get("oder") or ()
    return [call if isinstance(call, Call) else Call(call["name"], call.get("args", call.get("arguments", {})))
            for call in (found[place] if place < len(found) else ())]


def _with(gold: Sequence[Call], place: int, call: Call) -> tuple[Call, ...]:
    return (*gold[:place], call, *gold[place + 1:])


def _respelled(call: Call, tools: Toolset, zone: str | None) -> Iterator[tuple[str, Call, bool]]:
    """(kind, the same call in another spelling, what the original's rule says)."""
    tool, arguments = tools.by_name[call.name], dict(call.arguments)
    if len(arguments) > 1:
        yield "arguments in another order", Call(call.name, dict(reversed(arguments.items()))), True
    for name in tool.properties:
        if name not in arguments and name not in tool.required:
            yield "optional argument null", Call(call.name, {**arguments, name: None}), False
    for name, value in arguments.items():
        for kind, same, strict in _same_values(tool.properties[name], value, zone):
            yield kind, Call(call.name, {**arguments, name: same}), strict


def _same_values(schema: Mapping[str, Any], value: Any, zone: str | None) -> Iterator[tuple[str, Any, bool]]:
    if isinstance(value, bool):
        yield "boolean as text", json.dumps(value), False
        yield "boolean as Python's text", str(value), True
    elif isinstance(value, int):
        yield "integer as a float", float(value), False
        yield "digits as text", str(value), True
    elif isinstance(value, str):
        yield from _same_texts(schema.get("format"), "enum" in schema, value, zone)


def _same_texts(form: str | None, closed: bool, value: str, zone: str | None) -> Iterator[tuple[str, Any, bool]]:
    if form == "uuid":
        if value.upper() != value:
            yield "UUID in capitals", value.upper(), False
    elif form == "date-time":
        yield from ((kind, text, False) for kind, text in _same_instants(value, zone))
    elif form is None and not closed:
        yield "edge blanks", f" {value} ", True
        yield "edge no-break space", f"{value}\u00a0", True
        if not value.isascii():
            yield "decomposed letters", unicodedata.normalize("NFD", value), False
        if " " in value:
            yield "inner no-break space", value.replace(" ", "\u00a0"), False


_LOCAL = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-9]{2})?")


def _same_instants(value: str, zone: str | None) -> Iterator[tuple[str, str]]:
    """Of a local time; one that says its offset itself is varied as a text."""
    found = _LOCAL.fullmatch(value)
    if found is None:
        return
    if found[1] == ":00":
        yield "seconds left out", value[:-3]
    if found[1]:
        yield "fraction of seconds", f"{value}.0"
    yield "blank for T", value.replace("T", " ")
    if zone:
        local, offset = datetime.fromisoformat(value), _offset_at(value, zone)
        yield "offset spelled out", local.replace(tzinfo=timezone(offset)).isoformat()
        yield "the same instant in Z", (local - offset).isoformat() + "Z"


def _offset_at(value: str, zone: str) -> timedelta:
    """How far a local time is ahead of UTC, in summer another hour than in winter where the zone has a name."""
    if zone[0] not in "+-":
        return ZoneInfo(zone).utcoffset(datetime.fromisoformat(value)) or timedelta()
    return timedelta(hours=int(zone[1:3]), minutes=int(zone[4:6])) * (-1 if zone[0] == "-" else 1)


# --- what must not ----------------------------------------------------------------------------------------------------

def failures(task: Task, tools: Toolset, zone: str | None) -> Iterator[BenchVariant]:
    """Every mutation of the gold: none of them may succeed, under either rule where `strict` says so."""
    gold = task.expected
    if not gold:
        for tool in tools.tools:
            yield from _both("call where silence is right", (Call(tool.name),), False)
        yield BenchVariant("silence cut by the budget", "prompt", Reply.from_text(SENTENCE, "length"), None)
        return
    right = {canonical_json(call.to_json()) for place, call in enumerate(gold)
             for call in (call, *alternatives(task, place))}
    for place, call in enumerate(gold):
        for kind, mutant, strict in _mutants(call, tools, zone):
            if canonical_json(mutant.to_json()) not in right:
                yield from _both(kind, _with(gold, place, mutant), strict)
    yield from _counts(task, tools)
    text = prompted_text(gold)
    for length in range(len(text)):
        yield BenchVariant("cut at every character", "prompt", Reply.from_text(text[:length]), None, gold)
        yield BenchVariant("cut by the budget", "prompt", Reply.from_text(text[:length], "length"), None, gold)


def _counts(task: Task, tools: Toolset) -> Iterator[BenchVariant]:
    """Calls left out, added, doubled, and in the wrong order where the order counts."""
    gold = task.expected
    for mode in MODES:
        yield BenchVariant("silence where calls are right", mode, Reply.from_text(SENTENCE), False)
    for place in range(len(gold) if len(gold) > 1 else 0):
        yield from _both("call left out", gold[:place] + gold[place + 1:], False)
    yield from _both("call doubled", (*gold, gold[0]), False)
    yield from _both("call added", (*gold, Call(tools.tools[-1].name)), False)
    if task.extra.get("reihenfolge"):
        yield from _both("calls in the wrong order", gold[::-1], False)


def _mutants(call: Call, tools: Toolset, zone: str | None) -> Iterator[tuple[str, Call, bool]]:
    """(kind, a call that is wrong, what the original's rule says of it)."""
    tool, arguments = tools.by_name[call.name], dict(call.arguments)
    for other in tools.tools:
        if other.name != call.name:
            yield "tool swapped", Call(other.name, arguments), False
    yield "tool swapped for an unknown one", Call(call.name + "_v2", arguments), False
    yield "argument invented", Call(call.name, {**arguments, "sprache": "de"}), False
    for name, schema in tool.properties.items():
        if name not in arguments:
            yield "optional argument empty", Call(call.name, {**arguments, name: ""}), False
            continue
        yield "argument dropped", Call(call.name, {k: v for k, v in arguments.items() if k != name}), False
        for kind, value, strict in _wrong_values(schema, arguments[name], zone):
            yield kind, Call(call.name, {**arguments, name: value}), strict


def _wrong_values(schema: Mapping[str, Any], value: Any, zone: str | None) -> Iterator[tuple[str, Any, bool]]:
    yield "argument null", None, False
    yield "argument in a list", [value], False
    if isinstance(value, bool):
        yield "argument changed", not value, False
        yield "a number for a boolean", int(value), False
    elif isinstance(value, int):
        yield "argument changed", value + 1, False
        yield "half more", value + 0.5, False
    elif isinstance(value, str):
        yield "argument changed", value + "x", False
        yield "argument empty", "", False
        yield from ((kind, wrong, False) for kind, wrong in _wrong_times(schema.get("format"), value, zone))
        yield from (("another allowed value", other, False) for other in schema.get("enum", ()) if other != value)
        if value.isdigit():
            yield "number for text", int(value), not value.startswith("0")


def _wrong_times(form: str | None, value: str, zone: str | None) -> Iterator[tuple[str, str]]:
    if form == "date-time" and _LOCAL.fullmatch(value):
        yield "a minute later", (datetime.fromisoformat(value) + timedelta(minutes=1)).isoformat()
        if zone and _offset_at(value, zone):
            yield "the same digits in Z", value + "Z"
    elif form == "date":
        yield "date-time for a date", value + "T00:00:00"
        yield "German date text", ".".join(reversed(value.split("-")))
