"""Rows of a mail-order house for home and leisure: 2024 and 2025, no shop."""

from __future__ import annotations

from collections.abc import Iterator

from infranode_eval.db_routing.draw import Draw, Made, Row, later, names, until

FIRST, LAST = "2024-01-01", "2025-12-31"
_TRADE = {11: 2.1, 12: 1.8, 1: 1.2, 7: 0.7}  # how busy a month is
_ACTIONS = (
    ("FRUEHLING24", "Frühlingsstart", 10, "2024-03-01", "2024-04-15"),
    ("HALLO24", "Erstkauf", 15, FIRST, "2024-12-31"),
    ("SOMMER24", "Sommerfest", 20, "2024-07-01", "2024-08-15"),
    ("SCHULE24", "Schulanfang", 10, "2024-08-01", "2024-09-15"),
    ("WOCHE24", "Schwarze Woche", 30, "2024-11-18", "2024-12-02"),
    ("ADVENT24", "Advent", 15, "2024-12-01", "2024-12-24"),
    ("WINTER25", "Winterräumung", 25, "2025-01-07", "2025-02-15"),
    ("HALLO25", "Erstkauf", 15, "2025-01-01", LAST),
    ("FRUEHLING25", "Frühlingsstart", 12, "2025-03-01", "2025-04-15"),
    ("GARTEN25", "Gartentage", 20, "2025-05-01", "2025-05-31"),
    ("SOMMER25", "Sommerfest", 20, "2025-07-01", "2025-08-15"),
    ("SCHULE25", "Schulanfang", 10, "2025-08-01", "2025-09-15"),
    ("WOCHE25", "Schwarze Woche", 35, "2025-11-17", "2025-12-01"),
    ("ADVENT25", "Advent", 15, "2025-12-01", "2025-12-24"),
)
_REASONS = {"passt nicht": 6, "gefällt nicht": 5, "beschädigt": 3, "falscher Artikel": 2, "zu spät angekommen": 2}


def kunden_stamm(draw: Draw, made: Made) -> Iterator[Row]:
    for number in range(1, 421):
        yield {
            "id": number,
            "kunden_name": draw.person(),
            "wohn_ort": draw.skewed(names("towns")),
            "geburts_jahr": draw.maybe(0.86, 1946 + draw.between(0, 29) + draw.between(0, 30)),
            "angelegt_am": draw.day("2022-01-01", "2025-11-30", {11: 2.0}),
            "rundbrief_jn": "ja" if draw.chance(0.38) else "nein",
        }


def artikel_stamm(draw: Draw, made: Made) -> Iterator[Row]:
    for number, (name, group, price, weight, brand) in enumerate(names("products"), 1):
        yield {
            "id": number,
            "artikel_name": name,
            "waren_grp": group,
            "marken_name": brand,
            "listen_preis_eur": round(price + draw.pick((0.0, -1.0, -2.0, 1.0)), 2),
            "gewicht_kg": weight,
            "lager_stk": draw.between(0, 40) * draw.between(0, 7),
        }


def gutschein_aktion(draw: Draw, made: Made) -> Iterator[Row]:
    for number, (code, occasion, off, first, last) in enumerate(_ACTIONS, 1):
        yield {
            "id": number,
            "gutschein_code": code,
            "aktions_anlass": occasion,
            "nachlass_prozent": off,
            "gueltig_ab": first,
            "gueltig_bis": last,
        }


def bestell_kopf(draw: Draw, made: Made) -> Iterator[Row]:
    for number in range(1, 1061):
        buyer = draw.skewed(made["kunden_stamm"])
        day = draw.day(max(FIRST, buyer["angelegt_am"]), LAST, _TRADE)
        valid = [a for a in made["gutschein_aktion"] if a["gueltig_ab"] <= day <= a["gueltig_bis"]]
        way = draw.weighted({"App": 34, "Webseite": 49, "Telefon": 11, "Katalogkarte": 6})
        pay = {"Kreditkarte": 24, "Lastschrift": 21, "Rechnung": 31, "Bezahldienst": 20, "Vorkasse": 7}
        yield {
            "id": number,
            "kunden_nr": buyer["id"],
            "bestellt_am": day,
            "bestell_weg": way,
            "zahl_art": draw.weighted({"Rechnung": 1, "Vorkasse": 1}) if way == "Katalogkarte" else draw.weighted(pay),
            "porto_eur": draw.weighted({0.0: 35, 3.95: 30, 4.95: 22, 6.95: 9, 29.0: 4}),
            "gutschein_nr": draw.skewed(valid[::-1])["id"] if valid and draw.chance(0.4) else None,
            "storniert_am": draw.maybe(0.07, until(later(day, draw.between(0, 3)), LAST)),
        }


