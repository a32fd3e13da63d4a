"""Which row of the rule table a field of a payload follows."""

from __future__ import annotations

from infranode_eval.infranode import facts
from infranode_eval.infranode.invention import Rule
from infranode_eval.infranode.payloads import places, society

_BOARDS = ("station-departures", "station-arrivals", "board-departures", "board-arrivals")
_TABLE_KEYS = {"air": "air-uba", "pois": "osm", **dict.fromkeys(places.OSM_KEYS, "osm"),
               **dict.fromkeys(society.SERIES_KEYS, "series"),
               "board-departures": "station-departures", "board-arrivals": "station-arrivals"}


def leaves(value: object, where: str = "") -> set[str]:
    """Paths of all values that are neither object nor list, without "[]"."""
    if isinstance(value, dict):
        return set().union(*(leaves(child, f"{where}.{key}".lstrip(".")) for key, child in value.items()))
    if isinstance(value, list):
        return set().union(*(leaves(child, where) for child in value)) if value else set()
    return {where}


def values_at(value: object, path: str) -> list[object]:
    """The values at a path of `leaves`, in order, from all rows on the way."""
    if isinstance(value, list):
        return [found for child in value for found in values_at(child, path)]
    name, _, rest = path.partition(".")
    if not isinstance(value, dict) or name not in value:
        return []
    return values_at(value[name], rest) if rest else [value[name]]


def rule_of(key: str, path: str) -> Rule | None:
    """The row for a field, or for the object that holds it; None if there is none."""
    table, field = _TABLE_KEYS.get(key, key), path
    if key in _BOARDS and "." in path:
        table, field = "board", path.split(".")[1]
    elif key == "transit":
        field = path.removeprefix("stops.")
    rules = facts.rules()
    return rules.get((table, field)) or rules.get((table, field.rpartition(".")[0]))
