"""Units: every spelling with its factor, what converts into what, and which words only name what is counted."""

from __future__ import annotations

from fractions import Fraction

import pytest

from infranode_eval.chain.units import count_noun, factor_between, unit_of

SAME = [
    # (unit, other spellings that are the same)
    ("kW", ("kw", "KW", "Kilowatt", "kilowatt", "kWp", "kW peak", "kW.")),
    ("MW", ("Megawatt", "MWp", "megawatt", "Mw")),
    ("kWh", ("kwh", "KWh", "Kilowattstunde", "Kilowattstunden")),
    ("MWh", ("Megawattstunde", "Megawattstunden", "MWH")),
    ("m", ("Meter", "Metern")),
    ("km", ("KM", "Kilometer", "Kilometern")),
    ("cm", ("Zentimeter",)),
    ("s", ("sek", "Sek.", "Sekunde", "Sekunden")),
    ("min", ("Min.", "Minuten Verspätung", "Minute", "Minuten", "MIN")),
    ("h", ("Std.", "Stunde", "Stunden", "std")),
    ("Tage", ("Tag", "Tagen", "d", "days")),
    (
        "%",
        (
            "Prozent",
            "prozent",
            "percent",
            "v. H.",
            "Prozentpunkte",
            "Prozent (%)",
            "% der Haushalte",
            "Prozent aller Unfälle",
        ),
    ),
    ("°C", ("Grad", "Grad Celsius", "grad celsius", "° C", "℃", "ºC", "˚C", "°", "Celsius", "°c")),
    ("K", ("Kelvin", "kelvin", "K Unterschied")),
    (
        "µg/m³",
        (
            "μg/m³",
            "µg/m3",
            "µg/m^3",
            "ug/m3",
            "µg / m³",
            "µg pro m³",
            "Mikrogramm pro Kubikmeter",
            "Mikrogramm je Kubikmeter",
            "µg/cbm",
            "µg/Kubikmeter",
            "μg pro Kubikmeter",
            "µg/m³ NO2",
            "µg/m³ NO₂",
            "µg/m³ (PM2,5)",
        ),
    ),
    ("€", ("EUR", "Euro", "eur", "€/l", "Euro pro Liter", "EUR/l")),
    ("ct", ("Cent", "Eurocent")),
    ("EUR/MWh", ("€/MWh", "Euro pro Megawattstunde", "Euro je MWh", "EUR / MWh")),
    ("€/m²", ("EUR/m2", "Euro je Quadratmeter", "€/qm", "Euro pro m²")),
    ("km²", ("km2", "km^2", "qkm", "Quadratkilometer", "㎢")),
    ("ha", ("Hektar",)),
    (
        "Einwohner/km²",
        (
            "Einwohner pro km²",
            "Einw./km²",
            "EW/km²",
            "Einwohner je Quadratkilometer",
            "Personen/km²",
            "Menschen pro qkm",
            "Einwohner pro Quadratkilometer",
            "Einwohner je Quadratkilometer bewohnter Fläche",
        ),
    ),
    ("km/h", ("Kilometer pro Stunde", "Stundenkilometer", "kmh", "km/Std.")),
    ("kWh/kWp", ("kWh pro kWp", "kWh/kW")),
    (
        "je 1.000 Einwohner",
        (
            "pro 1000 Einwohner",
            "/1.000 Einwohner",
            "Arbeitslose je 1.000 Einwohner",
            "Arbeitslose (je 1.000 Einwohner)",
            "(je 1.000 Einwohner)",
            "Pkw pro tausend Einwohner",
            "auf 1 000 Einwohner",
            "Fälle/1000 Ew.",
        ),
    ),
]


@pytest.mark.parametrize(("unit", "others"), SAME, ids=[s[0] for s in SAME])
def test_spellings_of_one_unit(unit: str, others: tuple[str, ...]) -> None:
    assert unit_of(unit) is not None
    for other in others:
        assert unit_of(other) == unit_of(unit), other


FACTORS = [
    # (given, asked, how many of the asked one is)
    ("MW", "kW", 1000),
    ("W", "kW", Fraction(1, 1000)),
    ("MWh", "kWh", 1000),
    ("km", "m", 1000),
    ("m", "cm", 100),
    ("mm", "cm", Fraction(1, 10)),
    ("min", "s", 60),
    ("h", "min", 60),
    ("Tage", "h", 24),
    ("min", "h", Fraction(1, 60)),
    ("Wochen", "Tage", 7),
    ("ct", "€", Fraction(1, 100)),
    ("ct/kWh", "EUR/MWh", 10),
    ("ha", "km²", Fraction(1, 100)),
    ("m²", "ha", Fraction(1, 10000)),
    ("mg/m³", "µg/m³", 1000),
    ("m/s", "km/h", Fraction(18, 5)),
    ("Einwohner/ha", "Einwohner/km²", 100),
    ("je 100.000 Einwohner", "je 1.000 Einwohner", Fraction(1, 100)),
    ("°C", "K", 1),
    ("Grad", "K", 1),
    ("€/kWh", "EUR/MWh", 1000),
]


