"""The world that payloads are made from: a state of the contract, a seed, and a clock that stands still."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

from infranode_eval.infranode import facts
from infranode_eval.infranode.facts import City
from infranode_eval.infranode.invention import Inventor

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class World:
    """What every payload follows from. `clock` is local time without an offset; `offset` is e.g. "+02:00"."""

    state: str
    values: Inventor
    clock: datetime
    offset: str

    @classmethod
    def of(cls, state: str = facts.DEFAULT_STATE, seed: str = facts.DEFAULT_SEED) -> World:
        """Open a world. Raise UsageError for an unknown state."""
        clock = facts.raw()["clock"]
        return cls(facts.check_state(state), facts.inventor(seed), datetime.fromisoformat(clock["local"]),
                   clock["utc_offset"])

    def value(self, city: City, key: str, field: str, index: int = 0) -> Any:
        """The invented value of a field for a city."""
        return self.values.value(city.slug, key, field, index, city.population)

    def indices(self, city: City, key: str, field: str) -> range:
        """The row numbers of a list."""
        return range(self.value(city, key, field))

    def row(self, city: City, key: str, prefix: str, fields: Iterable[str], index: int) -> Row:
        """The drawn fields of one row of a list."""
        return {field: self.value(city, key, f"{prefix}.{field}", index) for field in fields}

    def point(self, city: City, key: str, prefix: str, index: int) -> Row:
        """A place near the city's point: {"lat", "lon"} in degrees."""
        lat = city.lat + self.value(city, key, f"{prefix}.lat", index)
        return {"lat": round(lat, 5), "lon": round(city.lon + self.value(city, key, f"{prefix}.lon", index), 5)}

    def names(self, city: City, key: str, field: str, words: str) -> list[Any]:
        """A list of the rules file in a drawn order."""
        return self.values.shuffled(city.slug, key, field, word_list(words))

    def local(self, minutes: float = 0) -> str:
        """ISO 8601 local time, `minutes` after the clock; naive until v1.1.1, with an offset in August."""
        text = (self.clock + timedelta(minutes=minutes)).isoformat()
        return text + self.offset if self.state == "august-2026" else text

    def utc(self, minutes: float = 0) -> str:
        """ISO 8601 UTC time ending in Z, `minutes` after the clock."""
        return self._utc(minutes).strftime("%Y-%m-%dT%H:%M:%SZ")

    def day(self, days: int = 0) -> str:
        """ISO date, `days` after the clock."""
        return (self.clock + timedelta(days=days)).date().isoformat()

    def epoch(self) -> float:
        """The clock as seconds since 1970."""
        return self._utc(0).timestamp()

    def _utc(self, minutes: float) -> datetime:
        aware = datetime.fromisoformat(self.clock.isoformat() + self.offset)
        return (aware + timedelta(minutes=minutes)).astimezone(timezone.utc)


def word_list(name: str) -> Sequence[Any]:
    """A list of the rules file."""
    return facts.rules_file()["lists"][name]


def words(name: str) -> Mapping[str, Any]:
    """A mapping of the rules file."""
    return facts.rules_file()["lists"][name]


def tally(rows: Iterable[Row], field: str, names: Iterable[str]) -> dict[str, int]:
    """How many rows have each value of a field, every one of `names` included."""
    found = Counter(row[field] for row in rows)
    return {name: found[name] for name in names}
