"""Variants: the same question written otherwise by rule, as keyboards, phones and old systems write it.

Every rule is a pure function of the question, the words that must stay, and a seed; None where it does not apply:
where nothing would change, or where the result could mean something else (specification of the data: city words).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from hashlib import sha256

from infranode_eval.shipped import read_shipped

Rule = Callable[[str, Sequence[str], str], str | None]

_ASCII = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "ß": "ss"})
_NO_DOTS = str.maketrans("äöüÄÖÜ", "aouAOU")
_WORD = re.compile(r"[^\W\d_]+")
_SHORTEST = 6          # letters of a word that may take a typing error
_PER_ERROR = 70        # characters of a question for each error, two at most


def nfd(question: str, _kept: Sequence[str], _seed: str) -> str | None:
    """Umlauts as letter and combining dots, as macOS stores file names."""
    return _changed(question, unicodedata.normalize("NFD", question))


def ascii_umlaut(question: str, _kept: Sequence[str], _seed: str) -> str | None:
    """ae, oe, ue and ss."""
    return _changed(question, question.translate(_ASCII))


def no_dots(question: str, _kept: Sequence[str], _seed: str) -> str | None:
    """Umlauts without their dots, unless that makes another word or town of one."""
    dotted = {word.lower() for word in _WORD.findall(question) if word != word.translate(_NO_DOTS)}
    if {word.translate(_NO_DOTS) for word in dotted} & set(_words("words_without_dots")):
        return None
    return _changed(question, question.translate(_NO_DOTS))


def lower(question: str, _kept: Sequence[str], _seed: str) -> str | None:
    """All lower case, unless a city would turn into an ordinary word (essen, halle)."""
    return None if _is_word_city(question) else _changed(question, question.lower())


def no_punctuation(question: str, _kept: Sequence[str], _seed: str) -> str | None:
    """Without punctuation; hyphens inside words and commas inside numbers stay."""
    return _changed(question, _bare(question))


def speech(question: str, _kept: Sequence[str], _seed: str) -> str | None:
    """As speech recognition writes it: no capitals, no punctuation, hyphens as blanks; never with digits in it."""
    if _is_word_city(question) or any(letter.isdigit() for letter in question):
        return None
    text = _bare(question).replace("-", " ").replace("'", "").replace("’", "").lower()
    return _changed(question, " ".join(text.split()))


def typo_neighbour(question: str, kept: Sequence[str], seed: str) -> str | None:
    """A letter of a word or two replaced by its neighbour on a German keyboard."""
    return _with_errors(question, kept, seed, _hit_neighbour)


def typo_swap(question: str, kept: Sequence[str], seed: str) -> str | None:
    """Two letters of a word or two swapped."""
    return _with_errors(question, kept, seed, _swap_letters)


def reframed(question: str, _kept: Sequence[str], seed: str) -> str | None:
    """The question behind a neutral opening that says nothing about it."""
    frames = _words("frames")
    frame = frames[_draw(seed, "frame") % len(frames)]
    return f"{frame} {question}"


RULES: Mapping[str, Rule] = {
    "nfd": nfd, "ascii_umlaut": ascii_umlaut, "no_dots": no_dots, "lower": lower, "typo_neighbour": typo_neighbour,
    "typo_swap": typo_swap, "no_punctuation": no_punctuation, "speech": speech, "reframed": reframed,
}


def _changed(question: str, variant: str) -> str | None:
    return None if variant == question else variant


def _bare(question: str) -> str:
    """Punctuation gone; what stands between digits or inside a word stays."""
    text = re.sub(r"[^\w\s]", lambda m: m[0] if m[0] in ",.:-'’" and _inside(m) else " ", question)
    return " ".join(text.split())


def _inside(match: re.Match[str]) -> bool:
    before, after = match.string[match.start() - 1:match.start()], match.string[match.end():match.end() + 1]
    if match[0] in ",.":
        return before.isdigit() and after.isdigit()
    return before.isalnum() and after.isalnum()


def _is_word_city(question: str) -> bool:
    words = {word.lower() for word in _WORD.findall(question)}
    return bool(words & set(_words("cities_that_are_words")))


@cache
def _words(name: str) -> tuple[str, ...]:
    """A list of data/robust/frames.json."""
    return tuple(read_shipped("robust/frames.json")[name])


# --- typing errors ----------------------------------------------------------------------------------------------------

_ROWS = ("qwertzuiopü", "asdfghjklöä", "yxcvbnm")
_NEIGHBOURS = {letter: "".join(row[i:i + 1] for i in (at - 1, at + 1) if i >= 0)
               for row in _ROWS for at, letter in enumerate(row)}


def _with_errors(question: str, kept: Sequence[str], seed: str, spoil: Callable[[str, str], str | None]) -> str | None:
    """One error, two from _PER_ERROR characters on, each in a word of its own; words in `kept` stay whole."""
    untouched = {word.lower() for text in kept for word in _WORD.findall(text)}
    whole = {m[0] for m in re.finditer(r"\S*[\d_@/:-]\S*", question)}          # numbers, ids and compounds with hyphens
    words = [m for m in _WORD.finditer(question)
             if len(m[0]) >= _SHORTEST and m[0].lower() not in untouched and not any(m[0] in text for text in whole)]
    words.sort(key=lambda m: _draw(seed, f"{m.start()} {m[0]}"))
    text, errors = question, 0
    for match in words:
        spoiled = spoil(match[0], seed)
        if spoiled is None or spoiled.lower() in _words("errors_that_are_words"):
            continue
        text = text[:match.start()] + spoiled + text[match.end():]             # the length stays, so do the places
        errors += 1
        if errors > len(question) // _PER_ERROR:
            break
    return text if errors else None


def _hit_neighbour(word: str, seed: str) -> str | None:
    places = [i for i in range(1, len(word) - 1) if word[i] in _NEIGHBOURS]
    if not places:
        return None
    at = places[_draw(seed, word) % len(places)]
    choice = _NEIGHBOURS[word[at]]
    return word[:at] + choice[_draw(seed, word + "#") % len(choice)] + word[at + 1:]


def _swap_letters(word: str, seed: str) -> str | None:
    places = [i for i in range(1, len(word) - 2) if word[i] != word[i + 1]]
    if not places:
        return None
    at = places[_draw(seed, word) % len(places)]
    return word[:at] + word[at + 1] + word[at] + word[at + 2:]


def _draw(seed: str, purpose: str) -> int:
    return int.from_bytes(sha256(f"{seed}|{purpose}".encode()).digest()[:8], "big")
