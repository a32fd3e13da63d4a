"""Rows of what happened on the lines of a city's buses and trams in 2024 and 2025: rides, stops, faults, workshop."""

from __future__ import annotations

from collections.abc import Iterator

from infranode_eval.db_routing.draw import Draw, Made, Row, clock, later, minutes_of, names, until, weekday

FIRST, LAST = "2024-01-01", "2025-12-31"
_WEEKDAYS = ("Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag", "Sonntag")
_ROUTES = {
    "1": ("Kirchfeld Dorf", "Sportzentrum", "Westring", "Marktplatz", "Rathaus", "Hauptbahnhof", "Ostbad", "Messe"),
    "2": ("Nordfriedhof", "Brunnenstraße", "Stadttheater", "Rathaus", "Südbahnhof", "Volkspark", "Klinikum"),
    "4": ("Stadion", "Kleingärten", "Westring", "Rathaus", "Hauptbahnhof", "Gaswerk", "Messe"),
    "7": ("Technische Hochschule", "Am Wasserturm", "Hauptbahnhof", "Marktplatz", "Südbahnhof", "Lindenau Mitte"),
    "U3": ("Europaplatz", "Neustadt Kirche", "Hauptbahnhof", "Stadttheater", "Volkspark", "Alte Mühle"),
    "U5": ("Fähranleger", "Speicherstraße", "Hafenbecken", "Hauptbahnhof", "Klinikum", "Bergheide"),
    "21": ("Auenwald", "Forsthaus", "Ostbad", "Gaswerk", "Hauptbahnhof"),
    "24": ("Gewerbepark", "Europaplatz", "Nordfriedhof", "Technische Hochschule", "Rathaus"),
    "33": ("Sternwarte", "Talblick", "Bergheide", "Südbahnhof", "Rathaus"),
    "38": ("Mühlberg Schule", "Alte Mühle", "Volkspark", "Gartenweg", "Klinikum"),
    "42": ("Lindenau Mitte", "Klinikum", "Westring", "Stadion", "Kirchfeld Dorf"),
    "57": ("Hafenbecken", "Am Wasserturm", "Brunnenstraße", "Neustadt Kirche", "Gewerbepark"),
    "N1": ("Hauptbahnhof", "Marktplatz", "Westring", "Sportzentrum", "Kirchfeld Dorf"),
    "N2": ("Hauptbahnhof", "Klinikum", "Lindenau Mitte", "Mühlberg Schule", "Auenwald"),
}
_BUSY = {"1": 15, "4": 13, "U3": 12, "2": 10, "U5": 9, "7": 9, "33": 7, "42": 6, "21": 5, "57": 4.5, "24": 4, "38": 3.5,
         "N1": 2, "N2": 1.4}
_LATE = {"1": 1.2, "2": 1.0, "4": 1.6, "7": 0.9, "U3": 0.5, "U5": 0.7, "21": 1.3, "24": 1.1, "33": 2.0, "38": 1.4,
         "42": 1.8, "57": 1.0, "N1": 0.4, "N2": 0.6}
_LENGTH_KM = {"1": 14.2, "2": 11.8, "4": 12.9, "7": 10.4, "U3": 13.6, "U5": 17.3, "21": 9.7, "24": 8.8, "33": 12.1,
              "38": 7.6, "42": 10.9, "57": 9.2, "N1": 15.4, "N2": 16.8}
_KM_AN_HOUR = {"Straßenbahn": 19, "Stadtbahn": 28, "Bus": 22}
_DAYS = {0: 1.0, 1: 0.9, 2: 0.95, 3: 1.0, 4: 1.1, 5: 0.75, 6: 0.5}          # rides of a weekday against Monday
_HOURS = {5: 3, 6: 6, 7: 11, 8: 9, 9: 5, 10: 4, 11: 4, 12: 5, 13: 6, 14: 6, 15: 8, 16: 10, 17: 11, 18: 8, 19: 5, 20: 4,
          21: 3, 22: 2}
_TILL_NIGHT, _NO_SUNDAY = ("1", "2", "4", "U3", "U5"), ("24", "57")
_FULL = {7: 34, 8: 24, 12: 6, 13: 10, 16: 20, 17: 30, 18: 14}               # points of load that an hour adds
_CANCELLED = {"Straßenbahn": 0.055, "Stadtbahn": 0.035, "Bus": 0.095}
_WHY_CANCELLED = {"Personalmangel": 34, "Fahrzeugschaden": 22, "Unfall": 13, "Baustelle": 9, "Witterung": 8,
                  "Falschparker": 8, "Demonstration": 4}
