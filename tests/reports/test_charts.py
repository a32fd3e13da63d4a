"""Charts before they have a look: every outcome has a part, the front is the front, axes hold their points."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from infranode_eval.reports.archive import OUTCOMES, UNKNOWN, Row, Run
from infranode_eval.reports.charts import KINDS, Point, axis_for, kind_of, parts_of_bar, with_front
from infranode_eval.reports.figures import Summary, summarise
from lm_eval_task.records import FAILURES, Score


def row(outcome: str, right: bool | None = False) -> Row:
    return Row("t", "c", 1, Score(outcome, call_match=None if outcome in FAILURES else right))


def summary_of(rows: list[Row]) -> Summary:
    numbered = [replace(row, task_id=f"t{number}") for number, row in enumerate(rows)]
    return summarise(Run("a.json", "run_eval", "single", "m", "openai", "prompt", "S", True, "1.0", {}, {}, len(rows),
                         sum(r.score.failed for r in rows), {}, {}, tuple(numbered)))


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_every_outcome_is_part_of_a_bar(outcome: str) -> None:
    assert kind_of(row(outcome)) in KINDS
    assert (kind_of(row(outcome)) == "right") == (outcome in ("ok", "ok_recovered", "abstain_ok"))


def test_what_lm_eval_does_not_explain_keeps_its_verdict() -> None:
    assert (kind_of(row(UNKNOWN, True)), kind_of(row(UNKNOWN, False))) == ("right", "unknown")


def test_a_bar_has_every_row_once_and_keeps_four_silences_apart() -> None:
    outcomes = ("no_call", "malformed_call", "truncated", "infra_error", "no_call")
    parts = parts_of_bar(summary_of([row("ok", True), *map(row, outcomes)]))
    assert [(p.kind, p.count) for p in parts] == [("right", 1), ("silent", 2), ("unreadable", 1), ("truncated", 1),
                                                  ("unanswered", 1)]
    assert parts[0].start == 0 and parts[-1].start + parts[-1].width == pytest.approx(1)
    assert parts_of_bar(summary_of([])) == []


def test_a_bar_counts_what_kind_of_says_of_each_row() -> None:
    rows = [row(o, o in ("ok", "ok_recovered", "abstain_ok")) for o in OUTCOMES] + [row(UNKNOWN, True), row(UNKNOWN)]
    counts = {p.kind: p.count for p in parts_of_bar(summary_of(rows))}
    assert counts == Counter(map(kind_of, rows)) and set(counts) == set(KINDS)


@pytest.mark.parametrize(("points", "front", "why"), [
    ([("a", 1, 0.5)], {"a"}, "alone"),
    ([("a", 1, 0.5), ("b", 2, 0.7), ("c", 3, 0.6)], {"a", "b"}, "c costs more than b and is worse"),
    ([("a", 1, 0.5), ("b", 2, 0.5)], {"a"}, "no better for more"),
    ([("a", 1, 0.5), ("b", 1, 0.9)], {"b"}, "the better of two that cost the same"),
    ([("a", 1, 0.0)], {"a"}, "nothing solved is still the cheapest"),
])
def test_the_front_holds_those_that_no_other_beats_in_both(points, front: set[str], why: str) -> None:
    assert {p.name for p in with_front([Point(*p) for p in points]) if p.front} == front, why


@pytest.mark.parametrize(("values", "logarithmic"), [
    ([1.0], False), ([0.5, 3.0], False), ([0.1, 12.0], True), ([0.0004, 90.0], True), ([0.0, 50.0], False),
    ([0.0], False),
    ([123456.0], False), ([1e-9, 2e-9], False), ([9.7, 99.9], True),
])
def test_an_axis_holds_its_points_and_has_few_round_ticks(values: list[float], logarithmic: bool) -> None:
    axis = axis_for(values)
    assert axis.logarithmic == logarithmic
    assert all(0 <= axis.place(v) <= 1 for v in (*values, *axis.ticks))
    assert 2 <= len(axis.ticks) <= 9 and list(axis.ticks) == sorted(set(axis.ticks))
