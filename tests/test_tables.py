"""Tables: alignment, harmless text, and how numbers look."""

from __future__ import annotations

import pytest

from infranode_eval import tables
from infranode_eval.tables import Column, Section, Table

HOSTILE = Table("Runs", (Column("model"), Column("call_match", right=True)), (
    ("plain", "92.3"),
    ("a|b`c*d", "7.0"),
    ("\x1b[31mred\x1b[0m\r\n", "100.0"),
    ("abc\u202edcba", "—"),
    ("東京/モデル", "0.0"),
    ("<script>alert(1)</script> & _x_", "1/3 [6–79]"),
), ("a note with | and \x07",))


def test_text_and_markdown_of_hostile_names(golden):
    section = Section("Suite: demo", (HOSTILE,), ("one line about it",))
    golden("tables_hostile.txt", tables.render([section, Section("Empty")], "text"))
    golden("tables_hostile.md", tables.render([section, Section("Empty")], "markdown"))


def test_text_columns_start_at_the_same_place():
    lines = tables.text_table(HOSTILE).splitlines()[2:-1]
    ends = {tables.width(line) for line in lines}
    assert len(ends) == 1, "every row ends where the right-aligned last column ends"


def test_every_markdown_row_has_the_same_number_of_cells():
    import re

    rows = [line for line in tables.markdown_table(HOSTILE).splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {3}


@pytest.mark.parametrize("text, shown, why", [
    ("Köln – 92 %", "Köln – 92 %", "umlauts and dashes are text"),
    ("\x1b]0;title\x07", "\\x1b]0;title\\x07", "a terminal escape would rename the window"),
    ("a\u2066b\u2069", "a\\u2066b\\u2069", "bidi isolates reorder what people read"),
    ("zero\u200bwidth", "zero\\u200bwidth", "invisible characters make two names look alike"),
    ("a\u2028b\nc\td", "a\\u2028b\\x0ac\\x09d", "a cell is one line"),
    ("\udcff", "\\udcff", "a lone surrogate cannot be printed"),
    ("\U000e0041", "\\U000e0041", "tag characters hide text"),
    ("\x9b31m", "\\x9b31m", "C1 controls start escapes, too"),
])
def test_clean_spells_out_what_is_not_seen(text, shown, why):
    assert tables.clean(text) == shown, why


@pytest.mark.parametrize("text, shown, why", [
    ("call_match", "call_match", "an underscore inside a word is no emphasis"),
    ("_a_", "\\_a\\_", "at a word's edge it is"),
    ("a\\|b", "a\\\\\\|b", "an escaped pipe must not become an escaped backslash and a pipe"),
    ("[x](http://e)", "[x\\](http://e)", "no link"),
    ("[77.1–91.5]", "[77.1–91.5]", "an interval stays readable in the source"),
    ("&lt;", "&amp;lt;", "an entity means its own letters"),
])
def test_markdown_escapes(text, shown, why):
    assert tables.markdown(text) == shown, why


@pytest.mark.parametrize("k, n, shown, why", [
    (0, 0, "—", "no row is no zero"),
    (3, 8, "3/8 [14–69]", "few rows: counts, no decimals"),
    (29, 29, "29/29 [88–100]", "29 is still few"),
    (15, 30, "50.0 [33.2–66.8]", "from 30 rows on per cent"),
])
def test_share(k, n, shown, why):
    assert tables.share(k, n) == shown, why


@pytest.mark.parametrize("value, shown", [(None, "—"), (0.0, "0.0"), (84 / 91, "92.3"), (1.0, "100.0")])
def test_percent(value, shown):
    assert tables.percent(value) == shown


def test_an_unknown_format_is_refused():
    with pytest.raises(ValueError, match="text, markdown"):
        tables.render([], "html")