_BUILDS = {"Straßenbahn": {"Niederflur": 5, "Hochflur": 2}, "Stadtbahn": {"Hochflur": 5, "Niederflur": 2},
           "Bus": {"Gelenkwagen": 5, "Solowagen": 4, "Kleinbus": 1.5}}
_FAULTS = {"Weiche": 13, "Signal": 9, "Oberleitung": 8, "Tür": 19, "Bremse": 9, "Klimaanlage": 8, "Antrieb": 7,
           "Anzeige": 15, "Fahrkartenautomat": 12}
_OF_TRACK, _OF_STOP = ("Weiche", "Signal", "Oberleitung"), ("Anzeige", "Fahrkartenautomat")
_CAUSES = {"Verschleiß": 36, "Witterung": 20, "Vandalismus": 12, "Unfall": 7, "Bedienfehler": 5}
_REPAIR_MIN = {"Weiche": 55, "Signal": 45, "Oberleitung": 130, "Tür": 14, "Bremse": 35, "Klimaanlage": 20,
               "Antrieb": 70, "Anzeige": 95, "Fahrkartenautomat": 160}
_WORKS = {"Inspektion": 30, "Reparatur": 26, "Bremsen": 12, "Reifen": 9, "Hauptuntersuchung": 9, "Reinigung": 8,
          "Lackierung": 4}
_WORK_DAYS = {"Inspektion": 1, "Reparatur": 4, "Bremsen": 2, "Reifen": 1, "Hauptuntersuchung": 3, "Reinigung": 0,
              "Lackierung": 7}
_CROWD = {"Hauptbahnhof": 4.0, "Rathaus": 3.0, "Marktplatz": 2.4, "Klinikum": 1.8, "Südbahnhof": 1.7,
          "Technische Hochschule": 2.0, "Messe": 1.5, "Stadttheater": 1.4}


def linie_stamm(draw: Draw, made: Made) -> Iterator[Row]:
    for number, (line, means) in enumerate(names("lines"), 1):
        yield {"id": number, "linien_name": line, "verkehrs_art": means}


def halt_stamm(draw: Draw, made: Made) -> Iterator[Row]:
    for number, (stop, district) in enumerate(names("stops"), 1):
        yield {"id": number, "halt_name": stop, "stadt_teil": district}


def wagen_stamm(draw: Draw, made: Made) -> Iterator[Row]:
    number = 0
    for means, series, count in (("Straßenbahn", 1100, 24), ("Stadtbahn", 3200, 14), ("Bus", 5500, 27)):
        code = series
        for _ in range(count):
            number, code = number + 1, code + draw.between(1, 3)
            built = draw.skewed((2019, 2012, 2022, 2008, 2016, 2003, 2024, 1998))
            drive = draw.weighted({"Diesel": 6, "Hybrid": 2}) if means == "Bus" and built < 2019 else "Elektro"
            yield {
                "id": number,
                "wagen_code": str(code),
                "einsatz_art": means,
                "bau_art": draw.weighted(_BUILDS[means]),
                "bau_jahr": max(built, 2006) if means == "Bus" else built,
                "antrieb_art": drive,
            }


def fahrt_ist(draw: Draw, made: Made) -> Iterator[Row]:
    staff = _staff(draw)
    lines = {line["linien_name"]: line for line in made["linie_stamm"]}
    for number in range(1, 2161):
        name = draw.weighted(_BUSY)
        line, day, start = lines[name], _day(draw, name), _start(draw, name)
        ride = {
            "id": number,
            "linie_nr": line["id"],
            "fahr_tag": day,
            "wochen_tag": _WEEKDAYS[weekday(day)],
            "start_zeit": start,
            "richtung_name": _terminus(draw, name, start),
        }
        if draw.chance(_CANCELLED[line["verkehrs_art"]] * (1.6 if day[5:7] in ("01", "02", "12") else 1.0)):
            yield ride | _cancelled(draw, line["verkehrs_art"])
        else:
            yield ride | _driven(draw, line, day, start, made["wagen_stamm"], staff)


def _staff(draw: Draw) -> dict[str, list[str]]:
    """Means → different people who may drive it, the busy ones first."""
    people: dict[str, None] = {}
    while len(people) < 44:
        people.setdefault(draw.person())
    known = list(people)
    return {"Bus": known[:19], "Straßenbahn": known[19:34], "Stadtbahn": known[34:]}


