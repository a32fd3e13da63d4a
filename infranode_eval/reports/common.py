"""Runs over several versions of a set, restricted to the rows that all of them hold.

Pure. A row is common where id, question, gold and accepted answers are the same; every number is made anew from the
common rows, and each run says how many of its rows were left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from infranode_eval.reports.archive import Row, Run
from infranode_eval.reports.comparison import tasks_of
from infranode_eval.reports.db_routing_rows import SUITE as ROUTED
from infranode_eval.reports.figures import Summary, summarise
from infranode_eval.reports.plays import SUITE as PLAYED
from infranode_eval.reports.sections import group_of
from infranode_eval.reports.tasksets import TaskSet, asks_the_same, set_of
from infranode_eval.reports.team_rows import SUITE as TEAM
from lm_eval_task.errors import DataError
from lm_eval_task.metrics import aggregate
from lm_eval_task.records import Task, tasks_fingerprint
from lm_eval_task.tools import Toolset

_HANGING = {PLAYED: "world", ROUTED: "panel", TEAM: "workspace"}
_NAMES = ("core", "own tasks")      # what lies inside one of these sets is no sample of templates

Asked = tuple[Run, Mapping[str, Task], str]     # a run, the tasks that it was asked, the name of their set


def over_common_rows(runs: Iterable[Run], sets: Sequence[TaskSet], tools: Toolset,
                     only: str | None = None) -> tuple[list[Summary], list[str]]:
    """(the runs over their common rows, one line for each run that had to be left out).

    Restricted together are the runs of one suite, mode and set-up with equal tools, prompt, scorer and repeats; where
    those have no row in common, the runs over one set. only: the name of a set. Raise DataError where these have no row
    in common either, or where no run is over the set `only`.
    """
    families: dict[tuple[object, ...], list[Asked]] = {}
    left_out: list[str] = []
    for run in runs:
        summary = summarise(run, sets)
        if only and summary.dataset != only:
            continue
        try:
            asked = _asked(run, sets, summary)
        except DataError as error:
            left_out.append(str(error))
            continue
        group = group_of(summary)
        key = (group.suite, group.mode, group.setup, group.tools, group.prompt, group.scorer, group.repeats)
        families.setdefault(key, []).append(asked)
    if only and not families and not left_out:
        raise DataError(f"no result file holds a run over the set {only}")
    buckets = {key: bucket for known in sets for key, bucket in known.buckets.items()}
    return [summary for family in families.values() for summary in _restricted_family(family, buckets, tools)], left_out


def _asked(run: Run, sets: Sequence[TaskSet], summary: Summary) -> Asked:
    if run.suite in _HANGING:
        what = _HANGING[run.suite]
        raise DataError(f"is a run of suite {run.suite}, whose tasks hang on their {what}: name the versions apart",
                        run.path)
    if not run.rows:
        raise DataError("holds numbers only, no rows to choose from (lm_eval: --log_samples)", run.path)
    held = {row.task_id for row in run.rows}
    known = set_of(run, sets)
    return run, {key: task for key, task in tasks_of(run, sets).items() if key in held}, \
        known.name if known else summary.dataset or "unknown set"


def _restricted_family(family: Sequence[Asked], buckets: Mapping[str, str], tools: Toolset) -> list[Summary]:
    common = _common_tasks(family)
    if common:
        return _summaries(family, common, buckets, tools)
    by_name: dict[str, list[Asked]] = {}
    for asked in family:
        by_name.setdefault(asked[2], []).append(asked)
    found: list[Summary] = []
    for name, inside in by_name.items():
        common = _common_tasks(inside)
        if not common:
            paths = ", ".join(run.path for run, _, _ in inside)
            raise DataError(f"{paths}: these runs over the set {name} have no row in common; name fewer files")
        found += _summaries(inside, common, buckets, tools)
    return found


def _common_tasks(family: Sequence[Asked]) -> dict[str, Task]:
    """In the order of the first run."""
    first, others = family[0][1], [tasks for _, tasks, _ in family[1:]]
    return {key: task for key, task in first.items()
            if all(asks_the_same(task, tasks.get(key)) for tasks in others)}


def _summaries(family: Sequence[Asked], common: Mapping[str, Task], buckets: Mapping[str, str],
               tools: Toolset) -> list[Summary]:
    names = [name for _, _, name in family]
    name = next((n for n in _NAMES if n in names), names[0])
    known = TaskSet(name, tasks_fingerprint(common.values()), common, buckets=buckets)
    if all(len(tasks) == len(common) for _, tasks, _ in family):
        return [summarise(_restricted(run, known), (known,), tools) for run, _, _ in family]
    shown = f"{name}, common rows"
    return [replace(summarise(_restricted(run, known), (known,), tools), dataset=shown) for run, _, _ in family]


def _restricted(run: Run, known: TaskSet) -> Run:
    """The run over the tasks of a set, as if it had been asked no others."""
    rows = tuple(_as_in(known, row) for row in run.rows if row.task_id in known.tasks)
    pairs = [(row.category, row.score) for row in rows]
    failed = sum(row.score.failed for row in rows)
    gone = len(run.rows) - len(rows)
    note = (f"{gone} of its {len(run.rows)} rows are left out: not every run here holds them with the same question "
            "and gold",) if gone else ()
    return replace(
        run, rows=rows, n=len(rows), failed=failed, complete=run.complete or not failed, metrics=aggregate(pairs),
        answered=aggregate([pair for pair in pairs if not pair[1].failed]), tasks=dict(known.tasks),
        task_count=len(known.tasks), hashes={**run.hashes, "tasks": known.fingerprint}, notes=(*run.notes, *note))


def _as_in(known: TaskSet, row: Row) -> Row:
    """One category for all runs, should a version have moved the task to another."""
    category = known.tasks[row.task_id].category
    return row if row.category == category else replace(row, category=category)
