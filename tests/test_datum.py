"""datum_match: does the answer to the calls contain what was asked, whoever gives it?"""

from __future__ import annotations

import json
from typing import Any

import pytest

from lm_eval_task.datum import Carriers, carriers, label_of
from lm_eval_task.metrics import aggregate, score_reply
from lm_eval_task.records import Call, Reply, Score, Task
from lm_eval_task.tools import read_tools

TOOLS = read_tools()


def call(name: str, **arguments: Any) -> Call:
    return Call(name, arguments)


def key(resource: str, slug: str = "koeln") -> Call:
    return call("get_city_resource", slug=slug, resource=resource)


def over(resource: str, *cities: str) -> Call:
    return call("compare", resource=resource, cities=",".join(cities))


def scored(task: Task, *calls: Call) -> Score:
    return score_reply(task, Reply.from_text(json.dumps([c.to_json() for c in calls], ensure_ascii=False)), TOOLS)


W, AIR, OVERVIEW = call("weather", slug="koeln"), call("air_quality", slug="koeln"), call("get_city_overview",
                                                                                           slug="koeln")
BOARD = call("station_board_departures", eva="8000208")


def task(*expected: Call, datum: Any, category: str = "resource_key", **more: Any) -> Task:
    accept = more.pop("accept", ())
    return Task("t", "Frage?", expected, accept, category, extra={"datum": datum, **more})


WARM = task(W, datum=["weather.temperature_c"])
AREA = task(call("get_city", slug="koeln"), datum=["base.area_km2"])
TWO = task(key("crime-stats"), key("crime-stats", "bonn"), datum=["crime-stats.total_cases"])
PLACES = task(key("playgrounds"), key("markets"), datum=["playgrounds.items[].lat", "markets.items[].lat"])
COLD = task(over("weather", "koeln", "bonn"), datum=["weather.temperature_c"])
STEP = task(key("stations"), datum=["stations.stations[].eva"], category="two_step", then=[BOARD.to_json()])
PV = task(key("energy"), datum=["energy.power_by_type.pv"])
LISTED = task(call("list_cities"), datum=["cities[].name_de"])
GIVEN = task(BOARD, datum=["board-departures.departures[].platform"])

EQUIVALENT = [
    # task, calls, call_match, datum_match, why
    (WARM, [W], True, True, "the gold"),
    (WARM, [key("weather")], False, True, "the same request"),
    (WARM, [OVERVIEW], False, True, "the overview shows the weather among its highlights"),
    (WARM, [key("overview")], False, True, "and so does the key of the same request"),
    (WARM, [over("weather", "koeln")], False, True, "a comparison of one city"),
    (WARM, [over("weather", "bonn", " KOELN ")], False, True, "its city is among several"),
    (WARM, [call("get_city_overview", slug="KOELN")], False, True, "case of a slug is free"),
    (AREA, [key("geo")], False, True, "the same area"),
    (task(key("air"), datum=["air.no2"]), [AIR], False, True, "the same five pollutants"),
    (COLD, [over("weather", "bonn", "ulm", "koeln")], False, True, "one city more than asked for"),
    (STEP, [BOARD], False, True, "the right board, its number from memory"),
    (task(call("get_city", slug="koeln"), datum=["base.population"]), [call("list_cities")], False, True,
     "the list holds every city"),
    (PLACES, [key("markets"), key("playgrounds")], True, True, "order is free"),
]


@pytest.mark.parametrize(("asked", "calls", "call_match", "datum_match", "why"), EQUIVALENT,
                         ids=[row[-1] for row in EQUIVALENT])
def test_the_answer_would_have_contained_it(asked: Task, calls: list[Call], call_match: bool, datum_match: bool,
                                            why: str) -> None:
    score = scored(asked, *calls)
    assert (score.call_match, score.datum_match) == (call_match, datum_match), why


