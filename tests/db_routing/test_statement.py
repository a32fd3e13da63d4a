"""Texts of SQL, read: statements, first word, order, double-quoted names."""

from __future__ import annotations

import pytest

from infranode_eval.db_routing.statement import first_word, in_another_year, is_ordered, quoted_values, statements

STATEMENTS = [
    # (text, number of statements, why)
    ("", 0, "nothing"),
    (" \n\t\f\r", 0, "blanks"),
    ("-- SELECT 1", 0, "a comment up to the end"),
    ("/* SELECT 1", 0, "a comment that nobody closes"),
    ("/* a */ -- b\n /* c */", 0, "comments only"),
    (";;;", 0, "empty statements"),
    ("\ufeff", 0, "a byte order mark is a blank"),
    ("SELECT 1", 1, "no semicolon"),
    ("SELECT 1;;  -- Ende", 1, "empty ones after it"),
    (";SELECT 1", 1, "an empty one before it"),
    ("SELECT ';'", 1, "in a text"),
    ("SELECT 'a'';'';b'", 1, "in a text with quotes"),
    ('SELECT ";"', 1, "in a quoted name"),
    ("SELECT `;`, [;]", 1, "in the other quoted names"),
    ("SELECT 1 /* ; */ -- ;", 1, "in comments"),
    ("SELECT ';", 1, "in a text that nobody closes"),
    ("SELECT 1; SELECT 2", 2, "two"),
    ("SELECT 1; x", 2, "the second need not make sense"),
    ("SELECT '' ; DROP TABLE t; --", 2, "the usual injection"),
    ("SELECT 1 -- ;\n; SELECT 2", 2, "a comment ends with its line"),
]


@pytest.mark.parametrize(("text", "count", "why"), STATEMENTS, ids=[s[2] for s in STATEMENTS])
def test_statements(text: str, count: int, why: str) -> None:
    assert len(statements(text)) == count, why


@pytest.mark.parametrize(("text", "word"), [
    ("SELECT 1", "select"), (" -- x\n/* y */ With x AS (SELECT 1)", "with"), ("(SELECT 1)", ""), ("'select'", ""),
    ("", ""), ("```sql", ""), ("selectx", "selectx"), ("\ufeffVALUES(1)", "values")])
def test_first_word(text: str, word: str) -> None:
    assert first_word(text) == word


ORDERED = [
    ("SELECT a FROM t ORDER BY a", True, "the usual place"),
    ("select a from t order\n/* x */ by a limit 3", True, "any case, with a comment between"),
    ("SELECT a FROM t", False, "none"),
    ("SELECT a, row_number() OVER (ORDER BY a) FROM t", False, "of a window"),
    ("SELECT * FROM (SELECT a FROM t ORDER BY a LIMIT 3)", False, "of a subquery"),
    ("WITH x AS (SELECT a FROM t ORDER BY a) SELECT * FROM x", False, "of a WITH table"),
    ("WITH x AS (SELECT 1) SELECT * FROM x ORDER BY 1", True, "after a WITH table"),
    ("SELECT a FROM t UNION SELECT b FROM u ORDER BY 1", True, "of a union"),
    ("SELECT 'ORDER BY' FROM t", False, "in a text"),
    ('SELECT "order" by FROM t', False, "a name is no keyword"),
    ("SELECT a FROM t -- ORDER BY a", False, "in a comment"),
    ("SELECT a FROM t GROUP BY a", False, "another BY"),
]


@pytest.mark.parametrize(("text", "ordered", "why"), ORDERED, ids=[o[2] for o in ORDERED])
def test_is_ordered(text: str, ordered: bool, why: str) -> None:
    assert is_ordered(text) is ordered, why


QUOTED = [
    ('SELECT "Köln"', ("Köln",), "after SELECT"),
    ('SELECT a FROM t WHERE ort = "Köln" AND x IN ("c", "b""c")', ("Köln", "c", 'b"c'), "after signs and commas"),
    ('SELECT count(*) AS "Anzahl" FROM t ORDER BY "Anzahl"', (), "an alias that is named"),
    ('SELECT count(*) "Anzahl" FROM t', (), "an alias without AS"),
    ('SELECT a n FROM t ORDER BY "n"', (), "an alias that is a bare word"),
    ('SELECT "t"."a" FROM "t"', (), "a table and its column"),
    ("SELECT 'a \"b\"'", (), "inside a text"),
    ('SELECT "a', ("",), "one that nobody closes is an error anyway"),
]


@pytest.mark.parametrize(("text", "names", "why"), QUOTED, ids=[q[2] for q in QUOTED])
def test_quoted_values(text: str, names: tuple[str, ...], why: str) -> None:
    assert quoted_values(text) == names, why


LATER = "'now', '+35000000 seconds'"
CLOCKS = [
    ("SELECT date('now')", f"SELECT date({LATER})", "a day"),
    ("SELECT STRFTIME ('%Y', 'NOW', 'start of month')", f"SELECT STRFTIME ('%Y', {LATER}, 'start of month')",
     "modifiers come after it"),
    ("SELECT date(), time( /* jetzt */ ), f()", f"SELECT date({LATER}), time( /* jetzt */ {LATER}), f()",
     "no argument means now"),
    ("SELECT julianday(coalesce(a, 'now')), date(a, (b))", "SELECT julianday(coalesce(a, 'now')), date(a, (b))",
     "only an argument of the date function itself"),
    ("SELECT 'now' FROM t WHERE a IN ('now')", "SELECT 'now' FROM t WHERE a IN ('now')", "a text is a text"),
    ("SELECT a FROM t -- date('now')", "SELECT a FROM t -- date('now')", "in a comment"),
    ("SELECT 'date(''now'')'", "SELECT 'date(''now'')'", "in a text"),
    ("SELECT date('now'", f"SELECT date({LATER}", "without end"),
]


@pytest.mark.parametrize(("text", "later", "why"), CLOCKS, ids=[c[2] for c in CLOCKS])
def test_in_another_year(text: str, later: str, why: str) -> None:
    assert in_another_year(text) == later, why


@pytest.mark.parametrize("text", ["'" * 20_000, '"' * 19_999, "/*" * 10_000, "-" * 20_000, "[" * 20_000, "(" * 20_000,
                                  "a" * 20_000, "`'" * 10_000, "'a''" * 5_000])
def test_reading_takes_time_in_proportion_to_the_text(text: str) -> None:
    statements(text)
    is_ordered(text)
    quoted_values(text)
    in_another_year(text)
