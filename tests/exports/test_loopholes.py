"""Reward hacking: who does not understand the question is not paid more than who never calls."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from infranode_eval.exports import loopholes
from infranode_eval.exports.rewards import REWARDS, WEIGHTS
from lm_eval_task.dataset import load_tasks
from lm_eval_task.prompt import MODES
from lm_eval_task.records import Task
from lm_eval_task.tools import read_tools

TOOLS = read_tools()
CORE = load_tasks(TOOLS, "core")
EXTENDED = load_tasks(TOOLS, "extended")
ABSTAIN = load_tasks(TOOLS, "abstain")
REFUSALS = tuple(task for task in ABSTAIN if not task.expected)
BLIND = [name for name in loopholes.policies(TOOLS, "prompt") if name != "never_calls"]
# Policies that read the city, or draw a tool, hit a gold now and then; by chance alone `exact` pays them for that.
LUCKY = {"first_tool", "random_tool"}


def earned(name: str, tasks: tuple[Task, ...], mode: str) -> dict[str, float]:
    return loopholes.earned(loopholes.policies(TOOLS, mode)[name], tasks, TOOLS, mode)


ROWS = {"core": CORE, "abstain": ABSTAIN, "both": CORE + ABSTAIN, "refusals": REFUSALS, "extended": EXTENDED[::20]}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("which", ROWS)
@pytest.mark.parametrize("name", BLIND)
def test_a_blind_policy_earns_no_more_than_one_that_never_calls(name: str, which: str, mode: str) -> None:
    tasks = ROWS[which]
    level = earned("never_calls", tasks, mode)
    found = earned(name, tasks, mode)
    assert found["shaped"] <= level["shaped"]
    assert name in LUCKY or found["exact"] <= level["exact"]


def test_the_level_of_never_calling_is_nothing_on_calls_and_everything_on_refusals() -> None:
    for name in REWARDS:
        assert earned("never_calls", CORE, "prompt")[name] == 0.0
        assert earned("never_calls", REFUSALS, "prompt")[name] == 1.0


@pytest.mark.parametrize("tasks", [CORE, EXTENDED], ids=["core", "extended"])
def test_who_knows_the_frequencies_of_the_golds_gains_nothing_by_partial_credit(tasks: tuple[Task, ...]) -> None:
    guessers = loopholes.informed(tasks, TOOLS, "prompt")
    assert set(guessers) == {"frequent_call", "frequent_tool", "frequent_tool_bare"}
    for policy in guessers.values():
        found = loopholes.earned(policy, tasks, TOOLS, "prompt")
        assert found["shaped"] < found["exact"] or found["shaped"] < 0


def test_the_gold_earns_everything_and_all_choices_hold_the_gold_yet_earn_less_than_nothing() -> None:
    task = next(task for task in CORE if task.category == "resource_key")
    everything = loopholes.policies(TOOLS, "prompt")["all_choices"]
    assert task.expected[0].arguments["resource"] in everything(task.question).message["content"]
    assert loopholes.earned(everything, [task], TOOLS, "prompt") == {"exact": 0.0, "shaped": -0.25}


def test_the_table_has_a_row_for_every_policy(capsys: pytest.CaptureFixture[str]) -> None:
    assert loopholes.main(["--set", "core"]) == 0
    out = capsys.readouterr().out
    assert "set core, 91 tasks, mode prompt" in out
    for name in ("never_calls", *BLIND, "frequent_tool"):
        assert f"\n{name} " in out


def test_an_unknown_flag_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert loopholes.main(["--set", "mars"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(("name", "tasks"), [("core", CORE), ("abstain", ABSTAIN)])
def test_the_documented_table_is_the_measured_one(name: str, tasks: tuple[Task, ...]) -> None:
    text = (Path(__file__).resolve().parents[2] / "docs" / "exports.md").read_text("utf-8")
    shown = re.search(rf"<!-- loopholes {name} -->\n(.*?)<!-- /loopholes -->", text, re.DOTALL)[1]
    cells = [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in shown.splitlines()[2:]]
    assert cells == list(loopholes.loophole_table(tasks, TOOLS, "prompt", "").rows)


def test_the_documented_weights_are_those_of_the_code() -> None:
    text = (Path(__file__).resolve().parents[2] / "docs" / "exports.md").read_text("utf-8")
    shown = dict(re.findall(r"^\| (right|nearly|silent|wrong) \| ([−\d.]+)", text, re.MULTILINE))
    assert {name: float(value.replace("−", "-")) for name, value in shown.items()} == WEIGHTS
