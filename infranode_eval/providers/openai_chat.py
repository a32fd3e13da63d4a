"""Any endpoint that speaks /v1/chat/completions, over keep-alive connections of the standard library."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import urlsplit

from infranode_eval.providers.connections import Connections, Response
from infranode_eval.providers.failures import failure_in_body, failure_of
from infranode_eval.providers.protocol import Answer, Messages, ProviderOptions, Sampling, Tools
from lm_eval_task.errors import EmptyReplyError, InfraError, RefusedRequestError, UsageError

_PORTS = {"http": 80, "https": 443}
_VERSION = re.compile(r"/v\d+(?:alpha|beta)?\d*(?:/|\Z)")


def open_provider(options: ProviderOptions) -> OpenAIChat:
    """Raise UsageError if the options lack an endpoint."""
    if not options.base_url:
        raise UsageError("--backend openai needs --base-url, e.g. --base-url http://127.0.0.1:8000/v1")
    return OpenAIChat(options.base_url, options.model, options.api_key, options.timeout_s)


def chat_url(base_url: str) -> str:
    """The full URL of the chat endpoint, from a base URL with or without /v1 (or another version segment).

    Raise UsageError for anything that is no plain http(s) URL.
    """
    try:
        parts = urlsplit(base_url.strip())
        port = parts.port
    except ValueError as error:
        raise UsageError(f"--base-url is no URL ({error}); expected http://host:port/v1") from None
    if parts.scheme not in _PORTS or not parts.hostname or not (parts.path + parts.query).isascii():
        raise UsageError("--base-url must look like http://host:port/v1 or https://host/v1")
    if parts.username is not None or parts.password is not None:
        raise UsageError("--base-url must hold no user or password; put the key into an environment variable")
    path = parts.path.rstrip("/")
    if not path.endswith("/chat/completions"):
        path += "/chat/completions" if _VERSION.search(path) else "/v1/chat/completions"
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}{f':{port}' if port else ''}{path}{f'?{parts.query}' if parts.query else ''}"


class OpenAIChat:
    """One model at one endpoint.

    api_key: sent as a bearer token; replaced by *** in whatever the endpoint sends back, errors included.
    """

    deterministic = False
    setup: str | None = None

    def __init__(self, base_url: str, model: str, api_key: str | None = None, timeout_s: float = 60.0) -> None:
        parts = urlsplit(chat_url(base_url))
        self._model = model
        self._path = parts.path + (f"?{parts.query}" if parts.query else "")
        self._headers = {"Content-Type": "application/json", "Accept": "application/json",
                         "User-Agent": "infranode-tool-eval"}
        if api_key:
            self._headers["Authorization"] = f"Bearer {api_key}"
        self._secret = _secret_pattern(api_key) if api_key else None
        self._connections = Connections(parts.scheme, parts.hostname or "", parts.port or _PORTS[parts.scheme],
                                        timeout_s)

    def ask(self, messages: Messages, tools: Tools | None, sampling: Sampling) -> Answer:
        body: dict[str, Any] = {"model": self._model, "messages": list(messages), **sampling.to_json()}
        if tools is not None:
            body |= {"tools": list(tools), "tool_choice": "auto"}
        data = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace")
        response = self._connections.post(self._path, data, self._headers)
        if self._secret is not None:
            response = response._replace(body=self._secret.sub(b"***", response.body))
        return answer_of(response)

    def close(self) -> None:
        self._connections.close()


def _secret_pattern(key: str) -> re.Pattern[bytes]:
    """The key, and the masked forms of it that endpoints like to quote ("sk-ab****yz")."""
    whole = re.escape(key.encode())
    return re.compile(whole + (rb"|" + re.escape(key[:5].encode()) + rb"[\w-]*\*[\w*-]*" if len(key) > 10 else b""))


def answer_of(response: Response) -> Answer:
    """Read a chat completion. Raise a ProviderError if the response holds no answer."""
    body = _decoded(response.body)
    if response.status != 200:
        error = response.body[:1000].decode("utf-8", "replace") if body is None else body
        raise failure_of(response.status, response.headers, error)
    if not isinstance(body, dict):
        raise InfraError(f"HTTP 200 with {len(response.body)} bytes that are no JSON object", sub="broken_json")
    if body.get("error"):
        raise failure_in_body(body["error"])
    choices = body.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    if isinstance(choice, dict) and choice.get("error"):
        raise failure_in_body(choice["error"])
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(message, dict):
        raise InfraError("HTTP 200 without choices[0].message", sub="broken_json")
    finish_reason = choice.get("finish_reason") if isinstance(choice.get("finish_reason"), str) else None
    _refuse_blank(message, finish_reason)
    usage, model = body.get("usage"), body.get("model")
    return Answer(message, finish_reason, usage if isinstance(usage, dict) else None, round(response.latency_s, 4),
                  model if isinstance(model, str) else None)


def _refuse_blank(message: dict[str, Any], finish_reason: str | None) -> None:
    """A reply that holds nothing is no answer, unless its finish reason explains it to the scorer.

    Source: specification, scoring: "length" is truncated, "malformed…" is malformed_call, both count as answers.
    """
    if not all(_blank(value) for key, value in message.items() if key != "role"):
        return
    if finish_reason == "content_filter":
        raise RefusedRequestError("the provider's content filter left no reply", sub="content_filter")
    if finish_reason != "length" and not (finish_reason or "").lower().startswith("malformed"):
        raise EmptyReplyError(f"text, calls and reasoning are all blank (finish reason {finish_reason})")


def _blank(value: Any) -> bool:
    """null, blank text, an empty container, or a list of text blocks without text."""
    if isinstance(value, str):
        return not value.strip()
    if isinstance(value, list):
        return all(isinstance(b, dict) and b.get("type") in (None, "text") and _blank(b.get("text")) for b in value)
    return value is None or value == {}


def _decoded(body: bytes) -> Any:
    """The JSON value of a body; None if it is none. NaN and numbers beyond every float are not JSON."""
    try:
        return json.loads(body, parse_constant=_refuse_number, parse_float=_finite)
    except (ValueError, RecursionError):
        return None


def _refuse_number(text: str) -> Any:
    raise ValueError(f"{text} is no JSON")


def _finite(text: str) -> float:
    value = float(text)
    return value if value not in (float("inf"), float("-inf")) else _refuse_number(text)
