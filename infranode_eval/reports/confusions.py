"""Which tool was called where another was right: gold tool × called tool, for each run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from infranode_eval.reports.archive import UNKNOWN, Run
from infranode_eval.reports.db_routing_rows import SUITE as ROUTED
from infranode_eval.reports.plays import SUITE as PLAYED
from infranode_eval.reports.tasksets import TaskSet, set_of
from infranode_eval.tables import Column, Section, Table
from lm_eval_task.errors import DataError
from lm_eval_task.metrics import confusion
from lm_eval_task.tools import Toolset

_LAST = ("none", "unknown")


def confusion_of(run: Run, sets: Sequence[TaskSet], tools: Toolset) -> dict[str, dict[str, int]]:
    """Gold tool → called tool → rows; both in the order of the toolset, then "none" and "unknown".

    Raise DataError for a run without rows, with rows whose calls are not known, or of unknown tasks.
    """
    if run.suite == PLAYED:
        raise DataError(f"is a run of suite {PLAYED}: there a play is judged, not its first call", run.path)
    if run.suite == ROUTED:
        return _declared(run)
    known = set_of(run, sets)
    tasks = known.tasks if known else run.tasks
    if not run.rows or any(row.score.outcome == UNKNOWN for row in run.rows):
        raise DataError("does not tell which tools were called", run.path)
    if not all(row.task_id in tasks for row in run.rows):
        raise DataError("its tasks are not known; give them with --tasks", run.path)
    found = confusion(((tasks[row.task_id], row.score) for row in run.rows), tools)
    order = [*tools.by_name, *_LAST]
    gold = sorted(found, key=lambda name: order.index(name) if name in order else len(order))
    return {name: {called: found[name][called] for called in order if found[name][called]} for name in gold}


def _declared(run: Run) -> dict[str, dict[str, int]]:
    """Right database → declared one → answered rows of the suite db_routing; without a declaration "none"."""
    found = Counter((row.details["database"], row.details["declared"] or "none") for row in run.rows
                    if not row.score.failed)
    gold = sorted({row.details["database"] for row in run.rows})
    order = [*sorted({declared for _, declared in found} - {"none"}), "none"]
    return {name: {called: found[name, called] for called in order if found[name, called]} for name in gold}


def confusion_section(run: Run, matrix: dict[str, dict[str, int]], tools: Toolset) -> Section:
    if run.suite == ROUTED:
        return _declared_section(run, matrix)
    called = [name for name in (*tools.by_name, *_LAST) if any(name in row for row in matrix.values())]
    columns = (Column("gold tool"), *(Column(name, right=True) for name in called), Column("rows", right=True))
    rows = tuple((gold, *(str(row.get(name, "·")) for name in called), str(sum(row.values())))
                 for gold, row in matrix.items())
    failed = [f"left out, without an answer: {run.failed}"] if run.failed else []
    never = [name for name in tools.by_name if name not in called]
    notes = [f"the first call of each answered row; none: no readable call; unknown: a tool that was not offered; "
             f"called in no row: {', '.join(never) or 'no tool'}", *failed]
    return Section(f"{run.model} ({run.path}): gold tool × called tool", (Table("Calls", columns, rows, tuple(notes)),))


def _declared_section(run: Run, matrix: dict[str, dict[str, int]]) -> Section:
    every = sorted({name for row in matrix.values() for name in row} - {"none"})
    columns = (Column("right database"), *(Column(name, right=True) for name in (*every, "none", "rows")))
    rows = tuple((gold, *(str(row.get(name, "·")) for name in (*every, "none")), str(sum(row.values())))
                 for gold, row in matrix.items())
    notes = ("the database that each answered row declares; none: no declaration",)
    return Section(f"{run.model} ({run.path}): right database × declared one",
                   (Table("Declarations", columns, rows, notes),))


def confusion_lines(run: Run, matrix: dict[str, dict[str, int]]) -> list[dict[str, object]]:
    """Flat rows for programs: one per run, gold tool and called tool that occur together."""
    return [{"model": run.model, "path": run.path, "gold": gold, "called": called, "rows": rows}
            for gold, row in matrix.items() for called, rows in row.items()]
