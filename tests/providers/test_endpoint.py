"""What every vendor's endpoint shares: masked secrets, headers, extra bodies, learned refusals, broken calls."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from infranode_eval.providers import open_provider
from infranode_eval.providers.adaptation import PARALLEL_LEFT_OUT, RULES
from infranode_eval.providers.endpoint import MALFORMED, merged
from infranode_eval.providers.protocol import Adapted, Answer, Provider, ProviderOptions, Sampling
from lm_eval_task.errors import AuthError, ContextOverflowError, ProviderError, RefusedRequestError
from lm_eval_task.parse import calls_from_message
from lm_eval_task.tools import read_tools
from tests.stub_endpoint import VENDORS, React, Request, StubEndpoint, completion, vendor_body

TOOLS = read_tools()
ASKED = [{"role": "user", "content": "Wetter in Köln?"}]
KEY = "sk-test/0123456789abcdef"
SECRET = "Bearer geheim-0123456789"


def opened(url: str, vendor: str = "openai", **options: Any) -> Provider:
    return open_provider(vendor, ProviderOptions("m", TOOLS, url, timeout_s=5, **options))


def ask(provider: Provider, native: bool = True) -> Answer:
    """As the runner asks: again after each adaptation."""
    while True:
        try:
            return provider.ask(ASKED, TOOLS.to_json() if native else None, Sampling(160, 0.5))
        except Adapted:
            continue


# --- secrets ----------------------------------------------------------------------------------------------------------

ECHOES = [
    f"Incorrect API key provided: {KEY}.", f"header x-secret: {SECRET} refused", "key sk-te***********cdef is wrong",
    f"token {SECRET.split()[1]} expired", KEY.replace("/", "\\/"), "x" * 180 + KEY,
    "the query abcdefgh-12345 is wrong",
]


@pytest.mark.parametrize("vendor", VENDORS)
@pytest.mark.parametrize("status", (200, 401, 400, 500, 302))
@pytest.mark.parametrize("echo", ECHOES, ids=range(len(ECHOES)))
def test_no_secret_comes_back(vendor: str, status: int, echo: str) -> None:
    body = vendor_body(vendor, echo) if status == 200 else {"error": {"message": echo}}
    with StubEndpoint([React(body, status, {"Location": f"https://h/{KEY}"})]) as endpoint:
        provider = opened(f"{endpoint.url}/v1?token=abcdefgh-12345", vendor, api_key=KEY,
                          headers=(("X-Secret", SECRET),))
        try:
            shown = json.dumps(ask(provider).to_json())
        except ProviderError as failure:
            shown = str(failure)
    assert "***" in shown or len(echo) > 180
    for part in ("0123456789", "sk-te", "geheim", "cdef", "abcdefgh"):
        assert part not in shown


@pytest.mark.parametrize("vendor", VENDORS)
def test_a_preview_shows_which_headers_are_sent_and_none_of_their_secrets(vendor: str) -> None:
    provider = opened("http://h/v1?token=abcdefgh-12345", vendor, api_key=KEY, headers=(("X-Secret", SECRET),))
    preview = provider.preview(ASKED, TOOLS.to_json(), Sampling(160))
    shown = preview.url + json.dumps(dict(preview.headers)) + json.dumps(preview.body)
    assert preview.headers["X-Secret"] == "***" and list(preview.headers.values()).count("***") == 2
    assert not any(part in shown for part in ("0123456789", "geheim", "abcdefgh"))


@pytest.mark.parametrize("key", ["x", "EMPTY", "none", "ollama"])
def test_a_placeholder_for_a_key_is_no_secret(key: str) -> None:
    text = f"extra {key} none EMPTY ollama"
    with StubEndpoint([React(completion(text))]) as endpoint:
        answer = ask(opened(endpoint.url, api_key=key))
    assert answer.message["content"] == text, "its letters stand in any text"
    assert endpoint.requests[0].headers["authorization"] == f"Bearer {key}"


# --- headers and bodies -----------------------------------------------------------------------------------------------

def test_headers_are_sent_and_replace_ours() -> None:
    with StubEndpoint() as endpoint:
        ask(opened(endpoint.url, api_key=KEY, headers=(("X-Title", "Test"), ("authorization", "Basic x"))))
    headers = endpoint.requests[0].headers
    assert (headers["x-title"], headers["authorization"]) == ("Test", "Basic x")


MERGES = [
    ({"a": 1}, {"b": 2}, {"a": 1, "b": 2}, "a new key"),
    ({"a": 1}, {"a": 2}, {"a": 2}, "replaced"),
    ({"a": {"x": 1, "y": 2}}, {"a": {"y": 3, "z": 4}}, {"a": {"x": 1, "y": 3, "z": 4}}, "object into object"),
    ({"a": 1}, {"a": {"x": 1}}, {"a": {"x": 1}}, "an object for a value"),
    ({"a": 1, "b": 2}, {"a": None}, {"b": 2}, "null takes a key out"),
    ({}, {"a": {"b": None, "c": 1}}, {"a": {"c": 1}}, "also inside"),
    ({"a": [1]}, {"a": [2]}, {"a": [2]}, "lists are values"),
]


@pytest.mark.parametrize(("body", "extra", "expected", "reason"), MERGES)
def test_extra_bodies_are_merged(body: dict[str, Any], extra: dict[str, Any], expected: dict[str, Any],
                                 reason: str) -> None:
    before = json.dumps(body)
    assert merged(body, extra) == expected, reason
    assert json.dumps(body) == before


def test_the_extra_body_is_sent() -> None:
    with StubEndpoint([React(vendor_body("gemini", "Hallo."))]) as endpoint:
        ask(opened(endpoint.url, "gemini", extra_body={"generationConfig": {"thinkingConfig": {"thinkingBudget": 0}}}))
    assert endpoint.requests[0].body["generationConfig"] == {
        "temperature": 0.5, "maxOutputTokens": 160, "thinkingConfig": {"thinkingBudget": 0}}


# --- what an endpoint refuses to be told ------------------------------------------------------------------------------

def refusing(vendor: str, *refusals: tuple[str, Any, int]) -> Any:
    """An endpoint that refuses a request while it holds one of the parameters: (parameter, error, status)."""

    def script(request: Request) -> React:
        sent = json.dumps(request.body)
        for parameter, error, status in refusals:
            if f'"{parameter}"' in sent:
                return React({"error": error}, status)
        return React(vendor_body(vendor, "Hallo."))

    return script


def message(text: str, **more: Any) -> dict[str, Any]:
    return {"message": text, **more}


LEARNED = [
    ("openai", ("temperature", message("Unsupported value: 'temperature' does not support 0.5 with this model.",
                                       param="temperature", code="unsupported_value"), 400),
     {"temperature": None}, "temperature refused: sent without"),
    ("openai", ("max_tokens", message("Unsupported parameter: 'max_tokens' is not supported with this model. Use "
                                      "'max_completion_tokens' instead.", param="max_tokens"), 400),
     {"max_tokens": None, "max_completion_tokens": 160}, "max_tokens refused: sent as max_completion_tokens"),
    ("openai", ("parallel_tool_calls", message("Unsupported parameter: 'parallel_tool_calls'"), 400),
     {"parallel_tool_calls": None}, PARALLEL_LEFT_OUT),
    ("openai", ("parallel_tool_calls", [{"loc": ["body", "parallel_tool_calls"], "msg": "Extra inputs"}], 422),
     {"parallel_tool_calls": None}, PARALLEL_LEFT_OUT),
    ("responses", ("temperature", message("Unsupported parameter: 'temperature'", param="temperature"), 400),
     {"temperature": None}, "temperature refused: sent without"),
    ("responses", ("parallel_tool_calls", message("unknown parallel_tool_calls"), 400),
     {"parallel_tool_calls": None}, PARALLEL_LEFT_OUT),
    ("anthropic", ("temperature", message("`temperature` is deprecated for this model."), 400),
     {"temperature": None}, "temperature refused: sent without"),
    ("anthropic", ("disable_parallel_tool_use",
                   message("tool_choice.disable_parallel_tool_use: Extra inputs are not permitted"), 400),
     {"tool_choice": {"type": "auto"}}, PARALLEL_LEFT_OUT),
    ("gemini", ("temperature", message("Temperature is not supported by this model", code=400), 400),
     {"generationConfig": {"maxOutputTokens": 160}}, "temperature refused: sent without"),
]


@pytest.mark.parametrize(("vendor", "refusal", "sent", "deviation"), LEARNED, ids=lambda v: None)
def test_what_is_refused_is_learned_once(vendor: str, refusal: tuple[str, Any, int], sent: dict[str, Any],
                                         deviation: str) -> None:
    with StubEndpoint(refusing(vendor, refusal)) as endpoint:
        provider = opened(endpoint.url, vendor)
        answers = [ask(provider) for _ in range(3)]
    assert len(endpoint.requests) == 4, "one request more, once"
    assert {key: endpoint.requests[-1].body.get(key) for key in sent} == sent
    assert [a.deviations for a in answers] == [(deviation,)] * 3
    assert Answer.from_json(answers[0].to_json()) == answers[0]


def test_several_refusals_are_learned_one_after_another() -> None:
    refusals = [refusal for vendor, refusal, _, _ in LEARNED[:3]]
    with StubEndpoint(refusing("openai", *refusals)) as endpoint:
        answer = ask(opened(endpoint.url))
    assert len(endpoint.requests) == 4
    assert set(endpoint.requests[-1].body) == {"model", "messages", "max_completion_tokens", "tools", "tool_choice"}
    assert len(answer.deviations) == 3


def test_many_threads_pay_at_most_one_request_each() -> None:
    script = refusing("openai", LEARNED[0][1])
    with StubEndpoint(lambda r: React(**{**vars(script(r)), "delay_s": 0.02})) as endpoint:
        provider = opened(endpoint.url)
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda _: ask(provider), range(40)))
    assert len(endpoint.requests) <= 48 and len(answers) == 40


def test_an_endpoint_that_only_streams_is_asked_to_stream() -> None:
    def script(request: Request) -> React:
        if not request.body.get("stream"):
            return React({"error": message("This model only supports stream mode, enable the stream parameter")}, 400)
        return React(b'data: {"choices": [{"delta": {"content": "Hallo."}, "finish_reason": "stop"}]}\n\n',
                     headers={"Content-Type": "text/event-stream; charset=utf-8"})

    with StubEndpoint(script) as endpoint:
        answer = ask(opened(endpoint.url))
    assert answer.message["content"] == "Hallo." and answer.deviations == (RULES["stream"].deviation,)


NOT_LEARNED = [
    (React({"error": message("model m does not exist")}, 404), RefusedRequestError, "another refusal"),
    (React({"error": message("max_tokens is too large: 160")}, 400), RefusedRequestError, "a limit, not the name"),
    (React({"error": message("maximum context length is 9, temperature")}, 400), ContextOverflowError, "an overflow"),
    (React({"error": message("temperature")}, 401), AuthError, "not the request's fault"),
    (React({"error": message('"auto" tool choice requires --enable-auto-tool-choice')}, 400), RefusedRequestError,
     "a server without a tool parser"),
    (React({"error": message("temperature is wrong whatever you do")}, 400), RefusedRequestError,
     "learned, and refused all the same"),
]


@pytest.mark.parametrize(("reaction", "kind", "reason"), NOT_LEARNED, ids=lambda v: None)
def test_other_refusals_stay_refusals(reaction: React, kind: type[ProviderError], reason: str) -> None:
    with StubEndpoint([reaction]) as endpoint, pytest.raises(ProviderError) as caught:
        ask(opened(endpoint.url))
    assert type(caught.value) is kind, reason
    assert len(endpoint.requests) <= 2


# --- a model's call that its server cannot read -----------------------------------------------------------------------

LLAMA = {"error": {"code": 500, "type": "server_error",
                   "message": "The model produced output that does not match the expected peg-native format"}}
GROQ = {"error": {"message": "Failed to call a function.", "code": "tool_use_failed",
                  "failed_generation": "<tool_call>{kaputt"}}


@pytest.mark.parametrize(("body", "status", "written"), [(LLAMA, 500, None), (GROQ, 400, "<tool_call>{kaputt")])
def test_a_call_that_the_server_cannot_read_is_the_models_answer(body: Any, status: int, written: str | None) -> None:
    with StubEndpoint([React(body, status)]) as endpoint:
        answer = ask(opened(endpoint.url))
    assert (answer.finish_reason, answer.message["content"], len(endpoint.requests)) == (MALFORMED, written, 1)
    assert answer.finish_reason_raw.startswith(f"HTTP {status}: ")
    reading = calls_from_message(answer.message, TOOLS, "native", answer.finish_reason)
    assert reading.broken and reading.calls is None


@pytest.mark.parametrize(("body", "status"), [(LLAMA, 500), (GROQ, 400)])
def test_without_tools_there_is_no_call_to_misread(body: Any, status: int) -> None:
    with StubEndpoint([React(body, status)]) as endpoint, pytest.raises(ProviderError):
        ask(opened(endpoint.url), native=False)
