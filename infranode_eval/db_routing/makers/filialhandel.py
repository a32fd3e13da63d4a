"""Rows of a retail chain with shops in several towns: 2024 and 2025, no delivery."""

from __future__ import annotations

from collections.abc import Iterator

from infranode_eval.db_routing.draw import Draw, Made, Row, later, names, until, weekday

FIRST, LAST = "2024-01-01", "2025-12-31"
_SHOPS = (
    ("Domplatte", "Köln"),
    ("Ehrenfeld", "Köln"),
    ("Münsterplatz", "Bonn"),
    ("Königsallee", "Düsseldorf"),
    ("Elisenbrunnen", "Aachen"),
    ("Rathausgalerie", "Leverkusen"),
    ("Büchel", "Neuss"),
    ("Kaiserstraße", "Siegburg"),
    ("Wirtelstraße", "Düren"),
    ("Luxemburger Straße", "Hürth"),
    ("Uhlstraße", "Brühl"),
    ("Beuel", "Bonn"),
    ("Kölner Straße", "Troisdorf"),
    ("Löhr", "Koblenz"),
)
_OPENED = (
    "1998-03-12",
    "2004-09-02",
    "2001-05-17",
    "2006-10-05",
    "2009-03-26",
    "2010-11-11",
    "2012-04-19",
    "2014-08-28",
    "2015-02-05",
    "2016-09-15",
    "2018-06-21",
    "2019-10-10",
    "2022-03-31",
    "2024-05-16",
)
_AREAS = (1240, 860, 980, 1410, 720, 650, 540, 480, 430, 610, 390, 520, 450, 760)
_TRADE = {11: 1.6, 12: 2.4, 2: 0.7, 8: 0.8}  # how busy a month is
_PLACES = {"Gang 1": 5, "Gang 2": 6, "Gang 3": 4, "Gang 4": 3, "Schaufenster": 2, "Kassenzone": 3}
_RETURNED = {"beschädigt": 5, "falsche Größe": 3, "doppelt gekauft": 2, "gefällt nicht": 6, "Geschenk": 3}


def filial_stamm(draw: Draw, made: Made) -> Iterator[Row]:
    for number, ((name, town), opened, area) in enumerate(zip(_SHOPS, _OPENED, _AREAS, strict=True), 1):
        yield {"id": number, "filial_name": name, "ort_name": town, "eroeffnet_am": opened, "flaeche_qm": area}


def waren_stamm(draw: Draw, made: Made) -> Iterator[Row]:
    for number, (name, group, price, _, brand) in enumerate(names("products"), 1):
        yield {
            "id": number,
            "artikel_name": name,
            "waren_grp": group,
            "marken_name": brand,
            "listen_preis_eur": round(price + draw.pick((0.0, 0.0, 1.0, 2.0, -1.0)), 2),
            "regal_platz": draw.weighted(_PLACES),
        }


def karte_stamm(draw: Draw, made: Made) -> Iterator[Row]:
    for number in range(1, 261):
        issued = draw.day("2023-01-01", LAST, {11: 1.8, 5: 1.5})
        shop = draw.skewed(made["filial_stamm"])
        yield {
            "id": number,
            "inhaber_name": draw.person(),
            "filial_nr": shop["id"],
            "ausgestellt_am": max(issued, shop["eroeffnet_am"]),
            "punkte_stand": draw.between(0, 70) * draw.between(1, 90),
            "gesperrt_am": draw.maybe(0.11, until(later(issued, draw.between(20, 500)), LAST)),
        }


