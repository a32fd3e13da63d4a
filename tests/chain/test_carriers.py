"""The table of duplicates, compared with real answers: what it names is there, and nothing else holds the value."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

import pytest

from infranode_eval.chain import carriers
from infranode_eval.chain.carriers import Asked, Candidate, Place, asked_by
from infranode_eval.chain.declaration import steps_from_json
from infranode_eval.chain.derive import execute_plan
from infranode_eval.chain.evidence import must_call_of, satisfied
from infranode_eval.chain.pointers import MISSING, at
from infranode_eval.chain.worlds import open_world
from infranode_eval.infranode import facts

WORLD = open_world({"kind": "snapshot", "name": "s1"})
CITIES = ("koeln", "bonn", "dresden", "muenchen", "ulm", "neuss", "halle-saale", "frankfurt-am-main", "leipzig", "gera")
SLUGS = tuple(slug for slug in CITIES if facts.city(slug))
KEYS = tuple(key for key in facts.keys(facts.DEFAULT_STATE) if key != "overview")


def look(place: Place) -> Any:
    return place.look(WORLD.answer(place.request).body)


@pytest.mark.parametrize(("request_", "asked"), [
    ("/cities/bonn/weather", Asked("record", "bonn", "weather")),
    ("/compare?resource=air&cities=bonn,ulm", Asked("compare", key="air", cities=("bonn", "ulm"))),
    ("/compare?resource=air&cities=gießen", Asked("compare", key="air", cities=("gießen",))),
    ("/stations/8001083/arrivals", Asked("board", "8001083", "arrivals")),
    ("/cities?limit=200", Asked("list")),
    ("/cities/bonn/overview", Asked("other", "bonn")),
    ("/cities/bonn/pois?type=school", Asked("other", "bonn")),
    ("/cities/bonn/nichts", Asked("other", "bonn")),
    ("/live/bonn/transit/departures?stop_id=de:1:2", Asked("other", "bonn")),
    ("/sources?limit=200", Asked("other")),
])
def test_a_request_is_taken_apart(request_: str, asked: Asked) -> None:
    assert asked_by(request_) == asked


def test_every_resource_of_compare_and_every_highlight_is_in_the_table() -> None:
    named = {place.resource for key in KEYS for place in carriers.places_of("koeln", key)} - {None}
    assert named == set(facts.compare_resources())
    shown = {place.highlight for key in KEYS for place in carriers.places_of("koeln", key)} - {None}
    assert shown == set(WORLD.answer("/cities/koeln/overview").body["data"]["highlights"])


@pytest.mark.parametrize("slug", SLUGS)
@pytest.mark.parametrize("key", KEYS)
def test_every_place_of_a_record_holds_its_payload(key: str, slug: str) -> None:
    own = look(carriers.whole(f"/cities/{slug}/{key}"))
    for place in carriers.places_of(slug, key):
        found = look(place)
        if own is MISSING or key == "power-load":       # several control zones: the proof sorts them out
            continue
        assert found is not MISSING, place
        payload, other = at(own, "/payload"), at(found, "/payload")
        if key == "charging-status" and place.resource:
            payload = {name: value for name, value in payload.items() if name != "points"}
        assert other == payload, place


def parts_of(slug: str) -> Iterator[tuple[str, Candidate]]:
    for key in KEYS:
        yield from ((key, found) for found in carriers.of_record(slug, key) if found.part)
    entry = look(carriers.entries_of(slug)[0])
    yield from ((carriers.ENTRY, found) for found in carriers.of_entry(slug, entry) if found.part)


@pytest.mark.parametrize("slug", SLUGS)
def test_every_place_of_a_field_holds_its_value(slug: str) -> None:
    pairs = 0
    for key, candidate in parts_of(slug):
        home = carriers.entries_of(slug)[0] if key == carriers.ENTRY else carriers.whole(f"/cities/{slug}/{key}")
        part = candidate.shaped(look(candidate.place))
        fields = [pointer for group in carriers.SAME_FIELD for holder, pointer in group if holder == key]
        held = [pointer for pointer in fields if at(part, pointer) is not MISSING]
        assert len(held) == 1, candidate
        assert at(part, held[0]) == at(look(home), held[0]), candidate
        names = {name: at(part, f"/{name}") for name in ("slug", "name_de", "city_slug")}
        assert {name: value for name, value in names.items() if value is not MISSING}.items() <= look(home).items()
        pairs += 1
    assert pairs >= 20, "population in five places, area in two"


def test_the_entry_of_a_city_is_the_same_in_both_places() -> None:
    for slug in SLUGS:
        assert look(carriers.entries_of(slug)[0]) == look(carriers.entries_of(slug)[1])


@pytest.mark.parametrize("direction", ["departures", "arrivals"])
def test_trains_stand_on_the_city_board_exactly_if_the_table_names_it(direction: str) -> None:
    for slug in SLUGS:
        board = look(carriers.whole(f"/cities/{slug}/station-{direction}"))
        on_board = {row["stop_id"] for row in at(board, f"/payload/{direction}")}
        named = {place.request for place in carriers.boards_of(slug, direction)}
        for station in facts.stations(slug):
            for eva in station.evas:
                found = look(carriers.whole(f"/stations/{eva}/{direction}"))
                trains = set() if found is MISSING else {row["stop_id"] for row in at(found, f"/payload/{direction}")}
                if trains & on_board:
                    assert f"/stations/{eva}/{direction}" in named, (slug, eva)
                    assert len(list(carriers.of_board(eva, direction))) > 1, (slug, eva)


# The sweep: no answer of the API holds a value that the table does not name.


def requests_of(slug: str) -> list[str]:
    found = [f"/cities/{slug}/{key}" for key in facts.keys(facts.DEFAULT_STATE)]
    found += [f"/cities/{slug}/pois?type={kind}" for kind in facts.poi_types()]
    found += [f"/compare?resource={resource}&cities={slug}" for resource in facts.compare_resources()]
    evas = (eva for station in facts.stations(slug) for eva in station.evas)
    return [*found, *(f"/stations/{eva}/departures" for eva in evas), carriers.CITY_LIST]


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, (dict, list)):
        inner = value.items() if isinstance(value, dict) else enumerate(value)
        for name, found in inner:
            yield from leaves(found, f"{path}/{name}")
    else:
        yield path, value


def rare(value: Any) -> bool:
    """A number that stands twice by chance only seldom."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return abs(value) >= 2500 or value != int(value) and len(str(value)) >= 5


