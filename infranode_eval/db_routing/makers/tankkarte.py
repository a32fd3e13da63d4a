"""Rows of an issuer of fuel cards for company fleets: 2024 and 2025, cards from 2021 on."""

from __future__ import annotations

from collections.abc import Iterator

from infranode_eval.db_routing.draw import Draw, Made, Row, later, names

FIRST, LAST = "2024-01-01", "2025-12-31"
_TRADE = {12: 1.3, 10: 1.2, 8: 0.8, 1: 0.9}  # how busy a month is
_TARIFFS = {"Basis": 46, "Flotte": 31, "Partner": 12}
_DISCOUNT = {"Basis": (0, 0, 1), "Flotte": (2, 3, 3), "Fernverkehr": (4, 5, 5), "Partner": (6, 7, 8)}  # cents a litre
_TRADES = {
    "Handwerk": (4, 14), "Bau": (6, 26), "Pflege": (8, 34), "Logistik": (12, 60), "Gastronomie": (2, 7),
    "Handel": (3, 16), "Personenbeförderung": (5, 22), "Dienstleistung": (2, 12),
}  # smallest and largest fleet
_BRANCHES = (
    ("hansen|farbig|firstmann|tischlerei|tropfnix|heizungsbau|metall|schreinerei|raumausstatter|kabel", "Handwerk"),
    ("krings|pflasterstein|betonglanz|gerüst", "Bau"),
    ("pflegedienst|wohnstift", "Pflege"),
    ("spedition|kurier|umzüge|fernlast|kühlfracht|paketzug", "Logistik"),
    ("bäckerei|catering|hotel|getränke|eismann", "Gastronomie"),
    ("handel|baumarkt|zoofach|schulbedarf|blumen|möbel|sportgeschäft|gärtnerei|optik", "Handel"),
    ("fahrschule|taxi|mietwagen|schülerfahrten", "Personenbeförderung"),
)
_MORE = (
    "Fernlast Grenzgänger", "Kühlfracht Nordwind", "Taxi Rheinruf", "Betonglanz Tiefbau", "Pflegedienst Morgenstern",
    "Mietwagen Rollgut", "Gerüstbau Himmelhoch", "Kabelkrause Netztechnik", "Paketzug Logistik", "Taxi Siebengebirge",
    "Schülerfahrten Pünktlich", "Pflasterstein Straßenbau", "Wachdienst Nachteule", "Aufzugservice Steigauf",
    "Schädlingsfrei Kammer", "Landmaschinen Furche", "Eismann Polarstern", "Gebäudereinigung Wischundweg",
    "Vermessung Fluchtstab", "Abfallwirtschaft Tonne",
)
_VEHICLES = {
    "Handwerk": {"Transporter": 64, "Kombi": 22, "Kleinwagen": 9, "Limousine": 5},
    "Bau": {"Transporter": 48, "Lkw": 27, "Kombi": 18, "Limousine": 7},
    "Pflege": {"Kleinwagen": 76, "Kombi": 14, "Transporter": 8, "Limousine": 2},
    "Logistik": {"Lkw": 68, "Transporter": 24, "Kombi": 5, "Limousine": 3},
    "Gastronomie": {"Transporter": 58, "Kombi": 31, "Kleinwagen": 11},
    "Handel": {"Transporter": 44, "Kombi": 30, "Lkw": 13, "Kleinwagen": 13},
    "Personenbeförderung": {"Limousine": 52, "Kombi": 31, "Transporter": 17},
    "Dienstleistung": {"Kombi": 37, "Kleinwagen": 30, "Transporter": 21, "Limousine": 12},
}
_FUELS = {
    "Lkw": {"Diesel": 1},
    "Transporter": {"Diesel": 88, "Super": 6, "Autogas": 3, "Erdgas": 3},
    "Kombi": {"Diesel": 63, "Super": 31, "Autogas": 6},
    "Kleinwagen": {"Super": 71, "Diesel": 18, "Autogas": 5, "Erdgas": 6},
    "Limousine": {"Diesel": 58, "Super": 20, "Super Plus": 22},
}
_PRICES = {"Diesel": 1.58, "Super": 1.69, "Super Plus": 1.79, "Autogas": 1.04, "Erdgas": 1.19, "AdBlue": 0.84}
_SEASON = {1: 0.02, 2: 0.05, 3: 0.06, 4: 0.08, 5: 0.03, 6: 0.0, 7: -0.01, 8: -0.03, 9: -0.08, 10: -0.04, 11: -0.02}
_LITRES = {"Lkw": (150, 460), "Transporter": (32, 74), "Kombi": (28, 58), "Kleinwagen": (18, 41), "Limousine": (26, 62)}
_DAILY_KM = {"Lkw": 260, "Transporter": 105, "Kombi": 88, "Kleinwagen": 62, "Limousine": 140}
_LIMITS = {
    "Lkw": (500, 800, 1000), "Transporter": (120, 150, 200), "Kombi": (80, 100, 120), "Kleinwagen": (60, 80, 100),
    "Limousine": (100, 120),
}
_REASONS = {"Verlust": 41, "Diebstahl": 13, "Fahrzeug verkauft": 24, "Missbrauch": 9, "Zahlungsverzug": 13}
_PLACES = ("Nordring", "Südtor", "Hafenstraße", "Am Ufer", "Gewerbepark", "Westkehre",
           "Alte Ziegelei", "Bahnhofsallee")
