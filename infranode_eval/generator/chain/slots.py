"""Slots: the names in braces of a template, and what fills them in a sentence or in JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

_NUMBERED = re.compile(r"(\w+?)([1-9])")
_SLOT = re.compile(r"{([A-Za-z_][A-Za-z0-9_]*)}")
CITY_SLOTS = ("city", "in_city", "gen", "adj", "slug")
SPOKEN = ("city", "in_city", "gen", "adj")      # the forms that name a city in a sentence


@dataclass(frozen=True, slots=True)
class Filling:
    """What a slot becomes: `text` in a sentence, `value` (with its JSON type) in a plan, a derivation or a fault."""

    text: str
    value: Any


Fillings = Mapping[str, Filling]


def slots_of(value: Any) -> frozenset[str]:
    """The slots of a text, or of every text inside a JSON value."""
    return frozenset(_slots(value))


def _slots(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield from _SLOT.findall(value)
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _slots(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _slots(inner)


def sentence(text: str, fillings: Fillings) -> str:
    """The text with the spoken form of each slot. KeyError names a slot without a filling."""
    return _SLOT.sub(lambda found: fillings[found[1]].text, text)


def filled(value: Any, fillings: Fillings) -> Any:
    """A JSON value with its slots filled. KeyError names a slot without a filling.

    A text that is exactly one slot becomes the value with its type ("{kw}" → 150); inside a longer text the value is
    written as text ("{slug1},{slug2}" → "bonn,koeln").
    """
    if isinstance(value, str):
        whole = _SLOT.fullmatch(value)
        return fillings[whole[1]].value if whole else _SLOT.sub(lambda found: str(fillings[found[1]].value), value)
    if isinstance(value, Mapping):
        return {name: filled(inner, fillings) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [filled(inner, fillings) for inner in value]
    return value


def is_city_slot(slot: str) -> bool:
    """Is it a form of a city, numbered or not?"""
    return base_of(slot) in CITY_SLOTS


def base_of(slot: str) -> str:
    """"in_city2" → "in_city"; any other slot stays."""
    numbered = _NUMBERED.fullmatch(slot)
    return numbered[1] if numbered and numbered[1] in CITY_SLOTS else slot


def german_number(value: float) -> str:
    """1500 → "1.500", 2.5 → "2,5": a number as a German sentence writes it."""
    return f"{value:,}".translate(str.maketrans(",.", ".,"))
