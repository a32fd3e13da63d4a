"""Anthropic, Gemini and Responses against a stub: what is sent, what is read, and that the reader finds the calls."""

from __future__ import annotations

import json
from typing import Any

import pytest

from infranode_eval.providers import open_provider
from infranode_eval.providers.protocol import Answer, Provider, ProviderOptions, Sampling
from infranode_eval.providers.token_usage import normal_usage
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
from lm_eval_task.parse import calls_from_message
from lm_eval_task.records import Call
from lm_eval_task.tools import read_tools
from tests.stub_endpoint import SSE, VENDORS, React, Request, StubEndpoint, chunk, event_stream, vendor_body

TOOLS = read_tools()
WEATHER = next(t for t in TOOLS.to_json() if t["function"]["name"] == "weather")
LIST_CITIES = next(t for t in TOOLS.to_json() if t["function"]["name"] == "list_cities")
ASKED = [{"role": "system", "content": "Rufe Werkzeuge auf."}, {"role": "user", "content": "Wetter in Köln?"}]
KEY = "sk-test-0123456789abcdef"
CALL = ("weather", {"slug": "koeln"})


def opened(vendor: str, url: str, **options: Any) -> Provider:
    return open_provider(vendor, ProviderOptions("m", TOOLS, url, KEY, timeout_s=5, **options))


def asked(vendor: str, reaction: React, tools: Any = (WEATHER,), messages: Any = ASKED,
          **options: Any) -> tuple[Answer, Request]:
    with StubEndpoint([reaction]) as endpoint:
        provider = opened(vendor, endpoint.url, **options)
        answer = provider.ask(messages, None if tools is None else list(tools), Sampling(160))
        provider.close()
    return answer, endpoint.requests[0]


# --- what is sent -----------------------------------------------------------------------------------------------------

SCHEMA = WEATHER["function"]["parameters"]
ABOUT = {"name": "weather", "description": WEATHER["function"]["description"]}
SENT = {
    "openai": ("/v1/chat/completions", {"authorization": f"Bearer {KEY}"}, {
        "model": "m", "messages": ASKED, "temperature": 0.0, "max_tokens": 160, "tools": [WEATHER],
        "tool_choice": "auto", "parallel_tool_calls": False}),
    "anthropic": ("/v1/messages", {"x-api-key": KEY, "anthropic-version": "2023-06-01"}, {
        "model": "m", "max_tokens": 160, "temperature": 0.0, "system": "Rufe Werkzeuge auf.",
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Wetter in Köln?"}]}],
        "tools": [{**ABOUT, "input_schema": SCHEMA}],
        "tool_choice": {"type": "auto", "disable_parallel_tool_use": True}}),
    "gemini": ("/v1beta/models/m:generateContent", {"x-goog-api-key": KEY}, {
        "systemInstruction": {"parts": [{"text": "Rufe Werkzeuge auf."}]},
        "contents": [{"role": "user", "parts": [{"text": "Wetter in Köln?"}]}],
        "generationConfig": {"temperature": 0.0, "maxOutputTokens": 160},
        "tools": [{"functionDeclarations": [{**ABOUT, "parameters": SCHEMA}]}],
        "toolConfig": {"functionCallingConfig": {"mode": "AUTO"}}}),
    "responses": ("/v1/responses", {"authorization": f"Bearer {KEY}"}, {
        "model": "m", "max_output_tokens": 160, "temperature": 0.0,
        "input": [{"role": "system", "content": "Rufe Werkzeuge auf."}, {"role": "user", "content": "Wetter in Köln?"}],
        "tools": [{"type": "function", **ABOUT, "parameters": SCHEMA, "strict": False}],
        "tool_choice": "auto", "parallel_tool_calls": False}),
}


@pytest.mark.parametrize("vendor", VENDORS)
def test_native_mode_sends_the_tools_in_the_vendors_words(vendor: str) -> None:
    _, request = asked(vendor, React(vendor_body(vendor, "Hallo.")))
    path, headers, body = SENT[vendor]
    assert request.line == f"POST {path} HTTP/1.1"
    assert request.body == body
    assert {name: request.headers.get(name) for name in headers} == headers
    assert KEY not in request.line, "a key in an address ends up in logs"


