"""What holds for every scenario, whatever the seed: each slip leads to another answer than the right one."""

from __future__ import annotations

from importlib import import_module

import pytest

from infranode_eval.generator.team import scenarios
from infranode_eval.generator.team.__main__ import scenario_ids
from infranode_eval.generator.team.draft import RoundDraft

SEEDS = range(1, 6)


def rounds_of(name: str, seed: int) -> tuple[RoundDraft, ...]:
    module = import_module(f"{scenarios.__name__}.{name}")
    return module.rounds(module.draw_facts(f"{name} {seed}"))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", scenario_ids())
def test_each_wrong_answer_is_another_one(name: str, seed: int) -> None:
    for row in rounds_of(name, seed):
        for wrong in row.wrongs:
            assert (wrong.answer, wrong.files) != (row.answer, row.files), (row.id, wrong.why)


@pytest.mark.parametrize("name", scenario_ids())
def test_another_seed_gives_other_answers(name: str) -> None:
    first, second = ([row.answer for row in rounds_of(name, seed)] for seed in (1, 2))
    assert first != second


@pytest.mark.parametrize("name", scenario_ids())
def test_all_ten_constraints_are_claimed(name: str) -> None:
    claims = {claim.partition(":")[0] for row in rounds_of(name, 1) for claim in row.covers}
    assert claims == {f"C{number}" for number in range(1, 11)}
