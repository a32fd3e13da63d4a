"""--check: files against the schemas that ship with the package."""

from __future__ import annotations

import json

import pytest

from infranode_eval.reports.conformance import check_file
from infranode_eval.shipped import DATA
from infranode_eval.starter import CASES, TOOLS, start_in
from lm_eval_task.errors import DataError, UsageError
from lm_eval_task.records import Reply, Score
from lm_eval_task.tools import data_file


@pytest.fixture
def result(make_result, answer, tmp_path):
    value = make_result(lambda t: Score.failure("infra_error", "x") if t.category == "not_covered"
                        else Reply.from_text(answer(t)))
    return value, tmp_path / "r.json"


def test_a_result_with_failures_keeps_the_format(result):
    value, path = result
    path.write_text(json.dumps(value))
    assert check_file(path) == f"{path}: a result with 40 rows keeps the format"


def test_own_tasks_need_the_common_fields_only(demo_file):
    assert check_file(demo_file) == f"{demo_file}: 40 tasks keep the format of own tasks"


def test_generated_tasks_are_known_by_set_and_proof_and_keep_the_whole_schema(tmp_path):
    path = tmp_path / "t.jsonl"
    row = {"task_id": "a", "set": "core", "question": "Wo ist das?", "expected": [], "verified": {}}
    path.write_text(json.dumps(row) + "\n", "utf-8")
    with pytest.raises(DataError, match=r"t\.jsonl:1: the whole value: 'phrasing' is a required property"):
        check_file(path)


def test_a_sealed_file_keeps_the_common_fields(tmp_path):
    path = tmp_path / "sealed.jsonl"
    path.write_text('{"task_id": "a", "question": "Wo ist das?", "expected": [], "verified": {}}\n', "utf-8")
    assert check_file(path).endswith("1 tasks keep the format of own tasks")


def test_each_problem_is_a_line_with_its_place_and_many_are_counted(result):
    value, path = result
    for row in value["rows"]:
        row["attempts"] = -1
    path.write_text(json.dumps(value))
    with pytest.raises(DataError) as caught:
        check_file(path)
    lines = str(caught.value).split("\n")
    assert lines[0].startswith(f"{path}: rows/0/attempts: -1 is less than the minimum")
    assert len(lines) == 11 and lines[-1] == "… and 30 more"


def test_counts_that_do_not_fit_the_rows_pass_no_check(result):
    value, path = result
    value["counts"] = {"n": 40, "scored": 40, "failed": 0}
    path.write_text(json.dumps(value))
    with pytest.raises(DataError, match="does not fit the rows"):
        check_file(path)


@pytest.mark.parametrize("lines, message", [
    ('{"task_id": "a", "question": "?"}', r"t\.jsonl:1: .*expected"),
    ('{"task_id": "a", "question": "Wo?", "expected": []}\n' * 2, r"t\.jsonl:2: task_id a stands already in line 1"),
    ("{", r"t\.jsonl:1: is not JSON"),
])
def test_broken_tasks_are_named_with_their_line(tmp_path, lines, message):
    path = tmp_path / "t.jsonl"
    path.write_text(lines, "utf-8")
    with pytest.raises(DataError, match=message):
        check_file(path)


def test_cases_are_read_as_a_run_reads_them(tmp_path):
    list(start_in(tmp_path / "neu", "bench"))
    path, tools = tmp_path / "neu" / CASES, tmp_path / "neu" / TOOLS
    assert check_file(path, tools) == f"{path}: 5 cases keep the format of cases and fit 4 tools"
    with pytest.raises(DataError, match=r'faelle\.jsonl:6: case S1-1: "nur"\[0\]: .* give --tools FILE'):
        check_file(path)
    path.write_text(path.read_text("utf-8").replace('"fehlt": ["Artikel", "Nummer", "Modell"], ', ""), "utf-8")
    line, note = check_file(path, tools).split("\n")
    assert line.endswith(" fit 4 tools") and note.startswith(f'note: {path}: no "fehlt" in S5-1')
    assert check_file(data_file("bench_cases.jsonl")).endswith("42 cases keep the format of cases and fit 11 tools")


def test_any_other_file_is_no_case_for_a_check(tmp_path):
    with pytest.raises(UsageError, match=r"expected a result \(\.json\) or a file of tasks \(\.jsonl\)"):
        check_file(tmp_path / "x.yaml")


def test_tasks_of_the_suite_chain_are_known_by_their_plans(tmp_path):
    shipped = DATA / "chain" / "tasks.jsonl"
    assert check_file(shipped).endswith("tasks keep the format of the suite chain")
    path = tmp_path / "plays.jsonl"
    path.write_text(shipped.read_text("utf-8").replace('"max_turns": 6', '"max_turns": 0', 1), "utf-8")
    with pytest.raises(DataError, match=r'plays\.jsonl:\d+: .*"max_turns" must be a whole number'):
        check_file(path)
