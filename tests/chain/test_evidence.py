"""Evidence: when a play has met a pattern, and the patterns that follow from plans in the embedded world."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from infranode_eval.chain.declaration import faults_from_json, steps_from_json
from infranode_eval.chain.derive import Refused, execute_plan
from infranode_eval.chain.evidence import atoms_of, check_pattern, matches, must_call_of, path_of, satisfied
from infranode_eval.chain.responses import Response
from infranode_eval.chain.worlds import Session, open_world
from infranode_eval.infranode import facts
from lm_eval_task.errors import DataError

WORLD = open_world({"kind": "snapshot", "name": "s1"})


def answers(*requests: str) -> list[Response]:
    return [WORLD.answer(request) for request in requests]


WEATHER, AIR, BASE, LIST = "/cities/bonn/weather", "/cities/bonn/air", "/cities/bonn/base", "/cities?limit=200"
A, B, C = {"req": WEATHER}, {"req": AIR}, {"req": BASE}


@pytest.mark.parametrize(("pattern", "turns", "turn", "why"), [
    (A, [[WEATHER]], 0, "the first turn"),
    (A, [[AIR], [], [WEATHER], [WEATHER]], 2, "the earliest turn that matches"),
    (A, [[AIR]], None, "never"),
    (A, [], None, "nothing was called"),
    ({"all": [A, B]}, [[WEATHER, AIR]], 0, "all in one turn"),
    ({"all": [A, B]}, [[AIR], [BASE], [WEATHER]], 2, "the latest of its parts, in any order"),
    ({"all": [A, B]}, [[AIR], [BASE]], None, "a part is missing"),
    ({"any": [A, B]}, [[BASE], [AIR], [WEATHER]], 1, "the earliest of its parts"),
    ({"any": [A, B]}, [[BASE]], None, "none of them"),
    ({"seq": [A, B]}, [[WEATHER], [AIR]], 1, "one after the other"),
    ({"seq": [A, B]}, [[WEATHER, AIR]], None, "the second needs the result of the first"),
    ({"seq": [A, B]}, [[AIR], [WEATHER]], None, "the wrong order"),
    ({"seq": [A, B]}, [[AIR], [WEATHER], [BASE], [AIR]], 3, "the second is repeated later"),
    ({"seq": [A, {"all": [B, C]}]}, [[BASE], [WEATHER], [AIR]], None, "each part of a later stage comes later"),
    ({"seq": [A, {"all": [B, C]}]}, [[WEATHER], [AIR], [BASE]], 2, "all of a later stage"),
    ({"seq": [{"any": [A, B]}, C]}, [[AIR], [BASE], [WEATHER]], 1, "either way"),
    ({"any": [{"seq": [A, B]}, C]}, [[BASE], [WEATHER], [AIR]], 0, "nested"),
    ({"all": [{"any": [A, C]}, {"any": [B, C]}]}, [[AIR], [BASE]], 1, "one call may serve two parts"),
])
def test_satisfied(pattern: Any, turns: list[list[str]], turn: int | None, why: str) -> None:
    assert satisfied(pattern, [answers(*requests) for requests in turns]) == turn, why


DEAD = [{"req": WEATHER, "status": 503, "source": "dwd", "scope": "datum"}]
OVERVIEW = "/cities/bonn/overview"
PAIR = "/compare?resource=weather&cities=bonn,giessen"


def atom(req: str, result: str = "answered", **more: str) -> dict[str, str]:
    return {"req": req, "result": result, **more}


def row(city: str, result: str = "answered", resource: str = "weather") -> dict[str, str]:
    return atom("/compare", result, resource=resource, city=city)


# (atom, request, matches in the world, matches where the weather of Bonn is dead, why)
PREDICATES = [
    (atom(WEATHER), WEATHER, True, False, "answered is the default"),
    (atom(WEATHER, "failed"), WEATHER, False, True, "failed is its opposite"),
    (atom(WEATHER, "any"), WEATHER, True, True, "any answer"),
    (atom(WEATHER, "not_found"), WEATHER, False, False, "a 503 is no 404"),
    (atom(WEATHER), AIR, False, False, "another request"),
    (atom(LIST), LIST, True, True, "no source_status: answered"),
    (atom("/cities/bonn/parking", "not_covered"), "/cities/bonn/parking", True, True, "not covered"),
    (atom("/cities/bonn/parking", "failed"), "/cities/bonn/parking", True, True, "which is no answer"),
    (atom("/cities/bonn/parking"), "/cities/bonn/parking", False, False, "nor answered"),
    (atom("/cities/koeln/parking", "not_covered"), "/cities/koeln/parking", False, False, "covered"),
    (atom("/cities/muenchen/water-level", "failed"), "/cities/muenchen/water-level", True, True, "no_data"),
    (atom("/cities/muenchen/water-level", "not_covered"), "/cities/muenchen/water-level", False, False, "no_data"),
    (atom("/cities/giessen/base", "not_found"), "/cities/giessen/base", True, True, "404"),
    (atom("/cities/giessen/base", "failed"), "/cities/giessen/base", True, True, "which is no answer"),
    (atom("/cities/giessen/base", "any"), "/cities/giessen/base", True, True, "any"),
    (atom("/stations/80002/departures", "failed"), "/stations/80002/departures", True, True, "422"),
    (atom("/stations/80002/departures", "not_found"), "/stations/80002/departures", False, False, "422 is no 404"),
    (atom("/cities/giessen/*", "not_found"), "/cities/giessen/weather", True, True, "every request below"),
    (atom("/cities/giessen/*", "not_found"), "/cities/giessen-x/weather", False, False, "not beside it"),
    (atom("/cities/bonn/*", "not_found"), AIR, False, False, "answered"),
    (row("bonn"), PAIR, True, False, "the row counts"),
    (row("bonn", "failed"), PAIR, False, True, "the row failed"),
    (row("bonn", "any"), PAIR, True, True, "there is a row"),
    (row("bonn"), "/compare?resource=weather&cities=koeln", False, False, "no such row"),
    (row("bonn", "any"), "/compare?resource=weather&cities=koeln", False, False, "not even asked for"),
    (row("bonn"), "/compare?resource=air&cities=bonn", False, False, "another resource"),
    (row("giessen", "not_found"), PAIR, True, True, "an unknown city is a row"),
    (row("giessen"), PAIR, False, False, "without an answer"),
    (row("giessen", "failed"), PAIR, True, True, "not found is no answer"),
    (row("giessen", "not_found", "*"), PAIR, True, True, "of any resource"),
    (row("bonn", "failed", "parking"), "/compare?resource=parking&cities=bonn", True, True, "400 fails for its cities"),
    (row("bonn", "any", "parking"), "/compare?resource=parking&cities=bonn", True, True, "and is an answer"),
    (row("ulm", "failed", "parking"), "/compare?resource=parking&cities=bonn", False, False, "for its cities only"),
    (atom(OVERVIEW), OVERVIEW, True, True, "an overview always answers"),
    (atom(OVERVIEW, highlight="weather"), OVERVIEW, True, False, "its highlight may not"),
    (atom(OVERVIEW, "failed", highlight="weather"), OVERVIEW, False, True, "then it failed"),
    (atom(OVERVIEW, highlight="air"), OVERVIEW, True, True, "another highlight"),
    (atom("/cities/giessen/overview", "not_found", highlight="air"), "/cities/giessen/overview", True, True, "404"),
    (atom("/cities/giessen/overview", "failed", highlight="air"), "/cities/giessen/overview", True, True, "404"),
]


@pytest.mark.parametrize(("pattern", "request_", "plain", "under_fault", "why"), PREDICATES)
def test_an_atom_matches(pattern: Any, request_: str, plain: bool, under_fault: bool, why: str) -> None:
    check_pattern(pattern)
    session = Session(WORLD, faults_from_json(DEAD))
    assert (matches(pattern, WORLD.answer(request_)), matches(pattern, session.get(request_))) == (
        plain, under_fault), why


@pytest.mark.parametrize("pattern", [
    {}, "x", None, {"all": []}, {"any": {}}, {"all": [A], "any": [B]}, {"seq": "x"}, {"all": [A, {"oder": [B]}]}])
def test_what_is_no_pattern_is_refused(pattern: Any) -> None:
    with pytest.raises(DataError, match="a pattern is"):
        satisfied(pattern, [answers(WEATHER)])


@pytest.mark.parametrize("pattern", [
    {"req": "cities/bonn"}, {"req": WEATHER, "result": "dead"}, {"req": WEATHER, "status": 200},
    {"req": "/compare"}, {"req": "/compare", "resource": "air"}, {"req": WEATHER, "city": "bonn", "resource": "air"}])
def test_a_wrong_atom_is_refused(pattern: Any) -> None:
    with pytest.raises(DataError):
        check_pattern({"all": [A, pattern]})


# Properties

POOL = [response for session in (Session(WORLD), Session(WORLD, faults_from_json(DEAD)))
        for request in (WEATHER, AIR, BASE, OVERVIEW, PAIR, "/cities/giessen/base", "/cities/bonn/parking")
        for response in [session.get(request)]]


def some_pattern(draw: random.Random, depth: int = 3) -> dict[str, Any]:
    if depth == 0 or draw.random() < 0.3:
        return draw.choice([row[0] for row in PREDICATES])
    kind = draw.choice(["all", "any", "seq"])
    return {kind: [some_pattern(draw, depth - 1) for _ in range(draw.randint(1, 3))]}


def some_play(draw: random.Random) -> list[list[Response]]:
    return [draw.choices(POOL, k=draw.randint(0, 3)) for _ in range(draw.randint(0, 6))]


@pytest.mark.parametrize("seed", range(400))
def test_adding_calls_never_takes_evidence_away_and_cutting_before_it_does(seed: int) -> None:
    draw = random.Random(seed)
    pattern, play = some_pattern(draw), some_play(draw)
    turn = satisfied(pattern, play)
    if turn is None:
        return
    assert satisfied(pattern, play[:turn]) is None, "the returned turn is needed"
    assert satisfied(pattern, play[:turn + 1]) == turn, "what comes later does not matter"
    more = [[*turn_calls, *draw.choices(POOL, k=draw.randint(0, 2))] for turn_calls in play]
    found = satisfied(pattern, more)
    assert found is not None and found <= turn, "further calls in the same turns"
    longer = list(play)
    for _ in range(draw.randint(1, 3)):
        longer.insert(draw.randint(0, len(longer)), draw.choices(POOL, k=2))
    assert satisfied(pattern, longer) is not None, "further turns"


def test_the_properties_are_tried_on_plays_that_met_their_pattern() -> None:
    plays = [(some_pattern(draw), some_play(draw)) for draw in map(random.Random, range(400))]
    turns = [satisfied(*play) for play in plays]
    assert sum(turn is not None and turn > 0 for turn in turns) > 40
    assert sum(turn is None for turn in turns) > 100


# What follows from plans


def resource(step: str, slug: str, key: str, **more: Any) -> dict[str, Any]:
    return {"id": step, "call": {"name": "get_city_resource", "arguments": {"slug": slug, "resource": key}}, **more}


def call(step: str, name: str, **arguments: str) -> dict[str, Any]:
    return {"id": step, "call": {"name": name, "arguments": arguments}}


def field(pointer: str, step: str = "a", op: str = "value", at: str = "/data/payload", **more: Any) -> dict[str, Any]:
    return {"op": op, "from": step, "at": at, "field": pointer, **more}


def must_call(plan: Sequence[Mapping[str, Any]], derive: Mapping[str, Any],
              faults: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
    steps, struck = steps_from_json(list(plan)), faults_from_json(list(faults))
    executed = execute_plan(steps, Session(WORLD, struck).get)
    pattern = must_call_of(steps, executed, WORLD, derive, struck)
    check_pattern(pattern)
    assert satisfied(pattern, [[step.response for step in executed]]) == 0, "the gold satisfies it"
    return pattern


def short(pattern: Any) -> Any:
    """A pattern in one line: any as |, all as a list, compare as resource:city, a highlight behind #."""
    if "any" in pattern:
        return " | ".join(short(part) for part in pattern["any"])
    if "all" in pattern or "seq" in pattern:
        return [short(part) for part in pattern.get("all") or pattern["seq"]]
    text = f"{pattern['resource']}:{pattern['city']}" if "resource" in pattern else pattern["req"]
    text += f"#{pattern['highlight']}" if "highlight" in pattern else ""
    return text if pattern.get("result", "answered") == "answered" else f"{text} {pattern['result']}"


