"""What runs in a worker process: it locks itself in, then answers queries, one JSON line each.

Request: {"path": str, "sql": str, "most_rows": int, "whole": bool, "limit_s": float}. Answer: {"columns", "rows",
"rows_truncated", "cells_truncated", "literals", "ms"} or {"error": class of the exception, "message", "ms"}.
First line: {"ready": true, "setlimit": bool}. Source of the limits: specification, db_routing, section 6.
"""

from __future__ import annotations

import json
import math
import resource
import sqlite3
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from infranode_eval.db_routing.sqlguard import CAN_LIMIT, open_guarded
from infranode_eval.db_routing.statement import quoted_values

MOST_CELL = 500             # characters of a cell that a model sees, mark included
MOST_CHARS = 8_000          # of all cells that a model sees: what is beyond is cut anyway
MOST_WHOLE = 20_000_000     # characters of a whole answer, the rest is too large
_LIMITS = {"RLIMIT_AS": 512 * 2**20, "RLIMIT_FSIZE": 0, "RLIMIT_NOFILE": 32, "RLIMIT_CORE": 0}
_CPU_S = 12_000             # 1,000 queries of the longest limit, 10 s, with a margin


class TooLargeError(Exception):
    """A whole answer has more rows or characters than may be compared."""


def main(*options: str) -> None:
    """Answer until the other side hangs up. The option "without-setlimit" does as Python 3.10 has to."""
    can_limit = CAN_LIMIT and "without-setlimit" not in options
    lock_in()
    with suppress(BrokenPipeError):   # the asking process was killed
        _write({"ready": True, "setlimit": can_limit})
        for line in sys.stdin.buffer:
            _write(answer_to(json.loads(line), can_limit))


def lock_in() -> None:
    """Set the limits of this process, for good. Raise OSError or ValueError if one does not hold."""
    for name, value in _LIMITS.items():
        try:
            _lower(getattr(resource, name), value)
        except (OSError, ValueError):
            if sys.platform != "darwin" or name != "RLIMIT_AS":   # macOS does not limit address space
                raise
    _lower(resource.RLIMIT_CPU, _CPU_S)


def _lower(kind: int, value: int) -> None:
    hard = resource.getrlimit(kind)[1]
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(kind, (value, value))


def allow_cpu(limit_s: float) -> None:
    """Let the system end this process a little after its next query should have ended, whatever it does then."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CPU, (min(hard, int(usage.ru_utime + usage.ru_stime + limit_s) + 2), hard))


def answer_to(request: dict[str, Any], can_limit: bool = CAN_LIMIT) -> dict[str, Any]:
    """Run one query on a fresh connection. Everything that goes wrong is an answer: the pool decides what it means."""
    begin = time.perf_counter()
    try:
        allow_cpu(request["limit_s"])
        answer = _run(request, can_limit)
    except MemoryError:
        answer = {"error": "MemoryError", "message": "out of memory"}
    except Exception as error:   # the border of the process
        answer = {"error": type(error).__name__, "message": str(error)}
    return {**answer, "ms": round((time.perf_counter() - begin) * 1000, 3)}


def _run(request: dict[str, Any], can_limit: bool) -> dict[str, Any]:
    sql, whole = request["sql"], request["whole"]
    connection = open_guarded(Path(request["path"]), request["limit_s"], can_limit)
    try:
        connection.text_factory = _text if whole else _short_text
        cursor = connection.execute(sql)
        columns = [name for name, *_ in cursor.description or ()]
        read = _whole_rows if whole else _shown_rows
        answer = {"columns": columns, **read(cursor, request["most_rows"])}
    finally:
        connection.close()
    return {**answer, "literals": _literals(request["path"], sql) if '"' in sql else []}


def _whole_rows(cursor: Iterable[tuple[Any, ...]], most_rows: int) -> dict[str, Any]:
    rows, size = [], 0
    for row in cursor:
        rows.append([_cell(value) for value in row])
        size += sum(len(value) if isinstance(value, (str, bytes)) else 16 for value in row)
        if len(rows) > most_rows or size > MOST_WHOLE:
            raise TooLargeError(most_rows)
    return {"rows": rows, "rows_truncated": False, "cells_truncated": False}


def _shown_rows(cursor: Iterable[tuple[Any, ...]], most_rows: int) -> dict[str, Any]:
    """One row more than is shown is read, to know whether there is one; and none after the room is full."""
    rows, size, cut = [], 0, False
    for row in islice(cursor, most_rows + 1):
        if len(rows) == most_rows:
            return {"rows": rows, "rows_truncated": True, "cells_truncated": cut}
        cells = [_cell(value) for value in row]
        rows.append([_short(value) for value in cells])
        cut = cut or rows[-1] != cells
        size += sum(len(value) if isinstance(value, str) else 1 for value in rows[-1])
        if size > MOST_CHARS:
            break
    return {"rows": rows, "rows_truncated": False, "cells_truncated": cut}


def _cell(value: Any) -> Any:
    if isinstance(value, bytes):
        return f"x'{value.hex()}'"
    if isinstance(value, float) and math.isinf(value):
        return "Inf" if value > 0 else "-Inf"
    return value


def _short(value: Any) -> Any:
    return value[:MOST_CELL - 1] + "…" if isinstance(value, str) and len(value) > MOST_CELL else value


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _short_text(raw: bytes) -> str:
    """Enough of a text to see that it is too long: a character has four bytes at most."""
    return raw[:4 * (MOST_CELL + 1)].decode("utf-8", "replace")


def _literals(path: str, sql: str) -> list[str]:
    """Double-quoted names in the query that the database does not know."""
    connection = sqlite3.connect(f"{Path(path).as_uri()}?mode=ro&immutable=1", uri=True)
    try:
        connection.text_factory = _text
        known = {name.lower() for pair in connection.execute(
            "SELECT t.name, c.name FROM sqlite_master AS t, pragma_table_xinfo(t.name) AS c") for name in pair}
    finally:
        connection.close()
    return [name for name in quoted_values(sql) if name.lower() not in known]


def _write(answer: dict[str, Any]) -> None:
    sys.stdout.buffer.write(json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
    sys.stdout.buffer.flush()
