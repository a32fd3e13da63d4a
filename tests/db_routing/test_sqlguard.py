"""The guarded connection alone, without what is checked before: asked in a worker, with and without setlimit."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from infranode_eval.db_routing.sqlguard import FUNCTIONS, authorizer
from infranode_eval.db_routing.worker_process import WorkerProcess
from tests.db_routing.databases import make_shop

DENIED = (
    "ATTACH DATABASE '{marker}' AS x",
    "ATTACH DATABASE ':memory:' AS x",
    "DETACH DATABASE main",
    "VACUUM",
    "VACUUM INTO '{marker}'",
    "PRAGMA query_only = 0",
    "PRAGMA writable_schema = 1",
    "PRAGMA hard_heap_limit = 0",
    "PRAGMA journal_mode = WAL",
    "PRAGMA temp_store = FILE",
    "PRAGMA temp_store_directory = '{marker}'",
    "PRAGMA data_store_directory = '{marker}'",
    "PRAGMA trusted_schema = 1",
    "PRAGMA mmap_size = 1000000000",
    "PRAGMA user_version = 7",
    "PRAGMA table_info(kunden)",
    "PRAGMA database_list",
    "PRAGMA integrity_check",
    "PRAGMA wal_checkpoint",
    "INSERT INTO kunden (name) VALUES ('x')",
    "INSERT INTO kunden (name) SELECT name FROM kunden RETURNING *",
    "UPDATE kunden SET name = 'x'",
    "DELETE FROM kunden",
    "WITH x AS (SELECT 1) DELETE FROM kunden",
    "REPLACE INTO kunden (nr) VALUES (1)",
    "CREATE TABLE x (a)",
    "CREATE TEMP TABLE x AS SELECT 1",
    "CREATE TEMP VIEW x AS SELECT 1",
    "CREATE TEMP TRIGGER x AFTER DELETE ON kunden BEGIN SELECT 1; END",
    "CREATE VIRTUAL TABLE temp.x USING fts5(a)",
    "CREATE INDEX x ON kunden (name)",
    "DROP TABLE kunden",
    "ALTER TABLE kunden RENAME TO x",
    "ANALYZE",
    "REINDEX",
    "BEGIN IMMEDIATE",
    "SAVEPOINT x",
    "SELECT load_extension('{marker}')",
    "SELECT sql FROM sqlite_master",
    "SELECT count(*) FROM sqlite_schema",
    "SELECT name FROM pragma_table_info('kunden')",
    "SELECT count(*) FROM json_each('[1]')",
)


@pytest.fixture(scope="module", params=[(), ("without-setlimit",)], ids=["setlimit", "without"])
def worker(request: pytest.FixtureRequest) -> Iterator[WorkerProcess]:
    process = WorkerProcess(options=request.param)
    assert process.hello == {"ready": True, "setlimit": not request.param and hasattr(sqlite3.Connection, "setlimit")}
    yield process
    process.end()


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_shop(tmp_path_factory.mktemp("panel"))


def ask(worker: WorkerProcess, path: Path, sql: str) -> dict[str, object]:
    return worker.ask({"path": str(path), "sql": sql, "most_rows": 5, "whole": False, "limit_s": 1.0}, 3.0)


@pytest.mark.parametrize("sql", DENIED)
def test_the_authorizer_alone_denies(worker: WorkerProcess, shop: Path, tmp_path: Path, sql: str) -> None:
    before = shop.read_bytes()
    answer = ask(worker, shop, sql.replace("{marker}", str(tmp_path / "marker")))
    assert "error" in answer, answer
    assert re.search("authoriz|prohibited|vtable constructor failed", str(answer["message"])), "by another lock"
    assert not list(tmp_path.iterdir()) and [p.name for p in shop.parent.iterdir()] == [shop.name]
    assert shop.read_bytes() == before
    assert ask(worker, shop, "SELECT count(*) FROM kunden")["rows"] == [[200]]


ALLOWED = (
    ("SELECT count(*), sum(nr), avg(nr), min(nr), max(nr), total(nr), group_concat(nr) FROM kunden WHERE nr < 4"),
    ("SELECT strftime('%Y', '2024-05-06'), date('2024-05-06'), time('12:00'), datetime('2024-05-06'), julianday(0)"),
    ("SELECT substr('abc', 2), substring('abc', 2), instr('abc', 'c'), length('abc'), trim(' a '), ltrim(' a'), "
     "rtrim('a '), lower('A'), upper('a'), replace('a', 'a', 'b'), abs(-1), round(1.23, 1)"),
    ("SELECT iif(1, 2, 3), coalesce(NULL, 1), ifnull(NULL, 1), nullif(1, 1), 'a' LIKE 'A', 'a' GLOB 'a*'"),
    ("SELECT rank() OVER w, dense_rank() OVER w, row_number() OVER w, lag(nr) OVER w, lead(nr) OVER w FROM kunden "
     "WINDOW w AS (ORDER BY ort) LIMIT 1"),
    ("SELECT CASE WHEN nr > 1 THEN CAST(umsatz AS INTEGER) ELSE name || '!' END FROM kunden LIMIT 1"),
    ("WITH k AS (SELECT ort, count(*) AS n FROM kunden GROUP BY ort HAVING n > 1) SELECT count(*) FROM k"),
    ("WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 4) SELECT * FROM r"),
    ("SELECT rowid, _rowid_ FROM kunden WHERE name COLLATE NOCASE = 'KUNDE 3'"),
    ("SELECT a.nr FROM kunden a LEFT JOIN kunden b USING (nr) WHERE EXISTS (SELECT 1 FROM kunden) EXCEPT SELECT 1"),
    ("SELECT count(*) FILTER (WHERE nr > 3), count(DISTINCT ort) FROM main.kunden"),
    ("VALUES (1, 2), (3, 4)"),
)


@pytest.mark.parametrize("sql", ALLOWED)
def test_what_analysts_write_runs(worker: WorkerProcess, shop: Path, sql: str) -> None:
    assert "error" not in ask(worker, shop, sql)


def test_the_list_of_functions_is_the_specified_one() -> None:
    """Word for word from the specification: a function more is a hole, a function less an injustice."""
    listed = ("count sum avg min max total group_concat strftime date time datetime julianday substr substring instr "
              "length trim ltrim rtrim lower upper replace abs round iif coalesce ifnull nullif like glob rank "
              "dense_rank row_number lag lead")
    assert set(listed.split()) == FUNCTIONS


READS = [
    # (table, column, allowed, why)
    ("kunden", "name", True, "a column of a table"),
    ("KUNDEN", "name", True, "names have no case"),
    ("kunden", "", True, "a table that is only counted"),
    ("k", "", True, "a WITH table that is only counted"),
    ("k", "name", False, "a column of what is no table of the database"),
    ("json_each", "", False, "a virtual table that is only counted"),
    ("json_each", "value", False, "a virtual table"),
    ("pragma_table_info", "", False, "a pragma as a table"),
    ("sqlite_master", "sql", False, "the schema"),
    ("SQLITE_Temp_Schema", "", False, "the schema, only counted"),
]


@pytest.mark.parametrize(("table", "column", "allowed", "why"), READS, ids=[r[3] for r in READS])
def test_reads(table: str, column: str, allowed: bool, why: str) -> None:
    """The authorizer alone: not every SQLite has a second lock behind it."""
    decide = authorizer({"kunden", "sqlite_master"}, {"json_each"})
    assert decide(20, table, column, "main", None) == (sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY), why


def test_an_exception_in_the_authorizer_denies() -> None:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t (a)")
    connection.set_authorizer(authorizer(None, None))   # type: ignore[arg-type]   # fails at the first table
    with pytest.raises(sqlite3.DatabaseError, match="not authorized|prohibited"):
        connection.execute("SELECT a FROM t")
    connection.close()


def test_without_setlimit_memory_is_bounded_by_the_heap(shop: Path) -> None:
    worker = WorkerProcess(options=("without-setlimit",))
    answer = ask(worker, shop, "WITH RECURSIVE r(t) AS (SELECT 'xxxxxxxx' UNION ALL SELECT t || t FROM r) "
                               "SELECT max(length(t)) FROM r")
    worker.end()
    assert answer["error"] == "MemoryError"
