"""Candidates: tasks that no source has confirmed yet, from the hand-chosen core and from cities dealt to phrasings."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from infranode_eval.generator.deal import (
    Dealer,
    Wanted,
    answering_cities,
    in_rounds,
    shuffled,
    uncovered_cities,
    values_of,
)
from infranode_eval.generator.splits import allowed_cities
from infranode_eval.generator.templates import (
    CATEGORIES,
    Phrasing,
    Place,
    core_rows,
    natural,
    phrasings,
    places,
    states,
)
from infranode_eval.infranode import facts
from lm_eval_task.errors import DataError
from lm_eval_task.records import Call, Task
from lm_eval_task.tools import COMPARE_RESOURCES, POI_TYPES

SWITCHED_OFF = frozenset(("icu-live", "hospitals-atlas", "webcams"))       # production serves no data for them
NAMED = frozenset(("base", "overview", "weather", "air-uba"))              # keys with a tool of their own
STATION_STEPS, STOP_STEPS, LIST_CITIES, SOURCES, PER_BOARD = 26, 6, 10, 10, 8


@dataclass(frozen=True, slots=True)
class Quotas:
    """How many tasks a wave of cities brings: per key, of them with a twin, per type, resource, tool, and in all."""

    wave: int
    per_key: int
    twins_per_key: int
    per_poi_type: int
    per_compare: int
    per_named: int
    broad: int
    slugs: int
    availability: int
    two_calls: int
    get_city: int
    transit: int
    source_off: int = 0


# The first wave was read question by question; the second takes the same phrasings to further cities, by split.
FIRST = Quotas(1, 7, 4, 9, 5, 12, 21, 32, 14, 26, 9, 8)
SECOND = Quotas(2, 16, 4, 14, 10, 30, 40, 54, 26, 30, 9, 6, 8)


@cache
def servable_keys() -> tuple[str, ...]:
    """The keys of get_city_resource that production serves and no other tool covers, sorted."""
    return tuple(key for key in facts.keys(facts.DEFAULT_STATE) if key not in SWITCHED_OFF | NAMED)


@cache
def partial_keys() -> tuple[str, ...]:
    """The servable keys that leave out some registry city."""
    covered = {key: facts.covered(facts.DEFAULT_STATE, key) for key in servable_keys()}
    return tuple(key for key, slugs in covered.items() if slugs is not None and len(slugs) < len(facts.cities()))


@dataclass(frozen=True, slots=True)
class Candidate:
    """A task that still has to be checked. `twin`: its place in a pair, the same number on both sides."""

    task: Task
    phrasing: Phrasing
    slugs: tuple[str, ...] = ()
    twin: int | None = None

    def with_id(self, task_id: str) -> Candidate:
        return replace(self, task=replace(self.task, task_id=task_id))

    def with_extra(self, **fields: Any) -> Candidate:
        return replace(self, task=replace(self.task, extra={**self.task.extra, **fields}))


def candidates(seed: int) -> tuple[Candidate, ...]:
    """Core, then extended; ids are given, pairs are linked. Raise DataError for core rows that do not fit the data."""
    dealer = Dealer(seed)
    found = [_core_candidate(row, dealer) for row in core_rows()]
    for wave in (_first_wave(seed, dealer, found), _second_wave(seed, dealer)):
        found += _numbered(wave, {candidate.task.task_id for candidate in found})   # a later wave renames nothing
    return tuple(_paired(found))


def _paired(found: Sequence[Candidate]) -> Iterable[Candidate]:
    """Give both sides of each twin number the other's id as `pair`."""
    by_twin: dict[tuple[str | None, int], list[str]] = {}
    for candidate in found:
        if candidate.twin is not None:
            by_twin.setdefault((candidate.task.set, candidate.twin), []).append(candidate.task.task_id)
    for candidate in found:
        if candidate.twin is None:
            yield candidate
            continue
        both = by_twin[candidate.task.set, candidate.twin]
        if len(both) != 2:
            raise DataError(f"task {candidate.task.task_id}: a pair has two tasks, found {', '.join(both)}")
        yield candidate.with_extra(pair=next(name for name in both if name != candidate.task.task_id))


