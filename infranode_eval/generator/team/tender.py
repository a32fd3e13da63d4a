"""A tender: the positions of the works, what is offered for them, and the points of an offer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Position:
    """One line of the works. optional: only on special order, and not counted. price: in Euro, around which all bid."""

    number: int
    title: str
    optional: bool
    amount: int
    unit: str
    price: int


@dataclass(frozen=True, slots=True)
class Offer:
    """prices: cents by number of position. percent: of a discount, which counts if `plain`. weeks: to build."""

    prices: Mapping[int, int]
    percent: int
    plain: bool
    weeks: int

    def total(self, works: Sequence[Position], *, optional: bool = False, discount: bool | None = None) -> int:
        """The checked sum in cents, or what a slip makes of it: optional positions counted, a discount (not) taken."""
        taken = self.plain if discount is None else discount
        sums = sum(p.amount * self.prices[p.number] for p in works if optional or not p.optional)
        return rounded(Fraction(sums * (100 - self.percent * taken), 100))


def rounded(value: Fraction) -> int:
    """Half up."""
    return int(value + Fraction(1, 2))


def updated(estimate: int, read: tuple[int, int]) -> int:
    """An estimate after the index has gone from read[0] to read[1]."""
    return rounded(Fraction(estimate * read[1], read[0]))


def points(sums: Mapping[str, int], weeks: Mapping[str, int]) -> dict[str, int]:
    """Hundredths for each of the offers that count."""
    lowest, shortest = min(sums.values()), min(weeks[name] for name in sums)
    return {name: rounded((Fraction(70 * lowest, total) + Fraction(30 * shortest, weeks[name])) * 100)
            for name, total in sums.items()}
