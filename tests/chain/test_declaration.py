"""Declarations: read, checked with a message that says what is wrong, and written as they were read."""

from __future__ import annotations

from typing import Any

import pytest

from infranode_eval.chain.declaration import Derivation, Fault, Step, faults_from_json, steps_from_json
from lm_eval_task.errors import DataError

SOURCE = {"from": "a", "at": "/data/payload/stations"}
VALUE = {"op": "value", **SOURCE, "field": "/eva"}
CALL = {"name": "get_city", "arguments": {"slug": "bonn"}}


@pytest.mark.parametrize("row", [
    VALUE,
    {"op": "value", "from": ["a", "b"], "at": "/data", "where": [["/name", "==", "Bonn-Beuel"]], "field": "/eva"},
    {"op": "count", **SOURCE, "where": [["/power_kw", ">=", 150]]},
    {"op": "nth", **SOURCE, "by": "/planned_time", "n": 1, "return": "/platform"},
    {"op": "argmax", **SOURCE, "by": "/free", "return": "/name"},
    {"op": "difference", "of": VALUE, "minus": VALUE, "absolute": True},
    {"op": "ratio", "of": VALUE, "over": {"op": "sum", **SOURCE, "field": "/x"}, "times": 1000},
    {"op": "intersection", "of": {"op": "set", **SOURCE, "field": "/n"}, "and": {"op": "set", **SOURCE, "field": "/n"}},
    {"op": "minus_set", "of": {"op": "set", **SOURCE, "field": "/n"}, "minus": {"op": "set", **SOURCE, "field": "/n"}},
    {"op": "none"},
    {"op": "none", **SOURCE, "field": "/temperature_c"},
])
def test_a_derivation_is_written_as_it_was_read(row: dict[str, Any]) -> None:
    assert Derivation.from_json(row).to_json() == row


@pytest.mark.parametrize(("row", "said"), [
    ({"op": "median", **SOURCE}, "a derivation is"),
    ("count", "a derivation is"),
    ({"op": "count"}, '"from" is the id'),
    ({"op": "count", "from": []}, '"from" is the id'),
    ({"op": "count", **SOURCE, "feld": "/x"}, 'count knows no "feld"'),
    ({"op": "count", **SOURCE, "field": "/x"}, 'count knows no "field"'),
    ({"op": "nth", **SOURCE, "by": "/t", "return": "/p"}, 'nth lacks "n"'),
    ({"op": "nth", **SOURCE, "by": "/t", "n": 0, "return": "/p"}, '"n" is a whole number'),
    ({"op": "argmax", **SOURCE, "by": "t", "return": "/p"}, 'begins with "/"'),
    ({"op": "value", "from": "a", "at": "data"}, 'begins with "/"'),
    ({"op": "ratio", "of": VALUE}, 'ratio lacks "over"'),
    ({"op": "ratio", "of": VALUE, "over": VALUE, "times": 0}, '"times" is a number'),
    ({"op": "difference", "of": VALUE, "minus": VALUE, "absolute": 1}, '"absolute" is'),
    ({"op": "difference", "of": VALUE, "minus": {"op": "wert"}}, "a derivation is"),
    ({"op": "value", **SOURCE, "where": [["/a", "~", 1]]}, "a condition is"),
])
def test_a_wrong_derivation_says_what_is_wrong(row: Any, said: str) -> None:
    with pytest.raises(DataError, match=said):
        Derivation.from_json(row)


def test_a_derivation_knows_its_leaves_its_steps_and_what_it_reads_of_a_row() -> None:
    ratio = Derivation.from_json({"op": "ratio", "of": {**VALUE, "from": ["b", "a"], "where": [["/name", "==", "x"]]},
                                  "over": {"op": "nth", **SOURCE, "by": "/t", "n": 1, "return": "/p"}})
    assert [leaf.op for leaf in ratio.leaves()] == ["value", "nth"]
    assert ratio.steps() == ("b", "a")
    assert [leaf.pointers() for leaf in ratio.leaves()] == [("/name", "/eva"), ("/t", "/p")]


