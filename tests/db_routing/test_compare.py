"""Two answers of queries compared: as sets, and strictly."""

from __future__ import annotations

from typing import Any

import pytest

from infranode_eval.db_routing.compare import SqlVerdict, compare
from infranode_eval.db_routing.rows import Rows, SqlError


def answer(*rows: tuple[Any, ...]) -> Rows:
    return Rows(("a",), rows)


SAME = [
    # (ours, gold, ordered, sql_set, sql_strict, why)
    ([(1,), (2,)], [(1,), (2,)], True, True, True, "the same"),
    ([(2,), (1,)], [(1,), (2,)], False, True, True, "order counts only where gold has one"),
    ([(2,), (1,)], [(1,), (2,)], True, True, False, "order counts"),
    ([(1,), (1,), (2,)], [(1,), (2,)], False, True, False, "a row twice is the same set"),
    ([(1,), (1,), (2,)], [(1,), (2,), (2,)], False, True, False, "as many rows, others twice"),
    ([(1, "x")], [("x", 1)], False, False, False, "the order of columns counts"),
    ([(1,)], [(1, 2)], False, False, False, "a column less"),
    ([(1,)], [(2,)], False, False, False, "another value"),
    ([(2,)], [(2.0,)], False, True, True, "2 is 2.0"),
    ([(0.1 + 0.2,)], [(0.3,)], False, True, True, "a rounding error"),
    ([(1.0000004,)], [(1.0000001,)], False, True, True, "alike to six decimals"),
    ([(1.000001,)], [(1.000002,)], False, False, False, "different in the sixth decimal"),
    ([(-0.0,)], [(0,)], False, True, True, "minus zero"),
    ([(1e300,)], [(1e300,)], False, True, True, "a huge number"),
    ([("Inf",)], [("Inf",)], False, True, True, "infinity, as the executor writes it"),
    ([(None,)], [(None,)], False, True, True, "NULL is NULL"),
    ([(None,)], [(0,)], False, False, False, "NULL is not 0"),
    ([(None,)], [("",)], False, False, False, "NULL is not an empty text"),
    ([("2",)], [(2,)], False, False, False, "text is no number"),
    ([("köln",)], [("Köln",)], False, False, False, "text is exact"),
    ([("Köln ",)], [("Köln",)], False, False, False, "also its blanks"),
    ([("Ko\u0308ln",)], [("Köln",)], False, False, False, "also its code points"),
    ([], [], False, True, True, "both empty"),
    ([], [(1,)], False, False, False, "one empty"),
]


@pytest.mark.parametrize(("ours", "gold", "ordered", "as_set", "strict", "why"), SAME, ids=[s[5] for s in SAME])
def test_compare(ours: list[Any], gold: list[Any], ordered: bool, as_set: bool, strict: bool, why: str) -> None:
    assert compare(answer(*ours), answer(*gold), ordered=ordered) == SqlVerdict(as_set, strict), why


def test_the_names_of_columns_do_not_count() -> None:
    assert compare(Rows(("x",), ((1,),)), Rows(("y",), ((1,),)), ordered=False).sql_set


def failed(kind: str) -> SqlError:
    return SqlError(kind, "…")


WITHOUT_ROWS = [
    # (ours, gold, verdict, why)
    (None, answer((1,)), SqlVerdict(False, False, "no_declaration"), "nothing was declared"),
    (failed("no_sql"), answer((1,)), SqlVerdict(False, False, "no_sql"), "no SQL"),
    (failed("timeout"), answer((1,)), SqlVerdict(False, False, "timeout"), "ours did not end"),
    (failed("too_large"), answer((1,)), SqlVerdict(False, False, "too_large"), "ours is beyond the cap"),
    (answer((1,)), failed("too_large"), SqlVerdict(False, False, "gold_too_large"), "gold is beyond the cap: it ran"),
    (answer((1,)), failed("timeout"), SqlVerdict(None, None, "gold_timeout"), "gold did not end: out of the count"),
    (answer((1,)), failed("no_such_table"), SqlVerdict(None, None, "gold_no_such_table"), "gold is broken"),
    (None, failed("timeout"), SqlVerdict(None, None, "gold_timeout"), "gold says nothing about anybody"),
]


@pytest.mark.parametrize(("ours", "gold", "verdict", "why"), WITHOUT_ROWS, ids=[w[3] for w in WITHOUT_ROWS])
def test_without_rows(ours: Rows | SqlError | None, gold: Rows | SqlError, verdict: SqlVerdict, why: str) -> None:
    assert compare(ours, gold, ordered=False) == verdict, why


def test_json() -> None:
    assert SqlVerdict(None, None, "gold_timeout").to_json() == {"sql_set": None, "sql_strict": None,
                                                               "sql_error": "gold_timeout"}
