"""report.py as people run it: output, exit status, one line per error."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from infranode_eval.results import result_bytes
from infranode_eval.suites import SUITES
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


def test_the_published_board_of_suite_team_only_when_asked_and_in_a_block_of_its_own(report, results):
    assert "gemini-3.5-flash" not in report().stdout
    ours, board = report("--published").stdout.split("Published by the team benchmark that suite team follows")
    assert "gemini-3.5-flash" in board and "another pool of sub-agents" in board and "good" not in board
    assert "gemini-3.5-flash" not in ours
    assert "gemini-3.5-flash" not in report("--published", "--suite", "single").stdout


@pytest.mark.parametrize("suite", SUITES)
def test_a_suite_shows_its_own_published_rows_and_needs_no_results(report, suite):
    done = report("--published", "--suite", suite)
    names = {"single": ["original"], "team": ["team"]}.get(suite, [])
    assert done.returncode == 0 and re.findall(r"^Published by the (\w+) benchmark", done.stdout, re.M) == names
    assert bool(names) is ("no published rows go with" not in done.stderr)


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


def test_runs_over_two_versions_are_ranked_over_their_common_rows_when_asked(report, results, make_result, answer,
                                                                             demo_tasks, tmp_path):
    newer = tmp_path / "newer.jsonl"
    newer.write_text("".join(json.dumps(t.to_json()) + "\n" for t in demo_tasks[3:]))
    (results / "new.json").write_text(json.dumps(make_result(
        lambda t: Reply.from_text(answer(t)), tasks=demo_tasks[3:], model="new")))
    apart = report("--tasks", newer)
    assert apart.returncode == 0 and "NOT RANKED TOGETHER: 2 versions of the set core" in apart.stdout
    together = report("--tasks", newer, "--common-rows", "--format", "json")
    [group] = json.loads(together.stdout)["groups"]
    assert (group["dataset"], group["count"]) == ("core, common rows", 37)
    assert {(run["model"], run["n"], run["tier"]) for run in group["runs"]} == {("good", 37, 1), ("new", 37, 1)}


def test_a_run_whose_tasks_nobody_knows_cannot_be_restricted(report, results, make_result, answer, demo_tasks):
    (results / "odd.json").write_text(json.dumps(make_result(
        lambda t: Reply.from_text(answer(t)), tasks=demo_tasks[3:], model="odd")))
    done = report("--common-rows")
    assert done.returncode == 2 and done.stdout == "", "one run alone has no common rows"
    [line] = done.stderr.splitlines()
    assert "not known" in line and "odd.json" in line and "--tasks FILE" in line


@pytest.mark.parametrize("arguments, message", [
    (["--html", "x.html", "--common-rows"], "--html does not go with --common-rows"),
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


# --- other views ------------------------------------------------------------------------------------------------------

@pytest.fixture
def pair(results, make_result, answer, demo_tasks):
    """good.json and worse.json, which misses the first eight tasks."""
    missed = {t.task_id for t in demo_tasks[:8]}
    (results / "worse.json").write_text(json.dumps(make_result(
        lambda t: Reply.from_text("Nein." if t.task_id in missed else answer(t)), model="worse")))
    return results


def test_compare(report, pair):
    done = report("--compare", "results/worse.json", "results/good.json")
    assert done.returncode == 0 and done.stderr == ""
    assert "good solves 8 tasks more than worse (40 against 32 of 40); that is more than chance (p = " in done.stdout
    value = json.loads(report("--compare", "results/worse.json", "results/good.json", "--format", "json").stdout)
    assert len(value["flips"]) == 8 and value["all"]["gained"] == 8
    lines = report("--compare", "results/worse.json", "results/good.json", "--format", "csv").stdout.splitlines()
    assert lines[0].startswith("task_id,category,change,") and len(lines) == 9


def test_compare_of_unlike_runs_is_one_line(report, pair, make_result, answer):
    (pair / "native.json").write_text(json.dumps(make_result(lambda t: Reply.from_text(answer(t)), mode="native")))
    done = report("--compare", "results/good.json", "results/native.json")
    assert done.returncode == 2 and done.stdout == ""
    [line] = done.stderr.splitlines()
    assert "cannot be compared, they differ in mode prompt / native" in line


def test_common_tasks_of_two_versions_are_compared_with_both_task_files(report, pair, tmp_path, make_result, answer,
                                                                        demo_tasks, demo_file):
    shorter = demo_tasks[:30]
    newer = tmp_path / "newer.jsonl"
    newer.write_text("".join(json.dumps(t.to_json(), ensure_ascii=False) + "\n" for t in shorter), "utf-8")
    (pair / "short.json").write_text(json.dumps(make_result(lambda t: Reply.from_text(answer(t)), tasks=shorter)))
    both = ["--compare", "results/worse.json", "results/short.json"]
    assert "tasks hash" in report(*both).stderr and "--common compares" in report(*both).stderr
    assert "are not known" in report(*both, "--common").stderr
    done = report(*both, "--common", "--tasks", newer)
    assert done.returncode == 0 and "demo compared with worse: 30 tasks" in done.stdout


@pytest.mark.parametrize("gates, status, lines, why", [
    (["--gate", "call_match>=0.8"], 0, 1, "both hold, which one line says: 40 and 32 of 40"),
    (["--gate", "call_match>=0.81", "--gate", "failed<=0"], 1, 1, "one run breaks one gate"),
    (["--gate", "call_match>1", "--gate", "parsed>1"], 1, 4, "two runs break two gates"),
    (["--gate-against", "results/good.json"], 1, 2, "worse fell in ability and in call_match"),
    (["--gate-against", "results/good.json", "--max-drop", "0.6"], 0, 1, "not by so much"),
    (["--gate-against", "results/worse.json", "--gate", "call_match>=0.8"], 0, 1, "both kinds at once"),
])
def test_gates_in_ci(report, pair, gates, status, lines, why):
    done = report(*gates)
    assert (done.returncode, len(done.stdout.splitlines()), done.stderr) == (status, lines, ""), why


def test_a_gate_in_per_cent_is_refused(report, pair):
    done = report("--gate", "call_match>=80")
    assert done.returncode == 2 and "a proportion from 0 to 1" in done.stderr and "write 0.8" in done.stderr


def test_a_broken_file_breaks_the_gate(report, pair):
    (pair / "bad.json").write_text("{")
    done = report("--gate", "call_match>=0.8")
    assert done.returncode == 1 and "bad.json: is not JSON" in done.stderr and done.stdout == ""


def test_one_task(report, pair):
    done = report("--task", "routing_named-koeln")
    assert done.returncode == 0 and done.stdout.count("verdict") == 2
    assert "question  Wie ist das Wetter in Köln?" in done.stdout and "wrong: no_call" in done.stdout
    assert len(json.loads(report("--task", "routing_named-koeln", "--format", "json").stdout)) == 2
    missing = report("--task", "routing_named")
    assert missing.returncode == 2 and "did you mean routing_named-duesseldorf, " in missing.stderr


def test_confusion(report, pair):
    done = report("--confusion", "results/worse.json")
    assert done.returncode == 0 and "worse (results/worse.json): gold tool × called tool" in done.stdout
    assert report("--confusion", "--format", "csv").stdout.startswith("model,path,gold,called,rows\ngood,")
    assert json.loads(report("--confusion", "--format", "json").stdout)[1]["confusion"]["weather"] == {"none": 4}


def test_json_names_what_was_left_out(report, pair):
    (pair / "bad.json").write_text("[]")
    done = report("--format", "json")
    value = json.loads(done.stdout)
    assert done.returncode == 1 and [len(g["runs"]) for g in value["groups"]] == [2]
    assert value["left_out"] == ["results/bad.json: is no result: expected an object with \"format\": 1, found 'list'"]


@pytest.mark.parametrize("table, lines", [("runs", 3), ("categories", 7), ("outcomes", 4)])
def test_csv(report, pair, table, lines):
    done = report("--format", "csv", "--table", table)
    assert done.returncode == 0 and len(done.stdout.splitlines()) == lines and done.stdout.startswith("model,path,")


@pytest.mark.parametrize("arguments, message", [
    (["--table", "runs"], "--table goes with --format csv only"),
    (["--common"], "--common goes with --compare only"),
    (["--max-drop", "0.1"], "--max-drop goes with --gate-against or --gate only"),
    (["--gate", "failed<=0", "--max-drop", "0.1"], "--max-drop goes with --gate-against"),
    (["--gate-against", "results/good.json", "--max-drop", "2"], "a number from 0 to 1"),
    (["--gate", "nonsense"], "expected METRIC>=NUMBER"),
    (["--gate", "callmatch>=1"], "no metric 'callmatch'"),
    (["--gate-against", "missing.json"], "missing.json: cannot be read"),
    (["--compare", "results/good.json"], "expected 2 arguments"),
    (["--compare", "results/good.json", "results/missing.json"], "missing.json: cannot be read"),
    (["--compare", "results/good.json", "results/good.json", "--task", "x"], "--compare does not go with --task"),
    (["--task", "x", "--format", "csv"], "--format csv does not go with --task"),
    (["--published", "--format", "json"], "--format json does not go with --published"),
    (["--rescore", "--format", "json"], "--format json does not go with --rescore"),
    (["--task", "x", "--set", "core"], "--task does not go with --set"),
])
def test_flags_that_do_not_fit_are_one_line_and_exit_2(report, results, arguments, message):
    done = report(*arguments)
    assert done.returncode == 2 and done.stdout == ""
    [line] = done.stderr.splitlines()
    assert line.startswith("report.py: ") and message in line


# --- the suite bench --------------------------------------------------------------------------------------------------

@pytest.fixture
def own_bench(tmp_path):
    """A folder with the starter's cases, and the results of two programs over them."""
    cases = ["--cases", "own/faelle.jsonl", "--tools", "own/werkzeuge.json"]
    for flags in (["--init", "own"], [*cases, "--model", "oracle"], [*cases, "--model", "never_calls"]):
        done = subprocess.run([sys.executable, str(ROOT / "run_eval.py"), "--suite", "bench", *flags],
                              capture_output=True, text=True, encoding="utf-8", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    return cases


def test_own_cases_are_reported_and_compared(report, own_bench, tmp_path):
    first, second = (f"results/bench/{model}.faelle.json" for model in ("never_calls", "oracle"))
    done = report(*own_bench, "results", tasks=None)
    assert done.returncode == 0, done.stderr
    assert "bench, faelle: mode prompt" in done.stdout and "5/5 = 100.0" in done.stdout and "2/5 = 40.0" in done.stdout
    done = report(*own_bench, "--compare", first, second, tasks=None)
    assert done.returncode == 0, done.stderr
    assert "That cannot be told from 5 cases: 3 cases gained, 0 lost" in done.stdout
    assert "lesen statt ändern" in done.stdout, "what the case tests"


def test_a_case_is_shown_with_its_pitfalls(report, own_bench):
    done = report(*own_bench, "--task", "S5-1", "results", tasks=None)
    assert done.returncode == 0, done.stderr
    assert "missing   Artikel | Nummer | Modell" in done.stdout
    assert "pitfalls  eine Artikelnummer erfinden" in done.stdout


@pytest.mark.parametrize("view, shown, why", [
    ([], 2, "the tables"), (["--task", "S5-1"], 2, "S5-1 is a case of the bench, too"), (["--confusion"], 2, ""),
    (["--format", "csv"], 3, "a header and two runs"), (["--gate", "failed<=0"], 1, "2 runs keep failed<=0")])
def test_with_own_cases_only_runs_over_these_are_shown(report, own_bench, view, shown, why):
    done = report(*own_bench, *view, "results", STORED, tasks=None)
    assert done.returncode == 0, done.stderr
    assert "faelle" in done.stdout or view == ["--gate", "failed<=0"], why
    assert "bench, original" not in done.stdout and "asks_always.json" not in done.stdout, why
    if view:
        told = [line for line in done.stdout.splitlines() if ".json" in line or "model" in line or "runs keep" in line]
        assert len(told) == shown, (why, told)


def test_own_cases_that_no_run_was_asked_say_what_to_do(report, own_bench, tmp_path):
    for view in ([], ["--task", "S5-1"], ["--confusion"]):
        done = report(*own_bench, *view, STORED, tasks=None)
        assert done.returncode == 2 and "no result file holds a run over the cases of own/faelle.jsonl" in done.stderr


def test_own_cases_need_not_be_there_to_be_shown(report, own_bench):
    done = report("results")
    assert done.returncode == 0, done.stderr
    assert "bench, faelle (so named by the file)" in done.stdout and "5/5 = 100.0" in done.stdout


STORED = ROOT / "results" / "bench"


@pytest.mark.parametrize("arguments, said, why", [
    (["--set", "paraphrase"], "bench, paraphrase: mode prompt", "the wordings are sets"),
    (["--confusion"], "called in no row: no tool", "the bench has tools of its own"),
    (["--rescore"], "Nothing changed", "the stored baselines are what the scorer says"),
    (["--format", "csv", "--table", "stages"], "oracle", "one row per run and stage"),
    (["--gate", "failed<=0"], "10 runs keep failed<=0", "gates hold for a bench, too"),
])
def test_the_stored_bench_runs_in_every_view(report, arguments, said, why):
    done = report(*arguments, STORED, tasks=None)
    assert done.returncode == 0, done.stderr
    assert said in done.stdout, why
    assert "air_quality" not in done.stdout, "that is a tool of another suite"