# --- the core ---------------------------------------------------------------------------------------------------------

def _core_candidate(row: Mapping[str, Any], dealer: Dealer) -> Candidate:
    phrasing = phrasings().get(row["phrasing"])
    if phrasing is None:
        raise DataError(f"core.json: {row['task_id']}: there is no phrasing {row['phrasing']}")
    slugs = tuple(row.get("slugs", ()))
    place = None
    if "place" in row:
        place = next((p for p in places("two_step") if p.name == row["place"]), None)
        if place is None:
            raise DataError(f"core.json: {row['task_id']}: there is no two_step place {row['place']!r}")
        slugs = (place.slug,)
    dealer.take(phrasing, slugs)
    try:
        made = candidate_of("core", row["category"], phrasing, slugs, place)
    except KeyError as slot:
        raise DataError(f"core.json: {row['task_id']}: slot {slot} has no form for {', '.join(slugs)}") from None
    return replace(made.with_id(row["task_id"]), twin=row.get("twin"))


# --- the extended set -------------------------------------------------------------------------------------------------

def _first_wave(seed: int, dealer: Dealer, core: Sequence[Candidate]) -> list[Candidate]:
    """Every place that a question can name, every list, and FIRST of the rest."""
    steps = {candidate.slugs[0] for candidate in core if candidate.task.category == "two_step"}
    placed = [*_station_steps(seed, steps), *_stop_steps(seed), *_boards(seed)]
    for candidate in placed:
        dealer.take(candidate.phrasing, candidate.slugs)
    return [*_dealt(_wishes(seed, dealer, FIRST), dealer), *placed, *_lists(seed)]


def _second_wave(seed: int, dealer: Dealer) -> list[Candidate]:
    """The same phrasings in further cities: those that their split allows (see splits)."""
    return _dealt(_wishes(seed, dealer, SECOND, allowed_cities, "-2", twin=1000), dealer)   # twins of the first: below


Choice = Callable[[Phrasing, Iterable[str]], tuple[str, ...]]


def _dealt(wishes: Iterable[tuple[Wanted, int | None]], dealer: Dealer) -> list[Candidate]:
    """From the tightest phrasing to the freest, so that the free ones even the cities out."""
    order = sorted(wishes, key=lambda wish: (len(wish[0].cities), natural(wish[0].phrasing.id), wish[0].category))
    return [replace(candidate_of("extended", wanted.category, wanted.phrasing, dealer.deal(wanted)), twin=twin)
            for wanted, twin in order]


def _any_city(_phrasing: Phrasing, cities: Iterable[str]) -> tuple[str, ...]:
    return tuple(cities)


def _wishes(seed: int, dealer: Dealer, quotas: Quotas, choice: Choice = _any_city, mark: str = "",
            twin: int = 0) -> Iterable[tuple[Wanted, int | None]]:
    """What a wave wants. choice: which of a phrasing's cities; mark: sets the wave's draws apart; twin: first number.

    `twins_per_key` questions of a partial key also go to a city outside its list.
    """
    for key in servable_keys():
        found = [p for p in phrasings().values() if p.category == "resource_key" and p.key == key]
        chosen = _chosen(found, seed, key + mark, dealer, quotas, quotas.per_key, choice)
        for index, phrasing in enumerate(chosen):
            paired = key in partial_keys() and index < quotas.twins_per_key
            twin += paired
            yield Wanted("resource_key", phrasing, choice(phrasing, answering_cities(phrasing))), \
                twin if paired else None
            if paired:
                yield Wanted("not_covered", phrasing, choice(phrasing, uncovered_cities(phrasing))), twin
    for number, (category, fits, quota) in enumerate(_groups(quotas)):
        found = [p for p in phrasings().values() if p.category == category and fits(p)]
        for phrasing in _chosen(found, seed, f"{category}-{number}{mark}", dealer, quotas, quota, choice):
            yield Wanted(category, phrasing, choice(phrasing, answering_cities(phrasing))), None


