"""Rows of a wholesaler with a central warehouse and business customers: 2024 and 2025; unused modules are empty."""

from __future__ import annotations

from collections.abc import Iterator

from infranode_eval.db_routing.draw import Draw, Made, Row, later, names, until, weekday

FIRST, LAST = "2024-01-01", "2025-12-31"
ARTICLES = "materialwirtschaft_artikelverwaltung_handelsware_stammdaten_artikel"
SUPPLIERS = "materialwirtschaft_beschaffung_lieferantenverwaltung_lieferanten_stamm"
PLACES = "materialwirtschaft_lagerverwaltung_zentrallager_lagerplaetze_stamm"
AGENTS = "vertriebssteuerung_aussendienst_freie_handelsvertreter_stammdaten"
FIRMS = "vertriebssteuerung_kundenverwaltung_gewerbliche_abnehmer_stammdaten"
DEPARTMENTS = "personalverwaltung_aufbauorganisation_abteilungen_der_zentrale_stamm"
COST_CENTRES = "rechnungswesen_kostenrechnung_kostenstellen_mit_jahresbudget_stamm"
ACCOUNTS = "rechnungswesen_finanzbuchhaltung_hauptbuch_sachkonten_stammdaten"
STAFF = "personalverwaltung_beschaeftigte_arbeitsverhaeltnisse_stammdaten"
COURSES = "personalverwaltung_weiterbildung_schulungskatalog_kursangebote_stamm"
VEHICLES = "fuhrparkverwaltung_eigene_fahrzeuge_zulassung_und_nutzer_stammdaten"
TRUCKS = "lagertechnik_flurfoerderzeuge_gabelstapler_und_hubwagen_stammdaten"
TERMS = "materialwirtschaft_beschaffung_einkaufskonditionen_je_bezugsquelle"
SUPPLY_ORDERS = "materialwirtschaft_beschaffung_order_an_vorlieferanten_kopfdaten"
SUPPLY_LINES = "materialwirtschaft_beschaffung_order_an_vorlieferanten_positionen"
BATCHES = "materialwirtschaft_chargenverwaltung_herstellung_und_haltbarkeit"
ARRIVALS = "materialwirtschaft_lagerverwaltung_wareneingang_rampe_bewegungen"
COUNTS = "materialwirtschaft_inventurverwaltung_zaehlung_zentrallager_kopfdaten"
OFFERS = "vertriebssteuerung_angebotswesen_angebote_an_gewerbekunden_kopfdaten"
OFFER_LINES = "vertriebssteuerung_angebotswesen_angebote_an_gewerbekunden_positionen"
FRAMES = "vertriebssteuerung_rahmenvertraege_mit_vereinbarter_abnahmemenge"
ORDERS = "vertriebssteuerung_auftragsabwicklung_gewerbekunden_kopfdaten"
ORDER_LINES = "vertriebssteuerung_auftragsabwicklung_gewerbekunden_positionen"
INVOICES = "rechnungswesen_debitorenbuchhaltung_ausgangsrechnungen_kopfdaten"
CARRIERS = "versandlogistik_frachtfuehrer_beauftragte_speditionen_stammdaten"
PROJECTS = "unternehmensentwicklung_interne_projekte_planung_und_budget_stamm"
FAIRS = "vertriebssteuerung_verkaufsfoerderung_fachmessen_auftritte_stamm"

_TRADE = {3: 1.3, 4: 1.4, 9: 1.2, 10: 1.5, 11: 1.7, 12: 0.6, 7: 0.8}  # how busy a month is
_SUPPLIERS = (
    ("Tonwerk", "Deutschland", "Küche"), ("Habico", "Deutschland", "Küche"), ("Holzhof", "Tschechien", "Wohnen"),
    ("Elvero", "Niederlande", "Wohnen"), ("Gartenfroh", "Deutschland", "Garten"), ("Motora", "Polen", "Werkzeug"),
    ("Webstube", "Portugal", "Wohnen"), ("Stahlberg", "Deutschland", "Werkzeug"),
    ("Kinderland", "Deutschland", "Spielwaren"), ("Radius", "Italien", "Sport"), ("Bergwind", "Polen", "Sport"),
    ("Papyra", "Deutschland", "Schreibwaren"), ("Lodz Textil", "Polen", "Wohnen"), ("Anadolu Glas", "Türkei", "Küche"),
    ("Shenzhen Lichtwerk", "China", "Wohnen"), ("Porto Keramik", "Portugal", "Küche"),
    ("Ningbo Gartengerät", "China", "Garten"), ("Hanoi Flechtwerk", "Vietnam", "Tierbedarf"),
    ("Izmir Teppich", "Türkei", "Wohnen"), ("Delhi Baumwolle", "Indien", "Tierbedarf"),
    ("Brno Metall", "Tschechien", "Werkzeug"), ("Guangzhou Spiel", "China", "Spielwaren"),
)
_HALLS = {"Hochregal": ("Halle A", 1000), "Blocklager": ("Halle B", 1500), "Fachboden": ("Halle B", 250),
          "Kleinteile": ("Halle C", 80), "Sperrgut": ("Freilager", 2500)}
_PLACES = {"Hochregal": 46, "Blocklager": 22, "Fachboden": 24, "Kleinteile": 18, "Sperrgut": 10}
_AGENTS = (("Köln", 8.0), ("Bonn", 7.5), ("Düsseldorf", 8.5), ("Aachen", 7.0), ("Eifel", 6.5), ("Bergisches Land", 7.0),
           ("Niederrhein", 7.5), ("Mittelrhein", 6.0), ("Ruhrgebiet", 8.0))
_MORE_FIRMS = (
    "Hofladen Kleeblatt", "Bürobedarf Klammer", "Gartencenter Rosenbogen", "Haushaltswaren Kupferkessel",
    "Spielzeugladen Murmel", "Jugendherberge Weitblick", "Seniorenheim Lindenhof", "Kaufhaus Drehtür",
    "Tierfutter Schnauze", "Gasthof Goldener Krug", "Campingplatz Rheinwiese", "Geschenkelädchen Schleife",
    "Schreibwaren Federkiel", "Baustoffe Mörtel", "Fitnessstudio Muskelkater", "Ferienpark Seeblick",
    "Kantine Tellerrand", "Werkstatt Lebenshilfe", "Landgasthaus Eiche", "Eisenwaren Schraubenkönig",
    "Küchenstudio Herdblick", "Pferdehof Hufeisen", "Raumkonzept Diele", "Volkshochschule Horizont",
)
_BRANCHES = (
    ("markt|handel|laden|lädchen|kaufhaus|bedarf|waren|möbel|sportgeschäft|blumen|center|futter|küchenstudio|optik"
     "|baustoffe", "Einzelhandel"),
    ("hotel|catering|bäckerei|getränke|gasthof|gasthaus|kantine|ferien|camping|herberge", "Gastronomie"),
    ("pflege|wohnstift|tierklinik|medizin|senioren|lebenshilfe", "Pflege"),
    ("kita|fahrschule|segelschule|hochschule|fitness", "Bildung"),
    ("elektro|krings|maler|dachdecker|tischlerei|sanitär|heizung|metall|schreinerei|raumausstatter|gärtnerei"
     "|raumkonzept", "Handwerk"),
)
_DEPARTMENTS = {"Lager": 17, "Versand": 8, "Vertriebsinnendienst": 9, "Einkauf": 6, "Buchhaltung": 6, "Fuhrpark": 6,
                "Qualitätssicherung": 4, "Personalwesen": 3, "EDV": 3, "Geschäftsleitung": 2}
