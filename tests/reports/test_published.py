"""The published rows: every value is k of 91, and they stand alone with their sentence."""

from __future__ import annotations

import pytest

from infranode_eval.reports.published import published_section, read_published
from infranode_eval.tables import render

PUBLISHED = read_published()


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
