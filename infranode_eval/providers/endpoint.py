"""One model behind an HTTP API: sends what the vendor's wire module writes and reads what comes back."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from infranode_eval.providers.adaptation import SEED, Adaptation, deviations
from infranode_eval.providers.connections import Connections, Response
from infranode_eval.providers.conversation import Conversation
from infranode_eval.providers.event_stream import values_of
from infranode_eval.providers.failures import error_text, failure_in_body, failure_of
from infranode_eval.providers.masking import MASK, Mask
from infranode_eval.providers.protocol import (
    MOVING,
    OFF,
    Adapted,
    Answer,
    Messages,
    Preview,
    ProviderOptions,
    Sampling,
    Tools,
)
from infranode_eval.providers.proxies import proxy_for
from infranode_eval.providers.strict_json import decoded
from infranode_eval.providers.wire import PORTS, Asked, Wire, messages_json
from lm_eval_task.errors import EmptyReplyError, InfraError, ProviderError, RefusedRequestError, UsageError
from lm_eval_task.records import fingerprint

# Servers that decode strictly answer with an error where the model's call cannot be read: llama.cpp with status 500,
# Groq with 400 and what the model wrote. Neither is the endpoint's failure.
_UNREADABLE_CALL = re.compile(r"does not match the expected .{1,60}format")
_UNREADABLE_CODE = "tool_use_failed"
MALFORMED = "malformed_tool_call"
_SHOWN = 80   # characters of a body that is no answer


class Endpoint:
    """Safe to call from many threads. The key, header values and passwords come back as *** wherever they come back."""

    deterministic = False
    setup: str | None = None

    def __init__(self, wire: Wire, options: ProviderOptions) -> None:
        """Raise UsageError if the options lack an address, or hold one that cannot be used."""
        base_url = options.base_url or wire.DEFAULT_URL
        if not base_url:
            raise UsageError(f"--backend {wire.NAME} needs --base-url, e.g. --base-url http://127.0.0.1:8000/v1")
        if options.cache != OFF and wire.CACHE_MARK is None:
            raise UsageError(f"--cache: backend {wire.NAME} takes no markers; leave it out")
        self.perceives = wire.PERCEIVES
        self.parallel_switch, self.takes_seed = wire.PARALLEL_SWITCH, wire.TAKES_SEED
        self.results_need_tools = wire.RESULTS_NEED_TOOLS
        self._wire, self._options = wire, options
        self._url = wire.url_of(base_url, options.model)
        parts = urlsplit(self._url)
        host, port = parts.hostname or "", parts.port or PORTS[parts.scheme]
        self.address = parts.scheme, host, port, fingerprint(options.api_key)   # whoever shares it shares limits
        self.rpm: float | None = None       # of its own, where the run's does not hold
        proxy = proxy_for(parts.scheme, host, port, options.environ)
        self._path = parts.path + (f"?{parts.query}" if parts.query else "")
        self._headers = _headers(wire, options)
        self._mask = Mask((*([options.api_key] if options.api_key else []), *(value for _, value in options.headers),
                           *(value for _, value in parse_qsl(parts.query)), *(proxy.secrets if proxy else ())))
        self._adaptation = Adaptation(wire.ADAPTS)
        self._connections = Connections(parts.scheme, host, port, options.timeout_s, proxy)

    def ask(self, messages: Messages, tools: Tools | None, sampling: Sampling) -> Answer:
        asked = self._asked(messages, tools, sampling)
        try:
            response = self._connections.post(self._path, self._data(asked), self._headers)
            return self._answer(response._replace(body=self._mask.data(response.body)), asked)
        except ProviderError as error:
            error.args = (self._mask.text(str(error)),)   # an address in a header may hold a secret, too
            raise

    def close(self) -> None:
        self._connections.close()

    def preview(self, messages: Messages, tools: Tools | None, sampling: Sampling) -> Preview:
        """What `ask` would send; the key's header is there, its value is not."""
        shown = {name: MASK if self._is_secret(name) else value for name, value in self._headers.items()}
        body = self._mask.text(self._data(self._asked(messages, tools, sampling)).decode("utf-8"))
        return Preview(self._mask.text(self._url), shown, json.loads(body))

    def _is_secret(self, name: str) -> bool:
        own = self._wire.key_headers("") if self._options.api_key else {}
        return name.lower() in {n.lower() for n in (*own, *(given for given, _ in self._options.headers))}

    def _asked(self, messages: Messages, tools: Tools | None, sampling: Sampling) -> Asked:
        options = self._options
        return Asked(options.model, messages, tools, sampling, sampling.tool_choice or options.tool_choice,
                     options.parallel, self._adaptation.learned, OFF if tools is None else options.cache)

    def _data(self, asked: Asked) -> bytes:
        """The body. Each message of a conversation is encoded once, however often it is sent."""
        body = merged(self._wire.body_of(asked), self._options.extra_body)
        body[self._wire.MESSAGES] = _HERE
        messages = asked.messages if isinstance(asked.messages, Conversation) else Conversation(asked.messages)
        pieces = list(filter(None, messages.made(self._wire.NAME, self._piece_json)))
        if asked.cache == MOVING and (last := self._piece_json(messages[-1], marked=True)) is not None:
            pieces[-1] = last
        head, _, tail = _json(body).partition(f'"{_HERE}"')
        return f"{head}{messages_json(pieces, self._wire.TURN)}{tail}".encode("utf-8", "backslashreplace")

    def _piece_json(self, message: Mapping[str, Any], marked: bool = False) -> tuple[str, str] | None:
        """marked: what a cache is to keep ends with this message."""
        piece = self._wire.piece_of(message)
        if piece is None:
            return None
        values = list(piece.values)
        if marked and values:
            values[-1] = {**values[-1], **self._wire.CACHE_MARK}
        return piece.role, ",".join(map(_json, values))

    def _answer(self, response: Response, asked: Asked) -> Answer:
        """Read a response. Raise a ProviderError if it holds no answer."""
        body = self._decoded(response)
        if response.status != 200:
            error = response.body[:1000].decode("utf-8", "replace") if body is None else body
            return self._refused(response, error, asked)
        if not isinstance(body, dict):
            raise InfraError(f"HTTP 200 from {self._path.partition('?')[0]} with {_content(response)}, no JSON object",
                             sub="broken_json")
        if body.get("error"):
            raise failure_in_body(body["error"])
        read = self._wire.read(body)
        raw = read.finish_reason if isinstance(read.finish_reason, str) else None
        finish_reason = None if raw is None else self._wire.FINISH_REASONS.get(raw, raw)
        if read.explained:
            raw = f"{raw}: {read.explained}"
        answer = Answer(read.message, finish_reason, read.usage if isinstance(read.usage, dict) else None,
                        round(response.latency_s, 4), read.model if isinstance(read.model, str) else None,
                        raw if raw != finish_reason else None, deviations(asked.without), _upstream(response, body))
        try:
            refuse_blank(read.message, finish_reason)
        except EmptyReplyError as error:
            error.answer = answer
            raise
        return answer

    def _decoded(self, response: Response) -> Any:
        """The body's value; a stream of events becomes the body that they add up to."""
        streamed = response.headers.get_content_type() == "text/event-stream"
        value = None if streamed else decoded(response.body)
        if response.status == 200 and (streamed or (value is None and response.body.lstrip()[:5] == b"data:")):
            return self._wire.joined(*values_of(response.body))
        return value

    def _refused(self, response: Response, error: Any, asked: Asked) -> Answer:
        """A model's unreadable call is an answer; anything else raises."""
        written = _unreadable_call(response.status, error) if asked.tools is not None else None
        if written is not None:
            return Answer({"role": "assistant", "content": written or None}, MALFORMED, None,
                          round(response.latency_s, 4), None, f"HTTP {response.status}: {error_text(error)}",
                          deviations(asked.without))
        failure = failure_of(response.status, response.headers, error)
        unsent = frozenset() if asked.sampling.seed is not None else frozenset((SEED,))
        if self._adaptation.learn(failure, error, asked.without | unsent):
            raise Adapted(str(failure), status=response.status)
        raise failure


