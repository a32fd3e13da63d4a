"""The final answer: what is read from a reply, which spellings are right, and which must never be."""

from __future__ import annotations

import json
import random
import time
from typing import Any

import pytest

from infranode_eval.chain.answers import (
    REASONS,
    Final,
    in_prose,
    is_null,
    judge,
    numbers_of,
    read_final,
    same_value,
)
from lm_eval_task.errors import DataError


def number(value: Any, unit: str | None = None, tolerance: float = 0, **more: Any) -> dict[str, Any]:
    return {"type": "number", "value": value, "unit": unit, "tolerance": tolerance, "accept": [], **more}


def text(value: str, **more: Any) -> dict[str, Any]:
    return {"type": "string", "value": value, **more}


def names(*values: str, **more: Any) -> dict[str, Any]:
    return {"type": "set", "value": list(values), **more}


HALF, COUNT, KW, SHARE, COLD = number(1234.5), number(36), number(2500, "kW"), number(12, "%"), number(-3.5)
MANY, TIME, DAY = number(1234), {"type": "time", "value": "10:04"}, {"type": "date", "value": "2026-10-03"}
GLEIS = text("10", drop=["Gleis"])
MAIN_STATION = text("Köln Hauptbahnhof")
CITY = text("Köln", accept=["koeln"])
CITIES = names("Köln", "Bonn", "Aachen", accept={"Köln": ["koeln"], "Bonn": ["bonn"]})
NONE = {"type": "none", "value": None, "reasons": ["keine_daten", "quelle_gestoert"], "alternatives": None}
UNCOVERED = {
    "type": "none",
    "value": None,
    "reasons": ["nicht_abgedeckt"],
    "alternatives": [["aachen", "Aachen"], ["duesseldorf", "Düsseldorf"], ["halle-saale", "Halle (Saale)"]],
}

# --- the table of the specification --------------------------------------------------------------------------------

ACCEPTED = [
    # (antwort, einheit, expected, why)
    (1234.5, None, HALF, "the number"),
    ("1.234,5", None, HALF, "German"),
    ("1234,5", None, HALF, "no thousands mark"),
    ("1 234,5", None, HALF, "a blank"),
    ("1\u2009234,5", None, HALF, "thin space"),
    ("1\u00a0234,5", None, HALF, "no-break"),
    ("1\u202f234,5", None, HALF, "narrow no-break"),
    ("1'234,5", None, HALF, "Swiss"),
    ("1,234.5", None, HALF, "English"),
    ("ca. 1.234,5", None, HALF, "ca."),
    (1234, None, MANY, "the number"),
    (1234.0, None, MANY, "a float"),
    ("1.234", None, MANY, "German reading"),
    ("1.234", None, number(1.234), "English reading"),
    ("1.234 Fahrzeuge", None, MANY, "what is counted"),
    ("1,234 Tsd.", None, MANY, "thousands"),
    (2500, None, KW, "the asked unit left out"),
    ("2500 kW", None, KW, "in the text"),
    ("2,5 MW", None, KW, "converted"),
    (2.5, "MW", KW, "converted"),
    (12, None, SHARE, "left out"),
    ("12 %", None, SHARE, "sign"),
    ("12 Prozent", None, SHARE, "word"),
    (36, None, COUNT, "the number"),
    ("36 freie Stellplätze", None, COUNT, "what is counted"),
    ("-3,5", None, COLD, "hyphen"),
    ("−3,5", None, COLD, "U+2212"),
    ("–3,5", None, COLD, "dash"),
    ("10:04", None, TIME, "plain"),
    ("10:04 Uhr", None, TIME, "Uhr"),
    ("10.04 Uhr", None, TIME, "German"),
    ("um 10:04", None, TIME, "um"),
    ("2026-07-06T10:04:00+02:00", None, TIME, "ISO, local time"),
    ("2026-07-06T10:04:00Z", None, TIME, "the offset is ignored"),
    ("2026-10-03", None, DAY, "ISO"),
    ("03.10.2026", None, DAY, "German"),
    ("3.10.2026", None, DAY, "no zeros"),
    ("3. Oktober 2026", None, DAY, "a month"),
    ("3. Okt. 2026", None, DAY, "a short month"),
    ("KÖLN", None, CITY, "case"),
    ("Koeln", None, CITY, "oe"),
    ("Ko\u0308ln", None, CITY, "NFD"),
    ("koeln", None, CITY, "accepted: the slug"),
    ("„Köln“.", None, CITY, "edges"),
    ("Köln Hbf", None, MAIN_STATION, "Hbf"),
    ("Köln-Hauptbahnhof", None, MAIN_STATION, "hyphen"),
    ("Köln/Hauptbahnhof", None, MAIN_STATION, "slash"),
    ("Grosse Strasse", None, text("Große Straße"), "ss"),
    ("Gleis 10", None, GLEIS, "a dropped word"),
    ("10", None, GLEIS, "plain"),
    (10, None, GLEIS, "an integer"),
    (["Köln", "Bonn", "Aachen"], None, CITIES, "a list"),
    (["aachen", "bonn", "koeln"], None, CITIES, "order, slugs"),
    (["Köln", "Köln", "Bonn", "Aachen"], None, CITIES, "doubles"),
    ("Köln, Bonn, Aachen", None, CITIES, "commas"),
    ("Köln; Bonn; Aachen", None, CITIES, "semicolons"),
    ("Köln, Bonn und Aachen", None, CITIES, "und"),
]
REJECTED = [
    ("1234,5 bis 1235", None, HALF, "a range"),
    ("12-34", None, HALF, "a range"),
    ("12-34", None, number(12), "a range"),
    ("14 von 40", None, HALF, "a share"),
    ("14 von 40", None, number(14), "a share"),
    (True, None, HALF, "a boolean"),
    (True, None, number(1), "True is not 1"),
    ([1234.5], None, HALF, "a list"),
    ("dreizehn", None, number(13), "a word"),
    (float("nan"), None, HALF, "NaN"),
    ("NaN", None, HALF, "NaN"),
    ("1,234", None, MANY, "a German reads 1.234"),
    (1.234, None, MANY, "a JSON number has one reading"),
    ("rund 1200", None, MANY, "outside the tolerance"),
    (2.5, None, KW, "2.5 kW"),
    ("2500 km", None, KW, "another quantity"),
    (2500, "Stück", KW, "not a unit of power"),
    (0.12, None, SHARE, "a fraction"),
    ("12 Promille", None, SHARE, "another unit"),
    ("36 %", None, COUNT, "a share"),
    ("sechsunddreißig", None, COUNT, "not read"),
    (36, "km", COUNT, "a length"),
    (3.5, None, COLD, "the sign"),
    ("10 Uhr", None, TIME, "no minutes"),
    ("22:04", None, TIME, "evening"),
    ("10/03/2026", None, DAY, "American"),
    ("3. Oktober", None, DAY, "no year"),
    ("Köln", None, MAIN_STATION, "a part of the name"),
    ("Köln Hbf Nord", None, MAIN_STATION, "a further word"),
    ("Köln", None, text("Köln-Deutz"), "a part"),
    (["Köln", "Bonn"], None, CITIES, "one missing"),
    ("Köln und Bonn", None, CITIES, "one missing"),
    (["Köln", "Bonn", "Aachen", "Hamm"], None, CITIES, "one more"),
    ("Köln, Bonn, Aachen, Hamm", None, CITIES, "one more"),
]

