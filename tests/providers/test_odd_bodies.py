"""Whatever stands in a body, it is an answer or one of the project's errors; anything else would end a run."""

from __future__ import annotations

import json
import random
from http.client import HTTPMessage
from typing import Any

import pytest

from infranode_eval.providers import open_provider
from infranode_eval.providers.connections import Response
from infranode_eval.providers.protocol import Answer, ProviderOptions, Sampling
from infranode_eval.providers.token_usage import normal_usage
from lm_eval_task.errors import ProviderError
from lm_eval_task.parse import calls_from_message
from tests.providers.test_vendors import ASKED, STREAMS, TOOLS
from tests.stub_endpoint import VENDORS, event_stream, vendor_body

ODD = (None, True, 0, -1, 1.5, 10**30, "", "x", "\ud800", [], [[]], [None], {}, {"a": None}, {"type": []},
       [{"type": {}}], [{"text": 1}], {"message": {}}, [{"function": "f"}], {"code": []}, {"code": "429"},
       {"parts": 1}, [[{}]])
SEEDS = range(40)


def mutated(value: Any, rng: random.Random, chance: float = 0.06) -> Any:
    """The value with some of its parts replaced, removed or doubled."""
    if rng.random() < chance:
        return rng.choice(ODD)
    if isinstance(value, dict):
        return {key: mutated(inner, rng, chance) for key, inner in value.items() if rng.random() > chance / 2}
    if isinstance(value, list):
        kept = [mutated(inner, rng, chance) for inner in value]
        return kept + kept[:1] if rng.random() < chance else kept
    return value


def read(vendor: str, status: int, body: bytes, content_type: str = "application/json") -> Answer | ProviderError:
    headers = HTTPMessage()
    headers["Content-Type"] = content_type
    provider = open_provider(vendor, ProviderOptions("m", TOOLS, "http://h/v1", "sk-0123456789"))
    provider._connections.post = lambda *_: Response(status, headers, body, 0.1)
    try:
        return provider.ask(ASKED, TOOLS.to_json(), Sampling(160))
    except ProviderError as error:
        return error


def check(result: Answer | ProviderError) -> None:
    if isinstance(result, Answer):
        assert Answer.from_json(json.loads(json.dumps(result.to_json()))) == result
        normal_usage(result.usage)
        calls_from_message(result.message, TOOLS, "native", result.finish_reason)
    else:
        assert "\n" not in str(result)


@pytest.mark.parametrize("vendor", VENDORS)
@pytest.mark.parametrize("seed", SEEDS)
def test_bodies_with_odd_parts(vendor: str, seed: int) -> None:
    rng = random.Random(f"{vendor} {seed}")
    answers = 0
    for _ in range(40):
        body = vendor_body(vendor, "Ich sehe nach.", ("weather", {"slug": "koeln"}), "Hm.", error=None)
        result = read(vendor, rng.choice((200, 200, 200, 400, 500)), json.dumps(mutated(body, rng)).encode())
        check(result)
        answers += isinstance(result, Answer)
    assert answers, "some are only a little odd"


@pytest.mark.parametrize("vendor", VENDORS)
@pytest.mark.parametrize("seed", SEEDS)
def test_streams_with_odd_parts(vendor: str, seed: int) -> None:
    rng = random.Random(f"stream {vendor} {seed}")
    events = [json.loads(part[6:]) for part in STREAMS[vendor].split(b"\n\n") if part and part != b"data: [DONE]"]
    for _ in range(20):
        odd = [mutated(event, rng, 0.03) for event in events]
        if rng.random() < 0.3:
            rng.shuffle(odd)
        check(read(vendor, 200, event_stream(*odd), "text/event-stream"))


@pytest.mark.parametrize("vendor", VENDORS)
@pytest.mark.parametrize("status", (200, 400, 403, 429, 500, 529))
def test_errors_of_odd_shape(vendor: str, status: int) -> None:
    for odd in ODD:
        for body in (odd, {"error": odd}, {"error": {"message": odd, "code": odd, "type": odd, "param": odd}},
                     {"error": {"details": odd}}, {"error": {"details": [odd]}}, [{"error": odd}], {"detail": odd}):
            check(read(vendor, status, json.dumps(body).encode()))
