"""The facts of wirtschaft_vergabe: sums, points and limit, and that each slip leads to another decision."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from infranode_eval.generator.team.scenarios.wirtschaft_vergabe import (
    ADDED,
    AWARD,
    DROPPED,
    LONGER,
    Offer,
    Position,
    awarded,
    claimed,
    draw_facts,
    points,
    rounded,
    summed_wrong,
    updated,
)
from infranode_eval.generator.team.texts.wirtschaft_vergabe import PROGRAM

SEEDS = [f"wirtschaft_vergabe {n}" for n in range(1, 13)]
WORKS = (Position(1, "Türen", False, 3, "Stk", 0), Position(2, "Reserve", True, 10, "Std", 0))


@pytest.mark.parametrize(("offer", "options", "cents", "why"), [
    (Offer({1: 1000, 2: 50}, 2, False, 9), {}, 3000, "optional positions and conditional discounts do not count"),
    (Offer({1: 1000, 2: 50}, 2, True, 9), {}, 2940, "a plain discount does"),
    (Offer({1: 1000, 2: 50}, 2, False, 9), {"optional": True}, 3500, "the slip of counting all positions"),
    (Offer({1: 1000, 2: 50}, 2, False, 9), {"discount": True}, 2940, "the slip of taking any discount"),
    (Offer({1: 1025, 2: 50}, 2, True, 9), {}, 3014, "3,013.5 goes up"),
])
def test_a_checked_sum(offer: Offer, options: dict[str, bool], cents: int, why: str) -> None:
    assert offer.total(WORKS, **options) == cents, why


def test_an_estimate_follows_the_index() -> None:
    assert updated(300_000, (1200, 1300)) == 325_000
    assert updated(1, (2, 3)) == 2, "half goes up"


@pytest.mark.parametrize(("sums", "weeks", "expected", "why"), [
    ({"a": 100}, {"a": 20}, {"a": 10_000}, "the only offer has all points"),
    ({"a": 100, "b": 200}, {"a": 30, "b": 20}, {"a": 9000, "b": 6500}, "70 + 20, 35 + 30"),
    ({"a": 100, "b": 300}, {"a": 20, "b": 20, "c": 10}, {"a": 10_000, "b": 5333}, "who is out sets no shortest time")])
def test_points(sums: dict[str, int], weeks: dict[str, int], expected: dict[str, int], why: str) -> None:
    assert points(sums, weeks) == expected, why


@pytest.mark.parametrize("seed", SEEDS)
def test_the_shipped_program_gives_the_same_points(seed: str, tmp_path: Path) -> None:
    facts = draw_facts(seed)
    sums, weeks = facts.sums(facts.changed), {name: offer.weeks for name, offer in facts.offers.items()}
    (tmp_path / "wertung.py").write_text(PROGRAM, "utf-8")
    done = subprocess.run([sys.executable, "-I", tmp_path / "wertung.py", *(f"{n}={sums[n]}:{weeks[n]}" for n in sums)],
                          capture_output=True, encoding="utf-8", timeout=10, check=True)
    assert done.stdout == "".join(f"{name} {value // 100}.{value % 100:02}\n"
                                  for name, value in points(sums, weeks).items())


@pytest.mark.parametrize("seed", SEEDS)
def test_each_slip_changes_the_decision(seed: str) -> None:
    facts = draw_facts(seed)
    right = awarded(facts, facts.changed, facts.call, facts.read)
    assert (right.winner, right.out) == ("osterluettich", ("fennhagen",))
    assert awarded(facts, facts.changed, replace(facts.call, until=LONGER), facts.read).winner == "fennhagen"
    assert awarded(facts, facts.changed, facts.noted, facts.read).winner == "fennhagen"
    assert awarded(facts, facts.changed, facts.call, facts.believed).winner == "dornkamp"
    assert awarded(facts, facts.works, facts.call, facts.read).total != right.total
    sums = facts.sums(facts.changed)
    assert sums["dornkamp"] < sums[right.winner], "the lowest sum does not win"


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_hangs_on_the_order_of_rounding(seed: str) -> None:
    facts = draw_facts(seed)
    base, now = facts.read
    assert rounded(Fraction(facts.estimate * now * 11, base * 10)) == awarded(
        facts, facts.changed, facts.call, facts.read).limit


@pytest.mark.parametrize("seed", SEEDS)
def test_what_bidders_and_summary_tell_is_not_the_checked_sum(seed: str) -> None:
    facts = draw_facts(seed)
    sums, said, summary = facts.sums(facts.works), claimed(facts), summed_wrong(facts)
    assert all(said[name] != sums[name] for name in sums)
    assert summary != sums and all(summary[name] == sums[name] for name in ("dornkamp", "fennhagen"))


def test_the_update_drops_one_position_and_brings_one_that_all_have_priced() -> None:
    facts = draw_facts()
    before, now = ({p.number for p in works} for works in (facts.works, facts.changed))
    assert (before - now, now - before) == ({DROPPED}, {ADDED})
    assert all(ADDED in offer.prices for offer in facts.offers.values())
    assert facts.call.until < AWARD < LONGER
