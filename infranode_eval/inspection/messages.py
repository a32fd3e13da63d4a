"""Chat messages and tools in inspect_ai's shape, and a reply of inspect's in ours."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import uuid4

from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageTool,
    ChatMessageUser,
    Content,
    ContentReasoning,
    ContentText,
    ModelOutput,
    ModelUsage,
)
from inspect_ai.tool import ToolCall, ToolInfo, ToolParams

from infranode_eval.providers.echo import UNREADABLE
from infranode_eval.providers.protocol import Answer, Tools
from infranode_eval.providers.wire import text_of
from lm_eval_task.errors import ContextOverflowError, RefusedRequestError
from lm_eval_task.jsoncalls import read_arguments
from lm_eval_task.shapes import Entry, parts_of
from lm_eval_task.thoughts import split_thoughts

FINISH = {"max_tokens": "length", "model_length": "length"}     # inspect's words → OpenAI's; the others are the same
UNREADABLE_ARGUMENTS = "unreadable"     # stands for arguments that inspect could not parse: no JSON
_APOLOGY = "I seem to have had trouble calling a function"      # inspect puts it into Gemini's mouth


# --- ours → inspect's -------------------------------------------------------------------------------------------------

def chat_message(message: Mapping[str, Any]) -> ChatMessage:
    """One of our messages; a reply in the shape of any vendor (lm_eval_task.shapes)."""
    role, content = message["role"], text_of(message.get("content"))
    if role == "system":
        return ChatMessageSystem(content=content)
    if role == "tool":
        return ChatMessageTool(content=content, tool_call_id=message.get("tool_call_id"), function=message.get("name"))
    return assistant_message(message) if role == "assistant" else ChatMessageUser(content=content)


def assistant_message(message: Mapping[str, Any]) -> ChatMessageAssistant:
    """A reply with its thoughts, also those that stand closed in its text, as contents of their own."""
    parts = parts_of(message)
    split = split_thoughts(parts.text)
    closed = () if split.unclosed else split.closed
    text = split.text if closed else parts.text
    thoughts = [ContentReasoning(reasoning=thought) for thought in (*parts.thoughts, *closed) if thought.strip()]
    said: list[Content] = [ContentText(text=text)] if text.strip() else []
    calls = [_tool_call(entry, number) for number, entry in enumerate(parts.entries) if entry.name is not None]
    return ChatMessageAssistant(content=[*thoughts, *said] if thoughts else text, tool_calls=calls or None,
                                source="generate")


def _tool_call(entry: Entry, number: int) -> ToolCall:
    call_id, read = entry.id or f"call_{number}", read_arguments(entry.arguments)
    if read is None:
        return ToolCall(call_id, entry.name or "", {"text": str(entry.arguments)}, "the arguments cannot be read")
    return ToolCall(call_id, entry.name or "", read.value)


def with_calls(message: ChatMessageAssistant, ids: Sequence[str], names: Sequence[str]) -> ChatMessageAssistant:
    """The message with these ids and names of its calls, in order; itself where it has them already."""
    given = message.tool_calls or []
    calls = [replace(call, id=call_id, function=name)
             for call, call_id, name in zip(given, ids, names, strict=False)]
    if [(call.id, call.function) for call in calls] == [(call.id, call.function) for call in given]:
        return message
    return _changed(message, tool_calls=calls)


def sent_back(message: ChatMessageAssistant, echo: Mapping[str, Any]) -> ChatMessageAssistant:
    """A reply of inspect's as it goes back to the model: what a provider signs stays as it came.

    echo: the reply as our loop sends it back, in OpenAI's shape (providers.echo): ids and names of the calls are
    taken from it, and its text, where the reply is nothing but text.
    """
    entries = [entry for entry in parts_of(echo).entries if entry.name is not None]
    if entries:
        return with_calls(message, [entry.id or "" for entry in entries], [entry.name or "" for entry in entries])
    text = text_of(echo.get("content"))
    if message.tool_calls:      # nobody offered these tools: the calls go back as the text that was asked for
        return _changed(message, content=text, tool_calls=None)
    if text == message.content or (isinstance(message.content, list) and text != UNREADABLE):
        return message
    return _changed(message, content=text)


def _changed(message: ChatMessageAssistant, **values: Any) -> ChatMessageAssistant:
    """A changed message needs an id of its own, or a log would hold one of the two only."""
    return message.model_copy(update={"id": uuid4().hex, **values})


def tool_infos(tools: Tools | None) -> list[ToolInfo]:
    """tools: as `tools=` takes them. What inspect's JSON Schema has no field for is left out."""
    return [ToolInfo(name=function["name"], description=function["description"],
                     parameters=ToolParams.model_validate(function["parameters"]))
            for function in (tool["function"] for tool in tools or ())]


