"""What a run cost: billed where a provider says so, else estimated; list price beside it, and what caching changes.

Pure. Prices are per million tokens, in the currency of the price table. Source: specification, db_routing, 51 to 56.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from infranode_eval.budget import MILLION, Price
from infranode_eval.providers.token_usage import normal_usage

WRITE = {"anthropic": 1.25}     # writing into a cache to plain input, by backend; the price table has no such price
_WRITTEN = (("cache_creation_input_tokens",), ("prompt_tokens_details", "cache_write_tokens"))


@dataclass(frozen=True, slots=True)
class Rates:
    """Prices of input and output; read and write: what input from a cache, and into it, costs of the input's price."""

    price_in: float
    price_out: float
    read: float = 1.0
    write: float = 1.0

    @classmethod
    def of(cls, price: Price, write: float = 1.0) -> Rates:
        """From a row of the price table, which has no price of writing; without a cache price reading saves nothing."""
        read = price.cached / price.price_in if price.cached is not None and price.price_in else 1.0
        return cls(price.price_in, price.price_out, read, write)


class Tokens(NamedTuple):
    """The tokens of one call; the first three are its input."""

    uncached: int
    written: int
    read: int
    output: int

    @property
    def cached(self) -> bool:
        """Did a cache take part?"""
        return bool(self.written or self.read)

    def list_price(self, rates: Rates) -> float:
        """As if there were no cache."""
        fresh = self.uncached + self.written + self.read
        return (fresh * rates.price_in + self.output * rates.price_out) / MILLION

    def price(self, rates: Rates) -> float:
        """uncached·p + write·w·p + read·r·p + out·q."""
        weighted = self.uncached + self.written * rates.write + self.read * rates.read
        return (weighted * rates.price_in + self.output * rates.price_out) / MILLION


def tokens_of(usage: Mapping[str, Any] | None) -> Tokens | None:
    """From the counts as received, whichever vendor counted them; None unless input and output are told."""
    counts = normal_usage(usage)
    if usage is None or counts is None or counts["input_tokens"] is None or counts["output_tokens"] is None:
        return None
    read = counts["cached_tokens"] or 0
    written = next((n for path in _WRITTEN if (n := _whole(usage, path)) is not None), 0)
    return Tokens(max(0, counts["input_tokens"] - read - written), written, read, counts["output_tokens"])


def _whole(usage: Mapping[str, Any], path: Iterable[str]) -> int | None:
    value: Any = usage
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def reported(usage: Mapping[str, Any] | None) -> float | None:
    """What the provider says it bills for a call (routers do, vendors do not); None where it says nothing."""
    cost = usage.get("cost") if usage is not None else None
    if isinstance(cost, bool) or not isinstance(cost, (int, float)):
        return None
    return float(cost) if 0 <= cost < math.inf else None


@dataclass(frozen=True, slots=True)
class Cost:
    """Of so many calls; counted: those that tell their tokens, cached: those of them in which a cache took part.

    listed: the list price of the counted calls, as if nothing were cached; estimate: with the cache's rates; both are
    None without rates. billed: what the provider says; None unless it says so for every call.
    """

    calls: int
    counted: int
    cached: int
    listed: float | None
    estimate: float | None
    billed: float | None

    @property
    def amount(self) -> float | None:
        """Billed, else estimated: an order of magnitude."""
        return self.estimate if self.billed is None else self.billed

    @property
    def estimated(self) -> bool:
        return self.billed is None

    @property
    def saving(self) -> float | None:
        """By how much the amount lies below list price, 0–1; negative where writing cost more than reading saved."""
        return saving(self.amount, self.listed) if self.amount is not None and self.listed else None


def saving(paid: float, listed: float) -> float:
    """One minus paid over listed. Raise ValueError for a list price that is not positive."""
    if not listed > 0:
        raise ValueError(f"a saving is a share of a positive list price, found {listed}")
    return 1 - paid / listed


def cost_of(calls: Iterable[Mapping[str, Any]], rates: Rates | None) -> Cost:
    """Of the `calls` of transcripts, one object an API call."""
    usages = [call.get("usage") for call in calls]
    counted = [tokens for tokens in map(tokens_of, usages) if tokens is not None]
    told = [cost for cost in map(reported, usages) if cost is not None]
    listed = estimate = None
    if rates is not None:
        listed = math.fsum(tokens.list_price(rates) for tokens in counted)
        estimate = math.fsum(tokens.price(rates) for tokens in counted)
    return Cost(len(usages), len(counted), sum(tokens.cached for tokens in counted), listed, estimate,
                math.fsum(told) if usages and len(told) == len(usages) else None)


def written_in_finalisation(calls: Iterable[Mapping[str, Any]]) -> int:
    """Tokens that finalisations have written to a cache, which nothing ever reads: a warning if it is not 0."""
    final = [tokens_of(call.get("usage")) for call in calls if call["kind"] == "final"]
    return sum(tokens.written for tokens in final if tokens is not None)


def upstreams(calls: Iterable[Mapping[str, Any]]) -> list[str]:
    """Whom the calls were answered by, each once, by name."""
    return sorted({call["provider"] for call in calls if call.get("provider")})


class PermutationPrice(NamedTuple):
    """What another tool order for each question costs. reads: what a prefix read from the cache would have saved.

    premium: what writing each prefix costs above plain input, where the vendor charges for it.
    """

    reads: float
    premium: float

    @property
    def both(self) -> float:
        return self.reads + self.premium


def price_of_permutation(prefix_tokens: int, questions: int, rates: Rates) -> PermutationPrice:
    """prefix × questions × (1 − r) × p, and × (w − 1) × p for the write premium."""
    tokens = prefix_tokens * questions * rates.price_in / MILLION
    return PermutationPrice(tokens * (1 - rates.read), tokens * (rates.write - 1))
