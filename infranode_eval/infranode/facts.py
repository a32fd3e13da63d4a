"""The facts of the InfraNode contract, read from data/snapshot_facts.json: cities, keys, coverage, stations, sources.

Three states are known: "july-1" (what was recorded), "v1.1.1" (6 July 2026, the default) and "august-2026".
The data file names what is a published fact and what is modelled by us.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from infranode_eval.infranode.invention import Inventor, Rule
from infranode_eval.shipped import read_shipped
from lm_eval_task.errors import UsageError

DEFAULT_STATE = "v1.1.1"
DEFAULT_SEED = "s1"


@dataclass(frozen=True, slots=True)
class City:
    """One city of the registry: `ags` has eight digits, `area_km2` is in km², qid and osm_relation may be unknown."""

    slug: str
    name: str
    state: str
    population: int
    coverage: str
    lat: float
    lon: float
    ags: str
    qid: str | None
    osm_relation: int | None
    is_state_capital: bool
    area_km2: float


@dataclass(frozen=True, slots=True)
class Station:
    """One railway station: its main EVA number, the EVA numbers of its other levels, category 1 (biggest) to 7."""

    eva: str
    name: str
    category: int
    other_evas: tuple[str, ...]
    slug: str

    @property
    def evas(self) -> tuple[str, ...]:
        """All EVA numbers of the station, the main one first."""
        return (self.eva, *self.other_evas)


@dataclass(frozen=True, slots=True)
class Stop:
    """One stop of local transport as the default seed names it."""

    stop_id: str
    name: str
    slug: str


@dataclass(frozen=True, slots=True)
class Key:
    """One resource key. `bare` is what a server without upstreams answers: dead (503), disabled, not_ingested, …"""

    key: str
    label: str
    label_en: str
    tool: str
    kind: str
    kind_proved: bool
    source: str
    bare: str | None
    geo: bool
    observed_min: int | None
    states: tuple[str, ...]

    @property
    def cached(self) -> bool:
        """Whether an answer with data carries meta.cache_status: not where a store or a seed file is read."""
        return self.bare in ("dead", "disabled") and self.key != "overview"


@dataclass(frozen=True, slots=True)
class Source:
    """One row of /sources as a bare server listed it."""

    source: str
    enabled: bool
    breaker_state: str
    license: str
    attribution: str
    proof: str


@cache
def raw() -> Mapping[str, Any]:
    """The facts file as it is. Raise DataError if it is missing or broken."""
    return read_shipped("snapshot_facts.json")


@cache
def rules_file() -> Mapping[str, Any]:
    """The rules file as it is: version, fields, lists. Raise DataError if it is missing or broken."""
    return read_shipped("snapshot_rules.json")


@cache
def rules() -> Mapping[tuple[str, str], Rule]:
    """The rule of each (key, field)."""
    file = rules_file()
    return {(row["key"], row["field"]): Rule.from_json(row, file["lists"]) for row in file["fields"]}


def inventor(seed: str = DEFAULT_SEED) -> Inventor:
    """The source of all values that are not facts, for one seed."""
    return Inventor(seed, rules())


@cache
def states() -> tuple[str, ...]:
    """The known states of the contract, oldest first."""
    return tuple(raw()["states"])


def check_state(state: str) -> str:
    """Return `state`. Raise UsageError if it is not known."""
    if state not in states():
        raise UsageError(f"unknown state {state!r}: expected one of {', '.join(states())}")
    return state


@cache
def cities() -> tuple[City, ...]:
    """The 84 cities in the order in which /cities lists them."""
    return tuple(City(*row) for row in raw()["cities"])


@cache
def _cities_by_slug() -> Mapping[str, City]:
    return {entry.slug: entry for entry in cities()}


def city(slug: str) -> City | None:
    """The city of a registry slug, None if there is none; no spelling but the exact slug."""
    return _cities_by_slug().get(slug)


@cache
def all_keys() -> Mapping[str, Key]:
    """Every key of any state, `pois` included, in the order of the overview's catalogue."""
    return {row["key"]: Key(**{**row, "states": tuple(row["states"])}) for row in raw()["keys"]}


