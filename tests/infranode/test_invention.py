"""Invented values follow from seed, place, key, field and index, and stay within their rule."""

from __future__ import annotations

from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infranode_eval.infranode import facts
from infranode_eval.infranode.envelope import sha256_hex
from infranode_eval.infranode.invention import Rule, draw
from lm_eval_task.errors import DataError

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


def test_a_draw_is_the_first_seven_bytes_of_the_hash_as_a_fraction():
    digest = sha256(b"s1|bonn|weather|temperature_c|0").digest()
    assert draw("s1", "bonn", "weather", "temperature_c", 0) == int.from_bytes(digest[:7], "big") / 2**56


@given(TEXT, TEXT, TEXT, TEXT, st.integers(0, 999))
def test_a_draw_is_repeatable_and_below_one(seed, city, key, field, index):
    first = draw(seed, city, key, field, index)
    assert 0 <= first < 1
    assert first == draw(seed, city, key, field, index)


@pytest.mark.parametrize("other", [
    ("s2", "bonn", "weather", "temperature_c", 0), ("s1", "koeln", "weather", "temperature_c", 0),
    ("s1", "bonn", "air", "temperature_c", 0), ("s1", "bonn", "weather", "humidity", 0),
    ("s1", "bonn", "weather", "temperature_c", 1),
], ids=["seed", "city", "key", "field", "index"])
def test_each_part_changes_the_draw(other):
    assert draw(*other) != draw("s1", "bonn", "weather", "temperature_c", 0)


@pytest.mark.parametrize(("row", "fraction", "population", "expected", "why"), [
    ({"kind": "number", "low": 3, "high": 14, "decimals": 1}, 0.5, 0, 8.5, "halfway between low and high"),
    ({"kind": "number", "low": 3, "high": 14, "decimals": 0}, 0.0, 0, 3, "no decimals give an integer"),
    ({"kind": "number", "low": 9, "high": 60, "float": True}, 0.0, 0, 9.0, "the API gives a whole number as float"),
    ({"kind": "number", "low": 2, "high": 4, "per": 1000}, 0.5, 50_000, 150, "per 1,000 inhabitants"),
    ({"kind": "number", "low": 0, "high": 0, "per": 1000, "least": 3}, 0.5, 50_000, 3, "never below `least`"),
    ({"kind": "number", "low": 380, "high": 520, "step": 5}, 0.52, 0, 455, "a multiple of the step"),
    ({"kind": "number", "low": 1, "high": 9, "null_share": 0.5}, 0.49, 0, None, "the lower half is null"),
    ({"kind": "number", "low": 1, "high": 9, "null_share": 0.5}, 0.5, 0, 1, "the rest still starts at low"),
    ({"kind": "choice", "values": ["a", "b"]}, 0.999, 0, "b", "the last value is reachable"),
    ({"kind": "flag", "share": 0.3}, 0.29, 0, True, "true with probability share"),
    ({"kind": "flag", "share": 0.3}, 0.31, 0, False, "false beyond it"),
    ({"kind": "rows", "low": 5, "high": 15}, 0.5, 100_000, 5, "the smallest city has the shortest list"),
    ({"kind": "rows", "low": 5, "high": 15}, 0.5, 3_800_000, 15, "the largest city has the longest list"),
    ({"kind": "near", "spread": 0.1}, 0.0, 0, -0.1, "west or south end"),
    ({"kind": "id", "digits": 5}, 0.00012, 0, "00012", "digits are padded"),
])
def test_a_rule_shapes_a_fraction(row, fraction, population, expected, why):
    value = Rule.from_json({"key": "k", "field": "f", "proof": "modelled", **row}, {}).shape(fraction, population)
    assert (value, type(value)) == (expected, type(expected)), why


@pytest.mark.parametrize("rule", [rule for rule in facts.rules().values() if rule.kind == "number"],
                         ids=lambda rule: f"{rule.key}.{rule.field}")
def test_every_number_of_the_table_stays_in_its_range(rule):
    scale = 250 if rule.per else 1
    low, high = rule.low * scale, rule.high * scale
    slack = (rule.step or 10**-rule.decimals) / 2
    values = [rule.shape(draw("s1", str(index), rule.key, rule.field), 250_000) for index in range(60)]
    numbers = [value for value in values if value is not None]
    assert all(min(low, rule.least or low) - slack <= value <= high + slack for value in numbers)
    assert all(round(value, rule.decimals) == value for value in numbers)
    assert len(set(numbers)) > 1
    assert (None in values) == bool(rule.null_share)


@pytest.mark.parametrize(("row", "what"), [
    ({"key": "k", "field": "f", "kind": "number", "proof": "modelled", "lowest": 1}, "lowest"),
    ({"key": "k", "field": "f", "kind": "number"}, "proof"),
])
def test_a_broken_row_names_itself(row, what):
    with pytest.raises(DataError, match=rf"rule k\.f.*{what}"):
        Rule.from_json(row, {})


def test_a_missing_rule_names_itself():
    with pytest.raises(DataError, match="no rule for weather.snow_depth"):
        facts.inventor().value("bonn", "weather", "snow_depth")


def test_a_computed_field_cannot_be_drawn():
    with pytest.raises(DataError, match="sharing.vehicles_available is computed"):
        facts.inventor().value("bonn", "sharing", "vehicles_available")


def test_shuffling_keeps_all_items_and_depends_on_the_place():
    values, items = facts.inventor(), list(range(30))
    assert sorted(values.shuffled("bonn", "k", "f", items)) == items
    assert values.shuffled("bonn", "k", "f", items) != values.shuffled("koeln", "k", "f", items)


# Version of the rule table -> hash of its rows and lists. A changed row moves golds of other suites: raise the version.
VERSIONS = {"2": "3ee15346b1cd41a4f3cb01d283b91bd4f3dbb99131b2d7713bf35d002b644616"}


def test_a_changed_table_has_a_new_version():
    file = facts.rules_file()
    assert sha256_hex([file["fields"], file["lists"]]) == VERSIONS[file["version"]]


def test_the_table_says_in_words_that_values_are_invented_and_marks_every_row():
    file = facts.rules_file()
    assert "INVENTED" in file["_about"][0]
    assert {row["proof"] for row in file["fields"]} == {"recorded", "specified", "modelled"}
    assert all(row["agrees"] for row in file["fields"] if row["kind"] == "computed")
