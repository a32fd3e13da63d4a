"""Calls that stand in text: read in every family's way, from offered names only, never rebuilt, never in the answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from infranode_eval.db_routing.behaviour import status_of
from infranode_eval.db_routing.metrics import metrics_of
from infranode_eval.db_routing.tasks import RoutingTask
from infranode_eval.suites import db_routing
from tests.db_routing.plays import by_policy, check_protocol, entry, native, played, said, schema

GOLD = "SELECT COUNT(*) FROM kunden_stamm WHERE kunden_ort = 'Köln'"
RIGHT = said("db_02", GOLD)
JSON = json.dumps({"name": "db_02", "arguments": {"action": "execute_query", "sql": GOLD}}, ensure_ascii=False)
ARGUMENTS = json.dumps({"action": "execute_query", "sql": GOLD}, ensure_ascii=False)
PARAMETER = "<parameter={}>\n{}\n</parameter>\n"
FAMILIES: Mapping[str, str] = {
    "Hermes, Qwen": f"<tool_call>\n{JSON}\n</tool_call>",
    "Qwen Coder": "<tool_call>\n<function=db_02>\n" + PARAMETER.format("action", "execute_query")
                  + PARAMETER.format("sql", GOLD) + "</function>\n</tool_call>",
    "Llama 3": f"<|python_tag|>{JSON.replace('arguments', 'parameters')}",
    "Llama, user-defined": f"<function=db_02>{ARGUMENTS}</function>",
    "pythonic": f'[db_02(action="execute_query", sql="{GOLD}")]',
    "LFM2": f'<|tool_call_start|>[db_02(action="execute_query", sql="{GOLD}")]<|tool_call_end|>',
    "Mistral": f"[TOOL_CALLS] [{JSON}]", "Mistral, newer": f"[TOOL_CALLS]db_02[ARGS]{ARGUMENTS}",
    "DeepSeek": f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>db_02<｜tool▁sep｜>{ARGUMENTS}<｜tool▁call▁end｜>"
                "<｜tool▁calls▁end｜>",
    "GLM": "<tool_call>db_02\n<arg_key>action</arg_key>\n<arg_value>execute_query</arg_value>\n"
           f"<arg_key>sql</arg_key>\n<arg_value>{GOLD}</arg_value>\n</tool_call>",
    "Kimi": "<|tool_calls_section_begin|><|tool_call_begin|>functions.db_02:0<|tool_call_argument_begin|>"
            f"{ARGUMENTS}<|tool_call_end|><|tool_calls_section_end|>",
    "MiniMax": f'<minimax:tool_call>\n<invoke name="db_02">\n<parameter name="action">execute_query</parameter>\n'
               f'<parameter name="sql">{GOLD}</parameter>\n</invoke>\n</minimax:tool_call>',
    "GPT-OSS": f"<|channel|>commentary to=functions.db_02 <|constrain|>json<|message|>{ARGUMENTS}<|call|>",
    "fenced": f"```json\n{JSON}\n```", "bare": JSON, "with thoughts before": f"<think>Erst db_01?</think>\n{JSON}"}


@pytest.mark.parametrize("family", FAMILIES)
def test_a_call_in_text_is_executed_and_answered_in_text(task: RoutingTask, family: str) -> None:
    found = played(task, [FAMILIES[family], "Fertig.", RIGHT])
    assert (found.statuses, found.row["probes"]) == (["ok"], ["laden"])
    told = found.course.messages[3]
    assert told["role"] == "user" and told["content"].endswith('```\n["COUNT(*)"]\n[2]\n```')
    assert told["content"].startswith('Ergebnis von db_02(action="execute_query", sql=')
    assert (found.row["recovered_calls"], found.row["tool_calls"], found.score.labels) == (1, 1, ("recovered_calls",))
    call = found.calls[0]
    assert (call["recovered"], call["raw_text"], call["tool_calls"][0]["id"]) == (True, FAMILIES[family], None)
    check_protocol(found.course.messages)


@pytest.mark.parametrize("family", [n for n in FAMILIES if n not in ("fenced", "bare", "with thoughts before")])
def test_a_call_that_is_cut_before_its_arguments_end_is_no_call(task: RoutingTask, family: str) -> None:
    text = FAMILIES[family]
    end = max(text.rfind("Köln'"), 0) + len("Köln'")
    for place in range(1, end, 7):
        found = played(task, lambda messages, cut_at=place: RIGHT if any(
            m["role"] == "assistant" for m in messages) else text[:cut_at])
        assert found.row["tool_calls"] == 0, text[:place]


NOT_RECOVERED: list[tuple[str, Any, str]] = [
    ("another name", '{"name": "search", "arguments": {"query": "Köln"}}', "not offered"),
    ("another name in a special format", '<tool_call>\n{"name": "search", "arguments": {}}\n</tool_call>',
     "not offered"),
    ("a real name", '{"name": "laden", "arguments": {"action": "get_schema"}}', "not offered"),
    ("in prose", f"Ich rufe nun auf: {JSON}", "in native mode never out of prose"),
    ("in thoughts", f"<think>{JSON}</think> Fertig.", "a draft is no call"),
]


@pytest.mark.parametrize(("what", "reply", "why"), NOT_RECOVERED, ids=[case[0] for case in NOT_RECOVERED])
def test_what_is_no_call_ends_the_turns(task: RoutingTask, what: str, reply: str, why: str) -> None:
    found = played(task, [reply, RIGHT])
    assert (found.row["tool_calls"], found.row["tool_turns"], found.row["recovered_calls"]) == (0, 1, 0), why


def test_of_several_calls_the_offered_ones_are_recovered(task: RoutingTask) -> None:
    other = '{"name": "search", "arguments": {}}'
    found = played(task, [f"<tool_call>\n{other}\n</tool_call>\n<tool_call>\n{JSON}\n</tool_call>", "Fertig.", RIGHT])
    assert (found.row["tool_calls"], found.row["probes"]) == (1, ["laden"])


def test_beside_a_native_call_nothing_is_recovered(task: RoutingTask) -> None:
    reply = native(entry("db_01", {"action": "get_schema"}, "c1"), content=FAMILIES["Hermes, Qwen"])
    found = played(task, [reply, "Fertig.", RIGHT])
    assert (found.row["probes"], found.row["tool_calls"], found.row["recovered_calls"]) == (["werkstatt"], 1, 0)


@pytest.mark.parametrize("family", [name for name in FAMILIES if name != "with thoughts before"])
def test_in_the_answer_nothing_is_recovered(task: RoutingTask, family: str) -> None:
    found = played(task, [schema("db_02"), "Fertig.", FAMILIES[family]])
    assert (found.score.outcome, found.row["declaration_error"]) == ("no_declaration", "tool_call")
    assert (found.row["tool_calls"], found.row["recovered_calls"], found.row["api_calls"]) == (1, 0, 3)


def test_a_native_call_in_the_answer_is_not_executed(task: RoutingTask) -> None:
    last = native(entry("db_02", {"action": "get_schema"}, "c9"), content=RIGHT)
    found = played(task, [schema("db_02"), "Fertig.", last])
    assert found.row["declaration_error"] == "tool_call" and found.row["route_ok"] is False
    assert len(found.requests) == 3 and found.row["tool_calls"] == 1


def test_a_turn_with_two_calls_in_text_is_one_turn(task: RoutingTask) -> None:
    found = played(task, [f"<tool_call>\n{JSON}\n</tool_call>\n" * 2, "Fertig.", RIGHT])
    assert (found.row["tool_turns"], found.row["tool_calls"], found.row["recovered_calls"]) == (2, 2, 2)
    assert found.row["parallel_obeyed"] is False
    assert found.course.messages[3]["content"].count("Ergebnis von db_02") == 2


def test_the_share_of_recovered_calls_is_that_of_all_calls(task: RoutingTask) -> None:
    """The article's 97.9 %: 47 of 48."""
    rows = [{"task_id": "x", **db_routing.score(task, _transcript(task, texts), None).to_json()}  # type: ignore[arg-type]
            for texts in [9, 9, 9, 9, 9, 2]]
    rows.append({"task_id": "y", **by_policy(task, "first_probe").row})
    found = metrics_of(rows, 3)
    assert sum(row["recovered_calls"] for row in rows) == 47 and sum(row["tool_calls"] for row in rows) == 48
    assert f"{100 * found['recovered_share']:.1f}" == "97.9"
    assert status_of(rows * 4) is None, "recovered calls are calls"


def _transcript(task: RoutingTask, texts: int) -> Any:
    from infranode_eval.suites import Transcript

    found = played(task, [*[FAMILIES["bare"]] * texts, *(["Fertig."] if texts < 9 else []), RIGHT])
    return Transcript(found.course.messages, found.course.answers, found.course)
