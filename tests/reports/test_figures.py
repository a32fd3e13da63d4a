"""One run as numbers: denominators, intervals, difficulty, first calls, warnings."""

from __future__ import annotations

import itertools
import json
import time
from dataclasses import replace

import pytest

from infranode_eval import statistics
from infranode_eval.reports.archive import run_from_json
from infranode_eval.reports.figures import PROFILE, first_call, summarise
from infranode_eval.reports.sections import report_sections
from infranode_eval.reports.tasksets import TaskSet
from infranode_eval.statistics import wilson
from infranode_eval.tables import render
from lm_eval_task.records import Call, Reply, Score, Task, tasks_fingerprint


@pytest.fixture
def core(demo_tasks):
    return TaskSet("core", tasks_fingerprint(demo_tasks), {t.task_id: t for t in demo_tasks})


@pytest.fixture
def summary_of(make_result, core):
    """summary_of(replier, **header): a demo run, summarised."""

    def summary(replier, known=True, **options):
        return summarise(run_from_json(make_result(replier, **options), "r.json"), [core] if known else [])

    return summary


def call(name, **arguments):
    return Reply.from_text(json.dumps({"name": name, "arguments": arguments}))


def test_an_oracle_is_all_right(summary_of, answer):
    found = summary_of(lambda t: Reply.from_text(answer(t)))
    assert found.strict["call_match"] == found.answered["call_match"] == found.macro == 1.0
    assert (found.dataset, found.task_count, found.repeats) == ("core", 40, 1)
    assert found.outcomes == {"ok": 40} and found.method == "Wilson"
    assert (found.interval.low, found.interval.high) == (wilson(40, 40).low, 1.0)


def test_failures_are_not_solved_and_not_answered(summary_of, answer):
    found = summary_of(lambda t: Score.failure("infra_error", "timeout") if t.category == "routing_named"
                       else Reply.from_text(answer(t)))
    assert found.strict["call_match"] == 36 / 40 and found.answered["call_match"] == 1.0
    assert (found.categories["routing_named"].n, found.categories["routing_named"].answered) == (4, 0)
    assert found.outcomes == {"infra_error": 4, "ok": 36}
    assert any(w.startswith("4 of 40 rows are failures") for w in found.warnings)


def test_rows_are_counted_by_difficulty_only_where_it_is_known(make_result, summary_of, answer, demo_tasks, core):
    buckets = {t.task_id: "hard" if t.task_id.endswith("charging") else "easy" for t in demo_tasks[:-1]}

    def easy_only(task):
        return Reply.from_text("Nein." if buckets.get(task.task_id) == "hard" else answer(task))

    found = summarise(run_from_json(make_result(easy_only), "r.json"), [replace(core, buckets=buckets)])
    assert {name: (c.solved, c.n) for name, c in found.difficulty.items()} == {"easy": (31, 31), "hard": (0, 8)}, \
        "no row is medium, and one task has no bucket"
    assert summary_of(easy_only).difficulty == summary_of(easy_only, known=False).difficulty == {}


def test_rows_are_dropped_from_the_summary(summary_of, answer):
    assert summary_of(lambda t: Reply.from_text(answer(t))).run.rows == ()


def test_repeats_and_other_sets_get_a_cluster_bootstrap(summary_of, answer, core, make_result):
    def some(task):
        return Reply.from_text(answer(task) if task.task_id.endswith("charging") else "Nein.")

    repeated = summary_of(some, repeats=3)
    assert repeated.repeats == 3 and repeated.task_count == 40 and repeated.method.startswith("cluster bootstrap")
    once = summary_of(some)
    assert repeated.interval.low == pytest.approx(once.interval.low, abs=0.03), "repeats of a task are one task"
    extended = summarise(run_from_json(make_result(some), "r.json"), [replace(core, name="extended")])
    assert extended.method.startswith("cluster bootstrap")
    assert extended.interval.high - extended.interval.low > once.interval.high - once.interval.low, \
        "one key solved and the others not: few clusters, a wide interval"


GOLD = Task("n", "?", (Call("get_city_resource", {"slug": "ulm", "resource": "heritage"}),), category="not_covered")


@pytest.mark.parametrize("reply, first", [
    (call("get_city_resource", slug="ulm", resource="heritage"), "direct key"),
    (call("get_city_resource", slug="bonn", resource="heritage"), "direct key"),
    (call("get_city_resource", slug="ulm", resource="parking"), "other key"),
    (call("get_city_overview", slug="ulm"), "overview"),
    (call("list_cities"), "list_cities"),
    (call("weather", slug="ulm"), "other tool"),
    (call("nonsense", slug="ulm"), "other tool"),
    (Reply.from_text("Das weiß ich nicht."), "no call"),
    (Reply.from_text('{"name": "weather", "arguments": {'), "unreadable"),
])
def test_first_call_of_a_not_covered_task(reply, first, make_result):
    run = run_from_json(make_result(lambda t: reply, tasks=(GOLD,)), "r.json")
    assert first_call(run.rows[0], GOLD) == first


