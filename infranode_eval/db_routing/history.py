"""A conversation as another request has to show it: its tool turns as text, or its results shortened."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from lm_eval_task.shapes import parts_of
from lm_eval_task.thoughts import split_thoughts

MOST_CUT_CHARS = 500        # of a result where the context could not hold all of them
_CUT = "… gekürzt"
HEADER = "Ergebnis von "

Message = Mapping[str, Any]


def has_results(messages: Iterable[Message]) -> bool:
    """Do results of tools stand in messages of their own?"""
    return any(message["role"] == "tool" for message in messages)


def as_text(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """The same conversation in the same order without a single native call or result.

    For APIs that refuse results of tools in a request without tools.
    """
    told: list[dict[str, Any]] = []
    names: dict[str, str] = {}
    for message in messages:
        if message["role"] in ("system", "user"):
            told.append({"role": message["role"], "content": message["content"]})
        elif message["role"] == "tool":
            call_id = message["tool_call_id"]
            told.append({"role": "user", "content": f"{HEADER}{names.get(call_id, message['name'])}:\n"
                                                    f"{message['content']}"})
        else:
            told.append({"role": "assistant", "content": _said(message, names)})
    return list(_joined(told))


def _said(message: Message, names: dict[str, str]) -> str:
    """The text of a reply and its calls, one a line; names: id → the call as its result is headed."""
    parts = parts_of(message)
    calls = []
    for entry in parts.entries:
        arguments = entry.arguments if isinstance(entry.arguments, str) else json.dumps(
            entry.arguments, ensure_ascii=False)
        calls.append(f'{{"name": {json.dumps(entry.name, ensure_ascii=False)}, "arguments": {arguments}}}')
        if entry.id:
            names[entry.id] = f"{entry.name}({' '.join(arguments.split())})"
    return "\n".join(filter(None, (split_thoughts(parts.text).text.strip(), *calls))) or "(unlesbar)"


def _joined(messages: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Neighbours of one role as one message: some APIs want roles to alternate."""
    last: dict[str, Any] | None = None
    for message in messages:
        if last is not None and last["role"] == message["role"]:
            last = {**last, "content": f"{last['content']}\n\n{message['content']}"}
            continue
        if last is not None:
            yield last
        last = message
    if last is not None:
        yield last


def with_short_results(messages: Iterable[Message]) -> list[Message]:
    """Results of tools cut to 500 characters, mark included; all else as it is."""
    return [{**message, "content": short(message["content"])} if _is_result(message) else message
            for message in messages]


def _is_result(message: Message) -> bool:
    return message["role"] == "tool" or (message["role"] == "user" and message["content"].startswith(HEADER))


def short(text: str) -> str:
    return text if len(text) <= MOST_CUT_CHARS else text[:MOST_CUT_CHARS - len(_CUT)] + _CUT
