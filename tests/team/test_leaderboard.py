"""Every claim about the published board, in decimals, from its printed cells."""

from __future__ import annotations

from decimal import Decimal

import pytest

from infranode_eval.shipped import read_shipped
from infranode_eval.team.leaderboard import BoardRow, pareto_front, percentage, rounded, span

BOARD = read_shipped("team/published.json")
ROWS = tuple(map(BoardRow.from_json, BOARD["rows"]))
NAMED = {row.model: row for row in ROWS}
STEP = Decimal("0.1")
each_row = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.model)


def test_the_board_has_twelve_models():
    assert len(NAMED) == 12 and (BOARD["scenarios"], BOARD["rounds"]) == (41, 258)


@each_row
def test_sms_follows_from_the_printed_cells_to_a_digit(row):
    assert abs(rounded(row.computed) - row.sms) <= STEP


def test_nine_of_twelve_agree_to_the_digit():
    differ = {row.model: (str(row.computed.quantize(Decimal("0.001"))), str(row.sms)) for row in ROWS
              if rounded(row.computed) != row.sms}
    assert differ == {"claude-fable-5": ("59.948", "60.0"), "gpt-5.5": ("51.087", "51.0"),
                      "qwen3.6-27b": ("46.451", "46.4")}


@each_row
def test_rounding_alone_explains_the_printed_sms(row):
    assert row.fits


def test_one_printed_sms_fits_only_because_it_is_rounded_itself():
    """The cells of gpt-5.5 allow no less than 51.01, which prints as 51.0; the others hold their printed SMS itself."""
    outside = [row for row in ROWS if not row.bounds[0] <= row.sms <= row.bounds[1]]
    assert [(row.model, row.sms, rounded(row.bounds[0], 2)) for row in outside] == [
        ("gpt-5.5", Decimal("51.0"), Decimal("51.01"))]


@pytest.mark.parametrize("change", ["51.3", "50.8"])
def test_a_printed_sms_that_no_rounding_explains_is_seen(change):
    row = BOARD["rows"][2] | {"sms": float(change)}
    assert BoardRow.from_json(row).fits is False


@each_row
def test_tcr_is_a_count_of_258_rounds(row):
    assert percentage(row.passed, 258) == row.tcr


def test_rows_stand_in_the_order_of_their_printed_sms():
    assert [row.sms for row in ROWS] == sorted((row.sms for row in ROWS), reverse=True)


def test_computed_scores_give_the_same_order_but_for_one_tie():
    by_computed = [row.model for row in sorted(ROWS, key=lambda row: -row.computed)]
    assert by_computed[:8] + by_computed[10:] == [row.model for row in ROWS[:8] + ROWS[10:]]
    assert by_computed[8:10] == ["qwen3.6-27b", "deepseek-v4-pro"] and len({row.sms for row in ROWS[8:10]}) == 1


def test_cost_spans_116_times_and_score_3_92_times():
    assert span(row.cost for row in ROWS) == 116
    assert rounded(span(row.sms for row in ROWS), 2) == Decimal("3.92")


def test_ten_models_lie_within_a_band_of_9_9():
    """Those between the first and the last."""
    assert ROWS[1].sms - ROWS[10].sms == Decimal("9.9")


def test_no_model_reaches_half_of_wpp():
    assert max(row.wpp for row in ROWS) == Decimal("49.2")


def test_eleven_models_have_roc_and_mca_of_92_or_more():
    assert [row.model for row in ROWS if min(row.roc, row.mca) < 92] == ["glm-4.7-flash"]


def test_the_front_of_cost_and_score():
    front = pareto_front([(row.cost, row.sms) for row in ROWS])
    assert [ROWS[place].model for place in front] == ["claude-fable-5", "gemini-3.5-flash", "glm-5.2", "gpt-5.4",
                                                      "deepseek-v4-pro", "glm-4.7-flash"]


@pytest.mark.parametrize("model", ["gpt-5.5", "claude-sonnet-4-6", "kimi-k2.6"])
def test_one_cheaper_model_dominates_three_dear_ones(model):
    other, flash = NAMED[model], NAMED["gemini-3.5-flash"]
    assert pareto_front([(other.cost, other.sms), (flash.cost, flash.sms)]) == (1,)


@pytest.mark.parametrize("found, printed, why", [
    (percentage(44, 258), "17.1", "rounds that follow an update"),
    (rounded(Decimal(255) / 72, 2), "3.54", "files of an update group"),
    (percentage(44, 72), "61.1", "44 of 72"),
])
def test_ratios_of_the_data(found, printed, why):
    assert str(found) == printed, why


# --- the front, of any report -----------------------------------------------------------------------------------------

@pytest.mark.parametrize("points, front, why", [
    ([], (), "nothing is on no front"),
    ([(5.0, 0.1)], (0,), "nothing dominates the only one"),
    ([(1.0, 0.5), (2.0, 0.5)], (0,), "as good and dearer"),
    ([(1.0, 0.5), (1.0, 0.4)], (0,), "as dear and worse"),
    ([(2.0, 0.5), (1.0, 0.4)], (0, 1), "better and dearer: a choice"),
    ([(1.0, 0.5), (1.0, 0.5)], (0, 1), "equal pairs do not dominate each other"),
    ([(None, 0.9), (1.0, 0.5)], (1,), "an unknown cost neither stands on the front nor dominates"),
    ([(0.0, None), (1.0, 0.5)], (1,), "neither does a run without a score"),
    ([(None, 0.9)], (), "without any cost there is no front"),
    ([(0.0, 0.2), (3.0, 0.9), (2.0, 0.9), (1.0, 0.1)], (0, 2), "positions keep the order of the input"),
])
def test_pareto_front(points, front, why):
    assert pareto_front(points) == front, why


@pytest.mark.parametrize("value, shown", [("46.45", "46.5"), ("0.25", "0.3"), ("0.249", "0.2"), ("60", "60.0")])
def test_halves_are_rounded_up(value, shown):
    assert str(rounded(Decimal(value))) == shown
