"""The connection on which a model's SQL runs: it reads one database, and can do nothing else.

Opening a file read-only is not enough: ATTACH and VACUUM INTO create files, and a PRAGMA undoes a PRAGMA. So the last
lock is an authorizer that allows what is on its lists. Source: specification, db_routing, section 6.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Set
from pathlib import Path

MOST_SQL_BYTES = 20_000
FUNCTIONS = frozenset((
    "count", "sum", "avg", "min", "max", "total", "group_concat", "strftime", "date", "time", "datetime", "julianday",
    "substr", "substring", "instr", "length", "trim", "ltrim", "rtrim", "lower", "upper", "replace", "abs", "round",
    "iif", "coalesce", "ifnull", "nullif", "like", "glob", "rank", "dense_rank", "row_number", "lag", "lead"))
_HEAP_BYTES = 64 * 2**20
_TEXT_BYTES = 100_000
_STEPS = 1_000              # of SQLite's machine between two looks at the clock
# Numbers from sqlite3.h; the module has names for them since Python 3.11 only.
_SELECT, _READ, _FUNCTION, _RECURSIVE = 21, 20, 31, 33
_LIMIT_LENGTH, _LIMIT_SQL_LENGTH, _LIMIT_ATTACHED = 0, 1, 7
CAN_LIMIT = hasattr(sqlite3.Connection, "setlimit")   # since Python 3.11


def open_guarded(path: Path, limit_s: float, can_limit: bool = CAN_LIMIT) -> sqlite3.Connection:
    """A connection for one query that ends by itself, with `interrupted`, after `limit_s` seconds.

    path: absolute; the file must not change while it is open. can_limit: False does without setlimit, as Python 3.10
    has to; the authorizer then holds ATTACH, and the heap limit holds the length of a text.
    """
    connection = sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True, isolation_level=None,
                                 cached_statements=0)
    try:
        _guard(connection, limit_s, can_limit)
    except BaseException:
        connection.close()
        raise
    return connection


def _guard(connection: sqlite3.Connection, limit_s: float, can_limit: bool) -> None:
    for setting in ("trusted_schema = 0", "query_only = 1", "temp_store = memory", f"hard_heap_limit = {_HEAP_BYTES}"):
        connection.execute(f"PRAGMA {setting}").close()
    tables = {name.lower() for (name,) in connection.execute(
        "SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")}
    modules = {name.lower() for (name,) in connection.execute("PRAGMA module_list")}
    if can_limit:
        connection.setlimit(_LIMIT_LENGTH, _TEXT_BYTES)
        connection.setlimit(_LIMIT_SQL_LENGTH, MOST_SQL_BYTES)
        connection.setlimit(_LIMIT_ATTACHED, 0)
    if hasattr(sqlite3, "SQLITE_DBCONFIG_DQS_DML"):   # Python 3.12; else as SQLite was built, which is the same
        connection.setconfig(sqlite3.SQLITE_DBCONFIG_DQS_DML, True)
    end = time.monotonic() + limit_s
    connection.set_progress_handler(lambda: time.monotonic() > end, _STEPS)
    connection.set_authorizer(authorizer(tables, modules))


def authorizer(tables: Set[str], modules: Set[str]) -> Callable[..., int]:
    """What SQLite asks before it compiles an action; an exception in it denies, too.

    tables: names of the database's tables and views, modules: of virtual tables that are there without being created;
    both in lower case. sqlite_* is refused, because it would show more of the schema than the tools do.
    """

    def decide(action: int, first: str | None, second: str | None, schema: str | None, source: str | None) -> int:
        if action in (_SELECT, _RECURSIVE):
            return sqlite3.SQLITE_OK
        if action == _FUNCTION:
            return sqlite3.SQLITE_OK if second.lower() in FUNCTIONS else sqlite3.SQLITE_DENY
        if action == _READ:
            return sqlite3.SQLITE_OK if may_read(first.lower(), second) else sqlite3.SQLITE_DENY
        return sqlite3.SQLITE_DENY

    def may_read(table: str, column: str) -> bool:
        if table.startswith(("sqlite_", "pragma_")):
            return False
        # Without a column SQLite also asks for a WITH table from which nothing is read, as in SELECT count(*).
        return table in tables or (column == "" and table not in modules)

    return decide
