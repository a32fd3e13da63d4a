"""What a query gave: rows, or an error that can be shown to a model.

Source of the bounds: specification, db_routing, requirement 5.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

MOST_ROWS = 50          # shown to a model
MOST_CHARS = 8_000      # of a result as text, marks included
_CUT = "\n… gekürzt"


@dataclass(frozen=True, slots=True)
class Rows:
    """The answer of a query.

    columns: names as SQLite gives them, double ones too. rows: tuples of JSON values; a blob is the text x'…' in hex,
    an infinite number the text Inf or -Inf. rows_truncated, cells_truncated: more rows were there, a cell was longer.
    literals: double-quoted names that are nothing in the database, so that SQLite took them for text.
    ms: time the query took in the worker.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    rows_truncated: bool = False
    cells_truncated: bool = False
    literals: tuple[str, ...] = ()
    ms: float = 0.0

    @property
    def truncated(self) -> bool:
        """Whether `text()` shows less than the whole answer."""
        return self.rows_truncated or self.cells_truncated or len(self._fenced()) > MOST_CHARS

    def text(self) -> str:
        """The answer for a model, at most 8,000 characters: columns and rows as JSON lines in a fence, then marks.

        A cell cannot close the fence: backticks are escaped.
        """
        whole = self._fenced()
        if len(whole) <= MOST_CHARS:
            return whole
        end = "\n```" + _CUT
        return whole[:MOST_CHARS - len(end)] + end

    def _fenced(self) -> str:
        lines = [_json_line(self.columns), *map(_json_line, self.rows)]
        marks = ((self.rows_truncated, f"auf {len(self.rows)} Zeilen"), (self.cells_truncated, "Zellen"))
        cut = ", ".join(what for is_cut, what in marks if is_cut)
        body = "\n".join(lines) if self.rows else f"{lines[0]}\n(keine Zeilen)"
        return f"```\n{body}\n```" + (f"{_CUT} ({cut})" if cut else "")


@dataclass(frozen=True, slots=True)
class SqlError:
    """Why there are no rows.

    kind: class of the error (no_such_table, syntax, timeout …). message: German, one line, without paths and names of
    databases. status: error (SQL is wrong), refused (SQL is not allowed), timeout, too_large, no_sql, nondeterministic.
    """

    kind: str
    message: str
    status: str = "error"
    ms: float = 0.0


def _json_line(values: tuple[Any, ...]) -> str:
    return json.dumps(values, ensure_ascii=False).replace("`", "\\u0060")
