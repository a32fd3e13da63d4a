"""Rows of a city's charging points and car parks: cards from 2022 on, charging, parking and faults of 2024 and 2025."""

from __future__ import annotations

from collections.abc import Iterator

from infranode_eval.db_routing.draw import Draw, Made, Row, clock, later, names, until, weekday

FIRST, LAST = "2024-01-01", "2025-12-31"
_WEEKDAYS = ("Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag", "Sonntag")
_PARKS = {"Parkhaus": 15, "Tiefgarage": 11, "Parkplatz": 9}
_SPACES = {"Parkhaus": (240, 760), "Tiefgarage": (110, 420), "Parkplatz": (40, 260)}
_AT_STOP = {"Altstadt": 3, "Nordstadt": 2, "Südstadt": 2, "Weststadt": 2, "Oststadt": 2}     # car parks of a district
_PLUGS = {"Typ 2": 58, "CCS": 29, "CHAdeMO": 6, "Schuko": 7}
_POWER = {"Typ 2": (22, 11, 22, 22), "CCS": (150, 50, 300, 150), "CHAdeMO": (50, 50), "Schuko": (4, 4)}
_HOME = {"Altstadt": 17, "Nordstadt": 14, "Südstadt": 13, "Weststadt": 10, "Neustadt": 9, "Oststadt": 8, "Lindenau": 7,
         "Hafen": 6, "Kirchfeld": 5, "Bergheide": 4, "Mühlberg": 4, "Auenwald": 3}
_TARIFFS = {"Basis": 52, "Partner": 9, "Pendler": 21, "Nacht": 18}
_CENTS = {"Basis": 52, "Partner": 44, "Pendler": 47, "Nacht": 49, None: 61}                 # a kilowatt-hour
_CARD_PAID = {"Lastschrift": 61, "Kreditkarte": 27, "Überweisung": 12}
_SPOT_PAID = {"Kreditkarte": 48, "Girocard": 31, "Bezahldienst": 21}
_PARK_PAID = {"Girocard": 44, "Bargeld": 29, "Kreditkarte": 17, "Bezahldienst": 10}
_REASONS = {"Verlust": 46, "Diebstahl": 15, "Missbrauch": 8, "Zahlungsverzug": 31}
_HOURS = {0: 1, 5: 1, 6: 3, 7: 7, 8: 9, 9: 8, 10: 7, 11: 6, 12: 7, 13: 6, 14: 6, 15: 7, 16: 9, 17: 11, 18: 10, 19: 7,
          20: 5, 21: 4, 22: 3, 23: 2}
_DAYS = (1.0, 0.95, 0.98, 1.08, 1.25, 1.4, 0.7)                                            # against Monday
_BUSY = {8: 14, 9: 12, 12: 9, 16: 14, 17: 22, 18: 18, 0: -28, 5: -26, 6: -18, 22: -14, 23: -22}
_BROKEN_OFF = {"Stecker": 4, "Überhitzung": 3, "Netzausfall": 2, "Datenverbindung": 5}
_OFFENCES = {"ohne Parkschein": 51, "Ladeplatz blockiert": 22, "Behindertenplatz": 15, "Rettungsweg": 12,
             "zwei Plätze": 6}
_FINES = {"ohne Parkschein": (20, 30), "Ladeplatz blockiert": (55,), "Behindertenplatz": (55,), "Rettungsweg": (60, 75),
          "zwei Plätze": (15,)}
_OF_POST = {"Stecker": 29, "Kartenleser": 24, "Anzeige": 20, "Netzausfall": 8, "Datenverbindung": 19}
_OF_PARK = {"Schranke": 33, "Aufzug": 27, "Kassenautomat": 24, "Anzeige": 10, "Beleuchtung": 6}
_WORKS = {"Reparatur": 47, "Austausch": 20, "Neustart": 21, "Inspektion": 12}
_WORK_EUR = {"Reparatur": (90, 620), "Austausch": (340, 2900), "Neustart": (25, 70), "Inspektion": (110, 240)}
_HELPERS = ("Elektro Hansen GmbH", "Metallbau Schweißperle", "Heizungsbau Wärmstens", "Reinigung Spiegelblank",
            "Veranstaltungstechnik Vorhang")