def _day(draw: Draw, line: str) -> str:
    """Night lines run in the nights to Saturday and Sunday only, two bus lines never on Sundays."""
    while True:
        day = draw.day(FIRST, LAST)
        weekend, sunday = weekday(day) > 4, weekday(day) == 6
        runs = weekend if line.startswith("N") else not (sunday and line in _NO_SUNDAY)
        if runs and (line.startswith("N") or draw.chance(_DAYS[weekday(day)] / 1.1)):
            return day


def _start(draw: Draw, line: str) -> str:
    if line.startswith("N"):
        return draw.clock("00:30", "04:30")
    while True:
        hour = draw.weighted(_HOURS)
        if hour < 20 or line in _TILL_NIGHT:
            return clock(hour * 60 + draw.below(60))


def _terminus(draw: Draw, line: str, start: str) -> str:
    """Where a ride goes: most routes are listed towards the centre, where people go in the morning."""
    onwards = 0.78 if line.startswith("N") else 0.6 if start < "11:00" else 0.46
    return _ROUTES[line][-1 if draw.chance(onwards) else 0]


def _cancelled(draw: Draw, means: str) -> Row:
    instead = {"Taxi": 2} if means == "Bus" else {"Ersatzbus": 5, "Taxi": 1}
    return {
        "fahrt_stand": "ausgefallen",
        "ausfall_grund": draw.weighted(_WHY_CANCELLED),
        "ersatz_art": draw.maybe(0.22 if means == "Bus" else 0.5, draw.weighted(instead)),
        "wagen_nr": None,
        "personal_name": None,
        "verspaetung_min": None,
        "auslastung_prozent": None,
        "gefahren_km": None,
        "fahr_dauer_min": None,
    }


def _driven(draw: Draw, line: Row, day: str, start: str, wagons: list[Row], staff: dict[str, list[str]]) -> Row:
    name, means, hour = line["linien_name"], line["verkehrs_art"], int(start[:2])
    rush = 1.7 if hour in (7, 8, 16, 17) and weekday(day) < 5 else 1.0
    late = _lateness(draw, _LATE[name] * rush * (1.3 if day[5:7] in ("01", "11", "12") else 1.0))
    km = _LENGTH_KM[name] if draw.chance(0.93) else round(_LENGTH_KM[name] * draw.between(4, 9) / 10, 1)
    weekend = 8 if weekday(day) > 4 else 0
    load = draw.around(38 + _FULL.get(hour, 0) + (6 if name in ("1", "U3", "33") else 0) - weekend, 12, 0)
    fit = [wagon for wagon in wagons if wagon["einsatz_art"] == means and str(wagon["bau_jahr"]) < day[:4]]
    return {
        "fahrt_stand": "gefahren",
        "ausfall_grund": None,
        "ersatz_art": None,
        "wagen_nr": draw.skewed(fit)["id"],
        "personal_name": draw.skewed(staff[means]),
        "verspaetung_min": late,
        "auslastung_prozent": min(128, max(3, int(load))),
        "gefahren_km": km,
        "fahr_dauer_min": int(km * 60 / _KM_AN_HOUR[means]) + late // 2 + draw.between(-2, 4),
    }


def _lateness(draw: Draw, weight: float) -> int:
    """Mostly a few minutes, now and then half an hour."""
    if draw.chance(0.3 / weight if weight > 0.5 else 0.6):
        return 0
    return int(weight * draw.weighted({1: 26, 2: 22, 3: 17, 4: 11, 5: 8, 7: 6, 9: 4, 12: 3, 16: 2, 22: 1}) + 0.6)


def halt_ist(draw: Draw, made: Made) -> Iterator[Row]:
    """Arrivals at the stops of rides in which people were counted."""
    number = 0
    stops = {stop["halt_name"]: stop["id"] for stop in made["halt_stamm"]}
    lines = {line["id"]: line["linien_name"] for line in made["linie_stamm"]}
    for ride in made["fahrt_ist"]:
        if ride["fahrt_stand"] == "gefahren" and draw.chance(0.22):
            route = _ROUTES[lines[ride["linie_nr"]]]
            way = route if ride["richtung_name"] == route[-1] else route[::-1]
            for place, stop in enumerate(way):
                number += 1
                crowd = _CROWD.get(stop, 1.0) * (0.3 + ride["auslastung_prozent"] / 60)
                share = place / (len(way) - 1)
                minutes = minutes_of(ride["start_zeit"]) + int(share * ride["fahr_dauer_min"])
                yield {
                    "id": number,
                    "fahrt_nr": ride["id"],
                    "halt_nr": stops[stop],
                    "ankunft_zeit": clock(minutes),
                    "verspaetung_min": max(0, int(ride["verspaetung_min"] * (0.4 + 0.6 * share)) + draw.between(-1, 2)),
                    "einstieg_anz": 0 if place == len(way) - 1 else int(crowd * draw.between(0, 9) * (1.3 - share)),
                    "ausstieg_anz": 0 if place == 0 else int(crowd * draw.between(0, 9) * (0.3 + share)),
                }