@pytest.mark.parametrize(("given", "asked", "factor"), FACTORS, ids=[f"{f[0]} in {f[1]}" for f in FACTORS])
def test_factors(given: str, asked: str, factor: Fraction) -> None:
    one, other = unit_of(given), unit_of(asked)
    assert one is not None and other is not None and factor_between(one, other) == factor


FOREIGN = [
    # (given, asked, why)
    ("kW", "kWh", "power is not energy"),
    ("km", "kW", "another quantity"),
    ("Promille", "%", "not in the table"),
    ("K", "°C", "an absolute temperature in K is another number"),
    ("°F", "°C", "another scale"),
    ("°C", "%", "another quantity"),
    ("km²", "km", "an area is no length"),
    ("EUR", "EUR/MWh", "a price of what?"),
    ("€", "€/m²", "a price of what?"),
    ("Einwohner/km²", "km²", "a density is no area"),
    ("$", "€", "another money"),
    ("Monate", "Tage", "no month has a fixed number of days"),
    ("kWh/Jahr", "kWh", "a rate is no amount"),
    ("µg/m³", "ppm", "another measure"),
    ("m/s", "m", "a speed is no length"),
]


@pytest.mark.parametrize(("given", "asked", "why"), FOREIGN, ids=[f"{f[0]} for {f[1]}" for f in FOREIGN])
def test_units_that_do_not_convert(given: str, asked: str, why: str) -> None:
    one, other = unit_of(given), unit_of(asked)
    assert one is not None and other is not None and factor_between(one, other) is None, why


UNKNOWN = [
    "",
    " ",
    "Stück",
    "Fahrzeuge",
    "Einwohner",
    "Personen",
    "mW",
    "mw",
    "k",
    "kW MW",
    "kW/",
    "/kW",
    "a/b/c",
    "pro Tag",
    "kW pro Anlage",
    "Plätze/km²",
    "je 0 Einwohner",
    "12",
    "km bis",
    "kW" * 50,
    "/" * 80,
    "pro " * 20,
    "\ud800",
    "Prozent (km)",
    "% mehr",
    "Minuten früher",
    "°C weniger",
    "kW (Leistung)",
    "kW (kWh)",
    "Prozent der 12",
]


@pytest.mark.parametrize("text", UNKNOWN)
def test_what_is_no_unit(text: str) -> None:
    assert unit_of(text) is None


NOUNS = [
    "freie Stellplätze",
    "Fahrzeuge",
    "E-Autos",
    "Stück",
    "Anzahl",
    "Personen",
    "Unfälle im Jahr",
    "Räder pro Tag",
    "Übernachtungen pro Gast",
    "Einwohner:innen",
    "Einwohner*innen",
    "Personen (gerundet)",
    "mal",
    "-fach",
    "-mal",
    "Fälle von Diebstahl",
    "Räder und Roller",
    "freie Stellplätze im Parkhaus Hauptbahnhof",
    "Ladepunkte",
    "mal so viele",
    "(freie Plätze)",
    "Gewerbeanmeldungen",
    "Kfz",
    "Pkw",
]
NO_NOUNS = [
    # (text, why)
    ("", "nothing"),
    ("k", "a thousand"),
    ("Tage", "a unit"),
    ("km", "a unit"),
    ("Prozent", "a unit"),
    ("%", "a unit"),
    ("Strecke in km", "a unit in it"),
    ("kW-Ladepunkte", "a unit in it"),
    ("von vierzig", "a share"),
    ("oder mehr", "a bound"),
    ("Autos oder mehr", "a bound"),
    ("bis", "a range"),
    ("paar Züge", "some"),
    ("halber Zug", "a half"),
    ("zwei", "a further number"),
    ("Autos und zwei Räder", "a further number"),
    ("Tausend", "a scale"),
    ("Hunderttausend", "a scale"),
    ("nicht", "a denial"),
    ("keine Plätze", "a denial"),
    ("zu wenig", "a comparison"),
    ("Komma fünf", "digits in words"),
    ("Autos 2", "digits"),
    ("Dutzend", "a number"),
    ("pro Stunde", "a rate by a unit"),
    ("pro km²", "a rate by a unit"),
    ("Minusgrade", "a sign"),
    ("Uhr", "a time"),
    ("Autos; Räder", "two things"),
    ("x" * 200, "no noun"),
    ("a " * 30, "no noun"),
    ("Jahre", "a unit"),
    ("Jahr", "a unit"),
    ("Plätze?", "a question"),
    ("\ud800", "no letter"),
]


@pytest.mark.parametrize("text", NOUNS)
def test_nouns_of_what_is_counted(text: str) -> None:
    assert count_noun(text)


@pytest.mark.parametrize(("text", "why"), NO_NOUNS, ids=[repr(n[0][:30]) for n in NO_NOUNS])
def test_what_changes_a_count(text: str, why: str) -> None:
    assert not count_noun(text), why
