"""Datum names are found in answers of every form that the API has."""

from __future__ import annotations

from typing import Any

import pytest

from infranode_eval.generator.contents import Naming, contains, names_in

NAMING = Naming({"weather": "weather", "station_departures": "station-departures", "holiday": "holidays"},
                {"poi": ("poi_type", {"school": "pois-school"}), "power": ("unit", {"MWh": "power-load"})},
                frozenset(("weather.warnings[]",)))


def record(kind: str, slug: str = "koeln", geo: Any = None, **payload: Any) -> dict[str, Any]:
    return {"city_slug": slug, "geo": geo, "ags": "05315000", "payload": {"kind": kind, **payload}}


WEATHER = record("weather", temperature_c=0, condition=False)
ENTRY = {"slug": "koeln", "name_de": "Köln", "population": 1, "qid": None}

NAMES = [
    (WEATHER, {"weather.temperature_c", "weather.condition"}, "a record; zero and false are values"),
    (record("weather", temperature_c=None, condition=""), set(), "null and an empty text are none"),
    (record("weather", geo={"lat": 1, "lon": 2}), {"weather.geo"}, "the position of a record"),
    (record("holiday", days=[{"date": "x", "name": None}, {"date": None, "name": "y"}]),
     {"holidays.days[]", "holidays.days[].date", "holidays.days[].name"}, "items share a name; one value is enough"),
    (record("holiday", days=[], by={}), set(), "empty containers hold nothing"),
    (record("holiday", days=[{}], by={"a": {"b": None}}), set(), "nor do containers of nothing"),
    (record("holiday", by={"a": {"b": 1}}), {"holidays.by", "holidays.by.a", "holidays.by.a.b"}, "paths of objects"),
    (record("poi", poi_type="school", count=1), {"pois-school.poi_type", "pois-school.count"},
     "keys that share a kind are told apart by a field"),
    (record("poi", poi_type="markets", count=1), {"markets.poi_type", "markets.count"}, "whose value may name the key"),
    (record("power", unit="MWh"), {"power-load.unit"}, "or stand for it"),
    (record("new_kind", x=1), {"new_kind.x"}, "an unknown kind names itself"),
    (record("station_departures", "8000207", departures=[{"line": "S 6"}]),
     {"board-departures.departures[]", "board-departures.departures[].line"}, "a board of one number is no city board"),
    (record("station_departures", departures=[{"line": "S 6"}]),
     {"station-departures.departures[]", "station-departures.departures[].line"}, "the board of a city"),
    ([{"city": "koeln", "data": WEATHER, "source_status": "ok"}, {"city": "x", "data": None}],
     {"weather.temperature_c", "weather.condition"}, "rows of compare"),
    ([record("weather", a=1), record("weather", b=1)], {"weather.a", "weather.b"}, "a list of records"),
    ({"hospital": WEATHER, "icu_capacity": None}, {"weather.temperature_c", "weather.condition"}, "a record inside"),
    (ENTRY, {"city", "city.slug", "city.name_de", "city.population"}, "an entry of the registry"),
    ([ENTRY], {"city", "city.slug", "city.name_de", "city.population", "cities[]", "cities[].slug", "cities[].name_de",
               "cities[].population"}, "the list of cities names each of them"),
    ([{"source": "dwd", "breaker_state": "CLOSED", "license": None}],
     {"sources[]", "sources[].source", "sources[].breaker_state"}, "the list of sources"),
    ({"notices": [{"title": "x"}], "count": 1},
     {"public-tenders", "public-tenders.notices[]", "public-tenders.notices[].title", "public-tenders.count"},
     "tenders are no record"),
    ({"city": ENTRY, "data_types": [{"type": "air", "available": False}], "highlights": {
        "weather": {"data": WEATHER, "source_status": "ok"}, "air": {"data": None}}},
     {"overview", "availability", "availability.air", "city", "city.slug", "city.name_de", "city.population",
      "weather.temperature_c", "weather.condition"}, "the overview: catalogue, registry entry and highlights"),
    (None, set(), "no data"), ("text", set(), "no object"), ([], set(), "an empty list"), ([None, 1], set(), "scalars"),
]


@pytest.mark.parametrize(("data", "names", "why"), NAMES, ids=[row[-1] for row in NAMES])
def test_names(data: Any, names: set[str], why: str) -> None:
    assert names_in(data, NAMING) == names, why


@pytest.mark.parametrize(("warnings", "name", "held", "why"), [
    ([], "weather.warnings[]", True, "no active warning is an answer"),
    ([], "weather.warnings[].event", True, "also to which one"),
    ([], "weather.warnings", False, "the list has brackets"),
    ([{"event": "x"}], "weather.warnings[].event", True, "a warning"),
    ([{"event": None}], "weather.warnings[].event", False, "a warning without the field"),
    (None, "weather.warnings[]", False, "not even the list"),
])
def test_an_empty_list_may_be_an_answer(warnings: Any, name: str, held: bool, why: str) -> None:
    assert contains(names_in(record("weather", warnings=warnings), NAMING), name) is held, why


def test_other_empty_lists_are_none() -> None:
    assert not contains(names_in(record("holiday", days=[]), NAMING), "holidays.days[]")
