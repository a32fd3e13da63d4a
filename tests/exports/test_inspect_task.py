"""The task file for inspect_ai: its own evaluation of scripted replies gives the verdicts of the scorer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from infranode_eval.exports import inspect_task
from infranode_eval.exports.material import Material
from lm_eval_task.metrics import score_reply
from lm_eval_task.prompt import messages
from lm_eval_task.records import MATCHES, Call, Reply, Task
from lm_eval_task.tools import Tool, read_tools
from tests.exports.trial_data import TASKS, maker
from tests.needs import need

ROOT = Path(__file__).resolve().parents[2]
TOOLS = read_tools()
Make = Callable[..., Material]


def offered(tool: Tool) -> dict[str, Any]:
    """As inspect sends a tool: one keyword more in every schema, no default that is null (docs/exports.md says so)."""
    properties = {name: {k: v for k, v in schema.items() if v is not None} for name, schema in tool.properties.items()}
    parameters = {**tool.parameters, "properties": properties, "additionalProperties": False}
    return {"type": "function", "function": {"name": tool.name, "description": tool.description,
                                             "parameters": parameters}}


@pytest.fixture
def material(tmp_path: Path) -> Make:
    return maker(tmp_path)


def test_the_core_set_is_the_default_and_another_can_be_named(material: Make) -> None:
    def ids(**more: str) -> set[str]:
        made = inspect_task.exported(material("inspect", **more))
        return {json.loads(line)["task_id"] for line in made.files["tasks.jsonl"].decode().splitlines()}

    assert ids() == {task.task_id for task in TASKS if task.set == "core"}
    assert ids(which="abstain") == {task.task_id for task in TASKS if task.set == "abstain"}


def scripted(tasks: list[Task], mode: str) -> dict[str, Any]:
    """By question a text, a list of [name, arguments] for tool calls, or null for arguments that cannot be parsed."""
    found: dict[str, Any] = {}
    for number, task in enumerate(tasks):
        wrong = [Call("weather", {"slug": "köln"})]
        calls = {0: list(task.expected), 1: wrong, 3: [*task.expected, *wrong]}.get(number % 5)
        if number % 5 == 4 and mode == "native":
            found[task.question] = None
        elif calls is None or not calls:
            found[task.question] = "Dafür passt kein Werkzeug."
        elif mode == "native":
            found[task.question] = [[call.name, dict(call.arguments)] for call in calls]
        else:
            found[task.question] = json.dumps([call.to_json() for call in calls])
    return found


def reply(given: Any) -> Reply:
    """The scripted reply as an endpoint would send it."""
    if isinstance(given, str):
        return Reply.from_text(given)
    entries = [["weather", "unreadable"]] if given is None else [[n, json.dumps(a)] for n, a in given]
    return Reply({"role": "assistant", "content": "", "tool_calls": [
        {"id": f"c{i}", "type": "function", "function": {"name": name, "arguments": text}}
        for i, (name, text) in enumerate(entries)]}, "tool_calls")


@pytest.mark.parametrize("mode", ["native", "prompt"])
def test_inspect_gives_the_verdicts_of_the_scorer(material: Make, tmp_path: Path, mode: str) -> None:
    need("inspect_ai")
    made = inspect_task.exported(material("inspect", which="all"))
    for name, content in made.files.items():
        (tmp_path / name).write_bytes(content)
    script = scripted(list(made.material.tasks), mode)
    (tmp_path / "script.json").write_text(json.dumps({"mode": mode, "replies": script}), "utf-8")
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("scripted_inspect.py")), str(tmp_path)], capture_output=True,
        text=True, timeout=300, cwd=tmp_path, env=os.environ | {
            "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1", "INSPECT_LOG_DIR": str(tmp_path / "logs")})
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    told = json.loads(done.stdout.splitlines()[-1])
    rows, outcomes = {row["id"]: row for row in told["rows"]}, set()
    assert len(rows) == len(made.material.tasks)
    for task in made.material.tasks:
        row = rows[task.task_id]
        score = score_reply(task, reply(script[task.question]), TOOLS, mode)
        outcomes.add(score.outcome)
        assert row["value"] == {name: float(bool(getattr(score, name))) for name in MATCHES}, task.task_id
        assert row["outcome"] == score.outcome
        assert row["input"] == messages(mode, TOOLS, task.question)
        assert row["tools"] == ([offered(tool) for tool in TOOLS.tools] if mode == "native" else [])
    assert {"ok", "abstain_ok", "wrong_tool", "extra_calls", "no_call"} <= outcomes
    right = [row["value"]["call_match"] for row in told["rows"]]
    assert told["mean"] == pytest.approx(sum(right) / len(right))
