"""A model's message as it must be sent back with the results of its calls, in the shape in which its vendor sent it.

What the vendor signs (thinking blocks, thought signatures, reasoning items) goes back unchanged. Every call gets an id
of its own, arguments that are JSON, and a name that an API accepts; a message never goes back empty.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from infranode_eval.providers.strict_json import decoded
from infranode_eval.providers.wire import text_of

UNREADABLE = "(unlesbar)"
NAMELESS = "unlesbar"
OWN_ID = re.compile(r"call_[0-9]+_[0-9]+")     # given by us, where an API gave none
_OUTPUT_ONLY = frozenset(("annotations", "audio", "function_call", "logprobs"))
_BLOCK_KEYS = ("parts", "output", "content")
_NO_NAME = re.compile(r"[^A-Za-z0-9_-]")
_HALF_PAIR = re.compile("[\ud800-\udfff]")


class EchoCall(NamedTuple):
    """One native call entry as it is sent back."""

    id: str
    name: str
    arguments: Mapping[str, Any]


def unique_ids(ids: Sequence[str | None], turn: int, taken: set[str]) -> list[str]:
    """The ids of a reply's call entries, in order; a missing or repeated one becomes call_<turn>_<i>.

    taken: the ids of earlier replies, which some models use again and some APIs refuse then; grows by these.
    """
    given = {call_id for call_id in ids if call_id}
    found: list[str] = []
    for index, call_id in enumerate(ids):
        if not call_id or call_id in taken:
            number = index
            while (call_id := f"call_{turn}_{number}") in taken or call_id in given:
                number += len(ids)
        taken.add(call_id)
        found.append(call_id)
    return found


def acceptable_name(name: str) -> str:
    """The name of a call, and of its result, as every API takes it."""
    return _NO_NAME.sub("_", name) or NAMELESS


def sendable(text: str) -> str:
    """A text without halves of surrogate pairs, which JSON may hold and APIs refuse."""
    return _HALF_PAIR.sub("\ufffd", text)


def echo_text(message: Mapping[str, Any], text: str) -> dict[str, Any]:
    """A reply without native calls. text: its readable text without closed reasoning; blank becomes "(unlesbar)".

    Blocks, parts and items go back as they came where they hold any text, for among them may be signed thoughts.
    """
    lists = {key: [block for block in _without_blank_text(message[key]) if not _is_call(block)]
             for key in _BLOCK_KEYS if isinstance(message.get(key), list)}
    if text.strip() and any(lists.values()):
        return {**{name: value for name, value in _kept(message).items() if name != "tool_calls"}, **lists}
    return {"role": "assistant", "content": sendable(text) if text.strip() else UNREADABLE}


def echo_calls(message: Mapping[str, Any], calls: Sequence[EchoCall]) -> dict[str, Any]:
    """A reply with native calls. calls: each entry with a function object, in order.

    A reply that holds calls in two shapes at once, which no API wants back, goes back in the shape of OpenAI.
    """
    waiting = iter([call._replace(name=acceptable_name(call.name)) for call in calls])
    holding = [key for key in _BLOCK_KEYS if any(map(_is_call, _list_at(message, key)))]
    if len(holding) == 1 and not message.get("tool_calls") and not message.get("function_call"):
        return {**_kept(message), holding[0]: list(_blocks(message[holding[0]], waiting))}
    content = message.get("content")
    texts: Any = sendable(text_of(content))
    if isinstance(content, list):
        texts = [block for block in content if not _is_call(block)]
    kept = {name: value for name, value in _kept(message).items() if name not in holding}
    return {**kept, "content": texts or None, "tool_calls": list(_openai_calls(message, waiting))}


def _list_at(message: Mapping[str, Any], key: str) -> Sequence[Any]:
    value = message.get(key)
    return value if isinstance(value, list) else ()


def _kept(message: Mapping[str, Any]) -> dict[str, Any]:
    """Without what only a reply may hold, and without empty fields."""
    kept = {key: value for key, value in message.items() if value is not None and key not in _OUTPUT_ONLY}
    return {"role": "assistant", **kept}


def _openai_calls(message: Mapping[str, Any], waiting: Iterator[EchoCall]) -> Iterator[dict[str, Any]]:
    """Further keys of an entry (signatures of a gateway among them) stay; the older function_call becomes an entry."""
    given = message.get("tool_calls")
    entries = given if isinstance(given, list) else [given] if given else []
    for entry in entries:
        if isinstance(entry, dict) and isinstance(entry.get("function"), dict):
            found = next(waiting, None)
            if found is None:
                return
            function = {**entry["function"], "name": found.name,
                        "arguments": _arguments(entry["function"].get("arguments"), found.arguments)}
            yield {**{k: v for k, v in entry.items() if k != "index"}, "id": found.id, "type": "function",
                   "function": function}
    for call in waiting:
        yield {"id": call.id, "type": "function",
               "function": {"name": call.name, "arguments": json.dumps(dict(call.arguments), ensure_ascii=False)}}


def _arguments(given: Any, read: Mapping[str, Any]) -> str:
    """Text that is an object stays verbatim; servers that render it would stumble over anything else."""
    if isinstance(given, str) and isinstance(decoded(given), dict):
        return sendable(given)
    return json.dumps(dict(read), ensure_ascii=False)


def _blocks(blocks: Sequence[Any], waiting: Iterator[EchoCall]) -> Iterator[Any]:
    for block in _without_blank_text(blocks):
        kind = block.get("type") if isinstance(block, dict) else None
        if kind == "tool_use" and (found := next(waiting, None)):
            given = block.get("input")
            yield {**block, "id": found.id, "name": found.name,
                   "input": given if isinstance(given, dict) else dict(found.arguments)}
        elif kind == "function_call" and (found := next(waiting, None)):
            yield {**block, "call_id": found.id, "name": found.name,
                   "arguments": _arguments(block.get("arguments"), found.arguments)}
        elif isinstance(block, dict) and isinstance(block.get("functionCall"), dict) \
                and (found := next(waiting, None)):
            yield {**block, "functionCall": _gemini_call(block["functionCall"], found)}
        elif isinstance(block, dict) and "functionCall" in block:
            continue
        else:
            yield block


def _gemini_call(given: Mapping[str, Any], found: EchoCall) -> dict[str, Any]:
    """An id only where the API gave one: older versions know none."""
    args = given.get("args")
    call = {**given, "name": found.name, "args": args if isinstance(args, dict) else dict(found.arguments)}
    return call if given.get("id") == found.id else {key: value for key, value in call.items() if key != "id"}


def _is_call(block: Any) -> bool:
    """A call without a function in it is none, and would wait for a result if it went back."""
    return isinstance(block, dict) and ("functionCall" in block or block.get("type") in ("tool_use", "function_call"))


def _without_blank_text(blocks: Sequence[Any]) -> list[Any]:
    """Blank text blocks are refused when they come back; a part that carries a signature stays."""
    return [block for block in blocks if not (
        isinstance(block, dict) and isinstance(block.get("text"), str) and not block["text"].strip()
        and "thoughtSignature" not in block and block.get("type") in (None, "text"))]
