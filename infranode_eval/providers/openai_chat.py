"""The API of /v1/chat/completions, which most servers speak."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from infranode_eval.providers import adaptation
from infranode_eval.providers.event_stream import completion_of
from infranode_eval.providers.failures import failure_in_body
from infranode_eval.providers.media import Media, media_in, parts_sent
from infranode_eval.providers.wire import Asked, Piece, Read, full_url
from lm_eval_task.errors import InfraError

NAME = "openai"
DEFAULT_URL = None
PARALLEL_SWITCH = True
TAKES_SEED = True
RESULTS_NEED_TOOLS = False
CACHE_MARK = None
PERCEIVES = frozenset(("image", "audio", "video"))
HEADERS: dict[str, str] = {}
ADAPTS = frozenset(adaptation.RULES)
FINISH_REASONS = {"function_call": "tool_calls", "model_length": "length", "max_tokens": "length",
                  "MAX_TOKENS": "length", "max_output_tokens": "length", "eos": "stop", "end_turn": "stop",
                  "STOP": "stop", "SAFETY": "content_filter"}
MESSAGES = "messages"
TURN = None


def url_of(base_url: str, model: str) -> str:
    return full_url(base_url, "v1", "/chat/completions")


def key_headers(api_key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {api_key}"}


def body_of(asked: Asked) -> dict[str, Any]:
    limit = "max_completion_tokens" if adaptation.MAX_COMPLETION_TOKENS in asked.without else "max_tokens"
    body: dict[str, Any] = {"model": asked.model, MESSAGES: []}
    if adaptation.TEMPERATURE not in asked.without:
        body["temperature"] = asked.sampling.temperature
    body[limit] = asked.sampling.max_tokens
    if asked.sampling.seed is not None and adaptation.SEED not in asked.without:
        body["seed"] = asked.sampling.seed
    if adaptation.STREAM in asked.without:
        body |= {"stream": True, "stream_options": {"include_usage": True}}
    if asked.tools is None:
        return body
    body |= {"tools": list(asked.tools), "tool_choice": asked.tool_choice}
    if asked.parallel is not None and adaptation.PARALLEL not in asked.without:
        body["parallel_tool_calls"] = asked.parallel
    return body


def piece_of(message: Mapping[str, Any]) -> Piece:
    if media_in(message):
        message = {**message, "content": list(parts_sent(message["content"], _form))}
    return Piece(message["role"], (message,))


def _form(media: Media) -> dict[str, Any]:
    """Films as vLLM and its like take them; the vendor's own API takes none."""
    if media.modality == "audio":
        return {"type": "input_audio", "input_audio": {"data": media.text, "format": media.format}}
    kind = f"{media.modality}_url"
    return {"type": kind, kind: {"url": media.uri}}


def joined(values: Sequence[Mapping[str, Any]], done: bool) -> dict[str, Any]:
    return completion_of(values, done)


def read(body: Mapping[str, Any]) -> Read:
    choices = body.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    if isinstance(choice, dict) and choice.get("error"):
        raise failure_in_body(choice["error"])
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(message, dict):
        raise InfraError("HTTP 200 without choices[0].message", sub="broken_json")
    return Read(message, choice.get("finish_reason"), body.get("usage"), body.get("model"))