WEATHER_OF = "/cities/{0}/weather | weather:{0} | /cities/{0}/overview#weather"
POPULATION_OF = ("/cities/{0}/base | /cities/{0}/demographics | demographics:{0} | /cities/{0}/population-density | "
                 "/cities?limit=200 | /cities/{0}/overview")
BONN_LIST = {"op": "value", "from": "a", "at": "/data", "where": [["/slug", "==", "bonn"]], "field": "/population"}
FIRST = {"op": "nth", "from": "a", "at": "/data/payload/departures", "by": "/planned_time", "n": 1,
         "return": "/platform"}


@pytest.mark.parametrize(("plan", "derive", "expected", "why"), [
    ([resource("a", "koeln", "unemployment")], field("/values/arbeitslosenquote"),
     "/cities/koeln/unemployment | unemployment:koeln", "the row of a comparison"),
    ([call("a", "weather", slug="bonn")], field("/temperature_c"), WEATHER_OF.format("bonn"), "a highlight"),
    ([resource("a", "bonn", "air")], field("/no2"),
     "/cities/bonn/air | /cities/bonn/air-uba | air:bonn | /cities/bonn/overview#air", "the twin key"),
    ([call("a", "air_quality", slug="bonn")], field("/no2"),
     "/cities/bonn/air-uba | /cities/bonn/air | air:bonn | /cities/bonn/overview#air", "and back"),
    ([call("a", "get_city", slug="koeln")], field("/population"), POPULATION_OF.format("koeln"), "population"),
    ([call("a", "get_city", slug="koeln")], field("/area_km2"), "/cities/koeln/base | /cities/koeln/geo", "area"),
    ([resource("a", "koeln", "geo")], field("/area_km2"), "/cities/koeln/geo | /cities/koeln/base", "area and back"),
    ([resource("a", "koeln", "demographics")], field("/households"),
     "/cities/koeln/demographics | demographics:koeln", "households stand nowhere else"),
    ([resource("a", "dresden", "charging")],
     {"op": "count", "from": "a", "at": "/data/payload/stations", "where": [["/power_kw", ">=", 150]]},
     "/cities/dresden/charging", "a list of its own"),
    ([resource("a", "koeln", "charging-status")], field("/counts/AVAILABLE"),
     "/cities/koeln/charging-status | charging-status:koeln", "compare keeps the counts"),
    ([resource("a", "koeln", "charging-status")],
     {"op": "count", "from": "a", "at": "/data/payload/points", "where": [["/status", "==", "AVAILABLE"]]},
     "/cities/koeln/charging-status", "and drops the points"),
    ([resource("a", "koeln", "weather-warnings")], field("/count"),
     "/cities/koeln/weather-warnings | weather-warnings:koeln", "warnings"),
    ([call("a", "compare", resource="weather", cities="koeln,bonn")],
     {"op": "difference", "of": field("/data/payload/temperature_c", at="/data", op="max"),
      "minus": field("/data/payload/temperature_c", at="/data", op="min")},
     ["weather:bonn | /cities/bonn/weather | /cities/bonn/overview#weather",
      "weather:koeln | /cities/koeln/weather | /cities/koeln/overview#weather"], "every city of a comparison"),
    ([call("a", "compare", resource="weather", cities="koeln,bonn")],
     field("/data/payload/temperature_c", at="/data", where=[["/city", "==", "bonn"]]),
     WEATHER_OF.format("bonn"), "one city of a comparison"),
    ([call("a", "compare", resource="weather", cities="koeln,bonn")],
     field("/data/payload/temperature_c", at="/data/0"), WEATHER_OF.format("bonn"), "a row by its index"),
    ([call("a", "compare", resource="weather", cities="koeln,bonn")],
     field("/temperature_c", at="/data/0/data/payload"), WEATHER_OF.format("bonn"), "further in"),
    ([call("a", "compare", resource="demographics", cities="koeln,bonn")],
     field("/data/payload/population", at="/data", where=[["/city", "==", "bonn"]]),
     "demographics:bonn | /cities/bonn/demographics | /cities/bonn/base | /cities/bonn/population-density | "
     "/cities?limit=200 | /cities/bonn/overview", "a field of a row"),
    ([call("a", "weather", slug="bonn"), call("b", "weather", slug="ulm")],
     {"op": "max", "from": ["a", "b"], "at": "/data/payload", "field": "/temperature_c"},
     [WEATHER_OF.format("bonn"), WEATHER_OF.format("ulm")], "steps together in one source"),
    ([resource("a", "koeln", "unemployment"), call("b", "get_city", slug="koeln")],
     {"op": "ratio", "of": field("/values/arbeitslose"), "over": field("/population", "b"), "times": 1000},
     ["/cities/koeln/unemployment | unemployment:koeln", POPULATION_OF.format("koeln")], "the worked example of join"),
    ([call("a", "get_city", slug="koeln")],
     {"op": "ratio", "of": field("/population"), "over": field("/area_km2")},
     [POPULATION_OF.format("koeln"), "/cities/koeln/base | /cities/koeln/geo"], "two data of one step, each its way"),
    ([call("a", "get_city", slug="koeln")], field("/area_km2", where=[["/population", ">", 1]]), "/cities/koeln/base",
     "two fields of one datum must stand together"),
    ([call("a", "list_cities")], BONN_LIST,
     "/cities?limit=200 | /cities/bonn/overview | /cities/bonn/base | /cities/bonn/demographics | demographics:bonn | "
     "/cities/bonn/population-density", "one entry of the list"),
    ([call("a", "list_cities")], {"op": "max", "from": "a", "at": "/data", "where": [["/state", "==", "SN"]],
                                  "field": "/population"}, "/cities?limit=200", "a choice among all"),
    ([resource("a", "bonn", "station-departures")], FIRST,
     "/cities/bonn/station-departures | /cities/bonn/overview#departures | /stations/8000044/departures",
     "the board of the one station, and the highlight"),
    ([call("a", "station_board_departures", eva="8000044")], FIRST,
     "/stations/8000044/departures | /cities/bonn/station-departures | /cities/bonn/overview#departures", "and back"),
    ([call("a", "station_board_departures", eva="8001083")], FIRST, "/stations/8001083/departures",
     "a small station is on no city board"),
    ([call("a", "station_board_arrivals", eva="8000044")], {**FIRST, "at": "/data/payload/arrivals"},
     "/stations/8000044/arrivals | /cities/bonn/station-arrivals", "arrivals are in no overview"),
    ([resource("a", "dresden", "holidays")],
     {"op": "nth", "from": "a", "at": "/data/payload/holidays", "by": "/date", "n": 1, "return": "/name"},
     "/cities/dresden/holidays | /cities/leipzig/holidays | /cities/chemnitz/holidays", "one list a federal state"),
    ([resource("a", "koeln", "tourism", carry=False), resource("b", "ulm", "tourism")],
     {"op": "max", "from": ["a", "b"], "at": "/data/payload", "field": "/values/ankuenfte"},
     "/cities/ulm/tourism | tourism:ulm", "carry false takes a step out"),
])
def test_must_call(plan: Any, derive: Any, expected: Any, why: str) -> None:
    found = short(must_call(plan, derive))
    assert sorted(found.split(" | ")) == sorted(expected.split(" | ")) if isinstance(found, str) else [
        sorted(part.split(" | ")) for part in found] == [sorted(part.split(" | ")) for part in expected], (why, found)