def _groups(quotas: Quotas) -> list[tuple[str, Callable[[Phrasing], bool], int]]:
    """(category, which of its phrasings, how many tasks) of everything but resource_key."""
    groups = [("poi_type", lambda p, kind=kind: p.calls[0]["arguments"]["type"] == kind, quotas.per_poi_type)
              for kind in sorted(POI_TYPES)]
    groups += [("compare_multi", lambda p, name=name: p.calls[0]["arguments"]["resource"] == name, quotas.per_compare)
               for name in sorted(COMPARE_RESOURCES)]
    groups += [("routing_named", lambda p, tool=tool: p.calls[0]["name"] == tool, quotas.per_named)
               for tool in ("air_quality", "weather")]
    groups += [("routing_rest", lambda p, tool=tool: p.calls[0]["name"] == tool, quota)
               for tool, quota in (("get_city", quotas.get_city), ("transit_departures", quotas.transit))]
    groups += [(category, lambda p: True, quota) for category, quota in (
        ("routing_broad", quotas.broad), ("slug_resolution", quotas.slugs), ("availability", quotas.availability),
        ("two_calls", quotas.two_calls))]
    return groups + [("source_off", lambda p, key=key: p.key == key, quotas.source_off)
                     for key in sorted(SWITCHED_OFF) if quotas.source_off]


def _chosen(found: Sequence[Phrasing], seed: int, purpose: str, dealer: Dealer, quotas: Quotas, quota: int,
            choice: Choice) -> list[Phrasing]:
    by_id = {phrasing.id: phrasing for phrasing in found if phrasing.wave <= quotas.wave}
    order = [by_id[name] for name in shuffled(by_id, seed, purpose)]
    room = [len(dealer.free(p, choice(p, answering_cities(p)))) for p in order]
    return in_rounds(order, room, quota if choice is _any_city else min(quota, sum(room)))


def _family(prefix: str) -> list[Phrasing]:
    """The phrasings prefix-1, prefix-2, …"""
    return [phrasing for name, phrasing in phrasings().items() if re.fullmatch(re.escape(prefix) + r"-\d+", name)]


def _station_steps(seed: int, taken: Container[str]) -> list[Candidate]:
    """Named smaller stations without their number, one a city; the core's cities have theirs."""
    free = {place.slug: place for place in places("two_step") if place.slug not in taken}
    return _at_places("two_step", "two-step", [free[slug] for slug in shuffled(free, seed, "two_step")[:STATION_STEPS]])


def _stop_steps(seed: int) -> list[Candidate]:
    """Named stops without their id. They have no `then`: the id is whatever the list of stops says."""
    stops = {place.slug: place for place in places("stops")}
    chosen = shuffled(stops, seed, "stops")[:STOP_STEPS]
    return _at_places("two_step", "two-step-stop", [stops[slug] for slug in chosen])


def _boards(seed: int) -> list[Candidate]:
    by_name = {place.name: place for place in places("board")}
    order = [by_name[name] for name in shuffled(by_name, seed, "board")]
    return [*_at_places("routing_rest", "rest-board-departures", order[:PER_BOARD]),
            *_at_places("routing_rest", "rest-board-arrivals", order[PER_BOARD:2 * PER_BOARD])]


def _at_places(category: str, prefix: str, chosen: Sequence[Place]) -> list[Candidate]:
    found = _family(prefix)
    return [candidate_of("extended", category, found[index % len(found)], (place.slug,), place)
            for index, place in enumerate(chosen)]


