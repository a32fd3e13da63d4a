"""What a run's answers took: tokens, seconds, and money where a list price is known.

Pure. Rows of older files hold token counts as the endpoint named them; both spellings are read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from infranode_eval.budget import MILLION, Price
from infranode_eval.providers.token_usage import NAMES, normal_usage
from infranode_eval.reports.archive import is_number
from infranode_eval.totals import quantile


@dataclass(frozen=True, slots=True)
class Effort:
    """Means per task over the rows that tell. latency_*: seconds of the answering attempt; each None where unknown.

    cost: per 1,000 tasks in the currency of the price list.
    """

    input_tokens: float | None = None
    output_tokens: float | None = None
    latency_p50: float | None = None
    latency_p95: float | None = None
    cost: float | None = None

    @property
    def tokens(self) -> float | None:
        """In and out together."""
        if self.input_tokens is None or self.output_tokens is None:
            return None
        return self.input_tokens + self.output_tokens


def effort_of(rows: Iterable[Mapping[str, Any]], price: Price | None = None) -> Effort:
    """rows: those of a result file, as stored."""
    usages, seconds = [], []
    for row in rows:
        usage = _usage(row.get("usage"))
        if usage is not None:
            usages.append(usage)
        if is_number(row.get("latency_s")) and row["latency_s"] >= 0:
            seconds.append(float(row["latency_s"]))
    seconds.sort()
    spent, received = _mean(usages, "input_tokens"), _mean(usages, "output_tokens")
    return Effort(spent, received, quantile(seconds, 0.5), quantile(seconds, 0.95),
                  _cost(usages, price) if price and spent is not None and received is not None else None)


def price_named(prices: Mapping[str, Price], model: str) -> Price | None:
    """The list price of a model, also where a router puts the vendor before its name."""
    return prices.get(model) or prices.get(model.rpartition("/")[2])


def _usage(stored: Any) -> Mapping[str, int | None] | None:
    if not isinstance(stored, dict):
        return None
    usage = normal_usage(stored) or {}
    direct = {name: stored[name] for name in NAMES if _is_count(stored.get(name))}
    return {**usage, **direct} if stored.keys() <= set(NAMES) else usage


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _mean(usages: Iterable[Mapping[str, int | None]], name: str) -> float | None:
    counts = [n for u in usages if (n := u.get(name)) is not None]
    return sum(counts) / len(counts) if counts else None


def _cost(usages: Iterable[Mapping[str, int | None]], price: Price) -> float | None:
    """Input read from a cache at its own price, where the list has one."""
    total, told = 0.0, 0
    for usage in usages:
        spent, received = usage.get("input_tokens"), usage.get("output_tokens")
        if spent is None or received is None:
            continue
        cached = min(usage.get("cached_tokens") or 0, spent) if price.cached is not None else 0
        total += (spent - cached) * price.price_in + cached * (price.cached or 0.0) + received * price.price_out
        told += 1
    return 1000 * total / told / MILLION if told else None
