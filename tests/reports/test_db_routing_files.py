"""Real files of the suite db_routing, made by its own programs over a small panel, in every view of the report."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import report
import run_eval
from infranode_eval.db_routing.data import CACHE, cache_folder
from infranode_eval.reports.conformance import check_file
from infranode_eval.reports.rescoring import rescore
from infranode_eval.reports.tasksets import TaskSet, panel_sets
from infranode_eval.results import result_bytes
from lm_eval_task.errors import DataError
from lm_eval_task.tools import Toolset
from tests.db_routing.tiny_panel import write_panel

ROOT = Path(__file__).parent.parent.parent
PROGRAMS = ("oracle", "switcher", "narrator", "parallel_prober", "bm25", "chance")
ARMS = ("anonymised", "permuted", "names")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the panel and results/db_routing."""
    folder = tmp_path_factory.mktemp("db_routing")
    before = os.environ.get(CACHE)
    os.environ[CACHE] = str(folder / "cache")
    write_panel(folder / "panel", cache_folder())
    panel = ["--suite", "db_routing", "--tasks", str(folder / "panel"), "--tools", str(folder / "panel")]
    results = folder / "results" / "db_routing"
    for name in PROGRAMS:
        assert run_eval.main([*panel, "--model", name, "--out", str(results / f"{name}.json")]) == 0
    for arm in ARMS:
        assert run_eval.main([*panel, "--model", "bm25", "--arm", arm, "--out", str(results / f"bm25.{arm}.json")]) == 0
    assert run_eval.main([*panel, "--model", "oracle", "--limit", "5", "--out", str(folder / "limited.json")]) == 0
    yield folder
    os.environ.pop(CACHE) if before is None else os.environ.update({CACHE: before})


@pytest.fixture
def file(place: Path):
    return lambda name: place / "results" / "db_routing" / f"{name}.json"


@pytest.fixture
def sets(place: Path) -> tuple[TaskSet, ...]:
    return panel_sets(place / "panel")


def shown(place: Path, *arguments: object, code: int = 0) -> str:
    command = [sys.executable, ROOT / "report.py", *arguments]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, encoding="utf-8", cwd=place)
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


def read(path: Path) -> dict:
    return json.loads(path.read_text("utf-8"))


# --- tables -----------------------------------------------------------------------------------------------------------

def test_the_suite_alone_reads_its_folder(place) -> None:
    out = shown(place, "--suite", "db_routing", "--tasks", "panel")
    assert "db_routing, core: mode native, set-up D, 12 tasks" in out and "single_shot" in out
    assert re.search(r"^oracle \(baseline\) +— +— +4/4 = 100\.0", out, re.MULTILINE)
    assert re.search(r"^chance \(baseline\) .* 33\.3 reckoned", out, re.MULTILINE)
    assert "definition" in out.lower() and not re.search("hard_strict|jury", out)


def test_the_panel_at_hand_gives_routers_floor_and_signal(place) -> None:
    known = shown(place, "--tasks", "panel", "results/db_routing/bm25.json")
    own = re.search(r"^bm25 \(baseline\) .*?(\d+/12) = ", known, re.MULTILINE)[1]
    assert re.search(rf"^bm25 +{own} = ", known, re.MULTILINE), "the program and the router find the same"
    assert "hard by signal none with a floor of 0.1" in known and "neighbours: The neighbours" in known
    unknown = shown(place, "results/db_routing/bm25.json")
    assert "not at hand" in unknown and "neighbours: The neighbours" not in unknown and "probe: A probe" in unknown


def test_programs_behave_as_their_tables_say(place) -> None:
    lines = {line["model"]: line for line in csv.DictReader(io.StringIO(
        shown(place, "--format", "csv", "--table", "routing", "results/db_routing", "--tasks", "panel")))
        if line["procedure"] == "agentic"}
    assert [lines["switcher"][f"switching_{name}"] for name in ("n", "stayed", "lost", "gained", "missed")] == [
        "12", "0", "0", "12", "0"]
    prober = lines["parallel_prober"]
    assert (prober["parallel_obeyed"], prober["first_probe_share"]) == ("0.0", "0.0")
    assert (lines["narrator"]["all_right"], lines["narrator"]["lenient_call_match"]) == ("0", "1.0")
    assert {line["tier"] for line in lines.values()} == {""}, "programs have no rank"


