"""The facts of wirtschaft_vergabe: each slip leads to another decision, whatever the seed."""

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
    awarded,
    claimed,
    draw_facts,
    summed_wrong,
)
from infranode_eval.generator.team.tender import points, rounded
from infranode_eval.generator.team.texts.wirtschaft_vergabe import PROGRAM

SEEDS = [f"wirtschaft_vergabe {n}" for n in range(1, 13)]


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