def test_the_gold_s_own_request_stands_first() -> None:
    pattern = must_call([resource("a", "koeln", "geo")], field("/area_km2"))
    assert pattern["any"][0] == {"req": "/cities/koeln/geo"}


NONE = {"op": "none"}
WEATHER_DEAD = ("/cities/bonn/weather failed | weather:bonn failed | /cities/bonn/overview#weather failed")


def failed(result: str = "failed") -> dict[str, Any]:
    return {"carry": True, "result": result}


@pytest.mark.parametrize(("plan", "derive", "faults", "expected", "why"), [
    ([resource("a", "bonn", "air-uba"), resource("b", "bonn", "air")], field("/no2", "b"),
     [{"req": "/cities/bonn/air-uba", "status": 503, "source": "uba"}],
     "/cities/bonn/air | air:bonn | /cities/bonn/overview#air", "fallback: the dead twin is no carrier"),
    ([resource("a", "bonn", "weather"), resource("b", "bonn", "weather")], field("/humidity", "b"),
     [{"req": WEATHER, "status": 503, "source": "dwd", "times": 1}], WEATHER_OF.format("bonn"),
     "transient: later it answers"),
    ([resource("a", "bonn", "weather", **failed())], NONE, DEAD, WEATHER_DEAD, "dead everywhere"),
    ([resource("a", "bonn", "weather", **failed())], {**field("/temperature_c"), "op": "none"}, DEAD, WEATHER_DEAD,
     "with the datum named"),
    ([{**call("a", "compare", resource="weather", cities="bonn,ulm"), **failed()}],
     {"op": "none", "from": "a", "at": "/data", "where": [["/city", "==", "bonn"]], "field": "/data/payload/humidity"},
     DEAD, "weather:bonn failed | /cities/bonn/weather failed | /cities/bonn/overview#weather failed",
     "a row with the datum named"),
    ([resource("a", "bonn", "air", carry=True)], NONE,
     [{"req": "/cities/bonn/air-uba", "set": {"at": "/data/payload/no2", "value": 99.0}}],
     "/cities/bonn/air | air:bonn | /cities/bonn/overview#air", "whole records that agree"),
    ([{**call("a", "compare", resource="weather", cities="bonn,ulm"), **failed()}], NONE, DEAD,
     "weather:bonn failed | /cities/bonn/weather failed | /cities/bonn/overview#weather failed",
     "only the row that failed"),
    ([resource("a", "koeln", "charging-status", **failed())], NONE,
     [{"req": "/cities/koeln/charging-status", "status": 503, "source": "x", "scope": "datum"}],
     "/cities/koeln/charging-status failed | charging-status:koeln failed", "a comparison without the points"),
    ([resource("a", "bonn", "station-departures", **failed())], NONE,
     [{"req": "/cities/bonn/station-departures", "status": 503, "source": "db_timetables", "scope": "datum"}],
     "/cities/bonn/station-departures failed | /cities/bonn/overview#departures failed | "
     "/stations/8000044/departures failed", "boards"),
    ([resource("a", "muenchen", "water-level", **failed())], NONE, [], "/cities/muenchen/water-level failed",
     "no fault: the world has none"),
    ([resource("a", "bonn", "parking", **failed("not_covered"))], NONE, [],
     "/cities/bonn/parking not_covered | /cities/bonn/overview", "the overview's catalogue says it as well"),
    ([resource("a", "koeln", "demographics", **failed())], {**field("/households"), "op": "none"},
     [{"req": "/cities/koeln/demographics", "status": 503, "source": "zensus", "scope": "datum"}],
     "/cities/koeln/demographics failed | demographics:koeln failed", "a datum that stands nowhere else"),
])
def test_must_call_under_faults(plan: Any, derive: Any, faults: Any, expected: str, why: str) -> None:
    assert sorted(short(must_call(plan, derive, faults)).split(" | ")) == sorted(expected.split(" | ")), why


