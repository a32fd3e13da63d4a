"""Quarantine: rows whose gold no longer holds stay in the file, marked with day and reason, and leave every load.

Nothing else of a row changes, and no row comes back by itself. Both sides of a pair go together.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from infranode_eval.generator.drift import Drift
from infranode_eval.generator.output import counts, hashes
from lm_eval_task.dataset import Retirement, retirement_of, version_after
from lm_eval_task.records import Task


def retirements(tasks: Iterable[Task], drift: Drift) -> dict[str, Retirement]:
    """What to mark: every moved row, and the twin of each that still holds."""
    moved = {finding.task_id: Retirement(drift.day, finding.reason) for finding in drift.of("moved")}
    twins = {task.task_id: Retirement(drift.day, f"its twin {task.extra['pair']}: {moved[task.extra['pair']].reason}")
             for task in tasks if task.extra.get("pair") in moved and task.task_id not in moved
             and retirement_of(task) is None}
    return moved | twins


def retired_text(text: str, marks: Mapping[str, Retirement]) -> str:
    """The tasks file with its rows marked; every other line keeps its bytes."""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        row = json.loads(line) if line.strip() else {}
        mark = marks.get(row.get("task_id", ""))
        if mark is not None:
            lines[number] = json.dumps({**row, "retired": mark._asdict()}, ensure_ascii=False)
    return "\n".join(lines)


def retired_meta(meta: Mapping[str, Any], tasks: Sequence[Task]) -> dict[str, Any]:
    """The meta file of these tasks: version, counts and hashes over the rows in use, and how many are out of use.

    Leakage and readings stay those of the build.
    """
    out_of_use = Counter(task.set or "all" for task in tasks if retirement_of(task) is not None)
    version = version_after(str(meta.get("version", "")), tasks)
    return {**meta, "version": version, "counts": counts(tasks),
            "hashes": {**meta.get("hashes", {}), **hashes(tasks)}, "retired": dict(sorted(out_of_use.items()))}


def carried_over(tasks: Iterable[Task], old: Iterable[Task]) -> tuple[Task, ...]:
    """New rows with the marks of the old ones that ask the same: building a file anew revives nothing."""
    marks = {(t.task_id, t.question): t for t in old if retirement_of(t) is not None}
    found = []
    for task in tasks:
        marked = marks.get((task.task_id, task.question))
        same = marked is not None and marked.alternatives == task.alternatives
        found.append(replace(task, extra={**task.extra, "retired": marked.extra["retired"]}) if same and marked
                     else task)
    return tuple(found)
