"""Slots: German in a sentence, typed values in JSON."""

from __future__ import annotations

from typing import Any

import pytest

from infranode_eval.generator.chain.slots import Filling, filled, german_number, sentence, slots_of

FILLINGS = {"kw": Filling("150", 150), "slug1": Filling("bonn", "bonn"), "slug2": Filling("koeln", "koeln"),
            "art": Filling("Gäste", "ankuenfte")}


@pytest.mark.parametrize(("value", "wanted", "why"), [
    ("{kw}", 150, "a whole slot keeps its type"),
    ("/x/{kw}", "/x/150", "part of a text is text"),
    ("{slug1},{slug2}", "bonn,koeln", "two slots are a text"),
    ([["/power_kw", ">=", "{kw}"]], [["/power_kw", ">=", 150]], "at any depth"),
    ({"{kw}": "{art}"}, {"{kw}": "ankuenfte"}, "keys stay, values are filled"),
    ({"a": None, "b": True, "c": 2.5}, {"a": None, "b": True, "c": 2.5}, "anything else stays"),
    ('{"antwort": 4711}', '{"antwort": 4711}', "JSON inside a text is no slot"),
])
def test_json_is_filled_with_typed_values(value: Any, wanted: Any, why: str) -> None:
    found = filled(value, FILLINGS)
    assert found == wanted and type(found) is type(wanted), why


def test_a_sentence_takes_the_spoken_form() -> None:
    assert sentence("Wie viele {art} mit {kw} kW?", FILLINGS) == "Wie viele Gäste mit 150 kW?"


def test_a_slot_without_a_filling_is_named() -> None:
    with pytest.raises(KeyError, match="stop"):
        filled({"a": ["{stop}"]}, FILLINGS)


def test_the_slots_of_a_value() -> None:
    assert slots_of({"a": ["{kw} und {slug1}"], "b": {"{x}": "{art}"}, "c": 3}) == {"kw", "slug1", "art"}


@pytest.mark.parametrize(("number", "text"), [(150, "150"), (1500, "1.500"), (2.5, "2,5"), (12345.6, "12.345,6")])
def test_numbers_are_written_in_german(number: float, text: str) -> None:
    assert german_number(number) == text
