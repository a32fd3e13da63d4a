"""The guide to the suite chain: its numbers are those of the stored results and of the task file."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from infranode_eval.chain.tasks import CATEGORIES, read_chain_tasks
from infranode_eval.providers.protocol import Sampling
from infranode_eval.suites import Setup, chain
from infranode_eval.tokens import ESTIMATE
from lm_eval_task.tools import read_tools

ROOT = Path(__file__).resolve().parent.parent
GUIDES = {name: (ROOT / "docs" / name).read_text("utf-8") for name in ("chain.md", "chain.de.md")}
ROW = re.compile(r"^\| `(\w+)` \| [^|]+ \| (\d+) \| (\d+) \| ([\d.,]+) \|", re.MULTILINE)
TASKS = read_chain_tasks(None, read_tools())


def stored(name: str) -> dict[str, object]:
    return json.loads((ROOT / "results" / "chain" / f"{name}.native.json").read_text("utf-8"))


@pytest.mark.parametrize("name", GUIDES)
def test_programs_solve_what_the_table_says(name: str) -> None:
    rows = ROW.findall(GUIDES[name])
    assert {row[0] for row in rows} == set(chain.PROGRAMS)
    for program, core, control, ratio in rows:
        result = stored(program)
        solved = Counter(row["set"] for row in result["rows"] if row["task_success"])
        assert (solved["core"], solved["control"]) == (int(core), int(control)), program
        assert f"{result['metrics']['call_ratio']:.2f}" == ratio.replace(",", "."), program


@pytest.mark.parametrize("name", GUIDES)
def test_the_task_file_has_the_sizes_it_says(name: str) -> None:
    sizes = Counter(task.set for task in TASKS)
    assert f"{sizes['core']} " in GUIDES[name] and f"{sizes['control']} " in GUIDES[name]
    assert set(Counter(task.category for task in TASKS if task.set == "core").values()) == {15}
    assert all(f"| {category} |" in GUIDES[name] for category in CATEGORIES)


@pytest.mark.parametrize("name", GUIDES)
def test_the_forecast_is_that_of_the_tasks(name: str) -> None:
    for mode in ("prompt", "native"):
        setup = Setup.of(mode, read_tools(), Sampling(chain.MAX_TOKENS), None, chain.scene(None, read_tools()))
        found = chain.forecast(TASKS, setup, ESTIMATE.count)
        cells = [f"{number:,}" for number in (found.requests, found.input_tokens, found.output_tokens, found.context)]
        shown = cells if name == "chain.md" else [cell.replace(",", ".") for cell in cells]
        line = next(line for line in GUIDES[name].splitlines() if line.startswith(f"| {mode} |"))
        assert all(f" {cell} " in line for cell in shown), (mode, shown)


@pytest.mark.parametrize("name", GUIDES)
def test_the_small_model_got_what_it_says(name: str) -> None:
    path = ROOT / "results" / "chain" / "SmolLM2-135M-Instruct-Q4_1.core.llamacpp.json"
    result = json.loads(path.read_text("utf-8"))
    section = GUIDES[name].partition("SmolLM2")[2]
    rows = result["rows"]
    assert f"{sum(bool(row['task_success']) for row in rows)}" in section
    assert re.search(rf"\b{len(rows)}\b", section) and result["settings"]["max_result_chars"] == 2000
    for reason, count in Counter(row["stop_reason"] or row["outcome"] for row in rows).items():
        assert re.search(rf"\b{count}\b", section) and reason in section, reason
