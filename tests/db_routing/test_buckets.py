"""Buckets: the twelve cells, and what is said while votes are missing."""

from __future__ import annotations

import json
from itertools import product

import pytest

from infranode_eval.db_routing.buckets import (
    BUCKETS,
    LABELS,
    NEIGHBOUR_BUCKETS,
    bucket_of,
    buckets,
    by_database,
    neighbour_bucket,
)
from infranode_eval.db_routing.naive import chance, drawn, majority


@pytest.mark.parametrize("foreign, votes, bucket, why", [
    (0, 0, "easy", "nobody is confused, no neighbour is foreign"),
    (0, 1, "medium", "one vote flags nothing, and is not nothing"),
    (0, 2, "jury_only_hard", "two of three"),
    (0, 3, "jury_only_hard", "all three"),
    (1, 0, "medium", "one foreign neighbour"),
    (4, 0, "medium", "four are not five"),
    (4, 1, "medium", "below both"),
    (4, 2, "jury_only_hard", "the votes alone"),
    (4, 3, "jury_only_hard", "the votes alone"),
    (5, 0, "qq_only_hard", "five neighbours alone"),
    (5, 1, "qq_only_hard", "one vote adds nothing"),
    (5, 2, "hard_strict", "both"),
    (20, 3, "hard_strict", "both, and more of it"),
])
def test_bucket_of_each_cell(foreign, votes, bucket, why):
    assert bucket_of(foreign, votes) == bucket, why


def test_the_twelve_cells_are_a_partition():
    """foreign 0, 1-4, 5 and more by 0-3 votes: 1 easy, 3 medium, 4 jury only, 2 neighbours only, 2 both."""
    cells = [bucket_of(foreign, votes) for foreign, votes in product((0, 3, 7), range(4))]
    assert {name: cells.count(name) for name in BUCKETS} == {
        "easy": 1, "medium": 3, "qq_only_hard": 2, "jury_only_hard": 4, "hard_strict": 2}
    for votes in range(4):
        assert len({bucket_of(foreign, votes) for foreign in range(1, 5)}) == 1, "1 to 4 are one cell"
        assert len({bucket_of(foreign, votes) for foreign in range(5, 21)}) == 1, "5 to 20 are one cell"


@pytest.mark.parametrize("foreign, votes", [(-1, 0), (0, -1), (0, 4)])
def test_impossible_counts_are_refused(foreign, votes):
    with pytest.raises(ValueError):
        bucket_of(foreign, votes)


@pytest.mark.parametrize("foreign, bucket", [(0, "neighbour_free"), (4, "neighbour_free"), (5, "neighbour_hard")])
def test_neighbour_bucket(foreign, bucket):
    assert neighbour_bucket(foreign) == bucket
    with pytest.raises(ValueError):
        neighbour_bucket(-1)


FOREIGN = {"a": 0, "b": 3, "c": 7, "d": 6, "e": 2}


def test_buckets_with_all_votes():
    found = buckets(FOREIGN, {"a": 0, "b": 0, "c": 1, "d": 2, "e": 3})
    assert found.of == {"a": "easy", "b": "medium", "c": "qq_only_hard", "d": "hard_strict", "e": "jury_only_hard"}
    assert (found.headline, LABELS[found.headline]) == ("hard_strict", "hart")
    assert sum(found.sizes.values()) == len(FOREIGN)


@pytest.mark.parametrize("votes, why", [
    (None, "nobody has voted"),
    ({}, "no vote"),
    ({"a": 0, "b": 3, "c": 3, "d": 3}, "one question is missing: all fall back, tables do not mix"),
])
def test_buckets_without_all_votes(votes, why):
    found = buckets(FOREIGN, votes)
    assert found.of == {"a": "neighbour_free", "b": "neighbour_free", "c": "neighbour_hard", "d": "neighbour_hard",
                        "e": "neighbour_free"}, why
    assert (found.headline, LABELS[found.headline]) == ("neighbour_hard", "nachbar-hart")
    assert found.sizes == {"neighbour_free": 3, "neighbour_hard": 2}
    shown = json.dumps([found.of, found.names, found.sizes, [LABELS[name] for name in found.names]]).lower()
    assert "hard_strict" not in shown and "jury" not in shown, "neither word without complete votes"


def test_another_threshold():
    assert buckets({"a": 5}, None, threshold=6).of == {"a": "neighbour_free"}
    assert buckets({"a": 5}, {"a": 3}, threshold=6).of == {"a": "jury_only_hard"}
    assert buckets({}, {}).names == NEIGHBOUR_BUCKETS


def test_by_database():
    assert by_database(["b", "c", "a", "c", "b"]) == {"b": 2, "c": 2, "a": 1}
    assert list(by_database(["b", "c", "a", "c", "b"])) == ["b", "c", "a"]


# --- answers without thought ------------------------------------------------------------------------------------------

def test_chance_is_not_drawn():
    assert chance(11) * 11 == 1 and chance(1) == 1
    with pytest.raises(ValueError):
        chance(0)


def test_majority():
    assert majority(["b", "a", "b", "a", "c"]) == ("a", 2), "of equals the first by name"
    with pytest.raises(ValueError):
        majority([])


def test_ties_are_drawn_by_task():
    """Equal input, equal draw; and each is drawn about as often as the others."""
    tied = ("db_01", "db_02", "db_03")
    draws = [drawn(tied, 7, f"t{number}") for number in range(300)]
    assert draws == [drawn(tied[::-1], 7, f"t{number}") for number in range(300)], "in whatever order they come"
    assert draws != [drawn(tied, 8, f"t{number}") for number in range(300)], "the seed matters"
    assert all(70 < draws.count(alias) < 130 for alias in tied)
    assert drawn(("db_09",), 7, "t1") == "db_09"
    with pytest.raises(ValueError):
        drawn((), 7, "t1")