def test_a_limited_run_stands_apart(place) -> None:
    out = shown(place, "--tasks", "panel", "limited.json", "results/db_routing/oracle.json")
    assert "2 groups of runs" in out and "cut to 5 questions" in out and "--limit" in out.partition("\n\n")[2][:200]


def test_the_corridor_of_an_audit(place) -> None:
    ids = [row["task_id"] for row in read(place / "results/db_routing/oracle.json")["rows"]]
    audit = place / "audit.jsonl"
    audit.write_text("".join(json.dumps({"task_id": key, "gold_faulty": key == ids[0]}) + "\n" for key in ids))
    out = shown(place, "--gold-audit", audit, "results/db_routing/oracle.json")
    assert "91.7 / 100.0 / 100.0" in out and "kein Gold-Audit" not in out
    audit.write_text('{"task_id": "db_routing-nowhere-1", "gold_faulty": true}\n')
    assert "there is no task" in shown(place, "--gold-audit", audit, "results/db_routing/oracle.json", code=2)


# --- other views ------------------------------------------------------------------------------------------------------

def test_two_runs_question_by_question(place) -> None:
    out = shown(place, "--compare", "results/db_routing/narrator.json", "results/db_routing/oracle.json")
    assert "oracle solves 12 tasks more than narrator" in out and "route_ok by bucket" in out and "McNemar" in out
    value = json.loads(shown(place, "--format", "json", "--compare", "results/db_routing/narrator.json",
                             "results/db_routing/oracle.json"))
    assert value["measure"] == "route_ok" and value["all"]["gained"] == 12


@pytest.mark.parametrize("other, why", [("bm25.names", "procedure agentic / single_shot")])
def test_what_is_not_compared(place, other, why) -> None:
    assert why in shown(place, "--compare", "results/db_routing/bm25.json", f"results/db_routing/{other}.json", code=2)


@pytest.mark.parametrize("gate, name, code", [
    ("route_ok>=0.5", "oracle", 0), ("route_ok>=0.5", "narrator", 1), ("tool_turns<=4", "oracle", 0),
    ("route_neighbour_hard>=0.9", "oracle", 0), ("probed<=1", "switcher", 1), ("hard<=1", "oracle", 2)])
def test_gates(place, gate, name, code) -> None:
    shown(place, "--gate", gate, f"results/db_routing/{name}.json", code=code)


def test_a_play_turn_by_turn(place) -> None:
    row = read(place / "results/db_routing/switcher.json")["rows"][0]
    out = shown(place, "--tasks", "panel", "--task", row["task_id"], "results/db_routing/switcher.json")
    assert re.search(rf"turn 2 .*\n  call +{row['declared_alias']} = {row['database']}: get_schema", out)
    assert "finalisation" in out and f"right is {row['database']}" in out and "sql_set yes" in out
    value = json.loads(shown(place, "--format", "json", "--tasks", "panel", "--task", row["task_id"],
                             "results/db_routing/switcher.json"))
    assert [turn["kind"] for turn in value[0]["play"]["turns"]] == ["tool", "tool", "tool", "final"]


def test_without_its_transcripts_a_row_is_shown_with_the_reason(place, tmp_path) -> None:
    copied = tmp_path / "alone.json"
    copied.write_bytes((place / "results/db_routing/oracle.json").read_bytes())
    out = shown(place, "--task", read(copied)["rows"][0]["task_id"], copied)
    assert "error" in out and "oracle.transcripts.jsonl" in out and "verdict   right" in out


def test_other_views_show_or_say(place) -> None:
    assert "right database × declared one" in shown(place, "--confusion", "results/db_routing/bm25.json")
    shown(place, "--items", "results/db_routing")
    assert "do not show" in shown(place, "--html", "p.html", "results/db_routing", code=2)


