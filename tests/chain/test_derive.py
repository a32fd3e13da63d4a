"""Derivations over small bodies made by hand: what they give, where they have no answer, what a builder refuses."""

from __future__ import annotations

from typing import Any

import pytest

from infranode_eval.chain.declaration import Derivation, Step, steps_from_json
from infranode_eval.chain.derive import (
    Executed,
    Refused,
    bodies_of,
    call_of,
    check,
    execute_plan,
    selected_rows,
    tolerance_of,
    value_of,
)
from infranode_eval.chain.responses import Response
from lm_eval_task.errors import DataError


def body(payload: Any) -> dict[str, Any]:
    return {"data": {"payload": payload}, "meta": {"source_status": "ok"}}


SITES = [{"name": "Nord", "kw": 150.0, "points": 2}, {"name": "Süd", "kw": 300.0, "points": 4},
         {"name": "West", "kw": 22.0, "points": 3}, {"name": "Ost", "kw": 150.0, "points": 6}]
TRAINS = [{"time": "10:12", "long": True, "platform": "10"}, {"time": "10:05", "long": False, "platform": "12"},
          {"time": "10:30", "long": True, "platform": "3"}, {"time": "10:20", "long": False, "platform": "1"}]
BODIES = {
    "a": body({"sites": SITES, "trains": TRAINS, "count": 4, "rate": 9.1, "label": "x", "nothing": None, "zero": 0,
               "open": True, "empty": "", "hbf": "Bonn Hbf", "station": "Bonn Hauptbahnhof", "hbf2": "Bonn Süd",
               "track": "12", "gleis": "Gleis 12", "at": "2026-07-06T10:05:00", "at2": "2026-07-06T10:05:00",
               "at3": "2026-07-06T10:06:00"}),
    "b": body({"sites": [{"name": "Süd", "kw": 50.0, "points": None}, {"name": "Mitte", "kw": 7.3, "points": 1}],
               "rate": 6.3, "count": 4}),
    "c": body({"rate": 9.1}),
    "dead": {"error": {"code": "upstream_unavailable"}, "meta": {}},
}
SITE = {"from": "a", "at": "/data/payload/sites"}
TRAIN = {"from": "a", "at": "/data/payload/trains"}


def value(field: str, step: str = "a") -> dict[str, Any]:
    return {"op": "value", "from": step, "at": "/data/payload", "field": f"/{field}"}


def names(step: str = "a", **more: Any) -> dict[str, Any]:
    return {"op": "set", "from": step, "at": "/data/payload/sites", "field": "/name", **more}


FAST = [["/kw", ">=", 150]]


