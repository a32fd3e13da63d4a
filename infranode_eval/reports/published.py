"""The rows that the original benchmark published, as a block of their own: never beside our rows, without ranks."""

from __future__ import annotations

from dataclasses import dataclass

from infranode_eval.shipped import read_shipped
from infranode_eval.tables import ABSENT, Column, Section, Table


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
