"""How Germans spell numbers, times of day, dates and names, read without guessing.

Nothing here knows a right answer. Source of the accepted spellings: specification, chain, section 7.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator, Sequence
from datetime import date
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

MAX_LENGTH = 200         # characters; a longer text spells no number, time or date
_MAX_DIGITS = 40


class Spelled(NamedTuple):
    """A number as written: its readings ("1.234" has two), and the text behind it ("kW", "freie Stellplätze")."""

    values: tuple[Fraction, ...]
    tail: str = ""


# Minus signs and apostrophes as one each; the letters that only look, to a regular expression, like i, s and K.
_SIGNS = str.maketrans({**dict.fromkeys("\u2212\u2013\u2010\u2011\ufe63\uff0d", "-"), **dict.fromkeys("’‘ʼ‛´`′", "'"),
                        "\u0131": "i", "\u0130": "I", "\u017f": "s", "\u212a": "K"})
_EDGES = " \t\r\n\"'“”„‟‚‘’‹›«»`*"


@lru_cache(maxsize=4096, typed=True)
def exact(value: int | float) -> Fraction:
    """A number by its shortest decimal spelling, so that 9.1 is 91/10. `value` must be finite."""
    return Fraction(value) if isinstance(value, int) else Fraction(repr(value))


def number_of(value: Any) -> Spelled | None:
    """The number that an answer is or spells: 36, "1.234,5", "ca. −3,5 °C", "zwölf Züge". None: it spells none."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return Spelled((Fraction(value),))
    if isinstance(value, float):
        return Spelled((exact(value),)) if math.isfinite(value) else None
    return _number_in(value) if isinstance(value, str) else None


_WORDS = {"null": 0, "ein": 1, "eine": 1, "einen": 1, "einem": 1, "einer": 1, "eins": 1, "zwei": 2, "drei": 3,
          "vier": 4, "fünf": 5, "sechs": 6, "sieben": 7, "acht": 8, "neun": 9, "zehn": 10, "elf": 11, "zwölf": 12}
_HEAD = re.compile(
    r"(?:(?:ca\.?|circa|zirka|rund|etwa|ungefähr|genau|exakt|insgesamt)(?![^\W\d_])|[~≈])? ?"
    r"(?P<money>(?:€|EUR) ?)?(?P<sign>[-+]|minus |plus )? ?"
    rf"(?:(?P<digits>[0-9]+(?:[.,' ][0-9]+)*)|(?P<word>{'|'.join(_WORDS)})(?![^\W_]))", re.IGNORECASE)


def _number_in(text: str) -> Spelled | None:
    if len(text) > MAX_LENGTH:
        return None
    text = _line(text)
    match = _HEAD.match(text)
    if match is None:
        return None
    values = _readings(match["digits"]) if match["digits"] else (Fraction(_WORDS[match["word"].casefold()]),)
    if match["sign"] and match["sign"][0] in "-mM":
        values = tuple(-value for value in values)
    tail = text[match.end():].strip()
    if match["money"]:
        tail = f"{tail} €".strip()
    return Spelled(values, tail) if values else None


def _line(text: str) -> str:
    """One line with plain blanks (split knows thin and no-break ones), minus signs and apostrophes, edges off."""
    text = unicodedata.normalize("NFC", text) if not text.isascii() else text
    text = " ".join(text.strip(_EDGES).translate(_SIGNS).split())
    return text.removesuffix(".").rstrip()


# Each form with the mark that groups thousands (dropped) and the decimal mark. A leading zero groups nothing.
_FORMS = tuple((re.compile(pattern), group, decimal) for pattern, group, decimal in (
    (r"[0-9]+", "", ""),
    (r"[1-9][0-9]{0,2}(?:\.[0-9]{3})+(?:,[0-9]+)?", ".", ","),
    (r"[0-9]+,[0-9]+", "", ","),
    (r"[0-9]+\.[0-9]+", "", "."),
    (r"[1-9][0-9]{0,2}(?:,[0-9]{3})+\.[0-9]+|[1-9][0-9]{0,2}(?:,[0-9]{3}){2,}", ",", "."),
    (r"[1-9][0-9]{0,2}(?: [0-9]{3})+(?:[.,][0-9]+)?", " ", ","),
    (r"[1-9][0-9]{0,2}(?:'[0-9]{3})+(?:[.,][0-9]+)?", "'", ","),
))


def _readings(digits: str) -> tuple[Fraction, ...]:
    """Every number that the digits with their marks may be: German first. "1,234" is 1.234, as a German reads it."""
    if len(digits) > _MAX_DIGITS:
        return ()
    if digits.isdigit():
        return (Fraction(int(digits)),)
    found = (digits.replace(group, "").replace(decimal, ".") if group else digits.replace(decimal, ".")
             for form, group, decimal in _FORMS if form.fullmatch(digits))
    return tuple(dict.fromkeys(map(Fraction, found)))