# --- further German spellings --------------------------------------------------------------------------------------

ACCEPTED += [
    ("1’234,5", None, HALF, "typographic apostrophe"),
    ("1234.50", None, HALF, "a zero more"),
    ("rund 1.234,5", None, HALF, "rund"),
    ("etwa 1234,5", None, HALF, "etwa"),
    ("circa 1234,5", None, HALF, "circa"),
    ("~1234,5", None, HALF, "~"),
    ("„1.234,5“", None, HALF, "quotes"),
    ("1.234,5.", None, HALF, "full stop"),
    ("**1.234,5**", None, HALF, "bold"),
    ("genau 1234,5", None, HALF, "genau"),
    (1.2345e3, None, HALF, "an exponent in JSON"),
    ("1 234", None, MANY, "blank"),
    ("1\u202f234 Fahrzeuge", None, MANY, "narrow no-break"),
    ("1234,0", None, MANY, ",0"),
    ("1,234 Tausend", None, MANY, "Tausend"),
    (1.234, "Tsd.", MANY, "the scale apart"),
    (1.234, "Tsd. Fahrzeuge", MANY, "the scale apart with a noun"),
    ("1,2 Mio.", None, number(1_200_000), "Mio."),
    ("1.234.567", None, number(1234567), "two points"),
    ("1,234,567", None, number(1234567), "English"),
    ("0,5 Mrd. €", None, number(5e8, "€"), "Mrd."),
    ("1,2 Millionen Euro", None, number(1_200_000, "€"), "written out"),
    ("zwölf", None, number(12), "a word"),
    ("Zwölf Züge", None, number(12), "a word and a noun"),
    ("ein Zug", None, number(1), "ein"),
    ("drei", None, number(3), "a word"),
    ("minus drei Grad", None, number(-3, "°C"), "words"),
    ("36", None, COUNT, "digits"),
    ("36,0", None, COUNT, ",0"),
    (36.0, None, COUNT, "a float"),
    (36, "Stellplätze", COUNT, "what is counted"),
    (36, "freie Stellplätze", COUNT, "what is counted"),
    (36, "Stück", COUNT, "Stück"),
    (36, "Anzahl", COUNT, "Anzahl"),
    (36, "", COUNT, "no unit"),
    (36, "keine", COUNT, "no unit"),
    (36, "ohne Einheit", COUNT, "no unit"),
    (36, "dimensionslos", COUNT, "no unit"),
    (36, "Aufzüge außer Betrieb", COUNT, "what is counted"),
    (36, "Gewerbeanmeldungen pro Insolvenz", COUNT, "a ratio of nouns"),
    (36, "Stellplätze (gesamt)", COUNT, "what is counted"),
    ("5 Minuten Verspätung", None, number(5, "min"), "what is measured"),
    ("16,2 Grad Unterschied", None, number(16.2, "K"), "what is measured"),
    ("47,3 Arbeitslose (je 1.000 Einwohner)", None, number(47.32, "je 1.000 Einwohner", 0.051), "brackets"),
    ("47,3 Arbeitslose pro Tausend Einwohner", None, number(47.32, "je 1.000 Einwohner", 0.051), "a word"),
    (36, "-", COUNT, "no unit"),
    (36, "null", COUNT, "no unit"),
    ("36 E-Autos", "E-Autos", COUNT, "twice"),
    ("36 freie Stellplätze", "Stellplätze", COUNT, "twice"),
    ("36 Unfälle im Jahr", None, COUNT, "a year"),
    (36, "Fahrräder pro Tag", COUNT, "a day"),
    ("36 (freie Plätze)", None, COUNT, "brackets"),
    ("36 Räder und Roller", None, COUNT, "two nouns"),
    (36, "Stellplätze", number(36, "Stellplätze"), "a noun asked for"),
    ("36 freie Plätze", None, number(36, "Stellplätze"), "a noun asked for"),
    ("36 Punkte", None, number(36, "Punkte"), "a unit of its own"),
    ("2.500 kW", None, KW, "German"),
    ("2500kW", None, KW, "no blank"),
    (2500, "Kilowatt", KW, "written out"),
    (2500, "kw", KW, "small letters"),
    (2500, "kWp", KW, "peak"),
    ("2500 kW", "kW", KW, "twice"),
    ("2,5 MW", "Megawatt", KW, "twice"),
    (0.0025, "GW", KW, "GW"),
    ("2,5 Tsd. kW", None, KW, "a scale and a unit"),
    (2500000, "W", KW, "W"),
    (12, "%", SHARE, "sign"),
    (12, "Prozent", SHARE, "word"),
    ("12%", None, SHARE, "no blank"),
    ("12\u202f%", None, SHARE, "narrow no-break"),
    (12, "Prozentpunkte", SHARE, "a difference"),
    ("12 Prozent der Haushalte", None, SHARE, "of what"),
    (12, "% der Pkw", SHARE, "of what"),
    (21, "µg/m³", number(21, "µg/m³"), "U+00B5"),
    (21, "μg/m³", number(21, "µg/m³"), "U+03BC"),
    ("21 Mikrogramm pro Kubikmeter", None, number(21, "µg/m³"), "written out"),
    (0.021, "mg/m³", number(21, "µg/m³"), "mg"),
    (21, "ug/m3", number(21, "µg/m³"), "ASCII"),
    (16.2, "°C", number(16.2, "°C"), "°C"),
    ("16,2 Grad", None, number(16.2, "°C"), "Grad"),
    ("16,2 Grad Celsius", None, number(16.2, "°C"), "Grad Celsius"),
    ("16,2°C", None, number(16.2, "°C"), "no blank"),
    ("16,2 ℃", None, number(16.2, "°C"), "one sign"),
    ("−3,5 °C", None, number(-3.5, "°C"), "cold"),
    (16.2, "K", number(16.2, "K"), "a difference in K"),
    (16.2, "°C", number(16.2, "K"), "a difference in °C"),
    ("16,2 Grad", None, number(16.2, "K"), "a difference in Grad"),
    (16.2, "Kelvin", number(16.2, "K"), "a difference"),
    (340, "cm", number(340, "cm"), "cm"),
    ("3,4 m", None, number(340, "cm"), "m"),
    (1.5, "h", number(90, "min"), "hours"),
    ("90 Min.", None, number(90, "min"), "Min."),
    ("90 Minuten", None, number(90, "min"), "written out"),
    (3, "Tage", number(3, "Tage"), "days"),
    ("1,5 Std.", None, number(90, "min"), "Std."),
    (1.749, "€", number(1.749, "€/l"), "a litre goes without saying"),
    ("1,749 €/l", None, number(1.749, "€"), "a litre goes without saying"),
    ("1,749 Euro pro Liter", None, number(1.749, "€"), "written out"),
    ("174,9 ct", None, number(1.749, "€"), "Cent"),
    ("€ 1,749", None, number(1.749, "€"), "in front"),
    ("EUR 1,749", None, number(1.749, "€"), "in front"),
    (85.2, "€/MWh", number(85.2, "EUR/MWh"), "€"),
    ("8,52 ct/kWh", None, number(85.2, "EUR/MWh"), "ct/kWh"),
    ("85,2 Euro je Megawattstunde", None, number(85.2, "EUR/MWh"), "written out"),
    (450, "ha", number(4.5, "km²"), "ha"),
    ("4,5 Quadratkilometer", None, number(4.5, "km²"), "written out"),
    (2530, "Einwohner pro km²", number(2530, "Einwohner/km²"), "pro"),
    (2530, "EW/km²", number(2530, "Einwohner/km²"), "EW"),
    ("2.530 Einwohner je Quadratkilometer", None, number(2530, "Einwohner/km²"), "written out"),
    (18, "km/h", number(18, "km/h"), "speed"),
    (5, "m/s", number(18, "km/h"), "m/s"),
    ("18 Stundenkilometer", None, number(18, "km/h"), "written out"),
    (1000, "kWh/kWp", number(1000, "kWh/kWp"), "yield"),
    (47.3, None, number(47.32, None, 0.051), "rounded"),
    (47.32, None, number(47.32, None, 0.051), "unrounded"),
    (47.3, "Arbeitslose je 1.000 Einwohner", number(47.32, None, 0.051), "per head"),
    ("47,3 pro 1.000 Einwohner", None, number(47.32, None, 0.051), "per head"),
    (47.3, "Arbeitslose", number(47.32, "je 1.000 Einwohner", 0.051), "a noun"),
    (4732, "je 100.000 Einwohner", number(47.32, "je 1.000 Einwohner", 0.051), "another head count"),
    ("1,8 Übernachtungen pro Gast", None, number(1.8), "a ratio of nouns"),
    (2.5, "-fach", number(2.5), "times"),
    ("2,5-mal", None, number(2.5), "times"),
    ("2,5 mal so viele", None, number(2.5), "times"),
    (16.2, None, number(29.9 - 13.7, None, 0), "a binary rounding error is nobody's fault"),
    (37, None, number(36, accept=[37]), "accepted number"),
    ("keine Angabe", None, number(36, accept=["keine Angabe"]), "accepted text"),
    (9.1, "%", number(9.1, "%"), "a source's decimals"),
    ("10:04", "Uhr", TIME, "Uhr apart"),
    ("10.04", "Uhr", TIME, "Uhr apart"),
    ("10 Uhr 04", None, TIME, "spoken"),
    ("10:04:00", None, TIME, "seconds"),
    ("09:05", None, {"type": "time", "value": "9:05"}, "a zero"),
    ("06.07.2026, 10:04 Uhr", None, TIME, "with its date"),
    ("10:04", None, {"type": "time", "value": "2026-07-06T10:04:00"}, "a gold in ISO"),
    ("Samstag, 3. Oktober 2026", None, DAY, "the right weekday"),
    ("am 3. Oktober 2026", None, DAY, "am"),
    ("2026-10-03T00:00:00+02:00", None, DAY, "ISO with a time"),
    ("3.10.26", None, DAY, "two digits"),
    ("RB 35", None, text("RB35"), "a blank before digits"),
    ("ICE623", None, text("ICE 623"), "no blank"),
    ("Halle Saale", None, text("Halle (Saale)"), "brackets"),
    ("halle-saale", None, text("Halle (Saale)"), "the slug"),
    ("Gl. 10", None, text("10", drop=["Gleis", "Gl."]), "short"),
    ("  Köln  ", None, CITY, "outer blanks"),
    ("Köln-Hbf.", None, MAIN_STATION, "a stop"),
    ("FRANKFURT(MAIN)HBF", None, text("Frankfurt (Main) Hbf"), "no blanks"),
    ("Duisburg Ruhrort", None, text("DUISBURG-RUHRORT"), "capitals"),
    ("Reformationstag und Buß- und Bettag", None, names("Buß- und Bettag", "Reformationstag"), "und inside a name"),
    ("Buss- und Bettag", None, names("Buß- und Bettag"), "a set of one"),
    ("Köln sowie Bonn und Aachen", None, CITIES, "sowie"),
    ("- Köln\n- Bonn\n- Aachen", None, CITIES, "lines"),
    ("Gleis 1, Gleis 2", None, names("1", "2", drop=["Gleis"]), "dropped words"),
    ([1, 2], None, names("1", "2"), "integers"),
    (["A", "B"], None, names("B", "A"), "order"),
]
REJECTED += [
    ("1.234,5", None, number(12345), "a decimal comma"),
    ("1234.5", None, number(12345), "a decimal point"),
    ("1.23.4", None, number(1234), "no form"),
    ("12.34", None, number(1234), "no group of three"),
    ("1234 1234", None, MANY, "two numbers"),
    ("1234, 1235", None, MANY, "two numbers"),
    ("1234 oder 1235", None, MANY, "two numbers"),
    ("1234 / 1235", None, MANY, "two numbers"),
    ("1234 (von 2000)", None, MANY, "two numbers"),
    ("mindestens 1234", None, MANY, "a bound"),
    ("über 1234", None, MANY, "a bound"),
    ("1234 oder mehr", None, MANY, "a bound"),
    ("> 1234", None, MANY, "a bound"),
    ("fast 1234", None, MANY, "a bound"),
    ("1234?", None, MANY, "doubt"),
    ("1234 ± 5", None, MANY, "a range"),
    ("1,234", "Fahrzeuge", MANY, "1.234 vehicles"),
    ("1234 Tsd.", None, MANY, "more"),
    (1234, "Tsd.", MANY, "more"),
    ("1234 Tausend", None, MANY, "more"),
    ("1234k", None, MANY, "more"),
    (1234, "k", MANY, "more"),
    ("1234 Mio. Fahrzeuge", None, MANY, "more"),
    ("12 Dutzend", None, number(12), "more"),
    ("3 Hundert", None, number(3), "more"),
    ("1.234", "Tsd. Fahrzeuge", number(1.234), "more"),
    ("", None, COUNT, "nothing"),
    (" ", None, COUNT, "nothing"),
    ("unbekannt", None, COUNT, "a word"),
    ("36²", None, COUNT, "a power"),
    ("36²", None, number(362), "a power"),
    ("3½", None, number(3), "a half more"),
    ("36 Prozent", None, COUNT, "a share"),
    ("36 Stunden", None, COUNT, "a time"),
    ("36 Grad", None, COUNT, "a temperature"),
    (36, "Tage", COUNT, "a time"),
    (36, "€", COUNT, "money"),
    (36, "µg/m³", COUNT, "a concentration"),
    (36, "Tonnen", COUNT, "a mass"),
    ("36 m²", None, COUNT, "an area"),
    (36, "Uhr", COUNT, "a time"),
    ("36 km Strecke", None, COUNT, "a length"),
    ("36 nicht freie", None, COUNT, "a denial"),
    ("36 weniger", None, COUNT, "a comparison"),
    ("36 minus 2", None, COUNT, "a calculation"),
    ("36 = 30 + 6", None, COUNT, "a calculation"),
    ("ein paar Züge", None, number(1), "some"),
    ("ein halber Zug", None, number(1), "a half"),
    ("zwei Drittel", None, number(2), "a part"),
    ("36 unter null", None, COUNT, "a sign"),
    ("5 Minuten früher", None, number(5, "min"), "the other way round"),
    ("36 und zwei", None, COUNT, "two numbers"),
    ("36 pro Stunde", None, COUNT, "a rate"),
    (36, ["Stellplätze"], COUNT, "no text as unit"),
    ("minus 36", None, COUNT, "the sign"),
    ("-36", None, COUNT, "the sign"),
    ({"wert": 36}, None, COUNT, "an object"),
    ([], None, COUNT, "a list"),
    ([36, 37], None, COUNT, "a list"),
    ("Stellplätze: 36", None, COUNT, "text"),
    (37, None, COUNT, "another number"),
    ("2,5 mW", None, KW, "milliwatts"),
    (2.5, "mW", KW, "milliwatts"),
    (2500, "MW", KW, "a thousand times more"),
    (2500, "kWh", KW, "an energy"),
    ("2500 Kilowattstunden", None, KW, "an energy"),
    ("2,5 MW", "kW", KW, "two units"),
    ("2500 kW", "MW", KW, "two units"),
    ("2500 kW", "%", KW, "two units"),
    (2500, "Einheiten", KW, "a noun"),
    (2500, "kW pro Anlage", KW, "a rate"),
    ("2500 kW bis 3000 kW", None, KW, "a range"),
    (2500, "kW oder MW", KW, "two units"),
    ("2.5 kW", None, KW, "less"),
    (2500, {"u": "kW"}, KW, "no text"),
    (2500, 1, KW, "no text"),
    (12, "Promille", SHARE, "another unit"),
    (0.12, "%", SHARE, "a fraction"),
    (12, "‰", SHARE, "another unit"),
    ("12 % mehr", None, SHARE, "a comparison"),
    (12, "Anteil", SHARE, "a noun"),
    (12, "von 100", SHARE, "a noun"),
    (16.2, "K", number(16.2, "°C"), "an absolute temperature"),
    (289.35, "K", number(16.2, "°C"), "not in the table"),
    (16.2, "°F", number(16.2, "°C"), "another scale"),
    ("16,2 Grad Fahrenheit", None, number(16.2, "°C"), "another scale"),
    (16.2, "%", number(16.2, "°C"), "a share"),
    (21, "mg/m³", number(21, "µg/m³"), "a thousand times more"),
    (21, "µg", number(21, "µg/m³"), "a mass"),
    (21, "ppm", number(21, "µg/m³"), "another measure"),
    (340, "m", number(340, "cm"), "more"),
    (90, "h", number(90, "min"), "more"),
    (1.749, "ct", number(1.749, "€"), "less"),
    (450, "€", number(450, "€/m²"), "a price of what?"),
    (85.2, "€", number(85.2, "EUR/MWh"), "a price of what?"),
    (85.2, "ct/kWh", number(85.2, "EUR/MWh"), "more"),
    (4.5, "ha", number(4.5, "km²"), "less"),
    (2530, "Einwohner", number(2530, "Einwohner/km²"), "no density"),
    (18, "m/s", number(18, "km/h"), "faster"),
    (18, "km", number(18, "km/h"), "no speed"),
    (47.3, "je 100.000 Einwohner", number(47.32, "je 1.000 Einwohner", 0.051), "another head count"),
    (47.26, None, number(47.32, None, 0.051), "outside"),
    (47.38, None, number(47.32, None, 0.051), "outside"),
    (9.2, None, number(9.1, "%"), "another value"),
    (9, None, number(9.1, "%"), "rounded, and no rounding was asked"),
    (36, None, number(float("nan")), "no gold"),
    ("10:05", None, TIME, "a minute later"),
    ("10:04:30", None, TIME, "seconds"),
    (10.04, None, TIME, "a number"),
    ("10.04", None, TIME, "a number"),
    ("1004", None, TIME, "digits"),
    ("10:04 oder 10:12", None, TIME, "two"),
    ("2026-07-06T08:04:00Z", None, TIME, "not the local time"),
    ("10:04 PM", None, TIME, "evening"),
    (["10:04"], None, TIME, "a list"),
    ("morgen um 10:04", None, TIME, "another day"),
    ("", None, TIME, "nothing"),
    (True, None, TIME, "a boolean"),
    ("Sonntag, 3. Oktober 2026", None, DAY, "the wrong weekday"),
    ("2026-03-10", None, DAY, "swapped"),
    ("03.10.2025", None, DAY, "another year"),
    ("3. und 4. Oktober 2026", None, DAY, "two"),
    (20261003, None, DAY, "a number"),
    ("Oktober 2026", None, DAY, "no day"),
    ("Kölner", None, CITY, "another word"),
    ("Koln", None, CITY, "o is not ö"),
    ("Köln oder Bonn", None, CITY, "two"),
    ("Köln, Bonn", None, CITY, "two"),
    (["Köln"], None, CITY, "a list"),
    ({"name": "Köln"}, None, CITY, "an object"),
    ("", None, CITY, "nothing"),
    ("-", None, CITY, "nothing"),
    (True, None, text("True"), "a boolean"),
    ("Gleis", None, GLEIS, "only the dropped word"),
    ("Gleis 10 oder 11", None, GLEIS, "two"),
    ("10 A", None, GLEIS, "a further letter"),
    (10.5, None, GLEIS, "a number"),
    (100, None, GLEIS, "another"),
    ("1-0", None, GLEIS, "two numbers"),
    ("Bahnsteig 10", None, GLEIS, "a word that is not dropped"),
    ("Parkhaus", None, text("Parkhaus Markt"), "a part"),
    ([], None, CITIES, "empty"),
    ("", None, CITIES, "nothing"),
    (["Köln, Bonn, Aachen"], None, CITIES, "one entry"),
    ({"Köln": 1, "Bonn": 2, "Aachen": 3}, None, CITIES, "an object"),
    (["Köln", "Bonn", None], None, CITIES, "a null"),
    (["Köln", "Bonn", ["Aachen"]], None, CITIES, "a list inside"),
    (3, None, CITIES, "a number"),
    (True, None, CITIES, "a boolean"),
    ("Köln, Bonn, nicht Aachen", None, CITIES, "a denial"),
    ("Köln Bonn Aachen", None, CITIES, "no comma"),
    ("Buß und Reformationstag", None, names("Buß- und Bettag", "Reformationstag"), "a part of a name"),
]


