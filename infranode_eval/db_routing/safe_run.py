"""The databases of the panel as they are written, asked through the safe executor."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from infranode_eval.db_routing.bench import Result, Run
from infranode_eval.db_routing.data import write_database
from infranode_eval.db_routing.executor import Executor
from infranode_eval.db_routing.rows import SqlError
from infranode_eval.db_routing.sources import Sources

GOLD_LIMIT_S = 10.0


@contextmanager
def safe_run(sources: Sources, make: Callable[..., Executor] = Executor) -> Iterator[Run]:
    """A function that runs SQL on a database; files and workers are made on the first call and gone at the end."""
    with ExitStack() as stack:
        started: list[Executor] = []

        def run(database: str, sql: str) -> Result | str:
            if not started:
                folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
                files = {name: folder / f"{name}.sqlite" for name in sources.schemas}
                for name, path in files.items():
                    write_database(path, sources.schemas[name], sources.rows(name))
                started.append(stack.enter_context(make(files, 1, limit_s=GOLD_LIMIT_S)))
            found = started[0].run(database, sql, whole=True)
            return found.message if isinstance(found, SqlError) else list(found.rows)

        yield run
