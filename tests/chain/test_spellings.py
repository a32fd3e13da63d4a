"""Spellings: what a text says as a number, a time, a date or a name, and what says none."""

from __future__ import annotations

from datetime import date
from fractions import Fraction

import pytest

from infranode_eval.chain.spellings import (
    clock_of,
    clocks_within,
    day_of,
    days_within,
    joined,
    listed,
    number_of,
    numbers_within,
    scale_of,
    words_of,
)

NUMBERS = [
    # (text, readings, text behind it, why)
    ("36", ("36",), "", "digits"),
    ("1.234", ("1234", "1.234"), "", "a German and an English reading"),
    ("1,234", ("1.234",), "", "a German comma"),
    ("1.234,5", ("1234.5",), "", "German"),
    ("1,234.5", ("1234.5",), "", "English"),
    ("1,234,567", ("1234567",), "", "two commas cannot be decimal"),
    ("1.234.567", ("1234567",), "", "two points cannot be decimal"),
    ("1.234.567,89", ("1234567.89",), "", "German"),
    ("1 234 567,8", ("1234567.8",), "", "blanks"),
    ("1\u202f234", ("1234",), "", "narrow no-break space"),
    ("1\u2009234", ("1234",), "", "thin space"),
    ("1\u00a0234", ("1234",), "", "no-break space"),
    ("1'234.5", ("1234.5",), "", "Swiss"),
    ("1’234", ("1234",), "", "typographic apostrophe"),
    ("0.234", ("0.234",), "", "a zero groups nothing"),
    ("0,5", ("0.5",), "", "German"),
    ("007", ("7",), "", "zeros"),
    ("12.5", ("12.5",), "", "English"),
    ("1234.567", ("1234.567",), "", "four digits before the point"),
    ("-3,5", ("-3.5",), "", "minus"),
    ("− 3,5", ("-3.5",), "", "U+2212 and a blank"),
    ("–3,5", ("-3.5",), "", "dash"),
    ("+3", ("3",), "", "plus"),
    ("minus drei Grad", ("-3",), "Grad", "words"),
    ("zwölf", ("12",), "", "a word"),
    ("Zwölf Züge", ("12",), "Züge", "a word and a noun"),
    ("null", ("0",), "", "zero"),
    ("FÜNF", ("5",), "", "capitals"),
    ("ein Zug", ("1",), "Zug", "an article counts one"),
    ("ca. 5", ("5",), "", "ca."),
    ("ca 5", ("5",), "", "no stop"),
    ("rund 1200", ("1200",), "", "rund"),
    ("etwa 3 km", ("3",), "km", "etwa"),
    ("circa 3", ("3",), "", "circa"),
    ("ungefähr 3", ("3",), "", "ungefähr"),
    ("~3", ("3",), "", "tilde"),
    ("≈ 3", ("3",), "", "almost equal"),
    ("„36“", ("36",), "", "quotes"),
    ("36.", ("36",), "", "a full stop"),
    ("**36**", ("36",), "", "bold"),
    ("36km", ("36",), "km", "no blank"),
    ("€ 1.234,50", ("1234.5",), "€", "money in front"),
    ("5,20 Euro.", ("5.2",), "Euro", "a stop behind the unit"),
    ("2,5 Mio. €", ("2.5",), "Mio. €", "a scale"),
    (36, ("36",), "", "a number"),
    (9.1, ("9.1",), "", "the decimal, not the binary number"),
    (-0.0, ("0",), "", "-0"),
]


@pytest.mark.parametrize(("text", "readings", "tail", "why"), NUMBERS, ids=[repr(n[0]) for n in NUMBERS])
def test_numbers(text: object, readings: tuple[str, ...], tail: str, why: str) -> None:
    spelled = number_of(text)
    assert spelled is not None and spelled.values == tuple(map(Fraction, readings)), why
    assert spelled.tail == tail


NO_NUMBERS = [
    "",
    " ",
    "-",
    "km",
    "sechsunddreißig",
    "dreizehn",
    "zweimal",
    "etwas",
    "rundum 5",
    "Es sind 36",
    "1.23.4",
    "1.2345.6",
    "12 34",
    "1,2,3",
    "1.234 567",
    "1,234,5",
    "0.234.567",
    "01.234.567",
    "1 2345",
    "9" * 41,
    "9" * 5000,
    "½",
    "NaN",
    "Infinity",
    "mehr als 5",
    "knapp 5",
    "über 5",
    "<5",
    "Nr. 5",
    "eine5",
    "٣",
    "dreı" * 2,
    "\ud800",
    True,
    False,
    None,
    [36],
    {"antwort": 36},
    float("nan"),
    float("inf"),
    float("-inf"),
    b"36",
]


@pytest.mark.parametrize("text", NO_NUMBERS, ids=[repr(n)[:30] for n in NO_NUMBERS])
def test_what_spells_no_number(text: object) -> None:
    assert number_of(text) is None