def test_profile_counts_answers_by_first_call(summary_of, answer):
    kinds = iter([call("list_cities"), call("get_city_overview", slug="bonn"), Reply.from_text("Nein."),
                  Score.failure("infra_error", "reset")])
    found = summary_of(lambda t: next(kinds) if t.category == "not_covered" else Reply.from_text(answer(t)))
    assert found.profile == dict.fromkeys(PROFILE, 0) | {"list_cities": 1, "overview": 1, "no call": 1}


def test_profile_needs_the_gold(summary_of, answer):
    assert summary_of(lambda t: Reply.from_text(answer(t)), known=False).profile is None


def test_stored_numbers_that_the_rows_do_not_give_are_named(make_result, answer):
    value = make_result(lambda t: Reply.from_text(answer(t)))
    value["metrics"] = value["metrics"] | {"call_match": 0.5, "own_number": 3.0}
    found = summarise(run_from_json(value, "r.json"))
    assert found.strict["call_match"] == 1.0
    assert any(w.startswith("stored call_match differ") for w in found.warnings)


@pytest.mark.parametrize("wrap, share, why", [
    ("<tool_call>{}</tool_call>", 1.0, "wrong calls count, too, and silence is no call"),
    ("{}", 0.0, "the same calls, read directly"),
])
def test_recovered_is_a_share_of_all_readable_calls(make_result, toolset, answer, wrap, share, why):
    def replier(task):
        if task.category == "not_covered":
            return Reply.from_text("Nein.")
        text = answer(task).replace("charging", "parking")
        return Reply.from_text(wrap.format(text))

    value = make_result(replier)
    found = summarise(run_from_json(value, "r.json", toolset), tools=toolset)
    assert found.shares["recovered"] == share and found.outcomes["wrong_args"] == 8, why


def test_a_recovered_share_of_nothing_is_unknown(summary_of):
    assert summary_of(lambda t: Reply.from_text("Nein.")).shares["recovered"] is None


def test_intervals_are_drawn_when_asked_for(make_result, answer, demo_tasks):
    drawn = statistics._packed.cache_info
    before = drawn()
    value = make_result(lambda t: Reply.from_text(answer(t) if t != demo_tasks[0] else "Nein."), tasks=demo_tasks[:37],
                        repeats=2)
    found = summarise(run_from_json(value, "r.json"))
    assert found.method.startswith("cluster bootstrap (2,000 draws") and drawn() == before, "nothing is drawn yet"
    assert found.interval.high == 1.0 and drawn() != before


def test_runs_over_one_set_share_their_draws(make_result, core, answer, demo_tasks):
    """A thousand results must not be drawn a thousand times; one interval for each run is all that a report needs."""
    extended = replace(core, name="extended")
    summaries = []
    for number in range(12):
        value = make_result(lambda t, n=number: Reply.from_text("Nein." if t in demo_tasks[n:n + 3] else answer(t)))
        summaries.append(summarise(run_from_json(value, f"{number}.json"), [extended]))
    statistics._packed.cache_clear()
    statistics._drawn_sizes.cache_clear()
    render(report_sections(summaries), "text")
    asked = statistics._drawn_sizes.cache_info()
    assert statistics._packed.cache_info().misses == 1, "the draws are made once"
    assert asked.hits + asked.misses == 12, "each interval is asked for once"


def test_two_hundred_results_of_91_rows_are_summarised_in_two_seconds(make_result, toolset, core, answer):
    """Half of the calls are right, a quarter is wrong and fenced, a quarter wrong in a format that is read again."""
    wrong = '{"name": "weather", "arguments": {"slug": "trier"}}'
    forms = itertools.cycle([None, f"```json\n{wrong}\n```", None, f"<tool_call>{wrong}</tool_call>"])
    value = make_result(lambda t: Reply.from_text(next(forms) or answer(t)), repeats=3)
    value["rows"] = value["rows"][:91]
    value["counts"] = {"n": 91, "scored": 91, "failed": 0}
    before = time.process_time()
    for _ in range(200):
        found = summarise(run_from_json(value, "r.json", toolset), [core], toolset)
    assert time.process_time() - before < 2.0
    assert found.shares["recovered"] == pytest.approx(22 / 91)
