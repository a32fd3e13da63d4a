"""Splits: nothing of a test row was seen in training, and what is asked in public is test."""

from __future__ import annotations

import pytest

from infranode_eval.generator.build import candidates, servable_keys
from infranode_eval.generator.deal import answering_cities
from infranode_eval.generator.robust import written
from infranode_eval.generator.splits import (
    HELD_CITIES,
    HELD_KEYS,
    SPLITS,
    allowed_cities,
    cities_of,
    held_out_cities,
    held_out_keys,
    phrasing_splits,
    split_of,
)
from infranode_eval.generator.templates import city_forms, core_rows, phrasings

EXTENDED = [c.task for c in candidates(1) if c.task.set == "extended"]
OF = {name: [task for task in EXTENDED if split_of(task) == name] for name in (*SPLITS, None)}


def keys_of(split: str | None) -> set[str]:
    return {call.arguments["resource"] for task in OF[split] for call in task.expected if "resource" in call.arguments}


def test_every_phrasing_has_one_split() -> None:
    assert set(phrasing_splits()) == set(phrasings())
    assert set(phrasing_splits().values()) == set(SPLITS)


def test_no_phrasing_stands_in_two_splits() -> None:
    worded = {name: {task.extra["phrasing"] for task in OF[name]} for name in SPLITS}
    assert not worded["train"] & worded["test"]
    assert not worded["train"] & worded["dev"]
    assert not worded["dev"] & worded["test"]


def test_held_out_keys_and_cities_occur_in_test_alone() -> None:
    assert (len(held_out_keys()), len(held_out_cities())) == (HELD_KEYS, HELD_CITIES)
    assert held_out_keys() <= set(servable_keys())
    for name in ("train", "dev"):
        assert not keys_of(name) & held_out_keys()
        assert not {slug for task in OF[name] for slug in cities_of(task)} & held_out_cities()
    assert held_out_keys() <= keys_of("test")
    assert held_out_cities() <= {slug for task in OF["test"] for slug in cities_of(task)}


def test_what_is_asked_in_public_is_test() -> None:
    public = {row["phrasing"] for row in core_rows()} | {row.phrasing for row in written()}
    assert {phrasing_splits()[name] for name in public} == {"test"}


def test_each_split_is_large_enough_to_be_of_use() -> None:
    assert len(OF["train"]) >= 800
    assert len(OF["dev"]) >= 100
    assert len(OF["test"]) >= 500
    assert len(OF[None]) <= 0.06 * len(EXTENDED)


@pytest.mark.parametrize("split", SPLITS)
def test_every_split_teaches_many_keys(split: str) -> None:
    assert len(keys_of(split)) >= 40


def test_further_cities_of_a_phrasing_follow_its_split() -> None:
    for name, phrasing in phrasings().items():
        cities = answering_cities(phrasing)
        allowed = set(allowed_cities(phrasing, cities))
        if phrasing_splits()[name] == "test" and set(cities) & held_out_cities():
            assert allowed == set(cities) & held_out_cities()
        elif phrasing_splits()[name] != "test":
            assert allowed == set(cities) - held_out_cities()


def test_the_split_does_not_hang_on_the_seed_of_a_build() -> None:
    by_seed = [{c.task.extra["phrasing"] for c in candidates(seed) if split_of(c.task) == "train"} for seed in (1, 2)]
    assert {phrasing_splits()[name] for names in by_seed for name in names} == {"train"}


def test_every_registry_city_is_in_some_split() -> None:
    assert {slug for name in SPLITS for task in OF[name] for slug in cities_of(task)} == set(city_forms())