_JOBS = {
    "Lager": {"Kommissionierung": 7, "Staplerführung": 4, "Lagermeister": 1}, "Fuhrpark": {"Kraftfahrer": 1},
    "Versand": {"Versandkraft": 5, "Disposition": 2}, "Qualitätssicherung": {"Prüfkraft": 3, "Prüfleitung": 1},
    "Geschäftsleitung": {"Geschäftsführung": 1},
}
_OFFICE = {"Sachbearbeitung": 8, "Teamleitung": 2, "Auszubildende": 1}
_GROUPS = ((2600, "E3"), (3000, "E5"), (3500, "E7"), (4200, "E9"), (5200, "E11"), (9900, "E13"))
_COST_CENTRES = (
    ("Wareneinkauf", "Einkauf", 210), ("Innendienst", "Vertriebsinnendienst", 380),
    ("Handelsvertretung", "Vertriebsinnendienst", 160), ("Lagerbetrieb", "Lager", 640),
    ("Kommissionierung", "Lager", 420), ("Instandhaltung", "Lager", 110), ("Versandhalle", "Versand", 290),
    ("Eigene Touren", "Fuhrpark", 340), ("Rechnungswesen", "Buchhaltung", 240), ("Mahnwesen", "Buchhaltung", 45),
    ("Warenprüfung", "Qualitätssicherung", 130), ("Personalbüro", "Personalwesen", 150),
    ("Ausbildung", "Personalwesen", 60), ("Rechenzentrum", "EDV", 270),
    ("Werbung und Messen", "Geschäftsleitung", 120), ("Gebäude", "Geschäftsleitung", 310),
)
_ACCOUNTS = (
    ("4100", "Löhne", "Aufwand", 16), ("4110", "Gehälter", "Aufwand", 14), ("4210", "Miete", "Aufwand", 6),
    ("4240", "Strom und Heizung", "Aufwand", 9), ("4500", "Treibstoff", "Aufwand", 11),
    ("4520", "Versicherung", "Aufwand", 5), ("4600", "Werbung", "Aufwand", 8), ("4660", "Reisekosten", "Aufwand", 9),
    ("4710", "Verpackung", "Aufwand", 12), ("4730", "Ausgangsfrachten", "Aufwand", 13),
    ("4800", "Reparaturen", "Aufwand", 10), ("4910", "Porto", "Aufwand", 4), ("4920", "Telefon", "Aufwand", 4),
    ("4930", "Büromaterial", "Aufwand", 7), ("4945", "Fortbildung", "Aufwand", 5), ("2100", "Zinsen", "Aufwand", 3),
    ("8400", "Warenerlöse", "Ertrag", 9), ("8730", "Gewährte Skonti", "Ertrag", 4),
)
_AMOUNTS = {"Löhne": (8000, 60), "Gehälter": (9000, 70), "Miete": (6200, 9), "Warenerlöse": (12000, 90)}
_ABSENCES = {"Urlaub": 58, "Krankheit": 31, "Sonderurlaub": 7, "Elternzeit": 4}
_COURSES = (
    ("Staplerschein", "Lagerakademie Rhein", 290, 2), ("Ladungssicherung", "Lagerakademie Rhein", 180, 1),
    ("Erste Hilfe", "Samariterschule", 60, 1), ("Brandschutz", "Samariterschule", 95, 1),
    ("Tabellenkalkulation", "Computerhaus Bit", 340, 2), ("Zollrecht kompakt", "Kontorseminare", 620, 2),
    ("Mahnwesen", "Kontorseminare", 410, 1), ("Verhandeln im Einkauf", "Kontorseminare", 780, 2),
    ("Gefahrgut", "Lagerakademie Rhein", 450, 2), ("Führung für Einsteiger", "Institut Kompass", 950, 3),
    ("Englisch am Telefon", "Sprachladen Babel", 380, 4), ("Datenschutz", "Computerhaus Bit", 150, 1),
    ("Warenkunde Keramik", "Tonwerk", 0, 1), ("Umgang mit Reklamationen", "Institut Kompass", 360, 1),
)
_COURSE_OF = {"Lager": (0, 1, 2, 3, 8), "Versand": (1, 2, 8), "Fuhrpark": (1, 2, 8), "Einkauf": (7, 5, 12, 10),
              "Buchhaltung": (6, 4, 11), "Vertriebsinnendienst": (13, 10, 4, 11)}
_VEHICLES = {"Lkw": (7, 9400, 2200), "Transporter": (6, 1150, 180), "Kombi": (4, 520, 60), "Limousine": (3, 450, 30)}
_TRUCKS = (("Schubmaststapler", "Elektro", 1600), ("Frontstapler", "Diesel", 3000), ("Frontstapler", "Elektro", 2500),
           ("Hochregalstapler", "Elektro", 1200), ("Elektrohubwagen", "Elektro", 2000), ("Frontstapler", "Gas", 3500))
_DUTY = {"China": 0.047, "Vietnam": 0.031, "Türkei": 0.012, "Indien": 0.058}
_PORTS = {"Hamburg": 46, "Rotterdam": 33, "Duisburg": 14, "Köln": 7}
_PERISHABLE = ("Vogelfutter", "Katzenstreu", "Aquarium")
_FRAMES = (("2023-07-01", "2025-06-30"), ("2024-01-01", "2024-12-31"), ("2024-01-01", "2025-12-31"),
          ("2024-07-01", "2025-06-30"), ("2025-01-01", "2025-12-31"), ("2025-01-01", "2026-12-31"))
_WANTED = {"normal": 66, "eilig": 21, "Terminauftrag": 13}
_FAULTS = {"Transportschaden": 31, "Falschlieferung": 24, "Fehlmenge": 19, "Materialfehler": 15, "Verspätung": 8,
           "Preisabweichung": 3}
_CARRIERS = (("Spedition Fernweh", "Köln"), ("Rheinfracht Loreley", "Koblenz"), ("Kontor Transit", "Düsseldorf"),
             ("Eifel Logistik", "Euskirchen"), ("Lastzug Brandt", "Aachen"), ("Nordwest Frachten", "Neuss"),
             ("Stückgut Bergisch", "Solingen"), ("Transalpin Weg", "Bonn"))
