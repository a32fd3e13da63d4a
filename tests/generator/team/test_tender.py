"""Checked sums, an estimate that follows the index, and points."""

from __future__ import annotations

import pytest

from infranode_eval.generator.team.tender import Offer, Position, points, updated

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
