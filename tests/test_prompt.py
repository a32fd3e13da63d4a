"""What a model is asked, as a golden file, and what the text must not say."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from lm_eval_task.dataset import load_tasks
from lm_eval_task.errors import UsageError
from lm_eval_task.prompt import MODES, RULES, messages, native_system, prompt_fingerprint, prompt_prefix, prompt_text
from lm_eval_task.tools import Tool, Toolset, read_tools

TOOLS = read_tools()
SHIPPED = Path(__file__).parent.parent / "tasks.jsonl"
QUESTION = "Wie warm ist es gerade in Köln?"


def test_golden_prompt(golden: Callable[[str, str], None]) -> None:
    golden("prompt.txt", prompt_text(TOOLS, QUESTION) + "\n")
    golden("prompt_native.json", json.dumps(messages("native", TOOLS, QUESTION), ensure_ascii=False, indent=1) + "\n")


def test_prompted_mode_is_one_user_message_that_ends_with_the_question() -> None:
    (message,) = messages("prompt", TOOLS, QUESTION)
    assert message == {"role": "user", "content": prompt_text(TOOLS, QUESTION)}
    assert message["content"].splitlines()[-1] == QUESTION


def test_everything_before_the_question_is_a_cacheable_prefix() -> None:
    for question in (QUESTION, "?", "{x} %s {question}"):
        assert prompt_text(TOOLS, question) == prompt_prefix(TOOLS) + question


def test_native_mode_holds_no_tools() -> None:
    system, user = messages("native", TOOLS, QUESTION)
    assert (system["role"], user) == ("system", {"role": "user", "content": QUESTION})
    assert len(system["content"]) < 500
    for tool in TOOLS.tools:
        assert not re.search(rf"\b{tool.name}\b", system["content"])


def test_each_tool_stands_in_the_prompt_once_with_its_schema() -> None:
    lines = prompt_prefix(TOOLS).split("\n")
    rendered = [json.loads(line) for line in lines if line.startswith('{"name":"')]
    assert rendered == [{"name": t.name, "description": t.description, "parameters": t.parameters} for t in TOOLS.tools]


def test_the_rules_ask_for_json_and_for_a_sentence_without_json() -> None:
    assert '{"name": "<Werkzeug>", "arguments": {"<Parameter>": "<Wert>"}}' in RULES
    assert "genau einen Aufruf" in RULES and "ohne JSON" in RULES
    assert "genau einen Aufruf" in native_system(TOOLS) and "JSON" not in native_system(TOOLS)


ADVICE = ("zuerst", "zunächst", "als erstes", "starte", "beginne", "start here", "first", "danach", "anschließend")


@pytest.mark.parametrize("word", ADVICE)
def test_no_sentence_recommends_an_order_of_calls(word: str) -> None:
    assert word not in (prompt_prefix(TOOLS) + native_system(TOOLS)).lower()


def test_no_station_number_stands_in_the_prompt() -> None:
    assert not re.search(r"\d{6,8}", prompt_prefix(TOOLS) + native_system(TOOLS))


@pytest.mark.skipif(not SHIPPED.is_file(), reason="tasks.jsonl is not built yet")
def test_no_number_of_a_task_stands_in_the_prompt() -> None:
    for task in load_tasks(TOOLS, "all"):
        for number in re.findall(r"\d{6,8}|de:\d+:[\w:]+", json.dumps(task.to_json()["expected"])):
            assert number not in prompt_prefix(TOOLS)


@pytest.mark.skipif(not SHIPPED.is_file(), reason="tasks.jsonl is not built yet")
def test_every_prompt_stays_under_10_000_characters() -> None:
    assert max(len(prompt_text(TOOLS, t.question)) for t in load_tasks(TOOLS, "all")) < 10_000


def test_the_prefix_leaves_room_for_any_question() -> None:
    assert len(prompt_prefix(TOOLS)) < 9_700


def test_hashes_tell_modes_and_tools_apart() -> None:
    text = json.dumps(prompt_text(TOOLS, "{question}"), ensure_ascii=False)
    assert prompt_fingerprint("prompt", TOOLS) == hashlib.sha256(text.encode()).hexdigest()
    own = read_tools(Path(__file__).parent / "data" / "reply_tools.json")
    hashes = {prompt_fingerprint(mode, tools) for mode in MODES for tools in (TOOLS, own)}
    assert len(hashes) == 3, "the native prompt holds no tools, so it is the same for both"


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(UsageError, match="prompt, native"):
        messages("chat", TOOLS, QUESTION)


def test_a_users_own_tools_are_not_about_cities() -> None:
    own = Toolset.of([Tool.from_json({"name": "invoice", "parameters": {"type": "object", "properties": {}}})])
    for text in (prompt_prefix(own), native_system(own)):
        assert text.startswith("Du beantwortest Fragen mit Werkzeugen. ") and "Städte" not in text
    assert prompt_prefix(TOOLS).startswith("Du beantwortest Fragen zu deutschen Städten mit Werkzeugen. ")