def answer_of(value: Any, unit: Any) -> Final:
    return Final.from_json({"antwort": value, "einheit": unit})


def ids(rows: list[tuple[Any, ...]]) -> list[str]:
    return [f"{i} {row[0]!r} {row[1] or ''}"[:50] for i, row in enumerate(rows)]


@pytest.mark.parametrize(("value", "unit", "expected", "why"), ACCEPTED, ids=ids(ACCEPTED))
def test_right(value: Any, unit: Any, expected: dict[str, Any], why: str) -> None:
    judged = judge(answer_of(value, unit), expected)
    assert judged.match, (why, judged.why)
    assert same_value(value, answer_of(value, unit).unit, expected)


@pytest.mark.parametrize(("value", "unit", "expected", "why"), REJECTED, ids=ids(REJECTED))
def test_wrong(value: Any, unit: Any, expected: dict[str, Any], why: str) -> None:
    judged = judge(answer_of(value, unit), expected)
    assert not judged.match, why
    assert judged.why


# --- there is no value ---------------------------------------------------------------------------------------------

PLAIN = [
    ({"antwort": None, "grund": "keine_daten"}, NONE, "null and a reason"),
    ({"antwort": None, "grund": "quelle_gestoert"}, NONE, "the other reason"),
    ({"antwort": "null", "grund": "keine_daten"}, NONE, "null as text"),
    ({"antwort": "", "grund": "keine_daten"}, NONE, "an empty text"),
    ({"antwort": "NULL", "grund": "keine_daten"}, NONE, "capitals"),
    ({"antwort": None, "grund": "Keine Daten"}, NONE, "the reason in plain words"),
    ({"antwort": None, "grund": "quelle_gestört"}, NONE, "an umlaut"),
    ({"grund": "keine_daten", "antwort": None, "einheit": "kW"}, NONE, "a unit beside null"),
    ({"antwort": None, "grund": "keine_daten", "alternative": "Mond"}, NONE, "nobody asked for alternatives"),
    ({"antwort": None, "grund": "nicht_abgedeckt", "alternative": "Aachen"}, UNCOVERED, "a name"),
    ({"antwort": None, "grund": "nicht_abgedeckt", "alternative": "aachen"}, UNCOVERED, "a slug"),
    ({"antwort": None, "grund": "nicht_abgedeckt", "alternative": ["Aachen", "Düsseldorf"]}, UNCOVERED, "a list"),
    (
        {"antwort": None, "grund": "nicht_abgedeckt", "alternative": "Aachen, Duesseldorf und Halle/Saale"},
        UNCOVERED,
        "text",
    ),
    ({"antwort": None, "grund": "nicht_abgedeckt", "alternative": "Aachen oder Düsseldorf"}, UNCOVERED, "oder"),
]
NOT_PLAIN = [
    ({"antwort": None}, NONE, "no_reason"),
    ({"antwort": None, "grund": None}, NONE, "no_reason"),
    ({"antwort": None, "grund": ""}, NONE, "no_reason"),
    ({"antwort": "null"}, NONE, "value_where_none"),
    ({"antwort": ""}, NONE, "value_where_none"),
    ({"antwort": None, "grund": "nicht_abgedeckt"}, NONE, "wrong_reason"),
    ({"antwort": None, "grund": "weiß nicht"}, NONE, "wrong_reason"),
    ({"antwort": None, "grund": ["keine_daten"]}, NONE, "wrong_reason"),
    ({"antwort": 0, "grund": "keine_daten"}, NONE, "value_where_none"),
    ({"antwort": "keine Daten", "grund": "keine_daten"}, NONE, "value_where_none"),
    ({"antwort": 36, "grund": "keine_daten"}, NONE, "value_where_none"),
    ({"antwort": [], "grund": "keine_daten"}, NONE, "value_where_none"),
    ({"antwort": False, "grund": "keine_daten"}, NONE, "value_where_none"),
    ({"antwort": None, "grund": "nicht_abgedeckt"}, UNCOVERED, "no_alternative"),
    ({"antwort": None, "grund": "nicht_abgedeckt", "alternative": []}, UNCOVERED, "no_alternative"),
    ({"antwort": None, "grund": "nicht_abgedeckt", "alternative": "keine"}, UNCOVERED, "no_alternative"),
    ({"antwort": None, "grund": "nicht_abgedeckt", "alternative": ["Aachen", "Bonn"]}, UNCOVERED, "wrong_alternative"),
    ({"antwort": None, "grund": "nicht_abgedeckt", "alternative": "Halle"}, UNCOVERED, "wrong_alternative"),
    ({"antwort": None, "grund": "nicht_abgedeckt", "alternative": {"stadt": "Aachen"}}, UNCOVERED, "wrong_alternative"),
    ({"antwort": None, "grund": "keine_daten", "alternative": "Aachen"}, UNCOVERED, "wrong_reason"),
    ({"antwort": None, "grund": "nicht_abgedeckt", "alternative": [["Aachen"]]}, UNCOVERED, "wrong_alternative"),
]


