"""Verification: what counts as an answer to the question, and what is dropped with which reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from infranode_eval.generator.verify import Source, Wanted, counted, problem_of, requests_of, shape, spread, wanted_of
from infranode_eval.infranode.client import Answer
from infranode_eval.infranode.snapshot import Snapshot
from lm_eval_task.errors import InfraError, RefusedRequestError
from lm_eval_task.records import Call, Task

WEATHER = Call("weather", {"slug": "bonn"})
PARKING = Call("get_city_resource", {"slug": "bonn", "resource": "parking"})
STATIONS = Call("get_city_resource", {"slug": "bonn", "resource": "stations"})
LEVEL = Call("get_city_resource", {"slug": "bonn", "resource": "water-level"})
OVERVIEW = Call("get_city_overview", {"slug": "bonn"})
COMPARE = Call("compare", {"resource": "air", "cities": "bonn,ulm"})
BOARD = Call("station_board_departures", {"eva": "8001083"})
STOP = Call("transit_departures", {"slug": "bonn", "stop_id": "de:05314:1"})
CATALOGUE = {"data_types": [{"type": "parking", "available": False}], "highlights": {"air": {"source_status": "ok"}}}


def answer(data: Any, status: str | None = "ok", **meta: Any) -> Answer:
    head = {"source_status": status} if status else {}
    return Answer("/x", 200, {"data": data, "meta": {**head, **meta}}, "2026-07-06")


def row(city: str, status: str = "ok", data: Any = 1) -> dict[str, Any]:
    return {"city": city, "source_status": status, "data": data}


def stations(*evas: str) -> dict[str, Any]:
    return {"payload": {"stations": [{"eva": evas[0], "evas": list(evas)}]}}


@pytest.mark.parametrize(("call", "reply", "wanted", "problem"), [
    (WEATHER, answer({"payload": {}}), Wanted(), None),
    (WEATHER, answer(None, "no_data"), Wanted(), "source_status no_data"),
    (WEATHER, answer(None, "disabled"), Wanted(), "source_status disabled"),
    (WEATHER, answer(None, "not_ingested"), Wanted(), "source_status not_ingested"),
    (WEATHER, answer({"payload": {}}, None), Wanted(), "source_status None"),
    (WEATHER, answer(None), Wanted(), "data is null"),
    (PARKING, answer([]), Wanted(), "data is empty"),                             # a list type without a row
    (PARKING, answer(None, "not_covered", covered_cities=["koeln"]), Wanted(), "source_status not_covered"),
    (PARKING, answer(None, "not_covered", covered_cities=["koeln"]), Wanted(covered=False), None),
    (PARKING, answer(None, "not_covered"), Wanted(covered=False), "not_covered without covered_cities"),
    (PARKING, answer(None, "not_covered", covered_cities=["bonn"]), Wanted(covered=False),
     "not_covered, but the city is among covered_cities"),
    (PARKING, answer({"payload": {}}), Wanted(covered=False), "source_status ok instead of not_covered"),
    (PARKING, answer(None, "no_data"), Wanted(covered=False), "source_status no_data instead of not_covered"),
    (BOARD, answer({"payload": {}}), Wanted(), None),
    (BOARD, answer(None, "no_data"), Wanted(), None),                             # no train at night is an answer
    (BOARD, answer(None, "disabled"), Wanted(), "source_status disabled"),
    (STOP, answer(None, "no_data"), Wanted(), None),
    (STOP, answer(None, "disabled"), Wanted(), "source_status disabled"),
    (COMPARE, answer([row("bonn"), row("ulm")], None), Wanted(), None),
    (COMPARE, answer([row("bonn"), row("ulm", "no_data", None)], None), Wanted(), "compare: row no_data"),
    (COMPARE, answer([row("bonn"), row("ulm", "ok", None)], None), Wanted(), "compare: row ok"),
    (COMPARE, answer([row("bonn")], None), Wanted(), "compare: a city has no row"),
    (COMPARE, answer(None, None), Wanted(), "compare: a city has no row"),
    (Call("sources"), answer([{"source": "dwd"}], None), Wanted(), None),
    (Call("sources"), answer([], None), Wanted(), "empty list"),
    (Call("list_cities"), answer(None, None), Wanted(), "empty list"),
    (OVERVIEW, answer(CATALOGUE), Wanted(), None),
    (OVERVIEW, answer(CATALOGUE), Wanted(topic="parking"), None),
    (OVERVIEW, answer(CATALOGUE), Wanted(topic="flood"), "overview: no catalogue entry flood"),
    (OVERVIEW, answer({"data_types": []}), Wanted(), "overview: no catalogue"),
    (OVERVIEW, answer(CATALOGUE | {"highlights": {"air": {"source_status": "error"}}}), Wanted(),
     "overview: no highlight is ok"),
    (STATIONS, answer(stations("8001083", "8098160")), Wanted(evas=frozenset(("8001083", "8098160"))), None),
    (STATIONS, answer(stations("8000044")), Wanted(evas=frozenset(("8001083",))), "the station list lacks the station"),
    (LEVEL, answer({"payload": {"water": "RHEIN"}}), Wanted(water="Rhein"), None),
    (LEVEL, answer({"payload": {"water": "SIEG"}}), Wanted(water="Rhein"), "the gauge stands at another water"),
])
def test_what_an_answer_is_worth(call: Call, reply: Answer, wanted: Wanted, problem: str | None) -> None:
    assert problem_of(call, reply, wanted) == problem


@dataclass
class Fake:
    """Answers by request; everything else is refused or dead, as `rest` says."""

    answers: Mapping[str, Answer]
    rest: Exception = field(default_factory=lambda: RefusedRequestError("no", status=404, sub="not_found"))
    asked: list[str] = field(default_factory=list)

    def __call__(self, request: str) -> Answer:
        self.asked.append(request)
        if request not in self.answers:
            raise self.rest
        return self.answers[request]


def task_of(*expected: Call, **fields: Any) -> Task:
    return Task("t", "Frage?", expected, **fields)


def test_a_task_that_holds_gets_a_proof_for_each_call() -> None:
    fake = Fake({"/cities/bonn/weather": answer({"payload": {"a": 1}}), "/cities/bonn/parking": answer({"x": 1})})
    verdict = Source(fake, "recording").check(task_of(WEATHER, PARKING), Wanted())
    assert verdict.problem is None
    assert verdict.verified[0] == {
        "level": "recording", "request": "/cities/bonn/weather", "status": 200, "source_status": "ok",
        "date": "2026-07-06", "shape": shape({"payload": {"a": 2}})}
    assert verdict.verified[1]["request"] == "/cities/bonn/parking"


@pytest.mark.parametrize(("error", "problem"), [
    (RefusedRequestError("x", status=404, sub="not_found"), "wrong call: 404 not_found"),
    (RefusedRequestError("x", status=422, sub="unprocessable"), "wrong call: 422 unprocessable"),
    (InfraError("x", status=503, sub="upstream_unavailable"), "HTTP 503 upstream_unavailable"),
])
def test_a_request_without_an_answer_drops_the_task_with_the_reason(error: Exception, problem: str) -> None:
    assert Source(Fake({}, error), "live").check(task_of(WEATHER), Wanted()).problem == problem


def test_a_source_that_cannot_be_reached_stops_the_run() -> None:
    with pytest.raises(InfraError):
        Source(Fake({}, InfraError("no network")), "live").check(task_of(WEATHER), Wanted())


def test_a_gold_that_the_client_would_refuse_is_a_wrong_call() -> None:
    verdict = Source(Fake({}), "live").check(task_of(Call("weather", {"slug": "bad name"})), Wanted())
    assert verdict.problem == "wrong call: the client refuses it"


def test_the_calls_that_follow_are_checked_too() -> None:
    fake = Fake({"/cities/bonn/stations": answer(stations("8001083"))})
    task = task_of(STATIONS, extra={"then": [BOARD.to_json()]})
    assert Source(fake, "live").check(task, wanted_of(task)).problem == "then: wrong call: 404 not_found"


def test_accepts_are_kept_marked_or_given_up() -> None:
    fake = Fake({"/cities/bonn/weather": answer({"x": 1}), "/cities/bonn/air-uba": answer({"x": 1}),
                 "/cities/bonn/icu-live": answer(None, "disabled"),
                 "/cities/bonn/parking": answer(None, "not_covered")})
    accepts = tuple((call,) for call in (Call("air_quality", {"slug": "bonn"}),
                                         Call("get_city_resource", {"slug": "bonn", "resource": "icu-live"}), PARKING))
    verdict = Source(fake, "live").check(task_of(WEATHER, accept=accepts), Wanted())
    assert verdict.problem is None
    assert verdict.unverified == (1,)
    assert dict(verdict.useless) == {2: "source_status not_covered"}


def test_each_request_is_asked_once() -> None:
    fake = Fake({"/cities/bonn/weather": answer({"x": 1})})
    source = Source(fake, "live")
    progress: list[tuple[int, int]] = []
    source.prefetch([task_of(WEATHER), task_of(WEATHER)], lambda done, total: progress.append((done, total)))
    source.check(task_of(WEATHER), Wanted())
    assert fake.asked == ["/cities/bonn/weather"]
    assert progress == [(0, 1), (1, 1)]


def test_an_unknown_level_cannot_be_claimed() -> None:
    with pytest.raises(ValueError, match="level"):
        Source(Fake({}), "verified")


def test_every_request_of_a_task_is_known_beforehand() -> None:
    task = task_of(STATIONS, accept=((WEATHER,),), extra={"then": [BOARD.to_json()]})
    assert list(requests_of(task)) == ["/cities/bonn/stations", "/stations/8001083/departures", "/cities/bonn/weather"]


def test_the_slow_source_is_asked_between_the_others() -> None:
    slow = [f"/cities/c{i}/fuel-prices" for i in range(3)]
    order = spread([*slow, *(f"/cities/c{i}/air" for i in range(9))])
    places = [index for index, request in enumerate(order) if request in slow]
    assert sorted(order) == sorted([*slow, *(f"/cities/c{i}/air" for i in range(9))])
    assert min(b - a for a, b in zip(places, places[1:], strict=False)) >= 3


@pytest.mark.parametrize(("one", "other", "same", "why"), [
    ({"a": 1, "b": 2}, {"b": None, "a": "x"}, True, "neither values nor order"),
    ({"a": 1}, {"a": 1, "b": 2}, False, "a new key"),
    ({"payload": {"a": 1}}, {"payload": {"b": 1}}, False, "a renamed payload field"),
    ([{"a": 1}], [{"a": 1}, {"a": 2}], True, "the length of a list"),
    ([{"a": 1}], {"a": 1}, False, "a list is no record"),
    ([{"data": {"payload": {"a": 1}}}], [{"data": {"payload": {"b": 1}}}], False, "a field in compare's rows"),
    (None, {}, False, "nothing at all"),
])
def test_the_shape_moves_with_the_structure_only(one: Any, other: Any, same: bool, why: str) -> None:
    assert (shape(one) == shape(other)) is same, why


def test_reasons_are_counted_by_frequency() -> None:
    assert list(counted(["b", "a", "b", "c"]).items()) == [("b", 2), ("a", 1), ("c", 1)]


def test_the_bare_snapshot_without_sources_confirms_no_live_gold() -> None:
    bare = Snapshot(profile="bare")

    def ask(request: str) -> Answer:
        found = bare.respond("GET", "/api/v1" + request)
        if found.status == 503:
            raise InfraError("dead", status=503)
        return Answer(request, found.status, found.json(), "2026-07-01")

    for call in (WEATHER, COMPARE, OVERVIEW, Call("pois", {"slug": "bonn", "type": "school"})):
        assert Source(ask, "snapshot").check(task_of(call), Wanted()).problem is not None
