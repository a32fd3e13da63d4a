"""report.py as people run it: output, exit status, one line per error."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from lm_eval_task.records import Reply, Score

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def report(demo_file, tmp_path):
    """report(*arguments): run it in an empty folder with the demo tasks."""

    def run(*arguments, tasks=demo_file):
        command = [sys.executable, ROOT / "report.py", *(["--tasks", tasks] if tasks else []), *arguments]
        return subprocess.run(list(map(str, command)), capture_output=True, text=True, encoding="utf-8", cwd=tmp_path)

    return run


@pytest.fixture
def results(tmp_path, make_result, answer):
    """A folder results/ with one good run."""
    folder = tmp_path / "results"
    folder.mkdir()
    (folder / "good.json").write_text(json.dumps(make_result(lambda t: Reply.from_text(answer(t)), model="good")))
    return folder


def test_without_arguments_the_folder_results_is_shown(report, results):
    done = report()
    assert done.returncode == 0 and done.stderr == ""
    assert "infranode_tools_de, core: mode prompt, set-up S, 40 tasks" in done.stdout and "\ngood " in done.stdout


def test_markdown(report, results):
    done = report("--format", "markdown")
    assert done.returncode == 0 and "\n| good !1 | 100.0 |" in done.stdout


def test_a_broken_file_is_named_and_the_rest_is_shown(report, results):
    (results / "bad.json").write_text('{"format": 1')
    done = report()
    assert done.returncode == 1 and "\ngood " in done.stdout
    [line] = done.stderr.splitlines()
    assert line.startswith("report.py: left out: ") and "bad.json: is not JSON" in line


def test_failures_are_shown_and_warned_about(report, results, make_result):
    path = results / "broken_run.json"
    path.write_text(json.dumps(make_result(lambda t: Score.failure("auth_error", "401"), model="locked")))
    done = report()
    assert done.returncode == 0
    assert "locked (incomplete) !2" in done.stdout and "40 of 40 rows are failures" in done.stdout
    assert "auth_error" in done.stdout and "every row has the outcome auth_error" in done.stdout


def test_published_rows_only_when_asked_and_in_a_block_of_their_own(report, results):
    assert "DeepSeek" not in report().stdout
    shown = report("--published").stdout
    ours, block = shown.split("Published by the original benchmark")
    assert "DeepSeek-V3.2" in block and "good" not in block and "DeepSeek" not in ours


def test_published_rows_need_no_results(report):
    done = report("--published")
    assert done.returncode == 0 and done.stdout.startswith("Published by the original benchmark")


def test_only_runs_over_one_set(report, results, make_result, answer, demo_tasks):
    (results / "other.json").write_text(json.dumps(make_result(
        lambda t: Reply.from_text(answer(t)), tasks=demo_tasks[:9], model="second", set="extended")))
    shown = report("--set", "core").stdout
    assert "\ngood " in shown and "second" not in shown
    assert "2 groups of runs" in report().stdout


def test_the_tasks_file_may_be_missing(report, results):
    done = report("--tasks", "nowhere.jsonl", tasks=None)
    assert done.returncode == 2 and "nowhere.jsonl: cannot be read" in done.stderr


@pytest.mark.parametrize("arguments, message", [
    (["--bogus"], "unrecognized arguments: --bogus; see --help"),
    (["missing.json"], "missing.json: does not exist"),
    (["--set", "robust"], "none of 1 result files is a run over the set robust"),
    (["--check", "missing.json"], "missing.json: cannot be read"),
    (["--check", "results/good.txt"], "expected a result (.json)"),
    (["--tools", "missing.json"], "missing.json: cannot be read"),
])
def test_wrong_usage_is_one_line_and_exit_2(report, results, arguments, message):
    done = report(*arguments)
    assert done.returncode == 2 and done.stdout == ""
    [line] = done.stderr.splitlines()
    assert line.startswith("report.py: ") and message in line


@pytest.mark.parametrize("folder", [True, False])
def test_without_results_it_says_what_to_do(report, tmp_path, folder):
    if folder:
        (tmp_path / "results").mkdir()
    done = report()
    assert done.returncode == 2 and "results: no result there; make one with: python3 run_eval.py" in done.stderr


def test_check_accepts_a_good_result(report, results):
    done = report("--check", "results/good.json")
    assert (done.returncode, done.stdout) == (0, "results/good.json: a result with 40 rows keeps the format\n")


def test_hostile_names_reach_no_terminal(report, results, make_result, answer):
    (results / "evil.json").write_text(json.dumps(make_result(lambda t: Reply.from_text(answer(t)),
                                                              model="\x1b[2J\u202eevil|x")))
    for form in ("text", "markdown"):
        shown = report("--format", form).stdout
        assert "\x1b" not in shown and "\u202e" not in shown and "evil" in shown


def test_equal_input_gives_equal_bytes(report, results):
    assert report().stdout == report().stdout


def test_a_reader_that_goes_away_and_a_narrow_encoding_are_no_errors(results, demo_file, tmp_path):
    command = [sys.executable, str(ROOT / "report.py"), "--tasks", str(demo_file), "results"]
    gone = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path)
    gone.stdout.close()
    _, complaints = gone.communicate()
    assert (complaints, gone.returncode) == (b"", 0)
    narrow = subprocess.run(command, capture_output=True, cwd=tmp_path, env={"PYTHONIOENCODING": "ascii"})
    assert narrow.returncode == 0 and b"\\u2013" in narrow.stdout