@pytest.mark.parametrize(("derivation", "expected", "why"), [
    (value("rate"), 9.1, "a field of the single row"),
    ({"op": "value", "from": "a", "at": "/data/payload/rate"}, 9.1, "the row itself"),
    ({"op": "value", **SITE, "where": [["/name", "==", "Süd"]], "field": "/points"}, 4, "one row of a list"),
    (value("open"), True, "as the source gives it"),
    ({"op": "count", **SITE, "where": FAST}, 3, "rows after where"),
    ({"op": "count", **SITE, "where": [["/kw", ">", 500]]}, 0, "none is a count"),
    ({"op": "count", "from": ["a", "b"], "at": "/data/payload/sites"}, 6, "rows of two steps"),
    ({"op": "sum", **SITE, "field": "/kw"}, 622, "a whole sum is an integer"),
    ({"op": "sum", "from": ["b", "b"], "at": "/data/payload/sites", "field": "/kw"}, 114.6, "exact: 2 * 57.3"),
    ({"op": "mean", **SITE, "field": "/points"}, 3.75, "the mean"),
    ({"op": "max", **SITE, "field": "/kw"}, 300.0, "the value"),
    ({"op": "min", **TRAIN, "field": "/time"}, "10:05", "texts have an order, too"),
    ({"op": "argmax", **SITE, "by": "/kw", "return": "/name"}, "Süd", "the row's name"),
    ({"op": "argmin", **SITE, "by": "/kw", "return": "/name"}, "West", "the other end"),
    ({"op": "nth", **TRAIN, "by": "/time", "n": 1, "return": "/platform"}, "12", "ascending, not as listed"),
    ({"op": "nth", **TRAIN, "where": [["/long", "==", True]], "by": "/time", "n": 2, "return": "/platform"}, "3",
     "after where"),
    (names(where=FAST), ["Nord", "Süd", "Ost"], "a set in the order of the rows"),
    (names(step=["a", "b"]), ["Nord", "Süd", "West", "Ost", "Mitte"], "each once"),
    ({"op": "difference", "of": value("rate"), "minus": value("rate", "b")}, 2.8, "exact: not 2.8000000000000003"),
    ({"op": "difference", "of": value("rate", "b"), "minus": value("rate")}, -2.8, "with its sign"),
    ({"op": "difference", "of": value("rate", "b"), "minus": value("rate"), "absolute": True}, 2.8, "or without"),
    ({"op": "ratio", "of": value("rate"), "over": value("count"), "times": 1000}, 2275, "times a factor"),
    ({"op": "ratio", "of": {"op": "count", **SITE, "where": FAST}, "over": value("count"), "times": 100}, 75,
     "an operation inside another"),
    ({"op": "intersection", "of": names(), "and": names("b")}, ["Süd"], "in both"),
    ({"op": "minus_set", "of": names("b"), "minus": names()}, ["Mitte"], "in one only"),
    ({"op": "none"}, None, "nothing"),
])
def test_value_of(derivation: dict[str, Any], expected: Any, why: str) -> None:
    found = value_of(derivation, BODIES)
    assert (found, type(found)) == (expected, type(expected)), why


@pytest.mark.parametrize(("derivation", "reason"), [
    ({"op": "value", **SITE, "where": [["/name", "==", "Mars"]], "field": "/kw"}, "no row is left"),
    ({"op": "value", **SITE, "where": FAST, "field": "/kw"}, "takes the single row, found 3"),
    (value("nothing"), "a null stands"),
    (value("nichts"), "a row has no /nichts"),
    (value("rate", "dead"), "step dead holds nothing at /data/payload"),
    ({"op": "count", "from": "a", "at": "/data/payload/nothing"}, "holds nothing"),
    ({"op": "sum", "from": "b", "at": "/data/payload/sites", "field": "/points"}, "a null stands"),
    ({"op": "mean", **SITE, "where": [["/kw", ">", 500]], "field": "/kw"}, "no row is left"),
    ({"op": "sum", **SITE, "field": "/name"}, "sum takes numbers, found 'Nord'"),
    ({"op": "sum", "from": "a", "at": "/data/payload/open"}, "sum takes numbers, found True"),
    ({"op": "max", "from": ["a", "b"], "at": "/data/payload/sites", "field": "/points"}, "a null stands"),
    ({"op": "max", "from": "a", "at": "/data/payload", "field": "/open"}, "neither all numbers nor all texts"),
    ({"op": "argmax", **SITE, "where": [["/name", "!=", "Süd"]], "by": "/kw", "return": "/name"}, "a tie"),
    ({"op": "nth", **SITE, "by": "/kw", "n": 2, "return": "/name"}, "place 2 is shared"),
    ({"op": "nth", **SITE, "by": "/kw", "n": 5, "return": "/name"}, "there are 4 rows, none in place 5"),
    ({"op": "nth", **SITE, "where": [["/kw", "==", 150]], "by": "/kw", "n": 2, "return": "/name"}, "place 2 is shared"),
    ({"op": "nth", "from": "b", "at": "/data/payload/sites", "by": "/kw", "n": 2, "return": "/points"}, "a null"),
    ({"op": "ratio", "of": value("rate"), "over": value("zero")}, "ratio over 0"),
    ({"op": "difference", "of": value("label"), "minus": value("rate")}, "difference takes numbers"),
    ({"op": "intersection", "of": value("rate"), "and": names()}, "intersection takes sets"),
])
def test_where_there_is_no_answer(derivation: dict[str, Any], reason: str) -> None:
    with pytest.raises(Refused) as error:
        value_of(derivation, BODIES)
    assert reason in error.value.reason


