"""The table of carriers: found by execution, completed by equal and declared data, shipped for the scorer."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from infranode_eval.generator.carriers import Knowledge, executed, matches, offered, snapshot_carriers, text_of
from infranode_eval.generator.contents import Naming
from infranode_eval.infranode import facts
from lm_eval_task.datum import TABLE, Carriers, label_of
from lm_eval_task.tools import NAMED_TOOLS, call_problem, read_tools, request_of

TOOLS = read_tools()


@cache
def table() -> Carriers:
    return snapshot_carriers(TOOLS)


def test_the_shipped_table_is_what_the_execution_shows() -> None:
    assert TABLE.read_text("utf-8") == text_of(table()), "python generate.py --source snapshot writes it anew"


def test_every_offered_call_is_executed_once_and_fits_the_tools() -> None:
    calls = list(offered(TOOLS, "koeln"))
    labels = {label_of(call) for call in calls}
    assert not [call for call in calls if call_problem(TOOLS, call) or request_of(call) is None]
    keys = {f"get_city_resource/{key}" for key in facts.keys(facts.DEFAULT_STATE) if key not in NAMED_TOOLS}
    assert keys <= labels and {label.partition("/")[0] for label in labels} == set(TOOLS.by_name)
    assert sum(label.startswith("pois/") for label in labels) == 6
    assert sum(label.startswith("compare/") for label in labels) == 8


HELD = [
    ("weather.temperature_c", {"weather", "get_city_resource/weather", "get_city_overview", "compare/weather",
                               "get_city_resource/overview"}, "highlights, comparison and the same request"),
    ("air.no2", {"air_quality", "get_city_resource/air-uba", "get_city_resource/air", "compare/air",
                 "get_city_overview", "get_city_resource/overview"}, "two paths to the same pollutants"),
    ("base.area_km2", {"get_city", "get_city_resource/base", "get_city_resource/geo"}, "one area"),
    ("pois-hospital.items[].name", {"pois/hospital", "get_city_resource/health", "get_city_resource/hospitals-atlas"},
     "three lists of hospitals, one of them switched off and declared"),
    ("pois-hospital.items[].lat", {"pois/hospital"}, "positions stand on the map only"),
    ("energy.power_by_type.pv", {"get_city_resource/energy"}, "roofs are part of it, and another number"),
    ("solar-roofs.potential_kwp", {"get_city_resource/solar-roofs"}, "what roofs could carry"),
    ("charging-status.counts", {"get_city_resource/charging-status", "compare/charging-status"}, "occupancy"),
    ("charging-status.points[].status", {"get_city_resource/charging-status"}, "compare leaves the points out"),
    ("weather-warnings.special_warnings[].event", {"get_city_resource/weather-warnings", "compare/weather-warnings"},
     "no special warning is an answer in most cities"),
    ("unemployment.values.arbeitslosenquote",
     {"get_city_resource/unemployment", "compare/unemployment", "get_city_resource/indicators", "compare/indicators"},
     "the bundle is declared to hold it"),
    ("stations.stations[].eva", {"get_city_resource/stations"}, "numbers of stations"),
    ("board-departures.departures[].line", {"station_board_departures"}, "a board by number"),
    ("transit_departures.departures[].delay_min", {"transit_departures"}, "departures of a stop"),
    ("availability.flood", {"get_city_overview", "get_city_resource/overview", "get_city_resource/flood"},
     "the catalogue, and the key itself, which says not_covered"),
    ("availability", {"get_city_overview", "get_city_resource/overview"}, "the catalogue as a whole"),
    ("cities[].slug", {"list_cities"}, "the list of cities"),
    ("sources[].license", {"sources"}, "the list of sources"),
    ("geo.reference_year", {"get_city_resource/geo"}, "declared: the offline model lacks the field"),
]


@pytest.mark.parametrize(("name", "labels", "why"), HELD, ids=[row[0] for row in HELD])
def test_carriers_of(name: str, labels: set[str], why: str) -> None:
    assert table().labels[name] == labels, why


def test_population_stands_in_five_places_and_the_bundle() -> None:
    held = table().labels["base.population"]
    assert {"get_city", "get_city_overview", "get_city_resource/demographics", "get_city_resource/population-density",
            "list_cities", "get_city_resource/indicators"} <= held


def test_keys_that_leave_cities_out_are_bound_to_the_others() -> None:
    only = table().only
    for key in ("parking", "flood", "road-events", "solar-roofs", "heritage"):
        assert only[f"get_city_resource/{key}"] == set(facts.covered(facts.DEFAULT_STATE, key) or ())
    assert "koeln" in only["get_city_resource/water-level"] and "get_city_resource/charging" not in only


def answers(**by_path: Any) -> Any:
    return lambda request: by_path.get(request.partition("?")[0].rpartition("/")[2], {"data": None, "meta": {}})


def test_what_does_not_answer_holds_nothing_unless_it_is_switched_off() -> None:
    knowledge = Knowledge(Naming({}, {}, frozenset()), (frozenset(("a.x", "b.x")),),
                        {"get_city_resource/geo": frozenset(("geo.year",)), "get_city_resource/webcams":
                            frozenset(("webcams.image",)), "get_city_resource/flood": frozenset(("flood.x",))})
    found = executed(answers(
        geo={"data": {"payload": {"kind": "a", "x": 1}}, "meta": {"source_status": "ok"}},
        webcams={"data": None, "meta": {"source_status": "disabled"}},
        flood={"data": None, "meta": {"source_status": "not_covered"}}), TOOLS, knowledge, ["koeln"])
    assert found.labels == {
        "a.x": {"get_city_resource/geo"}, "b.x": {"get_city_resource/geo"}, "geo.year": {"get_city_resource/geo"},
        "webcams.image": {"get_city_resource/webcams"}, "availability.geo": {"get_city_resource/geo"},
        "availability.flood": {"get_city_resource/flood"}}
    assert found.only == {}


@pytest.mark.parametrize(("pattern", "name", "fits"), [
    ("weather.*", "weather.humidity", True), ("weather.*", "weather-warnings.count", False),
    ("stations.stations[].eva", "stations.stations[].eva", True), ("stations.stations[].*", "stations.stations[].eva",
                                                                   True), ("board-*", "board-arrivals.x", True),
    ("a[b]", "ab", False), ("each:*", "each:weather", True)])
def test_brackets_of_a_pattern_stand_for_themselves(pattern: str, name: str, fits: bool) -> None:
    assert matches(pattern, name) is fits