def bestell_pos(draw: Draw, made: Made) -> Iterator[Row]:
    number = 0
    goods = made["artikel_stamm"]
    for order in made["bestell_kopf"]:
        for _ in range(draw.weighted({1: 48, 2: 29, 3: 15, 4: 8})):
            number += 1
            article = _article(draw, goods, order["bestellt_am"])
            yield {
                "id": number,
                "bestell_nr": order["id"],
                "artikel_nr": article["id"],
                "menge_stk": draw.weighted({1: 70, 2: 19, 3: 7, 4: 4}),
                "posten_preis_eur": article["listen_preis_eur"],
            }


def _article(draw: Draw, goods: list[Row], day: str) -> Row:
    """Sports goods sell in summer, toys and things for the home before Christmas; late lines of the list sell well."""
    while True:
        article = draw.skewed(goods[::-1])
        season = {"Sport": "05 06 07 08", "Spielwaren": "11 12", "Wohnen": "10 11 12"}.get(article["waren_grp"])
        if season is None or day[5:7] in season or draw.chance(0.4):
            return article


def versand_paket(draw: Draw, made: Made) -> Iterator[Row]:
    weight: dict[int, float] = {}
    for pos in made["bestell_pos"]:
        article = made["artikel_stamm"][pos["artikel_nr"] - 1]
        weight[pos["bestell_nr"]] = weight.get(pos["bestell_nr"], 0.2) + article["gewicht_kg"] * pos["menge_stk"]
    number = 0
    for order in made["bestell_kopf"]:
        sent = later(order["bestellt_am"], draw.weighted({0: 3, 1: 6, 2: 3, 3: 2, 6: 1}))
        if order["storniert_am"] is None and sent <= LAST:
            number += 1
            there = later(sent, draw.weighted({1: 42, 2: 31, 3: 14, 4: 7, 5: 3, 9: 3}))
            arrived = there <= LAST and draw.chance(0.97)
            where = draw.weighted({"Haustür": 61, "Nachbarn": 17, "Abholstelle": 14, "Paketkasten": 8})
            yield {
                "id": number,
                "bestell_nr": order["id"],
                "dienst_name": draw.weighted({"Blitzbote": 46, "Rheinkurier": 31, "Paketo": 16, "Grünradler": 7}),
                "paket_kg": round(weight.get(order["id"], 0.5), 2),
                "versandt_am": sent,
                "zugestellt_am": there if arrived else None,
                "abgabe_ort": where if arrived else None,
            }


def retoure_pos(draw: Draw, made: Made) -> Iterator[Row]:
    number = 0
    for pos in made["bestell_pos"]:
        order = made["bestell_kopf"][pos["bestell_nr"] - 1]
        back = later(order["bestellt_am"], draw.between(6, 35))
        if order["storniert_am"] is None and back <= LAST and draw.chance(0.15):
            number += 1
            paid = round(pos["posten_preis_eur"] * pos["menge_stk"], 2)
            yield {
                "id": number,
                "pos_nr": pos["id"],
                "eingang_am": back,
                "retoure_grund": draw.weighted(_REASONS),
                "erstattet_eur": draw.maybe(0.92, paid),
            }


def bewertung_text(draw: Draw, made: Made) -> Iterator[Row]:
    texts = ("Gerne wieder.", "Kam schnell an.", "Farbe anders als im Bild.", "Stabil und schön.", "Nicht mein Fall.")
    for number in range(1, 441):
        article = draw.skewed(made["artikel_stamm"][::-1])
        tough = article["id"] % 7 == 0
        yield {
            "id": number,
            "artikel_nr": article["id"],
            "kunden_nr": draw.skewed(made["kunden_stamm"])["id"],
            "abgegeben_am": draw.day(FIRST, LAST, _TRADE),
            "sterne_anz": draw.weighted({1: 4, 2: 5, 3: 5, 4: 4, 5: 3} if tough else {1: 1, 2: 2, 3: 4, 4: 9, 5: 11}),
            "kommentar_text": draw.maybe(0.55, draw.skewed(texts)),
        }


def merkzettel_pos(draw: Draw, made: Made) -> Iterator[Row]:
    for number in range(1, 301):
        day = draw.day("2025-01-01", LAST, _TRADE)
        yield {
            "id": number,
            "kunden_nr": draw.skewed(made["kunden_stamm"])["id"],
            "artikel_nr": draw.skewed(made["artikel_stamm"])["id"],
            "gemerkt_am": day,
            "erinnert_am": draw.maybe(0.3, until(later(day, draw.between(10, 40)), LAST)),
        }
