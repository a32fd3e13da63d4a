"""Server-sent events: the JSON values of a stream, and the chat completion that OpenAI's chunks add up to.

Source: WHATWG HTML, "Server-sent events"; OpenAI's chat completion chunks as endpoints send them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from infranode_eval.providers.strict_json import decoded
from lm_eval_task.errors import InfraError

DONE = "[DONE]"


def events_of(body: bytes) -> Iterator[str]:
    """The data of each event in order; comments and other fields are left out.

    An event without its closing blank line still counts: endpoints forget it behind the last one.
    """
    data: list[str] = []
    for line in body.decode("utf-8", "replace").removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n") \
            .split("\n"):
        if line.startswith("data:"):
            data.append(line[5:].removeprefix(" "))
        elif not line and data:
            yield "\n".join(data)
            data = []
    if data:
        yield "\n".join(data)


def completion_of(chunks: Iterable[Mapping[str, Any]], done: bool) -> dict[str, Any]:
    """The body of a chat completion that was sent in pieces; an `error` in a piece becomes the body's.

    done: the stream ended with [DONE]. Raise InfraError for a stream that ended before its answer did.
    """
    body: dict[str, Any] = {}
    message = _Message()
    finish_reason = None
    for chunk in chunks:
        if chunk.get("error"):
            return {"error": chunk["error"]}
        body |= {key: chunk[key] for key in ("id", "model", "usage") if chunk.get(key)}
        choices = chunk.get("choices")
        choice = next((c for c in choices if isinstance(c, dict) and c.get("index", 0) == 0), None) \
            if isinstance(choices, list) else None
        if choice is None:
            continue
        if choice.get("error"):
            return {"error": choice["error"]}
        finish_reason = choice.get("finish_reason") or finish_reason
        delta = choice.get("delta") if isinstance(choice.get("delta"), dict) else choice.get("message")
        if isinstance(delta, dict):
            message.add(delta)
    if finish_reason is None and not done:
        raise InfraError("the stream ended before the answer did", sub="broken_json")
    return body | {"choices": [{"index": 0, "message": message.whole(), "finish_reason": finish_reason}]}


class _Message:
    """A message under construction: strings are joined, call entries are found by their index."""

    def __init__(self) -> None:
        self._texts: dict[str, list[str]] = {}
        self._other: dict[str, Any] = {"role": "assistant", "content": None}
        self._calls: list[dict[str, Any]] = []
        self._places: dict[int, int] = {}

    def add(self, delta: Mapping[str, Any]) -> None:
        for key, value in delta.items():
            if key == "tool_calls" and isinstance(value, list):
                for entry in value:
                    if isinstance(entry, dict):
                        self._add_entry(entry)
            elif key == "function_call" and isinstance(value, dict):
                _merge(self._other.setdefault(key, {}), value)
            elif isinstance(value, str) and key != "role":
                self._texts.setdefault(key, []).append(value)
            elif isinstance(value, list) and isinstance(self._other.get(key), list):
                self._other[key] = self._other[key] + value
            elif value is not None:
                self._other[key] = value

    def _add_entry(self, entry: Mapping[str, Any]) -> None:
        """Without an index, an entry with a name begins a call and any other goes on with the last one."""
        index = entry.get("index")
        function = entry.get("function") if isinstance(entry.get("function"), dict) else {}
        if isinstance(index, int):
            place = self._places.setdefault(index, len(self._calls))
        else:
            place = len(self._calls) - (0 if function.get("name") or not self._calls else 1)
        if place == len(self._calls):
            self._calls.append({"type": "function", "function": {}})
        call = self._calls[place]
        call |= {key: value for key, value in entry.items() if key not in ("index", "function") and value}
        _merge(call["function"], function)

    def whole(self) -> dict[str, Any]:
        message = self._other | {key: "".join(parts) for key, parts in self._texts.items()}
        return message | ({"tool_calls": self._calls} if self._calls else {})


def _merge(function: dict[str, Any], piece: Mapping[str, Any]) -> None:
    """A name is sent whole (some repeat it in every piece), arguments piece by piece or, as an object, whole."""
    if piece.get("name"):
        function["name"] = piece["name"]
    arguments = piece.get("arguments")
    before = function.get("arguments")
    if isinstance(arguments, str) and isinstance(before, str):
        function["arguments"] = before + arguments
    elif arguments is not None:
        function["arguments"] = arguments


def values_of(body: bytes) -> tuple[list[dict[str, Any]], bool]:
    """The JSON objects of a stream, and whether it says that it is over. Raise InfraError for data that is no JSON."""
    values: list[dict[str, Any]] = []
    for data in events_of(body):
        if data.strip() == DONE:
            return values, True
        value = decoded(data)
        if not isinstance(value, dict):
            raise InfraError("a stream with an event that is no JSON object", sub="broken_json")
        values.append(value)
    return values, False
