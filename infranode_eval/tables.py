"""Tables as text and as Markdown, and how a number looks in a cell.

Pure: values in, text out. Model names and replies come from strangers, so every text is made harmless here: control
and direction-changing characters become visible escapes, and Markdown's own characters are escaped.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from infranode_eval.harmless import clean, markdown
from infranode_eval.statistics import Interval, wilson

ABSENT = "—"            # no value: never a 0
FEW = 30                # below this many rows a share is shown as k/n, without decimals
FORMATS = ("text", "markdown")


@dataclass(frozen=True, slots=True)
class Column:
    """A header and whether its cells are numbers (set to the right); bad: it counts what is bad (red on a page)."""

    header: str
    right: bool = False
    bad: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A titled table; `rows` hold one text per column, `notes` follow it as lines."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with paragraphs and tables below it."""

    title: str
    tables: tuple[Table, ...] = ()
    notes: tuple[str, ...] = ()


# --- numbers ----------------------------------------------------------------------------------------------------------

def percent(value: float | None, decimals: int = 1) -> str:
    """0–1 as per cent without the sign; "—" for None."""
    return ABSENT if value is None else f"{100 * value:.{decimals}f}"


def limits(interval: Interval, decimals: int = 1) -> str:
    """An interval's limits in per cent: [77.0–91.5]."""
    return f"[{percent(interval.low, decimals)}–{percent(interval.high, decimals)}]"


def share(successes: float, n: int) -> str:
    """k of n with its Wilson interval: "3/8 [14–69]" below 30 rows, "85.7 [77.1–91.5]" from there; "—" for n = 0."""
    if not n:
        return ABSENT
    interval = wilson(successes, n)
    if n < FEW:
        return f"{successes:g}/{n} {limits(interval, 0)}"
    return f"{percent(interval.estimate)} {limits(interval)}"


def width(text: str) -> int:
    """Columns a terminal needs: two for wide characters, none for combining ones."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


# --- rendering --------------------------------------------------------------------------------------------------------

def render(sections: Sequence[Section], form: str) -> str:
    """The whole report in one of FORMATS, ending in a newline. Raise ValueError for another format."""
    if form not in FORMATS:
        raise ValueError(f"expected one of {', '.join(FORMATS)}, found {form!r}")
    one = _text_section if form == "text" else _markdown_section
    return "\n\n".join(one(section) for section in sections) + "\n"


def _text_section(section: Section) -> str:
    title = clean(section.title)
    blocks = [f"{title}\n{'=' * width(title)}"]
    blocks += ["\n".join(map(clean, section.notes))] if section.notes else []
    return "\n\n".join([*blocks, *map(text_table, section.tables)])


def _markdown_section(section: Section) -> str:
    blocks = [f"## {markdown(section.title)}"]
    blocks += [_bullets(section.notes)] if section.notes else []
    return "\n\n".join([*blocks, *map(markdown_table, section.tables)])


def text_table(table: Table) -> str:
    """Title, header, rule, rows, notes; columns two blanks apart, no blank at a line's end."""
    cells = [[clean(c.header) for c in table.columns], *[[clean(v) for v in row] for row in table.rows]]
    widths = [max(width(row[i]) for row in cells) for i in range(len(table.columns))]
    lines = ["  ".join(_padded(v, w, c.right) for v, w, c in zip(row, widths, table.columns, strict=True)).rstrip()
             for row in cells]
    lines.insert(1, "  ".join("-" * w for w in widths))
    return "\n".join([clean(table.title), "", *lines, *map(clean, table.notes)])


def _padded(text: str, columns: int, right: bool) -> str:
    blanks = " " * (columns - width(text))
    return blanks + text if right else text + blanks


def markdown_table(table: Table) -> str:
    """A level-3 heading, a table in GitHub's form, notes as a list."""
    lines = [_markdown_row([c.header for c in table.columns]),
             "| " + " | ".join("---:" if c.right else "---" for c in table.columns) + " |",
             *map(_markdown_row, table.rows)]
    blocks = [f"### {markdown(table.title)}", "\n".join(lines)]
    return "\n\n".join(blocks + ([_bullets(table.notes)] if table.notes else []))


def _markdown_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(map(markdown, cells)) + " |"


def _bullets(lines: Sequence[str]) -> str:
    return "\n".join(f"- {markdown(line)}" for line in lines)
