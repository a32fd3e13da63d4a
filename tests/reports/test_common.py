"""Runs over several versions of a set: which rows are common, and that every number comes from them alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from infranode_eval.reports.archive import run_from_json
from infranode_eval.reports.common import over_common_rows
from infranode_eval.reports.figures import summarise
from infranode_eval.reports.ranks import tiers
from infranode_eval.reports.sections import grouped
from infranode_eval.reports.tasksets import TaskSet
from lm_eval_task.errors import DataError
from lm_eval_task.metrics import aggregate
from lm_eval_task.records import Call, Reply, Score, tasks_fingerprint


def task_set(tasks, name="core", version=None):
    return TaskSet(name, tasks_fingerprint(tasks), {t.task_id: t for t in tasks}, version)


@pytest.fixture
def versions(demo_tasks):
    """(the tasks of July, those of December): three are retired, one is new, one has another gold, one another text."""
    new = replace(demo_tasks[0], task_id="routing_named-hamm", question="Wie warm ist es in Hamm?")
    gold = replace(demo_tasks[4], expected=(Call("get_city_resource", {"slug": "koeln", "resource": "energy"}),))
    worded = replace(demo_tasks[5], question="Wie viele Gäste hat Köln?")
    return demo_tasks, (new, *demo_tasks[3:4], gold, worded, *demo_tasks[6:])


@pytest.fixture
def run(make_result, answer):
    """run(model, tasks, wrong={ids}, failed={ids}, **header)"""

    def make(model, tasks, wrong=(), failed=(), **header):
        def replier(task):
            if task.task_id in failed:
                return Score.failure("infra_error", "timed out")
            return Reply.from_text("Nein." if task.task_id in wrong else answer(task))

        return run_from_json(make_result(replier, tasks=tuple(tasks), model=model, **header), f"results/{model}.json")

    return make


def test_a_row_is_common_by_its_content_and_not_by_its_id_alone(versions, run, toolset):
    old, new = versions
    found, left_out = over_common_rows([run("old", old), run("new", new)], [task_set(old), task_set(new)], toolset)
    assert left_out == []
    common = [t.task_id for t in old if t in new]
    assert len(common) == 35
    assert old[4].task_id == new[2].task_id not in common, "the same id with another gold"
    assert old[5].task_id == new[3].task_id not in common, "the same id with another question"
    assert [list(s.tally.task_ids) for s in found] == [common, common]
    notes = [next(w for w in s.warnings if "left out" in w) for s in found]
    assert [note.split(":")[0] for note in notes] == ["5 of its 40 rows are left out", "3 of its 38 rows are left out"]


def test_both_stand_in_one_table_and_are_ranked(versions, run, toolset):
    old, new = versions
    sets = [task_set(old), task_set(new)]
    bad = {t.task_id for t in new if t.category == "resource_key"}
    runs = [run("old", old), run("new", new, wrong=bad)]
    assert len(grouped(summarise(r, sets) for r in runs)) == 2, "without the restriction they are apart"
    [(group, inside)] = grouped(over_common_rows(runs, sets, toolset)[0])
    assert (group.dataset, group.count) == ("core, common rows", 35)
    assert [s.run.model for s in inside] == ["old", "new"] and tiers(inside) == [1, 2]


def test_every_number_is_that_of_a_run_that_was_asked_the_common_rows_only(versions, run, toolset):
    """Restricting a run and asking for the common rows at once must give the same numbers to the last bit."""
    old, new = versions
    common = [t for t in old if t in new]
    wrong = {t.task_id for t in old[::3]}
    failed = {old[0].task_id, old[7].task_id}        # the first is retired, the other is common
    restricted, _ = over_common_rows([run("a", old, wrong, failed), run("b", new)], [task_set(old), task_set(new)],
                                     toolset)
    direct = summarise(run("a", common, wrong, failed), [task_set(common)], toolset)
    one = restricted[0]
    for name in ("strict", "answered", "interval", "method", "categories", "difficulty", "outcomes", "fates", "shares",
                 "profile", "tally", "task_count", "repeats", "macro"):
        assert getattr(one, name) == getattr(direct, name), name
    assert (one.run.n, one.run.failed, one.run.hashes) == (direct.run.n, 1, direct.run.hashes)
    assert one.run.metrics == aggregate([(r.category, r.score) for r in run("a", common, wrong, failed).rows])
    assert not any("differ from what the rows give" in warning for warning in one.warnings)


def test_a_run_that_failed_on_left_out_rows_only_is_complete(versions, run, toolset):
    old, new = versions
    found, _ = over_common_rows([run("a", old, failed={old[0].task_id}), run("b", new)],
                                [task_set(old), task_set(new)], toolset)
    assert found[0].run.complete and not found[0].run.failed


def test_repeats_are_kept(versions, run, toolset):
    old, new = versions
    found, _ = over_common_rows([run("a", old, repeats=3), run("b", new, repeats=3)], [task_set(old), task_set(new)],
                                toolset)
    assert [(s.run.n, s.task_count, s.repeats) for s in found] == [(105, 35, 3)] * 2


def test_a_category_that_a_version_renamed_counts_as_one(versions, run, toolset):
    old, _ = versions
    renamed = tuple(replace(t, category="named") if t.category == "routing_named" else t for t in old[1:])
    found, _ = over_common_rows([run("a", old), run("b", renamed)], [task_set(old), task_set(renamed)], toolset)
    assert list(found[0].categories) == list(found[1].categories) == ["routing_named", "resource_key", "not_covered"]


def test_runs_over_the_same_tasks_are_left_as_they_are(versions, run, toolset):
    old, _ = versions
    [one, other], _ = over_common_rows([run("a", old), run("b", old)], [task_set(old)], toolset)
    assert one.dataset == other.dataset == "core"
    assert not any("left out" in warning for warning in (*one.warnings, *other.warnings))


def test_runs_that_must_not_be_compared_are_not_restricted_by_each_other(versions, run, toolset):
    old, new = versions
    runs = [run("a", old), run("b", new[5:], mode="native"), run("c", new, setup="R")]
    found, _ = over_common_rows(runs, [task_set(old), task_set(new), task_set(new[5:])], toolset)
    assert [s.task_count for s in found] == [40, 33, 38]


def test_where_all_runs_share_no_row_each_set_is_restricted_by_itself(demo_tasks, run, toolset):
    core, core_new, other = demo_tasks[:10], demo_tasks[2:10], demo_tasks[20:]
    sets = [task_set(core), task_set(core_new), task_set(other, "extended")]
    found, _ = over_common_rows([run("a", core), run("b", core_new), run("c", other)], sets, toolset)
    assert [(s.run.model, s.dataset, s.task_count) for s in found] == [
        ("a", "core, common rows", 8), ("b", "core, common rows", 8), ("c", "extended", 20)]
    only, _ = over_common_rows([run("a", core), run("c", other)], sets, toolset, "extended")
    assert [s.run.model for s in only] == ["c"]


@pytest.mark.parametrize("names, clustered", [(("core", "full"), False), (("extended", "full"), True)])
def test_intervals_draw_clusters_only_where_rows_come_from_templates(demo_tasks, run, toolset, names, clustered):
    sets = [task_set(demo_tasks[:30], names[0]), task_set(demo_tasks, names[1])]
    found, _ = over_common_rows([run("a", demo_tasks[:30]), run("b", demo_tasks)], sets, toolset)
    assert [bool(s.tally.clusters) for s in found] == [clustered] * 2
    assert ["bootstrap" in s.method for s in found] == [clustered] * 2


def test_what_cannot_be_restricted_is_named_and_left_out(versions, run, toolset):
    old, new = versions
    bare = replace(run("numbers", old), rows=())
    found, left_out = over_common_rows([run("a", old), run("unknown", new), bare], [task_set(old)], toolset)
    assert [s.run.model for s in found] == ["a"]
    assert [line.split(":")[0] for line in left_out] == ["results/unknown.json", "results/numbers.json"]
    assert "--tasks FILE" in left_out[0] and "holds numbers only" in left_out[1]


def test_no_row_in_common_is_an_error_that_names_the_runs(demo_tasks, run, toolset):
    one, other = demo_tasks[:10], demo_tasks[10:]
    with pytest.raises(DataError, match=r"results/a.json, results/b.json: .* no row in common"):
        over_common_rows([run("a", one), run("b", other)], [task_set(one), task_set(other)], toolset)
    with pytest.raises(DataError, match="over the set robust"):
        over_common_rows([run("a", one)], [task_set(one)], toolset, "robust")
