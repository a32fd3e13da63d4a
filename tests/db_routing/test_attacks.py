"""Attacks on the executor: each leaves no file and the database as it was, and the next query works.

Most are refused; the rest is bounded in time by the limit and in memory by the heap limit.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from infranode_eval.db_routing.executor import Executor
from infranode_eval.db_routing.rows import Rows, SqlError
from tests.db_routing.databases import make_shop

LIMIT_S = 0.4
MOST_MEMORY = 160 * 2**20       # of a worker: 13 MB of Python, 64 MB of SQLite's heap, an answer
MARKER = "marke_7f3a"           # what an attack would call its file

# 80,000 bytes, and 8 MB
LONG = ("replace(replace(replace(replace('aaaaaaaaaa','a','bbbbbbbbbb'),'b','cccccccccc'),'c','dddddddddd'),"
        "'d','eeeeeeee')")
HUGE = f"replace(replace({LONG},'e','ffffffffff'),'f','gggggggggg')"

REFUSED, ERROR, TIMEOUT, NO_SQL, ROWS, BOUNDED = "refused", "error", "timeout", "no_sql", "rows", "bounded"
# BOUNDED: which lock holds depends on the machine's speed and on whether setlimit is there; that one holds does not.
ATTACKS = [
    # (sql, status, why)
    # files
    (f"ATTACH DATABASE '{MARKER}' AS x", REFUSED, "attach a file"),
    (f"ATTACH DATABASE 'file:{MARKER}?mode=rwc' AS x", REFUSED, "attach by URI"),
    (f"/**/ATTACH '{MARKER}' AS x", REFUSED, "attach behind a comment"),
    (f"WITH x AS (SELECT 1) ATTACH '{MARKER}' AS y", ERROR, "attach after WITH"),
    (f"VACUUM INTO '{MARKER}'", REFUSED, "vacuum into a file"),
    ("DETACH main", REFUSED, "detach"),
    (f"SELECT writefile('{MARKER}', 'x')", ERROR, "the shell's writefile"),
    ("SELECT readfile('/etc/passwd')", ERROR, "the shell's readfile"),
    ("SELECT edit('x')", ERROR, "the shell's edit"),
    (f"SELECT load_extension('{MARKER}')", REFUSED, "load an extension"),
    ("SELECT fts3_tokenizer('simple', x'00')", REFUSED, "a pointer as a tokenizer"),
    # settings
    ("PRAGMA query_only = 0", REFUSED, "undo query_only"),
    ("PRAGMA writable_schema = 1", REFUSED, "write the schema"),
    ("PRAGMA hard_heap_limit = 0", REFUSED, "undo the heap limit"),
    ("PRAGMA temp_store_directory = '/tmp'", REFUSED, "move temporary files"),
    ("PRAGMA journal_mode = DELETE", REFUSED, "make a journal"),
    ("PRAGMA mmap_size = 1e12", REFUSED, "map memory"),
    ("PRAGMA database_list", REFUSED, "show the path"),
    ("PRAGMA table_info(kunden)", REFUSED, "read the schema by a pragma"),
    ("SELECT file FROM pragma_database_list", REFUSED, "show the path by a table function"),
    ("SELECT name FROM pragma_table_info('kunden')", REFUSED, "read the schema by a table function"),
    ("SELECT count(*) FROM pragma_function_list", REFUSED, "list functions"),
    ("SELECT * FROM PRAGMA_module_list", REFUSED, "list modules"),
    # schema
    ("SELECT sql FROM sqlite_master", REFUSED, "sqlite_master"),
    ("SELECT sql FROM SQLITE_SCHEMA", REFUSED, "sqlite_schema"),
    ("SELECT * FROM sqlite_temp_master", REFUSED, "sqlite_temp_master"),
    ("SELECT * FROM temp.sqlite_schema", REFUSED, "temp.sqlite_schema"),
    ('SELECT sql FROM main."sqlite_master"', REFUSED, "sqlite_master in quotes"),
    ("SELECT sql FROM [sqlite_master] AS kunden", REFUSED, "sqlite_master under another name"),
    ("SELECT count(*) FROM Sqlite_Master", REFUSED, "count sqlite_master"),
    ("SELECT nr FROM kunden WHERE (SELECT group_concat(sql) FROM sqlite_master) LIKE '%a%'", REFUSED, "ask bit by bit"),
    ("WITH m AS (SELECT * FROM sqlite_master) SELECT * FROM m", REFUSED, "sqlite_master in a WITH table"),
    ("SELECT 1 WHERE EXISTS (SELECT * FROM sqlite_master)", REFUSED, "sqlite_master in EXISTS"),
    ("SELECT name FROM dbstat", REFUSED, "dbstat"),
    ("SELECT * FROM sqlite_stmt", REFUSED, "sqlite_stmt"),
    ("EXPLAIN QUERY PLAN SELECT * FROM kunden", REFUSED, "explain"),
    # functions
    ("SELECT printf('%.*c', 900000000, 'x')", REFUSED, "printf of 900 MB"),
    ("SELECT format('%.*c', 900000000, 'x')", REFUSED, "format of 900 MB"),
    ("SELECT length(zeroblob(900000000))", REFUSED, "zeroblob"),
    ("SELECT length(randomblob(1000000000))", REFUSED, "randomblob"),
    ("SELECT random()", REFUSED, "random"),
    ("SELECT hex('a'), quote('a'), char(65), typeof(1)", REFUSED, "a function that is not on the list"),
    ("SELECT sqlite_version()", REFUSED, "sqlite_version"),
    ("SELECT current_timestamp", REFUSED, "a function without parentheses"),
    ("SELECT json_extract('{\"a\": 1}', '$.a')", REFUSED, "a function of json"),
    ("SELECT json_group_array(name) FROM kunden", REFUSED, "an aggregate of json"),
    ("SELECT '{}' -> '$'", REFUSED, "an operator of json"),
    ("SELECT value FROM json_each('[1, 2]')", REFUSED, "a table function of json"),
    ("SELECT count(*) FROM json_tree('[1, 2]')", REFUSED, "another one"),
    ("SELECT token FROM fts3tokenize('simple', 'x')", REFUSED, "a table function of fts3"),
    ("SELECT nth_value(nr, 1) OVER () FROM kunden", REFUSED, "a window function that is not on the list"),
    ("SELECT 'a' MATCH 'a'", REFUSED, "match"),
    ("SELECT 'a' REGEXP 'a'", ERROR, "regexp"),
    # writing
    ("INSERT INTO kunden (name) VALUES ('x')", REFUSED, "insert"),
    ("WITH x AS (SELECT 1) INSERT INTO kunden (name) SELECT 'x'", REFUSED, "insert after WITH"),
    ("WITH x AS (SELECT 1) UPDATE kunden SET name = 'x' RETURNING *", REFUSED, "update that returns rows"),
    ("WITH x AS (SELECT 1) DELETE FROM kunden", REFUSED, "delete after WITH"),
    ("CREATE TEMP TABLE x AS SELECT * FROM kunden", REFUSED, "a temporary table"),
    ("CREATE VIRTUAL TABLE temp.x USING fts5(a)", REFUSED, "a virtual table"),
    ("BEGIN EXCLUSIVE", REFUSED, "a transaction"),
    # several, none, odd texts
    ("SELECT 1; DROP TABLE kunden", ERROR, "a second statement"),
    ("SELECT 1; SELECT 2;", ERROR, "a second query"),
    ("SELECT nr FROM kunden WHERE name = ''; DELETE FROM kunden; --'", ERROR, "an injection"),
    ("", NO_SQL, "empty"),
    (" ;; /* nichts */ -- gar nichts", NO_SQL, "comments only"),
    ("SELECT 1 /* ; DROP TABLE kunden */", ROWS, "a statement in a comment"),
    ("SELECT 1\0; DROP TABLE kunden", REFUSED, "a zero"),
    ("SELECT '\udcff'", REFUSED, "a surrogate"),
    ("SELECT 'it''s', \"it's\", `nr`, [name] FROM kunden LIMIT 1", ROWS, "all quotes"),
    ("SELECT 'abc", ERROR, "a text without end"),
    ("SELECT ?, :a", ERROR, "parameters"),
    ("\ufeffSELECT '😀\u202e\u2028'", ROWS, "odd characters"),
    ("SELECT nr FROM kunden ORDER BY name COLLATE gibt_es_nicht", ERROR, "an unknown collation"),
    # long and deep
    (f"SELECT '{'x' * 1_000_000}'", REFUSED, "1 MB of SQL"),
    (f"SELECT 1 IN ({','.join(map(str, range(300_000)))})", REFUSED, "a huge IN list"),
    (f"SELECT 1 IN ({','.join(map(str, range(3_900)))})", ROWS, "a large IN list"),
    (f"SELECT count(*) FROM {','.join(f'kunden k{n}' for n in range(500))}", ERROR, "a join of 500"),
    (f"SELECT count(*) FROM {','.join(f'kunden k{n}' for n in range(64))}", TIMEOUT, "a join of 64"),
    (f"SELECT {'(' * 9_000}1{')' * 9_000}", ERROR, "9,000 parentheses"),
    (f"SELECT 1{'+1' * 9_000}", ERROR, "9,000 additions"),
    (f"SELECT {'NOT ' * 4_000}1", ERROR, "4,000 negations"),
    (f"SELECT {'CASE WHEN 1 THEN ' * 500}1{' END' * 500}", ERROR, "500 cases"),
    (f"SELECT * FROM {'(SELECT * FROM ' * 500}kunden{')' * 500}", ERROR, "500 subqueries"),
    (f"SELECT 1{' UNION SELECT 1' * 1_000}", ERROR, "a union of 1,000"),
    (f"SELECT {','.join('1' * 2_001)}", ERROR, "2,001 columns"),
    (f"SELECT {','.join('1' * 2_000)}", ROWS, "2,000 columns"),
    (f"SELECT {'9' * 19_000}", ROWS, "a number of 19,000 digits"),
    (f"SELECT x'{'00' * 9_900}'", ROWS, "a long blob"),
    # recursion
    ("WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r", TIMEOUT, "endless"),
    ("WITH RECURSIVE r(n) AS (SELECT 1 UNION SELECT n + 1 FROM r) SELECT count(*) FROM r", BOUNDED, "endless and kept"),
    ("WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r ORDER BY 1 DESC) SELECT count(*) FROM r", TIMEOUT,
     "endless and sorted"),
    ("WITH RECURSIVE r(t) AS (SELECT 'x' UNION ALL SELECT t || t FROM r) SELECT max(length(t)) FROM r", ERROR,
     "a text that doubles"),
    ("WITH RECURSIVE r(n, t) AS (SELECT 1, 'a' UNION ALL SELECT n + 1, replace(t, 'a', 'aaaaaa') FROM r) "
     "SELECT max(length(t)) FROM r", ERROR, "a text that grows by replace()"),
    (f"WITH RECURSIVE r(n, t) AS (SELECT 1, {LONG} UNION SELECT n + 1, t || n FROM r) SELECT count(*) FROM r", BOUNDED,
     "many long texts"),
    # growth and blow-up
    (f"SELECT length({HUGE})", BOUNDED, "replace() of replace()"),
    ("SELECT group_concat(a.name || b.name || c.name) FROM kunden a, kunden b, kunden c", BOUNDED, "group_concat"),
    (f"SELECT length(group_concat(nr, {LONG})) FROM kunden", BOUNDED, "group_concat with a long separator"),
    ("SELECT sum(a.nr) OVER (ORDER BY b.nr, c.nr ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) "
     "FROM kunden a, kunden b, kunden c", BOUNDED, "a window over everything"),
    ("SELECT group_concat(a.name) OVER (ORDER BY a.nr, b.nr, c.nr DESC) FROM kunden a, kunden b, kunden c LIMIT 9 "
     "OFFSET 99999", BOUNDED, "a window that grows"),
    ("SELECT a.name || b.name || c.name AS x FROM kunden a, kunden b, kunden c ORDER BY x", BOUNDED, "a large sort"),
    ("SELECT DISTINCT a.name || b.name || c.name FROM kunden a, kunden b, kunden c LIMIT 1 OFFSET 7999999", BOUNDED,
     "a large DISTINCT"),
    ("SELECT count(*) FROM (SELECT a.name || b.name || c.name AS x FROM kunden a, kunden b, kunden c GROUP BY x)",
     BOUNDED, "a large GROUP BY"),
    (f"WITH t(x) AS (SELECT {LONG}) SELECT {','.join(['x || 1'] * 1_900)} FROM t", BOUNDED, "a row of 160 MB"),
    (f"SELECT {LONG} LIKE '{'%e' * 40}%f%g'", BOUNDED, "LIKE"),
    (f"SELECT {LONG} GLOB '{'*e?' * 40}*f*g'", BOUNDED, "GLOB"),
    (f"SELECT 'a' LIKE '{'%_' * 9_000}'", ROWS, "a long pattern"),
    (f"WITH t(x) AS (SELECT {LONG}) SELECT instr(x, substr(x, 1, 40000) || 'f') FROM t", BOUNDED, "instr"),
    ("SELECT * FROM kunden a, kunden b, kunden c, kunden d WHERE a.name || b.name || c.name || d.name = 'x'", TIMEOUT,
     "a join that finds nothing"),
    ("SELECT (SELECT count(*) FROM kunden b, kunden c, kunden d WHERE b.nr > a.nr) FROM kunden a", TIMEOUT,
     "a subquery for each row"),
    ("SELECT a.nr FROM kunden a, kunden b, kunden c", ROWS, "eight million rows"),
    # numbers and dates
    ("SELECT abs(-9223372036854775808)", ERROR, "overflow of abs"),
    ("SELECT sum(9223372036854775807) FROM kunden", ERROR, "overflow of sum"),
    ("SELECT 1 / 0, 1 % 0, -9223372036854775808 / -1", ROWS, "division by zero"),
    ("SELECT round(1.5, 2000000000), substr('abc', -9223372036854775807, 9223372036854775807)", ROWS, "huge arguments"),
    ("SELECT nr FROM kunden LIMIT -1 OFFSET 9223372036854775807", ROWS, "huge offset"),
    ("SELECT lag(nr, 1000000000) OVER () FROM kunden", ROWS, "huge lag"),
    ("SELECT date('now'), time('now'), datetime('now', 'localtime'), strftime('%s', 'now')", ROWS, "the clock"),
    (f"SELECT strftime({LONG.replace('eeeeeeee', '%Y%m%d%H')}, '2024-01-01')", BOUNDED, "a format of 80 kB"),
]


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_shop(tmp_path_factory.mktemp("panel"))


@pytest.fixture(scope="module")
def executor(shop: Path) -> Iterator[Executor]:
    with Executor({"onlineshop": shop}, 1, limit_s=LIMIT_S) as made:
        yield made


def files_with_marker() -> list[str]:
    """Files that an attack may have made: by its name, or SQLite's temporary ones, wherever those would be."""
    places = {Path("/"), Path.cwd(), Path.home(), Path("/var/tmp"), Path("/tmp"), Path("/dev/shm"),
              Path(tempfile.gettempdir())}
    return [name for place in places if place.is_dir() for name in os.listdir(place) if MARKER in name]


