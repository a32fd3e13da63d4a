"""The structured shapes of a reply: native call entries, text and thoughts of a message, whichever provider made it.

Source: specification, formats, section 1. Reads OpenAI chat (also the legacy function_call), OpenAI Responses items,
Anthropic content blocks, Gemini parts and Ollama objects.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

REASONING_FIELDS = ("reasoning_content", "reasoning", "thinking")


_PLAIN = frozenset(("role", "content"))


class Entry(NamedTuple):
    """One native call entry; arguments are an object or text. name None: no function object in it, "": no name.

    id: what a result refers to; None where there is none.
    """

    name: str | None
    arguments: Any
    id: str | None = None


class Parts(NamedTuple):
    """What a message consists of."""

    entries: tuple[Entry, ...]
    text: str
    thoughts: tuple[str, ...]


def parts_of(message: Mapping[str, Any]) -> Parts:
    """Take a message apart; anything that has none of the known shapes is left out. Never raises."""
    content = message.get("content")
    if isinstance(content, str) and message.keys() <= _PLAIN:
        return Parts((), content, ())
    entries: list[Entry] = []
    texts: list[str] = []
    thoughts = _strings(*(message.get(key) for key in (*REASONING_FIELDS, "reasoning_details")))
    calls = message.get("tool_calls")
    if isinstance(calls, list):
        entries += [_openai_entry(call) for call in calls]
    elif calls:
        entries.append(_openai_entry(calls))
    # The older spelling; some proxies send both.
    if message.get("function_call") and not any(entry.name for entry in entries):
        entries.append(_function_entry(message["function_call"], "arguments"))
    texts += [text for text in (content, message.get("refusal")) if isinstance(text, str)]
    for blocks in (content, message.get("parts"), message.get("output")):
        for block in blocks if isinstance(blocks, list) else ():
            if isinstance(block, dict):
                _read_block(block, entries, texts, thoughts)
            elif isinstance(block, str):
                texts.append(block)
    return Parts(tuple(entries), "".join(texts), tuple(thoughts))


def _openai_entry(call: Any) -> Entry:
    if not isinstance(call, dict):
        return Entry(None, None)
    return _function_entry(call.get("function"), "arguments", call.get("id"))


def _function_entry(function: Any, key: str, call_id: Any = None) -> Entry:
    if not isinstance(function, dict):
        return Entry(None, None)
    name = function.get("name")
    known = call_id if isinstance(call_id, str) and call_id else None
    return Entry(name if isinstance(name, str) else "", function.get(key), known)


def _read_block(block: dict[str, Any], entries: list[Entry], texts: list[str], thoughts: list[str]) -> None:
    """One content block, part or output item."""
    kind = block.get("type")
    if kind == "tool_use":
        entries.append(_function_entry(block, "input", block.get("id")))
    elif kind == "function_call":
        entries.append(_function_entry(block, "arguments", block.get("call_id")))
    elif "functionCall" in block:
        function = block["functionCall"]
        entries.append(_function_entry(function, "args", function.get("id") if isinstance(function, dict) else None))
    elif kind in ("thinking", "reasoning") or block.get("thought") is True:
        thoughts += _strings(block.get("thinking"), block.get("summary"), block.get("content"), block.get("text"))
    elif kind == "message":
        texts += _strings(block.get("content"))
    else:
        texts += _strings(block.get("text"), block.get("refusal"))


def _strings(*values: Any) -> list[str]:
    """Every string, and every "text" or "refusal" in a list of objects."""
    found: list[str] = []
    for value in values:
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, list):
            found += [text for v in value if isinstance(v, dict)
                      for text in (v.get("text"), v.get("refusal")) if isinstance(text, str)]
    return found