def personal_stamm(draw: Draw, made: Made) -> Iterator[Row]:
    number = 0
    for shop in made["filial_stamm"]:
        for place in range(3 + shop["flaeche_qm"] // 350):
            number += 1
            hired = max(draw.day("2012-01-01", "2024-12-31"), shop["eroeffnet_am"])
            role = "Filialleitung" if place == 0 else draw.weighted({"Verkauf": 6, "Lager": 2, "Ausbildung": 2})
            gone = None if place == 0 else draw.maybe(0.22, draw.day("2025-02-01", LAST))
            yield {
                "id": number,
                "person_name": draw.person(),
                "filial_nr": shop["id"],
                "rollen_name": role,
                "eingestellt_am": hired,
                "ausgeschieden_am": gone,
            }


def bon_kopf(draw: Draw, made: Made) -> Iterator[Row]:
    staff: dict[int, list[Row]] = {}
    for person in made["personal_stamm"]:
        staff.setdefault(person["filial_nr"], []).append(person)
    for number in range(1, 1321):
        shop = draw.skewed(made["filial_stamm"])
        day = draw.day(max(FIRST, shop["eroeffnet_am"]), LAST, _TRADE)
        while weekday(day) == 6:
            day = later(day, -1)
        valid = [
            card
            for card in made["karte_stamm"]
            if card["ausgestellt_am"] <= day and (card["gesperrt_am"] is None or card["gesperrt_am"] > day)
        ]
        here = [p for p in staff[shop["id"]] if p["eingestellt_am"] <= day and (p["ausgeschieden_am"] or LAST) >= day]
        yield {
            "id": number,
            "filial_nr": shop["id"],
            "bon_datum": day,
            "bon_zeit": draw.clock("08:30", "13:00") if draw.chance(0.42) else draw.clock("13:00", "19:55"),
            "kassen_nr": draw.weighted({1: 5, 2: 3, 3: 2, 4: 1}),
            "zahl_art": draw.weighted({"Bargeld": 37, "Girokarte": 41, "Kreditkarte": 14, "Handy": 8}),
            "karten_nr": draw.skewed(valid)["id"] if draw.chance(0.46) else None,
            "personal_nr": draw.skewed(here or staff[shop["id"]])["id"],
        }


def bon_pos(draw: Draw, made: Made) -> Iterator[Row]:
    number = 0
    goods = made["waren_stamm"]
    for bon in made["bon_kopf"]:
        for _ in range(draw.weighted({1: 40, 2: 30, 3: 18, 4: 8, 5: 4})):
            number += 1
            ware = _ware(draw, goods, bon["bon_datum"])
            off = draw.weighted({0: 76, 10: 11, 20: 8, 30: 5})
            back = draw.maybe(0.09, until(later(bon["bon_datum"], draw.between(1, 30)), LAST))
            yield {
                "id": number,
                "bon_nr": bon["id"],
                "waren_nr": ware["id"],
                "menge_stk": draw.weighted({1: 62, 2: 24, 3: 9, 4: 5}),
                "posten_preis_eur": round(ware["listen_preis_eur"] * (100 - off) / 100, 2),
                "nachlass_prozent": off,
                "zurueck_am": back,
                "zurueck_grund": draw.weighted(_RETURNED) if back else None,
            }


def _ware(draw: Draw, goods: list[Row], day: str) -> Row:
    """Garden goods sell in spring, toys before Christmas."""
    while True:
        ware = draw.skewed(goods)
        season = {"Garten": "03 04 05 06", "Spielwaren": "11 12", "Sport": "05 06 07 08"}.get(ware["waren_grp"])
        if season is None or day[5:7] in season or draw.chance(0.35):
            return ware


def regal_bestand(draw: Draw, made: Made) -> Iterator[Row]:
    number = 0
    for shop in made["filial_stamm"]:
        for ware in made["waren_stamm"]:
            if draw.chance(0.25 + shop["flaeche_qm"] / 3000):
                number += 1
                least = draw.weighted({2: 3, 4: 4, 6: 3, 10: 2})
                stock = draw.between(0, 9) * draw.between(0, 5) + draw.between(0, 3)
                yield {
                    "id": number,
                    "filial_nr": shop["id"],
                    "waren_nr": ware["id"],
                    "bestand_stk": stock,
                    "mindest_stk": least,
                    "gezaehlt_am": draw.day("2025-11-17", LAST),
                }


def dienst_plan(draw: Draw, made: Made) -> Iterator[Row]:
    here = [person for person in made["personal_stamm"] if (person["ausgeschieden_am"] or LAST) > "2025-10-01"]
    for number in range(1, 521):
        person = draw.skewed(here)
        shift = draw.weighted({"Früh": 45, "Spät": 38, "Teildienst": 17})
        hours = (4.0, 4.5, 5.0) if shift == "Teildienst" else (7.0, 7.5, 8.0, 8.5)
        yield {
            "id": number,
            "personal_nr": person["id"],
            "dienst_tag": draw.day("2025-09-01", person["ausgeschieden_am"] or LAST),
            "schicht_art": shift,
            "stunden_anz": draw.pick(hours),
        }
