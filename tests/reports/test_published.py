"""The published rows: every value is what was printed, and they stand alone with their sentence."""

from __future__ import annotations

import pytest

from infranode_eval.reports.published import (
    board_section,
    published_section,
    published_sections,
    read_board,
    read_published,
)
from infranode_eval.tables import render

PUBLISHED = read_published()
BOARD = read_board()


def test_there_are_21_rows():
    assert len(PUBLISHED.rows) == 21 and PUBLISHED.tasks == 91


@pytest.mark.parametrize("row", PUBLISHED.rows, ids=lambda r: f"{r.model}-{r.max_tokens}")
def test_every_value_is_a_rounded_share_of_91_tasks(row):
    shares = {round(100 * k / 91, 1) for k in range(92)}
    assert {row.call_match, row.tool_match, row.args_match} <= shares
    assert row.call_match <= min(row.tool_match, row.args_match)


def test_rows_keep_the_published_order():
    assert [r.call_match for r in PUBLISHED.rows] == sorted((r.call_match for r in PUBLISHED.rows), reverse=True)


def test_the_block_says_that_it_is_not_comparable():
    assert ("Published 27 July 2026 on other questions and tool texts, five token budgets; not comparable with any "
            "number of this report") in render([published_section(PUBLISHED)], "text").splitlines()


def test_the_block_has_no_ranks_and_no_intervals(golden):
    golden("published.md", render([published_section(PUBLISHED)], "markdown"))
    headers = [c.header for c in published_section(PUBLISHED).tables[0].columns]
    assert headers == ["model", "max tokens", "call_match", "tool_match", "args_match"]


def test_the_board_says_when_and_that_it_is_other_data_and_another_pool():
    [notice] = board_section(BOARD).notes
    assert notice == ("Published 30 June 2026 over 41 other scenarios and another pool of sub-agents, by another host; "
                      "not comparable with any number of this report")
    assert BOARD.date == "2026-06-30" and BOARD.scenarios == 41


def test_the_board_has_no_ranks_no_intervals_and_no_front(golden):
    golden("published_team.md", render([board_section(BOARD)], "markdown"))
    headers = [c.header for c in board_section(BOARD).tables[0].columns]
    assert headers == ["model", "SMS", "TCR", "TPP", "ROC", "WPP", "MCA", "cost $", "passed of 258"]


@pytest.mark.parametrize("row", BOARD.rows, ids=lambda r: r.model)
def test_the_board_shows_what_was_printed(row):
    shown = {cells[0]: cells[1:] for cells in board_section(BOARD).tables[0].rows}[row.model]
    assert shown[0] == f"{row.sms:.1f}" and shown[6] == f"{row.cost:.1f}" and shown[7] == str(row.passed)
    assert all(cell.count(".") == 1 and len(cell.split(".")[1]) == 1 for cell in shown[:-1])


OF_MAIN, OF_TEAM = "Published by the original benchmark", "Published by the team benchmark that suite team follows"


@pytest.mark.parametrize("suite, titles, why", [
    (None, [OF_MAIN, OF_TEAM], "all there are"),
    ("single", [OF_MAIN], "the main suite's"),
    ("team", [OF_TEAM], "other suites' rows say nothing of it"),
    ("chain", [], "nothing was published"),
])
def test_a_suite_gets_its_own_block(suite, titles, why):
    assert [section.title for section in published_sections(suite)] == titles, why
