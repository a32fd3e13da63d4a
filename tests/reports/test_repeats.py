"""Repeats: pass^k, the drift between them, and how many tasks changed."""

from __future__ import annotations

import pytest

from infranode_eval.reports.archive import Row, run_from_json
from infranode_eval.reports.figures import summarise
from infranode_eval.reports.repeats import steadiness_of
from infranode_eval.reports.sections import report_sections
from lm_eval_task.records import Reply, Score


def rows(*by_repeat):
    """One text a repeat, one character a task: + solved, - not solved, ! no answer, blank not asked."""
    scores = {"+": Score("ok", call_match=True), "-": Score("no_call", call_match=False),
              "!": Score.failure("infra_error", "x")}
    return [Row(f"t{task}", "c", repeat, scores[c]) for repeat, told in enumerate(by_repeat, 1)
            for task, c in enumerate(told) if c != " "]


@pytest.mark.parametrize("told, call_match, drift, changed, pass_hat, why", [
    (("++", "++"), (1, 1), 0, 0, (1, 1), "all solved"),
    (("--", "--"), (0, 0), 0, 0, (0, 0), "steadily wrong is steady"),
    (("+-", "-+"), (.5, .5), 0, 2, (.5, 0), "equal sums hide two tasks that changed"),
    (("++", "+-", "+-"), (1, .5, .5), .5, 1, (2 / 3, .5, .5), "C(1,k)/C(3,k) = 1/3, 0, 0 for the second task"),
    (("++++", "+++-", "++--"), (1, .75, .5), .5, 2, (.75, 7 / 12, .5), "1, 1, 2/3, 1/3; pass^2: 1, 1, 1/3, 0"),
    (("+", "!"), (1, 0), 1, 1, (.5, 0), "a failure is not solved"),
    (("++", "+ "), (1, 1), 0, 0, (1, 1), "pass^2 over the tasks that were asked twice"),
])
def test_steadiness(told, call_match, drift, changed, pass_hat, why):
    found = steadiness_of(rows(*told))
    assert found.call_match == pytest.approx(call_match) and found.drift == pytest.approx(drift), why
    assert found.changed == changed and found.pass_hat == pytest.approx(pass_hat), why


def test_pass_1_is_call_match_where_every_task_is_asked_alike():
    found = steadiness_of(rows("++-+", "+--+", "-+-+"))
    assert found.pass_hat[0] == pytest.approx(sum(found.call_match) / 3)


@pytest.mark.parametrize("told", [(), ("+-",)])
def test_without_repeats_there_is_nothing_to_say(told):
    assert steadiness_of(rows(*told)) is None


def test_the_table_stands_only_with_repeats(make_result, answer, demo_tasks):
    asked = []

    def shaky(task):
        asked.append(task.task_id)
        return Reply.from_text("Nein." if asked.count(task.task_id) == 2 and task in demo_tasks[:2] else answer(task))

    def table(**options):
        section = report_sections([summarise(run_from_json(make_result(shaky, **options), "r.json"))])[0]
        return next((t for t in section.tables if t.title == "Repeats"), None)

    found = table(repeats=3)
    assert dict(zip([c.header for c in found.columns], found.rows[0], strict=True)) == {
        "model": "demo", "repeat 1": "100.0", "repeat 2": "95.0", "repeat 3": "100.0", "drift": "5.0",
        "tasks that changed": "2/40", "pass^1": "98.3", "pass^2": "96.7", "pass^3": "95.0", "n": "120", "scored": "120",
        "failed": "0"}
    assert table() is None
