"""The answers of all 84 cities agree with themselves and with each other in two worlds, and every rule can fail."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from functools import cache
from typing import Any

import pytest

from infranode_eval.infranode import facts
from infranode_eval.infranode.snapshot import Snapshot
from tests.infranode import consistency
from tests.infranode.consistency import ANSWER_RULES, DERIVED, NAMES, ORDERS, PERCENT, TALLIES

SEEDS = ("s1", "s2")
BY_CITY = pytest.mark.parametrize("city", facts.cities(), ids=lambda city: city.slug)
BY_SEED = pytest.mark.parametrize("seed", SEEDS)
KOELN = facts.city("koeln")


@cache
def snapshot(seed: str) -> Snapshot:
    return Snapshot(seed=seed)


@cache
def reader(seed: str) -> consistency.Get:
    """Bodies of a world, each request asked once."""
    @cache
    def get(request: str) -> Mapping[str, Any]:
        return snapshot(seed).respond("GET", f"/api/v1{request}").json()

    return get


@BY_SEED
@BY_CITY
def test_every_payload_keeps_the_rules_of_its_key(city, seed):
    broken = [line for found in consistency.payloads(reader(seed), city) for line in consistency.broken_in(found)]
    assert broken == []


@BY_SEED
@BY_CITY
@pytest.mark.parametrize("rule", ANSWER_RULES, ids=lambda rule: rule.__name__)
def test_the_answers_of_a_city_agree(city, seed, rule):
    assert rule(reader(seed), city) == []


# --- every rule can fail ----------------------------------------------------------------------------------------------

@cache
def samples() -> Mapping[str, list[Mapping[str, Any]]]:
    """Key -> its payloads of all cities in the default world."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for city in facts.cities():
        for key, payload in consistency.payloads(reader("s1"), city):
            found.setdefault(key, []).append(payload)
    return found


def sample(key: str, place: str = "", least: int = 1) -> dict[str, Any]:
    """A copy of a payload with at least `least` rows at `place`; a key without one fails, so no table row idles."""
    payloads = samples()[key]
    return deepcopy(next(payload for payload in payloads if len(consistency.rows_at(payload, place)) >= least))


@pytest.mark.parametrize("key", consistency.COUNTS)
def test_a_count_that_is_not_the_length_is_reported(key):
    number, rows = consistency.COUNTS[key]
    payload = sample(key, rows)
    payload[rows].pop()
    assert f"{number} is not the length of {rows}" in consistency.counts(key, payload)


@pytest.mark.parametrize("key", [key for key, (_, rows) in consistency.COUNTS.items() if rows == "items"])
def test_a_wrong_truncated_is_reported(key):
    payload = sample(key)
    payload["truncated"] = not payload["truncated"]
    assert consistency.counts(key, payload) == ["truncated does not follow from total_available"]


@pytest.mark.parametrize("key", TALLIES)
def test_a_tally_that_is_off_by_one_is_reported(key):
    payload, tally = sample(key), TALLIES[key][0]
    value = next(iter(payload[tally]))
    payload[tally][value] += 1
    assert consistency.tallies(key, payload) == [f"{tally}.{value} is not the number of rows"]


@pytest.mark.parametrize(("key", "field"), DERIVED)
def test_a_sum_that_is_off_by_one_is_reported(key, field):
    payload = sample(key)
    payload[field] += 1
    assert f"{field} does not follow" in consistency.derived(key, payload)


@pytest.mark.parametrize("number", range(len(ORDERS)))
def test_a_value_below_the_one_before_it_is_reported(number):
    key, place, fields = ORDERS[number]
    payload = sample(key, place)
    row = next(row for row in consistency.rows_at(payload, place) if None not in row.values())
    least = row.get(fields[0], fields[0])
    row[fields[1]] = "0000" if isinstance(least, str) else least - 1
    assert any(str(fields) in line for line in consistency.orders(key, payload))


@pytest.mark.parametrize("number", range(len(PERCENT)))
@pytest.mark.parametrize("value", [-0.1, 100.1])
def test_a_share_outside_0_to_100_is_reported(number, value):
    key, place, field = PERCENT[number]
    payload = sample(key, place)
    consistency.rows_at(payload, place)[0][field] = value
    assert consistency.percentages(key, payload) == [f"{field} is {value} %"]


@pytest.mark.parametrize("number", range(len(NAMES)))
def test_a_name_that_stands_twice_is_reported(number):
    key, rows, field = NAMES[number]
    payload = sample(key, rows, least=2)
    payload[rows][1][field] = payload[rows][0][field]
    assert consistency.names(key, payload) == [f"{field} {payload[rows][0][field]!r} stands twice"]


def first(noun: str, **change: Any) -> Callable[[dict[str, Any]], None]:
    """Change fields of the first row of a list."""
    return lambda payload: payload[noun][0].update(change)