@pytest.mark.parametrize(
    ("text", "scale", "rest"),
    [
        ("Tsd.", 1000, ""),
        ("Tsd. Fahrzeuge", 1000, "Fahrzeuge"),
        ("Mio. €", 10**6, "€"),
        ("Millionen Euro", 10**6, "Euro"),
        ("Mrd", 10**9, ""),
        ("Tausend", 1000, ""),
        ("tausendfach", 1, "tausendfach"),
        ("km", 1, "km"),
        ("", 1, ""),
        ("Million", 10**6, ""),
        ("Mio.Euro", 10**6, "Euro"),
        ("Milliarden Euro", 10**9, "Euro"),
    ],
)
def test_scales(text: str, scale: int, rest: str) -> None:
    assert scale_of(text) == (scale, rest)


TIMES = [
    "10:04",
    "10:04 Uhr",
    "10.04 Uhr",
    "um 10:04",
    "um 10:04 Uhr",
    "10 Uhr 04",
    "10:04:00",
    "10:04 h",
    "10:04h",
    "„10:04“",
    "10:04 Uhr.",
    "2026-07-06T10:04:00",
    "2026-07-06T10:04:00+02:00",
    "2026-07-06T10:04:00Z",
    "2026-07-06T10:04+0200",
    "2026-07-06 10:04",
    "2026-07-06T10:04:00.000000Z",
    "06.07.2026, 10:04 Uhr",
    "6.7.2026 um 10:04 Uhr",
    "T10:04",
    "heute um 10:04 Uhr",
    "heute, 10:04",
    "um\u00a010:04\u202fUhr",
]
OTHER_TIMES = [
    "10 Uhr",
    "22:04",
    "10:40",
    "1:04",
    "10:04:30",
    "10.04",
    "1004",
    "10:4",
    "10:04 bis 10:12",
    "kurz nach 10",
    "10:04 PM",
    "morgen um 10:04",
    "25:04",
    "10:64",
    "2026-07-06T08:04:00Z",
    "10:04 oder 10:05",
    "",
    "10:04 (Gleis 2)",
    "zehn Uhr vier",
    10.04,
    1004,
    None,
    True,
    ["10:04"],
    "10:04" * 100,
    "\ud800",
]


@pytest.mark.parametrize("text", TIMES)
def test_ten_oh_four(text: str) -> None:
    assert clock_of(text) == (10, 4, 0)


@pytest.mark.parametrize("text", OTHER_TIMES, ids=[repr(t)[:30] for t in OTHER_TIMES])
def test_what_is_not_ten_oh_four(text: object) -> None:
    assert clock_of(text) != (10, 4, 0)


def test_hours_without_a_zero_and_without_minutes() -> None:
    assert clock_of("9:05") == clock_of("09:05") == (9, 5, 0)
    assert clock_of("10 Uhr") == clock_of("10:00") == clock_of("10", "Uhr") == (10, 0, 0)
    assert clock_of("10.04", "Uhr") == clock_of("10:04 Uhr", "Uhr") == (10, 4, 0)


DATES = [
    "2026-10-03",
    "03.10.2026",
    "3.10.2026",
    "3. 10. 2026",
    "3.10.26",
    "3. Oktober 2026",
    "3. Okt. 2026",
    "3.Okt 2026",
    "03. Oktober 2026",
    "Samstag, 3. Oktober 2026",
    "Sonnabend, den 3. Oktober 2026",
    "Sa., 03.10.2026",
    "am 3. Oktober 2026",
    "am Samstag, dem 3. Oktober 2026",
    "den 3.10.2026",
    "der 3. Oktober 2026",
    "3. OKTOBER 2026",
    "2026-10-03T00:00:00+02:00",
    "2026-10-03T00:00:00Z",
    "„3. Oktober 2026“",
    "3. Oktober 2026.",
]
OTHER_DATES = [
    "10/03/2026",
    "3. Oktober",
    "October 3, 2026",
    "2026-03-10",
    "03.11.2026",
    "3.10.2025",
    "31.10.2026",
    "Sonntag, 3. Oktober 2026",
    "3. bis 4. Oktober 2026",
    "2026-10-3",
    "20261003",
    "3-10-2026",
    "31.02.2026",
    "32.10.2026",
    "3. Oktober 2026 bis 5. Oktober 2026",
    "",
    "2026",
    20261003,
    None,
    True,
    ["2026-10-03"],
    "3. 10. 2026" * 50,
    "\ud800",
    "3. Oktobеr 2026",
]


@pytest.mark.parametrize("text", DATES)
def test_the_third_of_october(text: str) -> None:
    assert day_of(text) == date(2026, 10, 3)


@pytest.mark.parametrize("text", OTHER_DATES, ids=[repr(t)[:30] for t in OTHER_DATES])
def test_what_is_not_the_third_of_october(text: object) -> None:
    assert day_of(text) != date(2026, 10, 3)


