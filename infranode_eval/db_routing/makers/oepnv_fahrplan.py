"""Rows of the timetable of a town's trams, light rail and buses, in force at the end of 2025: what is planned."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from infranode_eval.db_routing.draw import Draw, Made, Row, clock, minutes_of, names

_WORKDAY, _SATURDAY, _SUNDAY = "Montag bis Freitag", "Samstag", "Sonntag"
_CHANGES = {"2024-12-15": 11, "2025-06-15": 3, "2025-12-14": 5}     # days on which a timetable came into force
_SCHOOL, _SCHOOL_ENDS, _SITE_ENDS = "2025-08-27", "2026-07-17", "2026-03-28"
# Line → its length in kilometres and its stops, each with the minutes to the next one.
_ROUTES: dict[str, tuple[float, str]] = {
    "1": (14.2, "Kirchfeld Dorf 4 Sportzentrum 9 Westring 7 Marktplatz 3 Rathaus 4 Hauptbahnhof 9 Ostbad 7 Messe"),
    "2": (11.8, "Nordfriedhof 5 Brunnenstraße 8 Stadttheater 4 Rathaus 8 Südbahnhof 5 Volkspark 6 Klinikum"),
    "4": (12.9, "Stadion 5 Kleingärten 7 Westring 9 Rathaus 4 Hauptbahnhof 9 Gaswerk 6 Messe"),
    "7": (10.4, "Technische Hochschule 4 Am Wasserturm 10 Hauptbahnhof 4 Marktplatz 6 Südbahnhof 9 Lindenau Mitte"),
    "U3": (13.6, "Europaplatz 3 Neustadt Kirche 8 Hauptbahnhof 3 Stadttheater 7 Volkspark 8 Alte Mühle"),
    "U5": (17.3, "Fähranleger 4 Speicherstraße 4 Hafenbecken 9 Hauptbahnhof 8 Klinikum 12 Bergheide"),
    "21": (9.7, "Auenwald 4 Forsthaus 11 Ostbad 5 Gaswerk 7 Hauptbahnhof"),
    "24": (8.8, "Gewerbepark 4 Europaplatz 7 Nordfriedhof 4 Technische Hochschule 9 Rathaus"),
    "33": (12.1, "Sternwarte 3 Talblick 5 Bergheide 16 Südbahnhof 8 Rathaus"),
    "38": (7.6, "Mühlberg Schule 4 Alte Mühle 8 Volkspark 4 Gartenweg 5 Klinikum"),
    "42": (10.9, "Lindenau Mitte 7 Klinikum 11 Westring 5 Stadion 8 Kirchfeld Dorf"),
    "57": (9.2, "Hafenbecken 8 Am Wasserturm 4 Brunnenstraße 8 Neustadt Kirche 6 Gewerbepark"),
    "N1": (15.4, "Hauptbahnhof 4 Marktplatz 10 Westring 13 Sportzentrum 6 Kirchfeld Dorf"),
    "N2": (16.8, "Hauptbahnhof 10 Klinikum 9 Lindenau Mitte 12 Mühlberg Schule 8 Auenwald"),
}
_ZONES = {"Lindenau": 2, "Mühlberg": 2, "Neustadt": 2, "Kirchfeld": 2, "Auenwald": 3, "Bergheide": 3}
_LIFTS = ("Hauptbahnhof", "Rathaus", "Südbahnhof", "Messe", "Technische Hochschule")
_RACKS = {"Radbügel": 7, "Vorderradhalter": 3, "Fahrradbox": 2}
_ENTRIES: dict[str, dict[str, float]] = {
    "Straßenbahn": {"ebenerdig": 7, "Stufen": 3}, "Stadtbahn": {"ebenerdig": 9, "Stufen": 1},
    "Bus": {"ebenerdig": 4, "Klapprampe": 5, "Stufen": 1}}
# Class of line → its intervals: day, from, to, minutes.
_CLASS = {"1": "strong", "U3": "strong", "2": "plain", "4": "plain", "U5": "plain", "7": "weak", "38": "bus",
          "42": "bus", "24": "work", "57": "work", "21": "leisure", "33": "leisure", "N1": "night", "N2": "night"}
_SCHOOL_LINES = ("33", "38", "42")
_INTERVALS: dict[str, tuple[tuple[str, str, str, int], ...]] = {
    "strong": ((_WORKDAY, "05:00", "06:00", 30), (_WORKDAY, "06:00", "09:00", 20), (_WORKDAY, "09:00", "15:00", 60),
               (_WORKDAY, "15:00", "18:00", 30), (_WORKDAY, "18:00", "23:00", 60), (_SATURDAY, "06:00", "20:00", 60),
               (_SATURDAY, "20:00", "23:00", 90), (_SUNDAY, "08:00", "20:00", 90)),
    "plain": ((_WORKDAY, "05:00", "06:00", 60), (_WORKDAY, "06:00", "09:00", 30), (_WORKDAY, "09:00", "15:00", 60),
              (_WORKDAY, "15:00", "18:00", 30), (_WORKDAY, "18:00", "22:00", 60), (_SATURDAY, "07:00", "20:00", 90),
              (_SUNDAY, "08:00", "20:00", 120)),
    "weak": ((_WORKDAY, "05:30", "19:30", 60), (_SATURDAY, "08:00", "18:00", 90), (_SUNDAY, "10:00", "18:00", 120)),
    "bus": ((_WORKDAY, "06:00", "09:00", 40), (_WORKDAY, "09:00", "20:00", 60), (_SATURDAY, "07:30", "19:30", 90),
            (_SUNDAY, "09:00", "19:00", 120)),
    "work": ((_WORKDAY, "05:30", "08:30", 45), (_WORKDAY, "08:30", "18:30", 60), (_SATURDAY, "08:00", "14:00", 120)),
    "leisure": ((_WORKDAY, "06:30", "18:30", 90), (_SATURDAY, "08:00", "20:00", 90), (_SUNDAY, "09:00", "19:00", 60)),
    "night": ((_SATURDAY, "00:30", "04:30", 60), (_SUNDAY, "00:30", "05:30", 60)),
}


def linien_stamm(draw: Draw, made: Made) -> Iterator[Row]:
    for number, (name, vehicle) in enumerate(names("lines"), 1):
        yield {
            "id": number,
            "linien_name": name,
            "verkehrs_mittel": vehicle,
            "weg_laenge_km": _ROUTES[name][0],
            "netz_art": "Nachtverkehr" if name.startswith("N") else "Tagesverkehr",
            "gilt_ab": draw.weighted({"2019-12-15": 3, "2022-12-11": 4, "2024-12-15": 3, "2025-12-14": 2}),
        }


def halt_stamm(draw: Draw, made: Made) -> Iterator[Row]:
    for number, (name, district) in enumerate(names("stops"), 1):
        places = draw.skewed((0, 4, 8, 12, 0, 16, 20, 24, 6, 36, 10, 48)) + (60 if name == "Hauptbahnhof" else 0)
        yield {
            "id": number,
            "halt_name": name,
            "stadtteil_name": district,
            "tarif_zone": _ZONES.get(district, 1),
            "zugang_art": "Aufzug" if name in _LIFTS else draw.weighted({"ebenerdig": 6, "Rampe": 3, "Treppe": 4}),
            "rad_plaetze": places,
            "rad_bauart": draw.weighted(_RACKS) if places else None,
        }


def _stops(line: str) -> tuple[list[str], list[int]]:
    """The stops of a line, and the minutes from each to the next."""
    parts = re.split(r" (\d+) ", _ROUTES[line][1])
    return parts[::2], [int(minutes) for minutes in parts[1::2]]


def _way(line: str, *, back: bool = False) -> list[tuple[str, int, float]]:
    """Stops of a line with minutes and kilometres since the first one."""
    order, minutes = _stops(line)
    if back:
        order, minutes = order[::-1], minutes[::-1]
    length, whole = _ROUTES[line][0], sum(minutes)
    way, passed = [(order[0], 0, 0.0)], 0
    for name, minute in zip(order[1:], minutes, strict=True):
        passed += minute
        way.append((name, passed, round(passed * length / whole, 1)))
    return way


def _both_ways(line: Row) -> Iterator[tuple[str, list[tuple[str, int, float]]]]:
    """Both directions of a line: the terminus and the way to it."""
    for back in (False, True):
        way = _way(line["linien_name"], back=back)
        yield way[-1][0], way


def _numbers(made: Made) -> dict[str, int]:
    return {stop["halt_name"]: stop["id"] for stop in made["halt_stamm"]}


def weg_halt(draw: Draw, made: Made) -> Iterator[Row]:
    stops, number = _numbers(made), 0
    for line in made["linien_stamm"]:
        for terminus, way in _both_ways(line):
            for place, (name, minutes, kilometres) in enumerate(way, 1):
                number += 1
                yield {
                    "id": number,
                    "linie_nr": line["id"],
                    "halt_nr": stops[name],
                    "richtung_name": terminus,
                    "folge_nr": place,
                    "km_ab_start": kilometres,
                    "min_ab_start": minutes,
                }


def takt_vorgabe(draw: Draw, made: Made) -> Iterator[Row]:
    number = 0
    for line in made["linien_stamm"]:
        for day, first, last, minutes in _INTERVALS[_CLASS[line["linien_name"]]]:
            number += 1
            yield {
                "id": number,
                "linie_nr": line["id"],
                "verkehrs_tag": day,
                "von_zeit": first,
                "bis_zeit": last,
                "takt_min": minutes,
                "gilt_ab": max(draw.weighted(_CHANGES), line["gilt_ab"]),
            }


def fahrt_plan(draw: Draw, made: Made) -> Iterator[Row]:
    stops, number = _numbers(made), 0
    lines = {line["id"]: line for line in made["linien_stamm"]}
    for interval in made["takt_vorgabe"]:
        line = lines[interval["linie_nr"]]
        for terminus, way in _both_ways(line):
            for start, kind in _starts(draw, interval, line["linien_name"]):
                number += 1
                is_extra = kind in ("Verstärker", "Schulfahrt")
                yield {
                    "id": number,
                    "linie_nr": line["id"],
                    "start_halt_nr": stops[way[0][0]],
                    "richtung_name": terminus,
                    "verkehrs_tag": interval["verkehrs_tag"],
                    "start_zeit": clock(start),
                    "dauer_min": way[-1][1] + (draw.between(1, 3) if 420 <= start < 540 else 0),
                    "fahrt_art": kind,
                    "einstieg_art": draw.weighted(_ENTRIES[line["verkehrs_mittel"]]),
                    "gilt_ab": max(_SCHOOL, interval["gilt_ab"]) if is_extra else interval["gilt_ab"],
                    "gilt_bis": _end(draw, kind, line["linien_name"]),
                }


def _starts(draw: Draw, interval: Row, line: str) -> Iterator[tuple[int, str]]:
    """Minutes since midnight at which one direction starts, with the kind of each run; extra runs come last."""
    first, last, step = minutes_of(interval["von_zeit"]), minutes_of(interval["bis_zeit"]), interval["takt_min"]
    shift = draw.between(0, min(step, 30) - 1)
    for start in range(first + shift, last, step):
        is_quiet = start >= 1050 or interval["verkehrs_tag"] == _SUNDAY
        is_called = is_quiet and _CLASS[line] in ("work", "leisure", "bus") and draw.chance(0.45)
        yield start, "Rufbus" if is_called else "Regelfahrt"
    if interval["verkehrs_tag"] == _WORKDAY and first <= 450 < last:
        if _CLASS[line] == "strong":
            yield from ((draw.between(425, 490), "Verstärker") for _ in range(draw.between(1, 3)))
        if line in _SCHOOL_LINES:
            yield draw.between(425, 460), "Schulfahrt"


def _end(draw: Draw, kind: str, line: str) -> str | None:
    """The last day on which a run is in force; None: until further notice."""
    if kind in ("Verstärker", "Schulfahrt"):
        return _SCHOOL_ENDS
    return draw.maybe(0.5, _SITE_ENDS) if line in ("38", "2") else None


def abfahrt_zeit(draw: Draw, made: Made) -> Iterator[Row]:
    """Departures of every run at every stop but the last one; a run that takes longer loses its time on the way."""
    stops, number = _numbers(made), 0
    lines = {line["id"]: line for line in made["linien_stamm"]}
    platforms: dict[tuple[Any, ...], int] = {}
    for run in made["fahrt_plan"]:
        way = next(way for terminus, way in _both_ways(lines[run["linie_nr"]]) if terminus == run["richtung_name"])
        late = run["dauer_min"] - way[-1][1]
        for place, ((name, minutes, _), _) in enumerate(pairwise(way)):
            number += 1
            key = (run["linie_nr"], run["richtung_name"], name)
            most = 8 if name == "Hauptbahnhof" else 4
            if key not in platforms:
                platforms[key] = draw.between(1, most)
            yield {
                "id": number,
                "fahrt_nr": run["id"],
                "halt_nr": stops[name],
                "steig_nr": platforms[key],
                "abfahrt_um": clock(minutes_of(run["start_zeit"]) + minutes + min(place // 2, late)),
            }


def umstieg_weg(draw: Draw, made: Made) -> Iterator[Row]:
    number = 0
    vehicles = {line["linien_name"]: line["verkehrs_mittel"] for line in made["linien_stamm"]}
    for stop in made["halt_stamm"]:
        here = [line for line in made["linien_stamm"] if stop["halt_name"] in _stops(line["linien_name"])[0]]
        for line in here:
            for other in here:
                if other["id"] == line["id"]:
                    continue
                number += 1
                is_rail = "Stadtbahn" in (line["verkehrs_mittel"], vehicles[other["linien_name"]])
                access = {"ebenerdig": 5, "Aufzug": 6 if stop["zugang_art"] == "Aufzug" and is_rail else 0,
                          "Rampe": 2, "Treppe": 3 if is_rail else 1}
                walk = draw.between(1, 3) + (draw.between(1, 5) if is_rail else 0)
                yield {
                    "id": number,
                    "halt_nr": stop["id"],
                    "linie_nr": line["id"],
                    "nach_linie": other["linien_name"],
                    "fussweg_min": walk,
                    "wege_art": draw.weighted(access),
                    "warte_min": draw.maybe(0.35, draw.between(2, 7)),
                }
