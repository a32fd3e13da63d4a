"""Two runs task by task: what flips, which test decides, what is refused, and the sentence for people."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

import pytest

from infranode_eval.reports.archive import run_from_json
from infranode_eval.reports.comparison import compare, sentence
from infranode_eval.reports.comparison_tables import comparison_json, comparison_sections, flip_json
from infranode_eval.reports.export import csv_text
from infranode_eval.reports.tasksets import TaskSet
from infranode_eval.statistics import Pairs, mcnemar, mcnemar_exact, paired_difference
from infranode_eval.tables import render
from lm_eval_task.errors import DataError
from lm_eval_task.records import Reply, Score, tasks_fingerprint


def task_set(tasks, name="core"):
    return TaskSet(name, tasks_fingerprint(tasks), {t.task_id: t for t in tasks})


@pytest.fixture
def run(make_result, answer):
    """run(model, wrong={ids}, failed={ids}, **header): right but for the tasks named."""

    def make(model, wrong=(), failed=(), **header):

        def replier(task):
            if task.task_id in failed:
                return Score.failure("infra_error", "timed out")
            return Reply.from_text("Nein." if task.task_id in wrong else answer(task))

        return run_from_json(make_result(replier, model=model, **header), f"results/{model}.json")

    return make


@pytest.fixture
def ids(demo_tasks):
    return [t.task_id for t in demo_tasks]


@pytest.mark.parametrize("first_wrong, second_wrong, says, why", [
    (range(0), range(0), "b and a solve the same tasks (40 against 40 of 40).", "no discordant pair, no division by 0"),
    (range(5), range(5), "b and a solve the same tasks (35 against 35 of 40).", "both wrong on the same tasks"),
    (range(5), range(0), "b solves 5 tasks more than a (40 against 35 of 40); with 40 tasks that is not more than "
                         "chance (p = 0.0625, McNemar, exact).", "2 · 0.5^5 = 0.0625"),
    (range(6), range(0), "b solves 6 tasks more than a (40 against 34 of 40); that is more than chance (p = 0.0312, "
                         "McNemar, exact).", "2 · 0.5^6 = 0.03125"),
    (range(0), range(1), "b solves 1 task fewer than a (39 against 40 of 40); with 40 tasks that is not more than "
                         "chance (p = 1, McNemar, exact).", "one task, singular"),
    (range(2), range(2, 4), "b and a solve equally many tasks (38 against 38 of 40), but not the same ones: 2 gained, "
                            "2 lost.", "equal sums hide flips"),
    (range(30), range(0), "b solves 30 tasks more than a (40 against 10 of 40); that is more than chance (p < 0.0001, "
                          "McNemar, continuity-corrected).", "from 25 discordant pairs the corrected test decides"),
])
def test_the_sentence(run, ids, first_wrong, second_wrong, says, why):
    found = compare(run("a", {ids[i] for i in first_wrong}), run("b", {ids[i] for i in second_wrong}))
    assert sentence(found, ("a", "b")) == says, why


def test_numbers_are_those_of_the_statistics(run, ids):
    found = compare(run("a", set(ids[:7])), run("b", set(ids[5:8])))
    assert (len(found.gained), len(found.lost)) == (5, 1)
    assert (found.corrected, found.exact) == (mcnemar(5, 1), mcnemar_exact(5, 1))
    assert found.difference == paired_difference(Pairs(32, 5, 1, 2)) and found.method == "Newcombe"
    assert (found.whole.first, found.whole.second, found.whole.n) == (33, 37, 40)
    parts = {name: (p.n, p.first, p.second, p.gained, p.lost) for name, p in found.parts.items()}
    assert parts == {"routing_named": (4, 0, 4, 4, 0), "resource_key": (32, 29, 29, 1, 1),
                     "not_covered": (4, 4, 4, 0, 0)}


def test_a_comparison_turned_round_is_its_mirror(run, ids):
    one, other = run("a", set(ids[:7])), run("b", set(ids[5:8]))
    there, back = compare(one, other), compare(other, one)
    assert there.difference.estimate == -back.difference.estimate
    assert there.difference.low == pytest.approx(-back.difference.high) and there.p == back.p
    assert [f.task_id for f in there.gained] == [f.task_id for f in back.lost]


def test_failures_are_not_solved_and_stand_apart(run, ids):
    found = compare(run("a"), run("b", failed=set(ids[:3])))
    assert (found.whole.n, found.whole.second, found.answered.n, found.answered.second) == (40, 37, 37, 37)
    assert any("3 of 40 rows are failures" in note for note in found.notes)
    assert [f.second.score.outcome for f in found.lost] == ["infra_error"] * 3


@pytest.mark.parametrize("header, word", [
    ({"mode": "native"}, "mode prompt / native"),
    ({"hashes": {"tasks": "x" * 64, "tools": None, "prompt": None}}, "tools hash"),
    ({"suite": "parcours"}, "suite infranode_tools_de / parcours"),
])
@pytest.mark.parametrize("common", [False, True])
def test_unlike_runs_are_refused_in_one_line(run, header, word, common):
    with pytest.raises(DataError) as error:
        compare(run("a"), run("b", **header), common=common)
    assert word in str(error.value) and "\n" not in str(error.value)
    assert "results/a.json and results/b.json cannot be compared" in str(error.value)


def test_other_tasks_are_refused_and_common_ones_compared_on_demand(run, demo_tasks, ids):
    changed = (replace(demo_tasks[0], question="Etwas anderes?"), *demo_tasks[1:30])
    one, other = run("a", set(ids[:3])), run("b", tasks=changed)
    sets = [task_set(demo_tasks), task_set(changed, "second")]
    with pytest.raises(DataError, match="tasks hash .*; --common compares the tasks that both hold"):
        compare(one, other, sets)
    found = compare(one, other, sets, common=True)
    assert found.n == 29, "30 ids in common, one of them asks something else"
    assert [f.task_id for f in found.gained] == ids[1:3]
    assert any("results/a.json: 11 of its 40 tasks are left out" in note for note in found.notes)
    with pytest.raises(DataError, match=r"b\.json: its tasks .* are not known.*--tasks"):
        compare(one, other, sets[:1], common=True)


def test_no_task_in_common_is_an_error(run, demo_tasks):
    sets = [task_set(demo_tasks[:20]), task_set(demo_tasks[20:], "second")]
    with pytest.raises(DataError, match="no task in common"):
        compare(run("a", tasks=demo_tasks[:20]), run("b", tasks=demo_tasks[20:]), sets, common=True)


@pytest.mark.parametrize("header, note", [
    ({"setup": "R"}, "they also differ in set-up S / R"),
    ({"scorer_version": "0.9"}, "judged by other rules, scorer version"),
])
def test_what_else_differs_is_said(run, header, note):
    assert any(n.startswith(note) for n in compare(run("a"), run("b", **header)).notes)


def test_beyond_the_core_set_tasks_of_one_template_count_together(run, demo_tasks, ids):
    """Every flip is in one template (charging × k1): McNemar sees eight, the clusters see one."""
    wrong = {i for i in ids if i.endswith("-charging")}
    core = compare(run("a", wrong), run("b"), [task_set(demo_tasks)])
    extended = compare(run("a", wrong), run("b"), [task_set(demo_tasks, "extended")])
    assert core.p == mcnemar_exact(8, 0) < 0.05 and core.test == "McNemar, exact"
    assert extended.p == 1.0 and extended.test == "paired test by clusters" and extended.corrected is not None
    assert extended.method == "cluster bootstrap"
    assert extended.difference.high - extended.difference.low > core.difference.high - core.difference.low


def test_equal_runs_beyond_the_core_set_are_not_equal_for_certain(run, demo_tasks, ids):
    found = compare(run("a", set(ids[:7])), run("b", set(ids[:7])), [task_set(demo_tasks, "extended")])
    assert found.difference.estimate == 0 and found.difference.low < -0.05 < 0.05 < found.difference.high
    assert found.p == 1.0


def test_repeats_are_compared_by_their_share(make_result, answer, demo_tasks):
    asked: dict[str, int] = {}

    def sometimes(task):
        asked[task.task_id] = asked.get(task.task_id, 0) + 1
        return Reply.from_text(answer(task) if asked[task.task_id] != 2 or task != demo_tasks[0] else "Nein.")

    one = run_from_json(make_result(sometimes, repeats=3, model="a"), "a.json")
    other = run_from_json(make_result(lambda t: Reply.from_text(answer(t)), repeats=3, model="b"), "b.json")
    found = compare(one, other)
    assert found.whole.first == pytest.approx(39 + 2 / 3) and found.n == 40
    assert found.corrected is None and found.exact is None and found.test == "paired test by tasks"
    [flip] = found.flips
    assert flip.change == pytest.approx(1 / 3)
    assert (flip.first.score.outcome, flip.second.score.outcome) == ("no_call", "ok")
    assert sentence(found, ("a", "b")).startswith("b solves 0.3 tasks more than a (40 against 39.7 of 40)")


@pytest.fixture
def mixed(run, ids):
    return compare(run("vendor/a|b", set(ids[:7])), run("vendor/\x1b[31mred", set(ids[5:8]), failed={ids[9]}))


@pytest.mark.parametrize("form, name", [("text", "compare.txt"), ("markdown", "compare.md")])
def test_the_whole_comparison(mixed, golden, form, name):
    golden(name, render(comparison_sections(mixed), form))


def test_json_holds_what_the_tables_show(mixed):
    value = json.loads(json.dumps(comparison_json(mixed)))
    assert value["all"] == {"n": 40, "first": 33, "second": 36, "gained": 5, "lost": 2}
    assert value["mcnemar"]["p_exact"] == value["p"] == mcnemar_exact(5, 2)
    assert value["difference"]["estimate"] == pytest.approx(3 / 40)
    assert [f["task_id"] for f in value["flips"]] == [f.task_id for f in mixed.flips]


def test_flips_as_csv(mixed):
    rows = list(csv.DictReader(io.StringIO(csv_text([flip_json(f) for f in mixed.flips]))))
    assert [row["task_id"] for row in rows] == [f.task_id for f in mixed.flips]
    assert {row["change"] for row in rows} == {"1.0", "-1.0"}


def test_runs_of_one_model_are_told_apart_by_their_files(make_result, answer):
    runs = [run_from_json(make_result(lambda t: Reply.from_text(answer(t))), f"{n}.json") for n in "ab"]
    assert comparison_sections(compare(*runs))[0].title == "demo (b.json) compared with demo (a.json): 40 tasks"


def test_numbers_only_cannot_be_paired(run):
    with pytest.raises(DataError, match="holds numbers only"):
        compare(run("a"), replace(run("b"), rows=()))