@pytest.mark.parametrize("vendor", VENDORS)
def test_prompt_mode_sends_one_user_message_and_no_word_of_tools(vendor: str) -> None:
    _, request = asked(vendor, React(vendor_body(vendor, "Hallo.")), None, ASKED[1:])
    sent = json.dumps(request.body)
    assert not any(word in sent for word in ("tool", "system", "parallel"))
    assert "Wetter in K" in sent and "160" in sent


CHOICES = [
    ("openai", "required", {"tool_choice": "required"}),
    ("openai", "none", {"tool_choice": "none"}),
    ("responses", "required", {"tool_choice": "required"}),
    ("anthropic", "required", {"tool_choice": {"type": "any", "disable_parallel_tool_use": True}}),
    ("anthropic", "none", {"tool_choice": {"type": "none"}}),
    ("gemini", "required", {"toolConfig": {"functionCallingConfig": {"mode": "ANY"}}}),
    ("gemini", "none", {"toolConfig": {"functionCallingConfig": {"mode": "NONE"}}}),
]


@pytest.mark.parametrize(("vendor", "choice", "expected"), CHOICES)
def test_tool_choice(vendor: str, choice: str, expected: dict[str, Any]) -> None:
    _, request = asked(vendor, React(vendor_body(vendor, "Hallo.")), tool_choice=choice)
    assert {key: request.body[key] for key in expected} == expected


@pytest.mark.parametrize(("vendor", "on", "unset"), [
    ("openai", {"parallel_tool_calls": True}, {}),
    ("responses", {"parallel_tool_calls": True}, {}),
    ("anthropic", {"tool_choice": {"type": "auto", "disable_parallel_tool_use": False}},
     {"tool_choice": {"type": "auto"}}),
])
def test_parallel_calls_can_be_allowed_or_left_to_the_vendor(vendor: str, on: dict[str, Any],
                                                             unset: dict[str, Any]) -> None:
    for parallel, expected in ((True, on), (None, unset)):
        _, request = asked(vendor, React(vendor_body(vendor, "Hallo.")), parallel=parallel)
        keys = ("parallel_tool_calls",) if vendor != "anthropic" else ("tool_choice",)
        assert {key: request.body[key] for key in keys if key in request.body} == expected


URLS = [
    ("anthropic", "http://h", "m", "http://h/v1/messages", "without /v1"),
    ("anthropic", "https://h/v1/", "m", "https://h/v1/messages", "with"),
    ("anthropic", "https://h/anthropic/v1/messages", "m", "https://h/anthropic/v1/messages", "the full address"),
    ("gemini", "http://h", "m", "http://h/v1beta/models/m:generateContent", "without a version"),
    ("gemini", "http://h/v1", "m", "http://h/v1/models/m:generateContent", "another version"),
    ("gemini", "http://h", "models/m", "http://h/v1beta/models/m:generateContent", "the name with its kind"),
    ("gemini", "http://h", "tunedModels/x y", "http://h/v1beta/tunedModels/x%20y:generateContent", "a tuned model"),
    ("responses", "http://h/v1", "m", "http://h/v1/responses", "with /v1"),
    ("responses", "http://h/v1/responses", "m", "http://h/v1/responses", "the full address"),
]


@pytest.mark.parametrize(("vendor", "base", "model", "expected", "reason"), URLS)
def test_base_urls(vendor: str, base: str, model: str, expected: str, reason: str) -> None:
    provider = open_provider(vendor, ProviderOptions(model, TOOLS, base))
    assert provider.preview(ASKED, None, Sampling(160)).url == expected, reason


@pytest.mark.parametrize(("vendor", "host"), [("anthropic", "api.anthropic.com"), ("responses", "api.openai.com"),
                                              ("gemini", "generativelanguage.googleapis.com")])
def test_without_a_base_url_the_vendor_is_asked(vendor: str, host: str) -> None:
    preview = open_provider(vendor, ProviderOptions("m", TOOLS)).preview(ASKED, None, Sampling(160))
    assert preview.url.startswith(f"https://{host}/")


def test_gemini_gets_no_empty_parameters() -> None:
    _, request = asked("gemini", React(vendor_body("gemini", "Hallo.")), (LIST_CITIES,))
    declared = request.body["tools"][0]["functionDeclarations"][0]
    assert set(declared) == {"name", "description"}, "the API refuses an object without properties"


def test_a_wrong_address_is_a_usage_error() -> None:
    for vendor in VENDORS:
        with pytest.raises(UsageError):
            open_provider(vendor, ProviderOptions("m", TOOLS, "h:1"))


