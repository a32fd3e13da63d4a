"""The rows that original benchmarks published, each in a block of its own: never beside our rows, without ranks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from infranode_eval.shipped import read_shipped
from infranode_eval.suites import MAIN
from infranode_eval.tables import ABSENT, Column, Section, Table
from infranode_eval.team.leaderboard import BoardRow


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """One published line; call_match, tool_match, args_match in per cent, max_tokens None where it was not told."""

    model: str
    max_tokens: int | None
    call_match: float
    tool_match: float
    args_match: float


@dataclass(frozen=True, slots=True)
class Published:
    """`notice`: the sentence that must stand with the rows. tasks: what per cent was taken of."""

    notice: str
    date: str
    tasks: int
    rows: tuple[PublishedRow, ...]


def read_published() -> Published:
    """The block that ships with the package."""
    value = read_shipped("published.json")
    return Published(value["notice"], value["date"], value["tasks"], tuple(PublishedRow(**r) for r in value["rows"]))


def published_section(published: Published) -> Section:
    """Published numbers in their published order, as they were printed."""
    columns = (Column("model"), *(Column(h, right=True) for h in ("max tokens", "call_match", "tool_match",
                                                                   "args_match")))
    rows = tuple((r.model, ABSENT if r.max_tokens is None else str(r.max_tokens),
                  f"{r.call_match:.1f}", f"{r.tool_match:.1f}", f"{r.args_match:.1f}") for r in published.rows)
    return Section("Published by the original benchmark", (Table("Published rows, per cent", columns, rows),),
                   (published.notice,))


@dataclass(frozen=True, slots=True)
class PublishedBoard:
    """The published rows that suite team follows. notice: the sentence that must stand with them; notes: more lines.

    scenarios, rounds: what shares and passed rounds were taken of.
    """

    notice: str
    date: str
    scenarios: int
    rounds: int
    notes: tuple[str, ...]
    rows: tuple[BoardRow, ...]


def read_board() -> PublishedBoard:
    """The block that ships with the package."""
    value = read_shipped("team/published.json")
    return PublishedBoard(value["notice"], value["date"], value["scenarios"], value["rounds"], tuple(value["notes"]),
                          tuple(map(BoardRow.from_json, value["rows"])))


def board_section(board: PublishedBoard) -> Section:
    """Published numbers in their published order, as they were printed: SMS is not computed again."""
    columns = (Column("model"), *(Column(h, right=True) for h in ("SMS", "TCR", "TPP", "ROC", "WPP", "MCA", "cost $",
                                                                   f"passed of {board.rounds}")))
    rows = tuple((r.model, *map(str, (r.sms, r.tcr, r.tpp, r.roc, r.wpp, r.mca, r.cost, r.passed)))
                 for r in board.rows)
    return Section("Published by the team benchmark that suite team follows",
                   (Table("Published rows, per cent", columns, rows, board.notes),), (board.notice,))


_BLOCKS: dict[str, Callable[[], Section]] = {MAIN: lambda: published_section(read_published()),
                                             "team": lambda: board_section(read_board())}


def published_sections(suite: str | None) -> list[Section]:
    """The blocks of a suite, none for one of which nothing was published; without a suite those of all."""
    return [block() for name, block in _BLOCKS.items() if suite in (None, name)]
