"""The abstention set: questions that no call answers, questions that lack what a call needs, and their near twins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from infranode_eval.generator.verify import Source, Wanted
from infranode_eval.shipped import DATA
from lm_eval_task.errors import DataError
from lm_eval_task.records import Task, read_tasks

REFUSE = ("abroad", "city_outside", "no_such_data", "action")
ASK = ("city_missing", "type_missing")
CONTROL = "call_control"


@cache
def abstain_tasks() -> tuple[Task, ...]:
    """The rows of data/abstain.jsonl, unverified. Raise DataError for a row whose category and gold do not fit."""
    path = DATA / "abstain.jsonl"
    found = read_tasks(path)
    for task in found:
        wanted = "refuse" if task.category in REFUSE else "ask" if task.category in ASK else None
        if task.set != "abstain" or task.expect != wanted or bool(task.expected) != (task.category == CONTROL):
            raise DataError(f"task {task.task_id}: category {task.category!r}, expect {task.expect!r} and expected do "
                            "not fit together", path)
    return found


def confirmed(tasks: Sequence[Task], source: Source) -> tuple[list[Task], list[tuple[str, str]]]:
    """The tasks with what the source said: calls like any gold, absent cities by the registry; and what was dropped.

    Where a question has neither, no request could show anything, and the row claims no check.
    """
    kept: list[Task] = []
    dropped: list[tuple[str, str]] = []
    for task in tasks:
        verified, problem = _checked(task, source)
        if problem is not None:
            dropped.append((task.task_id, problem))
        else:
            kept.append(replace(task, extra={**task.extra, **({"verified": verified} if verified else {})}))
    return kept, dropped


def _checked(task: Task, source: Source) -> tuple[Any, str | None]:
    if task.expected:
        verdict = source.check(task, Wanted())
        if verdict.problem is None and verdict.useless:
            return None, f"accept: {next(iter(verdict.useless.values()))}"
        proofs = list(verdict.verified)
        return (proofs[0] if len(proofs) == 1 else proofs), verdict.problem
    return source.absence(str(task.extra["absent"])) if "absent" in task.extra else (None, None)
