"""Seeded draws for the rows of the panel: the same on every Python and every system.

Only `random()` of the standard generator is used, and only + - * /: its other methods may change between versions, and
functions such as exp or cos differ in their last bit between systems; no `sum` of floats, for that changed in 3.12.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta
from functools import cache
from typing import Any, TypeVar

from infranode_eval.shipped import read_shipped

T = TypeVar("T")
Row = dict[str, Any]
Made = Mapping[str, list[Row]]      # table → its rows, of the tables made before
_BELL = 12                          # so many uniform draws add up to a bell of variance 1


class Draw:
    """Draws for one table of one database."""

    def __init__(self, database: str, table: str, seed: int) -> None:
        self._random = random.Random(f"{database}/{table}/{seed}").random

    def below(self, n: int) -> int:
        """A whole number from 0 to n - 1."""
        return int(self._random() * n)

    def between(self, low: int, high: int) -> int:
        """A whole number from `low` to `high`, both included."""
        return low + self.below(high - low + 1)

    def chance(self, probability: float) -> bool:
        return self._random() < probability

    def maybe(self, probability: float, value: T) -> T | None:
        """The value with this probability, else None."""
        return value if self.chance(probability) else None

    def pick(self, values: Sequence[T]) -> T:
        """Each value as often as any other."""
        return values[self.below(len(values))]

    def skewed(self, values: Sequence[T], power: int = 2) -> T:
        """Early values more often; with power 2 the first tenth comes in about a third of the draws."""
        share = 1.0
        for _ in range(power):
            share *= self._random()
        return values[int(share * len(values))]

    def weighted(self, weights: Mapping[T, float]) -> T:
        """A key, as often as its weight says."""
        left = self._random() * _total(weights.values())
        for value, weight in weights.items():
            left -= weight
            if left < 0:
                return value
        return next(reversed(weights))

    def around(self, mean: float, spread: float, digits: int = 2) -> float:
        """Bell-shaped around the mean, at most six spreads off, rounded."""
        bell = _total(self._random() for _ in range(_BELL)) - _BELL / 2
        return round(mean + spread * bell, digits)

    def day(self, first: str, last: str, months: Mapping[int, float] | None = None) -> str:
        """An ISO day from `first` to `last`; months: how often a month comes against the others (1)."""
        start, days = date.fromisoformat(first), _days(first, last)
        weights = months or {}
        most = max([1.0, *weights.values()])
        while True:
            day = start + timedelta(days=self.below(days + 1))
            if self._random() * most < weights.get(day.month, 1.0):
                return day.isoformat()

    def clock(self, first: str, last: str) -> str:
        """A time HH:MM from `first` to `last`."""
        return clock(self.between(minutes_of(first), minutes_of(last)))

    def person(self) -> str:
        """A first and a last name, both skewed."""
        return f"{self.skewed(names('first_names'))} {self.skewed(names('last_names'))}"


def _total(values: Iterable[float]) -> float:
    """Added one after the other: `sum` of floats gives another last bit from Python 3.12 on."""
    total = 0.0
    for value in values:
        total += value
    return total


def later(day: str, days: int) -> str:
    """The ISO day so many days later."""
    return (date.fromisoformat(day) + timedelta(days=days)).isoformat()


def until(day: str, last: str) -> str | None:
    """The day unless it comes after the last one: what has not happened yet is NULL."""
    return day if day <= last else None


def weekday(day: str) -> int:
    """0 = Monday … 6 = Sunday."""
    return date.fromisoformat(day).weekday()


def clock(minutes: int) -> str:
    """Minutes since midnight as HH:MM; past midnight it begins anew."""
    return f"{minutes // 60 % 24:02d}:{minutes % 60:02d}"


def minutes_of(time: str) -> int:
    return int(time[:2]) * 60 + int(time[3:5])


def days_from(first: str, last: str) -> list[str]:
    """Every ISO day from `first` to `last`."""
    return [later(first, number) for number in range(_days(first, last) + 1)]


def _days(first: str, last: str) -> int:
    return (date.fromisoformat(last) - date.fromisoformat(first)).days


def names(kind: str) -> list[Any]:
    """A list of data/db_routing/lists.json: towns, first_names, last_names, firms, products …"""
    return _lists()[kind]


@cache
def _lists() -> dict[str, list[Any]]:
    return read_shipped("db_routing/lists.json")
