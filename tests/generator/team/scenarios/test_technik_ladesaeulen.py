"""The facts of technik_ladesaeulen: which charges count, when a check is due, what the program must print."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from datetime import date
from fractions import Fraction
from pathlib import Path

import pytest

from infranode_eval.generator.team.leak import Secret, leaks
from infranode_eval.generator.team.number import in_words
from infranode_eval.generator.team.scenarios.technik_ladesaeulen import (
    HOURS,
    LEAVING,
    OURS,
    PROGRAM,
    TRIALS,
    Entry,
    counted,
    draw_facts,
    due,
    is_counted,
    load,
    months_of,
    ours,
    register_text,
    rounds,
    workspace,
)

SEEDS = [f"technik_ladesaeulen {n}" for n in range(1, 7)]
CHARGE = Entry(40_001, date(2026, 9, 14), "LS-101", 1, 21_300, "Kunde")


@pytest.mark.parametrize(("change", "counts", "why"), [
    ({}, True, "a customer, in the month"), ({"use": "Test"}, False, "no customer"),
    ({"use": "Wartung"}, False, "no customer"), ({"energy": 500}, True, "just enough"),
    ({"energy": 499}, False, "too little"), ({"day": date(2026, 9, 1)}, True, "the first day"),
    ({"day": date(2026, 9, 30)}, True, "the last day"), ({"day": date(2026, 8, 31)}, False, "the month before"),
    ({"day": date(2026, 10, 1)}, False, "the month after"),
])
def test_a_charge_counts(change: dict, counts: bool, why: str) -> None:
    assert is_counted(replace(CHARGE, **change)) is counts, why


def test_what_was_sent_twice_counts_once() -> None:
    assert counted([CHARGE, CHARGE, replace(CHARGE, number=40_002)]) == [CHARGE, replace(CHARGE, number=40_002)]


@pytest.mark.parametrize(("power", "months"), [(75, 24), (76, 12), (150, 12), (151, 6)])
def test_how_often_a_charger_is_checked(power: int, months: int) -> None:
    assert months_of(power) == months


@pytest.mark.parametrize(("checked", "power", "day"), [
    (date(2025, 7, 14), 139, date(2026, 7, 14)), (date(2025, 7, 14), 62, date(2027, 7, 14)),
    (date(2025, 9, 28), 200, date(2026, 3, 28)), (date(2025, 12, 1), 139, date(2026, 12, 1))])
def test_when_a_check_is_due(checked: date, power: int, day: date) -> None:
    assert due(checked, power) == day


@pytest.mark.parametrize(("energy", "power", "hours", "outage", "percent", "why"), [
    (1_000_000, 100, 110, 10, 10.0, "1 MWh of 10 MWh"), (34_500, 10, 100, 0, 3.5, "3.45 goes up"),
    (34_499, 10, 100, 0, 3.4, "less does not")])
def test_a_load(energy: int, power: int, hours: int, outage: int, percent: float, why: str) -> None:
    assert load(energy, power, hours, outage) == percent, why


@pytest.mark.parametrize("seed", SEEDS)
def test_a_truncated_load_is_a_wrong_one(seed: str) -> None:
    facts = draw_facts(seed)
    exact = Fraction(facts.energy * 1000, facts.plate.power * 1000 * (HOURS - facts.outage))
    assert int(exact) / 10 != facts.load(facts.plate.power)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_firm_that_leaves_stands_in_the_first_register_only(seed: str) -> None:
    facts = draw_facts(seed)
    assert ours(facts.first).firm == LEAVING
    assert LEAVING not in register_text(facts.second) + register_text(facts.old)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_exchanged_code_exists_and_asks_for_something_else(seed: str) -> None:
    facts = draw_facts(seed)
    told, other = facts.remedy, facts.remedies[0]
    assert (other.code[1:3], other.code[3]) == (told.code[2:0:-1], told.code[3])
    assert len({remedy.text for remedy in facts.remedies}) == len({remedy.hours for remedy in facts.remedies}) == 6


@pytest.mark.parametrize("seed", SEEDS)
def test_no_text_tells_the_code_beside_the_charger_in_whatever_spelling(seed: str) -> None:
    facts = draw_facts(seed)
    letter, digits = facts.remedy.code[0], facts.remedy.code[1:]
    words = [in_words(int(digit)) for digit in digits]
    spellings = (facts.remedy.code, f"{letter} {digits}", f"{letter}-{digits}", " ".join(facts.remedy.code),
                 int(digits), ", ".join(digits), " ".join(words), ", ".join(words))
    files = {path: text.encode() for path, text in workspace(facts).items() if isinstance(text, str)}
    assert leaks(files, [Secret("code", (code, int(OURS[3:]))) for code in spellings]) == []


@pytest.mark.parametrize("place", ["hafenkai", "bahnhof", "markthalle", "klinikum"])
def test_a_log_names_chargers_of_its_place(place: str) -> None:
    facts = draw_facts()
    here = {charger.name for charger in facts.first if charger.place.casefold() == place}
    assert len(here) == 6 and {entry.charger for entry in facts.logs[place]} <= here


def test_our_charger_stands_on_the_quay() -> None:
    assert ours(draw_facts().first).place == "Hafenkai"


def test_the_repaired_program_prints_what_the_check_expects_and_each_fault_shows(tmp_path: Path) -> None:
    row = rounds(draw_facts())[-1]
    assert printed(row.files[PROGRAM], tmp_path) == row.before.output
    broken = [wrong.files.get(PROGRAM, "") for wrong in row.wrongs if wrong.answer == row.answer]
    assert len(broken) == 3
    for text in filter(None, [*broken, row.files[PROGRAM].replace("* 1000 *", "* 100 *")]):
        assert printed(text, tmp_path) != row.before.output


def printed(program: str, folder: Path) -> str:
    (folder / "auslastung.py").write_text(program, "utf-8")
    return "".join(subprocess.run([sys.executable, "-I", folder / "auslastung.py", *map(str, trial)], check=True,
                                  capture_output=True, encoding="utf-8", timeout=3).stdout for trial in TRIALS)
