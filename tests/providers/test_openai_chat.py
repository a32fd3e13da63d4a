"""The OpenAI-compatible provider against a stub on loopback: what is sent, what is read, what every failure is."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from infranode_eval.providers import open_provider
from infranode_eval.providers.openai_chat import url_of
from infranode_eval.providers.protocol import Answer, Provider, ProviderOptions, Sampling
from lm_eval_task.errors import (
    AuthError,
    ContextOverflowError,
    EmptyReplyError,
    InfraError,
    ProviderError,
    RateLimitedError,
    RefusedRequestError,
    UsageError,
)
from lm_eval_task.tools import read_tools
from tests.stub_endpoint import React, StubEndpoint, completion

ASKED = [{"role": "user", "content": "Wetter in Köln?"}]
SAMPLING = Sampling(max_tokens=160)
TOOLSET = read_tools()
KEY = "sk-test-0123456789abcdef"


def opened(url: str, key: str | None = None, timeout_s: float = 5.0) -> Provider:
    return open_provider("openai", ProviderOptions("m", TOOLSET, url, key, timeout_s))


def ask(endpoint: StubEndpoint, tools: Any = None, key: str | None = None, timeout_s: float = 5.0) -> Answer:
    provider = opened(endpoint.url, key, timeout_s)
    try:
        return provider.ask(ASKED, tools, SAMPLING)
    finally:
        provider.close()


URLS = [
    ("http://h:1", "http://h:1/v1/chat/completions", "without /v1"),
    ("http://h:1/", "http://h:1/v1/chat/completions", "a slash at the end"),
    ("http://h:1/v1", "http://h:1/v1/chat/completions", "with /v1"),
    ("https://h/api/v1/", "https://h/api/v1/chat/completions", "a prefix before the version"),
    ("https://h/v1beta/openai", "https://h/v1beta/openai/chat/completions", "a version inside the path"),
    ("https://h/api/paas/v4", "https://h/api/paas/v4/chat/completions", "another version"),
    ("http://h/v1/chat/completions", "http://h/v1/chat/completions", "the full address"),
    ("http://[::1]:8000/v1", "http://[::1]:8000/v1/chat/completions", "IPv6"),
    ("https://h/v1?api-version=2", "https://h/v1/chat/completions?api-version=2", "a query stays"),
]


@pytest.mark.parametrize(("base", "expected", "reason"), URLS)
def test_base_urls(base: str, expected: str, reason: str) -> None:
    assert url_of(base, "m") == expected, reason


@pytest.mark.parametrize("base", ["h:1", "ftp://h/v1", "http://", "http://h:x/v1", "http://user:geheim@h/v1", "",
                                  "http://[::1/v1", "http://h/ü"])
def test_refused_base_urls_never_quote_a_password(base: str) -> None:
    with pytest.raises(UsageError) as caught:
        url_of(base, "m")
    assert "geheim" not in str(caught.value)


def test_prompt_mode_sends_messages_and_sampling_only() -> None:
    with StubEndpoint() as endpoint:
        answer = ask(endpoint)
    request = endpoint.requests[0]
    assert request.line == "POST /v1/chat/completions HTTP/1.1"
    assert request.body == {"model": "m", "messages": ASKED, "temperature": 0.0, "max_tokens": 160}
    assert "authorization" not in request.headers
    assert answer.message == {"role": "assistant", "content": "Hallo."}
    assert (answer.finish_reason, answer.model, answer.usage) == (
        "stop", "stub-1", {"prompt_tokens": 7, "completion_tokens": 3})
    assert 0 <= answer.latency_s < 5


def test_native_mode_sends_the_tools_and_returns_the_calls_as_received() -> None:
    calls = [{"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"slug": "koeln"}'}}]
    tools = [{"type": "function", "function": {"name": "weather", "parameters": {}}}]
    with StubEndpoint([React(completion(None, "tool_calls", tool_calls=calls))]) as endpoint:
        answer = ask(endpoint, tools, KEY)
    assert endpoint.requests[0].body["tools"] == tools
    assert endpoint.requests[0].body["tool_choice"] == "auto"
    assert endpoint.requests[0].body["parallel_tool_calls"] is False
    assert endpoint.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert answer.message == {"role": "assistant", "content": None, "tool_calls": calls}
    assert answer.finish_reason == "tool_calls"


def test_requests_of_one_thread_share_a_connection() -> None:
    with StubEndpoint() as endpoint:
        provider = opened(endpoint.url)
        for _ in range(3):
            provider.ask(ASKED, None, SAMPLING)
        assert (len(endpoint.requests), endpoint.connections) == (3, 1)


def test_a_connection_that_the_endpoint_closed_is_replaced_without_a_failure() -> None:
    with StubEndpoint([React(close=True), React()]) as endpoint:
        provider = opened(endpoint.url)
        provider.ask(ASKED, None, SAMPLING)
        time.sleep(0.05)
        provider.ask(ASKED, None, SAMPLING)
        assert (len(endpoint.requests), endpoint.connections) == (2, 2)


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
BODY = json.dumps(completion("in Stücken")).encode()
CHUNKS = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (BODY[:40], BODY[40:])) + b"0\r\n\r\n"


@pytest.mark.parametrize(("reaction", "reason"), [
    (React(raw=CHUNKED + CHUNKS), "chunked"),
    (React(raw=b"HTTP/1.0 200 OK\r\n\r\n" + BODY, close=True), "until closed"),
    (React(raw=b"HTTP/1.1 100 Continue\r\n\r\n" + CHUNKED + CHUNKS), "behind an interim response"),
])
def test_bodies_come_in_every_framing(reaction: React, reason: str) -> None:
    with StubEndpoint([reaction]) as endpoint:
        assert ask(endpoint).message["content"] == "in Stücken", reason


KEPT = [
    (completion([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]), "a list of blocks"),
    (completion(None, "stop", reasoning_content="Hm."), "a thought without text is an answer (no_call)"),
    (completion("", "length"), "cut by the budget before the first word (truncated)"),
    (completion("", "MALFORMED_FUNCTION_CALL"), "the provider says that a call was malformed"),
    (completion("Hallo", None), "no finish reason"),
    (completion("\ud800 allein"), "half a character"),
    (completion([{"type": "tool_use", "name": "weather", "input": {}}]), "a block that is no text"),
    (completion(None, "stop", refusal="Nein."), "a refusal in a field of its own"),
    (completion("x", "stop", extra={"deep": [1]}), "keys that nobody knows"),
]


@pytest.mark.parametrize(("body", "reason"), KEPT)
def test_messages_are_returned_as_received(body: dict[str, Any], reason: str) -> None:
    with StubEndpoint([React(body)]) as endpoint:
        answer = ask(endpoint)
    choice = body["choices"][0]
    assert (answer.message, answer.finish_reason) == (choice["message"], choice["finish_reason"]), reason


def error(message: str = "kaputt", **more: Any) -> dict[str, Any]:
    return {"error": {"message": message, **more}}


OVERFLOW = "This model's maximum context length is 4096 tokens"
FAILURES: list[tuple[React, type[ProviderError], str | None, bool, str]] = [
    (React(error(), 401), AuthError, None, False, "wrong key"),
    (React(error(), 403), AuthError, None, False, "key without the right"),
    (React(error(), 429), RateLimitedError, None, True, "too many requests"),
    (React(error("quota", code="insufficient_quota"), 429), RefusedRequestError, "insufficient_quota", False,
     "waiting will not bring money"),
    (React(error(OVERFLOW, code="context_length_exceeded"), 400), ContextOverflowError, None, False, "OpenAI, vLLM"),
    (React(error("the request exceeds the available context size", type="exceed_context_size_error"), 400),
     ContextOverflowError, None, False, "llama.cpp"),
    (React(b"", 413), ContextOverflowError, None, False, "too large"),
    (React(error(), 400), RefusedRequestError, None, False, "a bad request stays bad"),
    (React(error(), 404), RefusedRequestError, None, False, "no such model"),
    (React({"detail": [{"msg": "x"}]}, 422), RefusedRequestError, None, False, "validation"),
    (React(b"", 301, {"Location": "https://h/"}), RefusedRequestError, None, False, "the key follows no redirect"),
    (React(error(), 408), InfraError, None, True, "request timeout"),
    (React(error(), 500), InfraError, None, True, "server error"),
    (React(b"<html>Bad Gateway</html>", 502), InfraError, None, True, "a proxy's page"),
    (React(error()), InfraError, None, True, "an error object inside 200"),
    (React(error(code=429)), RateLimitedError, None, True, "a 429 inside 200"),
    (React(error(code="401")), AuthError, None, False, "a 401 inside 200"),
    (React(error(OVERFLOW)), ContextOverflowError, None, False, "an overflow inside 200"),
    (React({"choices": [{"error": {"message": "upstream", "code": 502}}]}), InfraError, None, True, "in a choice"),
    (React({"choices": []}), InfraError, "broken_json", True, "no choice"),
    (React({"choices": [{"message": "x"}]}), InfraError, "broken_json", True, "a message that is no object"),
    (React([1]), InfraError, "broken_json", True, "JSON, but no object"),
    (React(b'{"choices": [{"mess'), InfraError, "broken_json", True, "half a JSON with a matching length"),
    (React(b'{"choices": NaN}'), InfraError, "broken_json", True, "NaN is no JSON"),
    (React(b'{"usage": 1e999}'), InfraError, "broken_json", True, "beyond every float"),
    (React(b"[" * 100_000), InfraError, "broken_json", True, "a depth that no parser takes"),
    (React(b"\xff\xfe"), InfraError, "broken_json", True, "no UTF-8"),
    (React(keep=120), InfraError, "connection", True, "the body ends early"),
    (React(keep=0), InfraError, "connection", True, "closed without a byte"),
    (React(raw=CHUNKED + CHUNKS[:-9], close=True), InfraError, "connection", True, "cut between chunks"),
    (React(raw=b"HTTP/1.1 200 OK\r\n\r\n{", close=True), InfraError, "broken_json", True, "cut without a length"),
    (React(raw=b"SSH-2.0-x\r\n", close=True), InfraError, "connection", True, "no HTTP at all"),
    (React(keep=9), InfraError, "connection", True, "cut inside the status line"),
    (React(completion("")), EmptyReplyError, None, True, "nothing at all"),
    (React(completion(None)), EmptyReplyError, None, True, "null"),
    (React(completion(" \n")), EmptyReplyError, None, True, "blanks"),
    (React(completion([{"type": "text", "text": " "}], tool_calls=[])), EmptyReplyError, None, True, "a blank block"),
    (React(completion([])), EmptyReplyError, None, True, "no block"),
    (React(completion("", "content_filter")), RefusedRequestError, "content_filter", False, "filtered away"),
]


@pytest.mark.parametrize(("reaction", "kind", "sub", "retryable", "reason"), FAILURES, ids=lambda v: None)
def test_failures(reaction: React, kind: type[ProviderError], sub: str | None, retryable: bool, reason: str) -> None:
    with StubEndpoint([reaction]) as endpoint, pytest.raises(ProviderError) as caught:
        ask(endpoint)
    assert type(caught.value) is kind, reason
    assert (caught.value.sub, caught.value.retryable) == (sub, retryable), reason
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 320


@pytest.mark.parametrize(("reaction", "reason"), [
    (React(drip_s=0.05), "one byte at a time from the status line on"),
    (React(drip_s=0.05, drip_from=90), "one byte at a time in the body"),
    (React(delay_s=3), "silence"),
])
def test_an_attempt_ends_at_its_total_deadline(reaction: React, reason: str) -> None:
    started = time.monotonic()
    with StubEndpoint([reaction]) as endpoint, pytest.raises(InfraError) as caught:
        ask(endpoint, timeout_s=0.4)
    assert 0.35 < time.monotonic() - started < 2, reason
    assert caught.value.sub == "timeout", reason


def test_after_a_timeout_the_next_request_opens_a_new_connection() -> None:
    with StubEndpoint([React(delay_s=1), React()]) as endpoint:
        provider = opened(endpoint.url, timeout_s=0.2)
        with pytest.raises(InfraError):
            provider.ask(ASKED, None, SAMPLING)
        assert provider.ask(ASKED, None, SAMPLING).message["content"] == "Hallo."


@pytest.mark.parametrize("url", ["http://127.0.0.1:9", "http://name.invalid/v1"])
def test_an_unreachable_endpoint_is_named(url: str) -> None:
    with pytest.raises(InfraError) as caught:
        opened(url).ask(ASKED, None, SAMPLING)
    assert caught.value.sub == "unreachable"
    assert "127.0.0.1:9" in str(caught.value) or "name.invalid:80" in str(caught.value)


@pytest.mark.parametrize(("status", "body"), [
    (401, error(f"Incorrect API key provided: {KEY}.")),
    (401, error("Incorrect API key provided: sk-te***********cdef.")),
    (400, error(f"unexpected header Bearer {KEY}")),
    (200, completion(f"Dein Schlüssel ist {KEY}")),
])
def test_the_key_is_in_no_message_and_no_answer(status: int, body: dict[str, Any]) -> None:
    with StubEndpoint([React(body, status)]) as endpoint:
        try:
            shown = json.dumps(ask(endpoint, key=KEY).to_json())
        except ProviderError as failure:
            shown = str(failure)
    assert "***" in shown
    assert "sk-te" not in shown and "cdef" not in shown