@pytest.mark.parametrize("slug", ["koeln", "muenchen", "frankfurt-am-main", "ulm"])
@pytest.mark.parametrize("key", ["weather", "air", "tourism", "charging-status", "station-departures",
                                 "station-arrivals", "parking", "fuel-prices", "indicators"])
def test_what_shows_that_a_datum_is_dead_is_what_its_fault_kills(key: str, slug: str) -> None:
    request = f"/cities/{slug}/{key}"
    if not WORLD.answer(request).answered:
        pytest.skip(f"{slug} has no {key}")
    fault = {"req": request, "status": 503, "source": "x", "scope": "datum"}
    pattern = must_call([resource("a", slug, key, **failed())], NONE, [fault])
    session = Session(WORLD, faults_from_json([fault]))
    asked = {f"/cities/{slug}/{name}" for name in facts.keys(facts.DEFAULT_STATE)}
    asked |= {f"/compare?resource={name}&cities={slug}" for name in facts.compare_resources()}
    asked |= {f"/stations/{eva}/{way}" for station in facts.stations(slug) for eva in station.evas
              for way in ("departures", "arrivals")}
    killed = {one for one in asked if session.get(one) is not WORLD.answer(one)}
    assert killed == {one for one in asked if satisfied(pattern, [[session.get(one)]]) == 0}