_SCALES = {"tsd": 1000, "tausend": 1000, "mio": 10**6, "mill": 10**6, "million": 10**6, "millionen": 10**6,
           "mrd": 10**9, "milliarde": 10**9, "milliarden": 10**9, "billion": 10**12, "billionen": 10**12}
_SCALE = re.compile(rf"({'|'.join(sorted(_SCALES, key=len, reverse=True))})(?![^\W\d_])\.? ?", re.IGNORECASE)


def scale_of(text: str) -> tuple[int, str]:
    """The power of ten at the head of a text ("Tsd. Euro": 1000) and what follows; 1 if there is none."""
    text = _line(text)
    match = _SCALE.match(text)
    return (_SCALES[match[1].casefold()], text[match.end():]) if match else (1, text)


_IN_TEXT = re.compile(r"(?<![\w.,])(-?)([0-9]+(?:[.,'][0-9]+)*(?: [0-9]{3}(?![0-9]))*(?:[.,][0-9]+)?)")
_BEHIND = 40             # characters behind a number that may be its scale and unit


def numbers_within(text: str) -> Iterator[Spelled]:
    """Every number that stands in a text, each with some of what follows. Linear time."""
    text = text.translate(_SIGNS).translate(_BLANKS)
    for match in _IN_TEXT.finditer(text):
        values = _readings(match[2])
        if not values:
            values = tuple(value for part in match[2][:_MAX_DIGITS].split(" ") for value in _readings(part))
        if values:
            yield Spelled(tuple(-v for v in values) if match[1] else values, text[match.end():match.end() + _BEHIND])
    for match in _WORD_IN_TEXT.finditer(text):
        yield Spelled((Fraction(_WORDS[match[0].casefold()]),), text[match.end():match.end() + _BEHIND])


_BLANKS = str.maketrans(dict.fromkeys("\u00a0\u202f\u2007\u2009\u2008\u200a\u2006", " "))
_NO_ARTICLES = "|".join(word for word in _WORDS if not word.startswith("ein"))
_WORD_IN_TEXT = re.compile(rf"(?<!\w)(?:{_NO_ARTICLES})(?!\w)", re.IGNORECASE)


class Clock(NamedTuple):
    """A time of day."""

    hour: int
    minute: int
    second: int = 0


_HOUR, _MINUTE, _OFFSET = "(?:[01]?[0-9]|2[0-3])", "[0-5][0-9]", "(?:Z|[-+][0-9]{2}:?[0-9]{2})"
_DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:T| |, )|[0-9]{1,2}\. ?[0-9]{1,2}\. ?[0-9]{4},? "
_TIME = re.compile(
    rf"(?:{_DAY}|T|heute,? )?(?:um )?(?:"
    rf"(?P<h>{_HOUR}):(?P<m>{_MINUTE})(?::(?P<s>{_MINUTE})(?:\.0{{1,9}})?)?{_OFFSET}?(?: ?Uhr| ?h)?"
    rf"|(?P<h2>{_HOUR})\.(?P<m2>{_MINUTE}) ?Uhr|(?P<h3>{_HOUR}) Uhr(?: (?P<m3>{_MINUTE}))?)", re.IGNORECASE)


def clock_of(value: Any, unit: str | None = None) -> Clock | None:
    """The local time that a text spells: "10:04", "um 10.04 Uhr", "10 Uhr 04", ISO (its date and offset are ignored).

    unit: "Uhr" where that word stands apart from the text. None: it spells none.
    """
    if not isinstance(value, str) or len(value) > MAX_LENGTH:
        return None
    text = _line(value)
    if unit is not None and unit.strip(". ").casefold() == "uhr" and not text.casefold().endswith("uhr"):
        text += " Uhr"
    match = _TIME.fullmatch(text)
    return match and _clock(match)


def _clock(match: re.Match[str]) -> Clock:
    parts = match.groupdict()
    hour, minute = (parts["h"] or parts["h2"] or parts["h3"]), (parts["m"] or parts["m2"] or parts["m3"])
    return Clock(int(hour), int(minute or 0), int(parts["s"] or 0))


_TIME_IN_TEXT = re.compile(rf"(?<![0-9:.])(?P<h>{_HOUR})[:.](?P<m>{_MINUTE})(?::(?P<s>{_MINUTE}))?(?![0-9:]|\.[0-9])")


def clocks_within(text: str) -> Iterator[Clock]:
    """Every time that stands in a text."""
    return (Clock(int(m["h"]), int(m["m"]), int(m["s"] or 0)) for m in _TIME_IN_TEXT.finditer(text))


_MONTHS = {name: number for number, names in enumerate((
    "januar|jänner|jan", "februar|feber|feb", "märz|maerz|mär|mrz", "april|apr", "mai", "juni|jun", "juli|jul",
    "august|aug", "september|sept|sep", "oktober|okt", "november|nov", "dezember|dez"), 1) for name in names.split("|")}
