"""The databases of a panel as a play meets them: what their schemas say, and their answers to SQL."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from infranode_eval.db_routing.compare import SqlVerdict
from infranode_eval.db_routing.executor import Executor, workers_for
from infranode_eval.db_routing.finals import Golds, judged
from infranode_eval.db_routing.rows import Rows, SqlError
from lm_eval_task.errors import DataError, WorldNotReadyError

MOST_SCHEMA_CHARS = 4_000       # of a schema as a model sees it, mark included
CUT = "\n… gekürzt"
_MOST_THREADS = 256     # of a run: as many workers as there are cores


class Shown(NamedTuple):
    """What a model sees of a schema. truncated: the rest was cut off."""

    text: str
    truncated: bool


class World:
    """One for each panel of a process; any number of threads may ask. files: database → SQLite file."""

    def __init__(self, files: Mapping[str, Path]) -> None:
        self._files = dict(files)
        self._executor = Executor(files, workers_for(_MOST_THREADS))    # workers start when they are needed
        self._golds = Golds(self._executor)
        self._tables: dict[str, dict[str, str]] = {}
        self._lock = threading.Lock()

    def close(self) -> None:
        """End the workers. Twice does no harm."""
        self._executor.close()

    def table_names(self, database: str) -> Shown:
        """One name a line."""
        return shown("\n".join(self._described(database)))

    def table(self, database: str, name: str) -> Shown | None:
        """One column a line: name, type, key, reference. None for a table that is not there; case does not matter."""
        found = {table.casefold(): text for table, text in self._described(database).items()}
        text = found.get(name.strip().casefold())
        return None if text is None else shown(text)

    def run(self, database: str, sql: str) -> Rows | SqlError:
        """As Executor.run, cut as a model sees it."""
        return self._executor.run(database, sql)

    def verdict(self, declared: str | None, sql: object, database: str, gold_sql: str, ordered: bool) -> SqlVerdict:
        """On a final SQL in the declared database, against gold in the right one.

        Where the databases give no answer the verdict is none, as it is where gold does not run.
        """
        try:
            return judged(self._executor, self._golds, declared=declared, sql=sql, gold_database=database,
                          gold_sql=gold_sql, ordered=ordered)
        except WorldNotReadyError:
            return SqlVerdict(None, None, "world_not_ready")

    def _described(self, database: str) -> Mapping[str, str]:
        with self._lock:
            if database not in self._tables:
                self._tables[database] = dict(_tables_of(self._files[database]))
            return self._tables[database]


def _tables_of(path: Path) -> Iterator[tuple[str, str]]:
    """(table, its columns as text), in the order in which they were created."""
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
            names = [name for (name,) in connection.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' "
                "ORDER BY rowid")]
            for name in names:
                yield _plain(name), "\n".join(_columns_of(connection, name))
    except sqlite3.DatabaseError as error:
        raise DataError(f"is no readable database ({error})", path) from None


def _columns_of(connection: sqlite3.Connection, table: str) -> Iterator[str]:
    references = {column.casefold(): f"{target}({key})" if key else target for _, _, target, column, key, *_ in
                  connection.execute("SELECT * FROM pragma_foreign_key_list(?)", (table,))}
    for _, name, kind, _, _, key in connection.execute("SELECT * FROM pragma_table_info(?)", (table,)).fetchall():
        target = references.get(name.casefold())
        parts = (name, kind, "Schlüssel" if key else "", f"verweist auf {target}" if target else "")
        yield _plain(" ".join(filter(None, parts)))


def _plain(text: str) -> str:
    """On one line, and without what could close a fence."""
    return " ".join(text.split()).replace("`", "'")


def shown(text: str) -> Shown:
    """The text in a fence; what makes the whole longer than 4,000 characters is cut off, and said so."""
    whole = f"```\n{text}\n```"
    if len(whole) <= MOST_SCHEMA_CHARS:
        return Shown(whole, False)
    end = "\n```" + CUT
    return Shown(whole[:MOST_SCHEMA_CHARS - len(end)] + end, True)
