"""Equivalences of a gold: the same calls in every spelling and wrapping that means the same; all must score 1.

Written from the specification (scoring, "Reading a reply", "Equality of two calls"), not from the scorer it checks.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Any

from infranode_eval.mutations import SENTENCE, Variant, native_entries, prompted_text, tagged_text, written
from lm_eval_task.records import Call, Reply, Task, canonical_json
from lm_eval_task.tools import THE_TWELVE, Toolset

RIGHT = frozenset(("ok", "ok_recovered"))
DIRECT, RECOVERED = frozenset(("ok",)), frozenset(("ok_recovered",))
ABSTAINED = frozenset(("abstain_ok",))


def equivalences(task: Task, tools: Toolset) -> Iterator[Variant]:
    """The gold and its accepted answers, each as it stands and in every spelling and wrapping that means the same."""
    for calls in task.alternatives:
        if not calls:
            yield Variant("silence", "prompt", Reply.from_text(SENTENCE), ABSTAINED)
            yield Variant("silence", "native", Reply.from_text(SENTENCE), ABSTAINED)
            yield Variant("silence as JSON", "prompt", Reply.from_text("[]"), ABSTAINED)
            continue
        yield from written("as expected", calls, DIRECT)
        for index, call in enumerate(calls):
            for kind, same in _same_calls(tools, call):
                yield from written(kind, (*calls[:index], same, *calls[index + 1:]), DIRECT)
        if len(calls) > 1:
            yield from written("calls in another order", calls[::-1], DIRECT)
        yield from _prompted_wrappings(calls)
        yield from _native_wrappings(calls)


def _same_calls(tools: Toolset, call: Call) -> Iterator[tuple[str, Call]]:
    tool = tools.by_name[call.name]
    arguments = dict(call.arguments)
    if len(arguments) > 1:
        yield "arguments in another order", Call(call.name, dict(reversed(arguments.items())))
    for name, schema in tool.properties.items():
        if name not in arguments and name not in tool.required:
            yield "optional argument null", Call(call.name, {**arguments, name: None})
            if "default" in schema:
                yield "default spelled out", Call(call.name, {**arguments, name: schema["default"]})
    for name, value in arguments.items():
        for kind, same in _same_values(call.name, name, value):
            yield kind, Call(call.name, {**arguments, name: same})


def _same_values(tool: str, name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, int) and not isinstance(value, bool):
        yield "integer as a float", float(value)
    elif tool in THE_TWELVE and name == "slug":
        yield "slug in capitals", value.upper()
        yield "slug capitalised", value.capitalize()
    elif tool == "compare" and name == "cities":
        cities = value.split(",")
        yield "cities in another order", ",".join(reversed(cities))
        yield "blanks around commas", " , ".join(cities)
        yield "cities in capitals", value.upper()
    elif tool not in THE_TWELVE and isinstance(value, str) and not value.isascii():
        yield "decomposed letters", unicodedata.normalize("NFD", value)


KEYS = (("name", "parameters"), ("tool", "args"), ("tool_name", "tool_input"), ("function", "input"))


def _prompted_wrappings(calls: Sequence[Call]) -> Iterator[Variant]:
    text = prompted_text(calls)
    values = [c.to_json() for c in calls]

    def variant(kind: str, wrapped: str, outcomes: frozenset[str] = DIRECT) -> Variant:
        return Variant(kind, "prompt", Reply.from_text(wrapped), outcomes, None, tuple(calls))

    yield variant("fence", f"```json\n{text}\n```")
    yield variant("fence", f"```\n{text}\n```")
    yield variant("prose", f"Ich rufe das passende Werkzeug auf: {text}")
    yield variant("prose", f"{text}\nDamit lässt sich die Frage beantworten.")
    yield variant("prose", f"Gern!\n\n```json\n{text}\n```\nMehr (oder {{anderes}}) braucht es nicht.")
    yield variant("pretty JSON", json.dumps(values[0] if len(values) == 1 else values, indent=2))
    yield variant("a list", json.dumps(values))
    yield variant("objects in a row", "\n".join(json.dumps(v) for v in values))
    yield variant("arguments before the name", json.dumps([dict(reversed(v.items())) for v in values]))
    for name, arguments in KEYS:
        yield variant(f"keys {name}, {arguments}", json.dumps([{name: v["name"], arguments: v["arguments"]}
                                                               for v in values], ensure_ascii=False))
    yield variant("function wrapper", json.dumps([{"type": "function", "function": v} for v in values]))
    yield variant("tool_calls wrapper", json.dumps({"tool_calls": values}))
    yield variant("arguments as a string", json.dumps([{**v, "arguments": json.dumps(v["arguments"])} for v in values]))
    yield variant("closed thought", f"<think>Welches? {{\"name\": …}}</think>\n{text}")
    yield variant("closed thought", f"Ich überlege.</think>\n\n{text}")
    if all(not c.arguments for c in calls):
        yield variant("no arguments key", json.dumps([{"name": c.name} for c in calls]))
    yield variant("single quotes", repr(values), RECOVERED)
    yield variant("trailing comma", re.sub(r"\}(?=[^}]*\Z)", ",}", text, count=1) if len(calls) == 1
                  else text[:-1] + ",]", RECOVERED)
    yield variant("tags", tagged_text(calls), RECOVERED)
    if len({canonical_json(v) for v in values}) == len(values):
        yield variant("identical objects", "\n".join(json.dumps(v) for v in values * 2), RECOVERED)


def _native_wrappings(calls: Sequence[Call]) -> Iterator[Variant]:
    text = prompted_text(calls)
    pairs = [(c.name, json.dumps(dict(c.arguments))) for c in calls]

    def variant(kind: str, reply: Reply, outcomes: frozenset[str]) -> Variant:
        return Variant(kind, "native", reply, outcomes, None, tuple(calls))

    yield variant("arguments as an object", native_entries([(c.name, dict(c.arguments)) for c in calls]), DIRECT)
    numbered = [(f"functions.{name}:{i}", arguments) for i, (name, arguments) in enumerate(pairs)]
    yield variant("functions. and a counter", native_entries(numbered), RIGHT)
    twice = [(name, json.dumps(arguments)) for name, arguments in pairs]
    yield variant("arguments encoded twice", native_entries(twice), RECOVERED)
    yield variant("bare JSON", Reply.from_text(text), RECOVERED)
    yield variant("fence", Reply.from_text(f"```json\n{text}\n```"), RECOVERED)
    yield variant("tags", Reply.from_text(tagged_text(calls)), RECOVERED)
    yield variant("closed thought", Reply.from_text(f"<think>Nun.</think>{tagged_text(calls)}"), RECOVERED)
