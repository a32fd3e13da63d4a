"""Whether two answers of queries are the same: as sets (like BIRD), and strictly; pure.

Source: specification, db_routing, requirements 63, 64 and 66.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from infranode_eval.db_routing.rows import Rows, SqlError

MOST_COMPARED = 10_000      # rows, on both sides
_DECIMALS = 6
NO_DECLARATION = "no_declaration"


@dataclass(frozen=True, slots=True)
class SqlVerdict:
    """What a final SQL is worth.

    sql_set: the same rows, how often and in which order does not matter. sql_strict: the same rows as often, in the
    same order if gold has one. Both None where gold did not run: the row leaves the SQL denominator. sql_error: why
    there was nothing to compare, None if there was.
    """

    sql_set: bool | None
    sql_strict: bool | None
    sql_error: str | None = None

    def to_json(self) -> dict[str, Any]:
        return {"sql_set": self.sql_set, "sql_strict": self.sql_strict, "sql_error": self.sql_error}


def compare(actual: Rows | SqlError | None, gold: Rows | SqlError, *, ordered: bool) -> SqlVerdict:
    """The verdict on whole answers. actual: None without a declared database. ordered: order is part of gold.

    A gold beyond 10,000 rows did run, so it is wrong on both sides; any other error of gold says nothing.
    """
    if isinstance(gold, SqlError):
        ran = gold.kind == "too_large"
        return SqlVerdict(*(False, False) if ran else (None, None), f"gold_{gold.kind}")
    if actual is None:
        return SqlVerdict(False, False, NO_DECLARATION)
    if isinstance(actual, SqlError):
        return SqlVerdict(False, False, actual.kind)
    ours, theirs = rounded(actual), rounded(gold)
    strict = ours == theirs if ordered else Counter(ours) == Counter(theirs)
    return SqlVerdict(set(ours) == set(theirs), strict)


def rounded(answer: Rows) -> list[tuple[Any, ...]]:
    """Rows that can be compared: fractions to six decimals; 2 equals 2.0, NULL equals NULL, text is exact.

    The names of columns do not count, their order does.
    """
    return [tuple(round(v, _DECIMALS) if isinstance(v, float) else v for v in row) for row in answer.rows]