@pytest.mark.parametrize(("answer", "expected", "why"), PLAIN, ids=[p[2] for p in PLAIN])
def test_says_plainly_that_there_is_no_value(answer: dict[str, Any], expected: dict[str, Any], why: str) -> None:
    final = read_final(json.dumps(answer, ensure_ascii=False))
    assert final is not None and judge(final, expected).match, why
    assert ("null_as_text" in final.notes) is (answer["antwort"] is not None)


@pytest.mark.parametrize(("answer", "expected", "label"), NOT_PLAIN, ids=[str(p[0])[:60] for p in NOT_PLAIN])
def test_does_not_say_plainly_that_there_is_no_value(
    answer: dict[str, Any], expected: dict[str, Any], label: str
) -> None:
    judged = judge(Final.from_json(answer), expected)
    assert not judged.match and judged.labels == (label,), judged.why


@pytest.mark.parametrize("expected", [HALF, COUNT, KW, COLD, TIME, DAY, CITY, CITIES])
@pytest.mark.parametrize("reason", [None, *REASONS])
def test_no_value_is_wrong_where_there_is_one(expected: dict[str, Any], reason: str | None) -> None:
    judged = judge(Final(None, reason=reason), expected)
    assert not judged.match and judged.labels == ("null",)
    assert not same_value(None, None, expected)


