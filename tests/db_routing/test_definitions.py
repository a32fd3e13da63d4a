"""The list of definitions: complete, in two languages, and silent about votes that are not in."""

from __future__ import annotations

import re

import pytest

from infranode_eval.db_routing.definitions import REQUIREMENTS, Definition, Facts, definitions

FACTS = Facts("char_wb_3_5", 20, 5, 0.11)
VOTED = Facts("char_wb_3_5", 20, 5, 0.11, votes=True)
MANIFEST = {"hardness": {"signal": "char_wb_3_5", "k": 20, "threshold": 5, "floor": 0.11, "pool": 1012},
            "candidates": {"method": "authored", "threshold": None, "linkage": None}}
# Requirements of the specification that carry a definition of ours, and what its section 8 names besides.
OURS = {"1", "4", "5", "9", "17", "20", "21", "21a", "25", "28", "31", "32", "34", "34a", "36", "39", "47", "48", "57",
        "61", "64", "66", "70"}
NAMED = {"27": "swap rule", "42": "tier and drift band", "45": "probe", "65": "corridor", "43": "interval"}


def by_id(facts: Facts) -> dict[str, Definition]:
    return {one.id: one for one in definitions(facts)}


def test_every_definition_of_ours_is_listed():
    assert not OURS - set(REQUIREMENTS)
    assert not NAMED.keys() - set(REQUIREMENTS)


@pytest.mark.parametrize("facts", [FACTS, VOTED, Facts("embedding", 20, 5, 0.4, clustered=True)])
def test_sentences_are_whole_in_both_languages(facts):
    found = definitions(facts)
    assert len({one.id for one in found}) == len(found)
    for one in found:
        for text in (one.de, one.en):
            assert text.endswith(".") and text[0].isalpha() and "{" not in text and "  " not in text, one.id
        assert one.de != one.en and one.to_json() == {"id": one.id, "de": one.de, "en": one.en}


def test_no_word_of_votes_before_they_are_in():
    shown = " ".join(f"{one.id} {one.de} {one.en}" for one in definitions(FACTS)).lower()
    assert "hard_strict" not in shown and "jury" not in shown and "nachbar-hart" in shown
    voted = " ".join(f"{one.id} {one.de}" for one in definitions(VOTED)).lower()
    assert "hard_strict" in voted and "jury" in voted and "nachbar-hart" not in voted


@pytest.mark.parametrize("facts, present, absent", [
    (FACTS, {"neighbour_buckets", "authored"}, {"buckets", "jury", "cosine"}),
    (VOTED, {"buckets", "jury", "authored"}, {"neighbour_buckets", "cosine"}),
    (Facts("x", 20, 5, 0.1, clustered=True), {"cosine"}, {"authored"}),
])
def test_only_what_holds_is_printed(facts, present, absent):
    assert present <= by_id(facts).keys() and not absent & by_id(facts).keys()


def test_facts_of_the_panel_are_filled_in():
    one = by_id(Facts.of(MANIFEST))["neighbours"]
    assert "20 ähnlichsten" in one.de and "char_wb_3_5" in one.de and "über 0,11" in one.de and "ab 5" in one.de
    assert "above 0.11" in one.en
    assert Facts.of(MANIFEST, votes=True) == VOTED
    assert Facts.of(MANIFEST | {"candidates": {"method": "agglomerative"}}).clustered


def test_numbers_are_the_same_in_both_languages():
    for one in definitions(VOTED):
        german = [number.replace(".", "").replace(",", ".") for number in re.findall(r"\d[\d.,]*\d|\d", one.de)]
        english = [number.replace(",", "") for number in re.findall(r"\d[\d.,]*\d|\d", one.en)]
        assert sorted(german) == sorted(english), one.id
