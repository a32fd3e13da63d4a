"""A small dataset with splits, and abstain rows: what the exports are tried on."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from infranode_eval.exports.material import Material, Order, read_material
from lm_eval_task.dataset import load_tasks
from lm_eval_task.records import Task
from lm_eval_task.tools import read_tools

ABSTAIN: tuple[dict[str, Any], ...] = (
    {"category": "abroad", "question": "Wie ist das Wetter gerade in Wien?", "expect": "refuse"},
    {"category": "city_outside", "question": "Wie viele Ladesäulen gibt es in Kleinmachnow?", "expect": "refuse"},
    {"category": "no_such_data", "question": "Wie hoch ist die Hundesteuer in Köln?", "expect": "refuse"},
    {"category": "action", "question": "Buch mir bitte ein Zimmer in Bonn.", "expect": "refuse",
     "answer": "Buchen kann ich nicht."},
    {"category": "city_missing", "question": "Wie ist die Luft gerade?", "expect": "ask"},
    {"category": "type_missing", "question": "Welche Orte gibt es in Ulm?", "expect": "ask"},
)


def abstain_tasks() -> tuple[Task, ...]:
    """Six rows on which no call is right, and one near twin on which one is."""
    rows = [Task.from_json({"task_id": f"abstain-{number}", "set": "abstain", "expected": [], **row})
            for number, row in enumerate(ABSTAIN)]
    control = {"task_id": "abstain-control", "set": "abstain", "category": "call_control",
               "question": "Wie ist das Wetter gerade in Köln?",
               "expected": [{"name": "weather", "arguments": {"slug": "koeln"}}]}
    return (*rows, Task.from_json(control))


def uncanned(task: Task) -> Task:
    """Without the canary, since the splits here are others than in the shipped file."""
    return replace(task, extra={key: value for key, value in task.extra.items() if key != "canary"})


def robust_task(base: Task) -> Task:
    """The row of variant "original": the base's question word for word."""
    row = {**base.to_json(), "task_id": f"robust-original-{base.task_id}", "set": "robust", "variant": "original",
           "base": base.task_id}
    return Task.from_json(row)


def _some_tasks() -> tuple[Task, ...]:
    every = load_tasks(read_tools(), "all")
    extended = [uncanned(task) for task in every if task.set == "extended"][::60]
    core = [task for task in every if task.set == "core"][::25]
    return (*core, *extended, robust_task(extended[0]), *ABSTAINING)


ABSTAINING = abstain_tasks()
# Four core rows, every sixtieth extended row, a robust row over the first of those, the abstain rows.
TASKS = _some_tasks()
# Of ten extended rows eight train, one is dev, one is test.
SPLITS = {task.task_id: {8: "dev", 9: "test"}.get(number % 10, "train")
          for number, task in enumerate(task for task in TASKS if task.set == "extended")}


def dataset(folder: Path) -> Path:
    """Write tasks.jsonl with its tasks.meta.json, and return the former."""
    folder.mkdir(exist_ok=True)
    lines = (json.dumps(task.to_json(), ensure_ascii=False) for task in TASKS)
    (folder / "tasks.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    measured = {"margin": -0.5, "neighbours": 3, "bucket": "hard"}
    meta = {"version": "core-2026-12", "tasks": {i: {"split": s, "difficulty": measured} for i, s in SPLITS.items()}}
    (folder / "tasks.meta.json").write_text(json.dumps(meta), "utf-8")
    return folder / "tasks.jsonl"


def maker(folder: Path) -> Callable[..., Material]:
    """make(form, **order): everything that an export over the small dataset gets, nothing chosen yet."""
    path = dataset(folder / "data")

    def make(form: str, **more: Any) -> Material:
        return read_material(Order(form, folder / "out", path, **more))

    return make
