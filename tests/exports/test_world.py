"""The offline world behind the tools: real answers to real calls, errors with a reason for the rest."""

from __future__ import annotations

import json

import pytest

from infranode_eval.exports.world import World, refused
from lm_eval_task.dataset import load_tasks
from lm_eval_task.records import Call
from lm_eval_task.tools import read_tools

TOOLS = read_tools()
WORLD = World(TOOLS)


def test_a_call_gets_the_data_it_asks_for() -> None:
    answer = json.loads(WORLD.answer(Call("weather", {"slug": "koeln"})))
    assert answer["data"]["city_slug"] == "koeln"


def test_the_world_refuses_no_gold() -> None:
    for task in load_tasks(TOOLS, "core"):
        for call in task.expected:
            assert not refused(WORLD.answer(call)), task.task_id


@pytest.mark.parametrize(("call", "said"), [
    (Call("weather", {"slug": "köln"}), "Unbekannte Stadt 'köln'"),
    (Call("weather", {"slug": "Köln Deutz"}), "causes no request"),
    (Call("weather", {}), "required argument slug is missing"),
    (Call("wetter", {"slug": "koeln"}), "wetter is not among the offered tools"),
    (Call("get_city_resource", {"slug": "koeln", "resource": "wetter"}), "error"),
])
def test_what_cannot_be_answered_is_refused_with_the_reason(call: Call, said: str) -> None:
    answer = WORLD.answer(call)
    assert refused(answer) and said in answer


def test_the_same_call_gets_the_same_text() -> None:
    call = Call("get_city_overview", {"slug": "ulm"})
    assert WORLD.answer(call) == World(TOOLS).answer(call)


def test_a_long_answer_is_cut_with_a_mark() -> None:
    text = World(TOOLS, longest=50).answer(Call("list_cities"))
    assert len(text) == 50 + len("… (gekürzt)") and text.endswith("… (gekürzt)")
