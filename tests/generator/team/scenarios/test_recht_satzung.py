"""The facts of recht_satzung: what is counted, and that each slip leads to another answer, whatever the seed."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest

from infranode_eval.generator.team.scenarios.recht_satzung import (
    HOLIDAYS,
    OURS,
    PLOT,
    PLOT_AREA,
    PLOT_FACTOR,
    Row,
    draw_facts,
    fee,
    rounds,
    workspace,
)

SEEDS = [f"recht_satzung {n}" for n in range(1, 13)]


@pytest.mark.parametrize(("cost", "share", "total", "area", "cents", "why"), [
    (1000, 50, 100, 10, 5000, "half of 1,000 Euro, a tenth of it"), (100, 50, 3, 1, 1667, "1666.67 goes up"),
    (100, 50, 300, 1, 17, "16.67 goes up"), (1, 50, 100, 1, 1, "half a cent goes up"),
    (1, 49, 100, 1, 0, "less does not"),
])
def test_a_fee(cost: int, share: int, total: int, area: int, cents: int, why: str) -> None:
    assert fee(Decimal(cost), share, total, area) == cents, why


@pytest.mark.parametrize(("row", "counted"), [
    (Row("301/1", 1180, Fraction(5, 4), True, True), 1475), (Row("301/1", 1180, Fraction(5, 4), False, True), 0)])
def test_the_area_that_counts(row: Row, counted: int) -> None:
    assert row.counted == counted


@pytest.mark.parametrize("seed", SEEDS)
def test_deadlines_are_working_days_and_the_objection_is_in_time_by_the_new_statute_only(seed: str) -> None:
    facts = draw_facts(seed)
    old, new = facts.deadline(facts.first), facts.deadline(facts.second)
    assert old < facts.received <= new
    for day in (old, new, facts.received):
        assert day.weekday() < 5 and day not in HOLIDAYS


@pytest.mark.parametrize("seed", SEEDS)
def test_truncated_cents_are_wrong_cents(seed: str) -> None:
    facts = draw_facts(seed)
    exact = Fraction(facts.cost) * facts.second.shares[OURS] * int(PLOT_AREA * PLOT_FACTOR) / facts.total
    assert int(exact) != facts.fee


@pytest.mark.parametrize("seed", SEEDS)
def test_each_wrong_answer_is_another_one(seed: str) -> None:
    for row in rounds(draw_facts(seed)):
        for wrong in row.wrongs:
            assert wrong.answer != row.answer or wrong.files != row.files, (row.id, wrong.why)


def test_the_plot_of_the_notice_stands_in_its_list_as_in_the_case() -> None:
    facts = draw_facts()
    assert [r for r in facts.districts["mitte"] if r.plot == PLOT] == [Row(PLOT, PLOT_AREA, PLOT_FACTOR, True, True)]
    assert f"{PLOT};1180;1,25;ja;ja" in workspace(facts)["bezirke/mitte.csv"]


def test_each_district_has_plots_that_do_not_pay_and_objections() -> None:
    for rows in draw_facts().districts.values():
        assert any(not row.liable for row in rows) and any(row.objects for row in rows)


def test_an_objection_of_a_plot_that_does_not_pay_counts_somewhere() -> None:
    assert any(row.objects and not row.liable for rows in draw_facts().districts.values() for row in rows)
