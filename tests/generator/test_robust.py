"""The robustness set: the same gold, both sides of each pair, and a reason for each row that is missing."""

from __future__ import annotations

from collections import Counter

from infranode_eval.generator.robust import OF_CORE, PER_RULE, VARIANTS, WHOLE_CORE, WRITTEN, robust_tasks, written
from infranode_eval.generator.splits import split_of
from infranode_eval.generator.templates import core_rows
from infranode_eval.generator.variants import RULES
from lm_eval_task.dataset import load_tasks
from lm_eval_task.tools import read_tools

BASES = load_tasks(read_tools(), "full")


def test_every_variant_is_a_rule_or_written_by_hand() -> None:
    assert ("original", *RULES, *WRITTEN) == VARIANTS
    assert set(WHOLE_CORE) <= set(VARIANTS)


def test_the_same_tasks_give_the_same_set() -> None:
    assert robust_tasks(BASES) == robust_tasks(BASES)


def test_a_rule_is_used_as_often_as_planned() -> None:
    rows, _ = robust_tasks(BASES)
    core = {str(row["task_id"]) for row in core_rows()}
    for name in RULES:
        mine = [row for row in rows if row.extra["variant"] == name]
        of_core = sum(row.extra["base"] in core for row in mine)
        assert (len(mine), of_core) == ((91, 91) if name in WHOLE_CORE else (PER_RULE, of_core))
        assert of_core <= OF_CORE or name in WHOLE_CORE


def test_no_base_is_in_train_or_dev() -> None:
    by_id = {task.task_id: task for task in BASES}
    rows, _ = robust_tasks(BASES)
    assert {split_of(by_id[str(row.extra["base"])]) for row in rows} == {"test"}


def test_some_tasks_meet_many_variants() -> None:
    rows, _ = robust_tasks(BASES)
    met = Counter(row.extra["base"] for row in rows)
    assert sum(count >= 6 for count in met.values()) >= 60


def test_variants_of_a_dropped_base_are_lost_with_a_reason() -> None:
    gone = written()[0].base
    rows, lost = robust_tasks([task for task in BASES if task.task_id != gone])
    assert not [row for row in rows if row.extra["base"] == gone]
    assert {name for name, _ in lost} == {f"robust-{row.variant}-{row.base}" for row in written() if row.base == gone}
    assert {reason for _, reason in lost} == {"its base was dropped"}


def test_a_written_row_names_the_phrasing_of_its_base() -> None:
    by_id = {task.task_id: task for task in BASES}
    assert [row for row in written() if row.phrasing != by_id[row.base].extra["phrasing"]] == []
