"""Anthropic's API: /v1/messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from infranode_eval.providers import adaptation
from infranode_eval.providers.media import Media, parts_sent
from infranode_eval.providers.protocol import OFF, Tools
from infranode_eval.providers.strict_json import decoded
from infranode_eval.providers.wire import Asked, Piece, Read, full_url, object_or, text_of
from lm_eval_task.errors import InfraError

NAME = "anthropic"
DEFAULT_URL = "https://api.anthropic.com"
PARALLEL_SWITCH = True
TAKES_SEED = False
RESULTS_NEED_TOOLS = True
CACHE_MARK = {"cache_control": {"type": "ephemeral"}}
PERCEIVES = frozenset(("image",))
HEADERS = {"anthropic-version": "2023-06-01"}
ADAPTS = frozenset((adaptation.TEMPERATURE, adaptation.PARALLEL))
FINISH_REASONS = {"end_turn": "stop", "stop_sequence": "stop", "max_tokens": "length", "tool_use": "tool_calls",
                  "model_context_window_exceeded": "length", "refusal": "content_filter"}
MESSAGES = "messages"
TURN = "content"
_CHOICES = {"auto": "auto", "required": "any", "none": "none"}


def url_of(base_url: str, model: str) -> str:
    return full_url(base_url, "v1", "/messages")


def key_headers(api_key: str) -> dict[str, str]:
    return {"x-api-key": api_key}


def body_of(asked: Asked) -> dict[str, Any]:
    system = "\n\n".join(text_of(m["content"]) for m in asked.messages if m["role"] == "system")
    body: dict[str, Any] = {"model": asked.model, "max_tokens": asked.sampling.max_tokens, MESSAGES: []}
    if system:
        body["system"] = system
    if adaptation.TEMPERATURE not in asked.without:
        body["temperature"] = asked.sampling.temperature
    if asked.tools is not None:
        choice: dict[str, Any] = {"type": _CHOICES[asked.tool_choice]}
        if asked.parallel is not None and asked.tool_choice != "none" and adaptation.PARALLEL not in asked.without:
            choice["disable_parallel_tool_use"] = not asked.parallel
        body |= {"tools": _tools(asked.tools), "tool_choice": choice}
    if asked.cache != OFF:
        _mark_prefix(body)
    return body


def _mark_prefix(body: dict[str, Any]) -> None:
    """Behind tools and system: a cache keeps what stands before a marker, and tools come first."""
    if "system" in body:
        body["system"] = [{"type": "text", "text": body["system"], **CACHE_MARK}]
    elif body.get("tools"):
        body["tools"][-1] |= CACHE_MARK


def _tools(tools: Tools) -> list[dict[str, Any]]:
    return [{"name": f["name"], "description": f.get("description", ""), "input_schema": f["parameters"]}
            for f in (tool["function"] for tool in tools)]


def piece_of(message: Mapping[str, Any]) -> Piece | None:
    """User and assistant alternate: neighbours of one role become one turn, results of tools belong to the user."""
    if message["role"] == "system":
        return None
    return Piece("assistant" if message["role"] == "assistant" else "user", tuple(_blocks(message)))


def _blocks(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """A reply of this API goes back as it came."""
    content = message.get("content")
    if message["role"] == "tool":
        yield {"type": "tool_result", "tool_use_id": message["tool_call_id"], "content": text_of(content)}
    elif isinstance(content, list):
        yield from parts_sent(content, _form)
    elif text_of(content).strip():
        yield {"type": "text", "text": text_of(content)}
    for call in message.get("tool_calls") or ():
        arguments = call["function"]["arguments"]
        yield {"type": "tool_use", "id": call["id"], "name": call["function"]["name"],
               "input": object_or(decoded(arguments) if isinstance(arguments, str) else arguments)}


def _form(media: Media) -> dict[str, Any]:
    return {"type": "image", "source": {"type": "base64", "media_type": media["mime"], "data": media.text}}


def joined(values: Sequence[Mapping[str, Any]], done: bool) -> dict[str, Any]:
    """Events of a stream: the message's head, each block begun and continued, then the reason why it ended."""
    body: dict[str, Any] = {}
    blocks: dict[str, dict[str, Any]] = {}
    for value in values:
        kind, delta = value.get("type"), object_or(value.get("delta"))
        if kind == "error":
            return {"error": value.get("error") or "error"}
        if kind == "message_start":
            body = dict(object_or(value.get("message")))
        elif kind == "content_block_start":
            blocks[str(value.get("index"))] = dict(object_or(value.get("content_block")))
        elif kind == "content_block_delta":
            _continue(blocks.setdefault(str(value.get("index")), {}), delta)
        elif kind == "message_delta":
            body |= {"stop_reason": delta.get("stop_reason"),
                     "usage": {**object_or(body.get("usage")), **object_or(value.get("usage"))}}
    if not body.get("stop_reason"):
        raise InfraError("the stream ended before the answer did", sub="broken_json")
    return body | {"content": [_whole(block) for block in blocks.values()]}


def _continue(block: dict[str, Any], delta: Mapping[str, Any]) -> None:
    for key in ("text", "thinking", "signature", "partial_json"):
        if isinstance(delta.get(key), str):
            before = block.get(key)
            block[key] = (before if isinstance(before, str) else "") + delta[key]


def _whole(block: dict[str, Any]) -> dict[str, Any]:
    """A call's input is streamed as text; text that is no JSON stays text, for the reader to judge."""
    text = block.pop("partial_json", None)
    if isinstance(text, str) and text:
        value = decoded(text)
        block["input"] = text if value is None else value
    return block


def read(body: Mapping[str, Any]) -> Read:
    if not isinstance(body.get("content"), list):
        raise InfraError("HTTP 200 without a list of content blocks", sub="broken_json")
    message = {"role": "assistant", "content": body["content"]}
    return Read(message, body.get("stop_reason"), body.get("usage"), body.get("model"))