def reverse(noun: str) -> Callable[[dict[str, Any]], None]:
    return lambda payload: payload[noun].reverse()


def flip(noun: str, field: str) -> Callable[[dict[str, Any]], None]:
    return lambda payload: payload[noun][0].update({field: not payload[noun][0][field]})


@pytest.mark.parametrize(("rule", "key", "change", "reported"), [
    (consistency.boards, "station-departures", reverse("departures"), "not ascending"),
    (consistency.boards, "station-arrivals", first("arrivals", planned_time=consistency.CLOCK), "not after the clock"),
    (consistency.boards, "board-departures", lambda p: p["departures"].append(p["departures"][-1]), "stands twice"),
    (consistency.boards, "board-arrivals", flip("arrivals", "long_distance"), "against its category"),
    (consistency.boards, "board-departures", flip("departures", "cancelled"), "against its messages"),
    (consistency.boards, "board-departures", first("departures", line="U 7"), "line U 7 against its category"),
    (consistency.stop_boards, "transit-departures", reverse("departures"), "departure_time"),
    (consistency.stop_boards, "transit-departures", first("departures", delay_min=99), "delay_min"),
    (consistency.stop_boards, "transit-departures", first("departures", minutes_until=999), "minutes_until"),
    (consistency.stop_boards, "transit-departures", first("departures", minutes_until=None), "minutes_until"),
    (consistency.calendars, "holidays", reverse("holidays"), "date"),
    (consistency.calendars, "holidays", first("holidays", date="2025-01-01"), "date"),
])
def test_a_board_or_calendar_out_of_order_is_reported(rule, key, change, reported):
    payload = next(deepcopy(payload) for payload in samples()[key] if timed(payload))
    assert rule(key, payload) == []
    change(payload)
    assert any(reported in line for line in rule(key, payload))


def timed(payload: Mapping[str, Any]) -> bool:
    """Whether the first row of a stop board has a known time; true for other payloads."""
    return all(row.get("departure_time", "") is not None for row in payload.get("departures", ())[:1])


def changed(get: consistency.Get, request: str, pointer: str, value: Any) -> consistency.Get:
    """The same answers, but in one of them another value stands at the pointer."""
    def other(asked: str) -> Mapping[str, Any]:
        body = get(asked)
        if asked == request:
            body = deepcopy(body)
            where, _, last = pointer.rpartition("/")
            holder = consistency.at(body, where)
            holder[int(last) if isinstance(holder, list) else last] = value
        return body

    return other


READINGS = [(datum, *where) for datum, answers in consistency.carried(KOELN).items() for where in answers]


@pytest.mark.parametrize(("datum", "request_", "pointer"), READINGS)
def test_an_answer_that_gives_a_datum_another_value_is_reported(datum, request_, pointer):
    value = consistency.at(reader("s1")(request_), pointer)
    other = {**value, "foreign": 1} if isinstance(value, dict) else "another"
    broken = consistency.carriers(changed(reader("s1"), request_, pointer, other), KOELN)
    assert any(line.startswith(f"{datum}: ") for line in broken)


ROW = "/data/payload/{}/0/planned_time"


@pytest.mark.parametrize(("rule", "request_", "pointer", "value", "reported"), [
    (consistency.rates, "/cities/koeln/crime-stats", "/data/payload/groups/0/cases", 1, "frequency_per_100k"),
    (consistency.rates, "/cities/koeln/unemployment", "/data/payload/values/arbeitslose", 100, "arbeitslosenquote"),
    (consistency.rates, "/cities/koeln/base", "/data/payload/area_km2", 1.0, "populated_area_km2"),
    (consistency.city_boards, "/cities/koeln/station-departures", ROW.format("departures"), "2026-07-06T10:00:30",
     "departures: a row stands on no EVA board"),
    (consistency.city_boards, "/cities/koeln/station-departures", "/data/payload/departures/0",
     {"planned_time": "2026-07-06T10:01:00"}, "departures: an earlier row of an EVA board is missing"),
    (consistency.city_boards, f"/stations/{facts.board_evas('koeln')[0]}/arrivals", ROW.format("arrivals"),
     "2026-07-06T10:00:30", "arrivals: an earlier row of an EVA board is missing"),
    (consistency.coverage, "/cities/koeln/overview", "/data/data_types/0/available", False, "available differs"),
    (consistency.coverage, "/cities/koeln/land-values", "/meta/covered_cities", ["berlin"], "covered_cities differ"),
    (consistency.coverage, "/cities/koeln/weather", "/meta/source_status", "not_covered", "available differs"),
])
def test_answers_that_contradict_each_other_are_reported(rule, request_, pointer, value, reported):
    assert rule(reader("s1"), KOELN) == []
    broken = rule(changed(reader("s1"), request_, pointer, value), KOELN)
    assert any(reported in line for line in broken)
