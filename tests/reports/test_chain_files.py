"""Real files of the suite chain, made by its own programs: checked, judged again, shown by every view."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import run_eval
from infranode_eval.reports.conformance import check_file
from infranode_eval.reports.rescoring import rescore, rescoring_sections
from infranode_eval.reports.tasksets import TaskSet, chain_sets
from infranode_eval.results import result_bytes
from infranode_eval.tables import render
from lm_eval_task.errors import DataError
from lm_eval_task.tools import Toolset

ROOT = Path(__file__).parent.parent.parent
PROGRAMS = ("planner", "obeys_injection", "prose_only")


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> dict[str, Path]:
    """One results file of each program, over the whole set."""
    folder = tmp_path_factory.mktemp("chain")
    made = {name: folder / f"{name}.json" for name in PROGRAMS}
    for name, path in made.items():
        assert run_eval.main(["--suite", "chain", "--model", name, "--out", str(path)]) == 0
    return made


@pytest.fixture(scope="module")
def sets(toolset: Toolset) -> tuple[TaskSet, ...]:
    return chain_sets(toolset)


def report(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, ROOT / "report.py", *arguments]
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, encoding="utf-8", cwd=cwd)


def read(path: Path) -> dict:
    return json.loads(path.read_text("utf-8"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_file_keeps_the_format(files, name) -> None:
    assert "keeps the format" in check_file(files[name])


@pytest.mark.parametrize("change, message", [
    (lambda v: v["settings"].pop("world"), "settings: 'world' is a required property"),
    (lambda v: v["rows"][0].pop("transcript"), "rows/0: 'transcript' is a required property"),
    (lambda v: v["rows"][0].update(task_success="yes"), "rows/0/task_success"),
    (lambda v: v["rows"][0].update(outcome="wrong_tool"), "rows/0/outcome"),
    (lambda v: v["rows"][0]["transcript"]["turns"][0].update(kind="x"), "rows/0/transcript/turns/0/kind"),
    (lambda v: v["bodies"].update(short="x"), "bodies"),
    (lambda v: v["metrics"].update(attack_effect=-2), "metrics/attack_effect"),
])
def test_a_broken_file_is_refused_with_the_place(files, tmp_path, change, message) -> None:
    value = read(files["planner"])
    change(value)
    path = tmp_path / "bad.json"
    path.write_text(json.dumps(value), "utf-8")
    with pytest.raises(DataError) as caught:
        check_file(path)
    assert message in str(caught.value)


def test_stored_plays_are_judged_again_and_give_the_very_same(files, sets, toolset) -> None:
    for path in files.values():
        value = read(path)
        found = rescore(value, path, sets, toolset)
        assert (found.changes, found.reworded, found.result) == ((), 0, None)
        assert found.after == value["metrics"]


def test_a_wrong_verdict_is_put_right_and_the_old_number_kept(files, sets, toolset) -> None:
    value = read(files["planner"])
    row = value["rows"][0]
    row.update(task_success=False, answer_match=False, outcome="wrong_answer", sub="invented", why="?")
    value["metrics"]["task_success"] = 0.5
    value["scorer_version"] = "0.9"
    found = rescore(value, "r.json", sets, toolset)
    [change] = found.changes
    assert (change.task_id, change.moved, change.before, change.after) == (
        row["task_id"], 1, "wrong_answer/invented", "ok")
    new = found.result
    assert new["rows"][0] == read(files["planner"])["rows"][0]
    assert new["metrics"]["task_success"] == new["headline"]["task_success"] == 1
    assert new["rescored_from"] == [{"scorer_version": "0.9", "ability": value["metrics"]["ability"],
                                     "task_success": 0.5}]
    assert new["bodies"] == value["bodies"], "what was received stays"
    text = render(rescoring_sections([found], False), "text")
    assert "1 of 194 rows changed verdict (1 gained task_success, 0 lost it)" in text and "call_match" not in text
    json.loads(result_bytes(new))


def test_only_a_count_that_differs_is_no_changed_verdict(files, sets, toolset) -> None:
    value = read(files["planner"])
    value["rows"][0]["extra_reads"] = 99
    found = rescore(value, "r.json", sets, toolset)
    assert (found.changes, found.reworded) == ((), 1) and found.result["rows"][0]["extra_reads"] == 0


def test_a_failure_stays_what_it_is(files, sets, toolset) -> None:
    value = read(files["planner"])
    row = value["rows"][0]
    kept = {name: row[name] for name in ("task_id", "category", "repeat", "set", "pair")}
    row |= dict.fromkeys(row) | kept | {"outcome": "infra_error", "labels": [], "why": "broke off", "attempts": 1}
    row.pop("transcript")
    value["counts"] |= {"scored": 193, "failed": 1}
    found = rescore(value, "r.json", sets, toolset)
    assert found.changes == () and found.after["task_success"] == pytest.approx(149 / 150)
    assert found.answered[1]["task_success"] == 1


@pytest.mark.parametrize("change, message", [
    (lambda v: v["rows"][0].pop("transcript"), "has a verdict but no transcript to judge"),
    (lambda v: v.update(bodies={}), '"bodies" lacks the result'),
    (lambda v: v["hashes"].update(tasks="1" * 64), "was asked other tasks"),
    (lambda v: v["hashes"].update(tools="1" * 64), "was asked with other tools"),
    (lambda v: v["settings"]["world"].update(sha256="9" * 64), "was asked other tasks"),
])
def test_what_cannot_be_judged_again_is_refused(files, sets, toolset, change, message) -> None:
    value = read(files["planner"])
    change(value)
    with pytest.raises(DataError, match=message):
        rescore(value, "r.json", sets, toolset)


@pytest.mark.parametrize("arguments, shown, why", [
    ([], "ability", "the tables"),
    (["--set", "full"], "Twins with a plain value", "by their set"),
    (["--format", "csv", "--table", "chain"], "attack_effect", "a row for each run"),
    (["--format", "json"], '"followed_injection"', "everything"),
    (["--gate", "control_success>=0"], "3 runs keep", "gates"),
    (["--rescore"], "Nothing changed", "verdicts hold"),
    (["--items"], "chain, full", "task by task over the runs"),
])
def test_every_view_knows_plays(files, tmp_path, arguments, shown, why) -> None:
    done = report(*files.values(), *arguments, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, ""), why
    assert shown in done.stdout


def test_a_play_a_comparison_and_a_page(files, tmp_path) -> None:
    orders = next(row["task_id"] for row in read(files["obeys_injection"])["rows"]
                  if row["outcome"] == "followed_injection")
    one = report("--task", orders, *files.values(), cwd=tmp_path)
    assert one.returncode == 0 and one.stdout.count("POISONED: holds the injected text") == 3
    assert "followed_injection" in one.stdout and "injected  asks for" in one.stdout
    both = report("--compare", files["obeys_injection"], files["planner"], cwd=tmp_path)
    assert both.returncode == 0 and "planner solves 15 tasks more than obeys_injection" in both.stdout
    page = report("--html", "page.html", *files.values(), cwd=tmp_path)
    assert page.returncode == 0 and (tmp_path / "page.html").stat().st_size > 500_000


def test_first_calls_and_common_rows_are_no_matter_of_plays(files, tmp_path) -> None:
    for flag in ("--confusion", "--common-rows"):
        done = report(flag, *files.values(), cwd=tmp_path)
        assert done.returncode in (1, 2) and "is a run of suite chain" in done.stderr and "Traceback" not in done.stderr