# --- inspect's → ours -------------------------------------------------------------------------------------------------

def answer_of(output: ModelOutput) -> Answer:
    """A reply of inspect's as an endpoint's, in OpenAI's shape.

    Raise ContextOverflowError and RefusedRequestError where the reply is none of the model's: inspect then holds the
    API's own words as the text and counts no output.
    """
    if output.empty:
        return Answer({"role": "assistant", "content": None}, None, _usage(output.usage), output.time)
    said, stop = output.message, str(output.stop_reason)
    text = "".join(_texts(said))
    written = output.usage is not None and output.usage.output_tokens > 0
    if stop == "model_length" and not written:
        raise ContextOverflowError(f"the prompt is longer than the model's context: {_line(text)}")
    if stop == "content_filter" and not (written and (text.strip() or said.tool_calls)):
        raise RefusedRequestError("the provider's content filter left no reply", sub="content_filter")
    message: dict[str, Any] = {"role": "assistant", "content": text or None}
    if thoughts := [thought for thought in _thoughts(said) if thought.strip()]:
        message["reasoning_content"] = "\n".join(thoughts)
    if said.tool_calls:
        message["tool_calls"] = [_entry(call) for call in said.tool_calls]
    finish = "malformed_function_call" if stop == "unknown" and _APOLOGY in text else FINISH.get(stop, stop)
    return Answer(message, finish, _usage(output.usage), output.time, output.model or None,
                  stop if stop != finish else None)


def _texts(said: ChatMessageAssistant) -> Iterable[str]:
    """Blocks follow one another without a break, as the reader takes them (lm_eval_task.shapes)."""
    return [said.content] if isinstance(said.content, str) else \
        [part.text for part in said.content if isinstance(part, ContentText)]


def _thoughts(said: ChatMessageAssistant) -> Iterable[str]:
    """What can be read of them: a redacted one may have a summary."""
    parts = said.content if isinstance(said.content, list) else ()
    return [(part.summary or "") if part.redacted else part.reasoning or part.summary or ""
            for part in parts if isinstance(part, ContentReasoning)]


def _entry(call: ToolCall) -> dict[str, Any]:
    """inspect parses arguments itself; those that it could not parse stay unreadable."""
    arguments = UNREADABLE_ARGUMENTS if call.parse_error else json.dumps(call.arguments, ensure_ascii=False)
    return {"id": call.id, "type": "function", "function": {"name": call.function, "arguments": arguments}}


def _usage(usage: ModelUsage | None) -> dict[str, Any] | None:
    """In the shape of OpenAI's Responses: `input_tokens` counts those from the cache as well."""
    if usage is None:
        return None
    cached, written = usage.input_tokens_cache_read, usage.input_tokens_cache_write
    return {"input_tokens": usage.input_tokens + (cached or 0) + (written or 0), "output_tokens": usage.output_tokens,
            "input_tokens_details": {"cached_tokens": cached},
            "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens}}


def usage_of(counts: Mapping[str, int | None] | None) -> ModelUsage | None:
    """The counts of a row as inspect's: it counts what came from a cache apart."""
    if not counts or counts.get("input_tokens") is None:
        return None
    read, cached, written = counts["input_tokens"] or 0, counts.get("cached_tokens"), counts.get("output_tokens") or 0
    return ModelUsage(input_tokens=max(0, read - (cached or 0)), output_tokens=written, total_tokens=read + written,
                      input_tokens_cache_read=cached, reasoning_tokens=counts.get("reasoning_tokens"))


def _line(text: str) -> str:
    return " ".join(text.split())[:200]