@cache
def keys(state: str = DEFAULT_STATE) -> tuple[str, ...]:
    """The keys that get_city_resource takes in a state, sorted: 67 in v1.1.1, 81 in august-2026; `pois` is none."""
    check_state(state)
    return tuple(sorted(key.key for key in all_keys().values() if state in key.states and key.key != "pois"))


@cache
def covered(state: str, key: str) -> tuple[str, ...] | None:
    """The slugs that a partial key covers, sorted; None for a key that covers every city."""
    check_state(state)
    by_state = raw()["coverage"].get(key, {})
    return tuple(by_state[state]) if state in by_state else None


def is_covered(state: str, key: str, slug: str) -> bool:
    """Whether `key` has data for the city: False means not_covered."""
    slugs = covered(state, key)
    return slugs is None or slug in slugs


def poi_types() -> tuple[str, ...]:
    """The six values of the parameter `type` of pois."""
    return tuple(raw()["poi_types"])


def compare_resources(state: str = DEFAULT_STATE) -> tuple[str, ...]:
    """The resources that /compare takes in a state, sorted."""
    return tuple(raw()["compare"][check_state(state)])


@cache
def stations(slug: str) -> tuple[Station, ...]:
    """The known stations of a city, by category, then by name. Empty for an unknown slug."""
    rows = raw()["stations"].get(slug, {"rows": []})["rows"]
    found = [Station(eva, name, category, tuple(others), slug) for eva, name, category, others in rows]
    return tuple(sorted(found, key=lambda station: (station.category, station.name)))


@cache
def main_station(slug: str) -> Station | None:
    """The station that stands for the city; None for an unknown slug."""
    rows = raw()["stations"].get(slug, {"rows": []})["rows"]
    return next((station for station in stations(slug) if rows and station.eva == rows[0][0]), None)


@cache
def _stations_by_eva() -> Mapping[str, Station]:
    return {eva: station for entry in cities() for station in stations(entry.slug) for eva in station.evas}


def station_of(eva: str) -> Station | None:
    """The station that any of its EVA numbers names; None if no city of the registry has it."""
    return _stations_by_eva().get(eva)


@cache
def board_evas(slug: str) -> tuple[str, ...]:
    """The EVA numbers that feed the board of a city."""
    return tuple(raw()["stations"].get(slug, {"board": []})["board"])


@cache
def empty_boards() -> frozenset[str]:
    """Main EVA numbers whose board is empty although another level of the station has trains."""
    return frozenset(raw()["empty_boards"])


@cache
def gauge(slug: str) -> tuple[str, str] | None:
    """Water and gauge of a city on a federal waterway, None elsewhere (modelled)."""
    found = raw()["gauges"].get(slug)
    return (found[0], found[1]) if found else None


@cache
def source(name: str) -> Source | None:
    """One data source by name, of any state."""
    rows = [*raw()["sources"], *raw()["sources_august"]]
    return {row[0]: Source(*row) for row in rows}.get(name)


@cache
def sources(state: str = DEFAULT_STATE) -> tuple[Source, ...]:
    """The rows of /sources in a state; those of August are fewer than the API lists (names not recorded)."""
    rows = raw()["sources"]
    if check_state(state) == "july-1":
        rows = rows[: raw()["sources_july_1"]]
    elif state == "august-2026":
        rows = [*rows, *raw()["sources_august"]]
    return tuple(Source(*row) for row in rows)


@cache
def stops(slug: str, seed: str = DEFAULT_SEED) -> tuple[Stop, ...]:
    """The stops that the resource transit lists for a city; ids are drawn from the seed, so nobody can know them."""
    place = city(slug)
    if place is None:
        return ()
    values = inventor(seed)
    names = rules_file()["lists"]["stops"]
    count = values.value(slug, "transit", "rows", 0, place.population)
    found: list[Stop] = []
    number = 0
    for index in range(count):
        number += 1 + values.value(slug, "transit", "stop_number", index) // count
        found.append(Stop(f"de:{place.ags[:5]}:{1000 + number}", f"{place.name}, {names[index]}", slug))
    return tuple(found)


def world_hash(seed: str = DEFAULT_SEED) -> str:
    """sha256 hex over canonical JSON of facts file, seed, clock and version of the rules."""
    world = {"facts": raw(), "seed": seed, "clock": raw()["clock"], "rules_version": rules_file()["version"]}
    text = json.dumps(world, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()
