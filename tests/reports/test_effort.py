"""Tokens, seconds and money of a run: from both spellings of usage, None where nothing is told."""

from __future__ import annotations

from typing import Any

import pytest

from infranode_eval.budget import Price
from infranode_eval.reports.effort import Effort, effort_of, price_named


def row(usage: Any = None, latency: Any = None) -> dict[str, Any]:
    return {"usage": usage, "latency_s": latency}


OURS = {"input_tokens": 1000, "output_tokens": 50, "cached_tokens": 800, "reasoning_tokens": None}
OPENAI = {"prompt_tokens": 1000, "completion_tokens": 50, "prompt_tokens_details": {"cached_tokens": 800}}


@pytest.mark.parametrize(("usage", "why"), [(OURS, "as run_eval.py stores it"), (OPENAI, "as older files hold it")])
def test_both_spellings_give_the_same_numbers(usage: dict[str, Any], why: str) -> None:
    found = effort_of([row(usage)] * 3, Price(2.0, 10.0, 0.5))
    assert (found.input_tokens, found.output_tokens, found.tokens) == (1000, 50, 1050), why
    assert found.cost == pytest.approx(1000 * (200 * 2.0 + 800 * 0.5 + 50 * 10.0) / 1e6), why


def test_without_a_cache_price_all_input_costs_the_same() -> None:
    assert effort_of([row(OURS)], Price(2.0, 10.0)).cost == pytest.approx(1000 * (1000 * 2.0 + 50 * 10.0) / 1e6)


@pytest.mark.parametrize(("rows", "why"), [
    ([], "no rows"),
    ([row()], "nothing stored"),
    ([row("many", "fast")], "texts"),
    ([row({}, -1)], "no counts, a clock that ran backwards"),
    ([row({"input_tokens": True, "output_tokens": None}, True)], "truth values"),
])
def test_nothing_told_is_none_and_never_zero(rows: list[dict[str, Any]], why: str) -> None:
    found = effort_of(rows, Price(1.0, 1.0))
    assert (found.output_tokens, found.latency_p50, found.latency_p95, found.cost) == (None,) * 4, why


def test_rows_that_tell_nothing_move_no_mean() -> None:
    assert effort_of([row(OURS, 1.0), row(), row(OURS, 3.0)]) == Effort(1000, 50, 2.0, 2.9)


@pytest.mark.parametrize(("model", "found"), [("gpt-x", True), ("openai/gpt-x", True), ("gpt-x-large", False)])
def test_a_router_may_name_the_vendor(model: str, found: bool) -> None:
    assert (price_named({"gpt-x": Price(1.0, 2.0)}, model) is not None) == found
