"""What a run took, summed over its rows: tokens, seconds, attempts, who answered, and money where a price is known."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from infranode_eval.budget import Price, PriceTable

COUNTS = ("input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens")


@dataclass(frozen=True, slots=True)
class Tariff:
    """A price with its currency (None: as given on the command line) and where it comes from."""

    price: Price
    currency: str | None
    source: str


@dataclass(slots=True)
class Totals:
    """Grows row by row. A count that no row tells stays None; latencies in seconds, of the attempts that answered."""

    tokens: dict[str, int | None] = field(default_factory=lambda: dict.fromkeys(COUNTS))
    with_usage: int = 0
    latencies: array[float] = field(default_factory=lambda: array("d"))
    finish_reasons: Counter[str] = field(default_factory=Counter)
    served_models: Counter[str] = field(default_factory=Counter)
    served_by: Counter[str] = field(default_factory=Counter)
    attempts: int = 0

    def add(self, row: Mapping[str, Any]) -> None:
        """row: one of the results file."""
        self.attempts += row["attempts"]
        if row["reply"] is None:
            return
        usage = row["usage"] or {}
        self.with_usage += usage.get("input_tokens") is not None and usage.get("output_tokens") is not None
        for name in COUNTS:
            if usage.get(name) is not None:
                self.tokens[name] = (self.tokens[name] or 0) + usage[name]
        if row["latency_s"] is not None:
            self.latencies.append(row["latency_s"])
        self.finish_reasons[row["finish_reason"] or "none"] += 1
        if row.get("served_model"):
            self.served_models[row["served_model"]] += 1
        if row.get("served_by"):
            self.served_by[row["served_by"]] += 1

    def to_json(self, tariff: Tariff | None = None) -> dict[str, Any]:
        """The `totals` of a results file."""
        ordered = sorted(self.latencies)
        return {**self.tokens, "rows_with_usage": self.with_usage, "latency_p50_s": quantile(ordered, 0.5),
                "latency_p95_s": quantile(ordered, 0.95), "finish_reasons": _by_count(self.finish_reasons),
                "attempts": self.attempts, "served_models": _by_count(self.served_models),
                "served_by": _by_count(self.served_by), "cost": self._cost(tariff)}

    def _cost(self, tariff: Tariff | None) -> dict[str, Any] | None:
        """Of the rows that tell their tokens; input from a cache at its own price where there is one."""
        spent, received = self.tokens["input_tokens"], self.tokens["output_tokens"]
        if tariff is None or spent is None or received is None:
            return None
        price = tariff.price
        cached = min(self.tokens["cached_tokens"] or 0, spent) if price.cached is not None else 0
        amount = (spent - cached) * price.price_in + cached * (price.cached or 0.0) + received * price.price_out
        return {"amount": round(amount / 1_000_000, 6), "currency": tariff.currency, "source": tariff.source}


def list_price(table: PriceTable) -> str:
    """The source of a cost that a table of list prices gives."""
    return f"list price of {table.as_of}, unchecked"


def _by_count(counter: Counter[str]) -> dict[str, int]:
    return dict(sorted(counter.items(), key=lambda item: (-item[1], item[0])))


def quantile(ordered: Sequence[float], share: float) -> float | None:
    """Linear interpolation between order statistics, to a tenth of a millisecond; None without any."""
    if not ordered:
        return None
    position = share * (len(ordered) - 1)
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return round(ordered[below] + (ordered[above] - ordered[below]) * (position - below), 4)
