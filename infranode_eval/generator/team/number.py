"""German spellings of a number or a date: digits, words, and what stands between."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from infranode_eval.team.account import MONTHS as MONTHS

_SMALL = ("null", "eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn", "elf", "zwölf",
          "dreizehn", "vierzehn", "fünfzehn", "sechzehn", "siebzehn", "achtzehn", "neunzehn")
_TENS = ("", "", "zwanzig", "dreißig", "vierzig", "fünfzig", "sechzig", "siebzig", "achtzig", "neunzig")


def in_words(number: int) -> str:
    """0 ≤ number < 1,000,000 in words: 1126 → eintausendeinhundertsechsundzwanzig."""
    if number >= 1000:
        thousands, rest = divmod(number, 1000)
        return _stem(in_words(thousands)) + "tausend" + (in_words(rest) if rest else "")
    if number >= 100:
        hundreds, rest = divmod(number, 100)
        return _stem(_SMALL[hundreds]) + "hundert" + (in_words(rest) if rest else "")
    if number < 20:
        return _SMALL[number]
    tens, ones = divmod(number, 10)
    return (_stem(_SMALL[ones]) + "und" if ones else "") + _TENS[tens]


def german_date(day: date) -> str:
    """14. September 2026."""
    return f"{day.day}. {MONTHS[day.month - 1]} {day.year}"


def grouped(number: int) -> str:
    """With dots as German writes thousands: 1180 → 1.180."""
    return f"{number:,}".replace(",", ".")


def spellings_of_number(number: int) -> Iterator[str]:
    """Digits plain and grouped by dot, blank or apostrophe, and words (with and without the leading ein)."""
    plain, words = f"{number:,}", in_words(number)
    yield from dict.fromkeys(plain.replace(",", gap) for gap in ("", ".", " ", "'"))
    yield words
    if words.startswith(("einhundert", "eintausend")):
        yield words.removeprefix("ein")


def spellings_of_date(day: date) -> Iterator[str]:
    """With and without the year, with and without leading zeros, in digits and in words; the day in words, too."""
    d, m, y, month = day.day, day.month, day.year, MONTHS[day.month - 1]
    for dd, mm in dict.fromkeys([(f"{d:02}", f"{m:02}"), (str(d), str(m)), (f"{d:02}", str(m)), (str(d), f"{m:02}")]):
        yield from (f"{dd}.{mm}.", f"{dd}. {mm}.", f"{dd}.{mm}.{y}", f"{dd}.{mm}.{y % 100:02}", f"{dd}/{mm}/{y}",
                    f"{dd}-{mm}-{y}", f"{y}-{mm}-{dd}", f"{y}/{mm}/{dd}", f"{mm}-{dd}", f"{y}.{mm}.{dd}")
    yield from (f"{y}{m:02}{d:02}", f"{d:02}{m:02}{y}")
    for name in dict.fromkeys((month, month[:3], month[:3] + ".", month[:4], month[:4] + ".")):
        yield from (f"{d}. {name}", f"{d:02}. {name}", f"{d} {name}", f"{d}.{name}")
        yield from (f"{_ordinal(d)}{end} {name}" for end in ("", "r", "n"))


def _ordinal(number: int) -> str:
    """Of a day: 1 → erste, 14 → vierzehnte, 23 → dreiundzwanzigste."""
    odd = {1: "erste", 3: "dritte", 7: "siebte", 8: "achte"}
    return odd.get(number) or in_words(number) + ("te" if number < 20 else "ste")


def _stem(word: str) -> str:
    """eins → ein, before another word."""
    return word[:-1] if word.endswith("eins") else word
