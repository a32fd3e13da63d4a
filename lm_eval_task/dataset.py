"""The tasks of the main suite: read, checked against the tools, chosen by set."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lm_eval_task.errors import DataError, UsageError
from lm_eval_task.records import SETS, Task, read_tasks
from lm_eval_task.tools import Toolset, check_golds, data_file

CHOICES = (*SETS, "all")


def load_tasks(tools: Toolset, which: str = "core", path: str | Path | None = None) -> tuple[Task, ...]:
    """The tasks of one set ("all": every row, "full": core + extended), in file order.

    path: the project's tasks.jsonl without one. A file in which no row has a `set` runs whole, whatever `which` says.
    Raise DataError for a file that breaks the format or a gold outside the schema, UsageError for an unknown set.
    """
    path = data_file("tasks.jsonl") if path is None else path
    if which not in (*CHOICES, "full"):
        raise UsageError(f"set {which!r} does not exist; expected one of {', '.join(CHOICES)}")
    tasks = read_tasks(path)
    check_golds(tasks, tools, path)
    return choose(tasks, which, path)


def choose(tasks: Sequence[Task], which: str, path: object = None) -> tuple[Task, ...]:
    """The rows of a set; raise DataError if there is none."""
    if which == "all" or all(t.set is None for t in tasks):
        return tuple(tasks)
    wanted = ("core", "extended") if which == "full" else (which,)
    chosen = tuple(t for t in tasks if t.set in wanted)
    if not chosen:
        present = sorted({t.set for t in tasks if t.set})
        raise DataError(f"holds no task of set {which}; it has {', '.join(present)}", path)
    return chosen
