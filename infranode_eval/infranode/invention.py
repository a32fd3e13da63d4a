"""Deterministic invented values: a draw from a hash, shaped by one row of the rule table.

Pure: no file, clock or random. The table is data/snapshot_rules.json, which says in words that its values are invented.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from lm_eval_task.errors import DataError

_SMALL_CITY, _SPAN = 100_000, math.log(38)      # inhabitants of the smallest city; ln(largest / smallest)
_DRAWN = frozenset(("number", "rows", "choice", "flag", "near", "id"))


def draw(seed: str, city: str, key: str, field: str, index: int = 0) -> float:
    """A fraction 0 <= f < 1: the first 7 bytes of a sha256 over the parts joined by "|", divided by 2**56."""
    digest = sha256(f"{seed}|{city}|{key}|{field}|{index}".encode()).digest()
    return min(int.from_bytes(digest[:7], "big") / 2**56, 1 - 2**-53)


@dataclass(frozen=True, slots=True)
class Rule:
    """How one field gets its value. Only the attributes that its kind needs are set; see the file's `_about`."""

    key: str
    field: str
    kind: str
    proof: str
    unit: str = ""
    low: float = 0
    high: float = 0
    decimals: int = 0
    step: int = 0
    per: int = 0
    least: float | None = None
    null_share: float = 0.0
    share: float = 0.0
    spread: float = 0.0
    digits: int = 0
    is_float: bool = False
    values: tuple[Any, ...] = ()
    agrees: str = ""

    @classmethod
    def from_json(cls, row: Mapping[str, Any], lists: Mapping[str, Sequence[Any]]) -> Rule:
        """Read a row of the table; `list` names a list of the file. Raise DataError on a broken row."""
        given = dict(row)
        if "float" in given:
            given["is_float"] = given.pop("float")
        if "list" in given:
            given["values"] = lists[given.pop("list")]
        given["values"] = tuple(given.get("values", ()))
        try:
            return cls(**given)
        except TypeError as error:
            raise DataError(f"rule {row.get('key')}.{row.get('field')}: {error}", "snapshot_rules.json") from None

    @property
    def drawn(self) -> bool:
        """Whether a value can be drawn; computed fields and facts come from code and the facts file."""
        return self.kind in _DRAWN

    def shape(self, fraction: float, population: int = 0) -> Any:
        """The value for a drawn fraction; `population` matters for kind rows and for numbers with `per`."""
        if self.null_share:
            if fraction < self.null_share:
                return None
            fraction = (fraction - self.null_share) / (1 - self.null_share)
        if self.kind == "number":
            return self._number(fraction, population)
        if self.kind == "choice":
            return self.values[int(fraction * len(self.values))]
        if self.kind == "rows":
            return self._rows(fraction, population)
        if self.kind == "flag":
            return fraction < self.share
        if self.kind == "near":
            return round((fraction * 2 - 1) * self.spread, 5)
        if self.kind == "id":
            return f"{int(fraction * 10**self.digits):0{self.digits}d}"
        raise DataError(f"rule {self.key}.{self.field} is {self.kind}: nothing to draw", "snapshot_rules.json")

    def _number(self, fraction: float, population: int) -> float | int:
        value = self.low + fraction * (self.high - self.low)
        if self.per:
            value *= population / self.per
        if self.step:
            value = round(value / self.step) * self.step
        value = round(value, self.decimals)
        if self.least is not None:
            value = max(self.least, value)
        return float(value) if self.decimals or self.is_float else int(value)

    def _rows(self, fraction: float, population: int) -> int:
        """Between low and high, larger in larger cities, with a jitter of 15 % of the span to both sides."""
        size = min(1.0, max(0.0, math.log(max(population, _SMALL_CITY) / _SMALL_CITY) / _SPAN))
        share = size + (fraction - 0.5) * 0.3
        return int(round(self.low + min(1.0, max(0.0, share)) * (self.high - self.low)))


@dataclass(frozen=True, slots=True)
class Inventor:
    """Values of one seed: same place, key, field and index, same value."""

    seed: str
    rules: Mapping[tuple[str, str], Rule]

    def rule(self, key: str, field: str) -> Rule:
        """The row of the table. Raise DataError if there is none."""
        try:
            return self.rules[key, field]
        except KeyError:
            raise DataError(f"no rule for {key}.{field}: add a row", "snapshot_rules.json") from None

    def value(self, place: str, key: str, field: str, index: int = 0, population: int = 0) -> Any:
        """The value of a field; `place` is a slug, an EVA number, a stop id or a zone."""
        return self.rule(key, field).shape(draw(self.seed, place, key, field, index), population)

    def fraction(self, place: str, key: str, field: str, index: int = 0) -> float:
        """The bare draw, for choices among things that the table does not list (other cities, permutations)."""
        return draw(self.seed, place, key, field, index)

    def shuffled(self, place: str, key: str, field: str, items: Sequence[Any]) -> list[Any]:
        """All items in a drawn order: picks without repetition."""
        order = sorted(range(len(items)), key=lambda index: draw(self.seed, place, key, field, index))
        return [items[index] for index in order]
