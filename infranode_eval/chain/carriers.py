"""Where the API's answers hold the same thing: the table of duplicate records and fields, as data.

An answer may be the record itself (`/cities/koeln/weather`), a row of /compare, a highlight of an overview, or the same
record under a twin key; single fields stand in further records. The table names candidates; whoever uses it looks into
the world's answers before believing it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import parse_qs

from infranode_eval.chain import pointers
from infranode_eval.chain.pointers import MISSING, Condition
from infranode_eval.infranode import facts

CITY_LIST = "/cities?limit=200"
ENTRY = "entry"         # the registry's entry of a city, as list_cities and overview give it
# Keys whose records are the same; the resource of /compare that holds them, where it is not named like the key.
TWINS = {"air": "air-uba", "air-uba": "air"}
COMPARED_AS = {"air-uba": "air"}
HIGHLIGHTS = {"weather": "weather", "air": "air", "air-uba": "air", "station-departures": "departures"}
# One record for many cities: those of the same federal state, or all of them (the proof sorts out the rest).
SHARED_BY_STATE = ("holidays",)
SHARED = ("power-load", "power-price")
# The same value in different records: (key or ENTRY, pointer into the record).
SAME_FIELD: tuple[tuple[tuple[str, str], ...], ...] = (
    (("base", "/payload/population"), ("demographics", "/payload/population"),
     ("population-density", "/payload/population"), (ENTRY, "/population")),
    (("base", "/payload/area_km2"), ("geo", "/payload/area_km2")),
)
CITY_BOARDS = {"station-departures": "departures", "station-arrivals": "arrivals"}
_CITY_KEYS = {rows: key for key, rows in CITY_BOARDS.items()}


@dataclass(frozen=True, slots=True)
class Place:
    """Where something stands in the API's answers: in the answer of `request`, at `at`; in a list, in the row that
    meets `where`, at `field`.

    resource and city name a row of /compare, highlight one of an overview: those may fail while the request answers.
    """

    request: str
    at: str = "/data"
    where: tuple[Condition, ...] = ()
    field: str = ""
    resource: str | None = None
    city: str | None = None
    highlight: str | None = None

    def look(self, body: Any) -> Any:
        """What stands there in a body; MISSING if nothing does or it is null."""
        found = pointers.at(body, self.at)
        if self.where:
            rows = pointers.matching(found, self.where) if isinstance(found, list) else []
            found = pointers.at(rows[0], self.field) if rows else MISSING
        return MISSING if found is None else found

    def atom(self, result: str = "answered") -> dict[str, Any]:
        """The pattern that a request to this place meets."""
        if self.resource is not None:
            atom: dict[str, Any] = {"req": "/compare", "resource": self.resource, "city": self.city}
        else:
            atom = {"req": self.request} | ({"highlight": self.highlight} if self.highlight else {})
        return atom if result == "answered" else atom | {"result": result}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A place that may hold what is sought; `shaped` turns what stands there into the shape that is sought.

    part: it holds a field of the record, not the record. cut: it holds other rows as well, or not all of them.
    """

    place: Place
    shaped: Callable[[Any], Any]
    part: bool = False
    cut: bool = False


def _same(found: Any) -> Any:
    return found


def whole(request: str) -> Place:
    """The record that a request of its own gives."""
    return Place(request)


def row_of(resource: str, city: str) -> Place:
    """The record in the row of one city in /compare."""
    return Place(f"/compare?resource={resource}&cities={city}", "/data", (Condition("/city", "==", city),), "/data",
                 resource, city)


def highlight_of(slug: str, name: str) -> Place:
    """The record that an overview shows under its highlights."""
    return Place(f"/cities/{slug}/overview", f"/data/highlights/{name}/data", highlight=name)


def entries_of(slug: str) -> tuple[Place, ...]:
    """The two places of a city's entry in the registry."""
    return (Place(CITY_LIST, "/data", (Condition("/slug", "==", slug),)),
            Place(f"/cities/{slug}/overview", "/data/city"))


def places_of(slug: str, key: str) -> tuple[Place, ...]:
    """All places of the record of a key for a city, its own request first."""
    found = [whole(f"/cities/{slug}/{name}") for name in (key, TWINS.get(key)) if name]
    resource = COMPARED_AS.get(key, key)
    if resource in facts.compare_resources():
        found.append(row_of(resource, slug))
    if key in HIGHLIGHTS:
        found.append(highlight_of(slug, HIGHLIGHTS[key]))
    found += [whole(f"/cities/{other}/{key}") for other in _sharing(slug, key)]
    return tuple(found)