def _lists(seed: int) -> list[Candidate]:
    """list_cities, a question about one state each where it has the slot, and sources."""
    names = iter(shuffled(states(), seed, "states"))
    listed = [candidate_of("extended", "routing_rest", phrasing,
                           state=next(names) if "state" in phrasing.slots else None)
              for phrasing in _family("rest-list-cities")[:LIST_CITIES]]
    return listed + [candidate_of("extended", "routing_rest", p) for p in _family("rest-sources")[:SOURCES]]


# --- one candidate ----------------------------------------------------------------------------------------------------

def candidate_of(set_name: str, category: str, phrasing: Phrasing, slugs: tuple[str, ...] = (),
                 place: Place | None = None, state: str | None = None) -> Candidate:
    """Fill the phrasing. KeyError names a slot for which a city has no form."""
    values = values_of(slugs, phrasing.city_count > 1)
    if state is not None:
        values["state"] = state
    extra: dict[str, Any] = {}
    if place is not None:
        values |= {"station": place.name, "stop": place.name, "eva": place.eva or ""}
    if "stop_id" in phrasing.slots:
        values["stop_id"] = _stop_id(slugs[0], phrasing.id)
    if phrasing.board is not None and place is not None and place.eva is not None:
        extra["then"] = [Call(f"station_board_{phrasing.board}", {"eva": eva}).to_json() for eva in _evas(place.eva)]
    extra |= {"phrasing": phrasing.id, "datum": list(phrasing.datum)}
    task = Task("-", phrasing.question(values), phrasing.expected(values), phrasing.accepted(values), category,
                set_name, None, extra)
    return Candidate(task, phrasing, slugs).with_id("-".join(_id_parts(task, slugs, place, values)))


def _stop_id(slug: str, purpose: str) -> str:
    """An id of the right form out of our model of the city's stops; the real ids change with every timetable."""
    return shuffled((stop.stop_id for stop in facts.stops(slug)), 0, purpose)[0]


def _evas(eva: str) -> tuple[str, ...]:
    """Every EVA number of the station, its own first."""
    station = facts.station_of(eva)
    return station.evas if station is not None else (eva,)


def _id_parts(task: Task, slugs: Sequence[str], place: Place | None, values: Mapping[str, str]) -> Iterable[str]:
    """resource_key-koeln-charging, compare_multi-air-bonn-ulm, routing_rest-station_board_arrivals-bonn-mehlem, …"""
    first = task.expected[0]
    detail = first.arguments.get("resource") or first.arguments.get("type") or first.name
    yield task.category
    if task.category == "routing_rest":
        yield first.name
        yield from [_ascii(place.name)] if place else [_ascii(values["state"])] if "state" in values else slugs
    elif place is not None:
        yield from [_ascii(place.name)] if place.eva else [place.slug, _ascii(place.name)]
    elif task.category == "compare_multi":
        yield from (detail, *slugs)
    elif task.category == "two_calls":
        yield from (*slugs, *dict.fromkeys(c.arguments.get("resource") or c.arguments["type"] for c in task.expected))
    else:
        yield from slugs
        if task.category not in ("routing_broad", "availability"):
            yield detail


_LETTERS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})


def _ascii(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower().translate(_LETTERS)).strip("-")


def _numbered(found: Sequence[Candidate], taken: set[str]) -> list[Candidate]:
    """Make the ids unique: the second task of a name gets -2, in the order of category, phrasing and cities."""
    taken = set(taken)
    result: list[Candidate] = []
    for candidate in sorted(found, key=_order):
        base = candidate.task.task_id
        name = next(n for n in (base, *(f"{base}-{i}" for i in range(2, len(found) + 2))) if n not in taken)
        taken.add(name)
        result.append(candidate.with_id(name))
    return result


def _order(candidate: Candidate) -> tuple[Any, ...]:
    return (CATEGORIES.index(candidate.task.category), natural(candidate.phrasing.id), candidate.slugs,
            candidate.task.question)
