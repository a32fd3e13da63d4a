"""Holdings: which cities and keys a set of chain rows stands on, and how many rows it has of what."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from infranode_eval.chain import carriers
from infranode_eval.infranode import facts

Rows = Sequence[Mapping[str, Any]]
_BOARD_KEYS = {direction: key for key, direction in carriers.CITY_BOARDS.items()}


def counts(rows: Rows) -> dict[str, dict[str, int]]:
    """{set: {"all": n, category: n}}."""
    found: dict[str, dict[str, int]] = {}
    for row in rows:
        of_set = found.setdefault(row["set"], {"all": 0})
        for name in ("all", row["category"]):
            of_set[name] = of_set.get(name, 0) + 1
    return {name: dict(sorted(of_set.items())) for name, of_set in sorted(found.items())}


def cities_of(rows: Rows) -> frozenset[str]:
    """The registry cities that the golds ask about."""
    return frozenset(slug for request in _requests(rows) for slug in _cities(request) if facts.city(slug))


def keys_of(rows: Rows) -> frozenset[str]:
    """The keys of the answers that golds read: of compare the resource, of a stop's board "transit-departures"."""
    return frozenset(filter(None, map(_key, _requests(rows))))


def _requests(rows: Rows) -> Iterable[str]:
    return (step["request"] for row in rows for step in row["gold"])


def _cities(request: str) -> Iterator[str]:
    asked = carriers.asked_by(request)
    yield from asked.cities
    if asked.kind == "board":
        station = facts.station_of(asked.slug)
        if station is not None:
            yield station.slug
    elif asked.slug:
        yield asked.slug


def _key(request: str) -> str | None:
    asked = carriers.asked_by(request)
    if asked.kind == "board":
        return _BOARD_KEYS[asked.key]
    if asked.kind == "other":
        path = request.partition("?")[0]
        return "transit-departures" if path.startswith("/live/") else path.rpartition("/")[2]
    return asked.key or None