_PLATES = {"Köln": "K", "Bonn": "BN", "Düsseldorf": "D", "Aachen": "AC", "Leverkusen": "LEV", "Neuss": "NE",
           "Troisdorf": "SU", "Siegburg": "SU", "Düren": "DN", "Hürth": "BM", "Euskirchen": "EU", "Brühl": "BM",
           "Koblenz": "KO", "Solingen": "SG", "Bergheim": "BM"}


def firma_stamm(draw: Draw, made: Made) -> Iterator[Row]:
    for number, name in enumerate(_shuffled(draw, [*names("firms"), *_MORE]), 1):
        trade = _trade(name)
        tariff = "Fernverkehr" if trade in ("Logistik", "Bau") and draw.chance(0.7) else draw.weighted(_TARIFFS)
        low, high = _TRADES[trade]
        yield {
            "id": number,
            "firma_name": name,
            "sitz_ort": draw.skewed(names("towns")),
            "branche_name": trade,
            "kunde_seit": draw.day("2015-01-01", "2025-06-30"),
            "tarif_name": tariff,
            "nachlass_cent": draw.pick(_DISCOUNT[tariff]),
            "fuhrpark_anz": low + draw.below(high - low + 1),
        }


def _shuffled(draw: Draw, values: list[str]) -> list[str]:
    left = list(values)
    return [left.pop(draw.below(len(left))) for _ in values]


def _trade(name: str) -> str:
    lowered = name.lower()
    return next((trade for stems, trade in _BRANCHES if any(s in lowered for s in stems.split("|"))), "Dienstleistung")


