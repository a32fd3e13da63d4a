"""The tasks of the suite: the questions of a panel in the order of a run, each with the panel that it belongs to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from infranode_eval.db_routing.buckets import Buckets, buckets
from infranode_eval.db_routing.jury import VOTES, jury_of
from infranode_eval.db_routing.panel import FOLDER, MANIFEST, QUESTIONS, Panel, load_panel
from infranode_eval.db_routing.textfiles import read_json
from lm_eval_task.errors import DataError, UsageError
from lm_eval_task.records import Task, calls_from_json, fingerprint

SETS = ("core",)
_OWN = ("task_id", "set", "category", "question", "expected")
_NEEDED = (*_OWN, "database", "cluster", "gold_sql", "gold_ordered", "hardness")


@dataclass(frozen=True, slots=True)
class RoutingTask(Task):
    """A question with the database that answers it. `expected` names that one, and is never sent; the rest is `extra`.

    bucket: how hard it is (buckets.py). paraphrase: None where none passes the gates.
    """

    panel: Panel = field(kw_only=True, compare=False, repr=False)
    database: str = ""
    cluster: str | None = None
    gold_sql: str = ""
    gold_ordered: bool = False
    bucket: str = ""
    paraphrase: str | None = None

    @property
    def alias(self) -> str:
        """What the right database is called before a model."""
        return self.panel.databases[self.database].alias


def read_routing_tasks(path: str | Path | None, which: str = "core") -> tuple[RoutingTask, ...]:
    """The questions in the order of a run. path: the folder of a panel, or a file in it; None: the project's own.

    Raise DataError, naming expected, found and the file, if a hash does not hold; UsageError for another set.
    """
    if which not in SETS:
        raise UsageError(f"suite db_routing has no set {which!r}; expected {', '.join(SETS)}")
    folder = folder_of(path)
    panel = load_panel(folder)
    return tasks_of(panel, folder / QUESTIONS, jury_of(panel, folder / VOTES).votes)


def folder_of(path: str | Path | None) -> Path:
    """The folder of a panel. Raise DataError if there is none."""
    folder = FOLDER if path is None else Path(path)
    if folder.is_file():
        folder = folder.parent
    if not (folder / MANIFEST).is_file():
        raise DataError(f"is not the folder of a panel: {MANIFEST} is missing", folder)
    return folder.resolve()


def aliases_in(path: str | Path | None) -> tuple[str, ...]:
    """The aliases of a panel, sorted, without loading it."""
    folder = folder_of(path)
    aliases = read_json(folder / MANIFEST).get("aliases")
    if not isinstance(aliases, dict) or len(aliases) < 2:
        raise DataError('"aliases" must name two databases at least', folder / MANIFEST)
    return tuple(sorted(aliases))


def tasks_of(panel: Panel, path: Path | None = None, votes: Mapping[str, int] | None = None) -> tuple[RoutingTask, ...]:
    """The questions of a panel in the order of a run.

    votes: of a jury, by task_id; None unless complete. path: of the questions, for messages. Raise DataError.
    """
    rows = {row.get("task_id"): _checked(row, panel, path) for row in panel.questions}
    if len(rows) != len(panel.questions):
        raise DataError("a task_id stands twice", path)
    graded = buckets_of(panel, votes)
    return tuple(_task(rows[task_id], panel, graded.of[task_id]) for task_id in panel.order)


def buckets_of(panel: Panel, votes: Mapping[str, int] | None = None) -> Buckets:
    """How hard each question is, by the neighbours that are stored with it, and by a jury where all votes are in."""
    foreign = {row["task_id"]: row["hardness"]["foreign"] for row in panel.questions}
    return buckets(foreign, votes, panel.manifest["hardness"]["threshold"])


def _checked(row: Any, panel: Panel, path: Path | None) -> Mapping[str, Any]:
    missing = [key for key in _NEEDED if key not in row]
    if missing:
        raise DataError(f'task {row.get("task_id")}: "{missing[0]}" is missing', path)
    if row["database"] not in panel.databases:
        raise DataError(f'task {row["task_id"]}: there is no database "{row["database"]}"', path)
    return row


def _task(row: Mapping[str, Any], panel: Panel, bucket: str) -> RoutingTask:
    return RoutingTask(
        row["task_id"], row["question"], calls_from_json(row["expected"]), (), row["category"], row["set"], None,
        {key: value for key, value in row.items() if key not in _OWN}, panel=panel, database=row["database"],
        cluster=row["cluster"], gold_sql=row["gold_sql"], gold_ordered=row["gold_ordered"], bucket=bucket,
        paraphrase=row.get("paraphrase"))


def questions_fingerprint(tasks: tuple[RoutingTask, ...]) -> str:
    """Hash of what is asked and what is right: [task_id, question, database, gold_sql] of each, sorted by id."""
    return fingerprint([[task.task_id, task.question, task.database, task.gold_sql]
                        for task in sorted(tasks, key=lambda task: task.task_id)])
