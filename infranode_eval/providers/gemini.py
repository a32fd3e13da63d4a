"""Google's Gemini API: /v1beta/models/MODEL:generateContent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlsplit

from infranode_eval.providers import adaptation
from infranode_eval.providers.echo import OWN_ID
from infranode_eval.providers.gemini_schema import schema_of
from infranode_eval.providers.media import Media, media_in, parts_sent
from infranode_eval.providers.strict_json import decoded
from infranode_eval.providers.wire import Asked, Piece, Read, full_url, object_or, text_of
from lm_eval_task.errors import InfraError, RefusedRequestError

NAME = "gemini"
DEFAULT_URL = "https://generativelanguage.googleapis.com"
PARALLEL_SWITCH = False
TAKES_SEED = True
RESULTS_NEED_TOOLS = False
CACHE_MARK = None
PERCEIVES = frozenset(("image", "audio", "video"))
HEADERS: dict[str, str] = {}
ADAPTS = frozenset((adaptation.TEMPERATURE, adaptation.SEED))
_FILTERS = ("SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY",
            "IMAGE_PROHIBITED_CONTENT", "MODEL_ARMOR")
FINISH_REASONS = {"STOP": "stop", "MAX_TOKENS": "length", "UNEXPECTED_TOOL_CALL": "malformed_tool_call",
                  **dict.fromkeys(_FILTERS, "content_filter")}
MESSAGES = "contents"
TURN = "parts"
_MODES = {"auto": "AUTO", "required": "ANY", "none": "NONE"}


def url_of(base_url: str, model: str) -> str:
    if urlsplit(base_url).path.endswith(":generateContent"):
        return full_url(base_url, "", ":generateContent")
    name = model if "/" in model else f"models/{model}"
    return full_url(base_url, "v1beta", f"/{quote(name)}:generateContent")


def key_headers(api_key: str) -> dict[str, str]:
    return {"x-goog-api-key": api_key}


def body_of(asked: Asked) -> dict[str, Any]:
    config: dict[str, Any] = {"maxOutputTokens": asked.sampling.max_tokens}
    if adaptation.TEMPERATURE not in asked.without:
        config["temperature"] = asked.sampling.temperature
    if asked.sampling.seed is not None and adaptation.SEED not in asked.without:
        config["seed"] = asked.sampling.seed
    body: dict[str, Any] = {MESSAGES: [], "generationConfig": config}
    system = [{"text": text_of(m["content"])} for m in asked.messages if m["role"] == "system"]
    if system:
        body["systemInstruction"] = {"parts": system}
    if asked.tools is not None:
        body |= {"tools": [{"functionDeclarations": [_declaration(tool) for tool in asked.tools]}],
                 "toolConfig": {"functionCallingConfig": {"mode": _MODES[asked.tool_choice]}}}
    return body


def _declaration(tool: Mapping[str, Any]) -> dict[str, Any]:
    """A tool without parameters has no `parameters`: the API refuses an object without properties."""
    function = tool["function"]
    declared = {"name": function["name"], "description": function.get("description", "")}
    if function["parameters"].get("properties"):
        declared["parameters"] = schema_of(function["parameters"])
    return declared


def piece_of(message: Mapping[str, Any]) -> Piece | None:
    """User and model alternate: neighbours of one role become one content, results of tools belong to the user."""
    if message["role"] == "system":
        return None
    return Piece("model" if message["role"] in ("assistant", "model") else "user", tuple(_parts(message)))


def _parts(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """A reply of this API goes back as it came (signatures of thoughts included).

    A result names its tool, and the call's id where the API gave one: older versions know none.
    """
    if isinstance(message.get("parts"), list):
        yield from message["parts"]
        return
    if media_in(message):
        yield from ({"text": part["text"]} if part.get("type") == "text" else part
                    for part in parts_sent(message["content"], _form))
        return
    text = text_of(message.get("content"))
    if message["role"] == "tool":
        result = decoded(text)
        call_id = message["tool_call_id"]
        answer = {"name": message.get("name") or call_id,
                  "response": result if isinstance(result, dict) else {"result": text}}
        yield {"functionResponse": answer if OWN_ID.fullmatch(call_id) else answer | {"id": call_id}}
    elif text:
        yield {"text": text}
    for call in message.get("tool_calls") or ():
        arguments = call["function"]["arguments"]
        called = {"name": call["function"]["name"],
                  "args": object_or(decoded(arguments) if isinstance(arguments, str) else arguments)}
        yield {"functionCall": called if OWN_ID.fullmatch(call["id"]) else called | {"id": call["id"]}}


def _form(media: Media) -> dict[str, Any]:
    return {"inlineData": {"mimeType": media["mime"], "data": media.text}}


def joined(values: Sequence[Mapping[str, Any]], done: bool) -> dict[str, Any]:
    """The pieces of a stream are responses with some parts each; the last one says why it ended."""
    body: dict[str, Any] = {}
    parts: list[Any] = []
    last: dict[str, Any] = {}
    for value in values:
        body |= value
        candidates = value.get("candidates")
        candidate = object_or(candidates[0]) if isinstance(candidates, list) and candidates else {}
        more = object_or(candidate.get("content")).get("parts")
        parts += more if isinstance(more, list) else []
        last |= candidate
    if not last.get("finishReason") and not body.get("error") and not body.get("promptFeedback"):
        raise InfraError("the stream ended before the answer did", sub="broken_json")
    return body | ({"candidates": [last | {"content": {"role": "model", "parts": parts}}]} if last else {})


def read(body: Mapping[str, Any]) -> Read:
    candidates = body.get("candidates")
    blocked = object_or(body.get("promptFeedback")).get("blockReason")
    if not candidates and blocked:
        raise RefusedRequestError(f"the provider blocked the prompt ({str(blocked)[:40]})", sub="content_filter")
    candidate = candidates[0] if isinstance(candidates, list) and candidates else None
    if not isinstance(candidate, dict):
        raise InfraError("HTTP 200 without candidates[0]", sub="broken_json")
    content = {"role": "model", "parts": [], **object_or(candidate.get("content"))}
    if not isinstance(content["parts"], list):
        raise InfraError("HTTP 200 without candidates[0].content.parts", sub="broken_json")
    explained = candidate.get("finishMessage")   # of a malformed call: what the model wrote
    return Read(content, candidate.get("finishReason"), body.get("usageMetadata"), body.get("modelVersion"),
                explained if isinstance(explained, str) else None)