_WEEKDAYS = {name: number for number, names in enumerate((
    "montag|mo", "dienstag|di", "mittwoch|mi", "donnerstag|do", "freitag|fr", "samstag|sonnabend|sa", "sonntag|so"))
    for name in names.split("|")}
_DATE = (r"(?:(?P<y>[0-9]{4})-(?P<m>[0-9]{2})-(?P<d>[0-9]{2})"
         r"|(?P<d2>[0-9]{1,2})\. ?(?P<m2>[0-9]{1,2})\. ?(?P<y2>[0-9]{4}|[0-9]{2})(?![0-9])"
         rf"|(?P<d3>[0-9]{{1,2}})\. ?(?P<m3>{'|'.join(_MONTHS)})\.? (?P<y3>[0-9]{{4}})(?![0-9]))")
_WHOLE_DATE = re.compile(
    rf"(?:am )?(?:(?P<weekday>{'|'.join(_WEEKDAYS)})\.?,? ?)?(?:(?:am|den|dem|der) )?{_DATE}"
    rf"(?:[T ][0-9]{{2}}:[0-9]{{2}}(?::[0-9]{{2}}(?:\.[0-9]{{1,9}})?)?{_OFFSET}?)?", re.IGNORECASE)
_DATE_IN_TEXT = re.compile(rf"(?<![0-9.]){_DATE}", re.IGNORECASE)


def day_of(value: Any) -> date | None:
    """The date that a text spells: ISO, "3.10.2026", "Samstag, 3. Oktober 2026", "3. Okt. 2026". None: it spells none.

    A weekday that is not that of the date makes it none.
    """
    if not isinstance(value, str) or len(value) > MAX_LENGTH:
        return None
    match = _WHOLE_DATE.fullmatch(_line(value))
    day = match and _day(match)
    if day and match["weekday"] and _WEEKDAYS[match["weekday"].casefold()] != day.weekday():
        return None
    return day


def _day(match: re.Match[str]) -> date | None:
    year, day = match["y"] or match["y2"] or match["y3"], match["d"] or match["d2"] or match["d3"]
    month = match["m"] or match["m2"] or _MONTHS[match["m3"].casefold()]
    try:
        return date(int(year) + (2000 if len(year) == 2 else 0), int(month), int(day))
    except ValueError:   # the 31st of a month that has none
        return None


def days_within(text: str) -> Iterator[date]:
    """Every date that stands in a text."""
    return (day for match in _DATE_IN_TEXT.finditer(text.translate(_SIGNS)) if (day := _day(match)))


# Words, numbers, and every other sign; what parts or quotes words is left out. Commas and full stops count between
# digits only.
_TOKEN = re.compile(
    r"[^\W\d_]+|[0-9]+(?:[.,][0-9]+)*"
    r"|[^\s\-/‐‑‒–—−()\"'“”„‟‚‘’«»‹›`*.,\u00ad\u200b-\u200d\u2060\ufeff]")
_FOLDED = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue"})
_SAME_WORD = {"hbf": "hauptbahnhof"}


def words_of(text: str, drop: Sequence[str] = ()) -> tuple[str, ...]:
    """The words of a name: NFC, case, umlauts, hyphen, slash, brackets and quotes make no difference.

    drop: words, or runs of words, that are left out wherever they stand ("Gleis").
    """
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    folded = text.casefold().translate(_FOLDED)
    words = tuple(_SAME_WORD.get(word, word) for word in _TOKEN.findall(folded))
    for phrase in drop:
        words = _without(words, words_of(phrase))
    return words


def _without(words: tuple[str, ...], phrase: tuple[str, ...]) -> tuple[str, ...]:
    if not phrase or phrase[0] not in words:
        return words
    kept: list[str] = []
    at = 0
    while at < len(words):
        if words[at:at + len(phrase)] == phrase:
            at += len(phrase)
        else:
            kept.append(words[at])
            at += 1
    return tuple(kept)


def joined(words: Sequence[str]) -> str:
    """Words as one text in which only a gap between two numbers is seen: "RB 35" is "RB35", "1-2" is not "12"."""
    parts: list[str] = []
    for word in words:
        if parts and parts[-1][-1:].isdigit() and word[:1].isdigit():
            parts.append(" ")
        parts.append(word)
    return "".join(parts)


_SEPARATOR = re.compile(r"[,;\n]|\b(?:und|sowie)\b", re.IGNORECASE)
_OR = re.compile(r"[,;\n]|\b(?:und|sowie|oder)\b", re.IGNORECASE)


def listed(text: str, alternatives: bool = False) -> list[str]:
    """A text as the parts of a list: split at comma, semicolon, line end, "und"; for alternatives also at "oder"."""
    return [part for part in map(str.strip, (_OR if alternatives else _SEPARATOR).split(text)) if part]
