"""Deals cities to phrasings: the same seed gives the same hand, every city about equally often, no question twice.

Ties are broken by sha256 over seed and names, not by a random module, so no Python version deals differently.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from infranode_eval.generator.templates import CityForms, Phrasing, city_forms
from infranode_eval.infranode import facts
from lm_eval_task.errors import DataError


def shuffled(names: Iterable[str], seed: int, purpose: str) -> list[str]:
    """The names in an order that only seed and purpose decide."""
    return sorted(names, key=lambda name: (_draw(seed, purpose, name), name))


def _draw(seed: int, *parts: str) -> str:
    return hashlib.sha256("|".join((str(seed), *parts)).encode()).hexdigest()


def answering_cities(phrasing: Phrasing) -> tuple[str, ...]:
    """The cities where the phrasing has a right answer: forms at hand, every key covered, the river at the gauge."""
    slugs = city_forms() if phrasing.cities is None else phrasing.cities
    keys = [call["arguments"]["resource"] for call in phrasing.calls if call["name"] == "get_city_resource"]
    return tuple(slug for slug in slugs if _speakable(phrasing, slug)
                 and all(_answers(key, slug) for key in keys) and _at_water(phrasing, slug))


def uncovered_cities(phrasing: Phrasing) -> tuple[str, ...]:
    """The registry cities outside the list of the phrasing's partial key, if the question makes sense there."""
    covered = facts.covered(facts.DEFAULT_STATE, phrasing.key or "")
    if covered is None:
        raise DataError(f"phrasing {phrasing.id}: its key covers every city, so not_covered cannot be asked")
    slugs = phrasing.cities_uncovered or tuple(city_forms())
    return tuple(slug for slug in slugs if slug not in covered and _speakable(phrasing, slug))


def _speakable(phrasing: Phrasing, slug: str) -> bool:
    """Does German have the forms that the slots need, and does the phrasing not shut the city out?"""
    forms = city_forms()[slug]
    wanted = {slot.rstrip("123") for slot in phrasing.slots}
    return slug not in phrasing.cities_not and ("gen" not in wanted or forms.genitive is not None) \
        and ("adj" not in wanted or forms.adjective is not None)


def _answers(key: str, slug: str) -> bool:
    """Events come from feeds of the fully covered cities, gauges stand at federal waterways; the rest is coverage."""
    if key == "events":
        city = facts.city(slug)
        return city is not None and city.coverage == "full"
    if key == "water-level":
        return facts.gauge(slug) is not None
    return facts.is_covered(facts.DEFAULT_STATE, key, slug)


def _at_water(phrasing: Phrasing, slug: str) -> bool:
    gauge = facts.gauge(slug)
    return phrasing.water is None or (gauge is not None and gauge[0] == phrasing.water)


@dataclass(frozen=True, slots=True)
class Wanted:
    """One question to be dealt: its phrasing, and the cities that may fill it."""

    category: str
    phrasing: Phrasing
    cities: tuple[str, ...]


class Dealer:
    """Remembers how often each city was dealt, for which answer, and which phrasing met which cities."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._uses: Counter[str] = Counter()
        self._answers: Counter[tuple[str, str]] = Counter()
        self._taken: set[tuple[str, ...]] = set()

    def take(self, phrasing: Phrasing, slugs: Sequence[str]) -> None:
        """Note that the phrasing was used with these cities."""
        self._uses.update(slugs)
        self._answers.update((phrasing.answer, slug) for slug in slugs)
        self._taken.add((phrasing.id, *slugs))

    def free(self, phrasing: Phrasing, cities: Iterable[str]) -> tuple[str, ...]:
        """The cities that the phrasing has not met yet (as its first city)."""
        met = {taken[1] for taken in self._taken if taken[0] == phrasing.id and len(taken) > 1}
        return tuple(slug for slug in cities if slug not in met)

    def deal(self, wanted: Wanted) -> tuple[str, ...]:
        """The least used cities, as many as the phrasing names. Raise DataError if too few are free."""
        count = wanted.phrasing.city_count
        first = self._least_used(wanted, self.free(wanted.phrasing, wanted.cities))
        ranked = first + [slug for slug in self._least_used(wanted, wanted.cities) if slug not in first[:1]]
        slugs = tuple(dict.fromkeys((*first[:1], *ranked)))[:count] if first else ()
        if len(slugs) < count:
            raise DataError(f"phrasing {wanted.phrasing.id}: no city is left for a further {wanted.category} task")
        self.take(wanted.phrasing, slugs)
        return slugs

    def _least_used(self, wanted: Wanted, cities: Iterable[str]) -> list[str]:
        def rank(slug: str) -> tuple[int, int, str, str]:
            again = self._answers[wanted.phrasing.answer, slug]     # the same gold a second time only where it must be
            return again, self._uses[slug], _draw(self._seed, wanted.phrasing.id, slug), slug

        return sorted(cities, key=rank)


def in_rounds(phrasings: Sequence[Phrasing], room: Sequence[int], quota: int) -> list[Phrasing]:
    """`quota` phrasings: each once, then each a second time, …, none more often than it has room (free cities)."""
    chosen: list[Phrasing] = []
    for turn in range(max(room, default=0)):
        chosen += [phrasing for phrasing, free in zip(phrasings, room, strict=True) if free > turn]
    if len(chosen) < quota:
        raise DataError(f"only {len(chosen)} of {quota} tasks can be made from {', '.join(p.id for p in phrasings)}")
    return chosen[:quota]


def values_of(slugs: Sequence[str], several: bool) -> dict[str, str]:
    """Slot values of one city, or of several under numbered slots."""
    forms: list[CityForms] = [city_forms()[slug] for slug in slugs]
    if not several:
        return forms[0].values() if forms else {}
    return {slot: value for number, form in enumerate(forms, 1) for slot, value in form.values(number).items()}
