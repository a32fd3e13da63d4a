"""What an export is made of: the tasks that were asked for, with their splits, and the tools.

Training exports take nothing that measures: core, robust, test, and every question that stands among those.
Contract of the splits: tasks.meta.json, {"tasks": {task_id: {"split": "train"|"dev"|"test"}}}.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from infranode_eval.generator.output import meta_path
from infranode_eval.reports.archive import read_json
from lm_eval_task.dataset import choose, load_tasks
from lm_eval_task.errors import DataError, UsageError
from lm_eval_task.records import Task
from lm_eval_task.tools import Toolset, data_file, read_tools

SPLITS = ("train", "dev", "test")
LEARNABLE = ("train", "dev")
_MEASURES = ("core", "robust")      # sets that never train, whatever their rows' split
ALLOW = "--allow-contamination"


@dataclass(frozen=True, slots=True)
class Order:
    """What the command line asks for. split, which, mode: None takes the format's default.

    results: files with stored replies. contaminate: let rows that measure into a training export.
    """

    form: str
    out: Path
    tasks: Path | None = None
    split: str | None = None
    which: str | None = None
    mode: str | None = None
    results: tuple[str, ...] = ()
    force: bool = False
    contaminate: bool = False


@dataclass(frozen=True, slots=True)
class Material:
    """The chosen tasks in file order. meta: the whole of tasks.meta.json. notes: what was left out, for people."""

    tasks: tuple[Task, ...]
    tools: Toolset
    meta: Mapping[str, Any] = field(default_factory=dict)
    order: Order = field(default_factory=lambda: Order("", Path()))
    notes: tuple[str, ...] = ()

    def split_of(self, task: Task) -> str | None:
        return split_of(self.meta, task.task_id)

    def in_split(self, split: str) -> tuple[Task, ...]:
        return tuple(task for task in self.tasks if self.split_of(task) == split)


@dataclass(frozen=True, slots=True)
class Exported:
    """The files of an export by their path in the folder; notes: what people should know, a line each."""

    files: Mapping[str, bytes]
    material: Material
    notes: tuple[str, ...] = ()


def split_of(meta: Mapping[str, Any], task_id: str) -> str | None:
    """train, dev, test, or None for a task without one."""
    return meta.get("tasks", {}).get(task_id, {}).get("split")


def read_material(order: Order) -> Material:
    """Every row of the file, nothing chosen yet. Raise DataError for a broken file or a split that does not exist."""
    path = order.tasks or data_file("tasks.jsonl")
    tools = read_tools()
    tasks = load_tasks(tools, "all", path)
    beside = meta_path(Path(path))
    meta = read_json(beside) if beside.is_file() else {}
    _check_splits(meta, beside)
    return Material(tasks, tools, meta, order)


def _check_splits(meta: Any, path: Path) -> None:
    rows = meta.get("tasks", {}) if isinstance(meta, dict) else None
    if not isinstance(rows, dict) or not all(isinstance(row, dict) for row in rows.values()):
        raise DataError('"tasks" must be {task_id: {"split": …}}', path)
    for task_id, row in rows.items():
        if row.get("split") not in (None, *SPLITS):
            raise DataError(f'task {task_id}: "split" must be one of {", ".join(SPLITS)}, found {row["split"]!r}', path)


# --- for measuring ----------------------------------------------------------------------------------------------------

def for_measuring(material: Material, which: str = "all") -> Material:
    """The rows of a set (and of a split, where the order names one). Raise DataError if there is none."""
    order = material.order
    tasks = choose(material.tasks, order.which or which, order.tasks)
    if order.split not in (None, "all"):
        tasks = tuple(task for task in tasks if material.split_of(task) == order.split)
    return _with(material, tasks)


# --- for training -----------------------------------------------------------------------------------------------------

def for_training(material: Material, splits: Sequence[str] = ("train",)) -> Material:
    """The rows of the splits that a model may learn from.

    splits: what the format takes where the order names no split. A question that a measuring row asks word for word
    is left out and counted. Raise UsageError for sets or splits that measure, DataError if no row is left.
    """
    order = material.order
    wanted = (order.split,) if order.split else tuple(splits)
    if order.contaminate:
        tasks = choose(material.tasks, order.which or "all", order.tasks)
        tasks = tasks if wanted == ("all",) else tuple(t for t in tasks if material.split_of(t) in wanted)
        return _with(material, tasks, f"{len(tasks)} rows, chosen with {ALLOW}: a model trained on them cannot be "
                                      "measured with this benchmark any more")
    _refuse_measuring(order, wanted)
    marked = [task for task in material.tasks if material.split_of(task) in wanted]
    _check_marked(marked, material)
    if order.which:
        marked = [task for task in marked if task.set in _sets(order.which)]
    asked = {task.question for task in material.tasks if material.split_of(task) not in LEARNABLE}
    tasks = tuple(task for task in marked if task.question not in asked)
    note = (f"{len(marked) - len(tasks)} left out: a row that measures asks the same question",)
    return _with(material, tasks, *(note if len(tasks) < len(marked) else ()))


def _sets(which: str) -> tuple[str, ...]:
    return ("core", "extended") if which == "full" else (which,) if which != "all" else ("extended", "abstain")


def _refuse_measuring(order: Order, wanted: Iterable[str]) -> None:
    refused = [f"--split {split}" for split in wanted if split not in LEARNABLE]
    refused += [f"--set {order.which}"] if order.which in (*_MEASURES, "full") else []
    if refused:
        raise UsageError(f"--export {order.form} is for training and takes the splits {', '.join(LEARNABLE)}; "
                         f"{refused[0]} would put what measures into it (--split all {ALLOW} does so all the same)")


def _check_marked(marked: Iterable[Task], material: Material) -> None:
    """No split of the meta file makes a row learnable that says of itself that it is not."""
    for task in marked:
        split, reason = material.split_of(task), None
        if task.set in _MEASURES:
            reason = f"is of set {task.set}, which only measures"
        elif split == "train" and "canary" in task.extra:
            reason = "carries a canary against training"
        if reason is not None:
            raise DataError(f"task {task.task_id} {reason}, but its split is {split}; mend the file's .meta.json, or "
                            f"add {ALLOW}", material.order.tasks)


def _with(material: Material, tasks: Sequence[Task], *notes: str) -> Material:
    if not tasks:
        raise DataError(_nothing_left(material), material.order.tasks)
    return replace(material, tasks=tuple(tasks), notes=(*material.notes, *notes))


def _nothing_left(material: Material) -> str:
    order = material.order
    asked = " ".join(f"{flag} {value}" for flag, value in (("--set", order.which), ("--split", order.split)) if value)
    known = sorted({split for task in material.tasks if (split := material.split_of(task))})
    return (f"holds no task for --export {order.form} {asked or '(split train)'}; "
            + (f"its splits are {', '.join(known)}" if known else "the file beside it (.meta.json) names no split"))