def karten_stamm(draw: Draw, made: Made) -> Iterator[Row]:
    number = 0
    for firm in made["firma_stamm"]:
        for _ in range(1 + (firm["fuhrpark_anz"] * draw.between(30, 62)) // 100):
            number += 1
            issued = max(draw.day("2021-03-01", "2025-10-31"), later(firm["kunde_seit"], 6))
            kind = draw.weighted(_VEHICLES[firm["branche_name"]])
            shut = draw.maybe(0.19, draw.day(max(later(issued, 20), "2023-05-01"), LAST))
            yield {
                "id": number,
                "firma_nr": firm["id"],
                "ausgegeben_am": issued,
                "gueltig_bis": f"{int(issued[:4]) + 4}-{issued[5:7]}-28",
                "fahrer_name": draw.maybe(0.74, draw.person()),
                "kenn_zeichen": _plate(draw, firm["sitz_ort"], number),
                "fahrzeug_art": kind,
                "tages_limit_eur": draw.maybe(0.86, draw.pick(_LIMITS[kind])),
                "gesperrt_am": shut,
                "sperr_grund": None if shut is None else draw.weighted(_REASONS),
            }


def _plate(draw: Draw, town: str, number: int) -> str:
    letters = "ABCDEFGHJKLMNPRSTUVWXYZ"
    return f"{_PLATES.get(town, 'SU')}-{draw.pick(letters)}{draw.pick(letters)} {100 + number}"


def station_stamm(draw: Draw, made: Made) -> Iterator[Row]:
    number = 0
    sides = ("", " West", " Ost", " Süd")  # of truck stops and services of one town
    taken: list[tuple[str, str]] = []
    for rank, town in enumerate(names("towns")):
        for place in range(7 - rank // 3 if rank < 12 else 2):
            number += 1
            kind = draw.weighted({"Stadt": 44, "Gewerbegebiet": 24, "Autobahn": 15, "Autohof": 9, "Landstraße": 8})
            far = kind in ("Autobahn", "Autohof")
            side = sides[taken.count((town, kind))] if far else ""
            taken.append((town, kind))
            always = far or draw.chance(0.25)
            yield {
                "id": number,
                "station_name": _station_name(town, kind, f"{town} {_PLACES[(place + rank * 3) % len(_PLACES)]}", side),
                "ort_name": town,
                "lage_art": kind,
                "schliesst_um": None if always else draw.weighted({"22:00": 5, "23:00": 3, "21:00": 2, "20:00": 1}),
                "waschanlage_jn": "ja" if draw.chance(0.15 if kind == "Autobahn" else 0.45) else "nein",
            }


def _station_name(town: str, kind: str, street: str, side: str) -> str:
    return {"Autobahn": f"Rasthof {town}{side}", "Autohof": f"Autohof {town}{side}"}.get(kind, street)


def tank_vorgang(draw: Draw, made: Made) -> Iterator[Row]:
    fuels = {card["id"]: draw.weighted(_FUELS[card["fahrzeug_art"]]) for card in made["karten_stamm"]}
    cards = _shuffled_rows(draw, made["karten_stamm"])
    found = []
    while len(found) < 2640:
        card = draw.skewed(cards)
        first, last = max(FIRST, card["ausgegeben_am"]), min(card["gesperrt_am"] or LAST, card["gueltig_bis"], LAST)
        if first < last:
            found.append(_filled(draw, made, card, fuels[card["id"]], draw.day(first, last, _TRADE)))
    found.sort(key=lambda row: (row["getankt_am"], row["getankt_um"], row["karten_nr"]))
    for number, row in enumerate(found, 1):
        yield {"id": number, **row}


def _shuffled_rows(draw: Draw, rows: list[Row]) -> list[Row]:
    left = list(rows)
    return [left.pop(draw.below(len(left))) for _ in rows]


def _filled(draw: Draw, made: Made, card: Row, fuel: str, day: str) -> Row:
    """One filling; discount only off the motorway, AdBlue now and then by lorries."""
    kind = card["fahrzeug_art"]
    firm = made["firma_stamm"][card["firma_nr"] - 1]
    station = _station(draw, made["station_stamm"], firm["sitz_ort"], kind)
    sort = "AdBlue" if kind == "Lkw" and draw.chance(0.13) else fuel
    low, high = (12, 58) if sort == "AdBlue" else _LITRES[kind]
    litres = round(low + draw.between(0, (high - low) * 50) / 100 + draw.between(0, (high - low) * 50) / 100, 2)
    price = _price(draw, sort, day, station["lage_art"])
    off = 0.0 if station["lage_art"] == "Autobahn" else round(litres * firm["nachlass_cent"] / 100, 2)
    return {
        "karten_nr": card["id"],
        "station_nr": station["id"],
        "getankt_am": day,
        "getankt_um": _time(draw, kind, station),
        "sorte_name": sort,
        "menge_liter": litres,
        "liter_preis_eur": price,
        "nachlass_eur": off,
        "betrag_eur": round(litres * price - off, 2),
        "km_stand": draw.maybe(0.88, _odometer(card, day)),
    }


def _station(draw: Draw, stations: list[Row], town: str, kind: str) -> Row:
    """Lorries like motorways and truck stops; the others fill up near the company's seat."""
    while True:
        station = draw.skewed(stations)
        far = station["lage_art"] in ("Autobahn", "Autohof")
        if draw.chance(0.75 if far == (kind == "Lkw") else 0.25) and (station["ort_name"] == town or draw.chance(0.3)):
            return station


def _price(draw: Draw, sort: str, day: str, place: str) -> float:
    more = {"Autobahn": 0.31, "Autohof": 0.07, "Landstraße": -0.02}.get(place, 0.0)
    drift = _SEASON.get(int(day[5:7]), 0.0) + (0.05 if day[:4] == "2024" else 0.0)
    scale = 0.4 if sort in ("Autogas", "Erdgas", "AdBlue") else 1.0
    return round(_PRICES[sort] + scale * (more + drift) + draw.between(-4, 4) / 100 - 0.001, 3)


def _time(draw: Draw, kind: str, station: Row) -> str:
    if station["schliesst_um"] is None and draw.chance(0.14):
        return draw.clock("22:00", "23:59") if draw.chance(0.6) else draw.clock("00:00", "04:50")
    spans = {"05:00-08:30": 33, "08:30-15:00": 30, "15:00-19:30": 37}
    first, _, last = draw.weighted(spans).partition("-")
    return draw.clock(first, last)


def _odometer(card: Row, day: str) -> int:
    """Grows by the same distance each day; the start differs from card to card."""
    age = (int(day[:4]) - 2021) * 365 + int(day[5:7]) * 30 + int(day[8:10])
    return card["id"] * 7919 % 61000 + age * (_DAILY_KM[card["fahrzeug_art"]] * (60 + card["id"] * 37 % 80) // 100)


def rechnung_kopf(draw: Draw, made: Made) -> Iterator[Row]:
    """One invoice a company and month with fillings, at the start of the next month."""
    firm_of = {card["id"]: card["firma_nr"] for card in made["karten_stamm"]}
    sums: dict[tuple[str, int], list[float]] = {}
    for row in made["tank_vorgang"]:
        total = sums.setdefault((row["getankt_am"][:7], firm_of[row["karten_nr"]]), [0.0, 0.0])
        total[0] += row["betrag_eur"]
        total[1] += row["nachlass_eur"]
    for number, ((month, firm), (amount, off)) in enumerate(sorted(sums.items()), 1):
        issued = later(f"{month}-28", draw.weighted({5: 6, 6: 3, 7: 2, 8: 1}))
        if issued > LAST:
            return
        due = later(issued, 14)
        paid = later(issued, draw.weighted({9: 3, 11: 5, 13: 8, 14: 9, 16: 3, 21: 2, 34: 1, 52: 1}))
        yield {
            "id": number,
            "firma_nr": firm,
            "rechnung_am": issued,
            "rechnung_eur": round(amount, 2),
            "nachlass_eur": round(off, 2),
            "faellig_am": due,
            "bezahlt_am": paid if paid <= LAST and draw.chance(0.965) else None,
        }
