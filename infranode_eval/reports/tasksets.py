"""The sets of tasks that results refer to by hash, and what a table needs to know about their tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from sys import intern

from infranode_eval.reports.archive import Run
from infranode_eval.reports.difficulty import buckets_beside
from lm_eval_task.dataset import choose, load_tasks
from lm_eval_task.errors import DataError
from lm_eval_task.records import Task, tasks_fingerprint
from lm_eval_task.tools import Toolset, data_file

NAMES = ("core", "extended", "full", "robust", "abstain", "all")


@dataclass(frozen=True, slots=True, eq=False)
class TaskSet:
    """A named set of tasks with its hash; `tasks` by id, in file order. Each set is equal to itself only.

    buckets: the difficulty of each task of the file by id, as far as it is known.
    """

    name: str
    fingerprint: str
    tasks: Mapping[str, Task]
    buckets: Mapping[str, str] = field(default_factory=dict)


def known_sets(tools: Toolset, path: str | Path | None = None) -> tuple[TaskSet, ...]:
    """Every set in a file of tasks (the project's own without a path), equal ones once, under the first name.

    Raise DataError as `load_tasks` does.
    """
    every = load_tasks(tools, "all", path)
    buckets = buckets_beside(data_file("tasks.jsonl") if path is None else path)
    found: dict[str, TaskSet] = {}
    for name in NAMES:
        try:
            tasks = choose(every, name, path)
        except DataError:
            continue        # the file has no such set
        if all(t.set is None for t in tasks):
            name = "own tasks"
        hash_ = tasks_fingerprint(tasks)
        found.setdefault(hash_, TaskSet(name, hash_, {t.task_id: t for t in tasks}, buckets=buckets))
    return tuple(found.values())


def set_of(run: Run, sets: Sequence[TaskSet]) -> TaskSet | None:
    """The set a run was asked: by hash; a shortened lm-eval run by its documents and the set's size."""
    tasks_hash = run.hashes.get("tasks")
    for candidate in sets:
        if tasks_hash is not None and tasks_hash == candidate.fingerprint:
            return candidate
        if tasks_hash is None and run.tasks and run.task_count == len(candidate.tasks) \
                and all(_same(task, candidate.tasks.get(key)) for key, task in run.tasks.items()):
            return candidate
    return None


def _same(one: Task, other: Task | None) -> bool:
    return other is not None and (one.question, one.alternatives) == (other.question, other.alternatives)


@lru_cache(maxsize=32)
def clusters_of(known: TaskSet) -> Mapping[str, str]:
    """The cluster of each task by id; empty where every task stands alone: in the core set and in a user's own."""
    if known.name in ("core", "own tasks"):
        return {}
    return {key: cluster_of(task) for key, task in known.tasks.items()}


def cluster_of(task: Task) -> str:
    """Rows of one template move together: key, type or tool × phrasing (specification: scoring, Aggregates).

    Equal names are one text in memory, since a report holds one for each task of each run.
    """
    phrasing = task.extra.get("phrasing")
    if not phrasing:
        base = task.extra.get("base")       # other wordings of one question are one template
        return base if isinstance(base, str) else task.task_id
    call = task.expected[0] if task.expected else None
    subject = "" if call is None else call.arguments.get("resource") or call.arguments.get("type") or call.name
    return intern(f"{subject} × {phrasing}")
