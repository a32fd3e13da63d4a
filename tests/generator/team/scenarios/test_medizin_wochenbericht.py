"""The facts of medizin_wochenbericht: what is a case, how is rounded, and what the update changes."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from fractions import Fraction

import pytest

from infranode_eval.generator.team.scenarios.medizin_wochenbericht import (
    CALLED,
    NAMES,
    OURS,
    SWAPPED,
    Report,
    Table,
    draw_facts,
    incidence,
    is_case,
    level,
    list_text,
    report_text,
    tenth,
)

SEEDS = [f"medizin_wochenbericht {n}" for n in range(1, 5)]
CASE = Report(2001, date(2026, 11, 18), "RSV", "A80+", "PCR", True, "-")
TABLE = Table("HW-1000-C", {}, 80)


@pytest.mark.parametrize(("change", "counts", "why"), [
    ({}, True, "proved by PCR, within the week"), ({"proof": "Antigen"}, True, "a test will do"),
    ({"proof": "klinisch"}, False, "the clinical picture alone will not"),
    ({"germ": "Rhinovirus"}, False, "no germ of the report"),
    ({"day": date(2026, 11, 16)}, True, "the Monday"), ({"day": date(2026, 11, 22)}, True, "the Sunday"),
    ({"day": date(2026, 11, 15)}, False, "the week before"), ({"day": date(2026, 11, 23)}, False, "the week after"),
    ({"remark": "Dublette zu 1999"}, False, "counted with the other line"),
    ({"remark": "zurückgezogen"}, False, "withdrawn"), ({"hospital": False}, True, "a case all the same"),
])
def test_a_case(change: dict, counts: bool, why: str) -> None:
    assert is_case(replace(CASE, **change)) is counts, why


@pytest.mark.parametrize(("value", "rounded", "why"), [
    (Fraction(1, 20), 0.1, "half goes up"), (Fraction(49, 1000), 0.0, "less does not"),
    (Fraction(-1, 20), -0.1, "half goes away from zero"), (Fraction(725, 10), 72.5, "nothing to round")])
def test_one_decimal(value: Fraction, rounded: float, why: str) -> None:
    assert tenth(value) == rounded, why


@pytest.mark.parametrize(("value", "named"), [(79.9, "niedrig"), (80.0, "erhöht"), (109.9, "erhöht"),
                                              (110.0, "stark erhöht")])
def test_a_level_begins_with_its_threshold(value: float, named: str) -> None:
    assert level(value, TABLE) == named


@pytest.mark.parametrize("seed", SEEDS)
def test_the_update_exchanges_two_districts_and_changes_the_level(seed: str) -> None:
    facts = draw_facts(seed)
    old, new = facts.first.people, facts.second.people
    assert (old[OURS], old[SWAPPED]) == (new[SWAPPED], new[OURS])
    assert {name for name in NAMES if old[name] != new[name]} == {OURS, SWAPPED}
    levels = [level(incidence(facts.cases[OURS], table.people[OURS]), table) for table in (facts.first, facts.second)]
    assert levels[0] != levels[1]


@pytest.mark.parametrize("seed", SEEDS)
def test_digits_are_exchanged_in_the_transcript_and_the_call_is_not_for_the_district_of_the_erratum(seed: str) -> None:
    facts = draw_facts(seed)
    assert str(facts.heard.cases) == str(facts.late.cases)[::-1] and facts.heard.cases != facts.late.cases
    assert CALLED not in (OURS, SWAPPED)


def test_a_duplicate_names_a_line_of_the_week_that_stands_in_its_list() -> None:
    for rows in draw_facts().lists.values():
        known = {row.number: row for row in rows}
        twins = [row for row in rows if row.remark.startswith("Dublette")]
        assert twins
        for row in twins:
            first = known[int(row.remark.removeprefix("Dublette zu "))]
            assert first.number < row.number and first.remark == "-" and first.germ == row.germ


def test_a_list_has_a_line_a_report() -> None:
    assert list_text([CASE]).splitlines()[1:] == ["2001;2026-11-18;RSV;A80+;PCR;ja;-"]


def test_no_gap_of_the_report_stays_open() -> None:
    facts = draw_facts()
    text = report_text(facts, facts.second)
    assert not set("<>") & set(text) and facts.second.mark in text and f"{facts.change} %".replace(".", ",") in text
