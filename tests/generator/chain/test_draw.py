"""The draw: as many rows as promised, nothing passed over without a reason, twins beside their tasks."""

from __future__ import annotations

from typing import Any

import pytest

from infranode_eval.generator.chain.build import Builder
from infranode_eval.generator.chain.draw import Drawn, draw, told_gold
from tests.generator.chain.small_world import TOOLS, SmallWorld, template_of

STEP = {"id": "a", "call": {"name": "get_city_resource", "arguments": {"slug": "{slug}", "resource": "charging"}}}
COUNT = {"op": "count", "from": "a", "at": "/data/payload/stations", "where": [["/power_kw", ">=", "{kw}"]]}
ROW: dict[str, Any] = {
    "template": "power", "phrasings": [f"{word} {{in_city}} mindestens {{kw}} kW?" for word in "ABC"],
    "cities": ["ulm", "bonn", "kiel"], "vary": {"kw": [50, 22]}, "tasks": 2, "plan": [STEP], "derive": COUNT,
    "near": {}, "answer": {"type": "number"}}
GOOD, FLAT = (11, 22, 50, 50, 150), (50, 50)
PARK: dict[str, Any] = {
    "template": "car_park", "phrasings": [f"{word} {{in_city}} am Hauptbahnhof?" for word in "ABC"], "cities": ["bonn"],
    "tasks": 1, "plan": [{"id": "a", "carry": True, "result": "not_covered", "call": {
        "name": "get_city_resource", "arguments": {"slug": "{slug}", "resource": "parking"}}}],
    "derive": {"op": "none"}, "near": {},
    "answer": {"type": "none", "reasons": ["nicht_abgedeckt"], "alternatives": "covered_cities"},
    "control": {"cities": ["dresden", "aachen"], "answer": {"type": "number"}, "derive": {
        "op": "value", "from": "a", "at": "/data/payload/facilities", "where": [["/name", "==", "Hauptbahnhof"]],
        "field": "/free"}}}


HBF = {"facilities": [{"name": "Hauptbahnhof", "free": 36}]}


def powers(**by_city: Any) -> dict[str, Any]:
    return {f"/cities/{slug}/charging": {"stations": [{"power_kw": kw} for kw in found]}
            for slug, found in by_city.items()}


def drawn(answers: dict[str, Any], *rows: dict[str, Any], category: str = "filter_count", set_name: str = "core",
          mark: str = "") -> Drawn:
    return draw([template_of(row, category) for row in rows], Builder(SmallWorld(answers), TOOLS), set_name, mark)


def test_rows_are_sorted_and_have_the_fields_of_the_format_in_its_order() -> None:
    found = drawn(powers(ulm=GOOD, bonn=GOOD, kiel=GOOD), ROW)
    assert [row["task_id"] for row in found.rows] == ["filter_count-bonn-power", "filter_count-ulm-power"]
    assert list(found.rows[0]) == ["task_id", "set", "category", "question", "world", "max_turns", "plan", "derive",
                                   "near", "faults", "pair", "gold", "expect", "expected", "template", "canary"]
    assert found.rows[1]["question"] == "A in Ulm mindestens 50 kW?"
    assert found.rows[0]["question"] == "B in Bonn mindestens 22 kW?"
    assert not (found.redrawn or found.refusals or found.short)


def test_a_refused_candidate_gives_way_and_its_reason_is_kept() -> None:
    found = drawn(powers(ulm=FLAT, bonn=GOOD, kiel=GOOD), ROW)
    assert [row["task_id"] for row in found.rows] == ["filter_count-bonn-power", "filter_count-kiel-power"]
    reasons = found.redrawn["filter_count-kiel-power"]
    assert [one.candidate for one in reasons] == ["ulm, kw=50", "ulm, kw=22"]
    assert "whole list" in reasons[0].reason and list(found.refusals) == list(reasons)


def test_a_template_that_runs_out_says_so() -> None:
    found = drawn(powers(ulm=FLAT, bonn=FLAT, kiel=GOOD), ROW | {"vary": {"kw": [50]}})
    assert len(found.rows) == 1
    assert found.short == {"power": "1 of 2 tasks; 1 candidates were refused for the next one, the last because count "
                                    "is the length of the whole list (2)"}


def test_no_candidate_is_taken_twice_and_ids_are_numbered() -> None:
    found = drawn(powers(ulm=GOOD), ROW | {"cities": ["ulm"], "tasks": 2})
    assert [row["task_id"] for row in found.rows] == ["filter_count-ulm-power", "filter_count-ulm-power-2"]
    assert len({row["question"] for row in found.rows}) == 2
    assert drawn(powers(ulm=GOOD), ROW | {"cities": ["ulm"], "tasks": 3}).short


