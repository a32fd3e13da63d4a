"""Dealing: reproducible, even, and never the same phrasing for the same city."""

from __future__ import annotations

from collections import Counter

import pytest

from infranode_eval.generator.deal import Dealer, Wanted, answering_cities, in_rounds, shuffled, uncovered_cities
from infranode_eval.generator.templates import phrasings
from infranode_eval.infranode import facts
from lm_eval_task.errors import DataError


def test_only_seed_and_purpose_decide_the_order() -> None:
    names = [f"n{i}" for i in range(20)]
    assert shuffled(names, 1, "a") == shuffled(reversed(names), 1, "a")
    assert shuffled(names, 1, "a") != shuffled(names, 2, "a") != shuffled(names, 2, "b")


@pytest.mark.parametrize(("name", "inside", "outside", "why"), [
    ("parking-1", "koeln", "bonn", "partial key: only covered cities"),
    ("unemployment-7", "koeln", "essen", "the genitive of Essen reads like the noun"),
    ("unemployment-3", "koeln", "halle-saale", "no safe adjective"),
    ("events-1", "koeln", "aachen", "only fully covered cities have a feed"),
    ("water-level-3", "stuttgart", "mannheim", "the gauge of Mannheim stands at the Rhine"),
    ("water-level-6", "koblenz", "muenchen", "no federal waterway"),
    ("station-departures-1", "koeln", "kassel", "two main stations: shut out by the phrasing"),
    ("population-density-2", "koeln", "mainz", "a genitive behind the noun that ends in an apostrophe"),
])
def test_cities_of_a_phrasing(name: str, inside: str, outside: str, why: str) -> None:
    cities = answering_cities(phrasings()[name])
    assert inside in cities, why
    assert outside not in cities, why


def test_uncovered_cities_lie_outside_the_key_and_inside_the_phrasing() -> None:
    assert "bonn" in uncovered_cities(phrasings()["parking-1"])
    assert "koeln" not in uncovered_cities(phrasings()["parking-1"])
    assert "muenchen" not in uncovered_cities(phrasings()["office-wait-times-1"]), "not among the named cities"
    with pytest.raises(DataError, match="covers every city"):
        uncovered_cities(phrasings()["unemployment-1"])


def test_cities_are_dealt_evenly_and_each_once_per_phrasing() -> None:
    dealer, phrasing = Dealer(3), phrasings()["playgrounds-6"]
    wanted = Wanted("resource_key", phrasing, answering_cities(phrasing))
    dealt = Counter(dealer.deal(wanted)[0] for _ in facts.cities())
    assert set(dealt.values()) == {1}
    with pytest.raises(DataError, match="no city is left"):
        dealer.deal(wanted)


@pytest.mark.parametrize(("used", "free"), [("ulm", "bonn"), ("bonn", "ulm")])
def test_the_same_answer_goes_to_another_city_first(used: str, free: str) -> None:
    dealer, first, second = Dealer(3), phrasings()["playgrounds-6"], phrasings()["playgrounds-1"]
    dealer.take(first, [used])
    for _ in range(5):
        dealer.take(phrasings()["markets-7"], [free])     # used more often, but for another answer
    assert dealer.deal(Wanted("resource_key", second, ("ulm", "bonn"))) == (free,)


def test_the_least_used_city_is_next() -> None:
    dealer, dealt = Dealer(3), []
    for name in ("markets-7", "public-toilets-6", "post-boxes-6", "parcel-lockers-5"):
        wanted = Wanted("resource_key", phrasings()[name], answering_cities(phrasings()[name]))
        dealt += [dealer.deal(wanted)[0] for _ in range(21)]
    assert len(set(dealt)) == len(dealt) == len(facts.cities())


def test_several_cities_of_one_question_differ() -> None:
    dealer, phrasing = Dealer(0), phrasings()["compare-weather-2"]
    slugs = dealer.deal(Wanted("compare_multi", phrasing, ("bonn", "ulm", "kiel")))
    assert sorted(slugs) == ["bonn", "kiel", "ulm"]


@pytest.mark.parametrize(("room", "quota", "uses"), [
    ([3, 3], 2, [1, 1]),      # each once before any twice
    ([3, 3], 5, [3, 2]),      # then in rounds
    ([1, 3], 4, [1, 3]),      # a phrasing without room is passed over
    ([0, 1], 1, [0, 1]),      # one that is used up from the start
])
def test_phrasings_are_used_in_rounds(room: list[int], quota: int, uses: list[int]) -> None:
    pair = [phrasings()["parking-1"], phrasings()["parking-2"]]
    counts = Counter(p.id for p in in_rounds(pair, room, quota))
    assert [counts[p.id] for p in pair] == uses


def test_a_quota_that_cannot_be_met_is_an_error() -> None:
    with pytest.raises(DataError, match="only 1 of 2"):
        in_rounds([phrasings()["parking-1"]], [1], 2)
