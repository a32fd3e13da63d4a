"""What a rollout is judged by, and the arguments that cannot be meant; test_environment plays whole rollouts."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace as Given
from typing import Any

import pytest

from infranode_eval.exports import rollouts
from lm_eval_task.errors import UsageError
from lm_eval_task.records import Call, Reply, Task
from lm_eval_task.tools import data_file, read_tools
from tests.exports.trial_data import dataset

TOOLS = read_tools()
TASK = Task("one", "Wetter in Köln?", (Call("weather", {"slug": "koeln"}),))


def step(content: Any, *calls: tuple[str, str], finish: str = "stop", cut: bool = False, thought: str | None = None
         ) -> dict[str, Any]:
    """A step of a trajectory as the library keeps it; calls: (name, arguments as text)."""
    said = Given(content=content, reasoning_content=thought, tool_calls=[
        Given(id=f"c{i}", name=name, arguments=text) for i, (name, text) in enumerate(calls)] or None)
    return {"completion": [said], "response": Given(message=Given(finish_reason=finish)), "is_truncated": cut}


def call(name: str, arguments: str) -> dict[str, Any]:
    return {"id": "c0", "type": "function", "function": {"name": name, "arguments": arguments}}


@pytest.mark.parametrize(("given", "reply"), [
    (step("hallo"), Reply({"role": "assistant", "content": "hallo"}, "stop")),
    (step(None, ("weather", '{"slug": "koeln"}'), finish="tool_calls"),
     Reply({"role": "assistant", "content": None, "tool_calls": [call("weather", '{"slug": "koeln"}')]}, "tool_calls")),
    (step("hal", cut=True), Reply({"role": "assistant", "content": "hal"}, "length")),
    (step("x", thought="hm"), Reply({"role": "assistant", "content": "x", "reasoning_content": "hm"}, "stop")),
    (step([{"type": "text", "text": "x"}]), Reply({"role": "assistant", "content": [{"type": "text", "text": "x"}]},
                                                  "stop")),
])
def test_a_step_becomes_the_message_that_the_scorer_takes(given: dict[str, Any], reply: Reply) -> None:
    assert rollouts.reply_of(given) == reply


def state(*steps: dict[str, Any]) -> dict[str, Any]:
    return {"info": {"row": TASK.to_json()}, "trajectory": list(steps)}


def test_the_first_reply_is_judged_whatever_follows() -> None:
    right, wrong = (step(None, ("weather", f'{{"slug": "{slug}"}}')) for slug in ("koeln", "bonn"))
    assert rollouts.verdict(state(right, wrong), TOOLS, "native")[1].call_match is True
    assert rollouts.verdict(state(wrong, right), TOOLS, "native")[1].call_match is False


def test_a_rollout_without_a_reply_is_a_failure() -> None:
    assert rollouts.verdict(state(), TOOLS, "native")[1].failed


@pytest.mark.parametrize(("arguments", "said"), [
    ({"reward": "sparse"}, "reward 'sparse' does not exist; expected one of exact, shaped"),
    ({"turns": 0}, "turns must be 1 or more"),
    ({"mode": "chat"}, "mode 'chat' does not exist"),
])
def test_arguments_that_cannot_be_meant(tmp_path: Path, arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        rollouts.open_environment(dataset(tmp_path / "data"), None, data_file("tools.json"), **arguments)