CONVERSATION = [
    *ASKED,
    {"role": "assistant", "content": None, "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"slug": "koeln"}'}}]},
    {"role": "tool", "tool_call_id": "c1", "name": "weather", "content": '{"temperatur": 3}'},
    {"role": "user", "content": "Und morgen?"},
]
CONTINUED = {
    "anthropic": ("messages", [
        {"role": "user", "content": [{"type": "text", "text": "Wetter in Köln?"}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "weather",
                                           "input": {"slug": "koeln"}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": '{"temperatur": 3}'},
                                     {"type": "text", "text": "Und morgen?"}]}]),
    "gemini": ("contents", [
        {"role": "user", "parts": [{"text": "Wetter in Köln?"}]},
        {"role": "model", "parts": [{"functionCall": {"name": "weather", "args": {"slug": "koeln"}, "id": "c1"}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "weather", "response": {"temperatur": 3},
                                                         "id": "c1"}},
                                   {"text": "Und morgen?"}]}]),
    "responses": ("input", [
        {"role": "system", "content": "Rufe Werkzeuge auf."}, {"role": "user", "content": "Wetter in Köln?"},
        {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": '{"slug": "koeln"}'},
        {"type": "function_call_output", "call_id": "c1", "output": '{"temperatur": 3}'},
        {"role": "user", "content": "Und morgen?"}]),
}


@pytest.mark.parametrize("vendor", CONTINUED)
def test_a_conversation_in_chat_messages_is_told_in_the_vendors_words(vendor: str) -> None:
    _, request = asked(vendor, React(vendor_body(vendor, "Hallo.")), messages=CONVERSATION)
    key, expected = CONTINUED[vendor]
    assert request.body[key] == expected


@pytest.mark.parametrize(("vendor", "key"), [("anthropic", "content"), ("gemini", "parts"), ("responses", "output")])
def test_a_reply_goes_back_as_it_came(vendor: str, key: str) -> None:
    answer, _ = asked(vendor, React(vendor_body(vendor, "Moment.", CALL, "Hm.")))
    _, request = asked(vendor, React(vendor_body(vendor, "Hallo.")), messages=[
        *ASKED, answer.message, {"role": "tool", "tool_call_id": "c1", "name": "weather", "content": "kalt"}])
    sent = json.dumps(request.body)
    assert all(json.dumps(block) in sent for block in answer.message[key]), "signatures and ids included"


# --- what is read -----------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("vendor", VENDORS)
def test_the_reader_finds_calls_text_and_thoughts_in_the_reply_as_received(vendor: str) -> None:
    answer, _ = asked(vendor, React(vendor_body(vendor, "Ich sehe nach.", CALL, "Hm.")))
    reading = calls_from_message(answer.message, TOOLS, "native", answer.finish_reason)
    assert reading.calls == (Call(*CALL),) and not reading.recovered and not reading.broken
    assert (reading.text, reading.thought) == ("Ich sehe nach.", True)
    assert answer.model == "stub-1" and answer.latency_s >= 0
    silent, _ = asked(vendor, React(vendor_body(vendor, "Dafür passt kein Werkzeug.")))
    reading = calls_from_message(silent.message, TOOLS, "native", silent.finish_reason)
    assert (reading.calls, reading.text) == (None, "Dafür passt kein Werkzeug.")
    assert silent.finish_reason == "stop"


USAGES = [
    ("anthropic", (7, 3, 5, None), "cached input counts as input"),
    ("gemini", (7, 3, 5, 1), "thoughts count as output"),
    ("responses", (7, 3, 5, 1), "as OpenAI counts"),
    ("openai", (7, 3, None, None), "nothing said is nothing known"),
]


@pytest.mark.parametrize(("vendor", "counts", "reason"), USAGES)
def test_token_counts_have_one_shape_beside_the_received_one(vendor: str, counts: tuple[Any, ...],
                                                             reason: str) -> None:
    body = vendor_body(vendor, "Hallo.")
    answer, _ = asked(vendor, React(body))
    assert answer.usage == (body.get("usage") or body.get("usageMetadata")), "kept as received"
    assert tuple(normal_usage(answer.usage).values()) == counts, reason


def gemini(reason: str, *parts: Any, **more: Any) -> dict[str, Any]:
    return {"candidates": [{"content": {"role": "model", "parts": list(parts)}, "finishReason": reason, **more}]}


def unfinished(reason: str, text: str = "Hal") -> dict[str, Any]:
    return vendor_body("responses", text, status="incomplete", incomplete_details={"reason": reason})


FINISHED = [
    ("anthropic", vendor_body("anthropic", "Hal", stop_reason="max_tokens"), "length", "max_tokens"),
    ("anthropic", vendor_body("anthropic", "Hal", stop_reason="model_context_window_exceeded"), "length",
     "model_context_window_exceeded"),
    ("anthropic", vendor_body("anthropic", "Nein.", stop_reason="refusal"), "content_filter", "refusal"),
    ("anthropic", vendor_body("anthropic", "x", stop_reason="stop_sequence"), "stop", "stop_sequence"),
    ("anthropic", vendor_body("anthropic", None, CALL), "tool_calls", "tool_use"),
    ("anthropic", vendor_body("anthropic", None, stop_reason="max_tokens"), "length", "max_tokens"),
    ("anthropic", vendor_body("anthropic", "x", stop_reason="pause_turn"), "pause_turn", None),
    ("gemini", gemini("STOP", {"text": "x"}), "stop", "STOP"),
    ("gemini", gemini("MAX_TOKENS", {"text": "x"}), "length", "MAX_TOKENS"),
    ("gemini", {"candidates": [{"content": {"role": "model"}, "finishReason": "MAX_TOKENS"}]}, "length", "MAX_TOKENS"),
    ("gemini", gemini("MALFORMED_FUNCTION_CALL"), "MALFORMED_FUNCTION_CALL", None),
    ("gemini", {"candidates": [{"content": {}, "finishReason": "MALFORMED_FUNCTION_CALL",
                                "finishMessage": "print(x)"}]},
     "MALFORMED_FUNCTION_CALL", "MALFORMED_FUNCTION_CALL: print(x)"),
    ("gemini", gemini("UNEXPECTED_TOOL_CALL"), "malformed_tool_call", "UNEXPECTED_TOOL_CALL"),
    ("gemini", gemini("SAFETY", {"text": "x"}), "content_filter", "SAFETY"),
    ("gemini", gemini("RECITATION", {"text": "x"}), "content_filter", "RECITATION"),
    ("gemini", gemini("OTHER", {"text": "x"}), "OTHER", None),
    ("responses", vendor_body("responses", "x"), "stop", "completed"),
    ("responses", vendor_body("responses", None, CALL), "tool_calls", None),
    ("responses", unfinished("max_output_tokens"), "length", "max_output_tokens"),
    ("responses", unfinished("max_output_tokens", ""), "length", "max_output_tokens"),
    ("responses", unfinished("content_filter"), "content_filter", None),
    ("openai", vendor_body("openai", "x") | {"choices": [{"message": {"content": "x"}, "finish_reason": "eos"}]},
     "stop", "eos"),
]


@pytest.mark.parametrize(("vendor", "body", "reason", "raw"), FINISHED)
def test_finish_reasons_in_one_language_beside_the_vendors(vendor: str, body: dict[str, Any], reason: str,
                                                           raw: str | None) -> None:
    answer, _ = asked(vendor, React(body))
    assert (answer.finish_reason, answer.finish_reason_raw) == (reason, raw)


@pytest.mark.parametrize(("body", "outcome"), [
    (gemini("MALFORMED_FUNCTION_CALL"), "broken"), (gemini("MAX_TOKENS"), "truncated")])
def test_the_reader_understands_them(body: dict[str, Any], outcome: str) -> None:
    answer, _ = asked("gemini", React(body))
    assert getattr(calls_from_message(answer.message, TOOLS, "native", answer.finish_reason), outcome) is True


# --- failures ---------------------------------------------------------------------------------------------------------

def anthropic_error(kind: str, message: str = "x") -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}}


