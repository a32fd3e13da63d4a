"""Phrasings: read with their rules, filled with the right German forms."""

from __future__ import annotations

import pytest

from infranode_eval.generator.templates import Phrasing, city_forms, natural, phrasings, places, states
from infranode_eval.infranode import facts
from lm_eval_task.errors import DataError
from lm_eval_task.records import Call
from lm_eval_task.tools import call_problem, read_tools

ROW = {"id": "air-1", "category": "resource_key", "register": "sie", "text": "Wie ist {gen} Luft {in_city}?",
       "call": {"name": "get_city_resource", "arguments": {"slug": "{slug}", "resource": "air"}},
       "accept": [[{"name": "air_quality", "arguments": {"slug": "{slug}"}}]], "cities": None,
       "datum": ["air.no2"]}


def test_slots_are_filled_in_question_calls_and_accepts() -> None:
    phrasing, values = Phrasing.from_json(ROW), city_forms()["koeln"].values()
    assert phrasing.question(values) == "Wie ist Kölns Luft in Köln?"
    assert phrasing.expected(values) == (Call("get_city_resource", {"slug": "koeln", "resource": "air"}),)
    assert phrasing.accepted(values) == ((Call("air_quality", {"slug": "koeln"}),),)


def test_several_cities_have_numbered_slots() -> None:
    row = ROW | {"text": "{city1} oder {city2}?", "accept": [],
                 "call": {"name": "compare", "arguments": {"resource": "air", "cities": "{slug1},{slug2}"}}}
    phrasing = Phrasing.from_json(row)
    assert phrasing.city_count == 2
    assert phrasing.question(city_forms()["ulm"].values(1) | city_forms()["fuerth"].values(2)) == "Ulm oder Fürth?"


def test_a_form_that_is_not_safe_is_no_value() -> None:
    assert "adj" not in city_forms()["bremen"].values()
    assert "gen" not in city_forms()["essen"].values()


@pytest.mark.parametrize("change", [
    {"id": None, "drop": "id"},             # no name to cite
    {"drop": "call"},                       # nothing to expect
    {"drop": "datum"},                      # nobody knows what the answer has to contain
    {"datum": []},                          # the same
    {"datum": "air.no2"},                   # a list, also of one
    {"category": "weather"},                # a category that does not exist
    {"board": "timetable"},                 # neither departures nor arrivals
    {"accept": None},                       # a list is required, [] where there is none
])
def test_a_broken_row_is_refused(change: dict[str, object]) -> None:
    row = {**ROW, **{k: v for k, v in change.items() if k != "drop"}}
    row.pop(str(change.get("drop")), None)
    with pytest.raises(DataError, match="phrasing"):
        Phrasing.from_json(row)


def test_ids_are_in_natural_order() -> None:
    assert sorted(["a-10", "a-2", "b-1", "a"], key=natural) == ["a", "a-2", "a-10", "b-1"]


@pytest.mark.parametrize("name", sorted(phrasings(), key=natural))
def test_every_phrasing_has_known_cities_and_calls_that_fit_the_tools(name: str) -> None:
    phrasing, tools = phrasings()[name], read_tools()
    slugs = {city.slug for city in facts.cities()}
    assert set(phrasing.cities or ()) | set(phrasing.cities_not) | set(phrasing.cities_uncovered or ()) <= slugs
    for call in (*phrasing.calls, *sum(phrasing.accept, ())):
        assert call_problem(tools, Call(call["name"], call["arguments"])) is None
    assert phrasing.register in ("sie", "du", "neutral", "kolloquial", "amtlich")


def test_every_registry_city_has_forms() -> None:
    assert set(city_forms()) == {city.slug for city in facts.cities()}
    assert all(city_forms()[city.slug].name == city.name for city in facts.cities())


@pytest.mark.parametrize("kind", ["two_step", "board"])
def test_stations_are_known_and_neither_main_nor_on_the_city_board(kind: str) -> None:
    for place in places(kind):
        station, main = facts.station_of(place.eva or ""), facts.main_station(place.slug)
        assert station is not None and station.slug == place.slug
        assert main is not None and not set(station.evas) & {*main.evas, *facts.board_evas(place.slug)}


def test_states_hold_two_cities_or_more() -> None:
    assert len(states()) == len(set(states())) >= 5
