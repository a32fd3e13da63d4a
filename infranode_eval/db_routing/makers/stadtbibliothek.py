"""Rows of stadtbibliothek: a public library with branches, titles and copies, readers, loans, holds and events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from infranode_eval.db_routing.draw import Draw, Made, Row, days_from, later, weekday

FIRST, LAST = "2024-01-01", "2025-12-31"
BRANCHES = (    # name, since, metres of shelf, seats, open hours a week, machines for self-checkout; by size
    ("Zentralbücherei", 1968, 5400, 140, 52, 6), ("Südstadt", 1974, 1650, 48, 34, 2),
    ("Lindenau", 1981, 1320, 36, 30, 2), ("Neustadt", 2011, 1180, 42, 32, 3), ("Mühlberg", 1979, 860, 22, 24, 1),
    ("Hafen", 2016, 740, 30, 28, 1), ("Bergheide", 1992, 520, 14, 18, 0), ("Bücherbus", 1987, 130, None, 21, 0))
TITLES, COPIES, READERS, LOANS, HOLDS, EVENTS = 380, 880, 430, 1650, 420, 230
WRITERS, ABROAD_WRITERS = 70, 6     # in German; in each other language

KINDS = {"Roman": 27, "Sachbuch": 21, "Bilderbuch": 13, "Hörbuch": 10, "Comic": 9, "Film": 8, "Jugendbuch": 7,
         "Brettspiel": 5}
PAGES = {"Roman": (352, 90), "Sachbuch": (228, 60), "Bilderbuch": (32, 6), "Comic": (88, 25), "Jugendbuch": (264, 60)}
AGES = {"Bilderbuch": (3, 4, 5), "Jugendbuch": (12, 14, 10), "Brettspiel": (8, 10, 6, 12), "Comic": (8, 12, 10)}
SHELVES = {"Roman": "Belletristik", "Sachbuch": "Sachgebiete", "Bilderbuch": "Kinderbereich", "Hörbuch": "Hörbar",
           "Comic": "Comicecke", "Film": "Hörbar", "Jugendbuch": "Kinderbereich", "Brettspiel": "Spielezimmer"}
PREFIXES = {"Roman": "R", "Sachbuch": "S", "Bilderbuch": "B", "Hörbuch": "H", "Comic": "C", "Film": "F",
            "Jugendbuch": "J", "Brettspiel": "P"}
FOREIGN = {"Englisch": 46, "Türkisch": 22, "Ukrainisch": 16, "Französisch": 10, "Arabisch": 6}
PUBLISHERS = ("Verlag Morgenrot", "Edition Kranich", "Lindwurm Verlag", "Verlag am Deich", "Kolibri Presse",
              "Nachtfalter Verlag", "Edition Zwiebelfisch", "Verlag Haferkamp", "Sternschnuppe Verlag",
              "Pappelhof Verlag", "Edition Tintenfass", "Weißdorn Verlag")

# Parts of titles; all put together here, none taken from a real catalogue.
ENDS = {"der": ("Garten", "Leuchtturm", "Brief", "Kompass", "Nachtzug", "Gast", "Steg", "Schlüssel", "Bernstein",
                "Holunder"),
        "die": ("Fähre", "Uhrmacherin", "Bucht", "Schwester", "Allee", "Kammer", "Lawine", "Brücke", "Ernte", "Wette"),
        "das": ("Haus", "Feld", "Versteck", "Lied", "Dorf", "Geheimnis", "Erbe", "Fenster", "Moor", "Klavier")}
STARTS = ("stille", "letzte", "blaue", "vergessene", "verlorene", "zweite", "fremde", "gläserne", "lange", "rote")
TOPICS = ("Imkern", "Stricken", "Bogenschießen", "Brotbacken", "Sternegucken", "Kanufahren", "Fermentieren", "Gärtnern",
          "Nähen", "Töpfern", "Wandern", "Fotografieren", "Schachspielen", "Kochen", "Zeichnen", "Segeln")
LESSONS = ("Grundkurs {}", "{} für alle", "{} leicht gemacht", "Handbuch {}", "Mein Jahr mit {}", "Richtig gut: {}")
HEROES = ("Igel Anton", "Ente Frieda", "Bär Bruno", "Maus Mathilda", "Fuchs Fidel", "Eule Ursel", "Dachs Damian",
          "Ziege Zilli", "Hase Henri", "Krähe Karla")
ADVENTURES = ("{} zieht um", "{} kann nicht schlafen", "{} und der Mond", "{} backt Kuchen", "{} lernt fliegen",
              "{} sagt nein", "{} im Schnee")
PLAYS = ("Inseln im Dunst", "Karawane", "Moosgeister", "Sieben Türme", "Hansekogge", "Flößer", "Wolkenpost",
         "Bergziegen",
         "Drachenmarkt", "Gleis 9", "Nebelwald", "Kapitän Pfeffer", "Salzstraße", "Irrlichter", "Wüstenbrunnen",
         "Sternhandel", "Dachgarten", "Regenmacher", "Murmelbahn Meister", "Zirkus Zampano", "Laternenfest",
         "Hafenlotsen", "Pilzsucher", "Burgfräulein")
ABROAD = {
    "Englisch": (("The Silent", "A Distant", "The Last", "Beyond the", "The Crooked", "Under a", "The Winter"),
                 ("Harbour", "Orchard", "Lighthouse", "Letter", "Garden", "River", "Stairway")),
    "Türkisch": (("Mavi", "Eski", "Sessiz", "Uzak", "Son"), ("Deniz", "Köprü", "Bahçe", "Mektup", "Tren")),
    "Ukrainisch": (("Tychyj", "Ostannij", "Synij", "Staryj"), ("Sad", "Lyst", "Mlyn", "Kray", "Potjah")),
    "Französisch": (("Le vieux", "Le dernier", "Un petit", "Le grand"), ("jardin", "phare", "pont", "voyage")),
    "Arabisch": (("Bayt", "Tariq", "Hikayat"), ("al-Bahr", "al-Qamar", "al-Madina"))}

GROUPS = {"Kind": 27, "Jugendlicher": 13, "Erwachsener": 48, "Rentner": 12}
CARDS = {"Kind": {"Kinderausweis": 8, "Familienausweis": 2},
         "Jugendlicher": {"Schülerausweis": 8, "Familienausweis": 2},
         "Erwachsener": {"Einzelausweis": 6, "Familienausweis": 3, "Kurzausweis": 1},
         "Rentner": {"Einzelausweis": 8, "Kurzausweis": 2}}
BLOCKS = {"Verlust": 45, "offene Gebühren": 35, "Missbrauch": 8, "verzogen": 12}
LOAN_DAYS = {"Film": 14, "Brettspiel": 14, "Comic": 14}      # everything else: LONG_LOAN
LONG_LOAN = 28
LATEST = 60
LONGEST = 4 * LONG_LOAN + LATEST
CLOSED = ("01-01", "05-01", "10-03", "12-24", "12-25", "12-26", "12-31")
SEASON = {1: 1.3, 2: 1.2, 6: 0.8, 7: 1.4, 8: 0.7, 11: 1.2, 12: 1.1}
WISHES = {"Vorlesestunde": 32, "Bilderbuchkino": 18, "Autorenlesung": 15, "Lesekreis": 14, "Spielenachmittag": 12,
          "Schreibwerkstatt": 9}
STARTING = {"Vorlesestunde": ("15:30", "16:00"), "Bilderbuchkino": ("10:00", "16:30"),
            "Autorenlesung": ("19:30", "20:00"), "Lesekreis": ("18:00", "18:30"),
            "Spielenachmittag": ("15:00", "14:30"), "Schreibwerkstatt": ("17:00", "10:30")}
GUESTS = {"Vorlesestunde": (17, 5), "Bilderbuchkino": (27, 6), "Autorenlesung": (46, 16), "Lesekreis": (11, 3),
          "Spielenachmittag": (19, 5), "Schreibwerkstatt": (10, 2)}
PLACES = {"Autorenlesung": 80, "Bilderbuchkino": 35, "Schreibwerkstatt": 12}


def zweig_stamm(draw: Draw, made: Made) -> Iterator[Row]:
    names = ("haus_name", "seit_jahr", "regal_laenge_m", "platz_zahl", "offen_std", "automat_zahl")
    for number, branch in enumerate(BRANCHES, 1):
        yield {"id": number, **dict(zip(names, branch, strict=True))}


def titel_stamm(draw: Draw, made: Made) -> Iterator[Row]:
    authors, taken = _authors(draw), set[str]()
    for number in range(1, TITLES + 1):
        kind = draw.weighted(KINDS)
        language = _language(draw, kind)
        name = _title(draw, kind, language, taken)
        taken.add(name)
        yield {"id": number, "titel_name": name, "medien_art": kind, "titel_sprache": language,
               "ersch_jahr": 2025 - draw.skewed(range(32)), "seiten_zahl": _pages(draw, kind),
               "alter_ab": draw.skewed(AGES[kind]) if kind in AGES else None,
               "autor_name": None if kind in ("Film", "Brettspiel") else draw.skewed(authors[language]),
               "verlags_name": draw.skewed(PUBLISHERS)}


def _authors(draw: Draw) -> Mapping[str, Sequence[str]]:
    """Who writes in which language; nobody in two of them."""
    persons = _persons(draw, WRITERS + ABROAD_WRITERS * len(FOREIGN))
    abroad = {language: persons[ABROAD_WRITERS * place:][:ABROAD_WRITERS] for place, language in enumerate(FOREIGN)}
    return {"Deutsch": persons[-WRITERS:], **abroad}


def _persons(draw: Draw, number: int) -> list[str]:
    """So many different names."""
    found: dict[str, None] = {}
    while len(found) < number:
        found[draw.person()] = None
    return list(found)


def _language(draw: Draw, kind: str) -> str:
    if kind in ("Sachbuch", "Brettspiel", "Film") or draw.chance(0.62):
        return "Deutsch"
    return draw.weighted(FOREIGN)


def _title(draw: Draw, kind: str, language: str, taken: set[str]) -> str:
    """A title that no other has; once the plain ones run short, with the number of a volume."""
    for attempt in range(1, 1000):
        name = _abroad(draw, language) if language in ABROAD else _german(draw, kind)
        if attempt > 30:
            name = f"{name}, Band {draw.between(2, 9)}"
        if name not in taken:
            return name
    raise AssertionError("the parts of titles are used up")


def _abroad(draw: Draw, language: str) -> str:
    start, end = ABROAD[language]
    return f"{draw.pick(start)} {draw.pick(end)}"


def _german(draw: Draw, kind: str) -> str:
    if kind == "Sachbuch":
        return draw.pick(LESSONS).format(draw.pick(TOPICS))
    if kind == "Bilderbuch":
        return draw.pick(ADVENTURES).format(draw.pick(HEROES))
    if kind == "Brettspiel":
        return draw.pick(PLAYS)
    article = draw.pick(tuple(ENDS))
    return f"{article.capitalize()} {draw.pick(STARTS)} {draw.pick(ENDS[article])}"


def _pages(draw: Draw, kind: str) -> int | None:
    return max(16, int(draw.around(*PAGES[kind]))) if kind in PAGES else None


def expl_stamm(draw: Draw, made: Made) -> Iterator[Row]:
    titles = made["titel_stamm"]
    branches = dict(zip(range(1, 9), (40, 15, 12, 11, 8, 7, 4, 3), strict=True))
    for number in range(1, COPIES + 1):
        title = titles[number - 1] if number <= TITLES else draw.skewed(titles)
        came = draw.day(f"{max(2012, title['ersch_jahr'])}-01-05", "2025-11-28", {8: 0.4, 12: 0.5})
        reason = draw.maybe(0.13, draw.weighted({"zerlesen": 45, "veraltet": 30, "verloren": 15, "Wasserschaden": 10}))
        yield {"id": number, "titel_nr": title["id"], "zweig_nr": draw.weighted(branches),
               "signatur_kz": f"{PREFIXES[title['medien_art']]} {title['id']:03d}-{number:04d}",
               "stand_bereich": "Magazin" if draw.chance(0.12) else SHELVES[title["medien_art"]],
               "zugang_art": draw.weighted({"Ankauf": 80, "Schenkung": 15, "Tausch": 5}), "zugang_tag": came,
               "aussond_tag": draw.day(max(FIRST, came), LAST) if reason else None, "aussond_grund": reason}


def leser_stamm(draw: Draw, made: Made) -> Iterator[Row]:
    for number, name in enumerate(_persons(draw, READERS), 1):
        group = draw.weighted(GROUPS)
        card = draw.weighted(CARDS[group])
        since = draw.day("2019-01-07", "2025-12-15", {9: 1.6, 1: 1.4, 8: 0.6})
        until = later(since, 90) if card == "Kurzausweis" else later(since, 365 * draw.between(1, 7))
        reason = draw.maybe(0.11, draw.weighted(BLOCKS))
        yield {"id": number, "leser_name": name, "leser_gruppe": group, "ausweis_art": card, "ausweis_seit": since,
               "ausweis_bis": until, "sperr_tag": draw.day(max(FIRST, since), LAST) if reason else None,
               "sperr_grund": reason}


def leih_pos(draw: Draw, made: Made) -> Iterator[Row]:
    """Loans in the order of their days; a copy that is out cannot be lent again."""
    kinds = {title["id"]: title["medien_art"] for title in made["titel_stamm"]}
    free = {copy["id"]: copy["zugang_tag"] for copy in made["expl_stamm"]}
    for number, day in enumerate(sorted(_open_day(draw) for _ in range(LOANS)), 1):
        reader = _reader(draw, made["leser_stamm"], day)
        copy = _copy(draw, made["expl_stamm"], free, day)
        loan = _loan(draw, day, LOAN_DAYS.get(kinds[copy["titel_nr"]], LONG_LOAN))
        free[copy["id"]] = later(loan["rueck_tag"] or LAST, 1)
        fee = _fee(draw, loan, reader["leser_gruppe"])
        yield {"id": number, "expl_nr": copy["id"], "leser_nr": reader["id"], **loan, **fee}


def _open_day(draw: Draw) -> str:
    """A day of the two years on which the branches are open: not on Sundays, Mondays and holidays."""
    while True:
        day = draw.day(FIRST, LAST, SEASON)
        if weekday(day) not in (0, 6) and day[5:] not in CLOSED:
            return day


def _reader(draw: Draw, readers: Sequence[Row], day: str) -> Row:
    """Somebody whose card is good on that day."""
    while True:
        reader = draw.skewed(readers)
        if reader["ausweis_seit"] <= day <= reader["ausweis_bis"] and day < (reader["sperr_tag"] or "9999"):
            return reader


def _copy(draw: Draw, copies: Sequence[Row], free: Mapping[int, str], day: str) -> Row:
    """A copy that stands on the shelf on that day and is not sorted out before it comes back."""
    while True:
        copy = draw.skewed(copies, 3)
        if free[copy["id"]] <= day and later(day, LONGEST) < (copy["aussond_tag"] or "9999"):
            return copy


def _loan(draw: Draw, day: str, days: int) -> Row:
    """When a loan has to come back and does; not yet if that lies behind the last day, never if it is lost."""
    longer = draw.weighted({0: 68, 1: 20, 2: 9, 3: 3})
    end = later(day, days * (1 + longer))
    back = later(end, draw.skewed(range(1, LATEST)) if draw.chance(0.17) else -draw.skewed(range(days)))
    lost = draw.chance(0.012)
    return {"ausgabe_tag": day, "ausgabe_weg": "Selbstverbuchung" if draw.chance(0.63) else "Theke", "frist_bis": end,
            "verlaeng_zahl": longer, "rueck_tag": None if lost or back > LAST else back}


def _fee(draw: Draw, loan: Row, group: str) -> Row:
    """A fee for each week begun; three days are free, and children pay half."""
    back = loan["rueck_tag"]
    if back is None or back <= later(loan["frist_bis"], 3):
        return {"saeumnis_eur": None, "saeumnis_stand": None}
    weeks = (len(days_from(loan["frist_bis"], back)) + 5) // 7
    fee = round(weeks * (0.75 if group == "Kind" else 1.5), 2)
    return {"saeumnis_eur": fee, "saeumnis_stand": draw.weighted({"bezahlt": 66, "offen": 22, "erlassen": 12})}


def vormerk_pos(draw: Draw, made: Made) -> Iterator[Row]:
    branches = dict(zip(range(1, 9), (38, 17, 13, 12, 8, 7, 3, 2), strict=True))
    for number in range(1, HOLDS + 1):
        day = _open_day(draw)
        reader = _reader(draw, made["leser_stamm"], day)
        ready = later(day, draw.between(3, 20) + draw.skewed(range(50)))
        ready = None if ready > LAST or draw.chance(0.09) else ready
        fetched = later(ready, draw.skewed(range(10))) if ready else None
        fetched = None if not fetched or fetched > LAST or draw.chance(0.14) else fetched
        yield {"id": number, "titel_nr": draw.skewed(made["titel_stamm"], 3)["id"], "leser_nr": reader["id"],
               "abhol_zweig_nr": draw.weighted(branches), "vormerk_tag": day, "bereit_tag": ready,
               "nachricht_art": draw.weighted({"E-Mail": 70, "SMS": 20, "Brief": 10}) if ready else None,
               "abhol_tag": fetched}


def veranst_plan(draw: Draw, made: Made) -> Iterator[Row]:
    """Events; without a number of guests if they were called off. At readings an author is the guest."""
    authors = sorted({title["autor_name"] for title in made["titel_stamm"]} - {None})
    for number in range(1, EVENTS + 1):
        kind, day = draw.weighted(WISHES), _open_day(draw)
        limit = PLACES.get(kind)
        guests = max(2, int(draw.around(*GUESTS[kind])))
        yield {"id": number, "zweig_nr": draw.skewed(made["zweig_stamm"])["id"], "veranst_art": kind, "termin_tag": day,
               "beginn_zeit": draw.skewed(STARTING[kind]), "gast_name": draw.skewed(authors) if limit == 80 else None,
               "hoechst_zahl": limit, "teiln_zahl": None if draw.chance(0.09) else min(guests, limit or guests)}
