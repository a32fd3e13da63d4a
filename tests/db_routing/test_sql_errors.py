"""Errors of SQL, rebuilt: no path, no name of a database, no name that the model did not write."""

from __future__ import annotations

import pytest

from infranode_eval.db_routing.sql_errors import is_broken, rebuilt, refusal

REFUSED = [
    # (sql, kind, status, why)
    ("", "no_sql", "no_sql", "nothing"),
    ("  -- nur ein Kommentar", "no_sql", "no_sql", "a comment"),
    (None, "no_sql", "no_sql", "the final object has no sql"),
    (["SELECT 1"], "no_sql", "no_sql", "a list is no text"),
    (7, "no_sql", "no_sql", "nor is a number"),
    ("SELECT 1; SELECT 2", "several_statements", "error", "two"),
    ("ATTACH 'x' AS y", "forbidden", "refused", "asks for nothing"),
    ("EXPLAIN SELECT 1", "forbidden", "refused", "shows the schema"),
    ("```sql\nSELECT 1\n```", "forbidden", "refused", "a fence is no SQL"),
    ("SELECT 1\0; x", "encoding", "refused", "SQLite would stop reading at the zero"),
    ("SELECT '\ud800'", "encoding", "refused", "half a character"),
    ("SELECT '" + "x" * 19_991 + "'", None, None, "20,000 bytes"),
    ("SELECT '" + "x" * 19_992 + "'", "too_long", "refused", "20,001 bytes"),
    ("SELECT '" + "ä" * 9_996 + "'", "too_long", "refused", "bytes, as SQLite counts them"),
    ("select 1", None, None, "a query"),
    ("/* x */ WITH x AS (SELECT 1) SELECT * FROM x;", None, None, "a query"),
    ("VALUES (1)", None, None, "a query"),
]


@pytest.mark.parametrize(("sql", "kind", "status", "why"), REFUSED, ids=[r[3] for r in REFUSED])
def test_refusal(sql: object, kind: str | None, status: str | None, why: str) -> None:
    error = refusal(sql)
    assert (error and error.kind, error and error.status) == (kind, status), why


SQL = ("SELECT kundn, t.ort, onlineshop.x, Onlineshöp, printf(1) FROM kunden, sqlite_master, '/srv/geheim.sqlite', "
       f"{'y' * 81} WHERE a REGEXP 'zwei\nZeilen'")
REBUILT = [
    # (SQLite's text, kind, status, message, why)
    ("no such table: kunden", "no_such_table", "error", "Die Tabelle 'kunden' gibt es nicht.", "a name of the query"),
    ("no such table: main.geheim", "no_such_table", "error", "Eine Tabelle der Abfrage gibt es nicht.",
     "a name that is not in the query"),
    ("no such column: kundn", "no_such_column", "error", "Die Spalte 'kundn' gibt es nicht.", "a column"),
    ('no such column: "kundn" - should this be a string literal in single-quotes?', "no_such_column", "error",
     "Die Spalte 'kundn' gibt es nicht.", "SQLite 3.47 gives advice"),
    ("no such column: ONLINESHOP.x", "no_such_column", "error", "Eine Spalte der Abfrage gibt es nicht.",
     "the name of a database"),
    ("no such column: Onlineshöp", "no_such_column", "error", "Eine Spalte der Abfrage gibt es nicht.",
     "the name of a database, with an umlaut"),
    ("no such table: /srv/geheim.sqlite", "no_such_table", "error", "Eine Tabelle der Abfrage gibt es nicht.",
     "a path"),
    (f"no such table: {'y' * 81}", "no_such_table", "error", "Eine Tabelle der Abfrage gibt es nicht.", "too long"),
    ('near "zwei\nZeilen": syntax error', "syntax", "error", "Syntaxfehler.", "two lines"),
    ('near "WHERE": syntax error', "syntax", "error", "Syntaxfehler bei 'WHERE'.", "a keyword"),
    ("ambiguous column name: t.ort", "ambiguous_column", "error", "Die Spalte 't.ort' ist nicht eindeutig.", "a pair"),
    ("not authorized to use function: printf", "forbidden", "refused", "Die Funktion 'printf' ist nicht erlaubt.",
     "the authorizer on a function"),
    ("access to sqlite_master.sql is prohibited", "forbidden", "refused",
     "Der Zugriff auf 'sqlite_master' ist nicht erlaubt.", "the authorizer on a table"),
    ("access to temp.sqlite_master.sql is prohibited", "forbidden", "refused",
     "Der Zugriff auf 'sqlite_master' ist nicht erlaubt.", "the same in another schema"),
    ("not authorized", "forbidden", "refused", "Das ist hier nicht erlaubt.", "the authorizer on all else"),
    ("string or blob too big", "too_complex", "error", "Die Abfrage oder einer ihrer Werte ist zu groß.", "a limit"),
    ("at most 64 tables in a join", "too_complex", "error", "Die Abfrage oder einer ihrer Werte ist zu groß.",
     "another limit"),
    ("out of memory", "memory", "error", "Die Abfrage braucht zu viel Speicher.", "the heap limit"),
    ("etwas Neues über /srv/geheim.sqlite", "other", "error", "Die Abfrage ist fehlerhaft.", "unknown texts stay here"),
]


@pytest.mark.parametrize(("text", "kind", "status", "message", "why"), REBUILT, ids=[r[4] for r in REBUILT])
def test_rebuilt(text: str, kind: str, status: str, message: str, why: str) -> None:
    error = rebuilt("OperationalError", text, SQL, ("onlineshop", "onlineshoep"))
    assert (error.kind, error.status, error.message) == (kind, status, message), why


def test_what_is_too_large_has_a_status_of_its_own() -> None:
    assert rebuilt("TooLargeError", "10000", SQL, ()).status == "too_large"


@pytest.mark.parametrize(("text", "broken"), [
    ("unable to open database file", True), ("file is not a database", True),
    ("database disk image is malformed", True), ("no such table: database", False), ("malformed JSON", False)])
def test_a_broken_file_is_no_error_of_the_query(text: str, broken: bool) -> None:
    assert is_broken(text) is broken
