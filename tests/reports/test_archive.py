"""Results on disk: what is found, what is read, and what is said about a broken file."""

from __future__ import annotations

import json

import pytest

from infranode_eval.reports import archive
from infranode_eval.reports.figures import summarise
from infranode_eval.reports.sections import report_sections
from infranode_eval.tables import render
from lm_eval_task.errors import DataError
from lm_eval_task.records import Reply, Score
from tests.json_paths import paths_of, put


def test_a_result_is_read_as_it_was_written(make_result, answer, demo_tasks):
    value = make_result(lambda t: Reply.from_text(answer(t)), model="m", mode="prompt")
    run = archive.run_from_json(json.loads(json.dumps(value)), "r.json")
    assert (run.model, run.mode, run.setup, run.n, run.failed, run.complete) == ("m", "prompt", "S", 40, 0, True)
    assert run.hashes == value["hashes"] and run.metrics == value["metrics"] and run.answered == value["answered"]
    assert [r.task_id for r in run.rows] == [t.task_id for t in demo_tasks]
    assert [r.score.to_json() for r in run.rows] == [{k: row[k] for k in r.score.to_json()} for r, row in
                                                     zip(run.rows, value["rows"], strict=True)]


def test_failures_keep_null_scores_and_native_calls_are_seen(make_result, demo_tasks):
    def replier(task):
        if task.category == "not_covered":
            return Score.failure("infra_error", "timeout")
        call = {"name": task.expected[0].name, "arguments": json.dumps(dict(task.expected[0].arguments))}
        return Reply({"role": "assistant", "content": None, "tool_calls": [{"type": "function", "function": call}]})

    run = archive.run_from_json(make_result(replier, mode="native"), "r.json")
    assert run.failed == 4 and not run.complete
    assert {r.native for r in run.rows if not r.score.failed} == {True}
    assert all(r.score.call_match is None for r in run.rows if r.category == "not_covered")


@pytest.mark.parametrize("name, suite", [("single", "infranode_tools_de"), ("infranode_tools_de_full",
                                          "infranode_tools_de"), ("team", "team")])
def test_the_main_suite_has_one_name(name, suite):
    assert archive.suite_name(name) == suite


def _without(key):
    def change(value):
        del value[key]
    return change


def _row(**fields):
    def change(value):
        value["rows"][0] |= fields
    return change


@pytest.mark.parametrize("change, message, why", [
    (lambda v: v.update(format=2), "format", "a later format must not be half understood"),
    (_without("model"), '"model" must be a non-empty string', "a table needs a name"),
    (_without("rows"), '"rows" must be a list', "no rows, no result"),
    (_without("hashes"), '"hashes" must be an object', "tables are split by them"),
    (lambda v: v["counts"].update(failed=1), '"counts" does not fit the rows', "counts are believed by people"),
    (lambda v: v["metrics"].update(call_match="1"), "call_match must be a number", "a string is no number"),
    (_row(outcome="great"), "routing_named-koeln: \"outcome\" 'great' is none of", "it would be counted nowhere"),
    (_row(call_match=None), '"call_match" must be true or false', "null is for failures only"),
    (_row(outcome="infra_error"), '"parsed" must be null in a failure', "a failure has no verdict"),
    (_row(calls=[3]), '"calls" must be null or a list', "a call has a name"),
    (_row(task_id=7), "a row is an object with a", "rows are found by their task_id"),
])
def test_a_broken_result_is_named_with_its_fault(make_result, answer, change, message, why):
    value = make_result(lambda t: Reply.from_text(answer(t)))
    change(value)
    with pytest.raises(DataError) as caught:
        archive.run_from_json(value, "dir/r.json")
    assert str(caught.value).startswith("dir/r.json: ") and message in str(caught.value), why


def test_a_row_that_stands_twice_is_named(make_result, answer):
    value = make_result(lambda t: Reply.from_text(answer(t)))
    value["rows"][1] = value["rows"][0]
    with pytest.raises(DataError, match="row routing_named-koeln stands twice for repeat 1"):
        archive.run_from_json(value, "r.json")


STRANGE = (None, True, -1, 1.5, float("nan"), "", "x\x1b[0m", [], [1], {}, {"a": 1}, 10 ** 400)


def test_whatever_stands_where_it_should_not_is_an_error_or_is_shown(make_result, answer, demo_tasks):
    """Every node of a result replaced by every strange value: one clear error, or a table; never another exception."""
    whole = json.dumps(make_result(lambda t: Reply.from_text(answer(t)), tasks=demo_tasks[:2]))
    for path in paths_of(json.loads(whole)):
        for strange in STRANGE:
            value = json.loads(whole)
            put(value, path, strange)
            try:
                run = archive.run_from_json(value, "r.json")
            except DataError as error:
                assert "\n" not in str(error)
            else:
                assert render(report_sections([summarise(run)]), "text")


@pytest.mark.parametrize("value", [[], None, {}, {"format": "1"}, 3])
def test_any_other_json_is_no_result(value):
    with pytest.raises(DataError, match='expected an object with "format": 1'):
        archive.run_from_json(value, "x.json")


def test_folders_give_result_files_only(tmp_path):
    for name in ("b.json", "a.json", "a.journal.jsonl", "a.json.lock", ".hidden.json", "sub/c.json", ".x/d.json",
                 "out/results_2026.json", "out/samples_t_2026.jsonl", "notes.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("{}")
    found = [str(p.relative_to(tmp_path)) for p in archive.find_results([tmp_path, tmp_path / "a.json"])]
    assert found == ["a.json", "b.json", "out/results_2026.json", "sub/c.json"]


def test_paths_that_are_no_results_are_refused_and_journals_passed_over(tmp_path):
    (tmp_path / "x.md").write_text("")
    (tmp_path / "a.journal.jsonl").write_text("")
    assert archive.find_results([tmp_path / "a.journal.jsonl"]) == ()
    for name in ("x.md", "missing.json"):
        with pytest.raises(DataError, match=name):
            archive.find_results([tmp_path / name])


@pytest.mark.parametrize("content, message", [(b"{", "is not JSON"), (b"\xff{}", "is not UTF-8"),
                                              (b"[" * 100_000, "is not JSON")])
def test_unreadable_files_are_one_line(tmp_path, content, message):
    path = tmp_path / "r.json"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message) as caught:
        archive.read_json(path)
    assert "\n" not in str(caught.value)


def test_what_labels_mean_is_read_from_a_reply_once(make_result, answer, toolset):
    """Wrong calls in a fence (a note) and in a format of their own (a recovery): two readings for forty rows."""
    wrong = '{"name": "weather", "arguments": {"slug": "trier"}}'
    value = make_result(lambda t: Reply.from_text(f"```json\n{wrong}\n```" if "koeln" in t.task_id
                                                  else f"<tool_call>{wrong}</tool_call>"))
    rules: dict = {}
    shared = [archive.Row.from_json(row, "prompt", toolset, rules) for row in value["rows"]]
    assert shared == [archive.Row.from_json(row, "prompt", toolset) for row in value["rows"]]
    assert len(shared) == 40 and sorted(rules.values()) == [False, True]