@pytest.mark.parametrize("key", ["unemployment", "demographics"])
def test_an_unknown_city_may_be_learned_from_any_request(key: str) -> None:
    pattern = must_call([resource("a", "giessen", key, **failed("not_found"))], NONE)
    ways = [f"/cities/giessen/{key}", "/cities/giessen/overview", "/cities/gie%c3%9fen/base", LIST,
            "/live/giessen/transit/departures?stop_id=1", "/compare?resource=air&cities=bonn,giessen",
            "/compare?resource=unemployment&cities=gießen"]
    for request in ways:
        assert satisfied(pattern, [answers(request)]) == 0, request
    for request in ("/cities/bonn/unemployment", "/compare?resource=unemployment&cities=bonn", "/sources?limit=200"):
        assert satisfied(pattern, [answers(request)]) is None, request


@pytest.mark.parametrize(("plan", "derive", "faults", "reason"), [
    ([resource("a", "bonn", "weather", **failed())], NONE, [{"req": WEATHER, "status": 503, "source": "dwd"}],
     "the datum is there: /compare?resource=weather&cities=bonn answers"),
    ([resource("a", "bonn", "weather", **failed())], {**field("/humidity"), "op": "none"},
     [{"req": WEATHER, "status": 503, "source": "dwd"}], "the datum is there"),
    ([resource("a", "bonn", "base", **failed())], NONE,
     [{"req": BASE, "status": 503, "source": "wikidata", "scope": "datum"}], "say which datum is missing"),
    ([resource("a", "bonn", "base", **failed())], {**field("/area_km2"), "op": "none"},
     [{"req": BASE, "status": 503, "source": "wikidata", "scope": "datum"}],
     "the datum is there: /cities/bonn/geo answers"),
    ([resource("a", "bonn", "weather", **failed())], NONE, [], "step a is not failed"),
    ([{**call("a", "compare", resource="weather", cities="bonn,ulm"), **failed()}],
     {"op": "none", "from": "a", "at": "/data", "where": [["/city", "==", "bonn"]], "field": "/data/payload/humidity"},
     [{"req": "/compare?resource=weather&cities=bonn,ulm", "status": 503, "source": "dwd"}],
     "the datum is there: /cities/bonn/weather answers"),
    ([resource("a", "koeln", "parking", **failed("not_covered"))], NONE, [], "step a is not not_covered"),
    ([resource("a", "bonn", "weather")], field("/humidity"), DEAD, "step a is not answered"),
    ([resource("a", "bonn", "weather")], NONE, [], "no step carries"),
    ([resource("a", "bonn", "weather", carry=False)], field("/humidity"), [], "no step carries"),
])
def test_what_gives_no_evidence_is_refused(plan: Any, derive: Any, faults: Any, reason: str) -> None:
    with pytest.raises(Refused) as error:
        must_call(plan, derive, faults)
    assert reason in error.value.reason