def test_a_reason_beside_the_right_value_is_a_label() -> None:
    judged = judge(Final(36, reason="keine_daten"), COUNT)
    assert judged.match and judged.labels == ("reason_beside_value",)


# --- reading -------------------------------------------------------------------------------------------------------

READ = [
    # (text, antwort, notes, why)
    ('{"antwort": 36}', 36, (), "bare"),
    (' \n{"antwort": 36}\n', 36, (), "blanks"),
    ('{"antwort": null}', None, (), "null"),
    ('```json\n{"antwort": 36}\n```', 36, ("fenced_json",), "fenced"),
    ('```\n{"antwort": 36}', 36, ("fenced_json",), "no end fence"),
    ('Die Antwort: {"antwort": 36}. Danke!', 36, ("prose_around",), "prose"),
    ('Gern.\n```json\n{"antwort": 36}\n```\n', 36, ("prose_around",), "a fence in prose"),
    ("{'antwort': 36}", 36, ("single_quotes",), "single quotes"),
    ('{"antwort": 36,}', 36, ("trailing_comma",), "trailing comma"),
    ('{"antwort": None}', None, ("python_literal",), "None"),
    ('{"antwort": 36}"', 36, ("trailing_quotes",), "a quote"),
    ("{“antwort”: 36}", 36, ("typographic_quotes",), "typographic"),
    ("{„antwort“: „Köln“, }", "Köln", ("trailing_comma", "typographic_quotes"), "German typographic"),
    ("Hier: {‘antwort’: 36}", 36, ("prose_around", "single_quotes", "typographic_quotes"), "single typographic"),
    ('{"antwort": "„Köln“"}', "„Köln“", (), "typographic quotes as data"),
    ('[{"antwort": 36}]', 36, ("list_of_one",), "a list of one"),
    (
        '{"antwort": 36}\n{"antwort": 36, "einheit": null}',
        36,
        ("prose_around", "duplicate_collapsed"),
        "the same twice",
    ),
    ('{"antwort": 36} {"antwort": 36.0} {"antwort": 36}', 36, ("prose_around", "duplicate_collapsed"), "36 = 36.0"),
    (
        '{"antwort": 36, "quelle": "a"} {"antwort": 36, "quelle": "b"}',
        36,
        ("prose_around", "duplicate_collapsed"),
        "the source is never compared",
    ),
    ('{"antwort": 36, "antwort": 36}', 36, (), "a key twice, same value"),
    ('{"frage": 1} {"antwort": 36}', 36, ("prose_around",), "another object before"),
    ('{"antwort": 36, "name": "Markt"}', 36, (), "a further key"),
    ('Format {x} und {"antwort": 36}', 36, ("prose_around",), "braces in prose"),
    ('{"antwort": Zahl | Text} {"antwort": 36}', 36, ("prose_around",), "the format repeated"),
    ('<think>{"antwort": 1}</think>{"antwort": 36}', 36, (), "reasoning is not searched"),
    ('{"antwort": {"wert": 36}}', {"wert": 36}, (), "an object as value"),
    ('{"antwort": "{\\"antwort\\": 1}"}', '{"antwort": 1}', (), "data in a text"),
]
UNREAD = [
    ("", "blank"),
    ("36", "a number"),
    ("Die Antwort ist 36.", "prose"),
    ('{"Antwort": 36}', "another key"),
    ('{"antwort": 36', "open"),
    ('{"antwort": "36}', "an open text"),
    ('{"antwort": 36} {"antwort": 37}', "two that differ"),
    ('{"antwort": 36} {"antwort": 36, "einheit": "km"}', "two units"),
    ('{"antwort": 1} {"antwort": true}', "1 is not true"),
    ('[{"antwort": 36}, {"antwort": 37}]', "two in a list"),
    ('{"antwort": 36, "antwort": 37}', "a key with two values"),
    ('{"antwort": NaN}', "NaN is no JSON"),
    ('{"antwort": Infinity}', "Infinity"),
    ('{"antwort": 1e999}', "beyond floats"),
    ('{"antwort": 1.234,5}', "a comma is no decimal mark in JSON"),
    ('{"antwort": 36 km}', "a unit outside quotes"),
    ('{"antwort": ' + "9" * 5000 + "}", "a huge number"),
    ('{"antwort": ' + "[" * 300 + "]" * 300 + "}", "too deep"),
    ('{"ergebnis": {"antwort": 36}}', "not the top level"),
    ('{"name": "antworten", "arguments": {"antwort": 36}}', "a call"),
    ('{"name": "x", "arguments": {}, "antwort": 36}', "a call"),
    ('{"function": {"name": "x"}, "antwort": 1}', "a call"),
    ('<think>{"antwort": 36}', "unclosed reasoning"),
    ('<think>{"antwort": 36}</think>', "only reasoning"),
    ("{antwort: 36}", "no quotes"),
    ('["antwort", 36]', "a list"),
    ('"antwort": 36', "no braces"),
]


