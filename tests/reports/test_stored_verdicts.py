"""What a stored row says of its verdict: read, or refused by name."""

from __future__ import annotations

from typing import Any

import pytest

from infranode_eval.reports.stored_verdicts import calls_in, notes_in, outcome_in, solved_in
from lm_eval_task.errors import DataError
from lm_eval_task.records import FAILURES, Call

KNOWN = ("ok", "wrong", *FAILURES)


def row(**more: Any) -> dict[str, Any]:
    return {"task_id": "t1", "outcome": "ok", **more}


@pytest.mark.parametrize("outcome", [None, "right", 1, ["ok"]])
def test_an_outcome_of_another_suite_is_refused(outcome: Any) -> None:
    assert outcome_in(row(), KNOWN, "s") == "ok"
    with pytest.raises(DataError, match=rf'row t1: "outcome" .* none of the {len(KNOWN)} of suite s'):
        outcome_in(row(outcome=outcome), KNOWN, "s")


@pytest.mark.parametrize(("outcome", "value", "told"), [
    ("ok", None, "true or false"), ("ok", 1, "true or false"), (FAILURES[0], False, "null in a failure")])
def test_solved_is_true_or_false_and_null_in_a_failure_only(outcome: str, value: Any, told: str) -> None:
    assert solved_in(row(solved=True), "solved") is True and solved_in(row(outcome=FAILURES[0]), "solved") is None
    with pytest.raises(DataError, match=f'row t1: "solved" must be {told}'):
        solved_in(row(outcome=outcome, solved=value), "solved")


def test_notes_that_are_missing_are_empty() -> None:
    assert notes_in(row()) == notes_in(row(labels=None, sub=None, why=None)) == (None, (), "")
    assert notes_in(row(labels=["a"], sub="b", why="c")) == ("b", ("a",), "c")


@pytest.mark.parametrize("notes", [{"labels": "a"}, {"labels": [1]}, {"sub": 1}, {"why": ["x"]}])
def test_notes_are_texts(notes: dict[str, Any]) -> None:
    with pytest.raises(DataError, match='row t1: "labels" must be a list of texts'):
        notes_in(row(**notes))


def test_calls_are_read_as_they_were_made() -> None:
    assert calls_in(row()) is None and calls_in(row(calls=[])) == ()
    assert calls_in(row(calls=[{"name": "x", "arguments": {"a": 1}}, {"name": "y", "arguments": "{"}])) == (
        Call("x", {"a": 1}), Call("y", {}))


@pytest.mark.parametrize("calls", ["x", {}, [None], [{"arguments": {}}], [{"name": 1}]])
def test_anything_but_a_list_of_calls_is_refused(calls: Any) -> None:
    with pytest.raises(DataError, match='row t1: "calls" must be null or a list'):
        calls_in(row(calls=calls))