@pytest.mark.parametrize(
    ("text", "month"),
    [
        ("1. Januar 2026", 1),
        ("1. Jänner 2026", 1),
        ("1. Februar 2026", 2),
        ("1. März 2026", 3),
        ("1. Maerz 2026", 3),
        ("1. Mrz 2026", 3),
        ("1. April 2026", 4),
        ("1. Mai 2026", 5),
        ("1. Juni 2026", 6),
        ("1. Juli 2026", 7),
        ("1. August 2026", 8),
        ("1. Sept. 2026", 9),
        ("1. November 2026", 11),
        ("1. Dez. 2026", 12),
    ],
)
def test_months(text: str, month: int) -> None:
    assert day_of(text) == date(2026, month, 1)


SAME_NAMES = [
    # (one, other, words to drop, why)
    ("Köln Hbf", "Köln Hauptbahnhof", (), "Hbf"),
    ("KOELN HBF.", "Köln Hauptbahnhof", (), "case, oe, full stop"),
    ("Ko\u0308ln", "Köln", (), "NFD"),
    ("Bonn-Beuel", "Bonn Beuel", (), "hyphen"),
    ("Bonn–Beuel", "Bonn-Beuel", (), "dash"),
    ("Köln Messe/Deutz", "Köln Messe Deutz", (), "slash"),
    ("RB 35", "RB35", (), "blank before digits"),
    ("Straße", "Strasse", (), "ss"),
    ("STRAẞE", "Straße", (), "capital ß"),
    ("„Altmarkt“", "Altmarkt", (), "quotes"),
    ("Altmarkt.", "Altmarkt", (), "full stop"),
    ("Halle (Saale)", "halle-saale", (), "a slug"),
    ("Frankfurt(Main)Hbf", "Frankfurt (Main) Hauptbahnhof", (), "brackets"),
    ("Gleis 10", "10", ("Gleis",), "dropped"),
    ("Gleis10", "10", ("Gleis",), "dropped without a blank"),
    ("Gl. 10", "Gleis 10", ("Gleis", "Gl."), "either dropped"),
    ("auf Gleis 10", "10", ("auf Gleis",), "two words dropped"),
    ("Köln, Neumarkt", "Köln Neumarkt", (), "comma"),
    ("Kaiser’s", "Kaiser's", (), "apostrophe"),
    ("St. Georg", "St.Georg", (), "blank"),
]
OTHER_NAMES = [
    ("Köln", "Köln Hbf", (), "a part"),
    ("Bonn-Beuel Nord", "Bonn-Beuel", (), "a further word"),
    ("Koln", "Köln", (), "o"),
    ("1-2", "12", (), "two numbers"),
    ("1/2", "12", (), "two numbers"),
    ("1 2", "12", (), "two numbers"),
    ("1,5", "15", (), "a decimal"),
    ("1.5", "1 5", (), "a decimal"),
    ("10", "Gleis 10", (), "nothing is dropped here"),
    ("Gleis", "10", ("Gleis",), "only the dropped word"),
    ("10a", "10", (), "a further letter"),
]


@pytest.mark.parametrize(("one", "other", "drop", "why"), SAME_NAMES, ids=[n[0] for n in SAME_NAMES])
def test_one_name(one: str, other: str, drop: tuple[str, ...], why: str) -> None:
    assert joined(words_of(one, drop)) == joined(words_of(other, drop)) != "", why


@pytest.mark.parametrize(("one", "other", "drop", "why"), OTHER_NAMES, ids=[n[0] for n in OTHER_NAMES])
def test_two_names(one: str, other: str, drop: tuple[str, ...], why: str) -> None:
    assert joined(words_of(one, drop)) != joined(words_of(other, drop)), why


def test_lists_in_a_text() -> None:
    assert listed("Köln, Bonn; Aachen und Essen\nHamm") == ["Köln", "Bonn", "Aachen", "Essen", "Hamm"]
    assert listed("Aachen oder Bonn") == ["Aachen oder Bonn"]
    assert listed("Aachen oder Bonn", alternatives=True) == ["Aachen", "Bonn"]
    assert listed("Stralsund und Dortmund") == ["Stralsund", "Dortmund"], "und inside a name parts nothing"


def test_what_stands_in_prose() -> None:
    values = [
        value
        for spelled in numbers_within("Es sind 1.234,5 kW, also zwölf; am 2. bei −3,5 °C, S-36, x9.")
        for value in spelled.values
    ]
    assert values == [Fraction("1234.5"), 2, Fraction("-3.5"), 36, 12]
    assert list(clocks_within("um 10:04 Uhr oder 10.12, nicht 2026-07-06T23:59:00 oder 110:04")) == [
        (10, 4, 0),
        (10, 12, 0),
        (23, 59, 0),
    ]
    assert list(days_within("am 3. Oktober 2026, 2026-10-04, 5.10.2026, 31.02.2026, 6. Julı 2026")) == [
        date(2026, 10, 3),
        date(2026, 10, 4),
        date(2026, 10, 5),
        date(2026, 7, 6),
    ]