def test_a_page_over_several_suites_says_which_it_leaves_out(place) -> None:
    pytest.importorskip("jinja2")
    out = shown(place, "--html", "p.html", "results/db_routing", ROOT / "results" / "bm25.json")
    assert "do not show runs of the suite db_routing: call report.py without --html" in out and "p.html" in out


# --- formats ----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", (*PROGRAMS, *(f"bm25.{arm}" for arm in ARMS)))
def test_a_file_keeps_the_format(file, name) -> None:
    assert "a result with 12 rows keeps the format, its 12 transcripts as well" in check_file(file(name))


@pytest.mark.parametrize("change, message", [
    (lambda v: v["hashes"].pop("panel"), "hashes: 'panel' is a required property"),
    (lambda v: v["settings"].pop("condition"), "settings: 'condition' is a required property"),
    (lambda v: v.pop("transcripts"), "'transcripts' is a required property"),
    (lambda v: v["rows"][0].pop("probes"), "rows/0: 'probes' is a required property"),
    (lambda v: v["rows"][0].update(declaration_error="x"), "rows/0/declaration_error"),
    (lambda v: v["rows"][0].update(outcome="wrong_tool"), "rows/0/outcome"),
    (lambda v: v["transcripts"].update(sha256="0" * 64), "does not belong to"),
    (lambda v: v["transcripts"].update(n=11), "holds 12 plays, 11 expected")])
def test_a_broken_file_is_named(file, change, message) -> None:
    value = read(file("oracle"))
    change(value)
    broken = file("oracle").with_name("broken.json")
    broken.write_bytes(result_bytes(value))
    try:
        with pytest.raises(DataError) as caught:
            check_file(broken)
    finally:
        broken.unlink()
    assert message in str(caught.value)


# --- judged again -----------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", ("oracle", "narrator", "bm25.permuted"))
def test_the_same_scorer_changes_nothing(file, sets, toolset: Toolset, name) -> None:
    found = rescore(read(file(name)), file(name), sets, toolset)
    assert (found.changes, found.reworded, found.result, found.read_otherwise) == ((), 0, None, 0)


def test_a_verdict_that_does_not_hold_is_put_right(file, sets, toolset: Toolset) -> None:
    value = read(file("oracle"))
    value["rows"][0].update(outcome="wrong_database", **dict.fromkeys((
        "route_ok", "call_match", "tool_match", "request_match", "lenient_call_match"), False))
    found = rescore(value, file("oracle"), sets, toolset)
    assert [(c.task_id, c.before, c.after, c.moved) for c in found.changes] == [
        (value["rows"][0]["task_id"], "wrong_database", "ok", 1)]
    assert found.result["metrics"] == read(file("oracle"))["metrics"]
    assert found.result["transcripts"] == value["transcripts"]


def test_another_panel_is_refused(place, file) -> None:
    out = shown(place, "--rescore", "results/db_routing/oracle.json", code=1)
    assert "was asked over another panel" in out and "--tasks" in out


def test_the_same_questions_over_other_databases_are_refused(file, sets, toolset: Toolset) -> None:
    value = read(file("oracle"))
    value["hashes"]["panel"] = "f" * 64
    with pytest.raises(DataError, match="was asked over another panel"):
        rescore(value, file("oracle"), sets, toolset)


def test_the_command_judges_again(place) -> None:
    out = shown(place, "--rescore", "--tasks", "panel", "results/db_routing/oracle.json")
    assert "Nothing changed" in out and "route_ok 100.0" in out


# --- size -------------------------------------------------------------------------------------------------------------

def test_transcripts_are_not_read_for_tables(place, tmp_path) -> None:
    alone = tmp_path / "oracle.json"
    alone.write_bytes((place / "results/db_routing/oracle.json").read_bytes())
    assert "oracle (baseline)" in shown(place, alone)


def test_views_refuse_what_does_not_go_together() -> None:
    assert report.main(["--suite", "db_routing", "--compare", "a", "b"]) == 2
    assert report.main(["--gold-audit", "a", "--items"]) == 2
