"""The environment package: what it holds, and that the `verifiers` library plays it as the benchmark scores it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from infranode_eval.exports import environment
from infranode_eval.exports.material import Exported, Material
from infranode_eval.exports.rewards import exact, shaped
from lm_eval_task.metrics import score_reply
from lm_eval_task.prompt import messages
from lm_eval_task.records import Call, Reply, Task
from lm_eval_task.tools import read_tools
from tests.exports.trial_data import SPLITS, TASKS, maker
from tests.needs import need

ROOT = Path(__file__).resolve().parents[2]
TOOLS = read_tools()
Make = Callable[..., Material]


@pytest.fixture
def material(tmp_path: Path) -> Make:
    return maker(tmp_path)


def lay(made: Exported, folder: Path) -> Path:
    for name, content in made.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def test_the_package_holds_train_and_dev_and_nothing_that_measures(material: Make) -> None:
    made = environment.exported(material("verifiers"))
    for split in ("train", "dev"):
        rows = [json.loads(line) for line in made.files[f"infranode_tools_de/{split}.jsonl"].decode().splitlines()]
        assert rows and {SPLITS[row["task_id"]] for row in rows} == {split}
    assert set(made.files) == {"pyproject.toml", "README.md", *(f"infranode_tools_de/{name}" for name in (
        "__init__.py", "tools.json", "train.jsonl", "dev.jsonl"))}


def test_one_split_alone_is_what_is_learned_from(material: Make) -> None:
    made = environment.exported(material("verifiers", split="dev"))
    assert "infranode_tools_de/dev.jsonl" not in made.files
    assert made.notes == ("3 rows to learn from, 0 to evaluate on",)


def test_what_the_flag_lets_in_is_learned_from_and_dev_stays_for_evaluation(material: Make) -> None:
    made = environment.exported(material("verifiers", split="all", contaminate=True))
    dev = sum(split == "dev" for split in SPLITS.values())
    assert made.notes == (f"{len(TASKS) - dev} rows to learn from, {dev} to evaluate on",)


def test_the_project_file_asks_for_the_versions_of_the_extra(material: Make) -> None:
    tomllib = pytest.importorskip("tomllib")
    project = tomllib.loads(environment.exported(material("verifiers")).files["pyproject.toml"].decode())
    ours = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert project["project"]["name"] == "infranode-tools-de"
    assert project["project"]["version"] == ours["project"]["version"]
    wanted, = (one for one in project["project"]["dependencies"] if one.startswith("verifiers"))
    assert any(one.startswith(wanted) for one in ours["project"]["optional-dependencies"]["rl"])


# --- played by the library, in a process of its own: it installs signal handlers --------------------------------------

@pytest.fixture
def play(material: Make, tmp_path: Path) -> Callable[..., list[dict[str, Any]]]:
    """play(script, **arguments of load_environment): rollouts of the training rows that the script has replies to.

    evaluate: the library's own evaluation instead, over all rows of the split dev.
    """
    need("verifiers")
    package = lay(environment.exported(material("verifiers")), tmp_path / "package")

    def run(script: dict[str, list[dict[str, Any]]], evaluate: bool = False, **arguments: Any) -> list[dict[str, Any]]:
        told = {"replies": script, "evaluate": evaluate, "arguments": arguments}
        (tmp_path / "script.json").write_text(json.dumps(told), "utf-8")
        done = subprocess.run(
            [sys.executable, str(Path(__file__).with_name("scripted_rollouts.py")), str(tmp_path / "script.json")],
            capture_output=True, text=True, timeout=300, cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": f"{package}{os.pathsep}{ROOT}", "HF_HUB_OFFLINE": "1",
                              "HF_HOME": str(tmp_path / "hf")})
        assert done.returncode == 0, done.stderr[-3000:]
        assert "Error calling reward function" not in done.stderr + done.stdout
        return json.loads(done.stdout.splitlines()[-1])

    return run


def rows_of(made: Material, split: str = "train") -> list[Task]:
    lines = environment.exported(made).files[f"infranode_tools_de/{split}.jsonl"].decode().splitlines()
    return [Task.from_json(json.loads(line)) for line in lines]


def native(*calls: Call) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": [
        {"id": f"c{i}", "type": "function", "function": {"name": c.name, "arguments": json.dumps(dict(c.arguments))}}
        for i, c in enumerate(calls)]}


def said(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def replies_of_every_kind(tasks: list[Task], mode: str) -> dict[str, list[dict[str, Any]]]:
    """By question: the gold, a wrong argument, a wrong tool, silence, something broken, in turn."""
    def reply(number: int, task: Task) -> dict[str, Any]:
        first = task.expected[0]
        calls = {0: task.expected, 1: (Call(first.name, {**first.arguments, "slug": "köln"}), *task.expected[1:]),
                 2: (Call("list_cities"),)}.get(number % 5)
        if calls is None:
            return said("Das weiß ich nicht." if number % 5 == 3 else '{"name": "weather", "arguments": {"slug": ')
        return native(*calls) if mode == "native" else said(json.dumps([c.to_json() for c in calls]))

    return {task.question: [reply(number, task)] for number, task in enumerate(tasks)}


@pytest.mark.parametrize("mode", ["native", "prompt"])
def test_rewards_are_those_of_the_scorer(play: Callable[..., Any], material: Make, mode: str) -> None:
    tasks = rows_of(material("verifiers"))
    script = replies_of_every_kind(tasks, mode)
    rows = play(script, mode=mode, reward="shaped")
    assert [row["question"] for row in rows] == [task.question for task in tasks]
    seen = set()
    for row, task in zip(rows, tasks, strict=True):
        (message,) = script[task.question]
        score = score_reply(task, Reply(message, "tool_calls" if message.get("tool_calls") else "stop"), TOOLS, mode)
        seen.add(score.outcome)
        assert row["reward"] == pytest.approx(shaped(task, score, TOOLS)), (task.task_id, score)
        assert row["metrics"]["exact"] == exact(task, score, TOOLS)
        assert row["metrics"]["tool_match"] == float(bool(score.tool_match))
        assert row["turns"] == 1, "the reply arrived"
        assert row["prompt"] == messages(mode, TOOLS, task.question)
        assert row["tools"] == (12 if mode == "native" else 0)
    assert {"ok", "wrong_tool", "no_call"} <= seen


@pytest.mark.parametrize("mode", ["native", "prompt"])
def test_with_more_turns_calls_are_answered_from_the_world_and_the_first_reply_is_judged(
        play: Callable[..., Any], material: Make, mode: str) -> None:
    tasks = [task for task in rows_of(material("verifiers")) if len(task.expected) == 1]
    right = {t.question: native(*t.expected) if mode == "native" else said(json.dumps(t.expected[0].to_json()))
             for t in tasks}
    wrong = native(Call("weather", {"slug": "kuckuck"})) if mode == "native" else \
        said('{"name": "weather", "arguments": {"slug": "kuckuck"}}')
    first, second = tasks[:2]
    rows = {row["question"]: row for row in play({
        first.question: [right[first.question], said("So ist es.")],
        second.question: [wrong, right[second.question], said("So ist es.")],
    }, mode=mode, turns=4, reward="exact")}
    right_first, wrong_first = rows[first.question], rows[second.question]
    assert (right_first["reward"], right_first["turns"], right_first["metrics"]["refused_calls"]) == (1.0, 2, 0.0)
    assert (wrong_first["reward"], wrong_first["turns"], wrong_first["metrics"]["refused_calls"]) == (0.0, 3, 1.0)
    answer = right_first["completion"][1]
    assert answer["role"] == ("tool" if mode == "native" else "user") and '"data"' in answer["content"]
    assert "Unbekannte Stadt 'kuckuck'" in wrong_first["completion"][1]["content"]


def test_the_library_evaluates_on_dev_and_a_request_that_fails_earns_nothing(
        play: Callable[..., Any], material: Make) -> None:
    answered, *others = rows_of(material("verifiers"), "dev")
    rows = play({answered.question: [native(*answered.expected)]}, evaluate=True, reward="exact")
    assert [(row["question"], row["reward"], row["turns"]) for row in rows] == [
        (answered.question, 1.0, 1), *((task.question, 0.0, 0) for task in others)]
