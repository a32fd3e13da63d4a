"""The tasks of the main suite: read, checked against the tools, chosen by set."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from lm_eval_task.errors import DataError, UsageError
from lm_eval_task.records import SETS, Task, read_tasks
from lm_eval_task.tools import Toolset, check_golds, data_file

CHOICES = (*SETS, "all")


_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


class Retirement(NamedTuple):
    """Why a row is out of use: the ISO day on which its gold no longer held, and what the API answered."""

    date: str
    reason: str


def load_tasks(tools: Toolset, which: str = "core", path: str | Path | None = None, *,
               retired: bool = False) -> tuple[Task, ...]:
    """The tasks of one set ("all": every row, "full": core + extended), in file order, without the retired ones.

    path: the project's tasks.jsonl without one. A file in which no row has a `set` runs whole, whatever `which` says.
    retired: with the retired rows, whose golds are not checked, since the tools may have moved on.
    Raise DataError for a file that breaks the format or a gold outside the schema, UsageError for an unknown set.
    """
    path = data_file("tasks.jsonl") if path is None else path
    if which not in (*CHOICES, "full"):
        raise UsageError(f"set {which!r} does not exist; expected one of {', '.join(CHOICES)}")
    every = read_tasks(path)
    tasks = tuple(task for task in every if retirement_of(task, path) is None)
    check_golds(tasks, tools, path)
    if not tasks:
        raise DataError("holds no task that is in use; all are retired", path)
    return choose(every if retired else tasks, which, path)


def retirement_of(task: Task, path: object = None) -> Retirement | None:
    """None for a row in use. Raise DataError for a `retired` that is not {"date": "YYYY-MM-DD", "reason": text}."""
    found = task.extra.get("retired")
    if found is None:
        return None
    date, reason = (found.get("date"), found.get("reason")) if isinstance(found, dict) else (None, None)
    if not isinstance(date, str) or not _DAY.fullmatch(date) or not isinstance(reason, str) or not reason:
        raise DataError(f'task {task.task_id}: "retired" must be {{"date": "YYYY-MM-DD", "reason": text}}', path)
    return Retirement(date, reason)


_MARK = "+r"     # core-2026-12+r3-2026-12-05: three core rows are retired, the last on that day


def version_after(version: str, tasks: Iterable[Task]) -> str:
    """The version of a set whose core rows are retired as `tasks` says: "core-2026-12" → "core-2026-12+r3-2026-12-05".

    Equal retirements give equal names, whatever the name was before.
    """
    found = [mark for task in tasks if task.set == "core" and (mark := retirement_of(task)) is not None]
    base = version.partition(_MARK)[0]
    return f"{base}{_MARK}{len(found)}-{max(mark.date for mark in found)}" if found else base


def in_use(tasks: Sequence[Task]) -> tuple[Task, ...]:
    """The tasks that are not retired."""
    return tuple(task for task in tasks if retirement_of(task) is None)


def retired_in(which: str, path: str | Path | None = None) -> int:
    """How many rows of a set are left out of every load. Raise DataError as `load_tasks` does."""
    path = data_file("tasks.jsonl") if path is None else path
    chosen = choose(read_tasks(path), which, path)
    return len(chosen) - len(in_use(chosen))


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