def test_a_step_that_was_not_executed_is_a_mistake_of_the_file() -> None:
    with pytest.raises(DataError, match='step "x"'):
        value_of(value("rate", "x"), BODIES)


NUMBER = {"type": "number", "tolerance": 0}


# One row per refusal of the table in the specification, and its neighbour that is allowed.
@pytest.mark.parametrize(("derivation", "answer", "reason"), [
    ({"op": "count", **SITE, "where": [["/name", "==", "Süd"]]}, NUMBER, "count is 1, below 2"),
    ({"op": "count", **SITE}, NUMBER, "the length of the whole list (4)"),
    ({"op": "count", **SITE, "where": [["/kw", ">=", 20]]}, NUMBER, "the length of the whole list"),
    ({"op": "count", **SITE, "where": [["/kw", ">=", 100]]}, NUMBER, "no row lies on the bound 100"),
    ({"op": "count", **SITE, "where": [["/kw", "<", 200], ["/points", ">=", 2]]}, NUMBER, "on the bound 200"),
    ({"op": "count", **SITE, "where": [["/kw", "<=", 150], ["/points", ">=", 3]]}, NUMBER, None),
    ({"op": "count", **SITE, "where": [["/name", "<", "Ost"]]}, NUMBER, "below 2"),
    ({"op": "count", **TRAIN, "where": [["/time", "<", "10:15"]]}, NUMBER, None),
    ({"op": "sum", **SITE, "where": [["/kw", "==", 150]], "field": "/points"}, NUMBER, "fewer than 3 rows"),
    ({"op": "sum", **SITE, "where": FAST, "field": "/points"}, NUMBER, None),
    ({"op": "mean", "from": "b", "at": "/data/payload/sites", "field": "/kw"}, NUMBER, "fewer than 3 rows"),
    ({"op": "mean", "from": ["a", "b"], "at": "/data/payload/sites", "field": "/points"}, NUMBER, "a null stands"),
    ({"op": "max", **SITE, "where": [["/name", "!=", "Süd"]], "field": "/kw"}, NUMBER, "a tie"),
    ({"op": "argmax", **SITE, "where": [["/name", "!=", "Süd"]], "by": "/kw", "return": "/name"},
     {"type": "string"}, "a tie"),
    ({"op": "argmax", **SITE, "by": "/kw", "return": "/name"}, {"type": "string"}, None),
    ({"op": "argmin", **SITE, "where": [["/name", "==", "West"]], "by": "/kw", "return": "/name"}, {"type": "string"},
     "over a single row"),
    ({"op": "max", "from": ["a", "b"], "at": "/data/payload", "field": "/rate"}, {"type": "number", "tolerance": 1.41},
     "lead of 9.1 over 6.3 is below twice the tolerance"),
    ({"op": "max", "from": ["a", "b"], "at": "/data/payload", "field": "/rate"}, {"type": "number", "tolerance": 1.4},
     None),
    ({"op": "min", "from": "a", "at": "/data/payload", "field": "/rate"}, NUMBER, "over a single row"),
    ({"op": "nth", **SITE, "by": "/kw", "n": 1, "return": "/name"}, {"type": "string"}, None),
    ({"op": "nth", **SITE, "by": "/kw", "n": 2, "return": "/name"}, {"type": "string"}, "is shared"),
    ({"op": "nth", **SITE, "by": "/kw", "n": 4, "return": "/name"}, {"type": "string"}, "equal keys among the first"),
    ({"op": "difference", "of": value("rate"), "minus": value("rate", "c")}, NUMBER, "the difference is 0"),
    ({"op": "difference", "of": value("rate"), "minus": value("zero")}, NUMBER, 'operand of difference ("minus") is 0'),
    ({"op": "difference", "of": value("rate"), "minus": value("nothing")}, NUMBER, "a null stands"),
    ({"op": "ratio", "of": value("zero"), "over": value("rate")}, NUMBER, 'operand of ratio ("of") is 0'),
    ({"op": "ratio", "of": value("rate"), "over": value("count")}, NUMBER, None),
    (names(where=[["/kw", ">", 500]]), {"type": "set"}, "no row is left"),
    (names(), {"type": "set"}, "the whole list"),
    (names(where=FAST), {"type": "set"}, None),
    ({"op": "intersection", "of": names(where=[["/name", "==", "Ost"]]), "and": names("b")}, {"type": "set"},
     "the set is empty"),
    ({"op": "intersection", "of": names(), "and": names("b")}, {"type": "set"}, None),
    ({"op": "intersection", "of": names(), "and": names()}, {"type": "set"}, "the whole list"),
    ({"op": "minus_set", "of": names(), "minus": names()}, {"type": "set"}, "the set is empty"),
    ({"op": "minus_set", "of": names("b"), "minus": names(where=[["/name", "==", "Ost"]])}, {"type": "set"},
     "the whole list"),
    (value("zero"), NUMBER, "the gold is 0"),
    (value("empty"), {"type": "string"}, "the gold is ''"),
    (value("open"), {"type": "string"}, "the gold is True"),
    (value("rate"), NUMBER, None),
    ({"op": "none"}, {"type": "none"}, None),
])
def test_what_a_builder_refuses(derivation: dict[str, Any], answer: dict[str, Any], reason: str | None) -> None:
    if reason is None:
        check(derivation, BODIES, {}, answer)
        return
    with pytest.raises(Refused) as error:
        check(derivation, BODIES, {}, answer)
    assert reason in error.value.reason


