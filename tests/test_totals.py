"""What a run took: sums over rows that tell, nothing made up for those that do not."""

from __future__ import annotations

from typing import Any

import pytest

from infranode_eval.budget import Price
from infranode_eval.totals import Tariff, Totals, quantile


def row(usage: dict[str, int | None] | None, latency_s: float | None = 0.5, **more: Any) -> dict[str, Any]:
    return {"attempts": 1, "reply": {}, "usage": usage, "latency_s": latency_s, "finish_reason": "stop"} | more


def usage(spent: int | None, received: int | None, cached: int | None = None) -> dict[str, int | None]:
    return {"input_tokens": spent, "output_tokens": received, "cached_tokens": cached, "reasoning_tokens": None}


def totals(*rows: dict[str, Any]) -> Totals:
    made = Totals()
    for one in rows:
        made.add(one)
    return made


def test_sums_counts_and_quantiles() -> None:
    made = totals(row(usage(100, 10, 60), 1.0, served_model="a"),
                  row(usage(200, 20), 3.0, served_model="b", served_by="x"),
                  row(None, None, attempts=4, finish_reason=None), row(usage(50, None), 2.0, served_model="a"),
                  row(None, None, reply=None, attempts=5, served_model=None)).to_json()
    assert made == {"input_tokens": 350, "output_tokens": 30, "cached_tokens": 60, "reasoning_tokens": None,
                    "rows_with_usage": 2, "latency_p50_s": 2.0, "latency_p95_s": 2.9, "attempts": 12,
                    "finish_reasons": {"stop": 3, "none": 1}, "served_models": {"a": 2, "b": 1}, "served_by": {"x": 1},
                    "cost": None}


@pytest.mark.parametrize(("price", "amount", "reason"), [
    (Price(2.0, 10.0), 3.0, "input and output each at its price"),
    (Price(2.0, 10.0, 0.5), 2.25, "what came from the cache at the cache's price"),
])
def test_cost(price: Price, amount: float, reason: str) -> None:
    made = totals(row(usage(1_000_000, 100_000, 500_000))).to_json(Tariff(price, "USD", "list"))
    assert made["cost"] == {"amount": amount, "currency": "USD", "source": "list"}, reason


def test_without_token_counts_there_is_no_cost() -> None:
    assert totals(row(None)).to_json(Tariff(Price(1, 1), None, "as given"))["cost"] is None


@pytest.mark.parametrize(("values", "share", "expected"), [([], 0.5, None), ([3.0], 0.95, 3.0), ([1.0, 2.0], 0.5, 1.5)])
def test_quantile(values: list[float], share: float, expected: float | None) -> None:
    assert quantile(values, share) == expected