_NOT_DATA = ("lat", "lon", "osm_relation", "stationnumber")
# The last year of the series is the registry's population; a question about it has to name its year.
_KNOWN = {("demographics", "/payload/series/2/population")}


def values_of(slug: str) -> dict[float, set[str]]:
    """Which requests hold a value, for all rare numbers."""
    found: dict[float, set[str]] = defaultdict(set)
    for request in requests_of(slug):
        for path, value in leaves(WORLD.answer(request).body.get("data")):
            if rare(value) and path.rpartition("/")[2] not in _NOT_DATA:
                found[value].add(request)
    return found


def unnamed(slug: str) -> Iterator[tuple[str, str, str]]:
    """(key, pointer, request) for each answer that holds a datum of a key but is no evidence of it, and the reverse."""
    holders = values_of(slug)
    for key in KEYS:
        data = WORLD.answer(f"/cities/{slug}/{key}").body.get("data")
        plan = steps_from_json([{"id": "a", "call": {"name": "get_city_resource",
                                                     "arguments": {"slug": slug, "resource": key}}}])
        executed = execute_plan(plan, WORLD.answer)
        for path, value in leaves(data):
            if not rare(value) or path.rpartition("/")[2] in _NOT_DATA or (key, path) in _KNOWN:
                continue
            derive = {"op": "value", "from": "a", "at": f"/data{path}"}
            pattern = must_call_of(plan, executed, WORLD, derive)
            evidence = {request for request in requests_of(slug)
                        if satisfied(pattern, [[WORLD.answer(request)]]) is not None}
            for request in evidence ^ holders[value]:
                yield key, path, request.replace(slug, "SLUG")