OTHER = [
    # task, calls, why
    (WARM, [AIR], "pollutants, no temperature"),
    (WARM, [call("get_city_overview", slug="bonn")], "another city"),
    (WARM, [call("get_city_overview", slug="Köln")], "a slug that the API does not know"),
    (WARM, [over("weather", "bonn", "ulm")], "other cities"),
    (WARM, [over("weather", *(f"x{n}" for n in range(28)), "koeln")], "the API drops the 29th city"),
    (WARM, [over("wetter", "koeln")], "a resource that compare refuses"),
    (WARM, [OVERVIEW, AIR], "more calls than expected"),
    (WARM, [call("get_city_overview", slug="koeln", tage=3)], "a call that does not fit the schema"),
    (WARM, [call("get_city_overview", slug=["koeln"])], "of the wrong type"),
    (WARM, [call("overview", slug="koeln")], "a tool that was not offered"),
    (AREA, [key("population-density")], "the inhabited area is another"),
    (PV, [key("solar")], "yields hold no installed power"),
    (PV, [key("solar-roofs")], "photovoltaics on roofs are part of it, and another number"),
    (task(key("geo", "bonn"), datum=["geo.area_km2"]), [call("get_city", slug="bremen")], "another city"),
    (task(call("get_city", slug="koeln"), datum=["base.area_km2", "base.population"]), [key("geo")],
     "one of two data is missing"),
    (COLD, [over("weather", "koeln", "ulm")], "one of two cities is missing"),
    (COLD, [W, call("weather", slug="bonn")], "two calls where one is expected"),
    (TWO, [key("crime-stats"), key("crime-stats", "ulm")], "one of two cities is missing"),
    (TWO, [key("crime-stats")], "only one of them was asked for"),
    (PLACES, [key("markets"), key("education")], "one of two places is missing"),
    (STEP, [call("station_board_departures", eva="8000207")], "the board of another station"),
    (STEP, [call("station_board_arrivals", eva="8000208")], "its other board"),
    (STEP, [key("station-departures")], "the city board holds the main stations"),
    (STEP, [key("stations"), BOARD], "more calls than expected"),
    (GIVEN, [key("station-departures")], "the board of another station"),
    (GIVEN, [call("station_board_departures", eva="8000207")], "the board of another number"),
    (LISTED, [OVERVIEW], "one city is no list"),
    (task(key("bike-counts", "ulm"), datum=["bike-counts.counts[].value"], category="not_covered"),
     [OVERVIEW], "where there are no data, nothing holds them"),
]


@pytest.mark.parametrize(("asked", "calls", "why"), OTHER, ids=[row[-1] for row in OTHER])
def test_the_answer_would_have_contained_something_else(asked: Task, calls: list[Call], why: str) -> None:
    assert scored(asked, *calls).datum_match is False, why


def test_an_accepted_answer_holds_the_datum_by_its_own_right() -> None:
    asked = task(call("pois", slug="koeln", type="hospital"), datum=["pois-hospital.items[].name"],
                 accept=((key("health"),), (key("hospitals-atlas"),)))
    assert scored(asked, key("health")).call_match and scored(asked, key("health")).datum_match
    assert not scored(asked, key("icu-live")).datum_match


@pytest.mark.parametrize("datum", [None, "weather.temperature_c", [], [1], {"weather": 1}, ["no.such.datum"],
                                   ["weather.temperature_c", "no.such.datum"], ["weather.temperature_c", "air.no2"]])
def test_a_task_without_known_datum_is_judged_by_its_request(datum: Any) -> None:
    asked = task(W, datum=datum)
    assert scored(asked, key("weather")).datum_match is True
    assert scored(asked, OVERVIEW).datum_match is False


def test_abstention_is_call_match() -> None:
    none = Task("t", "Frage?", (), extra={"datum": ["weather.temperature_c"]})
    assert score_reply(none, Reply.from_text("Dafür gibt es kein Werkzeug."), TOOLS).datum_match is True
    assert scored(none, W).datum_match is False


@pytest.mark.parametrize(("text", "finish"), [('[{"name": "get_city_overview", "arg', "stop"), ("Hm.", "stop"),
                                              ('{"name": "get_city_overview", "arg', "length")])
def test_what_cannot_be_read_holds_nothing(text: str, finish: str) -> None:
    assert score_reply(WARM, Reply.from_text(text, finish), TOOLS).datum_match is False


def test_a_failure_has_none_and_the_aggregate_counts_it_as_not_solved() -> None:
    failure = Score.failure("infra_error", "timeout")
    assert failure.datum_match is None
    assert aggregate([("a", failure), ("a", scored(WARM, OVERVIEW))])["datum_match"] == 0.5


@pytest.mark.parametrize("then", ["x", [1], [{"name": "weather"}], [{"name": 1}], [{"arguments": []}],
                                  [{"name": ["x"], "arguments": {}}], [{"name": {}, "arguments": {}}]])
def test_a_broken_then_is_no_call(then: Any) -> None:
    assert scored(task(key("stations"), datum=["stations.stations[].eva"], then=then), W).datum_match is False


@pytest.mark.parametrize(("one", "label"), [
    (W, "weather"), (key("air"), "get_city_resource/air"), (over("air", "koeln"), "compare/air"),
    (call("pois", slug="koeln", type="school"), "pois/school"), (call("pois", slug="koeln"), "pois"),
    (call("compare", resource=["air"]), "compare")])
def test_labels(one: Call, label: str) -> None:
    assert label_of(one) == label


def test_a_call_that_answers_for_some_cities_holds_nothing_elsewhere() -> None:
    table = Carriers({"a.b": frozenset(("x", "y")), "availability.x": frozenset(("x",))}, {"x": frozenset(("bonn",))})
    assert table.hold("a.b", "x", ["bonn"]) and table.hold("a.b", "y", ["ulm"]) and table.hold("a.b", "x")
    assert not table.hold("a.b", "x", ["bonn", "ulm"]) and not table.hold("a.c", "x")
    assert table.hold("availability.x", "x", ["ulm"]), "that there are no data is an answer to whether there are"


def test_the_shipped_table_reads_back_as_it_is_written() -> None:
    table = carriers().to_json()
    assert len(table["carriers"]) > 500 and "get_city_overview" in table["carriers"]["weather.temperature_c"]