def _sharing(slug: str, key: str) -> list[str]:
    here = facts.city(slug)
    if here is None or key not in (*SHARED_BY_STATE, *SHARED):
        return []
    return [city.slug for city in facts.cities()
            if city.slug != slug and (key in SHARED or city.state == here.state)]


def of_record(slug: str, key: str) -> Iterator[Candidate]:
    """Candidates for the record of a key for a city, or for one field of it."""
    yield from (Candidate(place, _same) for place in places_of(slug, key))
    for group in SAME_FIELD:
        for pointer in (pointer for holder, pointer in group if holder == key):
            yield from _fields(slug, group, key, pointer, {"city_slug": slug})
    if key in CITY_BOARDS:
        yield from (Candidate(board, _same, cut=True) for board in boards_of(slug, CITY_BOARDS[key]))


def of_entry(slug: str, entry: Mapping[str, Any]) -> Iterator[Candidate]:
    """Candidates for the registry's entry of a city, or for one field of it; `entry` says what names the city."""
    yield from (Candidate(place, _same) for place in entries_of(slug))
    names = {name: entry[name] for name in ("slug", "name_de") if name in entry}
    for group in SAME_FIELD:
        for pointer in (pointer for holder, pointer in group if holder == ENTRY):
            yield from _fields(slug, group, ENTRY, pointer, names)


def _fields(slug: str, group: tuple[tuple[str, str], ...], home: str, pointer: str,
            names: Mapping[str, Any]) -> Iterator[Candidate]:
    """Places of the same field outside its home, each shaped as a record that holds nothing else."""
    for holder, other in group:
        if holder != home:
            places = entries_of(slug) if holder == ENTRY else places_of(slug, holder)
            yield from (Candidate(place, partial(_field, other, pointer, names), part=True) for place in places)


def _field(source: str, target: str, names: Mapping[str, Any], record: Any) -> Any:
    found = pointers.at(record, source)
    return MISSING if found is MISSING or found is None else {**names, **pointers.nested(target, found)}


def boards_of(slug: str, direction: str) -> tuple[Place, ...]:
    """The boards of all EVA numbers of the stations that feed a city's board."""
    stations = (facts.station_of(eva) for eva in facts.board_evas(slug))
    evas = dict.fromkeys(eva for station in stations if station for eva in station.evas)
    return tuple(whole(f"/stations/{eva}/{direction}") for eva in evas)


def of_board(eva: str, direction: str) -> Iterator[Candidate]:
    """Candidates for the board of one EVA number: itself, and the rows of its station on the city's board."""
    yield Candidate(whole(f"/stations/{eva}/{direction}"), _same)
    station = facts.station_of(eva)
    if station is not None and set(station.evas) & set(facts.board_evas(station.slug)):
        shaped = partial(_rows_of_station, direction, station.name)
        yield from (Candidate(place, shaped, cut=True) for place in places_of(station.slug, _CITY_KEYS[direction]))


def _rows_of_station(direction: str, name: str, record: Any) -> Any:
    rows = pointers.at(record, f"/payload/{direction}")
    if not isinstance(rows, list):
        return MISSING
    return {"payload": {direction: [row for row in rows if row.get("station") == name]}}


@dataclass(frozen=True, slots=True)
class Asked:
    """What a request asks for. kind: record, compare, list, board, other."""

    kind: str
    slug: str = ""
    key: str = ""
    cities: tuple[str, ...] = ()


def asked_by(request: str) -> Asked:
    """Take a request apart: slug and key of a record, resource (as key) and cities of /compare, EVA number (as slug)
    and direction (as key) of a board."""
    path, _, text = request.partition("?")
    segments = path.split("/")[1:]
    if path == "/compare":
        query = parse_qs(text)
        cities = query.get("cities", [""])[-1].split(",")
        return Asked("compare", key=query.get("resource", [""])[-1], cities=tuple(city.strip() for city in cities))
    match segments:
        case ["cities"]:
            return Asked("list")
        case ["cities", slug, key] if key in facts.all_keys() and key not in ("overview", "pois"):
            return Asked("record", slug, key)
        case ["stations", eva, ("departures" | "arrivals") as direction]:
            return Asked("board", eva, direction)
        case ["cities" | "live", slug, *_]:
            return Asked("other", slug)
    return Asked("other")