_HERE = "messages-8d1f6c52e0b94a7e"    # where the messages go in an encoded body; a name that nobody sends


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _content(response: Response) -> str:
    """Type, size and beginning of a body that cannot be read, on one harmless line."""
    begin = error_text(response.body[:4 * _SHOWN].decode("utf-8", "replace"))[:_SHOWN]
    kind = error_text(response.headers.get("Content-Type") or "no content type")[:_SHOWN]
    return f"{len(response.body)} bytes ({kind}{f', {begin!r}' if begin else ''})"


def _upstream(response: Response, body: Mapping[str, Any]) -> str | None:
    """Whom a router asked: OpenRouter says it in the body, Hugging Face in a header."""
    named = body.get("provider") or response.headers.get("x-inference-provider")
    return named[:100] if isinstance(named, str) else None


def _headers(wire: Wire, options: ProviderOptions) -> dict[str, str]:
    """A header of the user replaces ours of the same name, whatever its case."""
    own = {"Content-Type": "application/json", "Accept": "application/json",
           "User-Agent": "infranode-tool-eval", **wire.HEADERS}
    if options.api_key:
        own |= wire.key_headers(options.api_key)
    given = {name.lower() for name, _ in options.headers}
    return {name: value for name, value in own.items() if name.lower() not in given} | dict(options.headers)


