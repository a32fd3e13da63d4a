"""The facts of the contract: cities, keys, coverage, stations, stops, and the hash of a world."""

from __future__ import annotations

import pytest

from infranode_eval.infranode import facts
from lm_eval_task.errors import UsageError


def test_there_are_84_cities_in_16_states_28_of_them_full():
    cities = facts.cities()
    assert len({city.slug for city in cities}) == 84
    assert len({city.state for city in cities}) == 16
    assert sum(city.coverage == "full" for city in cities) == 28
    assert len({city.ags for city in cities}) == 84
    assert all(len(city.ags) == 8 and city.ags.isdigit() for city in cities)


@pytest.mark.parametrize(("state", "count"), [("july-1", 64), ("v1.1.1", 67), ("august-2026", 81)])
def test_a_state_has_its_number_of_keys_and_pois_is_none(state, count):
    keys = facts.keys(state)
    assert len(keys) == len(set(keys)) == count
    assert list(keys) == sorted(keys)
    assert "pois" not in keys


@pytest.mark.parametrize(("state", "key", "count", "why"), [
    ("july-1", "parking", 14, "before the release"),
    ("v1.1.1", "parking", 17, "at the release"),
    ("august-2026", "parking", 31, "with the static catalogue of 14 more"),
    ("v1.1.1", "heritage", 17, "all cities of four states"),
    ("v1.1.1", "land-values", 56, "ten states"),
    ("august-2026", "childcare", 83, "one city missing"),
    ("v1.1.1", "office-wait-times", 1, "Köln only"),
    ("v1.1.1", "weather", None, "nationwide"),
    ("v1.1.1", "traffic", None, "formally partial, but lists every city"),
])
def test_coverage_by_state(state, key, count, why):
    covered = facts.covered(state, key)
    assert (None if covered is None else len(covered)) == count, why


@pytest.mark.parametrize("state", facts.states())
def test_covered_cities_are_sorted_registry_slugs(state):
    slugs = {city.slug for city in facts.cities()}
    for key in facts.keys(state):
        covered = facts.covered(state, key)
        assert covered is None or list(covered) == sorted(slugs & set(covered)) and 0 < len(covered) < 84


def test_an_unknown_state_is_refused_with_the_known_ones():
    with pytest.raises(UsageError, match=r"unknown state 'v2'.*july-1, v1.1.1, august-2026"):
        facts.keys("v2")


def test_every_city_has_stations_with_unique_eva_numbers():
    evas = [eva for city in facts.cities() for station in facts.stations(city.slug) for eva in station.evas]
    assert len(evas) == len(set(evas))
    assert all(eva.isdigit() and 6 <= len(eva) <= 8 for eva in evas)
    assert all(facts.main_station(city.slug) for city in facts.cities())


def test_city_boards_use_known_stations_and_empty_levels_have_a_filled_neighbour():
    assert all(facts.station_of(eva) for city in facts.cities() for eva in facts.board_evas(city.slug))
    for eva in facts.empty_boards():
        station = facts.station_of(eva)
        assert station.eva == eva
        assert set(station.other_evas) - facts.empty_boards()


def test_stop_ids_carry_the_city_and_change_with_the_seed():
    for city in facts.cities():
        stops = facts.stops(city.slug)
        assert len({stop.stop_id for stop in stops}) == len({stop.name for stop in stops}) == len(stops) >= 7
        assert all(stop.stop_id.startswith(f"de:{city.ags[:5]}:") for stop in stops)
    assert facts.stops("bonn", "s2") != facts.stops("bonn")
    assert facts.stops("giessen") == ()


def test_the_world_hash_follows_the_seed():
    assert facts.world_hash() == facts.world_hash("s1") != facts.world_hash("s2")
    assert len(facts.world_hash()) == 64


def test_the_file_says_what_is_modelled():
    assert any("modelled" in line and "gauges" in line for line in facts.raw()["_about"])


@pytest.mark.parametrize(("slug", "water"), [
    ("koeln", "Rhein"), ("dresden", "Elbe"), ("frankfurt-am-main", "Main"), ("trier", "Mosel"),
    ("heidelberg", "Neckar"), ("regensburg", "Donau"), ("bremen", "Weser"), ("saarbruecken", "Saar"),
    ("kiel", "Ostsee"), ("leipzig", None), ("muenchen", None), ("chemnitz", None),
])
def test_gauges_stand_at_federal_waterways_only(slug, water):
    gauge = facts.gauge(slug)
    assert (gauge[0] if gauge else None) == water