RATE_PER_COUNT = {"op": "ratio", "of": value("rate"), "over": value("count")}      # 2.275


@pytest.mark.parametrize(("derivation", "near", "answer", "refused", "why"), [
    (value("rate"), value("rate", "c"), NUMBER, True, "the same number"),
    (value("rate"), value("rate", "b"), NUMBER, False, "another number"),
    (value("rate"), value("rate", "b"), {"type": "number", "tolerance": 1.4}, True, "2.8 apart, 2 x 1.4 tolerance"),
    (value("rate"), value("rate", "b"), {"type": "number", "tolerance": 1.39}, False, "just beyond"),
    (RATE_PER_COUNT, value("rate", "b"), {"type": "number", "decimals": 0}, False, "4 apart, 1.02 allowed"),
    (RATE_PER_COUNT, {**RATE_PER_COUNT, "times": 1.4}, {"type": "number", "decimals": 0}, True, "0.91 apart"),
    (value("label"), value("label"), {"type": "string"}, True, "the same text"),
    (value("hbf"), value("station"), {"type": "string"}, True, "the scorer takes both spellings"),
    (value("hbf"), value("hbf2"), {"type": "string"}, False, "another station"),
    (value("track"), value("gleis"), {"type": "string", "drop": ["Gleis"]}, True, "a dropped word makes no difference"),
    (value("at"), value("at2"), {"type": "time"}, True, "the same moment"),
    (value("at"), value("at3"), {"type": "time"}, False, "another one"),
    (names(where=FAST), names(where=[["/kw", ">", 20], ["/kw", "<", 400]]), {"type": "set"}, False, "another set"),
    (names(where=FAST), names(where=[["/kw", ">", 22]]), {"type": "set"}, True, "the same set"),
    (value("rate"), value("label"), NUMBER, False, "another type"),
    (value("rate"), value("nothing"), NUMBER, True, "a slip without a value is no near miss"),
    ({"op": "count", **SITE, "where": FAST}, {"op": "count", **SITE, "where": [["/kw", ">", 400]]}, NUMBER, False,
     "a slip may be 0"),
])
def test_a_near_miss_must_miss(derivation: Any, near: Any, answer: Any, refused: bool, why: str) -> None:
    if not refused:
        check(derivation, BODIES, {"Schnitzer": near}, answer)
        return
    with pytest.raises(Refused, match='near miss "Schnitzer"'):
        check(derivation, BODIES, {"Schnitzer": near}, answer)


