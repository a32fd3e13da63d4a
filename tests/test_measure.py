"""measure.py as people run it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from lm_eval_task import bench_prompt
from lm_eval_task.cases import read_cases

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def measure(demo_file):
    """measure(*arguments): run it over the demo tasks."""

    def run(*arguments, tasks=demo_file):
        command = [sys.executable, ROOT / "measure.py", *(["--tasks", tasks] if tasks else []), *arguments]
        return subprocess.run(list(map(str, command)), capture_output=True, text=True, encoding="utf-8")

    return run


def test_both_modes_stand_side_by_side_and_the_estimate_is_called_one(measure):
    done = measure()
    assert done.returncode == 0 and done.stderr == ""
    assert "tokens: an estimate, characters / 3.3" in done.stdout
    assert "\nprompt " in done.stdout and "\nnative " in done.stdout and "Cost" not in done.stdout


def test_listed_prices_come_with_their_date_and_a_warning(measure):
    done = measure("--model", "gpt-4.1-mini")
    assert "unverified here; check them before you pay" in done.stdout and "Cost of a full run" in done.stdout


def test_json_is_for_programs(measure):
    value = json.loads(measure("--json", "--price-in", "1", "--price-out", "2").stdout)
    assert [p["mode"] for p in value["prompts"]] == ["prompt", "native"]
    assert value["price"] == {"price_in": 1.0, "price_out": 2.0, "cached": None} and len(value["costs"]) == 2
    assert value["costs"][0]["highest"] > value["costs"][0]["uncached"] == value["costs"][0]["lowest"] > 0


def test_markdown(measure):
    assert "| prompt | " in measure("--format", "markdown").stdout


@pytest.mark.parametrize("which, n", [("original", 42), ("all", 84)])
def test_the_cases_of_the_bench_are_measured_with_their_own_prompt(measure, which, n):
    value = json.loads(measure("--suite", "bench", "--set", which, "--json", tasks=None).stdout)
    cases = read_cases(which=which)
    longest = max(len(task.question) for task in cases.tasks)
    prompted, native = value["prompts"]
    assert prompted["requests"] == native["requests"] == n and value["max_tokens"] == 512
    assert prompted["longest"]["characters"] == len(bench_prompt.prompt_prefix(cases.tools, cases.system)) + longest
    assert native["prefix"]["characters"] > len(cases.system)
    assert value["notes"] == [f"{n * 8 // 42} of the tasks are offered fewer tools, and take less than is counted here"]


def test_cases_of_ones_own_need_their_suite(measure, tmp_path):
    (tmp_path / "c.jsonl").write_text('{"id": "S4-1", "stufe": "S4", "frage": "Danke!", "erwartet": []}\n')
    done = measure("--suite", "bench", "--cases", tmp_path / "c.jsonl", tasks=None)
    assert done.returncode == 0 and "c.jsonl, set original: 1 tasks" in done.stdout and "fewer" not in done.stdout
    done = measure("--cases", tmp_path / "c.jsonl", tasks=None)
    assert done.returncode == 2 and done.stderr.endswith("looks like cases of the test bench: add --suite bench\n")


@pytest.mark.parametrize("arguments, message", [
    (["--set", "medium"], "set 'medium' does not exist; expected one of core, "),
    (["--suite", "bench", "--set", "core"], "suite bench has no set 'core'; expected one of original"),
    (["--suite", "double"], "--suite: invalid choice: 'double'"),
    (["--bogus"], "unrecognized arguments: --bogus; see --help"),
    (["--price-in", "1"], "a cost needs --price-in and --price-out"),
    (["--model", "nobody"], "--model nobody: no price for it"),
    (["--tokenizer", "nowhere"], "nowhere: does not exist"),
    (["--set", "robust"], "holds no task of set robust"),
    (["--max-tokens", "0"], "--max-tokens: expected a number from 1 on"),
    (["--tools", "nowhere.json"], "nowhere.json: cannot be read"),
    (["--tasks", "nowhere.jsonl"], "nowhere.jsonl: cannot be read"),
])
def test_wrong_usage_is_one_line_and_exit_2(measure, arguments, message):
    done = measure(*arguments)
    assert done.returncode == 2 and done.stdout == ""
    [line] = done.stderr.splitlines()
    assert line.startswith("measure.py: ") and message in line
