"""Units as answers spell them: the quantity that one measures, its factor, and the nouns that are none."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

MAX_LENGTH = 80          # characters; a longer text is no unit


@dataclass(frozen=True, slots=True)
class Unit:
    """quantity: "power", "money/energy", "count/people" …; factor: how many base units of the quantity one of it is."""

    quantity: str
    factor: Fraction


# Quantity, how many base units, and the spellings after `_plain`, separated by "|". Letters alone decide, not case,
# except for those in _CASED. Source of the units: specification, chain, section 7, and the units of the API's fields.
_TABLE = (
    ("power", "1/1000", "w|watt"), ("power", "1", "kw|kilowatt|kwp|kwpeak|kw peak|kilowatt peak|kilowattpeak"),
    ("power", "1000", "mw|megawatt|mwp|megawatt peak|megawattpeak"), ("power", "1000000", "gw|gigawatt"),
    ("energy", "1/1000", "wh|wattstunde|wattstunden"), ("energy", "1", "kwh|kilowattstunde|kilowattstunden"),
    ("energy", "1000", "mwh|megawattstunde|megawattstunden"), ("energy", "1000000", "gwh|gigawattstunde"
     "|gigawattstunden"),
    ("length", "1/1000", "mm|millimeter"), ("length", "1/100", "cm|zentimeter|centimeter|zentimetern"),
    ("length", "1", "m|meter|metern|meters"),
    ("length", "1000", "km|kilometer|kilometern|kilometers|kilometre|kilometres"),
    ("time", "1", "s|sek|sec|sekunde|sekunden|second|seconds"),
    ("time", "60", "min|mins|minute|minuten|minutes"), ("time", "3600", "h|std|stunde|stunden|hour|hours"),
    ("time", "86400", "d|tag|tage|tagen|day|days"), ("time", "604800", "woche|wochen|week|weeks"),
    ("month", "1", "monat|monate|monaten|month|months"), ("year", "1", "jahr|jahre|jahren|year|years"),
    ("share", "1", "%|prozent|percent|v. h|v.h|vh|prozentpunkt|prozentpunkte|prozentpunkten|%-punkte|%punkte"),
    ("permille", "1", "‰|promille"), ("parts", "1", "ppm|ppb"),
    ("temperature", "1", "°c|° c|oc|grad celsius|celsius|grad|grade|°|grad c|degrees celsius|degree celsius|degrees"),
    ("temperature difference", "1", "k|kelvin"), ("fahrenheit", "1", "°f|fahrenheit|grad fahrenheit"),
    ("mass", "1", "μg|ug|mikrogramm|mcg"), ("mass", "1000", "mg|milligramm"), ("mass", "1000000", "g|gramm"),
    ("mass", "1000000000", "kg|kilogramm|kilo"), ("mass", "1000000000000", "t|tonne|tonnen"),
    ("volume", "1", "m3|cbm|kubikmeter|kubikmetern"), ("litre", "1", "l|liter|litern"),
    ("money", "1", "€|eur|euro|euros"), ("money", "1/100", "ct|cent|cents|eurocent"), ("dollar", "1", "$|usd|dollar"),
    ("area", "1", "m2|qm|quadratmeter|quadratmetern"), ("area", "10000", "ha|hektar|hektare"),
    ("area", "1000000", "km2|qkm|quadratkilometer|quadratkilometern"),
    ("speed", "5/18", "kmh|stundenkilometer"), ("pressure", "1", "hpa|hektopascal|mbar|millibar"),
    ("sound", "1", "db|dezibel"),
)
# Only within a quotient: alone they are what is counted.
_PEOPLE = frozenset(("einwohner", "einwohnern", "einwohnerinnen", "einwohnerinnen und einwohner", "einwohner:innen",
                     "einwohner*innen", "einw", "ew", "person", "personen", "mensch", "menschen", "bewohner", "bürger",
                     "kopf", "people", "inhabitants", "persons"))
_CASED = frozenset(("mw", "mwh", "mwp", "k"))     # m would be milli, and k a thousand
_UNITS = {name: Unit(quantity, Fraction(factor)) for quantity, factor, names in _TABLE for name in names.split("|")}
_SHORTENED = {"money/litre": "money", "length/time": "speed"}      # a litre is what a price of fuel is for

_RINGS = str.maketrans("º˚", "°°")       # before NFKC, which would make letters and blanks of them
_SIGNS = str.maketrans({"⁄": "/", "∕": "/", "^": None, "(": " ", ")": " "})
_PER = re.compile(r"(?:(?<=[^\w/])|\A)(?:pro|je|per|auf)(?= )", re.IGNORECASE)
_SLASH = re.compile(r" ?/ ?")
_DENOMINATOR = re.compile(
    r"(?:(?P<number>[0-9]+(?:[. '][0-9]{3})*) ?|(?P<word>tausend|hunderttausend) )?(?P<name>\S.*)", re.IGNORECASE)
_WORD_NUMBERS = {"tausend": 1000, "hunderttausend": 100_000}


# What is measured, said once more behind the unit; it changes neither number nor sign.
_MEASURED = re.compile(r" (?:verspätung|unterschied|differenz|temperaturunterschied|temperaturdifferenz"
                       r"|bewohnte[rn]? fläche|no2|pm10|pm2[.,]?5|o3|so2)\Z", re.IGNORECASE)


def _plain(text: str) -> str:
    """One spelling for all: μ for µ, m3 for m³, a slash for "pro" and "je", no brackets; case stays."""
    text = unicodedata.normalize("NFKC", text.translate(_RINGS)).translate(_SIGNS)
    text = _MEASURED.sub("", " ".join(text.split()).strip(". "))
    return _SLASH.sub("/", _PER.sub("/", text)).strip(". ")


@lru_cache(maxsize=4096)
def unit_of(text: str) -> Unit | None:
    """The unit that a text names, whole: "kW", "Grad Celsius", "Mikrogramm pro Kubikmeter", "je 1.000 Einwohner".

    None for everything else: nouns of what is counted, units that no table entry knows.
    """
    if len(text) > MAX_LENGTH:
        return None
    text = _plain(_without_repetition(text))
    over, slash, under = text.partition("/")
    if not slash:
        return _simple(text)
    divisor = _divisor(under)
    dividend = _simple(over) or _counted(over)
    if divisor is None or dividend is None or (dividend.quantity == "count" and divisor.quantity != "people"):
        return None
    quantity = f"{dividend.quantity}/{divisor.quantity}"
    return Unit(_SHORTENED.get(quantity, quantity), dividend.factor / divisor.factor)


def _simple(name: str) -> Unit | None:
    name = name.strip(". ")
    folded = name.casefold()
    if folded in _CASED and not name[0].isupper():
        return None
    share = _SHARE_OF.fullmatch(folded)
    return _UNITS["%"] if share and count_noun(share[1]) else _UNITS.get(folded)


_SHARE_OF = re.compile(r"(?:%|prozent) (?:der|des|aller|vom|von|an) (.+)")


def _counted(name: str) -> Unit | None:
    if name.strip(". ").casefold() in _PEOPLE:
        return Unit("people", Fraction(1))
    return Unit("count", Fraction(1)) if not name or count_noun(name) else None


def _divisor(text: str) -> Unit | None:
    """What stands behind the slash, with a number or without one: "MWh", "1.000 Einwohner"."""
    match = _DENOMINATOR.fullmatch(text)
    if match is None:
        return None
    name = match["name"].strip(". ")
    unit = Unit("people", Fraction(1)) if name.casefold() in _PEOPLE else _simple(name)
    number = re.sub(r"[. ']", "", match["number"] or "") or _WORD_NUMBERS.get((match["word"] or "").casefold(), 1)
    return Unit(unit.quantity, unit.factor * int(number)) if unit and int(number) else None


_IN_BRACKETS = re.compile(r"([^()]+)\(([^()]+)\)\s*")


def _without_repetition(text: str) -> str:
    """"Prozent (%)" says "%" twice."""
    match = _IN_BRACKETS.fullmatch(text)
    if match and (unit := unit_of(match[1].strip())) and unit == unit_of(match[2].strip()):
        return match[2]
    return text


def factor_between(given: Unit, asked: Unit) -> Fraction | None:
    """How many of `asked` one of `given` is; None if they measure different things.

    A difference of temperatures is asked in K and may be given in °C; an absolute temperature is asked in °C, and K
    would say something else. (People who ask "in Grad" mean °C.)
    """
    if given.quantity == asked.quantity:
        return given.factor / asked.factor
    if (given.quantity, asked.quantity) == ("temperature", "temperature difference"):
        return Fraction(1)
    return None


_NOUN_PHRASE = re.compile(r"\(?[^\W\d_](?:[^\W\d_]|[ \-.,:*/()&'’])*|-(?:fache?|mal)")
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_MAX_WORDS = 10
_REFUSED = frozenset((
    # other bounds, other signs, other numbers
    "aber", "bis", "bzw", "beziehungsweise", "durch", "drittel", "fast",
    "geteilt", "halb", "halbe", "halber", "halbes", "handvoll", "hoch", "hälfte", "höchstens",
    "knapp", "komma", "maximal", "mehr", "mindestens", "minimal", "minus", "oder", "paar", "plus", "punkt",
    "sondern", "statt", "viertel", "wenig", "wenige", "weniger", "zuviel", "zuwenig",
    # sentences and denials
    "falsch", "ist", "kein", "keine", "keinen", "keiner", "nicht", "sind", "unbekannt", "war", "waren", "wäre", "wären",
    "or", "more", "less", "not", "no", "least", "most", "uhr",
    "null", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn", "elf", "zwölf",
    "mia", "bio", "tsd", "mio", "mrd", "mill"))
_REFUSED_FIRST = frozenset(("und", "von", "zu", "aus", "unter", "über"))
_REFUSED_PARTS = ("tausend", "hundert", "million", "milliard", "billion", "dutzend", "prozent", "promille", "minus")
_CALENDAR = frozenset(("tag", "woche", "monat", "jahr"))
_BEFORE_CALENDAR = re.compile(r"(?:pro|je|im|am|per|in der|letzten|vergangenen|/) ?\Z", re.IGNORECASE)


@lru_cache(maxsize=4096)
def count_noun(text: str) -> bool:
    """Words that may follow a counted number: "freie Stellplätze", "E-Autos", "Unfälle im Jahr".

    No word in it may be a unit, a comparison, a denial or a further number; a calendar word only says for how long.
    """
    if len(text) > MAX_LENGTH:
        return False
    text = " ".join(unicodedata.normalize("NFKC", text).split())      # makes digits of ² and ½
    if not _NOUN_PHRASE.fullmatch(text):
        return False
    words = list(_WORD.finditer(text))
    if not 0 < len(words) <= _MAX_WORDS or words[0][0].casefold() in _REFUSED_FIRST:
        return False
    return all(_harmless(match[0].casefold(), text, match.start()) for match in words)


def _harmless(word: str, text: str, at: int) -> bool:
    if len(word) < 2 or word in _REFUSED or any(part in word for part in _REFUSED_PARTS):
        return False
    if word in _CALENDAR:
        return bool(_BEFORE_CALENDAR.search(text, max(0, at - 20), at))
    return not any(len(part) > 1 and part in _UNITS for part in word.split("-"))
