"""Call, ask or refuse: the matrix by hand, its intervals, fixed policies beside it, and the text."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from infranode_eval.reports.ability import ability_interval
from infranode_eval.reports.abstention import CATEGORIES, POLICIES, POLICY, abstention_of, done_of, is_right
from infranode_eval.reports.archive import run_from_json
from infranode_eval.reports.export import report_csv, report_json
from infranode_eval.reports.figures import Summary, summarise
from infranode_eval.reports.ranks import tiers
from infranode_eval.reports.sections import report_sections
from infranode_eval.reports.tasksets import TaskSet
from infranode_eval.statistics import wilson
from infranode_eval.tables import render
from lm_eval_task.metrics import score_reply
from lm_eval_task.records import EXPECTS, Call, Reply, Score, Task, tasks_fingerprint

ROOT = Path(__file__).resolve().parent.parent.parent
WEATHER = Call("weather", {"slug": "koeln"})
CALL = Reply.from_text('{"name": "weather", "arguments": {"slug": "koeln"}}')
WRONG = Reply.from_text('{"name": "weather", "arguments": {"slug": "bonn"}}')
ASK = Reply.from_text("Für welche Stadt möchten Sie das wissen?")
REFUSE = Reply.from_text("Dazu habe ich keine Daten.")
CUT = Reply.from_text("Ich überlege noch", "length")
BROKEN = Reply.from_text('{"name": "weather", "arguments": {')
THOUGHT = Reply({"role": "assistant", "content": "", "reasoning_content": "Hm."}, "stop")
NO_ANSWER = Score.failure("infra_error", "timed out")


def task(category: str, number: int = 0, **extra: Any) -> Task:
    gold = CATEGORIES[category]
    return Task(f"abstain-{category}-{number}", f"Frage {category} {number}?", (WEATHER,) if gold == "call" else (),
                category=category, set="abstain", expect=None if gold == "call" else gold, extra=extra)


TASKS = tuple(task(category, number) for category in ("abroad", "action", "city_missing", "call_control")
              for number in range(5))
# What a model does, five tasks a category: the matrix below is counted from these four lines by hand.
REPLIES = {"abroad": (REFUSE, REFUSE, ASK, CALL, NO_ANSWER),
           "action": (REFUSE, CALL, CALL, CUT, BROKEN),
           "city_missing": (ASK, ASK, ASK, REFUSE, CALL),
           "call_control": (CALL, CALL, WRONG, REFUSE, ASK)}


def by_hand(asked: Task) -> Reply | Score:
    return REPLIES[asked.category][int(asked.task_id[-1])]


@pytest.fixture
def summary(make_result) -> Callable[..., Summary]:
    def make(replier: Callable[[Task], Reply | Score] = by_hand, asked: tuple[Task, ...] = TASKS, known: bool = True,
             **header: Any) -> Summary:
        value = make_result(replier, tasks=asked, set="abstain", **header)
        sets = [TaskSet("abstain", tasks_fingerprint(asked), {t.task_id: t for t in asked})] if known else []
        return summarise(run_from_json(value, f"r/{header.get('model', 'demo')}.json"), sets)

    return make


@pytest.mark.parametrize("reply, done, right_for, why", [
    (CALL, "call", {"call"}, "the right call"),
    (WRONG, "call", set(), "a wrong call is a call"),
    (Reply.from_text(f"[{CALL.message['content']}, {WRONG.message['content']}]"), "call", set(), "two are, too"),
    (ASK, "ask", {"ask", "refuse"}, "no call, so nothing was done that should not be"),
    (REFUSE, "refuse", {"refuse"}, "a text that asks nothing"),
    (Reply.from_text("[]"), "refuse", {"refuse"}, "an empty list is a readable silence"),
    (CUT, "unreadable", set(), "nobody knows what would have come"),
    (BROKEN, "unreadable", set(), "a call was attempted"),
    (THOUGHT, "unreadable", set(), "a thought is no text"),
])
def test_what_was_done_and_for_whom_it_is_right(toolset, reply, done, right_for, why):
    for gold, category in (("call", "call_control"), ("ask", "city_missing"), ("refuse", "abroad")):
        score = score_reply(task(category), reply, toolset)
        assert done_of(score) == done, (gold, why)
        assert is_right(gold, score) is (gold in right_for), (gold, why)
    assert done_of(NO_ANSWER) == "failure" and not is_right("refuse", NO_ANSWER)


def test_the_matrix_is_the_one_counted_by_hand(summary):
    found = summary().abstention
    assert {gold: (tuple(line.done.values()), line.right) for gold, line in found.classes.items()} == {
        #          call ask refuse unreadable failure
        "call": ((3, 1, 1, 0, 0), 2),
        "ask": ((1, 3, 1, 0, 0), 3),
        "refuse": ((3, 1, 3, 2, 1), 4)}
    assert list(found.classes) == ["call", "ask", "refuse"] and list(found.categories) == list(REPLIES)
    assert {name: (line.gold, line.right, line.n) for name, line in found.categories.items()} == {
        "abroad": ("refuse", 3, 5), "action": ("refuse", 1, 5), "city_missing": ("ask", 3, 5),
        "call_control": ("call", 2, 5)}


def test_intervals_are_wilsons_and_the_balanced_number_is_their_mean(summary):
    found = summary().abstention
    assert found.shares == {"call": wilson(2, 5), "ask": wilson(3, 5), "refuse": wilson(4, 10)}
    assert found.balanced.estimate == pytest.approx((2 / 5 + 3 / 5 + 4 / 10) / 3) and not found.drawn
    verdicts = [1.0] * 2 + [0.0] * 3 + [1.0] * 3 + [0.0] * 2 + [1.0] * 4 + [0.0] * 6
    expected = ability_interval(verdicts, ["c"] * 5 + ["a"] * 5 + ["r"] * 10)
    assert (found.balanced.low, found.balanced.high) == pytest.approx((expected.low, expected.high))


@pytest.mark.parametrize("options", [{"repeats": 2}, {"asked": tuple(
    Task(t.task_id, t.question, t.expected, (), t.category, t.set, t.expect, {"phrasing": "p1"}) for t in TASKS)}])
def test_rows_of_one_task_or_template_are_drawn_together(summary, options):
    found = summary(**options).abstention
    assert found.drawn and found.shares["refuse"].estimate == 0.4
    assert found.shares["refuse"] != wilson(4, 10)


def test_expect_moves_the_matrix_and_never_call_match(summary):
    """Refusing where one should ask is call_match, as the scorer has it, and wrong here."""
    found = summary(lambda t: REFUSE)
    assert found.strict["call_match"] == 0.75
    assert (found.abstention.classes["ask"].right, found.abstention.classes["refuse"].right) == (0, 10)


def test_a_town_outside_the_registry_is_a_policy_and_counts_in_no_class(summary):
    """Two readers who saw prompt and tools only called directly in 53 of 54 such questions: that is no mistake."""
    looked = Reply.from_text('{"name": "list_cities", "arguments": {}}')
    outside = [task(POLICY, number) for number in range(4)]
    asked = (*TASKS, *(replace(t, accept=((Call("list_cities"),),)) for t in outside))
    done = {POLICY: (looked, REFUSE, ASK, CALL), **REPLIES}
    found = summary(lambda t: done[t.category][int(t.task_id[-1])], asked).abstention
    assert found.classes == summary().abstention.classes and found.balanced == summary().abstention.balanced
    line = found.categories[POLICY]
    assert (line.gold, tuple(line.done.values()), line.right) == ("refuse", (2, 1, 1, 0, 0), 3)
    assert summary(lambda t: REFUSE, tuple(outside)).abstention.balanced is None


def test_every_expectation_has_categories():
    assert {*EXPECTS, "call"} == set(CATEGORIES.values())


def test_without_the_tasks_their_categories_tell_the_gold(summary):
    assert summary(known=False).abstention == summary().abstention


def test_rows_of_which_nobody_knows_the_gold_are_left_out(summary):
    own = (Task("x", "Was nun?", (), category="own"), *TASKS)
    found = summary(lambda t: by_hand(t) if t.task_id != "x" else CALL, own, known=False).abstention
    assert found == summary().abstention
    only = summary(lambda t: CALL, own[:1], known=False)
    assert only.abstention is None
    known = summary(lambda t: REFUSE, own[:1]).abstention
    assert known.classes["refuse"].right == 1, "no call expected and nothing said about it: to refuse"


def test_a_missing_class_leaves_no_balanced_number(summary):
    assert summary(asked=TASKS[:10]).abstention.balanced is None


def test_stored_verdicts_without_outcomes_make_no_matrix(make_result):
    value = make_result(by_hand, tasks=TASKS, set="abstain")
    run = run_from_json(value, "r.json")
    unknown = [row.__class__(row.task_id, row.category, 1, Score("unknown", call_match=True)) for row in run.rows]
    assert abstention_of(unknown, {}) is None


# --- fixed policies ---------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("policy, replier", [
    ("always calls, at best", lambda t: CALL),
    ("never calls, never asks", lambda t: REFUSE),
    ("always asks back", lambda t: ASK),
])
def test_a_policy_gets_what_it_does_by_definition(summary, policy, replier):
    defined = next(p for p in POLICIES if p.name == policy)
    found = summary(replier).abstention
    assert {gold: interval.estimate for gold, interval in found.shares.items()} == defined.right
    assert found.balanced.estimate == pytest.approx(defined.balanced)


def overview(summaries: list[Summary]) -> list[tuple[str, ...]]:
    return [row[:2] for row in report_sections(summaries)[0].tables[0].rows]


def test_fixed_policies_stand_beside_runs_and_stored_baselines(summary):
    """What a stored baseline gets is no bound: first_tool always calls, and finds no right call."""
    run = summary()
    assert overview([run]) == [
        ("demo (incomplete, budget-limited) !1", "46.7"), ("always calls, at best (by definition)", "33.3"),
        ("never calls, never asks (by definition)", "33.3"), ("always asks back (by definition)", "66.7")]
    stored = [run, summary(lambda t: REFUSE, model="never_calls", backend="baseline"),
              summary(lambda t: WRONG, model="first_tool", backend="baseline")]
    assert overview(stored) == [
        ("never_calls (baseline)", "33.3"), ("first_tool (baseline)", "0.0"),
        ("demo (incomplete, budget-limited) !1", "46.7"), ("always calls, at best (by definition)", "33.3"),
        ("never calls, never asks (by definition)", "33.3"), ("always asks back (by definition)", "66.7")]


def test_the_order_is_by_the_balanced_number_and_nobody_has_a_rank(summary):
    """By ability the silent one would win."""
    runs = [summary(lambda t: REFUSE, model="silent"), summary(lambda t: CALL if t.expected else ASK, model="good")]
    assert runs[0].strict["ability"] == 0.75 and tiers(runs) == [None, None]
    assert [name.split()[0] for name, _ in overview(runs)[:2]] == ["good", "silent"]


# --- the report -------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("form, name", [("text", "abstention.txt"), ("markdown", "abstention.md")])
def test_the_report(summary, golden, form, name):
    baseline = summary(lambda t: REFUSE, model="never_calls", backend="baseline")
    golden(name, render(report_sections([summary(), baseline, summary(lambda t: CALL, model="other")]), form))


def test_for_programs(summary):
    [group] = json.loads(report_json([summary()]))["groups"]
    found = group["runs"][0]["abstention"]
    assert found["balanced"]["estimate"] == pytest.approx(7 / 15) and found["classes"]["ask"]["done_refuse"] == 1
    limits = wilson(4, 10)
    assert found["classes"]["refuse"]["share"] == {"estimate": 0.4, "low": limits.low, "high": limits.high}
    assert found["categories"]["action"]["done_unreadable"] == 2 and group["runs"][0]["robustness"] is None
    lines = report_csv([summary()], "abstention").splitlines()
    assert lines[0] == report_csv([], "abstention").strip() and len(lines) == 5
    assert lines[1] == "demo,r/demo.json,refuse,abroad,5,3,1,1,2,0,1"


def test_from_tasks_to_report(tmp_path):
    """never_calls says one sentence to everything: right where one should refuse, and nowhere else."""
    rows = [t.to_json() for t in TASKS]
    file, out = tmp_path / "abstain.jsonl", tmp_path / "r.json"
    file.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
    for command in (["run_eval.py", "--tasks", file, "--set", "abstain", "--model", "never_calls", "--out", out],
                    ["report.py", "--tasks", file, out]):
        done = subprocess.run([sys.executable, *map(str, (ROOT / command[0], *command[1:]))], capture_output=True,
                              text=True, encoding="utf-8", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["never_calls", "(baseline)", "33.3"] in [line[:3] for line in lines]
    assert ["never_calls", "(baseline)", "refuse", "0", "0", "10", "0", "0", "10", "10"] in lines
    assert ["never_calls", "(baseline)", "ask", "0", "0", "5", "0", "0", "0", "5"] in lines