def test_the_same_question_twice_is_refused() -> None:
    found = drawn(powers(ulm=GOOD, bonn=GOOD, kiel=GOOD), ROW, ROW | {"template": "again"})
    assert {refusal.reason for refusal in found.refusals} == {
        "the same question stands in filter_count-ulm-power", "the same question stands in filter_count-bonn-power"}
    assert len({row["question"] for row in found.rows}) == 4


def test_a_question_that_holds_its_gold_is_refused() -> None:
    found = drawn(powers(ulm=(11, 3, 3, 50, 22), bonn=GOOD, kiel=GOOD), ROW | {"vary": {"kw": [3, 22]}, "cities": [
        "ulm", "bonn"], "tasks": 1, "phrasings": [f"{word} {{in_city}} mindestens {{kw}} kW, 5?" for word in "ABC"]})
    assert found.refusals[0].reason.startswith(("count is the length", "the question holds the gold 5"))


def test_another_set_has_marks_and_no_twins() -> None:
    found = drawn({}, PARK, category="not_covered", set_name="reseed", mark="-s2")
    assert [(row["task_id"], row["set"], row["pair"]) for row in found.rows] == [
        ("not_covered-bonn-car_park-s2", "reseed", None)]


# --- twins ------------------------------------------------------------------------------------------------------------

def test_a_twin_asks_the_same_of_a_city_that_has_a_value() -> None:
    task, twin = drawn({"/cities/dresden/parking": HBF}, PARK, category="not_covered").rows
    assert (task["task_id"], task["set"], task["pair"]) == (
        "not_covered-bonn-car_park", "core", "not_covered-dresden-car_park-control")
    assert (twin["task_id"], twin["set"], twin["pair"]) == (
        "not_covered-dresden-car_park-control", "control", "not_covered-bonn-car_park")
    assert twin["question"] == "A in Dresden am Hauptbahnhof?"
    assert twin["expect"]["answer"]["type"] == "number" and twin["expect"]["must_call"]["req"] == \
        "/cities/dresden/parking"
    assert "result" not in twin["plan"][0] and task["plan"][0]["result"] == "not_covered"


def test_a_twin_that_does_not_hold_gives_way_to_the_next() -> None:
    answers = {"/cities/dresden/parking": {"facilities": []}, "/cities/aachen/parking": HBF}
    found = {row["set"]: row["pair"] for row in drawn(answers, PARK, category="not_covered").rows}
    assert found["core"] == "not_covered-aachen-car_park-control"


def test_a_task_without_any_twin_is_refused() -> None:
    none = {f"/cities/{slug}/parking": {"facilities": []} for slug in ("dresden", "aachen")}
    found = drawn(none, PARK, category="not_covered")
    assert not found.rows and "no twin holds; aachen: no row is left" in found.short["car_park"]


def test_the_twin_of_a_failing_source_is_the_same_question_without_the_fault() -> None:
    plan = [{"id": "x", "carry": False, "result": "failed", "call": STEP["call"]}, {**STEP}]
    row = ROW | {"plan": plan, "cities": ["ulm"], "tasks": 1, "control": "without_faults", "faults": [
        {"req": "/cities/{slug}/charging", "times": 1, "status": 503, "source": "bnetza"}]}
    task, twin = drawn(powers(ulm=GOOD), row, category="degraded").rows
    assert twin["question"] == task["question"] and twin["task_id"] == "degraded-ulm-power-control"
    assert [step["id"] for step in task["plan"]] == ["x", "a"] and [step["id"] for step in twin["plan"]] == ["a"]
    assert [step["status"] for step in task["gold"]] == [503, 200] and not twin["faults"]
    assert twin["expect"]["answer"] == task["expect"]["answer"]


# --- golds in questions -----------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("question", "kind", "value", "found", "why"), [
    ("Wie viele ab 9 kW?", "number", 9, "9", "the number"),
    ("Wie viele mit 19 kW?", "number", 9, None, "part of a number"),
    ("Wie viele mit 9,5 kW?", "number", 9, None, "another number"),
    ("Wie viele mit 9 kW?", "number", 9.0, "9", "9.0 may be written 9"),
    ("Wie viele mit 9,5 kW?", "number", 9.5, "9,5", "a German comma"),
    ("Wie viele von 1.500?", "number", 1500, "1.500", "a German point"),
    ("Fährt die U9 um 10:04?", "time", "10:04", "10:04", "a time"),
    ("Ist es Gleis 10?", "string", "10", "10", "a platform"),
    ("Köln oder Bonn?", "string", "Köln", None, "one of several cities"),
    ("koeln oder bonn?", "string", "koeln", None, "the same as slug"),
    ("Was meldet Bonn?", "none", None, None, "nothing"),
])
def test_the_gold_in_a_question(question: str, kind: str, value: Any, found: str | None, why: str) -> None:
    assert told_gold(question, {"type": kind, "value": value}) == found, why