@pytest.mark.parametrize(("answer", "tolerance"), [
    ({"type": "number"}, 0), ({"tolerance": None, "decimals": None}, 0), ({"decimals": 1}, 0.051),
    ({"decimals": 0}, 0.51), ({"tolerance": 0.05, "decimals": 2}, 0.05),
])
def test_tolerance(answer: dict[str, Any], tolerance: float) -> None:
    assert float(tolerance_of(answer)) == pytest.approx(tolerance, abs=1e-12)


@pytest.mark.parametrize(("derivation", "rows"), [
    ({"op": "max", **SITE, "field": "/kw"}, ["Süd"]),
    ({"op": "argmin", **SITE, "by": "/kw", "return": "/name"}, ["West"]),
    ({"op": "count", **SITE, "where": FAST}, ["Nord", "Süd", "Ost"]),
])
def test_rows_that_an_answer_stands_on(derivation: dict[str, Any], rows: list[str]) -> None:
    assert [row["name"] for row in selected_rows(Derivation.from_json(derivation), BODIES)] == rows


# Plans

STATIONS = body({"stations": [{"eva": "8001083", "name": "Bonn-Beuel"}, {"eva": None, "name": "Bonn Hbf"}]})


def plan(station: str) -> tuple[Step, ...]:
    eva = {"op": "value", "from": "s", "at": "/data/payload/stations", "where": [["/name", "==", station]],
           "field": "/eva"}
    return steps_from_json([
        {"id": "s", "call": {"name": "get_city_resource", "arguments": {"slug": "bonn", "resource": "stations"}}},
        {"id": "b", "call": {"name": "station_board_departures", "arguments": {"eva": eva}}}])


def get(request: str) -> Response:
    return Response(request, 200, STATIONS if request.endswith("stations") else body({"departures": []}))


def test_a_plan_is_executed_in_order_with_its_derived_arguments() -> None:
    executed = execute_plan(plan("Bonn-Beuel"), get)
    assert [(step.id, step.request) for step in executed] == [
        ("s", "/cities/bonn/stations"), ("b", "/stations/8001083/departures")]
    assert executed[1].call.arguments == {"eva": "8001083"}
    assert list(bodies_of(executed)) == ["s", "b"]
    assert list(executed[0].to_json()) == ["id", "call", "request", "status", "source_status", "body_sha256"]


@pytest.mark.parametrize(("station", "reason"), [("Bonn Hbf", "a null stands"), ("Köln Hbf", "no row is left")])
def test_an_argument_without_an_answer_refuses_the_plan(station: str, reason: str) -> None:
    with pytest.raises(Refused, match=reason):
        execute_plan(plan(station), get)


def test_an_argument_must_be_a_text() -> None:
    step = Step.from_json({"id": "b", "call": {"name": "get_city", "arguments": {"slug": value("rate")}}})
    with pytest.raises(Refused, match=r"argument slug is no text but 9\.1"):
        call_of(step, BODIES)


def test_a_call_without_a_request_is_a_mistake_of_the_file() -> None:
    steps = steps_from_json([{"id": "a", "call": {"name": "wetter", "arguments": {}}}])
    with pytest.raises(DataError, match="causes no request"):
        execute_plan(steps, get)


def test_the_hash_of_a_step_is_that_of_its_text() -> None:
    import hashlib

    response = get("/cities/bonn/stations")
    row = Executed("s", plan("x")[0].call, response.request, response).to_json()
    assert row["body_sha256"] == hashlib.sha256(response.text.encode()).hexdigest()
