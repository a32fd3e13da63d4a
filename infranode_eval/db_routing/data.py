"""The rows of the panel's databases: made by seed, written to SQLite in a cache folder, checked by digest."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Any

from infranode_eval.db_routing.draw import Draw, Made, Row
from infranode_eval.db_routing.schema import KEY, TYPES, Schema, Table
from lm_eval_task.errors import DataError
from lm_eval_task.records import canonical_json

Maker = Callable[[Draw, Made], Iterable[Row]]
TableRows = dict[str, list[tuple[Any, ...]]]    # table → rows in the order of its columns
CACHE = "INFRANODE_EVAL_CACHE"              # environment variable: a folder instead of the user's cache


def shipped_makers(database: str) -> Mapping[str, Maker]:
    """The functions of makers/<database>.py by the name of the table that each of them fills."""
    return vars(import_module(f"infranode_eval.db_routing.makers.{database}"))


def make_rows(schema: Schema, makers: Mapping[str, Maker], seed: int) -> TableRows:
    """The rows of every table. Raise DataError for a table without a maker and for a row that breaks the schema."""
    made: dict[str, list[Row]] = {}
    for table in schema.tables:
        maker = makers.get(table.name)
        if maker is None and not table.empty:
            raise DataError(f"{schema.database}: no function makes the rows of {table.name}")
        made[table.name] = list(maker(Draw(schema.database, table.name, seed), made)) if maker else []
        _check_rows(schema.database, table, made)
    return {name: [tuple(row.values()) for row in rows] for name, rows in made.items()}


def _check_rows(database: str, table: Table, made: Made) -> None:
    """Keys are unique, types fit, NULL stands where it may, and what is referenced exists; columns get in order."""
    rows, where = made[table.name], f"{database}.{table.name}"
    names = [column.name for column in table.columns]
    keys = {c.name: {row[KEY] for row in made[str(c.references)]} for c in table.references()}
    for number, row in enumerate(rows, 1):
        if row.keys() != set(names):
            raise DataError(f"{where}, row {number}: columns {', '.join(row)}, expected {', '.join(names)}")
        for column in table.columns:
            value = row[column.name]
            fits = column.nullable if value is None else type(value) is TYPES[column.type]
            if not fits:
                raise DataError(f"{where}, row {number}: {column.name} is {value!r}, expected {column.type}")
            if value is not None and value not in keys.get(column.name, (value,)):
                raise DataError(f"{where}, row {number}: {column.name} is {value!r}, which {column.references} lacks")
    if len({row[KEY] for row in rows}) != len(rows):
        raise DataError(f"{where}: {KEY} is not unique")
    rows[:] = [{name: row[name] for name in names} for row in rows]


def fill(connection: sqlite3.Connection, schema: Schema, rows: TableRows, *, reverse: bool = False) -> None:
    """Create and fill all tables; reverse: rows in the opposite order, which a primary key would undo."""
    with connection:
        for table in schema.tables:
            connection.execute(table.ddl.replace("PRIMARY KEY", "NOT NULL UNIQUE") if reverse else table.ddl)
            marks = ", ".join("?" * len(table.columns))
            ordered = rows[table.name][::-1] if reverse else rows[table.name]
            connection.executemany(f"INSERT INTO {table.name} VALUES ({marks})", ordered)


def content_sha256(connection: sqlite3.Connection) -> str:
    """sha256 over name, columns and rows of every table; rows as JSON arrays, sorted by their JSON text."""
    tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall()
    content = []
    for (name,) in tables:
        cursor = connection.execute(f"SELECT * FROM {name}")
        columns = [column[0] for column in cursor.description]
        content.append([name, columns, sorted(json.dumps(row, ensure_ascii=False) for row in cursor)])
    return hashlib.sha256(canonical_json(content).encode()).hexdigest()


def cache_folder() -> Path:
    """Where databases are kept between runs: in $INFRANODE_EVAL_CACHE, else in the user's cache."""
    own, shared = os.environ.get(CACHE), os.environ.get("XDG_CACHE_HOME")
    root = Path(own) if own else Path(shared or Path.home() / ".cache") / "infranode-tool-eval"
    return root / "db_routing"


def database_file(schema: Schema, digest: str, rows: Callable[[], TableRows], folder: Path) -> Path:
    """The SQLite file with this content, built if the folder lacks it.

    Raise DataError, naming expected and found digest and the file, if its content is another.
    """
    path = folder / f"{schema.database}-{digest[:16]}.sqlite"
    if not path.exists():
        write_database(path, schema, rows())
    found = file_digest(path)
    if found != digest:
        raise DataError(f"the content has sha256 {found}, expected {digest}; delete the file to build it anew", path)
    return path


def write_database(path: Path, schema: Schema, rows: TableRows) -> None:
    """Written beside it first, so that nobody sees half a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    half = path.with_suffix(f".{os.getpid()}.part")
    half.unlink(missing_ok=True)
    with closing(sqlite3.connect(half)) as connection:
        fill(connection, schema, rows)
    half.replace(path)


def file_digest(path: Path) -> str:
    """content_sha256 of a SQLite file. Raise DataError if it is none."""
    try:
        with closing(sqlite3.connect(path)) as connection:
            return content_sha256(connection)
    except sqlite3.DatabaseError as error:
        raise DataError(f"is no readable database ({error}); delete the file to build it anew", path) from None


def row_count(rows: Mapping[str, Sequence[Any]]) -> int:
    return sum(map(len, rows.values()))


def in_memory(schema: Schema, rows: TableRows, *, reverse: bool = False) -> sqlite3.Connection:
    """The database as a connection of its own, in autocommit."""
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    connection.execute("BEGIN")
    fill(connection, schema, rows, reverse=reverse)
    return connection