_BEARERS = {"Europalette": 62, "Gitterbox": 17, "Düsseldorfer Palette": 13, "Pfandkiste": 8}
_FEES = {1: 0.0, 2: 5.0, 3: 12.5}
_ASSETS = {
    "Lagertechnik": (("Palettenregal", 8200), ("Förderband", 26500), ("Packtisch", 1450), ("Rolltor", 6900)),
    "Fuhrpark": (("Lastzug", 88000), ("Lieferfahrzeug", 41000), ("Hebebühne", 9700)),
    "EDV": (("Server", 7400), ("Handscanner", 890), ("Etikettendrucker", 1250), ("Notebook", 1380)),
    "Büroausstattung": (("Besprechungstisch", 1900), ("Kopierer", 4600), ("Aktenschrank", 760)),
    "Gebäude": (("Lichtkuppel", 15200), ("Heizkessel", 33000), ("Zaunanlage", 11800)),
}
_CLASSES = {"Lagertechnik": 30, "EDV": 28, "Büroausstattung": 17, "Fuhrpark": 14, "Gebäude": 11}
_PROJECTS = (
    ("Papierloses Lager", "2024-01-15", "2024-11-29", 85000),
    ("Neue Hochregalzeile", "2024-02-05", "2025-03-28", 240000),
    ("Scannerumstellung", "2024-03-11", "2024-08-30", 36000),
    ("Kundenportal", "2024-04-08", None, 160000),
    ("Energiesparen Halle B", "2024-05-13", "2025-02-14", 52000),
    ("Weniger Verpackung", "2024-07-01", "2024-12-20", 18000),
    ("Azubiwerkstatt", "2024-09-02", None, 24000),
    ("Zertifizierung Qualität", "2024-10-07", "2025-09-26", 47000),
    ("Tourenplanung", "2025-01-13", None, 69000),
    ("Solardach", "2025-02-03", None, 310000),
    ("Artikelbilder", "2025-03-17", "2025-07-31", 15000),
    ("Nachfolge Buchhaltung", "2025-05-05", "2025-11-28", 12000),
    ("Leichtere Kartons", "2025-06-16", None, 28000),
    ("Sprachkurs im Lager", "2025-09-01", None, 9000),
)
_WORK = (9, 14, 6, 16, 5, 3, 4, 8, 10, 7, 4, 2, 3, 2)
_FAIRS = (
    ("Frankfurter Haustage", "Frankfurt", "2024-02-02", 5, 64, 38400.0),
    ("Kölner Gartenschau", "Köln", "2024-06-09", 3, 48, 22900.0),
    ("Nürnberger Spielwoche", "Nürnberg", "2024-01-30", 5, 36, 31200.0),
    ("Hausmesse im Zentrallager", "Köln", "2024-09-14", 2, 120, 9800.0),
    ("Tierwelt Leipzig", "Leipzig", "2024-10-18", 3, 24, 14700.0),
    ("Frankfurter Haustage", "Frankfurt", "2025-02-07", 5, 72, 42100.0),
    ("Kölner Gartenschau", "Köln", "2025-06-15", 3, 48, 24300.0),
    ("Hausmesse im Zentrallager", "Köln", "2025-09-13", 2, 140, 11250.0),
    ("Werkzeugforum Essen", "Essen", "2025-11-05", 3, 30, 17600.0),
)


def materialwirtschaft_artikelverwaltung_handelsware_stammdaten_artikel(draw: Draw, made: Made) -> Iterator[Row]:
    for number, (name, group, price, weight, _) in enumerate(names("products"), 1):
        yield {
            "id": number,
            "artikel_name": name,
            "waren_grp": group,
            "listen_preis_eur": round(price * draw.pick((0.54, 0.58, 0.61, 0.66)), 2),
            "gewicht_kg": weight,
            "karton_stk": 1 if weight > 7 else draw.weighted({6: 3, 12: 5, 24: 3}),
            "aufgenommen_am": draw.day("2016-01-01", "2024-10-31"),
        }


def materialwirtschaft_beschaffung_lieferantenverwaltung_lieferanten_stamm(draw: Draw, made: Made) -> Iterator[Row]:
    for number, (name, country, _) in enumerate(_SUPPLIERS, 1):
        yield {"id": number, "lieferant_name": name, "land_name": country,
               "partner_seit": draw.day("2009-01-01", "2024-03-31")}


def materialwirtschaft_lagerverwaltung_zentrallager_lagerplaetze_stamm(draw: Draw, made: Made) -> Iterator[Row]:
    number = 0
    for kind, places in _PLACES.items():
        hall, load = _HALLS[kind]
        for place in range(places):
            number += 1
            code = f"{kind[0]}-{1 + place // 8:02d}-{1 + place % 8:02d}"
            yield {"id": number, "platz_kz": code, "halle_name": hall, "platz_art": kind, "trag_last_kg": load}


def vertriebssteuerung_aussendienst_freie_handelsvertreter_stammdaten(draw: Draw, made: Made) -> Iterator[Row]:
    people = _people(draw, len(_AGENTS))
    for number, ((area, share), person) in enumerate(zip(_AGENTS, people, strict=True), 1):
        yield {"id": number, "vertreter_name": person, "gebiet_name": area, "provision_pct": share,
               "taetig_seit": draw.day("2008-01-01", "2023-12-31")}


def _people(draw: Draw, number: int) -> list[str]:
    """So many different names."""
    found: dict[str, None] = {}
    while len(found) < number:
        found[draw.person()] = None
    return list(found)


def vertriebssteuerung_kundenverwaltung_gewerbliche_abnehmer_stammdaten(draw: Draw, made: Made) -> Iterator[Row]:
    for number, name in enumerate(_shuffled(draw, [*names("firms"), *_MORE_FIRMS]), 1):
        branch = _branch(name)
        yield {
            "id": number,
            "firma_name": name,
            "sitz_ort": draw.skewed(names("towns")),
            "branche_name": branch,
            "kunde_seit": draw.day("2012-01-01", "2024-06-30"),
            "ziel_tage": draw.weighted({14: 4, 30: 5, 60: 1} if branch == "Einzelhandel" else {14: 6, 30: 2, 8: 2}),
            "kredit_limit_eur": draw.maybe(0.83, 2500 * draw.between(1, 12)),
            "grund_rabatt_pct": draw.weighted({0: 5, 3: 4, 5: 3, 8: 1}),
            "vertreter_nr": draw.skewed(made[AGENTS])["id"],
        }


def _shuffled(draw: Draw, values: list[str]) -> list[str]:
    left = list(values)
    return [left.pop(draw.below(len(left))) for _ in values]


def _branch(name: str) -> str:
    lowered = name.lower()
    return next((trade for stems, trade in _BRANCHES if any(s in lowered for s in stems.split("|"))), "Dienstleistung")


def personalverwaltung_aufbauorganisation_abteilungen_der_zentrale_stamm(draw: Draw, made: Made) -> Iterator[Row]:
    for number, name in enumerate(_DEPARTMENTS, 1):
        yield {"id": number, "abteilung_name": name, "gebaeude_kz": "H1" if name in ("Lager", "Versand") else "V2"}


def rechnungswesen_kostenrechnung_kostenstellen_mit_jahresbudget_stamm(draw: Draw, made: Made) -> Iterator[Row]:
    department = {row["abteilung_name"]: row["id"] for row in made[DEPARTMENTS]}
    for number, (name, belongs, thousands) in enumerate(_COST_CENTRES, 1):
        yield {"id": number, "kst_name": name, "abteilung_nr": department[belongs],
               "jahres_budget_eur": thousands * 1000}


