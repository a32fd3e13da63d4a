"""Two runs of the suite chain side by side: by clusters, with McNemar beside it, twins apart, worlds refused."""

from __future__ import annotations

import json

import pytest

from infranode_eval.reports.archive import run_from_json
from infranode_eval.reports.comparison import compare
from infranode_eval.reports.comparison_tables import comparison_json, comparison_sections, flip_json
from infranode_eval.tables import render
from lm_eval_task.errors import DataError
from tests.reports.chain_runs import BY_ID, CORE, WORLD, failure, known, lively, result, wrong


def run(verdicts=None, model="a", **header):
    return run_from_json(result(verdicts, model=model, **header), f"{model}.json")


def weak(*categories):
    return {one.task_id: wrong(one) for one in CORE if one.category in categories}


FIVE = ("aggregate", "filter_count", "join", "resolve_city", "lookup_then_call")


def test_the_comparison_as_people_see_it(golden) -> None:
    found = compare(run(weak(*FIVE), "before"), run(lively(), "after"), (known(),))
    golden("compare_chain.txt", render(comparison_sections(found), "text"))


def test_task_success_is_compared_by_clusters_and_mcnemar_stands_beside() -> None:
    found = compare(run(weak(*FIVE), "before"), run(model="after"), (known(),))
    assert (found.measure, found.n, found.whole.first, found.whole.second) == ("task_success", 30, 15, 30)
    assert (found.method, found.test) == ("cluster bootstrap", "paired test by clusters")
    assert found.exact == pytest.approx(2 * 0.5 ** 15) and found.corrected is not None
    assert found.p > found.exact, "tasks of one template stand or fall together"


def test_twins_stand_in_a_row_of_their_own() -> None:
    twins = {f"degraded-bonn-{n}-control": wrong(BY_ID[f"degraded-bonn-{n}-control"]) for n in (1, 2, 3)}
    found = compare(run(model="before"), run(twins, "after"), (known(),))
    assert found.flips == () and (found.control.n, found.control.first, found.control.second) == (9, 9, 6)
    assert "control twins, in no other number" in render(comparison_sections(found), "text")
    assert comparison_json(found)["control"]["lost"] == 3
    assert not [note for note in found.notes if "left out" in note]


def test_runs_without_twins_have_no_such_row() -> None:
    found = compare(*(run(model=name, tasks=CORE) for name in "ab"), (known(CORE),))
    assert found.control is None and "control" not in comparison_json(found)


def test_twins_alone_can_be_compared() -> None:
    twins = tuple(one for one in known().tasks.values() if one.set == "control")
    assert compare(*(run(model=name, tasks=twins) for name in "ab"), (known(twins),)).n == 9


def test_a_failed_twin_that_tells_no_set_is_still_a_twin() -> None:
    untold = failure() | {"set": None, "pair": None}
    found = compare(run({"injection-bonn-1-control": untold}), run(model="b"), (known(),))
    assert found.n == 30 and found.control.first == 8


@pytest.mark.parametrize("header, word", [
    ({"world": {**WORLD, "sha256": "6" * 64}}, "differ in world snapshot s1 555555555555 / snapshot s1 666666666666"),
    ({"mode": "prompt"}, "differ in mode native / prompt"),
])
def test_another_world_or_mode_is_refused(header, word) -> None:
    with pytest.raises(DataError, match=word):
        compare(run(), run(model="b", **header), (known(),))


@pytest.mark.parametrize("header, word", [
    ({"settings": {"max_result_chars": 9000}},
     "length of tool results 24000 / 9000"),
    ({"hashes": {**result()["hashes"], "prompt": "d" * 64}}, "prompt hash cccccccccccc / dddddddddddd"),
])
def test_another_prompt_or_result_limit_is_told(header, word) -> None:
    assert [note for note in compare(run(), run(model="b", **header), (known(),)).notes if word in note]


def test_with_repeats_a_task_counts_as_the_share_that_succeeds() -> None:
    found = compare(run(lively(), repeats=2, later={}), run(model="b", repeats=2), (known(),))
    assert found.exact is None and found.whole.first == 24.5 and found.whole.second == 30
    assert json.dumps([flip_json(flip) for flip in found.flips])
