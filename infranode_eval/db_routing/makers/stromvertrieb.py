"""Rows of stromvertrieb: households supplied with electricity, their contracts, meters, bills and complaints."""

from __future__ import annotations

from collections.abc import Iterator

from infranode_eval.db_routing.draw import Draw, Made, Row, later, names

_LAST = "2025-12-31"
_BILLS_FROM = "2024-02-01"
_TARIFFS = (    # name, months, since, cent a kWh, Euro a month, per cent renewable, how often chosen
    ("Komfort", 12, "2019-01-01", 33.9, 11.9, 40, 22), ("Natur", 12, "2020-04-01", 34.6, 12.4, 100, 17),
    ("Basis", 0, "2015-01-01", 38.7, 13.9, 30, 15), ("Online", 12, "2021-03-01", 31.8, 10.9, 40, 12),
    ("Fix 24", 24, "2022-10-01", 35.2, 12.9, 40, 9), ("Familie", 12, "2019-06-01", 32.9, 14.5, 50, 7),
    ("Natur Plus", 24, "2022-01-01", 36.1, 12.9, 100, 5), ("Single", 12, "2020-09-01", 36.9, 7.9, 40, 4),
    ("Nacht", 12, "2017-02-01", 29.8, 15.9, 30, 3), ("Wärme", 24, "2021-07-01", 27.9, 16.4, 60, 2),
    ("Mobil", 24, "2023-03-01", 28.9, 14.9, 100, 2), ("Regio", 12, "2023-09-01", 35.8, 11.4, 100, 1.5),
    ("Treue", 36, "2018-05-01", 33.2, 10.4, 40, 1), ("Garten", 12, "2024-04-01", 37.4, 5.9, 70, 0.5))
_PEOPLE = {1: 30, 2: 34, 3: 17, 4: 13, 5: 5, 6: 1}
_LEVELS = {"Blau": 60, "Silber": 29, "Gold": 11}
_WAYS = {"Webseite": 38, "Telefon": 27, "App": 16, "Kundenbüro": 12, "Post": 7}
_PAYING = {"Lastschrift": 54, "Überweisung": 27, "Kreditkarte": 12, "Bar": 7}
_LEAVING = {"Umzug": 43, "Preiserhöhung": 29, "Unzufriedenheit": 14, "Todesfall": 6}
_METERS = {"Drehstrom": 56, "Wechselstrom": 26, "Zweirichtung": 12, "Doppeltarif": 6}
_ROOMS = {"Keller": 51, "Hausflur": 24, "Wohnung": 15, "Außenkasten": 7, "Dachboden": 3}
_READING = {"Selbstablesung": 46, "Ableser": 26, "Fernauslesung": 16, "Schätzung": 12}
_TOPICS = {"Abrechnung": 36, "Preiserhöhung": 25, "Erreichbarkeit": 17, "Abschlagshöhe": 12, "Vertreterbesuch": 7,
           "Datenschutz": 3}
_FEES = {1: 2.5, 2: 5.0, 3: 9.5}
_READ_IN = {1: 9.0, 2: 2.0, 10: 2.0, 11: 4.0, 12: 12.0}


def tarif_stamm(draw: Draw, made: Made) -> Iterator[Row]:
    for number, (name, months, since, cent, euro, share, _) in enumerate(_TARIFFS, 1):
        yield {"id": number, "tarif_name": name, "laufzeit_mon": months, "eingefuehrt_am": since,
               "arbeits_preis_ct": cent, "grund_preis_eur": euro, "oeko_anteil_pct": share}


def kunde_stamm(draw: Draw, made: Made) -> Iterator[Row]:
    for number in range(1, 561):
        since = draw.day("2018-02-01", "2025-11-20", {1: 1.6, 9: 1.4, 10: 1.9, 11: 1.7})
        card = later(since, draw.skewed(range(900)))
        holds = draw.chance(0.41) and card <= _LAST
        yield {"id": 20000 + number * 3, "kunden_name": draw.person(), "kunde_seit": since,
               "personen_zahl": draw.maybe(0.93, draw.weighted(_PEOPLE)), "wohn_ort": draw.skewed(names("towns")),
               "geburts_jahr": draw.maybe(0.95, _birth_year(draw)), "karte_seit": card if holds else None,
               "karten_stufe": draw.weighted(_LEVELS) if holds else None}


def _birth_year(draw: Draw) -> int:
    return max(1931, min(2005, int(draw.around(1971, 15, 0))))


def vertrag_stamm(draw: Draw, made: Made) -> Iterator[Row]:
    number = 0
    for customer in made["kunde_stamm"]:
        signed = customer["kunde_seit"]
        while signed <= "2025-12-10":
            number += 1
            yield _contract(draw, number, customer, signed)
            if not draw.chance(0.27):
                break
            signed = later(signed, draw.between(120, 1500))


def _contract(draw: Draw, number: int, customer: Row, signed: str) -> Row:
    way = draw.weighted(_WAYS)
    bonus = draw.maybe(0.5 if way in ("Webseite", "App") else 0.2, draw.weighted({50: 5, 75: 3, 100: 4, 150: 2, 25: 1}))
    begin = later(signed, draw.between(14, 75))
    tariffs = {place: tariff[6] for place, tariff in enumerate(_TARIFFS, 1) if tariff[2] <= signed}
    return {"id": number, "kunden_nr": customer["id"], "tarif_nr": draw.weighted(tariffs), "abschluss_am": signed,
            "liefer_beginn": min(begin, _LAST), "abschluss_weg": way, "zahl_weg": draw.weighted(_PAYING),
            "abschlag_eur": max(24, int(draw.around(36 + 19 * (customer["personen_zahl"] or 2), 13, 0))),
            "bonus_eur": bonus, **_leaving(draw, begin)}


