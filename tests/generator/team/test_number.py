"""German spellings of numbers and dates, as a leak could write them."""

from __future__ import annotations

from datetime import date

import pytest

from infranode_eval.generator.team.number import (
    german_date,
    grouped,
    in_words,
    spellings_of_date,
    spellings_of_number,
)


@pytest.mark.parametrize(("number", "words"), [
    (0, "null"), (1, "eins"), (12, "zwölf"), (17, "siebzehn"), (20, "zwanzig"), (21, "einundzwanzig"),
    (36, "sechsunddreißig"), (100, "einhundert"), (101, "einhunderteins"), (777, "siebenhundertsiebenundsiebzig"),
    (1000, "eintausend"), (1126, "eintausendeinhundertsechsundzwanzig"), (21_000, "einundzwanzigtausend"),
    (101_000, "einhunderteintausend"),
])
def test_a_number_in_words(number: int, words: str) -> None:
    assert in_words(number) == words


@pytest.mark.parametrize("spelling", ["1180", "1.180", "1 180", "1'180", "eintausendeinhundertachtzig",
                                      "tausendeinhundertachtzig"])
def test_a_number_is_known_in_this_spelling(spelling: str) -> None:
    assert spelling in spellings_of_number(1180)


@pytest.mark.parametrize("spelling", [
    "4. März", "04.03.2027", "4.3.2027", "04.03.27", "2027-03-04", "2027/03/04", "20270304", "4.3.", "04.03.",
    "4. Mär", "04. März", "4. Mär.", "4 März", "vierte März", "vierter März", "vierten März"])
def test_a_date_is_known_in_this_spelling(spelling: str) -> None:
    assert spelling in set(spellings_of_date(date(2027, 3, 4)))


@pytest.mark.parametrize(("day", "word"), [(1, "ersten"), (3, "dritten"), (7, "siebten"), (8, "achten"),
                                           (19, "neunzehnten"), (20, "zwanzigsten"), (31, "einunddreißigsten")])
def test_a_day_in_words(day: int, word: str) -> None:
    assert f"{word} Mai" in set(spellings_of_date(date(2026, 5, day)))


def test_how_german_writes_them() -> None:
    assert german_date(date(2026, 9, 14)) == "14. September 2026"
    assert [grouped(n) for n in (180, 1180, 486_300)] == ["180", "1.180", "486.300"]
