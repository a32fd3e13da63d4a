"""Gates for CI: what they say, what they refuse, and that a missing number holds nothing."""

from __future__ import annotations

import pytest

from infranode_eval.reports.archive import run_from_json
from infranode_eval.reports.figures import summarise
from infranode_eval.reports.gates import Gate, broken_gates, worse_than
from lm_eval_task.errors import DataError, UsageError
from lm_eval_task.records import Reply, Score


@pytest.fixture
def summary(make_result, answer, demo_tasks):
    """summary(wrong=4, failed=0): of 40 tasks the last ones wrong, those before them failed."""

    def make(model="m", wrong=0, failed=0, **header):
        numbers = {t.task_id: i for i, t in enumerate(reversed(demo_tasks))}

        def replier(task):
            number = numbers[task.task_id]
            if number < wrong:
                return Reply.from_text("Nein.")
            return Score.failure("infra_error", "x") if number < wrong + failed else Reply.from_text(answer(task))

        return summarise(run_from_json(make_result(replier, model=model, **header), f"{model}.json"))

    return make


@pytest.mark.parametrize("text, holds, why", [
    ("call_match>=0.8", True, "equal is enough: 32 of 40"),
    ("call_match>0.8", False, "strictly more"),
    ("call_match <= 0.8", True, "blanks do not matter"),
    ("call_match<0.8", False, "strictly less"),
    ("call_match==0.8", True, ""),
    ("call_match>=0.81", False, ""),
    ("failed<=0", True, "a count"),
    ("n==40", True, ""),
    ("parsed>=.8", True, "no digit before the point"),
    ("call_match_resource_key>=0.8", True, "a category: 28 of 32"),
    ("call_match_not_covered>=0.1", False, "a category: 0 of 4"),
    ("truncated<=0.02", True, "a share of serving"),
])
def test_gates(summary, text, holds, why):
    lines = broken_gates([Gate.from_text(text)], [summary(wrong=8)])
    assert lines == [] if holds else len(lines) == 1, why
    if not holds:
        assert lines[0].startswith("m (m.json): ") and text.replace(" ", "") in lines[0]


def test_failures_count_as_not_solved(summary):
    assert broken_gates([Gate.from_text("call_match>=1"), Gate.from_text("failed<=0")], [summary(failed=4)]) == [
        "m (m.json): call_match is 0.9, the gate is call_match>=1", "m (m.json): failed is 4, the gate is failed<=0"]


def test_every_run_must_hold(summary):
    lines = broken_gates([Gate.from_text("call_match>=0.9")], [summary("a"), summary("b", wrong=8)])
    assert [line.split()[0] for line in lines] == ["b"]


def test_a_number_that_does_not_exist_holds_nothing(summary):
    silent = summary(wrong=40)
    assert silent.strict["args_given_tool"] is None
    assert broken_gates([Gate.from_text("args_given_tool>=0")], [silent]) == [
        "m (m.json): args_given_tool is unknown, the gate is args_given_tool>=0"]


@pytest.mark.parametrize("text", ["call_match", ">=0.8", "call_match>=", "call_match>=80%", "call_match=>0.8",
                                  "call_match>=nan", "call_match>=0.8 or 1", "call_match=0.8", ""])
def test_what_is_no_gate_is_refused(text):
    with pytest.raises(UsageError, match="expected METRIC>=NUMBER"):
        Gate.from_text(text)


def test_an_unknown_metric_is_a_usage_error_that_names_the_known_ones(summary):
    with pytest.raises(UsageError, match="no metric 'callmatch'; it has ability, .*call_match_resource_key.*parsed"):
        broken_gates([Gate.from_text("callmatch>=0")], [summary()])


@pytest.mark.parametrize("wrong, max_drop, broken, why", [
    (4, 0.0, [], "equal"),
    (3, 0.0, [], "better"),
    (5, 0.0, ["ability", "call_match"], "one task fewer"),
    (5, 0.025, [], "one task of 40 is 0.025, and of 32 in one of two categories 0.0156 of ability"),
    (8, 0.1, [], "four tasks of 40 are 0.1, in the last bit, too"),
    (9, 0.1, ["call_match"], "five are more"),
])
def test_against_a_base(summary, wrong, max_drop, broken, why):
    lines = worse_than(summary("base", wrong=4), [summary(wrong=wrong)], max_drop)
    found = [line.split(": ")[1].split()[0] for line in lines]
    assert found == broken, why


@pytest.mark.parametrize("header, word", [({"mode": "native"}, "mode prompt / native"),
                                          ({"scorer_version": "0.9"}, "scorer version"),
                                          ({"repeats": 2}, "number of tasks × repeats 40 × 1 / 40 × 2")])
def test_a_base_that_cannot_be_compared_is_refused(summary, header, word):
    with pytest.raises(DataError, match=word):
        worse_than(summary("base"), [summary(**header)], 0.0)