def park_stamm(draw: Draw, made: Made) -> Iterator[Row]:
    number = 0
    found: dict[str, int] = {}
    for stop, district in names("stops"):
        found[district] = found.get(district, 0) + 1
        if found[district] <= _AT_STOP.get(district, 2) + 1:
            number += 1
            kind = draw.weighted(_PARKS)
            low, high = _SPACES[kind]
            spaces = draw.between(low, high)
            open_air = kind == "Parkplatz"
            always = open_air or draw.chance(0.4)
            yield {
                "id": number,
                "anlage_name": f"{kind} {stop}",
                "anlage_art": kind,
                "stadt_teil": district,
                "halt_name": stop,
                "stell_plaetze": spaces,
                "frauen_plaetze": 0 if open_air else spaces * draw.between(2, 9) // 100,
                "rad_plaetze": draw.weighted({0: 6, 12: 5, 24: 6, 36: 3, 60: 2}) + draw.below(7) * 2,
                "aufzug_jn": "nein" if open_air or draw.chance(0.34) else "ja",
                "schliesst_um": None if always else draw.weighted({"21:00": 2, "22:00": 4, "23:00": 5}),
                "einfahrt_hoehe_m": 3.5 if open_air else draw.weighted({1.9: 3, 2.0: 6, 2.1: 5, 2.3: 1}),
            }


def saeule_stamm(draw: Draw, made: Made) -> Iterator[Row]:
    for number in range(1, 97):
        stop, district = draw.skewed(names("stops"), 1 if draw.chance(0.45) else 2)
        plug = draw.weighted(_PLUGS)
        power = draw.skewed(_POWER[plug])
        yield {
            "id": number,
            "saeule_code": f"L-{district[:2].upper()}-{100 + number}",
            "stadt_teil": district,
            "halt_name": stop,
            "stecker_art": plug,
            "leistung_kw": power,
            "in_betrieb_seit": draw.day("2021-03-01" if power > 100 else "2017-05-01", "2023-12-15"),
            "stufenlos_jn": "ja" if draw.chance(0.58) else "nein",
            "rad_buegel_anz": draw.weighted({0: 10, 2: 3, 4: 5, 6: 3, 10: 1}),
        }


def karten_stamm(draw: Draw, made: Made) -> Iterator[Row]:
    for number in range(1, 431):
        issued = draw.day("2022-01-10", "2025-10-31")
        home = draw.maybe(0.88, draw.weighted(_HOME))
        shut = until(later(issued, draw.between(25, 900)), LAST) if draw.chance(0.24) else None
        pass_from = later(issued, draw.between(0, 60)) if home and draw.chance(0.31) else None
        yield {
            "id": number,
            "inhaber_name": draw.person(),
            "ausgestellt_am": issued,
            "stadt_teil": home,
            "tarif_name": draw.weighted(_TARIFFS),
            "zahl_weg": draw.weighted(_CARD_PAID),
            "gesperrt_am": shut,
            "sperr_grund": None if shut is None else draw.weighted(_REASONS),
            "ausweis_seit": pass_from,
            "ausweis_bis": None if pass_from is None else later(pass_from, 365 * draw.weighted({1: 5, 2: 4})),
        }


def lade_vorgang(draw: Draw, made: Made) -> Iterator[Row]:
    """Charges in order of time; who has no card pays on the spot."""
    posts, cards = _shuffled(draw, made["saeule_stamm"]), _shuffled(draw, made["karten_stamm"])
    found = []
    while len(found) < 1510:
        post, day, card = draw.skewed(posts), _day(draw), draw.skewed(cards)
        if draw.chance(0.26):
            found.append(_charged(draw, post, None, day))
        elif card["ausgestellt_am"] < day <= (card["gesperrt_am"] or LAST):
            found.append(_charged(draw, post, card, day))
    found.sort(key=lambda row: (row["geladen_am"], row["start_zeit"], row["saeule_nr"]))
    for number, row in enumerate(found, 1):
        yield {"id": number, **row}


def _shuffled(draw: Draw, rows: list[Row]) -> list[Row]:
    left = list(rows)
    return [left.pop(draw.below(len(left))) for _ in rows]


def _day(draw: Draw) -> str:
    """More in the second year, on Fridays and Saturdays."""
    while True:
        day = draw.day(FIRST, LAST, {1: 1.2, 2: 1.1, 7: 0.85, 8: 0.8, 12: 1.3})
        if draw.chance(_DAYS[weekday(day)] / 1.4) and (day[:4] == "2025" or draw.chance(0.7)):
            return day