def google_error(code: int, status: str, message: str = "x", *details: Any) -> dict[str, Any]:
    return {"error": {"code": code, "status": status, "message": message, "details": list(details)}}


FAILURES: list[tuple[str, React, type[ProviderError], str | None, str]] = [
    ("anthropic", React(anthropic_error("authentication_error"), 401), AuthError, None, "a wrong key"),
    ("anthropic", React(anthropic_error("permission_error"), 403), AuthError, None, "no right"),
    ("anthropic", React(anthropic_error("not_found_error", "model: m"), 404), RefusedRequestError, None, "no model"),
    ("anthropic", React(anthropic_error("rate_limit_error"), 429), RateLimitedError, None, "too many"),
    ("anthropic", React(anthropic_error("overloaded_error"), 529), InfraError, None, "overloaded"),
    ("anthropic", React(anthropic_error("overloaded_error")), InfraError, None, "overloaded inside 200"),
    ("anthropic", React(anthropic_error("authentication_error")), AuthError, None, "a wrong key inside 200"),
    ("anthropic", React(anthropic_error("invalid_request_error", "prompt is too long: 9 tokens > 8 maximum"), 400),
     ContextOverflowError, None, "too long"),
    ("anthropic", React(anthropic_error("request_too_large"), 413), ContextOverflowError, None, "too large"),
    ("anthropic", React(vendor_body("anthropic")), EmptyReplyError, None, "no block"),
    ("anthropic", React(vendor_body("anthropic", " ")), EmptyReplyError, None, "a blank block"),
    ("anthropic", React(vendor_body("anthropic", None, stop_reason="refusal")), RefusedRequestError, "content_filter",
     "refused without a word"),
    ("anthropic", React({"content": "x"}), InfraError, "broken_json", "no blocks"),
    ("gemini", React(google_error(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."), 400),
     AuthError, None, "Google says so with 400"),
    ("gemini", React(google_error(403, "PERMISSION_DENIED"), 403), AuthError, None, "no right"),
    ("gemini", React(google_error(404, "NOT_FOUND", "models/m?"), 404), RefusedRequestError, None, "no model"),
    ("gemini", React(google_error(503, "UNAVAILABLE"), 503), InfraError, None, "overloaded"),
    ("gemini", React([google_error(503, "UNAVAILABLE")], 503), InfraError, None, "in a list"),
    ("gemini", React(google_error(400, "INVALID_ARGUMENT", "The input token count (9) exceeds the maximum number of "
                                                           "tokens allowed (8)."), 400),
     ContextOverflowError, None, "too long"),
    ("gemini", React({"promptFeedback": {"blockReason": "SAFETY"}}), RefusedRequestError, "content_filter", "blocked"),
    ("gemini", React(gemini("SAFETY")), RefusedRequestError, "content_filter", "filtered away"),
    ("gemini", React(gemini("STOP")), EmptyReplyError, None, "no part"),
    ("gemini", React(gemini("STOP", {"text": ""})), EmptyReplyError, None, "a blank part"),
    ("gemini", React({"candidates": []}), InfraError, "broken_json", "no candidate"),
    ("gemini", React({"candidates": [{"content": {"parts": "x"}}]}), InfraError, "broken_json", "no list of parts"),
    ("responses", React({"error": {"message": "x", "code": "invalid_api_key"}}, 401), AuthError, None, "a wrong key"),
    ("responses", React(vendor_body("responses", status="failed", error={"code": "server_error", "message": "x"})),
     InfraError, None, "failed on their side"),
    ("responses", React(vendor_body("responses", status="failed", error={"code": "rate_limit_exceeded",
                                                                         "message": "x"})),
     RateLimitedError, None, "a limit inside 200"),
    ("responses", React(vendor_body("responses", status="in_progress")), InfraError, "broken_json", "not finished"),
    ("responses", React(vendor_body("responses")), EmptyReplyError, None, "no item"),
    ("responses", React(vendor_body("responses", "")), EmptyReplyError, None, "a message without text"),
    ("responses", React({"output": "x", "status": "completed"}), InfraError, "broken_json", "no list"),
    ("responses", React(unfinished("content_filter", "")), RefusedRequestError, "content_filter", "filtered away"),
]


@pytest.mark.parametrize(("vendor", "reaction", "kind", "sub", "reason"), FAILURES, ids=lambda v: None)
def test_failures(vendor: str, reaction: React, kind: type[ProviderError], sub: str | None, reason: str) -> None:
    with pytest.raises(ProviderError) as caught:
        asked(vendor, reaction)
    assert (type(caught.value), caught.value.sub) == (kind, sub), reason
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 320


EVERYWHERE: list[tuple[React, type[ProviderError], str | None]] = [
    (React(b"<html>Bad Gateway</html>", 502), InfraError, None),
    (React(b"{"), InfraError, "broken_json"),
    (React([1]), InfraError, "broken_json"),
    (React({}), InfraError, "broken_json"),
    (React(keep=120), InfraError, "connection"),
    (React({"error": {"message": "x", "code": 429}}), RateLimitedError, None),
    (React(b"data: {}\n\n", headers=SSE), InfraError, "broken_json"),
    (React(b"data: kaputt\n\n", headers=SSE), InfraError, "broken_json"),
    (React(b"", headers=SSE), InfraError, "broken_json"),
]


@pytest.mark.parametrize("vendor", VENDORS)
@pytest.mark.parametrize(("reaction", "kind", "sub"), EVERYWHERE, ids=lambda v: None)
def test_failures_that_every_vendor_shares(vendor: str, reaction: React, kind: type[ProviderError],
                                           sub: str | None) -> None:
    with pytest.raises(ProviderError) as caught:
        asked(vendor, reaction)
    assert (type(caught.value), caught.value.sub) == (kind, sub)


def test_google_says_in_its_details_how_long_to_wait() -> None:
    delay = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"}
    with pytest.raises(RateLimitedError) as caught:
        asked("gemini", React(google_error(429, "RESOURCE_EXHAUSTED", "x", {"quota": 1}, delay), 429))
    assert caught.value.retry_after == 34.5


# --- streams ----------------------------------------------------------------------------------------------------------

STREAMS = {
    "openai": event_stream(
        chunk(role="assistant", content=""), chunk(reasoning_content="H"), chunk(reasoning_content="m."),
        chunk(content="Ich sehe "), chunk(content="nach."),
        chunk(tool_calls=[{"index": 0, "id": "c1", "type": "function", "function": {"name": "weather",
                                                                                   "arguments": ""}}]),
        chunk(tool_calls=[{"index": 0, "function": {"arguments": '{"slug"'}}]),
        chunk(tool_calls=[{"index": 0, "function": {"arguments": ': "koeln"}'}}]), chunk("tool_calls"),
        {"model": "stub-1", "choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3}}),
    "anthropic": event_stream(
        {"type": "message_start", "message": vendor_body("anthropic", stop_reason=None)}, {"type": "ping"},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "Hm."}},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "Ich sehe "}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "nach."}},
        {"type": "content_block_start", "index": 2, "content_block": {"type": "tool_use", "id": "t", "name": "weather",
                                                                      "input": {}}},
        {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": '{"slug": '}},
        {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": '"koeln"}'}},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 3}},
        {"type": "message_stop"}, done=False),
    "gemini": event_stream(gemini("", {"text": "Hm.", "thought": True}, {"text": "Ich sehe "}),
                           gemini("", {"text": "nach."}), vendor_body("gemini", None, CALL), done=False),
    "responses": event_stream({"type": "response.created", "response": {"status": "in_progress"}},
                              {"type": "response.output_text.delta", "delta": "Ich"},
                              {"type": "response.completed",
                               "response": vendor_body("responses", "Ich sehe nach.", CALL, "Hm.")}, done=False),
}


@pytest.mark.parametrize("vendor", VENDORS)
def test_a_stream_adds_up_to_the_same_reply(vendor: str) -> None:
    answer, _ = asked(vendor, React(STREAMS[vendor], headers=SSE))
    reading = calls_from_message(answer.message, TOOLS, "native", answer.finish_reason)
    assert (reading.calls, reading.text, reading.thought) == ((Call(*CALL),), "Ich sehe nach.", True)
    assert answer.model == "stub-1" and tuple(normal_usage(answer.usage).values())[:2] == (7, 3)
    assert answer.finish_reason == ("stop" if vendor == "gemini" else "tool_calls")


@pytest.mark.parametrize("vendor", VENDORS)
def test_a_stream_cut_anywhere_is_never_a_shorter_answer(vendor: str) -> None:
    body = STREAMS[vendor]
    events = body.split(b"\n\n")
    last = max(i for i, event in enumerate(events) if b'"stop_reason": "tool_use"' in event
               or b'"finish_reason": "tool_calls"' in event or b'"STOP"' in event or b"response.completed" in event)
    for end in range(last):
        with pytest.raises(InfraError) as caught:
            asked(vendor, React(b"\n\n".join(events[:end]) + b"\n\n", headers=SSE))
        assert caught.value.sub == "broken_json"
