"""The task file of the suite: rows read, checked, and held as tasks with their world, plan and expectation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from infranode_eval.chain.declaration import Derivation, Fault, Step, faults_from_json, steps_from_json
from infranode_eval.shipped import DATA
from lm_eval_task.errors import DataError, UsageError
from lm_eval_task.records import Task, calls_from_json, read_json_lines
from lm_eval_task.tools import Toolset, call_problem

CATEGORIES = ("lookup_then_call", "resolve_city", "aggregate", "filter_count", "join", "degraded", "not_covered",
              "wrong_turn", "stop", "injection")
SETS = ("full", "core", "control", "reseed")     # full: core and control, the default
_IN_SET = {"full": ("core", "control"), "core": ("core",), "control": ("control",), "reseed": ("reseed",)}
_OWN = ("task_id", "set", "category", "question", "expected")
_NEEDED = (*_OWN, "world", "max_turns", "plan", "derive", "expect")


@dataclass(frozen=True, slots=True)
class ChainTask(Task):
    """A question with the plan that answers it. `expected` are the calls of the plan; the rest of the row is `extra`.

    expect: {"answer", "must_call", "path", "must_not", "near_misses", "injection"} (specification: chain, section 4).
    """

    world: Mapping[str, Any] = field(default_factory=dict)
    steps: tuple[Step, ...] = ()
    derive: Derivation | None = None
    faults: tuple[Fault, ...] = ()
    expectation: Mapping[str, Any] = field(default_factory=dict)
    max_turns: int = 6

    @classmethod
    def from_row(cls, row: Any) -> ChainTask:
        """Raise DataError, without path and line, for a row that breaks the format."""
        if not isinstance(row, dict):
            raise DataError("a task is a JSON object")
        missing = [key for key in _NEEDED if key not in row]
        if missing:
            raise DataError(f'task {row.get("task_id")}: "{missing[0]}" is missing')
        where = f"task {row['task_id']}"
        if row["category"] not in CATEGORIES:
            raise DataError(f'{where}: "category" must be one of {", ".join(CATEGORIES)}, found {row["category"]!r}')
        if not isinstance(row["question"], str) or not row["question"].strip():
            raise DataError(f'{where}: "question" must be a non-empty string')
        if not isinstance(row["max_turns"], int) or row["max_turns"] < 1:
            raise DataError(f'{where}: "max_turns" must be a whole number from 1')
        _check_expectation(row["expect"], where)
        try:
            return cls(row["task_id"], row["question"], calls_from_json(row["expected"]), (), row["category"],
                       row["set"], None, {key: value for key, value in row.items() if key not in _OWN},
                       row["world"], steps_from_json(row["plan"]), Derivation.from_json(row["derive"]),
                       faults_from_json(row.get("faults", [])), row["expect"], row["max_turns"])
        except DataError as error:
            raise DataError(f"{where}: {error}") from None

    @property
    def pair(self) -> str | None:
        """The id of the twin, None without one."""
        return self.extra.get("pair")

    @property
    def template(self) -> str:
        """What the task was made from: tasks of one template hang together."""
        return self.extra.get("template", self.task_id)


def _check_expectation(expect: Any, where: str) -> None:
    if not isinstance(expect, dict) or not isinstance(expect.get("answer"), dict) or "must_call" not in expect:
        raise DataError(f'{where}: "expect" must be an object with "answer" and "must_call"')
    if expect["answer"].get("type") not in ("number", "time", "date", "string", "set", "none"):
        raise DataError(f'{where}: "expect.answer.type" must be number, time, date, string, set or none')


def shipped_path() -> Path:
    return DATA / "chain" / "tasks.jsonl"


def read_chain_tasks(path: str | Path | None, tools: Toolset, which: str = "full") -> tuple[ChainTask, ...]:
    """The tasks of a set in file order (without a path the project's own).

    A file in which no row belongs to the set is told, not empty. Raise DataError with file and line, or UsageError.
    """
    if which not in SETS:
        raise UsageError(f"suite chain has no set {which!r}; expected one of {', '.join(SETS)}")
    tasks = _shipped() if path is None else _read(Path(path))
    chosen = tuple(task for task in tasks if task.set in _IN_SET[which])
    if not chosen:
        raise DataError(f"holds no task of the set {which}", path or shipped_path())
    for task in chosen:
        for call in task.expected:
            if (problem := call_problem(tools, call)) and call.name not in tools:
                raise DataError(f"task {task.task_id}: gold {problem}", path or shipped_path())
    return chosen


@cache
def _shipped() -> tuple[ChainTask, ...]:
    return _read(shipped_path())


def _read(path: Path) -> tuple[ChainTask, ...]:
    tasks: dict[str, ChainTask] = {}
    for number, row in read_json_lines(path):
        try:
            task = ChainTask.from_row(row)
        except DataError as error:
            raise DataError(str(error), path, number) from None
        if task.task_id in tasks:
            raise DataError(f"task_id {task.task_id} stands twice", path, number)
        tasks[task.task_id] = task
    if not tasks:
        raise DataError("holds no task; expected one JSON object a line", path)
    return tuple(tasks.values())
