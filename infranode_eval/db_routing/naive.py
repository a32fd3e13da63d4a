"""What answers without thought are worth: chance, the largest database, and a drawn one among equals.

Pure. Source: specification, db_routing, 44.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from fractions import Fraction
from hashlib import sha256

from infranode_eval.db_routing.buckets import by_database


def chance(databases: int) -> Fraction:
    """The share that guessing gets right on average: one in so many, not drawn. Raise ValueError for none."""
    if databases < 1:
        raise ValueError(f"expected at least one database, found {databases}")
    return Fraction(1, databases)


def majority(databases: Iterable[str]) -> tuple[str, int]:
    """The database that most of the questions belong to, and of how many. Raise ValueError without a question.

    databases: the right one of each question; a bucket has a majority of its own. Of equals the first by name.
    """
    counts = by_database(databases)
    if not counts:
        raise ValueError("no question has no majority")
    return next(iter(counts.items()))


def drawn(tied: Collection[str], seed: int, task_id: str) -> str:
    """One of those that score alike, by sha256 of "seed/task_id": the same in every run. Raise ValueError for none."""
    if not tied:
        raise ValueError("there is nothing to draw from")
    number = int.from_bytes(sha256(f"{seed}/{task_id}".encode()).digest(), "big")
    return sorted(tied)[number % len(tied)]
