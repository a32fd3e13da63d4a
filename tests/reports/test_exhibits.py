"""Evidence: what may be shown of a reply, whatever a stranger put into it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from infranode_eval.budget import Price
from infranode_eval.reports.exhibits import exhibits_of
from infranode_eval.reports.replies import LONGEST, Text, evidence_of, visible
from infranode_eval.reports.tasksets import known_sets
from lm_eval_task.metrics import score_reply
from lm_eval_task.records import MATCHES, Reply, Score


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


def test_lm_evals_replies_are_evidence_too(tmp_path: Path, demo_tasks, toolset, answer) -> None:
    text = answer(demo_tasks[0])
    score = score_reply(demo_tasks[0], Reply.from_text(text, None), toolset, "prompt")
    matches = {name: float(bool(getattr(score, name))) for name in MATCHES}
    doc = {"task_id": demo_tasks[0].task_id, "category": demo_tasks[0].category, "question": demo_tasks[0].question,
           "row": json.dumps(demo_tasks[0].to_json())}
    sample = {"doc": doc, "filter": "none", "filtered_resps": [text], "resps": [[text]], **matches}
    name = "infranode_tools_de"
    (tmp_path / f"samples_{name}_1.jsonl").write_text(json.dumps(sample) + "\n")
    (tmp_path / "results_1.json").write_text(json.dumps(
        {"results": {name: {f"{m},none": v for m, v in matches.items()}}, "configs": {name: {}},
         "n-samples": {name: {"original": 1, "effective": 1}}, "config": {"model_args": {"pretrained": "org/m"}}}))
    [found] = exhibits_of(tmp_path / "results_1.json", toolset, (), {})
    assert found.run.harness == "lm-eval" and found.evidence is not None
    assert [e.text.shown for e in found.evidence] == [text]


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
