"""The self-test's replies for the suite bench: every kind that the specification names is made, and judged so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from infranode_eval.bench_variants import BenchVariant, failures, successes
from lm_eval_task.bench import score_case
from lm_eval_task.cases import read_cases
from lm_eval_task.records import Call, Task

CASES = read_cases()
ZONE = CASES.zone
ROOMS = Task("rooms", "?", (Call("list_rooms", {"min_seats": 6, "projector": False}),), category="S2")
BOOK = Task("book", "?", (Call("book_room", {"room": "Café am Hof", "start": "2026-04-17T14:00:00",
                                             "duration_min": 90}),), category="S2")
UPDATE = Task("update", "?", (Call("update_contact", {"contact_id": "7f8e2d1c-3b4a-4c5d-9e6f-1a2b3c4d5e6f",
                                                      "phone": "4471"}),), category="S2")
DAYS = Task("days", "?", (Call("get_events", {"calendar": "team", "date_from": "2026-04-13",
                                              "date_to": "2026-04-17"}),), category="S2")
TWO = Task("two", "?", (Call("list_rooms"), Call("list_calendars")), category="S3", extra={"reihenfolge": True})
NONE = Task("none", "?", (), category="S4")


def made(task: Task, which: Any) -> list[BenchVariant]:
    return list(successes(task, CASES.tools, ZONE) if which is successes else failures(task, CASES.tools, ZONE))


# (which, kind, case, what the original's rule says of it)
KINDS = [
    (successes, "boolean as text", ROOMS, False), (successes, "boolean as Python's text", ROOMS, True),
    (successes, "integer as a float", ROOMS, False), (successes, "digits as text", BOOK, True),
    (successes, "edge blanks", BOOK, True), (successes, "edge no-break space", BOOK, True),
    (successes, "decomposed letters", BOOK, False), (successes, "inner no-break space", BOOK, False),
    (successes, "seconds left out", BOOK, False), (successes, "fraction of seconds", BOOK, False),
    (successes, "blank for T", BOOK, False), (successes, "offset spelled out", BOOK, False),
    (successes, "the same instant in Z", BOOK, False), (successes, "UUID in capitals", UPDATE, False),
    (successes, "optional argument null", UPDATE, False), (successes, "arguments in another order", UPDATE, True),
    (successes, "fence", BOOK, True), (successes, "several fences", TWO, True), (successes, "tags", TWO, True),
    (successes, "objects in a row", TWO, True), (successes, "silence", NONE, True),
    (failures, "a number for a boolean", ROOMS, False), (failures, "number for text", UPDATE, True),
    (failures, "the same digits in Z", BOOK, False), (failures, "a minute later", BOOK, False),
    (failures, "date-time for a date", DAYS, False), (failures, "German date text", DAYS, False),
    (failures, "optional argument empty", UPDATE, False), (failures, "argument invented", BOOK, False),
    (failures, "argument dropped", BOOK, False), (failures, "tool swapped", BOOK, False),
    (failures, "call left out", TWO, False), (failures, "call added", BOOK, False),
    (failures, "call doubled", BOOK, False), (failures, "calls in the wrong order", TWO, False),
    (failures, "cut at every character", TWO, None), (failures, "cut by the budget", BOOK, None),
    (failures, "silence where calls are right", BOOK, False), (failures, "call where silence is right", NONE, False),
    (failures, "silence cut by the budget", NONE, None),
]


@pytest.mark.parametrize(("which", "kind", "task", "strict"), KINDS, ids=[f"{k[2].task_id}: {k[1]}" for k in KINDS])
def test_a_kind_is_made_and_the_scorer_agrees(which: Any, kind: str, task: Task, strict: bool | None) -> None:
    found = [variant for variant in made(task, which) if variant.kind == kind]
    assert found and {variant.strict for variant in found} == {strict}
    for variant in found:
        score = score_case(task, variant.reply, CASES.tools, variant.mode, ZONE)
        assert bool(score.call_match) is (which is successes), variant
        if strict is not None:
            assert score.details["streng_match"] is strict, variant


def test_an_order_that_does_not_count_may_be_another_one() -> None:
    free = Task("two", "?", TWO.expected, category="S3")
    assert "calls in another order" in {variant.kind for variant in made(free, successes)}
    assert "calls in the wrong order" not in {variant.kind for variant in made(free, failures)}


def test_what_fulfils_a_step_too_is_no_failure() -> None:
    other: Mapping[str, Any] = {"name": "list_rooms", "arguments": {"min_seats": 1}}
    task = Task("t", "?", (Call("list_rooms"),), category="S1", extra={"oder": [[other]]})
    assert next(v.calls for v in made(task, successes) if v.kind == "another right call") == (Call.from_json(other),)
    only = Task("t", "?", (Call("list_rooms", {"min_seats": 1, "projector": True}),), category="S2",
                extra={"oder": [[other]]})
    assert all(v.calls != (Call.from_json(other),) for v in made(only, failures))


def test_without_a_zone_no_offset_is_spelled_out() -> None:
    kinds = {variant.kind for variant in successes(BOOK, CASES.tools, "")}
    assert "blank for T" in kinds and not {"offset spelled out", "the same instant in Z"} & kinds
    assert "the same digits in Z" not in {variant.kind for variant in failures(BOOK, CASES.tools, "+00:00")}


def test_a_zone_west_of_greenwich_is_later_in_z() -> None:
    variant = next(v for v in successes(BOOK, CASES.tools, "-03:30") if v.kind == "the same instant in Z")
    assert variant.calls[0].arguments["start"] == "2026-04-17T17:30:00Z"
