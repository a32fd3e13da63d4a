"""Contents: the names of the data in an answer of the API, as "weather.temperature_c" or "stations.stations[].eva".

Pure: the JSON of an answer goes in, names come out. A record is recognised by payload.kind wherever it stands (alone,
in rows of compare, in the highlights of the overview), list items share one name, null and empty values are no datum.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

NOTHING = ":none"       # mark of an empty list that is an answer all the same: no warning is active


@dataclass(frozen=True, slots=True)
class Naming:
    """How records are named.

    kinds: payload.kind → first part of the name. told_apart: kind → (payload field, {its value: first part}), where
    keys share a kind; a value that is not listed names itself. silent: lists whose emptiness is an answer.
    """

    kinds: Mapping[str, str]
    told_apart: Mapping[str, tuple[str, Mapping[str, str]]]
    silent: frozenset[str]

    def head(self, record: Mapping[str, Any]) -> str:
        """The first part of the names in a record; a board of one station (by EVA number) is no city board."""
        payload = record["payload"]
        kind = payload["kind"]
        if str(record.get("city_slug", "")).isdigit():
            return kind.replace("station_", "board-")
        if kind in self.told_apart:
            field, names = self.told_apart[kind]
            value = str(payload.get(field))
            return names.get(value, value)
        return self.kinds.get(kind, kind)


def names_in(data: Any, naming: Naming) -> frozenset[str]:
    """Every datum name that `data`, the value under "data" of an answer, contains."""
    return frozenset(_names(data, naming))


def contains(found: Iterable[str], name: str) -> bool:
    """Is `name` among the names `found`? A field of a list that is empty and an answer counts, too."""
    if name in found:
        return True
    return "[]" in name and name[:name.rindex("[]") + 2] + NOTHING in found


def _names(data: Any, naming: Naming) -> Iterator[str]:
    if isinstance(data, list):
        yield from _listed(data, naming)
    elif not isinstance(data, dict):
        return
    elif isinstance(data.get("payload"), dict) and "kind" in data["payload"]:
        yield from _recorded(data, naming)
    elif "name_de" in data:
        yield from _paths("city", data, naming)
    elif "data_types" in data:
        yield from _overview(data, naming)
    elif "notices" in data:
        yield from _paths("public-tenders", data, naming)
    else:
        for value in data.values():
            yield from _names(value, naming)


def _listed(rows: list[Any], naming: Naming) -> Iterator[str]:
    """Cities of the registry, sources, or rows that hold records."""
    first = rows[0] if rows and isinstance(rows[0], dict) else {}
    if "name_de" in first:
        yield from _paths("cities", rows, naming)
    if "breaker_state" in first:
        yield from _paths("sources", rows, naming)
        return
    for row in rows:
        yield from _names(row, naming)


def _recorded(record: Mapping[str, Any], naming: Naming) -> Iterator[str]:
    head = naming.head(record)
    for field, value in record["payload"].items():
        if field != "kind":
            yield from _paths(f"{head}.{field}", value, naming)
    if record.get("geo"):
        yield f"{head}.geo"


def _overview(data: Mapping[str, Any], naming: Naming) -> Iterator[str]:
    """The catalogue answers what there is to know about a city; with the highlights it is the overview."""
    yield from ("availability", "overview")
    for row in data["data_types"]:
        yield f"availability.{row['type']}"
    yield from _names(data.get("city"), naming)
    yield from _names(data.get("highlights"), naming)


def _paths(name: str, value: Any, naming: Naming) -> Iterator[str]:
    """`name` and the names below it; nothing for null, "" and empty containers, but for silent lists."""
    if value is None or value == "":
        return
    if isinstance(value, list):
        yield from _items(f"{name}[]", value, naming)
    elif isinstance(value, dict):
        below = [path for key, item in value.items() for path in _paths(f"{name}.{key}", item, naming)]
        yield from [name, *below] if below else ()
    else:
        yield name


def _items(name: str, rows: list[Any], naming: Naming) -> Iterator[str]:
    if not rows and name in naming.silent:
        yield from (name, name + NOTHING)
    found = {path for row in rows for path in _paths(name, row, naming)}
    yield from found
