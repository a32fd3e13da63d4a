"""The facts of wissenschaft_pegel: levels, hours and discharge, and that each slip leads to another report."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from infranode_eval.generator.team.scenarios.wissenschaft_pegel import (
    FARTHER,
    GAUGES,
    HOURS,
    OURS,
    RANGE,
    TABLE,
    Calibration,
    Crest,
    Facts,
    Shift,
    discharge,
    draw_facts,
    filled,
    hour,
    printed,
    report,
    stage_of,
)
from infranode_eval.generator.team.texts.wissenschaft_pegel import PROGRAM

SEEDS = [f"wissenschaft_pegel {n}" for n in range(1, 13)]


def small(*raw: int | None) -> Facts:
    """Facts of one gauge with a few hours."""
    nothing, crest = Calibration(datetime(2026, 1, 1).date(), "", "", {}), Crest(0, hour(0))
    return Facts({OURS: raw}, (), crest, crest, crest, Shift(0, hour(0)), Shift(0, hour(0)), nothing, nothing, ())


@pytest.mark.parametrize(("raw", "offset", "shift", "hours", "why"), [
    ((329, 330, 331), 0, None, 2, "a stage begins with its level"),
    ((329, 330, 331), 1, None, 3, "the offset counts"), ((329, 330, 331), -1, None, 1, "with its sign"),
    ((340, None, 340), 0, None, 2, "an hour without a value counts nothing"),
    ((340, 340, 340), 0, Shift(-11, hour(1)), 1, "the shift counts from its hour on, that hour included"),
    ((340, 340, 340), 0, Shift(-10, hour(0)), 3, "330 is reached"),
])
def test_hours_of_a_stage(raw: tuple[int | None, ...], offset: int, shift: Shift | None, hours: int, why: str) -> None:
    assert small(*raw).hours_at(OURS, 2, offset, shift) == hours, why


def test_the_highest_value_is_the_earliest_of_several() -> None:
    assert small(5, 9, None, 9).highest(OURS) == Crest(9, hour(1))


@pytest.mark.parametrize(("level", "stage"), [(249, 0), (250, 1), (329, 1), (330, 2), (419, 2), (420, 3)])
def test_stages(level: int, stage: int) -> None:
    assert stage_of(level) == stage


@pytest.mark.parametrize(("level", "tenths", "why"), [
    (100, 80, "a row"), (500, 3500, "the last row"), (150, 235, "half between 8 and 39"), (101, 83, "8.31 goes down"),
    (105, 96, "9.55 goes up")])
def test_a_discharge(level: int, tenths: int, why: str) -> None:
    assert discharge(level) == tenths, why


@pytest.mark.parametrize("level", [TABLE[0][0] - 1, TABLE[-1][0] + 1])
def test_no_discharge_outside_the_table(level: int) -> None:
    with pytest.raises(ValueError, match="no discharge"):
        discharge(level)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_shipped_program_says_what_the_check_expects(seed: str, tmp_path: Path) -> None:
    right = report(draw_facts(seed))
    (tmp_path / "abfluss.py").write_text(PROGRAM, "utf-8")
    (tmp_path / "parameter.txt").write_text(filled(right), "utf-8")
    done = subprocess.run([sys.executable, "-I", tmp_path / "abfluss.py", tmp_path / "parameter.txt"],
                          capture_output=True, encoding="utf-8", timeout=10, check=True)
    assert done.stdout == printed(right)


@pytest.mark.parametrize("seed", SEEDS)
def test_each_slip_changes_the_stage_or_the_hours(seed: str) -> None:
    facts = draw_facts(seed)
    right, old = report(facts), facts.old.offsets[OURS]
    assert stage_of(right.level) == 2
    for slip in (replace(right, shift=0), replace(right, shift=facts.dated.by), replace(right, crest=facts.misread)):
        assert stage_of(slip.level) == 3
    assert report(facts, FARTHER).hours != right.hours
    assert len({facts.hours_at(OURS, 2, old, shift) for shift in (None, facts.shift, facts.dated)}) == 3
    assert all(facts.old.offsets[name] != facts.new.offsets[name] for name in GAUGES)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_logger_fails_only_above_its_range_and_the_crest_lies_there(seed: str) -> None:
    facts = draw_facts(seed)
    for value, drawn in zip(facts.raw[OURS], facts.pen, strict=True):
        assert (value is None) == (drawn > RANGE)
    assert facts.crest.level == max(facts.pen) > RANGE
    assert all(None not in facts.raw[name] and len(facts.raw[name]) == HOURS for name in GAUGES if name != OURS)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_wave_runs_down_the_river(seed: str) -> None:
    facts = draw_facts(seed)
    upper, above, below = (facts.highest(name).at for name in ("obersteg", "marienhammer", "unterlinden"))
    assert upper < above < facts.crest.at < below
    assert facts.shift.since < facts.crest.at
