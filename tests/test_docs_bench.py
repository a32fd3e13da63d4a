"""The guide to a bench of one's own says what is so: cases, commands, tables and proofs, alike in both languages."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from infranode_eval.reports.bench_tables import least_gain
from infranode_eval.starter import CASES, TOOLS, start_in
from infranode_eval.statistics import smallest_detectable_difference, wilson
from lm_eval_task.cases import read_cases
from lm_eval_task.match import bench_policy, calls_equal, form_notes, same_text_equal
from lm_eval_task.records import Call
from lm_eval_task.tools import Tool, Toolset
from tests.suites.test_bench_s5 import PROOF

ROOT = Path(__file__).resolve().parent.parent
GUIDES = {name: (ROOT / "docs" / name).read_text("utf-8") for name in ("bench.md", "bench.de.md")}
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
WORDS = {"yes": "yes", "no": "no", "note": "note", "ja": "yes", "nein": "no", "Hinweis": "note"}


def rows(name: str, first: str) -> list[list[str]]:
    """The cells of the table lines whose first cell fits."""
    lines = [line for line in GUIDES[name].splitlines() if re.match(rf"\| (?:{first}) \|", line)]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def blocks(name: str, kind: str) -> list[str]:
    return [text for found, text in BLOCK.findall(GUIDES[name]) if found == kind]


def test_both_languages_show_the_same_commands_cases_and_headings() -> None:
    english, german = (BLOCK.findall(text) for text in GUIDES.values())
    assert english == german and len(english) == 4
    levels = [re.findall(r"^(#+) ", text, re.MULTILINE) for text in GUIDES.values()]
    assert levels[0] == levels[1]


@pytest.mark.parametrize("name", GUIDES)
def test_the_worked_example_is_the_starter(name: str, tmp_path: Path) -> None:
    list(start_in(tmp_path / "meine", "bench"))
    written = (tmp_path / "meine" / CASES).read_text("utf-8").splitlines()
    [shown] = blocks(name, "json")
    assert set(shown.splitlines()) <= set(written)
    tasks = {t.task_id: t for t in read_cases(tmp_path / "meine" / CASES, tools=_tools(tmp_path)).tasks}
    assert list(tasks) == [row[0] for row in rows(name, r"S\d-1")][:5]
    for row in rows(name, r"S\d-1")[:5]:
        task = tasks[row[0]]
        question = re.match("„(.*)“", row[1])[1]
        assert all(part.strip() in task.question for part in question.split("…")), row[0]
        assert row[2].strip("`") == str(task.expected[0]) if len(task.expected) == 1 else "`" not in row[2]


def _tools(folder: Path) -> Toolset:
    return Toolset.of(map(Tool.from_json, json.loads((folder / "meine" / TOOLS).read_text("utf-8"))))


def test_every_command_works_where_no_model_is_needed(tmp_path: Path) -> None:
    """In the order of the guide; the one that asks a server is rehearsed only."""
    lines = [line.partition("  #")[0] for text in blocks("bench.md", "bash") for line in text.splitlines()]
    first_only = lines[1].replace("--model oracle", "--model first_step_only")
    output = {}
    for line in [*lines[:2], first_only, *lines[2:]]:
        command = shlex.split(line) + (["--dry-run"] if "--base-url" in line else [])
        done = subprocess.run([sys.executable, str(ROOT / command[1]), *command[2:]], capture_output=True, text=True,
                              encoding="utf-8", cwd=tmp_path)
        assert done.returncode == 0, (line, done.stderr)
        output[line] = done.stdout
    [sentence] = blocks("bench.md", "text")
    assert sentence in output[lines[-1]]


@pytest.mark.parametrize("name", GUIDES)
def test_stages_are_counted(name: str) -> None:
    counted = [row[-1] for row in rows(name, r"S\d")]
    tasks = read_cases().tasks
    assert counted == [str(sum(t.category == f"S{n}" for t in tasks)) for n in range(1, 6)]


@pytest.mark.parametrize("name", GUIDES)
def test_what_few_cases_show_is_computed(name: str) -> None:
    shown = rows(name, r"\d+")
    assert [row[0] for row in shown] == ["20", "42", "84", "150"]
    for cases, interval, smallest, least in shown:
        n = int(cases)
        limits = wilson(round(0.9 * n), n)
        assert interval == f"{100 * limits.low:.0f}–{100 * limits.high:.0f} %"
        found = smallest_detectable_difference(n, 0.25)
        numbers = [] if found is None else [f"{100 * found:.0f}", f"{round(found * n)}"]
        assert re.findall(r"\d+", smallest) == numbers
        assert re.findall(r"\d+", least) == [str(least_gain(n))]


@pytest.mark.parametrize("name", GUIDES)
def test_the_matching_table_is_what_the_scorer_does(name: str) -> None:
    shown = rows(name, "boolean|integer|string|date-time|date")
    assert len(shown) == 10
    for kind, actual, expected, right, streng in shown:
        schema = {"type": "string", "format": kind} if kind.startswith("date") else {"type": kind}
        tool = Tool.from_json({"name": "t", "description": "", "parameters": {
            "type": "object", "properties": {"x": schema}, "required": ["x"], "additionalProperties": False}})
        call, gold = (Call("t", {"x": json.loads(text.strip("`"))}) for text in (actual, expected))
        policy = bench_policy("+02:00", frozenset())
        equal = calls_equal(Toolset.of([tool]), call, gold, policy)
        noted = equal and bool(form_notes(tool, call.arguments, gold.arguments, policy))
        assert WORDS[right] == ("note" if noted else "yes" if equal else "no"), (kind, actual)
        assert WORDS[streng] == ("yes" if same_text_equal(call.arguments, gold.arguments) else "no"), (kind, actual)


@pytest.mark.parametrize("name", GUIDES)
def test_the_proof_of_s5_is_the_one_that_the_tests_hold(name: str) -> None:
    shown = {row[0]: (row[1], tuple(row[2].split(", "))) for row in rows(name, r"S5-\d") if len(row) == 4
             and row[1] in {tool for tool, _ in PROOF.values()}}
    assert shown == {case: (tool, tuple(m.parameter for m in values)) for case, (tool, values) in PROOF.items()}


@pytest.mark.parametrize("name", GUIDES)
def test_links_lead_to_files(name: str) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", GUIDES[name]):
        assert (ROOT / "docs" / target).exists(), target
    for path in re.findall(r"`((?:tests|lm_eval_task)/[\w/.]+)`", GUIDES[name]):
        assert (ROOT / path).exists(), path
