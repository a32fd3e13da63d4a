"""The list of tasks inside the page: complete, visible, and unable to end the script element that holds it."""

from __future__ import annotations

import json

import pytest

from infranode_eval.reports.archive import run_from_json
from infranode_eval.reports.effort import Effort
from infranode_eval.reports.exhibits import Exhibit
from infranode_eval.reports.figures import summarise
from infranode_eval.reports.replies import evidence_of
from infranode_eval.reports.taskbook import script_json, taskbook
from lm_eval_task.records import Reply

HOSTILE = ["</script>", "<!--", "<script>", "]]>", "&lt;", "\u2028\u2029", "\ud83d", "\\u003c", "'\"`${x}"]


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_leaves_the_script_element_and_each_is_read_back(text: str) -> None:
    found = script_json({text: [text]})
    assert not set("<>&\u2028\u2029") & set(found)
    found.encode("utf-8")
    assert json.loads(found) == {text: [text]}


def exhibit_of(result, toolset, tasks) -> Exhibit:
    run = run_from_json(result, "a.json", toolset)
    return Exhibit(summarise(run), run, Effort(), tuple(map(evidence_of, result["rows"])),
                   {t.task_id: t for t in tasks})


def test_each_row_points_at_its_task_and_run(make_result, demo_tasks, toolset, answer) -> None:
    good = exhibit_of(make_result(lambda t: Reply.from_text(answer(t))), toolset, demo_tasks)
    evil = exhibit_of(make_result(lambda t: Reply.from_text("</script>\u202e" + "x" * 9000)), toolset, demo_tasks)
    book = taskbook([good, evil], ["good", "evil"], [0, 0], ["core"])
    assert len(book["tasks"]) == 40 and len(book["rows"]) == 80
    for row, (exhibit, number) in zip(book["rows"], [(good, i) for i in range(40)] + [(evil, i) for i in range(40)],
                                      strict=True):
        assert book["tasks"][row["task"]]["id"] == exhibit.run.rows[number].task_id
    last = book["rows"][-1]
    assert last["text"].startswith("</script>\\u202e") and last["left"] == 9000 + len("</script>\u202e") - 4000
    assert [t["id"] for t in book["tasks"]] == sorted(t["id"] for t in book["tasks"])


def test_a_task_with_another_gold_is_another_task(make_result, demo_tasks, toolset, answer) -> None:
    result = make_result(lambda t: Reply.from_text(answer(t)))
    known, unknown = exhibit_of(result, toolset, demo_tasks), exhibit_of(result, toolset, ())
    book = taskbook([known, unknown], ["a", "b"], [0, 0], ["core"])
    assert len(book["tasks"]) == 80
    assert sum(t["expected"] is None for t in book["tasks"]) == 40


def test_a_run_without_replies_still_has_verdicts(make_result, demo_tasks, toolset, answer) -> None:
    found = exhibit_of(make_result(lambda t: Reply.from_text(answer(t))), toolset, demo_tasks)
    bare = Exhibit(found.summary, found.run, found.effort, None, found.tasks)
    assert {(r["outcome"], "text" in r) for r in taskbook([bare], ["a"], [0], ["core"])["rows"]} == {("ok", False)}
