"""The final SQL of a play, through the executor, against gold."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from infranode_eval.db_routing.executor import Executor
from infranode_eval.db_routing.finals import Golds, final_answer, judged
from infranode_eval.db_routing.rows import Rows, SqlError
from lm_eval_task.errors import WorldNotReadyError
from tests.db_routing.databases import make_library, make_shop

ENDLESS = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r"
GOLD = "SELECT ort, count(*) FROM kunden WHERE ort IS NOT NULL GROUP BY ort ORDER BY ort"


@pytest.fixture(scope="module")
def executor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Executor]:
    folder = tmp_path_factory.mktemp("panel")
    with Executor({"onlineshop": make_shop(folder), "stadtbibliothek": make_library(folder)}, 1, limit_s=0.4) as made:
        yield made


FINALS = [
    # (declared, sql, sql_set, sql_strict, sql_error, why)
    ("onlineshop", GOLD, True, True, None, "gold itself"),
    ("onlineshop", GOLD + ";", True, True, None, "with a semicolon"),
    ("onlineshop", GOLD + " DESC", True, False, None, "in another order"),
    ("onlineshop", GOLD.replace("count(*)", "count(*) * 1.0"), True, True, None, "as a fraction"),
    ("onlineshop", GOLD.replace("IS NOT NULL", "= 'Bonn'"), False, False, None, "with another filter"),
    ("onlineshop", "VALUES ('Bonn', 67), ('Köln', 66)", True, True, None, "only the rows count"),
    ("onlineshop", "SELECT nope FROM kunden", False, False, "no_such_column", "an error"),
    ("onlineshop", "DELETE FROM kunden", False, False, "forbidden", "not allowed"),
    ("onlineshop", ENDLESS, False, False, "timeout", "endless"),
    ("onlineshop", "SELECT a.nr FROM kunden a, kunden b LIMIT 10001", False, False, "too_large", "beyond the cap"),
    ("onlineshop", "SELECT julianday('now')", False, False, "nondeterministic", "depends on the millisecond"),
    ("onlineshop", "SELECT date()", False, False, "nondeterministic", "depends on the day"),
    ("onlineshop", "SELECT nr FROM kunden WHERE nr = strftime('%Y', 'now') - 2000", False, False, "nondeterministic",
     "depends on the year"),
    ("onlineshop", GOLD.replace("GROUP", "AND '2000-01-01' < date('now') GROUP"), True, True, None,
     "names the clock, does not depend on it"),
    ("onlineshop", "", False, False, "no_sql", "empty"),
    ("onlineshop", None, False, False, "no_sql", "no key sql"),
    ("onlineshop", 5, False, False, "no_sql", "a number"),
    ("stadtbibliothek", GOLD, False, False, "no_such_table", "on the declared database, not on gold's"),
    ("stadtbibliothek", "VALUES ('Bonn', 67), ('Köln', 66)", True, True, None, "a wrong route is judged apart"),
    (None, GOLD, False, False, "no_declaration", "nothing declared"),
]


@pytest.mark.parametrize(("declared", "sql", "as_set", "strict", "error", "why"), FINALS, ids=[f[5] for f in FINALS])
def test_judged(executor: Executor, declared: str | None, sql: object, as_set: bool, strict: bool, error: str | None,
                why: str) -> None:
    verdict = judged(executor, Golds(executor), declared=declared, sql=sql, gold_database="onlineshop", gold_sql=GOLD)
    assert (verdict.sql_set, verdict.sql_strict, verdict.sql_error) == (as_set, strict, error), why


def test_the_order_of_gold_may_be_given(executor: Executor) -> None:
    verdict = judged(executor, Golds(executor), declared="onlineshop", sql=GOLD + " DESC", gold_database="onlineshop",
                     gold_sql=GOLD, ordered=False)
    assert verdict.sql_strict


def test_a_gold_that_does_not_end_leaves_the_count(executor: Executor) -> None:
    golds = Golds(executor, limit_s=0.2)
    verdict = judged(executor, golds, declared="onlineshop", sql=GOLD, gold_database="onlineshop", gold_sql=ENDLESS)
    assert (verdict.sql_set, verdict.sql_strict, verdict.sql_error) == (None, None, "gold_timeout")


class Counting:
    """An executor that counts, remembers the last limit, and fails the first time if told to."""

    def __init__(self, executor: Executor, fail: bool = False) -> None:
        self._executor, self._fail = executor, fail
        self.count, self.limit_s = 0, None

    def run(self, *args: object, limit_s: float | None = None, **options: object) -> Rows | SqlError:
        self.count, self.limit_s = self.count + 1, limit_s
        if self._fail and self.count == 1:
            raise WorldNotReadyError("not yet")
        return self._executor.run(*args, limit_s=limit_s, **options)


def test_gold_has_ten_seconds_and_a_final_sql_the_limit_of_the_pool(executor: Executor) -> None:
    counting = Counting(executor)
    Golds(counting).answer("onlineshop", GOLD)   # type: ignore[arg-type]
    assert counting.limit_s == 10.0
    final_answer(counting, "onlineshop", GOLD)   # type: ignore[arg-type]
    assert counting.limit_s is None


def test_gold_runs_once_for_all_threads(executor: Executor) -> None:
    counting = Counting(executor)
    golds = Golds(counting)   # type: ignore[arg-type]
    with ThreadPoolExecutor(32) as threads:
        answers = list(threads.map(lambda _: golds.answer("onlineshop", GOLD), range(64)))
    assert counting.count == 1 and len({id(a) for a in answers}) == 1
    golds.answer("onlineshop", "SELECT 1")
    golds.answer("stadtbibliothek", "SELECT 1")
    assert counting.count == 3


def test_a_gold_that_could_not_be_asked_is_asked_again(executor: Executor) -> None:
    golds = Golds(Counting(executor, fail=True))   # type: ignore[arg-type]
    with pytest.raises(WorldNotReadyError):
        golds.answer("onlineshop", GOLD)
    assert isinstance(golds.answer("onlineshop", GOLD), Rows)


def test_a_final_sql_runs_twice_and_an_error_once(executor: Executor) -> None:
    counting = Counting(executor)
    final_answer(counting, "onlineshop", GOLD)   # type: ignore[arg-type]
    assert counting.count == 2
    final_answer(counting, "onlineshop", "SELECT nope")   # type: ignore[arg-type]
    assert counting.count == 3
