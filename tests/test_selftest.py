"""The command selftest.py: what it prints, when it stops, and that a bare interpreter can run it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from zoneinfo import available_timezones

import pytest

import selftest
from infranode_eval.bench_variants import failures, successes
from infranode_eval.equivalences import equivalences
from infranode_eval.mutations import mutations
from infranode_eval.providers.protocol import Sampling
from infranode_eval.suites import Setup, chain
from lm_eval_task.cases import read_cases
from lm_eval_task.metrics import score_reply
from lm_eval_task.records import Call, Score, Task
from lm_eval_task.tools import read_tools

ROOT = Path(__file__).parent.parent
TOOLS = read_tools()
TASK = Task("resource_key-koeln-charging", "Wo kann man in Köln laden?",
            (Call("get_city_resource", {"slug": "koeln", "resource": "charging"}),), set="core")
ROWS = [
    TASK,
    Task("poi_type-essen-pharmacy", "Welche Apotheken hat Essen?",
         (Call("pois", {"slug": "essen", "type": "pharmacy"}),), set="core"),
    Task("routing_rest-cities", "Welche Städte gibt es?", (Call("list_cities"),), set="extended"),
]


@pytest.fixture
def tasks_file(tmp_path: Path) -> Path:
    path = tmp_path / "tasks.jsonl"
    path.write_text("".join(json.dumps(t.to_json()) + "\n" for t in ROWS), "utf-8")
    return path


def test_counts_are_printed_and_the_exit_status_is_0(tasks_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert selftest.main(["--tasks", str(tasks_file)]) == 0
    out = capsys.readouterr().out
    judged = sum(1 for t in ROWS[:2] for made in (equivalences, mutations) for _ in made(t, TOOLS))
    assert out.splitlines()[-1].split() == f"{judged:,} replies to 2 tasks, each with the verdict it must have".split()
    assert "score 0: umlaut put back" in out and "score 1: fence" in out
    assert "2  of 2 right: baseline oracle, native mode" in out
    for name in selftest.NEVER_RIGHT:
        assert f"0  of 2 right: baseline {name}, prompt mode" in out


def test_all_takes_every_row(tasks_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert selftest.main(["--all", "--tasks", str(tasks_file)]) == 0
    assert "replies to 3 tasks" in capsys.readouterr().out


def test_the_tasks_of_the_project_hold() -> None:
    if not (ROOT / "tasks.jsonl").is_file():
        pytest.skip("tasks.jsonl is not built yet")
    assert selftest.main([]) == 0


def test_a_bare_interpreter_runs_it_from_any_folder(tasks_file: Path, tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-S", "-s", "-E", str(ROOT / "selftest.py"), "--tasks", str(tasks_file)],
                          cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_tools_of_ones_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = Path(__file__).parent / "data" / "reply_tools.json"
    call = {"name": "nearby", "arguments": {"slug": "koeln", "limit": 3}}
    row = {"task_id": "nearby", "question": "?", "expected": [call]}
    path = tmp_path / "own.jsonl"
    path.write_text(json.dumps(row), "utf-8")
    assert selftest.main(["--tasks", str(path), "--tools", str(own)]) == 0
    assert "score 1: integer as a float" in capsys.readouterr().out


BROKEN = [
    ("{", ":1: is not JSON", "a broken line is named by file and line"),
    ('{"task_id": "a", "question": "?"}', '"expected" is missing', "a missing field is named"),
    ('{"task_id": "a", "question": "?", "expected": [{"name": "wetter"}]}', "wetter is not among the offered tools",
     "a gold outside the tools"),
    ("", "holds no task", "an empty file"),
]


@pytest.mark.parametrize(("line", "message", "why"), BROKEN, ids=[b[2] for b in BROKEN])
def test_a_file_that_cannot_be_used_is_exit_status_2(tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str,
                                                     message: str, why: str) -> None:
    path = tmp_path / "tasks.jsonl"
    path.write_text(line, "utf-8")
    assert selftest.main(["--tasks", str(path)]) == 2, why
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1


def test_missing_files_are_exit_status_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert selftest.main(["--tasks", str(tmp_path / "none.jsonl")]) == 2
    assert selftest.main(["--tools", str(tmp_path / "none.json")]) == 2
    assert capsys.readouterr().err.count("none.json") == 2


def test_cases_named_as_tasks_get_a_hint(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "c.jsonl").write_text('{"kopf": {}}\n')
    assert selftest.main(["--tasks", str(tmp_path / "c.jsonl")]) == 2
    assert "c.jsonl looks like cases of the test bench: name it with --cases" in capsys.readouterr().err


def test_an_unknown_flag_is_exit_status_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert selftest.main(["--everything"]) == 2
    assert "--everything" in capsys.readouterr().err


def wrong_verdicts() -> list[tuple[str, bool, Score]]:
    right = Score("ok", parsed=True, tool_match=True, args_match=True, call_match=True)
    wrong = Score("wrong_args", "other", parsed=True, tool_match=True, args_match=False, call_match=False)
    return [
        ("a mutation that scores 1", False, right),
        ("an equivalence that scores 0", True, wrong),
        ("a mutation with another outcome", False, replace(wrong, outcome="wrong_tool", sub=None)),
        ("a mutation with another sub-code", False, replace(wrong, sub="long_form")),
        ("an equivalence with another outcome", True, replace(right, outcome="ok_recovered")),
        ("an equivalence that fails", True, Score.failure("empty_reply", "blank")),
    ]


@pytest.mark.parametrize(("what", "must_score", "score"), wrong_verdicts(), ids=[w[0] for w in wrong_verdicts()])
def test_a_surprise_names_the_task_and_both_calls(what: str, must_score: bool, score: Score) -> None:
    variant = next(equivalences(TASK, TOOLS)) if must_score else next(
        v for v in mutations(TASK, TOOLS) if v.sub == "umlaut_unresolved")
    with pytest.raises(selftest.Surprise) as surprise:
        selftest.check(TASK, variant, score, must_score)
    message = str(surprise.value)
    assert TASK.task_id in message and variant.kind in message and score.outcome in message
    assert str(TASK.expected[0]) in message and str(variant.calls[0]) in message


def test_the_right_verdict_is_no_surprise() -> None:
    variant = next(v for v in mutations(TASK, TOOLS) if v.sub == "umlaut_unresolved")
    selftest.check(TASK, variant, score_reply(TASK, variant.reply, TOOLS, variant.mode), must_score=False)


def test_a_surprise_ends_the_command_with_exit_status_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A core task whose gold a constant baseline hits: the file itself breaks the rule."""
    row = Task("routing-berlin", "Was ist Berlin?", (Call("get_city", {"slug": "berlin"}),), set="core")
    path = tmp_path / "tasks.jsonl"
    path.write_text(json.dumps(row.to_json()), "utf-8")
    assert selftest.main(["--tasks", str(path)]) == 1
    error = capsys.readouterr().err
    assert "routing-berlin" in error and "constant" in error and 'get_city(slug="berlin")' in error