def test_a_carrier_must_hold_the_row_it_stands_for_not_only_lead_to_the_same_answer() -> None:
    """The maximum is Dresden's; a city board, a wrong city or a lower value of Bonn would not change it."""
    plan = [call("a", "compare", resource="weather", cities="bonn,dresden")]
    derive = field("/data/payload/temperature_c", at="/data", op="max")
    fault = {"req": WEATHER, "set": {"at": "/data/payload/temperature_c", "value": -99.0}}
    pattern = must_call(plan, derive, [fault])
    assert WEATHER not in {atom["req"] for atom in atoms_of(pattern)}, "this answer holds another value"
    assert "/cities/dresden/weather" in {atom["req"] for atom in atoms_of(pattern)}


STATIONS = {"op": "value", "from": "s", "at": "/data/payload/stations", "where": [["/name", "==", "Bonn-Beuel"]],
            "field": "/eva"}


@pytest.mark.parametrize(("plan", "faults", "expected", "why"), [
    ([resource("s", "bonn", "stations"), call("b", "station_board_departures", eva=STATIONS)], [],
     ["/cities/bonn/stations", "/stations/8001083/departures"], "an argument comes from the step before"),
    ([resource("a", "bonn", "weather"), resource("b", "ulm", "weather")], [],
     ["/cities/bonn/weather", "/cities/ulm/weather"], "independent steps"),
    ([resource("a", "bonn", "weather")], [], "/cities/bonn/weather", "one step"),
    ([call("x", "station_board_departures", eva="80002"), resource("s", "bonn", "stations"),
      call("b", "station_board_departures", eva=STATIONS)], [],
     [["/stations/80002/departures failed", "/cities/bonn/stations"], "/stations/8001083/departures"],
     "as the gold saw them"),
    ([resource("a", "bonn", "air-uba"), resource("b", "bonn", "air")],
     [{"req": "/cities/bonn/air-uba", "status": 503, "source": "uba"}],
     ["/cities/bonn/air-uba failed", "/cities/bonn/air"], "a dead step is part of the path"),
    ([call("c", "compare", resource="air", cities="ulm,bonn")], [], ["air:bonn", "air:ulm"], "rows of a comparison"),
    ([resource("a", "bonn", "parking")], [], "/cities/bonn/parking not_covered", "not covered"),
])
def test_path(plan: Any, faults: Any, expected: Any, why: str) -> None:
    steps = steps_from_json(plan)
    executed = execute_plan(steps, Session(WORLD, faults_from_json(faults)).get)
    pattern = path_of(steps, executed)
    check_pattern(pattern)
    assert short(pattern) == expected, why
    assert ("seq" in pattern) is any(step.derived() for step in steps)
    assert satisfied(pattern, [[step.response] for step in executed]) == len(executed) - 1, "the gold walks it"