def merged(body: Mapping[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    """`extra` over `body`, object into object; null takes a key out."""
    result = dict(body)
    for key, value in extra.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, Mapping):
            inner = result.get(key)
            result[key] = merged(inner if isinstance(inner, Mapping) else {}, value)
        else:
            result[key] = value
    return result


def _unreadable_call(status: int, error: Any) -> str | None:
    """What the model wrote ("" if the endpoint does not say), where the error is about the model's call."""
    inner = error.get("error", error) if isinstance(error, dict) else error
    if status == 400 and isinstance(inner, dict) and inner.get("code") == _UNREADABLE_CODE:
        written = inner.get("failed_generation")
        return written if isinstance(written, str) else ""
    text = inner.get("message") if isinstance(inner, dict) else inner
    return "" if status == 500 and isinstance(text, str) and _UNREADABLE_CALL.search(text) else None


def refuse_blank(message: Mapping[str, Any], finish_reason: str | None) -> None:
    """A reply that holds nothing is no answer, unless its finish reason explains it to the scorer.

    Source: specification, scoring: "length" is truncated, "malformed…" is malformed_call, both count as answers.
    """
    if not all(_blank(value) for key, value in message.items() if key != "role"):
        return
    if finish_reason == "content_filter":
        raise RefusedRequestError("the provider's content filter left no reply", sub="content_filter")
    if finish_reason != "length" and not (finish_reason or "").lower().startswith("malformed"):
        raise EmptyReplyError(f"text, calls and reasoning are all blank (finish reason {finish_reason})")


_TEXT_TYPES = (None, "text", "output_text", "message", "thinking", "reasoning", "redacted_thinking")
_BESIDE_TEXT = frozenset(("type", "id", "role", "status", "index", "annotations", "citations", "logprobs", "signature",
                          "thoughtSignature", "thought", "encrypted_content", "data"))


def _blank(value: Any) -> bool:
    """null, blank text, an empty container, or a list of blocks in which nobody finds a word."""
    if isinstance(value, str):
        return not value.strip()
    if isinstance(value, list):
        return all(isinstance(block, dict) and block.get("type") in _TEXT_TYPES
                   and all(_blank(inner) for key, inner in block.items() if key not in _BESIDE_TEXT)
                   for block in value)
    return value is None or value == {}
