"""The walk: in which order a template's candidates are tried for each of its tasks, whatever the world's seed.

Task n starts at city n and at the n-th value of each slot. A candidate that is refused gives way to the next one of
the same city, then of the cities that no other task starts with, then of the rest; so a new seed moves as few texts as
it can.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from infranode_eval.generator.chain.slots import Filling, slots_of
from infranode_eval.generator.chain.template import Cities, Pick, Template
from infranode_eval.generator.deal import values_of

# (slot, pick, forms of the cities) -> the fillings that each row of the pick gives
Rows = Callable[[str, Pick, Mapping[str, Filling]], Sequence[Mapping[str, Filling]]]


@dataclass(frozen=True, slots=True)
class Candidate:
    """What may become a task: its cities, and a filling for every slot. chosen: the slots of vary and pick."""

    cities: Cities
    phrasing: str
    fillings: Mapping[str, Filling]
    chosen: tuple[str, ...]

    @property
    def named(self) -> str:
        """"bonn, koeln, kw=150": what sets it apart, for people."""
        slots = (*self.cities.fillings, *self.chosen)
        return ", ".join((*self.cities.slugs, *(f"{slot}={self.fillings[slot].text}" for slot in slots)))


def candidates(template: Template, number: int, rows: Rows) -> Iterator[Candidate]:
    """The candidates for task `number` (from 0) of the template, each once. `rows` reads the world for picks."""
    for cities in _cities(template, number):
        values = values_of(cities.slugs, len(cities.slugs) > 1)
        forms = {**{slot: Filling(form, form) for slot, form in values.items()}, **cities.fillings}
        phrasing = _phrasing(template, number, forms)
        if phrasing is None:
            continue
        for fillings in _choices(template, number, forms, rows):
            yield Candidate(cities, phrasing, {**forms, **fillings}, tuple(fillings))


def _cities(template: Template, number: int) -> list[Cities]:
    indices = range(len(template.cities))
    order = (number % len(indices), *indices[template.tasks:], *_from(indices, number))
    return [template.cities[index] for index in dict.fromkeys(order)]


def _phrasing(template: Template, number: int, forms: Mapping[str, Filling]) -> str | None:
    """The wording whose turn it is, or the next one that German has the forms for."""
    own = {*template.vary, *template.picks, *(slot for pick in template.picks.values() for slot in pick.also)}
    for text in _from(template.phrasings, number):
        if slots_of(text) - own <= set(forms):
            return text
    return None


def _choices(template: Template, number: int, forms: Mapping[str, Filling], rows: Rows
             ) -> Iterator[dict[str, Filling]]:
    """Every combination of the free slots; each list of values begins at its n-th."""
    varied = [[{slot: choice} for choice in _from(choices, number)] for slot, choices in template.vary.items()]
    picked = [_from(rows(slot, pick, forms), number) for slot, pick in template.picks.items()]
    for combination in product(*varied, *picked):
        yield {slot: filling for part in combination for slot, filling in part.items()}


def _from(values: Sequence[Any], number: int) -> list[Any]:
    """The values in their order, beginning with the n-th and going round."""
    start = number % len(values) if values else 0
    return [*values[start:], *values[:start]]