def memory(executor: Executor) -> int:
    """The most bytes that a living worker ever held; 0 without /proc."""
    found = [0]
    for pid in executor.pids:
        path = Path(f"/proc/{pid}/status")
        if path.is_file():
            found += [int(kilobytes) * 1024 for kilobytes in re.findall(r"VmHWM:\s+(\d+) kB", path.read_text("ascii"))]
    return max(found)


def status(answer: Rows | SqlError) -> str:
    return ROWS if isinstance(answer, Rows) else answer.status


@pytest.mark.parametrize(("sql", "expected", "why"), ATTACKS, ids=[a[2] for a in ATTACKS])
def test_attack(executor: Executor, shop: Path, sql: str, expected: str, why: str) -> None:
    executor.run("onlineshop", "SELECT 1")      # a new worker starts outside the measured time
    before, begin = shop.read_bytes(), time.monotonic()
    answer = executor.run("onlineshop", sql)
    took = time.monotonic() - begin
    assert status(answer) in ((TIMEOUT, ERROR, ROWS) if expected == BOUNDED else (expected,)), (why, str(answer)[:200])
    assert took < LIMIT_S + 2, why
    assert shop.read_bytes() == before and os.listdir(shop.parent) == [shop.name] and not files_with_marker()
    assert memory(executor) < MOST_MEMORY
    assert isinstance(answer, SqlError) or len(answer.text()) <= 8_000
    assert isinstance(answer, Rows) or (str(shop.parent) not in answer.message and "onlineshop" not in answer.message)
    after = executor.run("onlineshop", "SELECT count(*) FROM kunden", limit_s=5.0)
    assert isinstance(after, Rows) and after.rows == ((200,),)


