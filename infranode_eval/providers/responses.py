"""OpenAI's Responses API: /v1/responses."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from infranode_eval.providers import adaptation
from infranode_eval.providers.failures import failure_in_body
from infranode_eval.providers.media import Media, media_in, parts_sent
from infranode_eval.providers.protocol import Tools
from infranode_eval.providers.wire import Asked, Piece, Read, full_url, object_or, text_of
from lm_eval_task.errors import InfraError

NAME = "responses"
DEFAULT_URL = "https://api.openai.com"
PARALLEL_SWITCH = True
TAKES_SEED = False
RESULTS_NEED_TOOLS = False
CACHE_MARK = None
PERCEIVES = frozenset(("image",))
HEADERS: dict[str, str] = {}
ADAPTS = frozenset((adaptation.TEMPERATURE, adaptation.PARALLEL))
FINISH_REASONS = {"completed": "stop", "max_output_tokens": "length", "max_tokens": "length"}
MESSAGES = "input"
TURN = None


def url_of(base_url: str, model: str) -> str:
    return full_url(base_url, "v1", "/responses")


def key_headers(api_key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {api_key}"}


def body_of(asked: Asked) -> dict[str, Any]:
    body: dict[str, Any] = {"model": asked.model, MESSAGES: [],
                            "max_output_tokens": asked.sampling.max_tokens}
    if adaptation.TEMPERATURE not in asked.without:
        body["temperature"] = asked.sampling.temperature
    if asked.tools is None:
        return body
    body |= {"tools": _flat(asked.tools), "tool_choice": asked.tool_choice}
    if asked.parallel is not None and adaptation.PARALLEL not in asked.without:
        body["parallel_tool_calls"] = asked.parallel
    return body


def _flat(tools: Tools) -> list[dict[str, Any]]:
    """strict is on by default in this API and would rewrite the schemas: off, as everywhere else."""
    return [{"type": "function", **tool["function"], "strict": False} for tool in tools]


def piece_of(message: Mapping[str, Any]) -> Piece:
    """Input items; a reply of this API goes back item by item, as it came."""
    return Piece(message["role"], tuple(_items(message)))


def _items(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    if message["role"] == "tool":
        yield {"type": "function_call_output", "call_id": message["tool_call_id"],
               "output": text_of(message["content"])}
    elif media_in(message):
        parts = ({"type": "input_text", "text": part["text"]} if part.get("type") == "text" else part
                 for part in parts_sent(message["content"], _form))
        yield {"role": message["role"], "content": list(parts)}
    elif isinstance(message.get("output"), list):
        yield from message["output"]
    else:
        if text := text_of(message.get("content")):
            yield {"role": message["role"], "content": text}
        for call in message.get("tool_calls") or ():
            arguments = call["function"]["arguments"]
            yield {"type": "function_call", "call_id": call["id"], "name": call["function"]["name"],
                   "arguments": arguments if isinstance(arguments, str) else json.dumps(arguments)}


def _form(media: Media) -> dict[str, Any]:
    return {"type": "input_image", "image_url": media.uri}


def joined(values: Sequence[Mapping[str, Any]], done: bool) -> dict[str, Any]:
    """The last event of a stream holds the whole response."""
    for value in reversed(values):
        if value.get("type") == "error":
            return {"error": value.get("error") or value}
        if value.get("type") in ("response.completed", "response.incomplete", "response.failed"):
            return object_or(value.get("response"))
    raise InfraError("the stream ended before the answer did", sub="broken_json")


def read(body: Mapping[str, Any]) -> Read:
    output, status = body.get("output"), body.get("status")
    if status == "failed":
        raise failure_in_body(body.get("error") or {"message": "the response failed"})
    if not isinstance(output, list) or status not in ("completed", "incomplete"):
        raise InfraError(f"HTTP 200 without a finished output (status {str(status)[:40]})", sub="broken_json")
    reason = object_or(body.get("incomplete_details")).get("reason") if status == "incomplete" else None
    finish_reason = reason or status
    if status == "completed" and any(object_or(item).get("type") == "function_call" for item in output):
        finish_reason = "tool_calls"
    return Read({"role": "assistant", "output": output}, finish_reason, body.get("usage"), body.get("model"))
