"""Faults: an answer that a fault strikes looks like the API's own, and nothing else changes."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest

from infranode_eval.chain import carriers
from infranode_eval.chain.declaration import Fault
from infranode_eval.chain.pointers import at
from infranode_eval.chain.worlds import Session, SnapshotWorld, open_world
from infranode_eval.infranode import facts
from infranode_eval.infranode.snapshot import Snapshot
from lm_eval_task.errors import DataError

WORLD = open_world({"kind": "snapshot", "name": "s1"})
OVERVIEW, COMPARE = "/cities/bonn/overview", "/compare?resource=weather&cities=bonn,koeln"


def dead(request: str, source: str = "dwd", **more: Any) -> Fault:
    return Fault.from_json({"req": request, "status": 503, "source": source, **more})


def without_ids(body: Any) -> Any:
    """A body without what names the request or the profile of the server."""
    return {**body, "meta": {name: value for name, value in body["meta"].items() if name != "correlation_id"}}


@pytest.mark.parametrize("key", [key.key for key in facts.all_keys().values() if key.bare == "dead"
                                 and facts.DEFAULT_STATE in key.states and key.key not in ("overview", "pois")])
def test_a_503_is_the_one_of_a_server_whose_upstreams_are_dead(key: str) -> None:
    """The message names the upstream, its hint and its tail as the API has them."""
    slug = (facts.covered(facts.DEFAULT_STATE, key) or ("koeln",))[0]
    own = Snapshot(profile="dead").respond("GET", f"/api/v1/cities/{slug}/{key}")
    assert own.status == 503
    source = own.json()["error"]["message"].split("'")[1]
    found = Session(WORLD, [dead(f"/cities/{slug}/{key}", source)]).get(f"/cities/{slug}/{key}")
    assert (found.status, without_ids(found.body)) == (503, without_ids(own.json()))
    assert list(found.body) == list(own.json()) and found.body["meta"]["correlation_id"]


def test_a_dead_board_looks_like_the_api() -> None:
    request = "/stations/8001083/departures"
    own = Snapshot(profile="dead").respond("GET", "/api/v1" + request)
    found = Session(WORLD, [dead(request, "db_timetables")]).get(request)
    assert without_ids(found.body) == without_ids(own.json())


EMPTY = [
    ("/cities/muenchen/water-level", "/cities/bonn/water-level", "no_data", "default", "a source with a cache"),
    ("/stations/8099999/departures", "/stations/8001083/departures", "no_data", "default", "a board"),
    ("/cities/neuss/events", "/cities/koeln/events", "no_data", "default", "nothing this week"),
    ("/live/bonn/transit/departures?stop_id=1", "/live/bonn/transit/departures?stop_id={stop}", "no_data",
     "default", "under /live"),
    ("/live/bonn/transit/departures?stop_id=1", "/live/bonn/transit/departures?stop_id={stop}", "disabled",
     "bare", "under /live, switched off"),
    ("/cities/bonn/charging", "/cities/bonn/charging", "not_ingested", "bare", "a store without a snapshot"),
    ("/cities/bonn/tourism", "/cities/bonn/tourism", "disabled", "bare", "a switched off source"),
    ("/cities/koeln/hospitals-atlas", "/cities/koeln/health", "disabled", "default", "switched off in production"),
]


@pytest.mark.parametrize(("model", "request_", "state", "profile", "why"), EMPTY, ids=[row[4] for row in EMPTY])
def test_an_empty_state_looks_like_the_api(model: str, request_: str, state: str, profile: str, why: str) -> None:
    stop = next(stop.stop_id for stop in facts.stops("bonn")
                if WORLD.answer(f"/live/bonn/transit/departures?stop_id={stop.stop_id}").answered)
    own = Snapshot(profile=profile).respond("GET", "/api/v1" + model).json()
    assert own["meta"]["source_status"] == state
    request = request_.format(stop=stop)
    found = Session(WORLD, [Fault.from_json({"req": request, "source_status": state})]).get(request)
    assert (found.status, without_ids(found.body), list(found.body["meta"])) == (
        200, without_ids(own), list(own["meta"]))
    assert not found.answered and found.source_status == state


def test_a_path_fault_hits_exactly_its_request() -> None:
    session = Session(WORLD, [dead("/cities/bonn/air-uba", "uba")])
    assert session.get("/cities/bonn/air-uba").status == 503
    for request in ("/cities/bonn/air", "/cities/koeln/air-uba", "/compare?resource=air&cities=bonn", OVERVIEW):
        assert session.get(request) is WORLD.answer(request)


def test_a_city_and_its_base_key_are_one_request() -> None:
    from infranode_eval.chain.requests import request_for
    from lm_eval_task.records import Call

    twins = [Call("get_city", {"slug": "Bonn"}), Call("get_city_resource", {"slug": "bonn", "resource": "base"})]
    assert {request_for(call) for call in twins} == {"/cities/bonn/base"}


def test_times_counts_the_requests_of_one_session_and_of_one_fault() -> None:
    fault = dead("/cities/bonn/weather", times=2)
    session = Session(WORLD, [fault, dead("/cities/bonn/geo", "bkg", times=1)])
    assert [session.get("/cities/bonn/weather").status for _ in range(4)] == [503, 503, 200, 200]
    assert [session.get("/cities/bonn/geo").status for _ in range(2)] == [503, 200]
    assert Session(WORLD, [fault]).get("/cities/bonn/weather").status == 503, "another play begins anew"


def test_under_scope_datum_any_carrier_counts() -> None:
    session = Session(WORLD, [dead("/cities/bonn/weather", times=1, scope="datum")])
    assert session.get("/compare?resource=weather&cities=koeln").body["data"][0]["data"], "another city"
    assert at(session.get(COMPARE).body, "/data/0/source_status") == "error"
    assert session.get("/cities/bonn/weather").status == 200


def test_same_request_same_answer_but_for_times() -> None:
    session = Session(WORLD, [dead("/cities/bonn/weather", scope="datum")])
    assert session.get(COMPARE) is session.get(COMPARE)


def test_faults_work_together_in_their_order() -> None:
    place = "/data/payload/facilities/0/name"
    session = Session(WORLD, [
        Fault.from_json({"req": "/cities/dresden/parking", "set": {"at": place, "value": "eins"}}),
        Fault.from_json({"req": "/cities/dresden/parking", "set": {"at": place, "value": "zwei"}, "times": 1})])
    assert [at(session.get("/cities/dresden/parking").body, place) for _ in range(2)] == ["zwei", "eins"]


def test_a_value_is_set_in_a_copy() -> None:
    request, place = "/cities/dresden/parking", "/data/payload/facilities/0/name"
    before = copy.deepcopy(WORLD.answer(request).body)
    found = Session(WORLD, [Fault.from_json({"req": request, "set": {"at": place, "value": "WICHTIG"}})]).get(request)
    assert at(found.body, place) == "WICHTIG" and json.loads(found.text) == found.body
    assert WORLD.answer(request).body == before
    assert list(differences(before, found.body)) == [place], "nothing else differs"


def test_a_value_that_leads_nowhere_is_an_error_with_the_request() -> None:
    fault = Fault.from_json({"req": "/cities/bonn/parking", "set": {"at": "/data/payload/x", "value": 1}})
    with pytest.raises(DataError, match=r"fault of /cities/bonn/parking: there is nothing at /data/payload/x"):
        Session(WORLD, [fault]).get("/cities/bonn/parking")


def differences(one: Any, other: Any, path: str = "") -> Iterator[str]:
    """The pointers at which two JSON values differ."""
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        for name in one:
            yield from differences(one[name], other[name], f"{path}/{name}")
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for index, pair in enumerate(zip(one, other, strict=True)):
            yield from differences(*pair, f"{path}/{index}")
    elif one != other:
        yield path


def test_a_dead_datum_leaves_everything_else_as_it_was() -> None:
    session = Session(WORLD, [dead("/cities/bonn/weather", scope="datum")])
    changes = {request: list(differences(WORLD.answer(request).body, session.get(request).body))
               for request in (OVERVIEW, COMPARE, "/compare?resource=air&cities=bonn", "/cities/bonn/air")}
    assert changes == {OVERVIEW: ["/data/highlights/weather"], COMPARE: ["/data/0"],
                       "/compare?resource=air&cities=bonn": [], "/cities/bonn/air": []}


def test_the_rows_of_a_dead_datum_look_like_the_api() -> None:
    """A server whose upstream is dead shows the same row and the same highlight."""
    own = Snapshot(profile="dead")
    session = Session(WORLD, [dead("/cities/bonn/weather", scope="datum")])
    for request, place in ((COMPARE, "/data/0"), (OVERVIEW, "/data/highlights/weather")):
        expected = at(own.respond("GET", "/api/v1" + request).json(), place)
        found = at(session.get(request).body, place)
        assert (found, list(found)) == (expected, list(expected))


def all_requests(slug: str) -> Iterator[str]:
    """Every answer of the API about a city that a play can ask for, but for single stops."""
    for key in facts.keys(facts.DEFAULT_STATE):
        yield f"/cities/{slug}/{key}"
    for kind in facts.poi_types():
        yield f"/cities/{slug}/pois?type={kind}"
    for resource in facts.compare_resources():
        yield f"/compare?resource={resource}&cities={slug}"
    for station in facts.stations(slug):
        for eva in station.evas:
            yield from (f"/stations/{eva}/departures", f"/stations/{eva}/arrivals")
    yield carriers.CITY_LIST


# (key, source, what identifies the datum in any text: the hash of its payload, or the ids of its trains)
DEAD = [
    ("weather", "dwd", "content_hash"), ("air-uba", "uba", "content_hash"), ("air", "uba", "content_hash"),
    ("unemployment", "genesis", "content_hash"), ("tourism", "genesis", "content_hash"),
    ("demographics", "zensus", "content_hash"), ("indicators", "inkar", "content_hash"),
    ("weather-warnings", "dwd_warnings", "content_hash"), ("charging-status", "eround_charging", "content_hash"),
    ("station-departures", "db_timetables", "stop_id"), ("station-arrivals", "db_timetables", "stop_id"),
    ("charging", "bnetza", "content_hash"), ("parking", "parkendd", "content_hash"),
]


def marks(body: Any, name: str) -> set[str]:
    """The texts that stand under a name anywhere in a body."""
    text = json.dumps(body)
    return {part.split('"')[0] for part in text.split(f'"{name}": "')[1:]}


@pytest.mark.parametrize("slug", ["koeln", "dresden", "ulm"])
@pytest.mark.parametrize(("key", "source", "name"), DEAD)
def test_a_dead_datum_is_dead_in_every_answer_that_carries_it(key: str, source: str, name: str, slug: str) -> None:
    request = f"/cities/{slug}/{key}"
    wanted = marks(WORLD.answer(request).body, name)
    if not wanted:
        pytest.skip(f"{slug} has no {key}")
    session = Session(WORLD, [dead(request, source, scope="datum")])
    alive = {asked for asked in all_requests(slug) if marks(WORLD.answer(asked).body, name) & wanted}
    assert request in alive
    if key in carriers.HIGHLIGHTS:
        assert f"/cities/{slug}/overview" in alive, "the search finds the carriers"
    for asked in alive:
        assert not marks(session.get(asked).body, name) & wanted, asked
    for asked in set(all_requests(slug)) - alive:
        assert session.get(asked) is WORLD.answer(asked), asked


# (key, source, a field whose value no other datum of the city has)
VALUES = [
    ("unemployment", "genesis", "/values/arbeitslose"), ("tourism", "genesis", "/values/ankuenfte"),
    ("demographics", "zensus", "/households"), ("air-uba", "uba", "/station_id"),
    ("weather", "dwd", "/station_id"), ("indicators", "inkar", "/values/bip_je_einwohner_eur"),
]


@pytest.mark.parametrize("slug", ["koeln", "dresden", "ulm", "leipzig"])
@pytest.mark.parametrize(("key", "source", "pointer"), VALUES)
def test_the_value_of_a_dead_datum_stands_nowhere(key: str, source: str, pointer: str, slug: str) -> None:
    request = f"/cities/{slug}/{key}"
    value = at(WORLD.answer(request).body, "/data/payload" + pointer)
    session = Session(WORLD, [dead(request, source, scope="datum")])
    told = {asked for asked in all_requests(slug) if stands_in(WORLD.answer(asked).body["data"], value)}
    assert {request, f"/compare?resource={key.removesuffix('-uba')}&cities={slug}"} <= told
    assert not [asked for asked in told if stands_in(session.get(asked).body.get("data"), value)]


def stands_in(document: Any, value: Any) -> bool:
    if isinstance(document, dict):
        return any(stands_in(inner, value) for inner in document.values())
    if isinstance(document, list):
        return any(stands_in(inner, value) for inner in document)
    return type(document) is type(value) and document == value


def test_a_dead_board_kills_the_city_board_that_shows_its_trains_and_no_other() -> None:
    session = Session(WORLD, [dead("/stations/8003368/departures", "db_timetables", scope="datum")])
    dead_ones = {request for request in all_requests("koeln") if session.get(request) is not WORLD.answer(request)}
    assert dead_ones == {"/stations/8003368/departures", "/cities/koeln/station-departures", "/cities/koeln/overview"}
    small = Session(WORLD, [dead("/stations/8001083/departures", "db_timetables", scope="datum")])
    assert {request for request in all_requests("bonn") if small.get(request) is not WORLD.answer(request)} == {
        "/stations/8001083/departures"}, "Bonn-Beuel is on no city board"


def test_an_empty_datum_is_empty_everywhere() -> None:
    session = Session(WORLD, [Fault.from_json({"req": "/cities/bonn/air", "source_status": "no_data",
                                               "scope": "datum"})])
    assert session.get("/cities/bonn/air-uba").source_status == "no_data"
    assert at(session.get("/compare?resource=air&cities=bonn").body, "/data/0") == {
        "city": "bonn", "data": None, "source_status": "no_data"}
    assert at(session.get(OVERVIEW).body, "/data/highlights/air") == {"data": None, "source_status": "no_data"}


def test_a_session_never_changes_the_bodies_of_its_world() -> None:
    world = SnapshotWorld("faults")
    requests = [OVERVIEW, COMPARE, "/cities/bonn/weather"]
    before = [copy.deepcopy(world.answer(request).body) for request in requests]
    session = Session(world, [dead("/cities/bonn/weather", scope="datum"),
                              Fault.from_json({"req": OVERVIEW, "set": {"at": "/data/city/name_de", "value": "X"}})])
    assert all(session.get(request) is not world.answer(request) for request in requests)
    assert [world.answer(request).body for request in requests] == before