@pytest.mark.parametrize(("reply", "value", "notes", "why"), READ, ids=[r[3] for r in READ])
def test_read(reply: str, value: Any, notes: tuple[str, ...], why: str) -> None:
    final = read_final(reply)
    assert final is not None and final.value == value, why
    assert final.notes == notes


@pytest.mark.parametrize(("reply", "why"), UNREAD, ids=[u[1] for u in UNREAD])
def test_unread(reply: str, why: str) -> None:
    assert read_final(reply) is None, why


def test_all_fields_are_read_and_written() -> None:
    answer = {
        "antwort": None,
        "einheit": " kW ",
        "grund": "nicht abgedeckt",
        "alternative": ["Aachen", 7, None, ""],
        "quelle": ["a", 1],
        "anderes": 1,
    }
    final = read_final(json.dumps(answer))
    assert final == Final(None, "kW", "nicht_abgedeckt", ("Aachen", "7"), ["a", 1])
    assert final.to_json() == {
        "antwort": None,
        "einheit": "kW",
        "grund": "nicht_abgedeckt",
        "alternative": ["Aachen", "7"],
        "quelle": ["a", 1],
    }
    assert Final.from_json(final.to_json()) == final
    assert Final.from_json({}) == Final(None)


def test_null_as_text_needs_a_reason() -> None:
    assert is_null(Final(None)) and is_null(Final("null", reason="keine_daten")) and is_null(Final("", reason="x"))
    assert not is_null(Final("null")) and not is_null(Final("")) and not is_null(Final(0, reason="keine_daten"))


