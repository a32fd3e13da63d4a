"""JSON pointers and the rows of a list: what is found, what is replaced, which rows meet a condition."""

from __future__ import annotations

from typing import Any

import pytest

from infranode_eval.chain.pointers import MISSING, Condition, at, matching, nested, parts, replaced, rows_at
from lm_eval_task.errors import DataError

DOCUMENT = {"data": {"payload": {"stations": [{"name": "Bonn Hbf", "a/b": 1, "m~n": 2}, {"name": None}]}, "geo": None}}


@pytest.mark.parametrize(("pointer", "found", "why"), [
    ("", DOCUMENT, "the whole document"),
    ("/data/payload/stations/0/name", "Bonn Hbf", "names and an index"),
    ("/data/payload/stations/0/a~1b", 1, "~1 is a slash"),
    ("/data/payload/stations/0/m~0n", 2, "~0 is a tilde"),
    ("/data/geo", None, "null is a value"),
    ("/data/payload/stations/2", MISSING, "beyond the end"),
    ("/data/payload/stations/-1", MISSING, "no counting from the end"),
    ("/data/geo/lat", MISSING, "below null"),
    ("/data/payload/stations/0/name/0", MISSING, "a text is no list"),
])
def test_a_pointer_finds(pointer: str, found: Any, why: str) -> None:
    assert at(DOCUMENT, pointer) == found, why


@pytest.mark.parametrize("pointer", ["data", " /data", 5])
def test_what_is_no_pointer_is_refused(pointer: Any) -> None:
    with pytest.raises(DataError, match='begins with "/"'):
        parts(pointer)


def test_a_value_is_replaced_in_a_copy_that_shares_the_rest() -> None:
    document = {"data": {"rows": [{"name": "a"}, {"name": "b"}], "other": {"x": 1}}}
    changed = replaced(document, "/data/rows/1/name", "neu")
    assert changed == {"data": {"rows": [{"name": "a"}, {"name": "neu"}], "other": {"x": 1}}}
    assert document["data"]["rows"][1]["name"] == "b", "the original stays"
    assert changed["data"]["other"] is document["data"]["other"], "only what is on the way is copied"


@pytest.mark.parametrize("pointer", ["/data/rows/2/name", "/data/neu", "/data/rows/0/name/x"])
def test_a_value_is_never_added(pointer: str) -> None:
    with pytest.raises(DataError, match="there is nothing at"):
        replaced({"data": {"rows": [{"name": "a"}, {"name": "b"}]}}, pointer, 1)


def test_a_nested_document_holds_the_value_at_the_pointer() -> None:
    assert nested("/payload/population", 5) == {"payload": {"population": 5}}
    assert nested("", 5) == 5


@pytest.mark.parametrize(("body", "pointer", "rows", "why"), [
    (DOCUMENT, "/data/payload/stations", DOCUMENT["data"]["payload"]["stations"], "an array gives its rows"),
    (DOCUMENT, "/data/payload", [DOCUMENT["data"]["payload"]], "anything else is one row"),
    (DOCUMENT, "/data/payload/stations/0/name", ["Bonn Hbf"], "so is a text"),
    (DOCUMENT, "/data/geo", None, "null is no row"),
    (DOCUMENT, "/data/nichts", None, "nor is what is not there"),
    ({"data": []}, "/data", [], "an empty list has no rows but is there"),
])
def test_rows(body: Any, pointer: str, rows: Any, why: str) -> None:
    assert rows_at(body, pointer) == rows, why


ROW = {"power": 150.0, "name": "Nord", "open": True, "free": None, "planned_time": "2026-07-06T10:05:00"}


@pytest.mark.parametrize(("condition", "holds", "why"), [
    (["/power", ">=", 150], True, "an integer bound, a float value"),
    (["/power", ">", 150], False, "the bound itself is not more"),
    (["/power", "<=", 150], True, "at most"),
    (["/power", "<", 150], False, "less"),
    (["/power", "==", 150], True, "5 = 5.0"),
    (["/name", "==", "Nord"], True, "a text"),
    (["/name", "!=", "Nord"], False, "not another one"),
    (["/name", ">", 5], False, "a text against a number"),
    (["/power", ">", "1"], False, "a number against a text"),
    (["/open", "==", True], True, "a truth value"),
    (["/open", "==", 1], False, "true is not 1"),
    (["/open", ">", 0], False, "true is no number"),
    (["/free", ">", 0], False, "null never matches an order"),
    (["/free", "<", 1], False, "null is not 0"),
    (["/free", "==", None], True, "null can be asked for"),
    (["/power", "!=", None], True, "and excluded"),
    (["/nichts", "!=", None], False, "what is not there matches nothing"),
    (["/planned_time", ">=", "2026-07-06T10:05:00"], True, "times in order as texts"),
])
def test_a_condition(condition: list[Any], holds: bool, why: str) -> None:
    assert Condition.from_json(condition).holds(ROW) is holds, why
    assert Condition.from_json(condition).to_json() == condition


@pytest.mark.parametrize("value", [["/a", "=", 1], ["/a", "=="], "x", ["a", "==", 1], ["/a", "==", [1]]])
def test_what_is_no_condition_is_refused(value: Any) -> None:
    with pytest.raises(DataError):
        Condition.from_json(value)


def test_rows_keep_their_order_and_meet_every_condition() -> None:
    rows = [{"n": n} for n in (5, 1, 3, 2)]
    where = [Condition("/n", ">", 1), Condition("/n", "<", 5)]
    assert matching(rows, where) == [{"n": 3}, {"n": 2}]
    assert matching(rows, []) == rows
