"""Costs: token counts of several vendors, list and billed price, and what caching changes, by hand."""

from __future__ import annotations

from typing import Any

import pytest

from infranode_eval.budget import Price
from infranode_eval.db_routing.costs import (
    Cost,
    PermutationPrice,
    Rates,
    Tokens,
    cost_of,
    price_of_permutation,
    reported,
    saving,
    tokens_of,
    upstreams,
    written_in_finalisation,
)

RATES = Rates(5.0, 25.0, read=0.1, write=1.25)


@pytest.mark.parametrize("usage, tokens, why", [
    ({"prompt_tokens": 6000, "completion_tokens": 50}, Tokens(6000, 0, 0, 50), "no cache"),
    ({"prompt_tokens": 6000, "completion_tokens": 50, "prompt_tokens_details": {"cached_tokens": 2000}},
     Tokens(4000, 0, 2000, 50), "OpenAI counts reads among the prompt"),
    ({"prompt_tokens": 6000, "completion_tokens": 50,
      "prompt_tokens_details": {"cached_tokens": 2000, "cache_write_tokens": 1000}}, Tokens(3000, 1000, 2000, 50),
     "a router counts writes there, too"),
    ({"input_tokens": 100, "output_tokens": 50, "cache_read_input_tokens": 2000, "cache_creation_input_tokens": 1000},
     Tokens(100, 1000, 2000, 50), "Anthropic counts both apart"),
    ({"promptTokenCount": 6000, "cachedContentTokenCount": 500, "candidatesTokenCount": 20, "thoughtsTokenCount": 30},
     Tokens(5500, 0, 500, 50), "Gemini bills thoughts as output"),
    ({"prompt_tokens": 10, "completion_tokens": 0, "prompt_tokens_details": {"cached_tokens": 16}},
     Tokens(0, 0, 16, 0), "a server that rounds reads up: never below 0"),
    ({"prompt_tokens": 6000}, None, "no output told"),
    ({}, None, "nothing told"),
    (None, None, "no usage"),
])
def test_tokens_of(usage, tokens, why):
    assert tokens_of(usage) == tokens, why


def test_cache_arithmetic_by_hand():
    """3,000·5 + 1,000·1.25·5 + 2,000·0.1·5 + 100·25 = 15,000 + 6,250 + 1,000 + 2,500, over a million."""
    tokens = Tokens(3000, 1000, 2000, 100)
    assert tokens.price(RATES) == pytest.approx(0.02475)
    assert tokens.list_price(RATES) == pytest.approx(0.0325), "6,000·5 + 100·25"
    assert tokens.price(Rates(5.0, 25.0)) == tokens.list_price(RATES), "without cache prices nothing changes"


@pytest.mark.parametrize("price, write, rates", [
    (Price(5.0, 25.0, 0.5), 1.25, Rates(5.0, 25.0, 0.1, 1.25)),
    (Price(5.0, 25.0), 1.0, Rates(5.0, 25.0, 1.0, 1.0)),
    (Price(0.0, 0.0, 0.0), 1.0, Rates(0.0, 0.0, 1.0, 1.0)),
])
def test_rates_of_the_price_table(price, write, rates):
    assert Rates.of(price, write) == rates


@pytest.mark.parametrize("usage, cost", [
    ({"cost": 0.25}, 0.25), ({"cost": 0}, 0.0), ({"cost": "0.25"}, None), ({"cost": True}, None), ({"cost": -1}, None),
    ({"cost": float("nan")}, None), ({}, None), (None, None)])
def test_reported(usage, cost):
    assert reported(usage) == cost


def call(usage: dict[str, Any] | None, kind: str = "tool", provider: str | None = "A") -> dict[str, Any]:
    return {"kind": kind, "usage": usage, "provider": provider, "tool_calls": []}


PLAIN = {"prompt_tokens": 1000, "completion_tokens": 100}                                     # 0.0075
CACHED = PLAIN | {"prompt_tokens_details": {"cached_tokens": 800}}                              # 0.0039


@pytest.mark.parametrize("usages, rates, expected, why", [
    ([PLAIN, CACHED], RATES, Cost(2, 2, 1, 0.015, 0.0114, None), "estimated from the price table"),
    ([PLAIN | {"cost": 0.007}, CACHED | {"cost": 0.003}], RATES, Cost(2, 2, 1, 0.015, 0.0114, 0.01), "billed"),
    ([PLAIN | {"cost": 0.007}, CACHED], RATES, Cost(2, 2, 1, 0.015, 0.0114, None), "one call says nothing: estimated"),
    ([PLAIN, None], RATES, Cost(2, 1, 0, 0.0075, 0.0075, None), "a call without counts is not guessed"),
    ([PLAIN], None, Cost(1, 1, 0, None, None, None), "no price"),
    ([PLAIN | {"cost": 0.5}], None, Cost(1, 1, 0, None, None, 0.5), "billed without a list price"),
    ([], RATES, Cost(0, 0, 0, 0.0, 0.0, None), "no call"),
])
def test_cost_of(usages, rates, expected, why):
    found = cost_of(map(call, usages), rates)
    assert (found.calls, found.counted, found.cached) == (expected.calls, expected.counted, expected.cached), why
    for name in ("listed", "estimate", "billed"):
        wanted = getattr(expected, name)
        assert getattr(found, name) == (None if wanted is None else pytest.approx(wanted)), (name, why)


def test_amount_and_saving():
    billed = cost_of([call(PLAIN | {"cost": 0.006}), call(PLAIN | {"cost": 0.003})], RATES)
    assert (billed.amount, billed.estimated) == (pytest.approx(0.009), False)
    assert billed.saving == pytest.approx(0.4), "0.009 of 0.015"
    estimated = cost_of([call(CACHED)], RATES)
    assert (estimated.amount, estimated.estimated) == (pytest.approx(0.0039), True)
    assert cost_of([call(PLAIN)], None).saving is None and cost_of([], RATES).saving is None
    written = cost_of([call({"input_tokens": 0, "output_tokens": 0, "cache_creation_input_tokens": 1000})], RATES)
    assert written.saving == pytest.approx(-0.25), "writing that nobody reads costs more than no cache"


def test_saving_needs_a_list_price():
    with pytest.raises(ValueError):
        saving(1.0, 0.0)


def test_writes_of_the_finalisation():
    written = {"input_tokens": 1, "output_tokens": 1, "cache_creation_input_tokens": 700}
    calls = [call(written), call(written, "final"), call(PLAIN, "final"), call(None, "final")]
    assert written_in_finalisation(calls) == 700, "those of tool turns are meant to be"


def test_upstreams():
    assert upstreams([call(PLAIN), call(PLAIN, provider="C"), call(PLAIN, provider=None), call(PLAIN)]) == ["A", "C"]


def test_price_of_permutation():
    """1,000 × 100 tokens at 5 a million are 0.5: 0.9 of it not read, 0.25 of it for writing."""
    found = price_of_permutation(1000, 100, RATES)
    assert found == PermutationPrice(pytest.approx(0.45), pytest.approx(0.125))
    assert found.both == pytest.approx(0.575)
    assert price_of_permutation(1000, 100, Rates(5.0, 25.0)) == (0.0, 0.0), "no cache, no price"