# --- the suite bench --------------------------------------------------------------------------------------------------

CASES = read_cases()


def test_the_cases_of_the_project_hold_and_the_baselines_reach_what_they_must(
        capsys: pytest.CaptureFixture[str]) -> None:
    assert selftest.main([]) == 0
    out = capsys.readouterr().out
    for name, right in (("oracle", 42), ("never_calls", 14), ("asks_always", 14), ("always_calls", 0),
                        ("first_step_only", 34)):
        for mode in ("prompt", "native"):
            assert f"{right:8}  of 42 right: bench, baseline {name}, {mode} mode\n" in out
    assert "bench, score 0: the same digits in Z" in out and "bench, score 1: digits as text" in out
    assert "and 42 cases, each with the verdict" in out.splitlines()[-1]


def test_cases_of_ones_own_are_proved_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "own.jsonl"
    row = {"id": "S2-1", "stufe": "S2", "frage": "?", "erwartet": [{"name": "list_rooms", "args": {"min_seats": 6}}]}
    path.write_text(json.dumps(row), "utf-8")
    assert selftest.main(["--cases", str(path)]) == 0
    out = capsys.readouterr().out
    assert "replies to 1 cases" in out and "1  of 1 right: bench, baseline oracle, native mode" in out
    assert "never_calls" not in out, "only the oracle has a number that is known beforehand"
    assert selftest.main(["--cases", str(path), "--tasks", str(path)]) == 2
    row["erwartet"][0]["name"] = "fliegen"
    path.write_text(json.dumps(row), "utf-8")
    assert selftest.main(["--cases", str(path)]) == 2
    assert "own.jsonl:1: case S2-1" in capsys.readouterr().err