def test_a_step_is_written_as_it_was_read_and_carries_what_is_derived_from_it() -> None:
    row = {"id": "a", "call": {"name": "station_board_departures", "arguments": {"eva": VALUE}}}
    step = Step.from_json(row)
    assert step.to_json() == row
    assert list(step.derived()) == ["eva"]
    reads = Derivation.from_json({"op": "value", "from": ["a"], "at": "/data"})
    none = Derivation.from_json({"op": "none"})
    assert step.carries(reads) and not step.carries(none)
    assert Step.from_json({**row, "carry": True, "result": "failed"}).carries(none)
    assert not Step.from_json({**row, "carry": False}).carries(reads)


@pytest.mark.parametrize(("row", "said"), [
    ({"call": CALL}, "a step is"),
    ({"id": "a"}, "a call is"),
    ({"id": "a", "call": CALL, "note": 1}, 'step a knows no "note"'),
    ({"id": "a", "call": CALL, "result": "dead"}, "step a:"),
    ({"id": "a", "call": CALL, "carry": "yes"}, "step a:"),
    ({"id": "a", "call": {"name": "x", "arguments": {"eva": {"op": "x"}}}}, "a derivation is"),
])
def test_a_wrong_step_says_what_is_wrong(row: Any, said: str) -> None:
    with pytest.raises(DataError, match=said):
        Step.from_json(row)


@pytest.mark.parametrize(("rows", "said"), [
    ([], "a plan is a list"),
    ([{"id": "a", "call": CALL}, {"id": "a", "call": CALL}], "declared twice"),
    ([{"id": "b", "call": {"name": "x", "arguments": {"eva": VALUE}}}], 'step b reads step "a"'),
    ([{"id": "a", "call": {"name": "x", "arguments": {"eva": VALUE}}}], 'step a reads step "a"'),
])
def test_a_plan_reads_only_what_came_before(rows: Any, said: str) -> None:
    with pytest.raises(DataError, match=said):
        steps_from_json(rows)


@pytest.mark.parametrize("row", [
    {"req": "/cities/bonn/air-uba", "times": 1, "status": 503, "source": "uba"},
    {"req": "/cities/bonn/weather", "scope": "datum", "status": 503, "source": "dwd"},
    {"req": "/stations/8000044/departures", "source_status": "no_data"},
    {"req": "/cities/dresden/parking", "set": {"at": "/data/payload/facilities/0/name", "value": "Parkhaus"}},
    {"req": "/cities/dresden/parking", "set": {"at": "/data/payload/facilities/0/free", "value": None}},
])
def test_a_fault_is_written_as_it_was_read(row: dict[str, Any]) -> None:
    assert Fault.from_json(row).to_json() == row


@pytest.mark.parametrize(("row", "said"), [
    ({"status": 503, "source": "uba"}, "a fault is"),
    ({"req": "/x"}, "exactly one of"),
    ({"req": "/x", "status": 503, "source": "uba", "source_status": "no_data"}, "exactly one of"),
    ({"req": "/x", "status": 500, "source": "uba"}, '"status" is 503'),
    ({"req": "/x", "status": 503}, '"status" is 503'),
    ({"req": "/x", "source_status": "no_data", "source": "uba"}, 'goes only with "status"'),
    ({"req": "/x", "source_status": "not_covered"}, '"source_status" is one of'),
    ({"req": "/x", "source_status": "no_data", "times": 0}, '"times" is a whole number'),
    ({"req": "/x", "source_status": "no_data", "scope": "alle"}, '"scope" is one of'),
    ({"req": "/x", "set": {"at": "/data"}}, '"set" is'),
    ({"req": "/x", "set": {"at": "data", "value": 1}}, 'begins with "/"'),
    ({"req": "/x", "set": {"at": "/data", "value": 1}, "scope": "datum"}, "changes one answer"),
    ({"req": "/x", "source_status": "no_data", "mal": 1}, 'knows no "mal"'),
])
def test_a_wrong_fault_says_what_is_wrong(row: Any, said: str) -> None:
    with pytest.raises(DataError, match=said):
        Fault.from_json(row)


def test_faults_are_a_list() -> None:
    assert faults_from_json([]) == ()
    with pytest.raises(DataError, match="faults are a list"):
        faults_from_json({})