def rechnungswesen_finanzbuchhaltung_hauptbuch_sachkonten_stammdaten(draw: Draw, made: Made) -> Iterator[Row]:
    for number, (code, name, kind, _) in enumerate(_ACCOUNTS, 1):
        yield {"id": number, "konto_kz": code, "konto_name": name, "konto_art": kind}


def personalverwaltung_beschaeftigte_arbeitsverhaeltnisse_stammdaten(draw: Draw, made: Made) -> Iterator[Row]:
    people = iter(_people(draw, sum(_DEPARTMENTS.values())))
    number = 0
    for department in made[DEPARTMENTS]:
        name = department["abteilung_name"]
        for place in range(_DEPARTMENTS[name]):
            number += 1
            hired = draw.day("2006-01-01", "2025-03-31", {9: 3.0, 4: 1.6})
            gone = draw.maybe(0.24, draw.day("2024-04-01", LAST))
            yield {
                "id": number,
                "person_name": next(people),
                "abteilung_nr": department["id"],
                "stellung_name": "Abteilungsleitung" if place == 0 else draw.weighted(_JOBS.get(name, _OFFICE)),
                "eingestellt_am": hired,
                "ausgeschieden_am": gone if place and gone and gone > later(hired, 120) else None,
                "wochen_std": draw.weighted({38.5: 7, 30.0: 2, 20.0: 2}),
            }


def _here(made: Made, department: str) -> list[Row]:
    """Who works in a department and is still there; its head comes last."""
    number = next(row["id"] for row in made[DEPARTMENTS] if row["abteilung_name"] == department)
    people = [p for p in made[STAFF] if p["abteilung_nr"] == number and p["ausgeschieden_am"] is None]
    return sorted(people, key=lambda person: person["stellung_name"] == "Abteilungsleitung")


def _on_duty(draw: Draw, people: list[Row], day: str) -> Row:
    """One of them who had begun by that day, or the first one."""
    present = [person for person in people if person["eingestellt_am"] <= day]
    return draw.skewed(present or people[:1])


def personalverwaltung_entgeltabrechnung_gehaltsvereinbarungen_verlauf(draw: Draw, made: Made) -> Iterator[Row]:
    number = 0
    for person in made[STAFF]:
        pay = draw.between(22, 34) * 100 + {"Abteilungsleitung": 2100, "Geschäftsführung": 2600}.get(
            person["stellung_name"], 0) + {"Teamleitung": 600, "Auszubildende": -1200}.get(person["stellung_name"], 0)
        since = person["eingestellt_am"]
        while since < (person["ausgeschieden_am"] or LAST):
            number += 1
            group = next(name for most, name in _GROUPS if pay < most)
            yield {"id": number, "personal_nr": person["id"], "gueltig_ab": since, "brutto_eur": pay,
                   "gehalts_grp": group}
            since, pay = later(since, 365 * draw.between(4, 12)), pay + draw.pick((90, 120, 180, 260))


def personalverwaltung_abwesenheiten_urlaub_und_krankheit_bewegungen(draw: Draw, made: Made) -> Iterator[Row]:
    number = 0
    while number < 165:
        person = draw.skewed(made[STAFF])
        kind = draw.weighted(_ABSENCES)
        day = draw.day(FIRST, "2025-12-12", {2: 2.0, 11: 1.5} if kind == "Krankheit" else {7: 2.4, 8: 2.2, 12: 1.4})
        length = {"Urlaub": draw.between(2, 15), "Krankheit": draw.skewed(range(2, 24)), "Elternzeit": 60}.get(kind, 1)
        end = later(day, length - 1)
        if person["eingestellt_am"] <= day and end <= (person["ausgeschieden_am"] or LAST):
            number += 1
            asked = kind != "Krankheit" and draw.chance(0.93)
            yield {"id": number, "personal_nr": person["id"], "abwesen_art": kind, "beginn_am": day, "ende_am": end,
                   "tage_anz": length, "genehmigt_am": later(day, -draw.between(7, 90)) if asked else None}


def personalverwaltung_weiterbildung_schulungskatalog_kursangebote_stamm(draw: Draw, made: Made) -> Iterator[Row]:
    for number, (title, seller, fee, days) in enumerate(_COURSES, 1):
        yield {"id": number, "kurs_titel": title, "anbieter_name": seller, "gebuehr_eur": fee, "dauer_tage": days}


def personalverwaltung_weiterbildung_schulungsteilnahmen_beschaeftigte(draw: Draw, made: Made) -> Iterator[Row]:
    department = {row["id"]: row["abteilung_name"] for row in made[DEPARTMENTS]}
    for number in range(1, 116):
        person = draw.skewed(made[STAFF])
        fitting = _COURSE_OF.get(department[person["abteilung_nr"]], (4, 11, 9, 2))
        first, last = max(FIRST, person["eingestellt_am"]), person["ausgeschieden_am"] or LAST
        day = draw.day(first, last, {1: 1.7, 2: 1.8, 8: 0.4, 12: 0.3})
        exam = draw.chance(0.78)
        yield {"id": number, "kurs_nr": 1 + draw.skewed(fitting), "personal_nr": person["id"], "termin_am": day,
               "bestanden_jn": None if not exam else "ja" if draw.chance(0.84) else "nein"}


def fuhrparkverwaltung_eigene_fahrzeuge_zulassung_und_nutzer_stammdaten(draw: Draw, made: Made) -> Iterator[Row]:
    number = 0
    drivers, bosses = _here(made, "Fuhrpark"), [p for p in made[STAFF] if p["stellung_name"] == "Abteilungsleitung"]
    for kind, (many, load, spread) in _VEHICLES.items():
        for _ in range(many):
            number += 1
            user = draw.pick(bosses if kind in ("Kombi", "Limousine") else drivers)
            yield {
                "id": number,
                "kenn_zeichen": f"K-{draw.pick('ABDEHKLM')}{draw.pick('NPRSTVX')} {100 + number * 7}",
                "fahrzeug_art": kind,
                "zulassung_am": draw.day("2016-01-01", "2025-08-31"),
                "nutzlast_kg": 10 * int(draw.around(load, spread, 0) / 10),
                "personal_nr": draw.maybe({"Limousine": 1.0, "Kombi": 0.8}.get(kind, 0.45), user["id"]),
            }


