"""Expressions of the grammar: what they read, and the SQL they become."""

from __future__ import annotations

import sqlite3

import pytest

from infranode_eval.db_routing.expressions import read_expression
from lm_eval_task.errors import DataError


@pytest.mark.parametrize(("text", "sql", "columns"), [
    ("t.c", "t.c", ("t.c",)),
    ("t.menge_stk * t.preis_eur", "t.menge_stk * t.preis_eur", ("t.menge_stk", "t.preis_eur")),
    ("(t.a + 2) / t.a", "(t.a + 2) / t.a", ("t.a",)),
    ("month(k.tag_am)", "substr(k.tag_am, 1, 7)", ("k.tag_am",)),
    ("days(k.bis_am, k.von_am)", "(julianday(k.bis_am) - julianday(k.von_am))", ("k.bis_am", "k.von_am")),
    ("abs(t.a - 1.5)", "abs(t.a - 1.5)", ("t.a",)),
])
def test_an_expression_becomes_sql(text: str, sql: str, columns: tuple[str, ...]) -> None:
    expression = read_expression(text)
    assert (expression.sql, expression.columns) == (sql, columns)
    assert expression.column == (text if text == sql == columns[0] else None)


@pytest.mark.parametrize(("text", "value"), [
    ("year(t.x)", "2025"), ("month(t.x)", "2025-03"), ("day(t.x)", "2025-03-09"), ("hour(t.x)", "17"),
    ("hour(t.z)", "08"), ("minutes(t.y, t.x)", 35.0), ("minutes(t.z, t.w)", 75.0), ("days(t.v, t.u)", 29.0)])
def test_functions_of_dates(text: str, value: object) -> None:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t (x, y, z, w, u, v)")
    connection.execute("INSERT INTO t VALUES ('2025-03-09 17:45', '2025-03-09 18:20', '08:15', '07:00', '2024-02-01', "
                       "'2024-03-01')")
    assert connection.execute(f"SELECT {read_expression(text).sql} FROM t").fetchone() == (value,)


@pytest.mark.parametrize(("text", "said"), [
    ("t.c)", "goes on with"), ("t.c *", "has '' where a column"), ("kosten", "cannot be read"),
    ("printf(t.c)", "has 'printf' where"), ("month(t.c, t.d)", "gives month 2 arguments"), ("(t.c", "where a column"),
    ("t.c; DROP", "cannot be read"), ("month(t.c", "gives month 1 arguments"), ("'x'", "cannot be read")])
def test_what_the_grammar_does_not_know_is_refused(text: str, said: str) -> None:
    with pytest.raises(DataError, match=said.replace("(", r"\(").replace(")", r"\)")):
        read_expression(text)