def _charged(draw: Draw, post: Row, card: Row | None, day: str) -> Row:
    tariff = card["tarif_name"] if card else None
    hour = 22 + draw.below(2) if tariff == "Nacht" and draw.chance(0.55) else draw.weighted(_HOURS)
    broken = draw.maybe(0.075, draw.weighted(_BROKEN_OFF))
    energy = draw.between(60, 620) / 10 if post["leistung_kw"] > 11 else draw.between(30, 260) / 10
    minutes = 6 + int(energy * 60 / min(post["leistung_kw"], 120)) + draw.below(90 if post["leistung_kw"] < 40 else 12)
    if broken:
        energy, minutes = round(energy * draw.between(3, 40) / 100, 1), max(2, minutes * draw.between(3, 40) // 100)
    return {
        "saeule_nr": post["id"],
        "karten_nr": card["id"] if card else None,
        "geladen_am": day,
        "start_zeit": clock(hour * 60 + draw.below(60)),
        "wochen_tag": _WEEKDAYS[weekday(day)],
        "lade_dauer_min": minutes,
        "energie_kwh": energy,
        "betrag_eur": round(energy * (_CENTS[tariff] + (9 if post["leistung_kw"] > 40 else 0)) / 100, 2),
        "zahl_weg": card["zahl_weg"] if card else draw.weighted(_SPOT_PAID),
        "belegt_prozent": _share(draw, 44 + (9 if post["stadt_teil"] == "Altstadt" else 0), hour, day),
        "abbruch_art": broken,
    }


def _share(draw: Draw, usual: int, hour: int, day: str) -> int:
    """Per cent of the site in use when somebody comes."""
    weekend = 7 if weekday(day) == 5 else -9 if weekday(day) == 6 else 0
    return min(100, max(4, int(draw.around(usual + _BUSY.get(hour, 0) + weekend, 13, 0))))


def park_vorgang(draw: Draw, made: Made) -> Iterator[Row]:
    parks, cards = _shuffled(draw, made["park_stamm"]), _shuffled(draw, made["karten_stamm"])
    found = []
    while len(found) < 1490:
        park, day, card = draw.skewed(parks), _day(draw), draw.skewed(cards)
        known = draw.chance(0.38) and card["ausgestellt_am"] < day <= (card["gesperrt_am"] or LAST)
        found.append(_parked(draw, park, card if known else None, day))
    found.sort(key=lambda row: (row["eingefahren_am"], row["einfahrt_zeit"], row["park_nr"]))
    for number, row in enumerate(found, 1):
        yield {"id": number, **row}


def _parked(draw: Draw, park: Row, card: Row | None, day: str) -> Row:
    hour = draw.weighted({h: n for h, n in _HOURS.items() if h < int((park["schliesst_um"] or "24")[:2])})
    minutes = draw.weighted({18: 8, 45: 17, 80: 22, 130: 18, 220: 12, 400: 9, 590: 8, 1300: 2}) + draw.below(41)
    amount = 0.0 if minutes <= 30 else min(18.0, round((minutes + 29) // 30 * (0.9 if card else 1.1), 2))
    offence = draw.maybe(0.13 if park["anlage_art"] == "Parkplatz" else 0.075, draw.weighted(_OFFENCES))
    paid = card["zahl_weg"] if card else draw.weighted(_PARK_PAID)
    return {
        "park_nr": park["id"],
        "karten_nr": card["id"] if card else None,
        "eingefahren_am": day,
        "einfahrt_zeit": clock(hour * 60 + draw.below(60)),
        "wochen_tag": _WEEKDAYS[weekday(day)],
        "park_dauer_min": minutes,
        "betrag_eur": amount,
        "zahl_weg": paid if amount else None,
        "belegt_prozent": _share(draw, 48 + (11 if park["stadt_teil"] == "Altstadt" else 0), hour, day),
        "verwarnung_art": offence,
        "verwarnung_eur": draw.pick(_FINES[offence]) if offence else None,
        "abgeschleppt_jn": "ja" if offence in ("Rettungsweg", "Behindertenplatz") and draw.chance(0.62) else "nein",
    }


def technik_meld(draw: Draw, made: Made) -> Iterator[Row]:
    posts, parks = _shuffled(draw, made["saeule_stamm"]), _shuffled(draw, made["park_stamm"])
    lifts = [park for park in parks if park["aufzug_jn"] == "ja"]
    for number in range(1, 451):
        day = draw.day(FIRST, LAST, {1: 1.5, 2: 1.3, 7: 1.3, 12: 1.4})
        at_post = draw.chance(0.56)
        kind = draw.weighted(_OF_POST if at_post else _OF_PARK)
        hours = draw.maybe(0.92, draw.weighted({1: 8, 3: 11, 7: 9, 20: 7, 44: 5, 120: 2}) + draw.below(9))
        work = draw.weighted({"Neustart": 6, "Reparatur": 3} if kind == "Datenverbindung" else _WORKS)
        done = hours is not None and draw.chance(0.82)
        low, high = _WORK_EUR[work]
        yield {
            "id": number,
            "saeule_nr": draw.skewed(posts)["id"] if at_post else None,
            "park_nr": None if at_post else draw.skewed(lifts if kind == "Aufzug" else parks)["id"],
            "gemeldet_am": day,
            "gemeldet_zeit": clock(draw.weighted(_HOURS) * 60 + draw.below(60)),
            "wochen_tag": _WEEKDAYS[weekday(day)],
            "stoerung_art": kind,
            "behoben_std": hours,
            "aufzug_aus_std": hours if kind == "Aufzug" else None,
            "wartung_art": work if done else None,
            "wartung_firma": draw.skewed(_HELPERS) if done and work != "Neustart" else None,
            "wartung_eur": draw.between(low * 10, high * 10) / 10 if done else None,
        }
