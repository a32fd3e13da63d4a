"""The final SQL of a play, run and judged against gold; gold runs once."""

from __future__ import annotations

import threading
from collections import defaultdict

from infranode_eval.db_routing.compare import MOST_COMPARED, SqlVerdict, compare, rounded
from infranode_eval.db_routing.executor import Executor
from infranode_eval.db_routing.rows import Rows, SqlError
from infranode_eval.db_routing.statement import in_another_year, is_ordered

GOLD_LIMIT_S = 10.0


class Golds:
    """The answers of gold queries, each run once in this process; safe in any number of threads."""

    def __init__(self, executor: Executor, limit_s: float = GOLD_LIMIT_S) -> None:
        self._executor, self._limit_s = executor, limit_s
        self._known: dict[tuple[str, str], Rows | SqlError] = {}
        self._locks: dict[tuple[str, str], threading.Lock] = defaultdict(threading.Lock)
        self._lock = threading.Lock()

    def answer(self, database: str, sql: str) -> Rows | SqlError:
        """The whole answer, or why there is none. Raise what Executor.run raises; that is not kept."""
        key = database, sql
        with self._lock:
            own = self._locks[key]
        with own:
            if key not in self._known:
                self._known[key] = self._executor.run(database, sql, most_rows=MOST_COMPARED, whole=True,
                                                      limit_s=self._limit_s)
            return self._known[key]


def final_answer(executor: Executor, database: str, sql: object) -> Rows | SqlError:
    """The whole answer of a final SQL, which runs twice: one that depends on the clock is no answer.

    Two runs in the same millisecond would agree about the time, so the second one sees a clock of another year.
    """
    first = executor.run(database, sql, most_rows=MOST_COMPARED, whole=True)
    if isinstance(first, SqlError):
        return first
    second = executor.run(database, in_another_year(str(sql)), most_rows=MOST_COMPARED, whole=True)
    if isinstance(second, Rows) and rounded(first) != rounded(second):
        return SqlError("nondeterministic", "Die Abfrage ergibt jedes Mal etwas anderes.", "nondeterministic",
                        second.ms)
    return second


def judged(executor: Executor, golds: Golds, *, declared: str | None, sql: object, gold_database: str, gold_sql: str,
           ordered: bool | None = None) -> SqlVerdict:
    """The verdict on `sql` in the declared database. ordered: None reads it off gold.

    declared: None without a valid declaration. sql: what the final object holds; anything but text is no SQL.
    """
    gold = golds.answer(gold_database, gold_sql)
    actual = None if declared is None or isinstance(gold, SqlError) else final_answer(executor, declared, sql)
    return compare(actual, gold, ordered=is_ordered(gold_sql) if ordered is None else ordered)
