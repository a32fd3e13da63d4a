"""Words that carry no domain: function words, question frames, literals that only name something (persons, dates).

Source of the rules: specification, db_routing_panel, section 6.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from infranode_eval.db_routing.folding import folded, words
from infranode_eval.db_routing.textfiles import read_words
from infranode_eval.shipped import read_shipped

STEM = 6                    # letters that make two words one
LEAST_GROUPS = 3            # a word in questions of so many groups carries no domain
_WORD = re.compile(r"[^\W_]+")
_ENDINGS = ("", "s", "n", "e", "er", "en", "es", "ern", "ers")
MONTHS = ("januar", "februar", "maerz", "april", "mai", "juni", "juli", "august", "september", "oktober", "november",
          "dezember")


@dataclass(frozen=True)
class Wordlists:
    """Folded words. panel_frame: computed over the panel, "" of a draft. places: towns in all their forms."""

    stop: frozenset[str]
    frame: frozenset[str]
    places: frozenset[str] = frozenset()
    panel_frame: frozenset[str] = frozenset()

    @property
    def empty(self) -> frozenset[str]:
        return self.stop | self.frame | self.panel_frame


def read_wordlists(folder: Path, towns: Iterable[str]) -> Wordlists:
    """stop.txt and frame.txt of the folder."""
    stop, frame = (frozenset(folded(word) for word in read_words(folder / name)) for name in ("stop.txt", "frame.txt"))
    return Wordlists(stop, frame, frozenset(_place_forms(towns)))


def _place_forms(towns: Iterable[str]) -> Iterable[str]:
    """Names, genitives and adjectives of cities, as folded words."""
    known = read_shipped("city_forms.json")["cities"].values()
    for town in towns:
        yield from (f"{folded(town)}{ending}" for ending in ("", "s", "er", "ern"))
    for city in known:
        for form in filter(None, (city["name"], city["genitive"], city["adjective"])):
            yield from (word for word in words(form) if len(word) > 3)


def bare_words(text: str, literals: Sequence[str], lists: Wordlists) -> list[str]:
    """The words that may carry a domain, NFC and lower case, in order.

    literals: the open-class ones of the intent; they go in every inflected form.
    """
    named = {word for literal in literals for word in words(literal) if word not in lists.stop}
    kept = []
    for word in _WORD.findall(unicodedata.normalize("NFC", text).lower()):
        key = folded(word)
        if not (key in lists.empty or key in lists.places or _is_number(key) or _is_form_of(key, named)):
            kept.append(word)
    return kept


def _is_number(word: str) -> bool:
    return any(c.isdigit() for c in word) or word in MONTHS


def _is_form_of(word: str, named: Iterable[str]) -> bool:
    return any(word.startswith(name) and word[len(name):] in _ENDINGS for name in named)


def stem(word: str) -> str:
    """The first six letters of the folded word."""
    return folded(word)[:STEM]


def words_of_many_groups(texts: Mapping[str, Iterable[Sequence[str]]]) -> frozenset[str]:
    """Folded words that occur in texts of at least three groups. texts: group → bare words of each of its texts."""
    groups: dict[str, set[str]] = {}
    for group, found in texts.items():
        for bare in found:
            for word in bare:
                groups.setdefault(folded(word), set()).add(group)
    return frozenset(word for word, found in groups.items() if len(found) >= LEAST_GROUPS)