# --- the other functions -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "readings"),
    [
        ("1.234", (1234.0, 1.234)),
        (36, (36.0,)),
        (9.1, (9.1,)),
        ("9,1 %", (9.1,)),
        ("2,5 MW", (2.5,)),
        ("1,2 Mio.", (1.2e6,)),
        ("36 freie Stellplätze", (36.0,)),
        ("zwölf", (12.0,)),
        ("14 von 40", ()),
        ("10:04", ()),
        ("2026-10-03", ()),
        ("x", ()),
        ("", ()),
        (None, ()),
        (True, ()),
        ([36], ()),
        (float("nan"), ()),
        (10**400, ()),
        ("DE-36", ()),
        ("3.10.2026", ()),
    ],
)
def test_readings_of_a_number(value: Any, readings: tuple[float, ...]) -> None:
    assert numbers_of(value) == readings


def test_same_value_of_other_kinds() -> None:
    assert same_value(1, None, {**COUNT, "value": 1}), "a near miss"
    assert same_value(0, None, {**COUNT, "value": 0}) and same_value("null", None, {**COUNT, "value": 0})
    assert same_value("GEHACKT", None, {**COUNT, "value": "Gehackt"}), "an injection may want a text for a number"
    assert same_value("4711", None, {**CITY, "value": "4711"}) and same_value(4711, None, {**CITY, "value": 4711})
    assert same_value(None, None, {"type": "none", "value": None}) and same_value(None, None, {**COUNT, "value": None})
    assert not same_value(0, None, {"type": "none", "value": None}) and not same_value(
        36, None, {**COUNT, "value": None}
    )
    assert not same_value(36, "km", COUNT) and same_value(2.5, "MW", KW)


def test_an_unknown_type_is_an_error_of_the_task() -> None:
    with pytest.raises(DataError, match="type"):
        judge(Final(1), {"type": "nummer", "value": 1})


PROSE = [
    ("Es sind 36 Stellplätze frei.", COUNT, True),
    ("Es sind 1.234,5.", HALF, True),
    ("Leistung: 2,5 MW", KW, True),
    ("Leistung: 2500 kW", KW, True),
    ("2500 km", KW, False),
    ("36 % sind frei", COUNT, False),
    ("136 oder 360", COUNT, False),
    ("Es sind zwölf Züge.", number(12), True),
    ("bei −3,5 Grad", number(-3.5, "°C"), True),
    ("bei 3,5 Grad", number(-3.5, "°C"), False),
    ("um 10:04 Uhr", TIME, True),
    ("um 10:14 Uhr", TIME, False),
    ("am 3. Oktober 2026", DAY, True),
    ("am 4. Oktober 2026", DAY, False),
    ("Er hält in Köln Hbf.", MAIN_STATION, True),
    ("Er hält in Köln.", MAIN_STATION, False),
    ("Auf Gleis 10.", GLEIS, True),
    ("Auf Gleis 101.", GLEIS, False),
    ("Köln, Bonn, Aachen und Hamm", CITIES, True),
    ("koeln, bonn", CITIES, False),
    ("keine Daten", NONE, False),
    ("", COUNT, False),
    ("Im Jahr 2026 36 Plätze", COUNT, True),
    ("Seit 2025 123 Plätze", number(123), True),
    ("Es sind 1\u202f234.", MANY, True),
]


@pytest.mark.parametrize(("prose", "expected", "there"), PROSE, ids=[p[0] for p in PROSE])
def test_the_value_in_prose(prose: str, expected: dict[str, Any], there: bool) -> None:
    assert in_prose(prose, expected) is there


# --- mutations -----------------------------------------------------------------------------------------------------


def spellings(value: int | float, decimals: int) -> list[Any]:
    """How a German may write a number."""
    plain = f"{abs(value):.{decimals}f}"
    whole, _, rest = plain.partition(".")
    sign = "-" if value < 0 else ""
    found: list[Any] = [value, sign + plain.replace(".", ",")]
    for mark in (".", " ", "\u202f", "\u2009", "\u00a0", "'", "’"):
        grouped = f"{int(whole):,}".replace(",", mark)
        found += [f"{s}{grouped}{',' + rest if rest else ''}" for s in ((sign, "−", "–") if sign else ("",))]
    return found + [f"ca. {found[1]}", f"{found[1]}."]


UNITS = {
    "kW": "kWh",
    "MWh": "MW",
    "m": "km",
    "km": "m",
    "min": "s",
    "h": "min",
    "Tage": "h",
    "%": "‰",
    "°C": "K",
    "K": "%",
    "µg/m³": "mg/m³",
    "cm": "m",
    "€": "ct",
    "EUR/MWh": "€",
    "km²": "ha",
    "ha": "km²",
    "Einwohner/km²": "km²",
}


def test_every_number_has_its_spellings_and_no_neighbours() -> None:
    draw = random.Random(7)
    for _ in range(400):
        decimals = draw.choice((0, 0, 1, 2))
        value = round(draw.choice((1, 1, -1)) * 10 ** draw.uniform(0.4, 6), decimals)
        value = int(value) if decimals == 0 else value
        unit = draw.choice((None, *UNITS))
        tolerance = draw.choice((0, 0.51 * 10**-decimals))
        expected = number(value, unit, tolerance)
        for spelled in spellings(value, decimals):
            assert judge(Final(spelled, unit), expected).match, (spelled, expected)
            assert judge(Final(spelled), expected).match, (spelled, expected)
            assert (
                unit is None
                or isinstance(spelled, (int, float))
                or judge(Final(f"{spelled.strip('.')} {unit}"), expected).match
            )
            if len(numbers_of(spelled)) == 1:  # "75.231" has two readings, and 75.231 km are 75231 m
                assert not judge(Final(spelled, UNITS.get(unit or "", "km")), expected).match, (spelled, expected)
        step = 2 * tolerance or 10**-decimals
        for other in (value + step, value - step, -value, value * 1000, value / 1000):
            other = round(other, 6)
            assert not judge(Final(other), expected).match, (other, expected)
            assert not judge(Final(f"{other:.6f}".replace(".", ",")), expected).match, (other, expected)
        assert not judge(Final(None, reason="keine_daten"), expected).match


def test_every_time_and_date_has_no_neighbours() -> None:
    for minute in range(0, 1440, 7):
        expected = {"type": "time", "value": f"{minute // 60:02d}:{minute % 60:02d}"}
        for other in range(0, 1440, 11):
            clock = f"{other // 60}:{other % 60:02d}"
            assert judge(Final(clock), expected).match is (minute == other)
            assert judge(Final(clock.replace(":", ".") + " Uhr"), expected).match is (minute == other)
    for day in range(1, 29):
        for other in range(1, 29):
            expected = {"type": "date", "value": f"2026-02-{day:02d}"}
            assert judge(Final(f"{other}.2.2026"), expected).match is (day == other)
            assert judge(Final(f"{other}. Februar 2026"), expected).match is (day == other)


