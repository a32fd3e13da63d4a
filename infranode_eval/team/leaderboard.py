"""The arithmetic of a published board: do its printed cells fit together, and who is on the front of cost and score?

Pure. Cells are decimals in per cent as they were printed, so that nothing is lost to binary fractions. Source:
specification, team, section 8.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, TypeVar

Number = TypeVar("Number", float, Decimal)
HALF_A_STEP = Decimal("0.05")       # what a printed cell with one decimal may hide


@dataclass(frozen=True, slots=True)
class BoardRow:
    """One published row: shares in per cent, cost in US dollars, passed rounds as a count."""

    model: str
    tcr: Decimal
    tpp: Decimal
    roc: Decimal
    wpp: Decimal
    mca: Decimal
    sms: Decimal
    cost: Decimal
    passed: int

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> BoardRow:
        """A row of data/team/published.json. Raise KeyError for a missing cell."""
        cells = (Decimal(str(value[name])) for name in ("tcr", "tpp", "roc", "wpp", "mca", "sms", "cost"))
        return cls(value["model"], *cells, value["passed"])

    @property
    def computed(self) -> Decimal:
        """SMS from the printed cells, not rounded."""
        return _sms(self.tcr, self._factors)

    @property
    def bounds(self) -> tuple[Decimal, Decimal]:
        """The least and the greatest SMS that cells rounded to the printed ones can give."""
        low, high = (_sms(self.tcr + step, self._factors + 4 * step) for step in (-HALF_A_STEP, HALF_A_STEP))
        return low, high

    @property
    def fits(self) -> bool:
        """Can one and the same run have given its cells and its printed SMS, all of them rounded?"""
        low, high = self.bounds
        return low - HALF_A_STEP <= self.sms <= high + HALF_A_STEP

    @property
    def _factors(self) -> Decimal:
        return self.tpp + self.roc + self.wpp + self.mca


def _sms(tcr: Decimal, factors: Decimal) -> Decimal:
    return tcr * factors / 400


def rounded(value: Decimal, places: int = 1) -> Decimal:
    """Half up, as people round."""
    return value.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)


def percentage(part: int, whole: int) -> Decimal:
    """Of two counts, in per cent with one decimal, rounded half up."""
    return rounded(Decimal(100 * part) / whole)


def span(values: Iterable[Decimal]) -> Decimal:
    """How many times the least the greatest is. Raise ValueError without values."""
    values = list(values)
    return max(values) / min(values)


def pareto_front(points: Sequence[tuple[Number | None, Number | None]]) -> tuple[int, ...]:
    """Which (cost, score) pairs none dominates: their positions, in the order of the input.

    One dominates another if it costs no more, scores no less, and is strictly better in one of the two; so equal pairs
    are both on the front. A pair without a cost or a score is left out: it neither is on the front nor dominates.
    """
    known = [(place, cost, score) for place, (cost, score) in enumerate(points)
             if cost is not None and score is not None]
    return tuple(place for place, cost, score in known
                 if not any(c <= cost and s >= score and (c < cost or s > score) for _, c, s in known))