@pytest.mark.parametrize("start", ["2026-07-01T12:00:00", "2026-12-01T12:00:00", "2026-07-01T12:00",
                                   "2026-07-01T12:00:00Z", "2026-07-01T12:00:00+02:00"])
@pytest.mark.parametrize("zone", ["Europe/Berlin", "+02:00", ""])
def test_a_time_in_a_case_may_be_written_in_any_form(start: str, zone: str, tmp_path: Path,
                                                     capsys: pytest.CaptureFixture[str]) -> None:
    if not available_timezones():
        pytest.skip("no time zone database")
    booking = {"name": "book_room", "args": {"room": "atelier", "start": start, "duration_min": 60}}
    rows = [{"kopf": {"zeitzone": zone}}, {"id": "S2-1", "stufe": "S2", "frage": "?", "erwartet": [booking]}]
    (tmp_path / "own.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    assert selftest.main(["--cases", str(tmp_path / "own.jsonl")]) == 0
    local = zone and len(start.partition("T")[2]) < 9
    assert ("the same instant in Z" in capsys.readouterr().out) is bool(local)


@pytest.mark.parametrize(("what", "must_succeed", "score"), [
    ("a mutation that succeeds", False, Score("ok", call_match=True, details={"streng_match": False})),
    ("an equivalence that fails", True, Score("wrong_args", call_match=False, details={"streng_match": True})),
    ("a mutation that only the original's rule lets pass", False,
     Score("wrong_args", call_match=False, details={"streng_match": True})),
    ("an equivalence that the original's rule should know", True,
     Score("ok", call_match=True, details={"streng_match": False})),
], ids=lambda value: value if isinstance(value, str) else "")
def test_a_surprise_of_the_bench_names_the_case_and_both_calls(what: str, must_succeed: bool, score: Score) -> None:
    task = next(task for task in CASES.tasks if task.task_id == "S2-9")
    kind = "as expected" if must_succeed else "argument dropped"
    made = (successes if must_succeed else failures)(task, CASES.tools, CASES.zone)
    variant = next(variant for variant in made if variant.kind == kind)
    with pytest.raises(selftest.Surprise) as surprise:
        selftest.check_case(task, variant, score, must_succeed)
    message = str(surprise.value)
    assert "S2-9" in message and kind in message and str(task.expected[0]) in message
    assert str(variant.calls[0]) in message


def test_a_baseline_that_reaches_another_number_is_a_surprise() -> None:
    with pytest.raises(selftest.Surprise, match="never_calls solves 14 of 42 cases"):
        selftest.bench_line("never_calls", "native", 13, CASES, selftest.bench.scene(None, CASES.tools))


# --- the suite chain --------------------------------------------------------------------------------------------------

PLAYS = chain.load(None, TOOLS, "full")
FEW = [next(t for t in PLAYS if t.category == category) for category in ("join", "not_covered", "stop", "injection")]
NATIVE = Setup.of("native", TOOLS, Sampling(chain.MAX_TOKENS), None, chain.scene(None, TOOLS))


def test_programs_of_the_suite_chain_are_counted() -> None:
    assert selftest.program_line("planner", FEW, NATIVE) == \
        "       4  of 4 right: chain, program planner, native mode, world s1"
    assert selftest.program_line("eager", FEW, NATIVE).split()[:3] == ["3", "of", "4"]


def test_answers_near_the_golds_of_the_suite_chain_are_judged() -> None:
    kinds = Counter(kind for task in FEW for kind in selftest.checked_play(task, NATIVE))
    assert kinds["chain, score 1: as it is"] == kinds["chain, score 0: true"] == 4
    assert kinds["chain, score 0: cut before the data were read"] >= 5 and kinds["chain, score 0: near miss"] >= 4


def test_a_gold_that_is_wrong_is_a_surprise() -> None:
    task = FEW[0]
    moved = {**task.expectation["answer"], "value": task.expectation["answer"]["value"] + 1}
    wrong = replace(task, expectation={**task.expectation, "answer": moved})
    with pytest.raises(selftest.Surprise, match=f"program planner .native mode. loses {task.task_id} .wrong_answer"):
        selftest.program_line("planner", [wrong], NATIVE)
    right = task.expectation["answer"]["value"]
    slip = replace(task, expectation={**task.expectation, "near_misses": {"keiner": right}})
    with pytest.raises(selftest.Surprise, match="near miss: keiner, native mode.: scored 1 as ok, must score 0"):
        list(selftest.checked_play(slip, NATIVE))