def old_python() -> str | None:
    """A Python without setlimit, if this machine has one."""
    if sys.version_info < (3, 11):
        return sys.executable
    found = [*Path.home().glob(".pyenv/versions/3.10.*/bin/python3.10"),
             *Path.home().glob(".local/share/uv/python/cpython-3.10.*/bin/python3.10")]
    path = str(found[0]) if found else shutil.which("python3.10")
    if path and subprocess.run([path, "-c", ""], capture_output=True).returncode:
        return None     # a name that leads to no Python
    return path


@pytest.mark.parametrize("way", ["switch", "python3.10"])
def test_without_setlimit_the_other_locks_hold(shop: Path, way: str) -> None:
    python = old_python() if way == "python3.10" else sys.executable
    if python is None:
        pytest.skip("no Python 3.10 here; the switch does the same")
    options = ("without-setlimit",) if way == "switch" else ()
    differing = []
    with Executor({"onlineshop": shop}, 1, limit_s=LIMIT_S, python=python, options=options) as executor:
        for sql, expected, why in ATTACKS:
            if expected not in (TIMEOUT, ROWS):     # those take time and do not depend on setlimit
                answer = executor.run("onlineshop", sql)
                allowed = (TIMEOUT, ERROR, ROWS) if expected == BOUNDED else (expected,)
                differing += [] if status(answer) in allowed else [(why, answer)]
                assert memory(executor) < 2 * MOST_MEMORY and not files_with_marker()
        after = executor.run("onlineshop", "SELECT count(*) FROM kunden")
    assert not differing
    assert isinstance(after, Rows) and after.rows == ((200,),)