def fuhrparkverwaltung_eigene_fahrzeuge_tagestouren_ab_lager_bewegungen(draw: Draw, made: Made) -> Iterator[Row]:
    drivers = _here(made, "Fuhrpark")
    for number in range(1, 166):
        vehicle = draw.skewed([v for v in made[VEHICLES] if v["fahrzeug_art"] in ("Lkw", "Transporter")])
        day = _workday(draw, max(FIRST, vehicle["zulassung_am"]), LAST)
        full = draw.between(28, 72) + draw.between(0, 28)
        yield {"id": number, "fahrzeug_nr": vehicle["id"], "personal_nr": _on_duty(draw, drivers, day)["id"],
               "tour_am": day, "strecke_km": draw.between(30, 140) + draw.between(0, 190),
               "stopp_anz": draw.between(2, 8) + draw.between(0, 6),
               "zuladung_kg": vehicle["nutzlast_kg"] * full // 100}


def _workday(draw: Draw, first: str, last: str) -> str:
    """A day from Monday to Friday, as busy as its month."""
    while weekday(day := draw.day(first, last, _TRADE)) > 4:
        pass
    return day


def lagertechnik_flurfoerderzeuge_gabelstapler_und_hubwagen_stammdaten(draw: Draw, made: Made) -> Iterator[Row]:
    for number in range(1, 13):
        kind, drive, load = draw.skewed(_TRUCKS)
        yield {"id": number, "geraete_kz": f"S{100 + number}", "bauart_name": kind, "antrieb_art": drive,
               "baujahr_zahl": draw.between(2011, 2024), "trag_kraft_kg": load}


def lagertechnik_flurfoerderzeuge_einsatzprotokoll_je_schicht_bewegungen(draw: Draw, made: Made) -> Iterator[Row]:
    people = [p for p in _here(made, "Lager") if p["stellung_name"] in ("Staplerführung", "Lagermeister")]
    for number in range(1, 121):
        day = _workday(draw, FIRST, LAST)
        yield {"id": number, "stapler_nr": draw.skewed(made[TRUCKS])["id"],
               "personal_nr": _on_duty(draw, people or _here(made, "Lager"), day)["id"], "einsatz_am": day,
               "einsatz_std": draw.between(2, 15) / 2}


def materialwirtschaft_beschaffung_einkaufskonditionen_je_bezugsquelle(draw: Draw, made: Made) -> Iterator[Row]:
    number = 0
    brand = {name: maker for name, _, _, _, maker in names("products")}
    for article in made[ARTICLES]:
        usual = [n for n, (name, _, _) in enumerate(_SUPPLIERS, 1) if name == brand[article["artikel_name"]]]
        other = [n for n, (_, _, group) in enumerate(_SUPPLIERS, 1)
                 if group == article["waren_grp"] and n not in usual and draw.chance(0.45)]
        for supplier in usual + other:
            number += 1
            price = article["listen_preis_eur"] * draw.between(52, 76) / 100
            yield {"id": number, "lieferant_nr": supplier, "artikel_nr": article["id"], "preis_eur": round(price, 2),
                   "gueltig_ab": draw.day("2023-01-01", "2025-09-30", {1: 4.0}),
                   "mindest_stk": draw.weighted({50: 4, 100: 4, 250: 3, 500: 1})}


def materialwirtschaft_beschaffung_order_an_vorlieferanten_kopfdaten(draw: Draw, made: Made) -> Iterator[Row]:
    buyers = _here(made, "Einkauf")
    for number in range(1, 131):
        supplier = made[SUPPLIERS][draw.skewed(made[TERMS])["lieferant_nr"] - 1]
        day = _workday(draw, FIRST, "2025-12-19")
        far = supplier["land_name"] in _DUTY
        yield {"id": number, "lieferant_nr": supplier["id"], "personal_nr": _on_duty(draw, buyers, day)["id"],
               "geordert_am": day, "termin_am": later(day, draw.between(35, 70) if far else draw.between(5, 24))}


def materialwirtschaft_beschaffung_order_an_vorlieferanten_positionen(draw: Draw, made: Made) -> Iterator[Row]:
    number = 0
    for order in made[SUPPLY_ORDERS]:
        terms = [term for term in made[TERMS] if term["lieferant_nr"] == order["lieferant_nr"]]
        for _ in range(draw.weighted({1: 45, 2: 32, 3: 23})):
            number += 1
            term = draw.skewed(terms)
            price = round(term["preis_eur"] * draw.weighted({100: 7, 98: 2, 95: 1}) / 100, 2)
            yield {"id": number, "order_nr": order["id"], "artikel_nr": term["artikel_nr"],
                   "menge_stk": term["mindest_stk"] * draw.weighted({1: 6, 2: 3, 3: 1}), "einkauf_preis_eur": price}


def materialwirtschaft_chargenverwaltung_herstellung_und_haltbarkeit(draw: Draw, made: Made) -> Iterator[Row]:
    goods = [a for a in made[ARTICLES] if a["waren_grp"] in ("Tierbedarf", "Küche", "Schreibwaren", "Garten")]
    for number in range(1, 151):
        article = draw.skewed(goods[::-1])
        day = draw.day("2023-07-01", "2025-10-31")
        keeps = article["waren_grp"] == "Tierbedarf" and article["artikel_name"].split()[0] in _PERISHABLE
        yield {"id": number, "artikel_nr": article["id"],
               "chargen_kz": f"{day[2:4]}{day[5:7]}-{draw.pick('KLMN')}{100 + number}", "hergestellt_am": day,
               "haltbar_bis": later(day, draw.between(240, 900)) if keeps else None}


def materialwirtschaft_lagerverwaltung_wareneingang_rampe_bewegungen(draw: Draw, made: Made) -> Iterator[Row]:
    number = 0
    for line in made[SUPPLY_LINES]:
        order = made[SUPPLY_ORDERS][line["order_nr"] - 1]
        day = later(order["termin_am"], draw.weighted({0: 40, 1: 17, 2: 12, 5: 8, 9: 4, -1: 14, 16: 2}))
        if day <= LAST and draw.chance(0.96):
            number += 1
            short = draw.weighted({100: 88, 90: 7, 75: 4, 50: 1})
            amount = line["menge_stk"] * short // 100
            batches = [b for b in made[BATCHES] if b["artikel_nr"] == line["artikel_nr"] and b["hergestellt_am"] < day]
            weight = made[ARTICLES][line["artikel_nr"] - 1]["gewicht_kg"] * amount
            yield {"id": number, "order_nr": order["id"], "artikel_nr": line["artikel_nr"],
                   "platz_nr": draw.skewed(made[PLACES])["id"], "charge_nr": batches[-1]["id"] if batches else None,
                   "eingang_am": day, "menge_stk": amount, "paletten_anz": 1 + int(weight / 280)}


def materialwirtschaft_lagerverwaltung_zentrallager_platzbelegung_aktuell(draw: Draw, made: Made) -> Iterator[Row]:
    number = 0
    for place in made[PLACES]:
        for _ in range(draw.weighted({0: 14, 1: 60, 2: 26} if place["platz_art"] != "Sperrgut" else {1: 1})):
            number += 1
            heavy = [a for a in made[ARTICLES] if (a["gewicht_kg"] > 3) == (place["platz_art"] == "Sperrgut")]
            article = draw.skewed(heavy)
            yield {"id": number, "platz_nr": place["id"], "artikel_nr": article["id"],
                   "eingelagert_am": draw.day("2025-02-01", "2025-12-30", {11: 2.0, 10: 1.6}),
                   "menge_stk": article["karton_stk"] * draw.between(1, 28)}


def qualitaetssicherung_warenpruefung_stichproben_aus_anlieferungen(draw: Draw, made: Made) -> Iterator[Row]:
    number = 0
    testers = _here(made, "Qualitätssicherung")
    for arrival in made[ARRIVALS]:
        day = later(arrival["eingang_am"], draw.weighted({0: 5, 1: 4, 3: 1}))
        if draw.chance(0.62) and day <= LAST:
            number += 1
            order = made[SUPPLY_ORDERS][arrival["order_nr"] - 1]
            far = made[SUPPLIERS][order["lieferant_nr"] - 1]["land_name"] in _DUTY
            sample = min(arrival["menge_stk"], draw.weighted({10: 4, 20: 5, 50: 2}))
            bad = min(sample, draw.skewed(range(15 if far else 5), 2))
            grade = "gesperrt" if bad * 8 > sample else "mit Auflage" if bad else "frei"
            yield {"id": number, "eingang_nr": arrival["id"], "personal_nr": _on_duty(draw, testers, day)["id"],
                   "geprueft_am": day, "probe_stk": sample, "ausschuss_stk": bad, "ergebnis_art": grade}


def aussenhandelsabwicklung_importe_einfuhranmeldungen_und_abgaben(draw: Draw, made: Made) -> Iterator[Row]:
    far = [supplier for supplier in made[SUPPLIERS] if supplier["land_name"] in _DUTY]
    for number in range(1, 63):
        supplier = draw.skewed(far)
        worth = round(draw.between(1800, 9000) + draw.between(0, 14000) + draw.between(0, 99) / 100, 2)
        yield {"id": number, "lieferant_nr": supplier["id"], "angemeldet_am": draw.day(FIRST, LAST, _TRADE),
               "ursprung_land": supplier["land_name"], "einfuhr_ort": draw.weighted(_PORTS), "waren_wert_eur": worth,
               "abgabe_eur": round(worth * _DUTY[supplier["land_name"]], 2)}


def materialwirtschaft_inventurverwaltung_zaehlung_zentrallager_kopfdaten(draw: Draw, made: Made) -> Iterator[Row]:
    leaders = _here(made, "Lager")
    days = {"2024-06-29": "Zwischenzählung", "2024-12-30": "Jahresende", "2025-06-28": "Zwischenzählung",
            "2025-12-30": "Jahresende"}
    for number, (day, occasion) in enumerate(days.items(), 1):
        yield {"id": number, "stichtag_am": day, "anlass_art": occasion, "personal_nr": leaders[-1]["id"]}


def materialwirtschaft_inventurverwaltung_zaehlung_zentrallager_positionen(draw: Draw, made: Made) -> Iterator[Row]:
    number = 0
    for count in made[COUNTS]:
        for place in made[PLACES]:
            if draw.chance(0.42 if count["anlass_art"] == "Jahresende" else 0.2):
                number += 1
                wanted = draw.between(2, 40) * draw.weighted({6: 3, 12: 4, 24: 1})
                gap = draw.weighted({0: 52, -1: 11, -2: 8, -5: 7, -9: 5, -14: 3, -23: 2, 1: 6, 3: 4, 8: 2})
                yield {"id": number, "inventur_nr": count["id"], "artikel_nr": draw.skewed(made[ARTICLES])["id"],
                       "platz_nr": place["id"], "soll_stk": wanted, "ist_stk": wanted + gap}


def vertriebssteuerung_angebotswesen_angebote_an_gewerbekunden_kopfdaten(draw: Draw, made: Made) -> Iterator[Row]:
    sellers = _here(made, "Vertriebsinnendienst")
    for number in range(1, 121):
        firm = draw.skewed(made[FIRMS])
        day = _workday(draw, max(FIRST, firm["kunde_seit"]), LAST)
        asked = draw.weighted({"angenommen": 52, "abgelehnt": 29, "verfallen": 12})
        yield {"id": number, "firma_nr": firm["id"], "personal_nr": _on_duty(draw, sellers, day)["id"],
               "angebot_am": day, "gueltig_bis": later(day, draw.weighted({14: 2, 30: 6, 60: 2})),
               "summe_eur": round(draw.between(120, 1400) + draw.between(0, 5200) + draw.between(0, 99) / 100, 2),
               "ausgang_art": None if later(day, 40) > LAST else draw.maybe(0.95, asked)}


def vertriebssteuerung_angebotswesen_angebote_an_gewerbekunden_positionen(draw: Draw, made: Made) -> Iterator[Row]:
    number = 0
    for offer in made[OFFERS]:
        for _ in range(draw.weighted({1: 48, 2: 30, 3: 22})):
            number += 1
            article = draw.skewed(made[ARTICLES])
            yield {"id": number, "angebot_nr": offer["id"], "artikel_nr": article["id"],
                   "menge_stk": _amount(draw, article), "stueck_preis_eur": article["listen_preis_eur"],
                   "rabatt_pct": draw.weighted({0: 20, 5: 30, 10: 28, 15: 14, 20: 8})}


def _amount(draw: Draw, article: Row) -> int:
    """Whole cartons, more of them the cheaper the goods."""
    return article["karton_stk"] * (1 + draw.skewed(range(4 if article["listen_preis_eur"] > 40 else 10)))


def vertriebssteuerung_rahmenvertraege_mit_vereinbarter_abnahmemenge(draw: Draw, made: Made) -> Iterator[Row]:
    for number in range(1, 39):
        begin, end = draw.pick(_FRAMES)
        article = draw.skewed([a for a in made[ARTICLES] if a["listen_preis_eur"] < 60])
        yield {"id": number, "firma_nr": draw.skewed(made[FIRMS])["id"], "artikel_nr": article["id"],
               "beginn_am": begin, "ende_am": end,
               "abnahme_stk": article["karton_stk"] * 10 * draw.between(2, 15),
               "rabatt_pct": draw.weighted({8: 2, 10: 4, 12: 3, 15: 3, 18: 1})}


def vertriebssteuerung_auftragsabwicklung_gewerbekunden_kopfdaten(draw: Draw, made: Made) -> Iterator[Row]:
    for number in range(1, 306):
        firm = draw.skewed(made[FIRMS])
        day = _workday(draw, max(FIRST, firm["kunde_seit"]), LAST)
        running = [f for f in made[FRAMES] if f["firma_nr"] == firm["id"] and f["beginn_am"] <= day <= f["ende_am"]]
        yield {"id": number, "firma_nr": firm["id"],
               "rahmen_nr": draw.pick(running)["id"] if running and draw.chance(0.6) else None, "auftrag_am": day,
               "wunsch_am": draw.maybe(0.64, later(day, draw.between(3, 21))), "dringlich_art": draw.weighted(_WANTED)}


def vertriebssteuerung_auftragsabwicklung_gewerbekunden_positionen(draw: Draw, made: Made) -> Iterator[Row]:
    number = 0
    for order in made[ORDERS]:
        frame = made[FRAMES][order["rahmen_nr"] - 1] if order["rahmen_nr"] else None
        usual = made[FIRMS][order["firma_nr"] - 1]["grund_rabatt_pct"]
        for place in range(draw.weighted({1: 42, 2: 29, 3: 19, 4: 10})):
            number += 1
            called = frame is not None and place == 0
            article = made[ARTICLES][frame["artikel_nr"] - 1] if frame and called else _ware(draw, made, order)
            off = frame["rabatt_pct"] if frame and called else usual + draw.weighted({0: 60, 5: 24, 10: 12, 15: 4})
            amount, price = _amount(draw, article), article["listen_preis_eur"]
            yield {"id": number, "auftrag_nr": order["id"], "artikel_nr": article["id"], "menge_stk": amount,
                   "stueck_preis_eur": price, "rabatt_pct": off,
                   "posten_eur": round(amount * price * (100 - off) / 100, 2)}


def _ware(draw: Draw, made: Made, order: Row) -> Row:
    """Shops stock up ahead of the season, and each branch has its goods."""
    branch, month = made[FIRMS][order["firma_nr"] - 1]["branche_name"], order["auftrag_am"][5:7]
    liked = {"Gastronomie": ("Küche", "Wohnen"), "Bildung": ("Spielwaren", "Sport", "Schreibwaren"),
             "Handwerk": ("Werkzeug", "Garten"), "Pflege": ("Wohnen", "Küche")}.get(branch)
    season = {"Garten": "02 03 04 05", "Spielwaren": "09 10 11", "Sport": "03 04 05 06"}
    while True:
        article = draw.skewed(made[ARTICLES])
        group = article["waren_grp"]
        fits = (liked is None or group in liked or draw.chance(0.2)) and not (group == "Sport" and branch == "Pflege")
        if fits and (group not in season or month in season[group] or draw.chance(0.4)):
            return article


def rechnungswesen_debitorenbuchhaltung_ausgangsrechnungen_kopfdaten(draw: Draw, made: Made) -> Iterator[Row]:
    number, clerks = 0, _here(made, "Buchhaltung")
    totals: dict[int, float] = {}
    for line in made[ORDER_LINES]:
        totals[line["auftrag_nr"]] = totals.get(line["auftrag_nr"], 0.0) + line["posten_eur"]
    for order in made[ORDERS]:
        day = later(order["auftrag_am"], draw.weighted({1: 3, 2: 5, 4: 6, 7: 4, 11: 2, 18: 1}))
        if day <= LAST and draw.chance(0.97):
            number += 1
            firm = made[FIRMS][order["firma_nr"] - 1]
            amount = round(totals[order["id"]], 2)
            yield {"id": number, "firma_nr": firm["id"], "auftrag_nr": order["id"],
                   "personal_nr": _on_duty(draw, clerks, day)["id"], "rechnung_am": day, "betrag_eur": amount,
                   **_payment(draw, firm, day, amount)}


def _payment(draw: Draw, firm: Row, day: str, amount: float) -> Row:
    """When it is due and when it was paid; whoever pays within eight days takes two per cent off."""
    fast = draw.chance(0.24)
    slow = 9 if firm["branche_name"] in ("Gastronomie", "Handwerk") else 0
    took = draw.between(3, 8) if fast else firm["ziel_tage"] + slow + draw.weighted(
        {-5: 3, -1: 6, 0: 6, 4: 4, 12: 3, 30: 2, 55: 1})
    paid = later(day, max(9, took) if not fast else took)
    settled = paid <= LAST and draw.chance(0.96)
    return {"faellig_am": later(day, firm["ziel_tage"]), "skonto_eur": round(amount * 0.02, 2) if fast and settled
            else None, "bezahlt_am": paid if settled else None}


def rechnungswesen_debitorenbuchhaltung_ausgangsrechnungen_positionen(draw: Draw, made: Made) -> Iterator[Row]:
    number = 0
    invoice = {row["auftrag_nr"]: row["id"] for row in made[INVOICES]}
    for line in made[ORDER_LINES]:
        if line["auftrag_nr"] in invoice:
            number += 1
            weight = made[ARTICLES][line["artikel_nr"] - 1]["gewicht_kg"]
            yield {"id": number, "rechnung_nr": invoice[line["auftrag_nr"]], "artikel_nr": line["artikel_nr"],
                   "menge_stk": line["menge_stk"], "stueck_preis_eur": line["stueck_preis_eur"],
                   "rabatt_pct": line["rabatt_pct"], "posten_eur": line["posten_eur"],
                   "posten_kg": round(weight * line["menge_stk"], 2)}


def rechnungswesen_debitorenbuchhaltung_mahnwesen_mahnungen_bewegungen(draw: Draw, made: Made) -> Iterator[Row]:
    number, clerks = 0, _here(made, "Buchhaltung")
    for invoice in made[INVOICES]:
        day = later(invoice["faellig_am"], draw.between(3, 9))
        for level, fee in _FEES.items():
            if day > LAST or day >= (invoice["bezahlt_am"] or LAST) or not draw.chance(0.93):
                break
            number += 1
            yield {"id": number, "rechnung_nr": invoice["id"], "personal_nr": _on_duty(draw, clerks, day)["id"],
                   "mahn_stufe": level, "gemahnt_am": day, "gebuehr_eur": fee}
            day = later(day, draw.between(9, 16))


def vertriebssteuerung_kundendienst_beschwerden_gewerbekunden_vorgaenge(draw: Draw, made: Made) -> Iterator[Row]:
    sellers = _here(made, "Vertriebsinnendienst")
    for number in range(1, 151):
        line = draw.pick(made[ORDER_LINES])
        order = made[ORDERS][line["auftrag_nr"] - 1]
        day = min(later(order["auftrag_am"], draw.between(5, 34)), LAST)
        done = draw.maybe(0.88, until(later(day, draw.between(1, 9) + draw.skewed(range(40))), LAST))
        amount = min(line["menge_stk"], 1 + draw.skewed(range(18)))
        worth = round(amount * line["stueck_preis_eur"] * draw.weighted({100: 5, 50: 3, 30: 1}) / 100, 2)
        yield {"id": number, "firma_nr": order["firma_nr"], "artikel_nr": line["artikel_nr"],
               "personal_nr": _on_duty(draw, sellers, day)["id"], "eingang_am": day,
               "grund_name": draw.weighted(_FAULTS), "menge_stk": amount, "erledigt_am": done,
               "gutschrift_eur": draw.maybe(0.7, worth) if done else None}


def versandlogistik_frachtfuehrer_beauftragte_speditionen_stammdaten(draw: Draw, made: Made) -> Iterator[Row]:
    for number, (name, town) in enumerate(_CARRIERS, 1):
        yield {"id": number, "spedition_name": name, "ort_name": town}


def versandlogistik_frachtfuehrer_frachtbriefe_je_auftrag_bewegungen(draw: Draw, made: Made) -> Iterator[Row]:
    number = 0
    weights: dict[int, float] = {}
    for line in made[ORDER_LINES]:
        mass = made[ARTICLES][line["artikel_nr"] - 1]["gewicht_kg"] * line["menge_stk"]
        weights[line["auftrag_nr"]] = weights.get(line["auftrag_nr"], 0.0) + mass
    for order in made[ORDERS]:
        day = later(order["auftrag_am"], draw.weighted({1: 4, 2: 5, 4: 4, 8: 2}))
        if day <= LAST and draw.chance(0.83):
            number += 1
            weight = round(weights[order["id"]] * 1.06 + 9, 1)
            there = later(day, draw.weighted({1: 50, 2: 28, 3: 12, 5: 6, 9: 2}))
            yield {"id": number, "spedition_nr": draw.skewed(made[CARRIERS])["id"], "auftrag_nr": order["id"],
                   "verladen_am": day, "angekommen_am": there if there <= LAST and draw.chance(0.97) else None,
                   "gewicht_kg": weight, "fracht_eur": round(28 + weight * draw.between(14, 27) / 100, 2),
                   "paletten_anz": 1 + int(weight / 160), "schaden_jn": "ja" if draw.chance(0.09) else "nein"}


def versandlogistik_ladungstraeger_palettenkonto_je_abnehmer_bewegungen(draw: Draw, made: Made) -> Iterator[Row]:
    for number in range(1, 156):
        out = draw.weighted({0: 20, 1: 25, 2: 22, 4: 14, 6: 10, 10: 6})
        back = draw.weighted({0: 44, 1: 24, 2: 18, 4: 9, 8: 3})
        yield {"id": number, "firma_nr": draw.skewed(made[FIRMS])["id"],
               "bewegung_am": _workday(draw, FIRST, LAST), "traeger_art": draw.weighted(_BEARERS),
               "ausgegeben_anz": out if out + back else 1, "zurueck_anz": back}


def rechnungswesen_finanzbuchhaltung_hauptbuch_buchungsjournal_zeilen(draw: Draw, made: Made) -> Iterator[Row]:
    weights = {number: often for number, (_, _, _, often) in enumerate(_ACCOUNTS, 1)}
    for number in range(1, 301):
        account = made[ACCOUNTS][draw.weighted(weights) - 1]
        least, step = _AMOUNTS.get(account["konto_name"], (45, 11))
        yield {"id": number, "konto_nr": account["id"], "kst_nr": draw.skewed(made[COST_CENTRES])["id"],
               "gebucht_am": draw.day(FIRST, LAST, {12: 1.5, 1: 1.3}),
               "betrag_eur": round(least + step * draw.between(1, 130) + draw.between(0, 99) / 100, 2),
               "beleg_art": draw.weighted({"Eingangsbeleg": 58, "Umbuchung": 22, "Kassenbeleg": 8, "Gutschrift": 12})}


def rechnungswesen_anlagenbuchhaltung_anlagegueter_mit_restwerten_stamm(draw: Draw, made: Made) -> Iterator[Row]:
    for number in range(1, 73):
        kind = draw.weighted(_CLASSES)
        name, price = draw.skewed(_ASSETS[kind])
        bought = draw.day("2012-01-01", "2025-10-31")
        cost = round(price * draw.between(85, 130) / 100, 2)
        left = max(0, 100 - (2025 - int(bought[:4])) * {"EDV": 30, "Gebäude": 5, "Fuhrpark": 16}.get(kind, 11))
        yield {"id": number, "anlage_name": name, "anlagen_kl": kind, "angeschafft_am": bought, "anschaff_eur": cost,
               "rest_wert_eur": round(cost * left / 100, 2), "kst_nr": draw.skewed(made[COST_CENTRES])["id"],
               "abgang_am": draw.maybe(0.16, until(later(bought, draw.between(700, 3200)), LAST))}


def unternehmensentwicklung_interne_projekte_planung_und_budget_stamm(draw: Draw, made: Made) -> Iterator[Row]:
    leaders = [p for p in made[STAFF] if p["stellung_name"] in ("Abteilungsleitung", "Teamleitung")
               and p["ausgeschieden_am"] is None and p["eingestellt_am"] < FIRST]
    for number, (name, begin, end, budget) in enumerate(_PROJECTS, 1):
        state = "abgeschlossen" if end else "ruht" if name == "Azubiwerkstatt" else "laufend"
        yield {"id": number, "projekt_name": name, "leiter_nr": draw.skewed(leaders)["id"], "beginn_am": begin,
               "ende_am": end, "budget_eur": budget, "stand_art": state}


def unternehmensentwicklung_interne_projekte_stundenzettel_bewegungen(draw: Draw, made: Made) -> Iterator[Row]:
    weights = dict(enumerate(_WORK, 1))
    for number in range(1, 156):
        project = made[PROJECTS][draw.weighted(weights) - 1]
        day = _workday(draw, project["beginn_am"], project["ende_am"] or LAST)
        there = [p for p in made[STAFF] if p["eingestellt_am"] <= day < (p["ausgeschieden_am"] or "2026")]
        yield {"id": number, "projekt_nr": project["id"], "personal_nr": draw.skewed(there[::-1])["id"],
               "arbeits_tag": day, "arbeits_std": draw.between(2, 16) / 2}


def vertriebssteuerung_verkaufsfoerderung_fachmessen_auftritte_stamm(draw: Draw, made: Made) -> Iterator[Row]:
    for number, (name, town, begin, days, space, cost) in enumerate(_FAIRS, 1):
        yield {"id": number, "messe_name": name, "ort_name": town, "beginn_am": begin,
               "ende_am": later(begin, days - 1), "stand_qm": space, "kosten_eur": cost}


def vertriebssteuerung_verkaufsfoerderung_fachmessen_standgespraeche(draw: Draw, made: Made) -> Iterator[Row]:
    number = 0
    for fair, many in zip(made[FAIRS], (16, 9, 7, 13, 5, 18, 11, 12, 4), strict=True):
        days = (int(fair["ende_am"][8:]) - int(fair["beginn_am"][8:])) % 28
        for _ in range(many):
            number += 1
            yield {"id": number, "messe_nr": fair["id"], "firma_nr": draw.skewed(made[FIRMS][::-1])["id"],
                   "gespraech_am": later(fair["beginn_am"], draw.between(0, days)),
                   "ausgang_art": draw.weighted({"Angebot gewünscht": 34, "Auftrag erteilt": 19, "Infomaterial": 31,
                                                 "kein Interesse": 16})}


def vertriebssteuerung_aussendienst_besuchsberichte_der_handelsvertreter(draw: Draw, made: Made) -> Iterator[Row]:
    purposes = {"Neuheiten": 38, "Jahresgespräch": 17, "Reklamation": 13, "Regalpflege": 21, "Zahlungsrückstand": 11}
    for number in range(1, 131):
        firm = draw.skewed(made[FIRMS])
        agent = firm["vertreter_nr"] if draw.chance(0.85) else draw.skewed(made[AGENTS])["id"]
        yield {"id": number, "vertreter_nr": agent, "firma_nr": firm["id"],
               "besuch_am": _workday(draw, FIRST, LAST), "anlass_art": draw.weighted(purposes),
               "dauer_min": 15 * draw.between(1, 8)}
