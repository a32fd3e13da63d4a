"""Evidence: what may be shown of a reply, whatever a stranger put into it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from infranode_eval.budget import Price
from infranode_eval.exhibits import LONGEST, Text, evidence_of, exhibits_of, visible
from infranode_eval.tasksets import known_sets
from lm_eval_task.records import Reply, Score


@pytest.mark.parametrize(("text", "shown", "why"), [
    ("Köln ß 漢字 👍", "Köln ß 漢字 👍", "ordinary text stays"),
    ("a\n\tb\r\nc", "a\n\tb\nc", "lines and tabs stay, one kind of line end"),
    ("\u202egnp.exe", "\\u202egnp.exe", "text that changes its direction"),
    ("\x00\x1b[31m\x7f", "\\x00\\x1b[31m\\x7f", "control characters"),
    ("\ud800", "\\ud800", "half a character cannot be encoded"),
    ("a\u2028b\u200b", "a\\u2028b\\u200b", "hidden line ends and blanks"),
    ("a\rb", "a\\x0db", "a carriage return would overwrite"),
])
def test_invisible_characters_are_spelled_out(text: str, shown: str, why: str) -> None:
    assert visible(text) == shown, why
    shown.encode("utf-8")


def test_a_long_text_is_cut_and_says_by_how_much() -> None:
    found = Text.of("x" * 1_000_000)
    assert (len(found.shown), found.left_out) == (LONGEST, 1_000_000 - LONGEST)
    assert Text.of("short") == Text("short", 0)


@pytest.mark.parametrize(("message", "text", "entries", "thoughts", "why"), [
    ({"content": "hallo"}, "hallo", [], "", "plain text"),
    ({"content": None, "tool_calls": [{"function": {"name": "weather", "arguments": '{"slug": "koeln"}'}}]}, "",
     ['weather({"slug": "koeln"})'], "", "native, arguments as a string"),
    ({"content": [{"type": "tool_use", "name": "weather", "input": {"slug": "koeln"}}]}, "",
     ['weather({"slug": "koeln"})'], "", "native, arguments as an object"),
    ({"content": "ja", "reasoning_content": "hm"}, "ja", [], "hm", "reasoning apart"),
    ({"unheard_of": [1, {"a": "ü"}]}, '{"unheard_of": [1, {"a": "ü"}]}', [], "", "an unknown shape is shown whole"),
    ({}, "", [], "", "nothing"),
    ({"content": ""}, "", [], "", "an empty text is no unknown shape"),
])
def test_a_reply_is_taken_apart(message, text, entries, thoughts, why) -> None:
    found = evidence_of({"reply": message, "finish_reason": "stop"})
    assert (found.text.shown, [e.shown for e in found.entries], found.thoughts.shown) == (text, entries, thoughts), why


@pytest.mark.parametrize("row", [{}, {"reply": None}, {"reply": "text"}, {"reply": {"content": 5}, "attempts": "x"},
                                 {"reply": [1], "finish_reason": 3, "error": {"a": 1}}])
def test_a_row_of_any_shape_has_some_evidence(row) -> None:
    assert evidence_of(row).attempts == 1


def test_an_exhibit_has_evidence_for_each_row_and_knows_its_tasks(tmp_path: Path, make_result, demo_file, answer,
                                                                   toolset) -> None:
    path = tmp_path / "a.json"
    result = make_result(lambda t: Score.failure("infra_error", "timed out") if "ulm" in t.task_id
                         else Reply.from_text(answer(t)), model="gpt-x")
    for row in result["rows"]:
        row["usage"], row["latency_s"] = {"input_tokens": 10, "output_tokens": 5}, 0.5
    path.write_text(json.dumps(result))
    [found] = exhibits_of(path, toolset, known_sets(toolset, demo_file), {"gpt-x": Price(1.0, 2.0)})
    assert found.evidence is not None and len(found.evidence) == len(found.run.rows) == 40
    assert found.tasks["not_covered-ulm"].question.startswith("Welche Baudenkmäler")
    assert found.effort.latency_p50 == 0.5 and found.effort.cost == pytest.approx(0.02)