def test_no_answer_holds_a_value_that_the_table_does_not_name() -> None:
    found = Counter(row for slug in SLUGS for row in unnamed(slug))
    by_chance = 1
    assert {row: count for row, count in found.items() if count > by_chance} == {}


def test_the_sweep_sees_data_of_many_keys() -> None:
    seen = {key for slug in SLUGS for key in KEYS
            if any(rare(value) for _, value in leaves(at(WORLD.answer(f"/cities/{slug}/{key}").body, "/data/payload")))}
    assert len(seen) >= 15
    assert len(SLUGS) >= 8


# Boards: the city's board is cut and mixes stations, so what it carries depends on the question.

BIG = ("berlin", "hamburg", "muenchen", "koeln", "frankfurt-am-main", "dresden", "leipzig", "heilbronn")
NEXT = {"op": "nth", "from": "a", "at": "/data/payload/departures", "by": "/planned_time", "n": 1,
        "return": "/platform"}
ALL = {"op": "count", "from": "a", "at": "/data/payload/departures"}


def rows(request: str) -> list[dict[str, Any]]:
    found = look(carriers.whole(request))
    return [] if found is MISSING else at(found, "/payload/departures")


def trains(request: str, station: str | None = None) -> list[str]:
    """Ids of the trains, of one station only if it is named."""
    return [row["stop_id"] for row in rows(request) if station in (None, row["station"])]


def carries(name: str, arguments: dict[str, str], derive: dict[str, Any], request: str) -> bool:
    """Is the answer to `request` evidence of what is derived from the call?"""
    plan = steps_from_json([{"id": "a", "call": {"name": name, "arguments": arguments}}])
    pattern = must_call_of(plan, execute_plan(plan, WORLD.answer), WORLD, derive)
    return satisfied(pattern, [[WORLD.answer(request)]]) is not None


def boards() -> list[tuple[str, str]]:
    found = [(slug, place.request) for slug in BIG for place in carriers.boards_of(slug, "departures")]
    return [(slug, request) for slug, request in found if trains(request)]


@pytest.mark.parametrize(("slug", "board"), boards())
def test_a_board_of_one_station_carries_the_city_s_next_train_only_if_it_is_that_train(slug: str, board: str) -> None:
    """Another train from the same platform gives the same answer, but is another datum."""
    first, second = rows(f"/cities/{slug}/station-departures")[:2]
    if first["planned_time"] == second["planned_time"]:
        pytest.skip("a builder refuses a tie")
    city = {"slug": slug, "resource": "station-departures"}
    assert carries("get_city_resource", city, NEXT, board) is (trains(board)[0] == first["stop_id"])


@pytest.mark.parametrize(("slug", "board"), boards())
def test_the_city_s_board_carries_a_station_s_trains_as_far_as_it_shows_them(slug: str, board: str) -> None:
    """It names the station, not the level: where both levels have trains on it, the first of all counts."""
    eva, city = {"eva": board.split("/")[2]}, f"/cities/{slug}/station-departures"
    shown = trains(city, rows(board)[0]["station"])
    for way in (city, f"/cities/{slug}/overview"):
        assert carries("station_board_departures", eva, NEXT, way) is (trains(board)[0] in shown[:1])
        assert carries("station_board_departures", eva, ALL, way) is (set(trains(board)) == set(shown))


def test_the_boards_that_are_tried_are_of_every_kind() -> None:
    shown = {board: len(set(trains(board)) & set(trains(f"/cities/{slug}/station-departures")))
             for slug, board in boards()}
    assert 0 in shown.values(), "a level whose trains the city does not show"
    assert any(0 < count < len(trains(board)) for board, count in shown.items()), "a board that is cut"
    assert any(count == len(trains(board)) for board, count in shown.items()), "a board that is whole"
