"""Which city a slug in a request means: exact in July (ASCII case apart), lenient in August."""

from __future__ import annotations

from difflib import get_close_matches
from functools import cache

from infranode_eval.infranode import facts
from infranode_eval.infranode.facts import City

_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})
_BARE = str.maketrans({"ä": "a", "ö": "o", "ü": "u", "ß": "ss"})
_LOWER = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")


def city_of(text: str, state: str) -> City | None:
    """The city, None for an unknown spelling. Umlauts and German names resolve in august-2026 only (modelled)."""
    found = facts.city(text.translate(_LOWER))
    if found or state != "august-2026":
        return found
    slug = _lenient().get(_plain(text.lower()))
    return facts.city(slug) if slug else None


def near_miss(text: str, state: str) -> str | None:
    """A slug close to an unknown one, for the hint of August; never followed."""
    if state != "august-2026":
        return None
    slugs = [city.slug for city in facts.cities()]
    return next(iter(get_close_matches(_plain(text.lower().translate(_UMLAUTS)), slugs, n=1, cutoff=0.75)), None)


def _plain(text: str) -> str:
    return "-".join(text.replace("(", " ").replace(")", " ").replace("-", " ").split())


@cache
def _lenient() -> dict[str, str]:
    """Spellings of August: with umlauts, without them, full German names, English exonyms, short forms."""
    spellings: dict[str, str] = {}
    for city in facts.cities():
        name = city.name.lower()
        for spelled in (name, name.translate(_UMLAUTS), name.translate(_BARE)):
            spellings[_plain(spelled)] = city.slug
    more = facts.raw()["august_names"]
    return {**spellings, **more["exonyms"], **more["short_forms"]}