def stoerung_meld(draw: Draw, made: Made) -> Iterator[Row]:
    stops = {stop["halt_name"]: stop["id"] for stop in made["halt_stamm"]}
    lines = {line["linien_name"]: line for line in made["linie_stamm"]}
    for number in range(1, 541):
        day = draw.day(FIRST, LAST, {1: 1.7, 2: 1.3, 7: 1.3, 11: 1.2, 12: 1.6})
        kind = draw.weighted(_FAULTS)
        rails = [name for name in _BUSY if lines[name]["verkehrs_art"] != "Bus"]
        name = draw.skewed(rails if kind in _OF_TRACK else list(_BUSY))
        minutes = int(_REPAIR_MIN[kind] * draw.weighted({0.4: 5, 0.7: 7, 1.0: 6, 1.5: 3, 2.4: 1})) + draw.below(9)
        track = kind in _OF_TRACK
        yield {
            "id": number,
            "gemeldet_am": day,
            "gemeldet_zeit": clock(draw.weighted(_HOURS) * 60 + draw.below(60)),
            "wochen_tag": _WEEKDAYS[weekday(day)],
            "stoerung_art": kind,
            "ursache_art": draw.maybe(0.79, _cause(draw, kind, day)),
            "linie_nr": None if kind in _OF_STOP else lines[name]["id"],
            "halt_nr": stops[draw.skewed(_ROUTES[name])] if track or kind in _OF_STOP else None,
            "wagen_nr": None if track or kind in _OF_STOP else _wagon(draw, made, lines[name]["verkehrs_art"], day),
            "behoben_min": draw.maybe(0.94, minutes),
            "ersatz_bus_anz": draw.maybe(0.5, draw.weighted({1: 3, 2: 5, 3: 3, 4: 2, 6: 1})) if track else None,
        }


def _cause(draw: Draw, kind: str, day: str) -> str:
    """Frost and heat break what stands outdoors, in their months only."""
    while True:
        cause = draw.weighted(_CAUSES)
        if cause != "Witterung" or (day[5:7] in ("01", "02", "07", "12") and kind not in ("Tür", "Bremse")):
            return cause


def _wagon(draw: Draw, made: Made, means: str, day: str) -> int:
    fit = [w for w in made["wagen_stamm"] if w["einsatz_art"] == means and str(w["bau_jahr"]) < day[:4]]
    return draw.skewed(fit)["id"]


def wartung_lauf(draw: Draw, made: Made) -> Iterator[Row]:
    """Stays in the workshop: some after a fault of the car, most by calendar."""
    broken = [fault for fault in made["stoerung_meld"] if fault["wagen_nr"] is not None]
    for number in range(1, 331):
        fault = draw.pick(broken) if draw.chance(0.33) else None
        day = later(fault["gemeldet_am"], draw.between(0, 9)) if fault else draw.day(FIRST, LAST)
        begun = until(day, LAST) or LAST
        kind = draw.weighted({"Reparatur": 7, "Bremsen": 2, "Inspektion": 1}) if fault else draw.weighted(_WORKS)
        wagon = fault["wagen_nr"] if fault else _any_wagon(draw, made, begun)
        yield {
            "id": number,
            "wagen_nr": wagon,
            "stoerung_nr": fault["id"] if fault else None,
            "hof_name": draw.weighted({"Betriebshof Süd": 5, "Betriebshof Hafen": 3, "Betriebshof Nord": 2}),
            "wartung_art": kind,
            "begonnen_am": begun,
            "beendet_am": until(later(begun, _WORK_DAYS[kind] + draw.skewed((0, 1, 2, 4, 7, 12, 20))), LAST),
        }


def _any_wagon(draw: Draw, made: Made, day: str) -> int:
    means = draw.weighted({"Bus": 6, "Straßenbahn": 5, "Stadtbahn": 3})
    return _wagon(draw, made, means, day)