def test_every_station_is_itself_only() -> None:
    stations = [
        "Köln Hbf",
        "Köln Messe/Deutz",
        "Köln-Mülheim",
        "Köln-Ehrenfeld",
        "Bonn Hbf",
        "Bonn-Beuel",
        "Bonn-Bad Godesberg",
        "Halle (Saale) Hbf",
        "Frankfurt (Main) Hbf",
        "Frankfurt (Main) Süd",
        "Gleis 1",
        "Gleis 11",
        "P+R Süd",
    ]
    for gold in stations:
        for other in stations:
            for spelled in (
                other,
                other.upper(),
                other.replace("-", " "),
                other.replace("ü", "ue").replace("ö", "oe"),
                f"„{other}“",
                other + ".",
                other.replace("Hbf", "Hauptbahnhof"),
            ):
                assert judge(Final(spelled), text(gold)).match is (gold == other), (spelled, gold)
            for wrong in (other + " Nord", other.split(" ")[0] + "x", "x" + other, other[:-1]):
                assert not judge(Final(wrong), text(gold)).match or wrong in stations, (wrong, gold)


def test_every_set_needs_each_entry_and_no_more() -> None:
    draw = random.Random(11)
    pool = ["Köln", "Bonn", "Aachen", "Buß- und Bettag", "Halle (Saale)", "RB 35", "1", "Tag der Deutschen Einheit"]
    for _ in range(300):
        gold, actual = draw.sample(pool, draw.randint(1, 5)), draw.sample(pool, draw.randint(1, 5))
        same = set(gold) == set(actual)
        assert judge(Final(actual), names(*gold)).match is same
        for mark in (", ", "; ", "\n", " und "):
            assert judge(Final(mark.join(actual)), names(*gold)).match is same, (actual, gold)


# --- hostile input -------------------------------------------------------------------------------------------------

SIZE, LIMIT_S = 100_000, 3.0  # seconds for some forty readings; quadratic ones take minutes
REPEATED = [
    "9",
    "1.234.",
    "1 ",
    " ",
    "-",
    "1,",
    "'",
    "’",
    "“",
    "„a“:",
    "{",
    '{"',
    '{"antwort":',
    "{'antwort':",
    "[",
    "[ {",
    '{"antwort": 36} ',
    '{"antwort": "',
    "{“antwort”: ",
    "```",
    "und ",
    "und",
    ", ",
    "Gleis ",
    "Gleis",
    "Hbf ",
    "a",
    "ä",
    "ẞ",
    "o\u0308",
    "(",
    "()",
    "/",
    "pro ",
    "ca. ",
    "10:04 ",
    "10:",
    "3. ",
    "2026-",
    "3. Oktober 2026 ",
    "\0",
    "\ud800",
    "\u202e",
    "zwölf ",
    "%",
    "Mio. ",
    "1\u202f",
    "<think>",
    "</think>",
    '\\"',
    "1-",
    "null",
    "‘a’ :",
    "’ ",
]
ALL = [HALF, COUNT, KW, TIME, DAY, CITY, GLEIS, CITIES, names("Buß- und Bettag", "1", drop=["Gleis"]), NONE, UNCOVERED]


@pytest.mark.parametrize("repeated", REPEATED, ids=[repr(r) for r in REPEATED])
def test_repetition_costs_linear_time(repeated: str) -> None:
    hostile = repeated * (SIZE // len(repeated))
    start = time.process_time()
    read_final(hostile)
    read_final('{"antwort": 1} ' + hostile)
    for expected in ALL:
        for value in (hostile, [hostile], hostile.split(" ")):
            judged = judge(Final(value, hostile, hostile, (hostile,)), expected)
            assert not judged.match and len(judged.why) < 1000
        in_prose(hostile, expected)
    numbers_of(hostile)
    assert time.process_time() - start < LIMIT_S


PIECES = [
    "1",
    "234",
    ".",
    ",",
    " ",
    "-",
    "−",
    "kW",
    "%",
    "Gleis",
    "10:04",
    "Uhr",
    "3.",
    "Oktober",
    "2026",
    "null",
    "zwölf",
    "ſ",
    "İ",
    "ı",
    "\u212a",
    "²",
    "½",
    "\ud83d",
    "\x00",
    "٣",
    "Ⅳ",
    "ca.",
    "Mio.",
    "pro",
    "je",
    "/",
    "(",
    ")",
    "'",
    "’",
    "„",
    "und",
    "Köln",
    "ß",
    "\u0308",
    "\u200b",
    "€",
    "T",
    "Z",
    "+02:00",
    "minus",
    "ein",
    "{",
    "}",
    '"',
    ":",
    "[",
    "]",
    "antwort",
    "1e5",
    "Infinity",
    "NaN",
    "true",
    "None",
    "\\",
    "\\ud800",
    "```",
]


def junk(draw: random.Random, depth: int = 0) -> Any:
    kind = draw.randrange(12 if depth < 4 else 9)
    if kind < 4:
        return "".join(draw.choice(PIECES) for _ in range(draw.randint(0, 8)))
    if kind < 9:
        return draw.choice(
            (
                None,
                True,
                False,
                0,
                -1,
                36,
                36.0,
                10**400,
                -(10**5000),
                1e308,
                5e-324,
                float("nan"),
                float("inf"),
                -float("inf"),
                "9" * 5000,
                "",
                "null",
                b"x",
                -0.0,
            )
        )
    if kind < 11:
        return [junk(draw, depth + 1) for _ in range(draw.randint(0, 3))]
    return {draw.choice(PIECES): junk(draw, depth + 1) for _ in range(draw.randint(0, 3))}


def test_junk_gets_a_verdict() -> None:
    draw = random.Random(4711)
    for _ in range(8_000):
        keys = ("antwort", "einheit", "grund", "alternative", "quelle", "x")
        final = Final.from_json({key: junk(draw) for key in draw.sample(keys, draw.randint(0, 5))})
        for expected in (
            draw.choice(ALL),
            number(draw.choice((36, -3.5, 1e308, 10**30)), draw.choice((None, "kW", "%", "x"))),
        ):
            judged = judge(final, expected)
            assert isinstance(judged.match, bool) and judged.why
            judged.why.encode("utf-8")
        assert all(isinstance(n, float) for n in numbers_of(final.value))


def test_junk_text_is_read_or_not() -> None:
    draw = random.Random(815)
    for _ in range(8_000):
        reply = "".join(
            draw.choice([*PIECES, '{"antwort": ', "}", '"'] if draw.random() < 0.9 else ['{"antwort": 36}'])
            for _ in range(draw.randint(0, 30))
        )
        final = read_final(reply)
        assert final is None or judge(final, draw.choice(ALL)).why
        in_prose(reply, draw.choice(ALL))


def test_deep_values_get_a_verdict() -> None:
    deep: Any = 36
    for _ in range(100_000):
        deep = [deep]
    for expected in ALL:
        assert not judge(Final(deep, None, None, ()), expected).match
    while isinstance(deep, list):  # taken apart here, as freeing it at once is deep, too
        deep = deep.pop()
