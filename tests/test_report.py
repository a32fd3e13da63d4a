"""report.py as people run it: output, exit status, one line per error."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from infranode_eval.results import result_bytes
from lm_eval_task.metrics import aggregate
from lm_eval_task.records import MATCHES, Reply, Score

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
    assert done.returncode == 0 and "\n| good !1 | 1 | 100.0 |" in done.stdout


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
    (["--set", "robust"], "no result file holds a run over the set robust"),
    (["--check", "missing.json"], "missing.json: cannot be read"),
    (["--check", "results/good.txt"], "expected a result (.json)"),
    (["--tools", "missing.json"], "missing.json: cannot be read"),
    (["--write"], "--write goes with --rescore only"),
    (["--rescore", "--published"], "--rescore does not go with --published"),
    (["--rescore", "--set", "core"], "--rescore does not go with --set"),
    (["--rescore", "--check", "results/good.json"], "--rescore does not go with --check"),
    (["--rescore", "missing.json"], "missing.json: does not exist"),
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


# --- --rescore --------------------------------------------------------------------------------------------------------

@pytest.fixture
def old(results, make_result, answer):
    """results/old.json: scored by an older version, which took every fourth right call for a silence."""
    value = make_result(lambda t: Reply.from_text(answer(t)), model="old", scorer_version="0.9", own_key={"kept": 1})
    for row in value["rows"][::4]:
        row |= Score("no_call", why="silent", **dict.fromkeys(MATCHES, False)).to_json()
    pairs = [(row["category"], Score(row["outcome"], **{name: row[name] for name in MATCHES})) for row in value["rows"]]
    value |= {"metrics": aggregate(pairs), "answered": aggregate(pairs)}
    (results / "old.journal.jsonl").write_text('{"journal":1}\n')
    path = results / "old.json"
    path.write_bytes(result_bytes(value))
    return path


def test_rescore_shows_what_changes_and_writes_nothing(report, results, old):
    before = {path: path.read_bytes() for path in results.iterdir()}
    done = report("--rescore")
    assert done.returncode == 0 and done.stderr == ""
    assert "old, mode prompt, scorer 0.9 → " in done.stdout and "10 of 40 rows changed verdict" in done.stdout
    assert "call_match 75.0 → 100.0 (up 25.0)" in done.stdout and "not written; --write does" in done.stdout
    assert ["resource_key-koeln-charging", "gained", "no_call", "ok", "as", "expected"] in [
        line.split() for line in done.stdout.splitlines()]
    assert "Nothing changed" in done.stdout and "results/good.json: good, 40 rows" in done.stdout
    assert {path: path.read_bytes() for path in results.iterdir()} == before


def test_rescore_writes_what_changed_and_leaves_the_rest_byte_for_byte(report, results, old):
    before = {path: path.read_bytes() for path in results.iterdir()}
    done = report("--rescore", "--write", "results")
    assert done.returncode == 0 and "\nwritten\n" in done.stdout
    after = {path: path.read_bytes() for path in results.iterdir()}
    assert [path.name for path in after if after[path] != before.get(path)] == ["old.json"]
    value = json.loads(after[old])
    assert value["metrics"]["call_match"] == 1.0 and value["own_key"] == {"kept": 1}
    assert value["rescored_from"][0]["scorer_version"] == "0.9" and value["rescored_from"][0]["call_match"] == 0.75
    assert report("--check", "results/old.json").returncode == 0
    assert "scored by version" not in report().stdout
    assert report("--rescore", "--write").stdout.startswith("Nothing changed")
    assert {path: path.read_bytes() for path in results.iterdir()} == after, "twice is like once"


def test_rescore_refuses_other_tasks_in_one_line_and_does_the_rest(report, results, old, make_result, demo_tasks):
    (results / "other.json").write_text(json.dumps(make_result(lambda t: Reply.from_text("Nein."),
                                                               tasks=demo_tasks[:9])))
    done = report("--rescore", "--write")
    assert done.returncode == 1 and "call_match 75.0 → 100.0" in done.stdout
    [line] = done.stderr.splitlines()
    assert line.startswith("report.py: left out: results/other.json: was asked other tasks (hash ")
    assert line.endswith("give its tasks with --tasks")


def test_rescore_as_markdown(report, old):
    shown = report("--rescore", "--format", "markdown").stdout
    assert "| resource_key-koeln-charging | gained | no_call | ok | as expected |" in shown.replace("\\_", "_")


def test_rescore_writes_through_a_link(report, results, old):
    content = old.read_bytes()
    old.unlink()
    folder = results.parent / "elsewhere"
    folder.mkdir()
    (folder / "old.json").write_bytes(content)
    old.symlink_to(folder / "old.json")
    assert report("--rescore", "--write").returncode == 0
    assert old.is_symlink() and json.loads(old.read_bytes())["metrics"]["call_match"] == 1.0, "a link stays a link"


def test_rescore_hides_nothing_hostile_from_the_reader_but_from_the_terminal(report, results, make_result):
    hostile = json.dumps({"name": "\x1b[2J\u202eweather", "arguments": {}})
    value = make_result(lambda t: Reply.from_text(hostile), model="evil")
    value["rows"][0] |= {"outcome": "no_call", "why": "old"}
    (results / "evil.json").write_bytes(result_bytes(value))
    shown = report("--rescore").stdout
    assert "\x1b" not in shown and "\u202e" not in shown and "\\x1b" in shown