def _leaving(draw: Draw, begin: str) -> Row:
    told = later(begin, 60 + draw.skewed(range(1900)))
    if told > "2025-11-10" or not draw.chance(0.36):
        return {"gekuendigt_am": None, "kuend_grund": None, "liefer_ende": None}
    return {"gekuendigt_am": told, "kuend_grund": draw.maybe(0.88, draw.weighted(_LEAVING)),
            "liefer_ende": later(told, draw.between(14, 50))}


def zaehler_stamm(draw: Draw, made: Made) -> Iterator[Row]:
    number = 0
    for contract in made["vertrag_stamm"]:
        for _ in range(2 if draw.chance(0.05) else 1):
            number += 1
            yield {"id": 41000 + number, "vertrag_nr": contract["id"], "zaehler_typ": draw.weighted(_METERS),
                   "einbau_ort": draw.weighted(_ROOMS),
                   "eingebaut_am": later(contract["liefer_beginn"], -draw.skewed(range(4200)))}


def ablesung_pos(draw: Draw, made: Made) -> Iterator[Row]:
    contracts = {row["id"]: row for row in made["vertrag_stamm"]}
    people = {row["id"]: row["personen_zahl"] or 2 for row in made["kunde_stamm"]}
    number = 0
    for meter in made["zaehler_stamm"]:
        contract = contracts[meter["vertrag_nr"]]
        stand, usual = draw.between(900, 62000), draw.around(900 + 760 * people[contract["kunden_nr"]], 380, 0)
        for year in (2023, 2024, 2025):
            day = draw.day(f"{year}-01-01", f"{year}-12-31", _READ_IN)
            used = max(140, int(draw.around(usual, 330, 0)))
            stand += used
            if contract["liefer_beginn"] < day <= (contract["liefer_ende"] or _LAST) and draw.chance(0.72):
                number += 1
                yield {"id": number, "zaehler_nr": meter["id"], "abgelesen_am": day,
                       "ablese_art": draw.weighted(_READING), "stand_kwh": stand, "verbrauch_kwh": used}


def rechnung_kopf(draw: Draw, made: Made) -> Iterator[Row]:
    number = 0
    for contract in made["vertrag_stamm"]:
        for day, kind, months in _bill_days(draw, contract):
            number += 1
            yield _bill(draw, 700000 + number, contract, day, kind, months)


def _bill_days(draw: Draw, contract: Row) -> Iterator[tuple[str, str, int]]:
    """Day, kind and months of each bill of a contract since bills are kept here."""
    end, years = contract["liefer_ende"] or _LAST, 1
    while (due := later(contract["liefer_beginn"], 365 * years)) <= end:
        day = later(due, draw.between(6, 45))
        years += 1
        if _BILLS_FROM <= day <= _LAST:
            yield day, "Jahresrechnung", 12
    if contract["liefer_ende"] and _BILLS_FROM <= (day := later(end, draw.between(8, 40))) <= _LAST:
        yield day, "Schlussrechnung", draw.between(1, 11)
    if contract["liefer_ende"] is None and contract["liefer_beginn"] < "2025-01-01" and draw.chance(0.09):
        yield draw.day("2025-02-01", _LAST), "Zwischenrechnung", draw.between(2, 9)


def _bill(draw: Draw, number: int, contract: Row, day: str, kind: str, months: int) -> Row:
    tariff = _TARIFFS[contract["tarif_nr"] - 1]
    used = max(60, int(draw.around(contract["abschlag_eur"] * 33 - 430, 420, 0) * months / 12))
    total = round(used * tariff[3] / 100 + months * tariff[4], 2)
    paid = later(day, draw.between(2, 26) if draw.chance(0.82) else draw.between(27, 130))
    return {"id": number, "vertrag_nr": contract["id"], "rechnungs_datum": day, "rechnungs_art": kind,
            "betrag_eur": total, "bezahlt_am": paid if paid <= _LAST and draw.chance(0.95) else None,
            "abgerechnet_kwh": used, "restbetrag_eur": round(total - months * contract["abschlag_eur"], 2)}


def mahnung_lauf(draw: Draw, made: Made) -> Iterator[Row]:
    number = 0
    for bill in made["rechnung_kopf"]:
        day = later(bill["rechnungs_datum"], draw.between(22, 33))
        for level in _FEES:
            if day > _LAST or day >= (bill["bezahlt_am"] or _LAST) or not draw.chance(0.86):
                break
            number += 1
            yield {"id": number, "rechnung_nr": bill["id"], "gemahnt_am": day, "mahn_stufe": level,
                   "gebuehr_eur": _FEES[level]}
            day = later(day, draw.between(16, 40))


def beschwerde_fall(draw: Draw, made: Made) -> Iterator[Row]:
    contracts = made["vertrag_stamm"]
    number = 0
    while number < 190:
        contract, day = draw.skewed(contracts), draw.day("2023-01-01", _LAST, {1: 2.1, 2: 1.8, 3: 1.5})
        if not contract["liefer_beginn"] <= day <= later(contract["liefer_ende"] or _LAST, 60):
            continue
        number += 1
        done = later(day, 1 + draw.skewed(range(75)))
        settled = done <= _LAST and draw.chance(0.88)
        yield {"id": number, "vertrag_nr": contract["id"], "eingang_am": day,
               "beschwerde_thema": draw.weighted(_TOPICS), "erledigt_am": done if settled else None,
               "kulanz_eur": draw.maybe(0.34, float(draw.pick((10, 15, 15, 20, 25, 30, 50)))) if settled else None}
