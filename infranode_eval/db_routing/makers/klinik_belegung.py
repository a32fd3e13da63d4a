"""Rows of a small hospital: beds, stays, transfers and operations of the second half of 2025, nursing shifts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from infranode_eval.db_routing.draw import Draw, Made, Row, clock, days_from, later, minutes_of, names, weekday

FIRST, LAST = "2025-07-01", "2025-12-31"
DUTY_FIRST = "2025-11-16"
_STAYS, _PATIENTS, _CLOSED = 1240, 880, 110
_WOMEN = frozenset(
    ("Anna", "Maria", "Julia", "Sabine", "Laura", "Claudia", "Petra", "Lena", "Monika", "Sarah", "Birgit", "Katharina")
    + ("Susanne", "Ayşe", "Nina", "Heike", "Elif", "Miriam", "Olga", "Fatma", "Hannah", "Renate", "Marta", "Sophie")
)
# name, kind, speciality, floor, beds of each room
_STATIONS = (
    ("E1", "Intensivstation", "Anästhesie", 0, (1, 1, 2)),
    ("E2", "Wachstation", "Kardiologie", 0, (2, 2)),
    ("1A", "Normalstation", "Chirurgie", 1, (1, 2, 2, 2, 3, 3)),
    ("1B", "Normalstation", "Orthopädie", 1, (1, 2, 2, 3)),
    ("2A", "Normalstation", "Innere Medizin", 2, (1, 2, 3, 3, 3, 3)),
    ("2B", "Normalstation", "Kardiologie", 2, (1, 2, 3, 3, 3)),
    ("3A", "Normalstation", "Neurologie", 3, (1, 2, 2, 3)),
    ("3B", "Normalstation", "Urologie", 3, (1, 2, 2)),
    ("4A", "Normalstation", "Geburtshilfe", 4, (1, 2, 3)),
    ("4B", "Normalstation", "Kinderheilkunde", 4, (2, 3)),
)
_ROOMS = {1: "Einzelzimmer", 2: "Zweibettzimmer", 3: "Dreibettzimmer"}
_CLOSURES = {"Personalmangel": 11, "Reparatur": 6, "Desinfektion": 9, "Wasserschaden": 2, "Umbau": 3}
_DAYS_CLOSED = {"Personalmangel": 9, "Reparatur": 5, "Desinfektion": 1, "Wasserschaden": 21, "Umbau": 38}


class Illness(NamedTuple):
    """share: how often, against the others. urgent: how often it brings people in as an emergency."""

    speciality: str
    share: float
    ages: tuple[int, int]
    days: float
    urgent: float
    operated: float = 0.0
    operation: str = ""
    sex: str | None = None


_ILLNESSES = {
    "Lungenentzündung": Illness("Innere Medizin", 8, (25, 99), 7.5, 0.8),
    "Diabetes": Illness("Innere Medizin", 5, (18, 90), 5.5, 0.4),
    "Magen-Darm-Infekt": Illness("Innere Medizin", 4, (18, 95), 3.6, 0.85),
    "Herzinfarkt": Illness("Kardiologie", 6, (42, 92), 6.8, 0.97, 0.5, "Herzkatheter"),
    "Herzschwäche": Illness("Kardiologie", 8, (58, 97), 8.6, 0.6),
    "Herzrhythmusstörung": Illness("Kardiologie", 5, (35, 90), 3.4, 0.55, 0.3, "Herzschrittmacher"),
    "Gallensteine": Illness("Chirurgie", 6, (28, 82), 3.7, 0.35, 0.86, "Gallenblasenentfernung"),
    "Blinddarmentzündung": Illness("Chirurgie", 6, (8, 60), 3.2, 0.94, 0.95, "Blinddarmentfernung"),
    "Leistenbruch": Illness("Chirurgie", 4, (30, 84), 1.8, 0.08, 0.97, "Leistenbruchoperation"),
    "Hüftfraktur": Illness("Orthopädie", 6, (66, 98), 12.5, 0.96, 0.92, "Hüftprothese"),
    "Kniearthrose": Illness("Orthopädie", 5, (52, 86), 7.0, 0.0, 0.93, "Knieprothese"),
    "Bandscheibenvorfall": Illness("Orthopädie", 3, (30, 75), 4.8, 0.45, 0.3, "Bandscheibenoperation"),
    "Schlaganfall": Illness("Neurologie", 7, (50, 96), 10.5, 0.98),
    "Gehirnerschütterung": Illness("Neurologie", 4, (16, 94), 1.8, 0.95),
    "Epilepsie": Illness("Neurologie", 2, (16, 80), 4.0, 0.75),
    "Nierensteine": Illness("Urologie", 5, (26, 78), 2.7, 0.75, 0.55, "Nierensteinentfernung"),
    "Prostatavergrößerung": Illness("Urologie", 3, (56, 89), 4.6, 0.05, 0.85, "Prostataoperation", "männlich"),
    "Entbindung": Illness("Geburtshilfe", 22, (18, 44), 3.4, 0.0, 0.3, "Kaiserschnitt", "weiblich"),
    "Mandelentzündung": Illness("Kinderheilkunde", 6, (3, 15), 3.0, 0.25, 0.5, "Mandeloperation"),
    "Atemwegsinfekt": Illness("Kinderheilkunde", 9, (0, 11), 3.6, 0.85),
}
# share, germ, first day of its season
_KEIME: Mapping[str, tuple[float, str, str]] = {
    "Magen-Darm-Infekt": (0.55, "Norovirus", FIRST),
    "Atemwegsinfekt": (0.45, "RSV", "2025-10-06"),
    "Lungenentzündung": (0.42, "Influenza", "2025-10-20"),
}
_REHA = {"Hüftfraktur": 0.5, "Kniearthrose": 0.62, "Schlaganfall": 0.42, "Herzinfarkt": 0.3}
_SEASON = {7: 0.9, 8: 0.85, 9: 1.0, 10: 1.1, 11: 1.15, 12: 1.05}
_CALLED_OFF = {"kein freies Intensivbett": 7, "Notfall vorgezogen": 5, "nicht nüchtern": 2, "akuter Infekt": 4}
_PER_NURSE = {"Früh": 4, "Spät": 5, "Nacht": 10}  # beds, on a ward
_HEART = ("Herzkatheter", "Herzschrittmacher")
_NARCOSES: Mapping[str, Mapping[str, float]] = {
    **dict.fromkeys(_HEART, {"örtliche Betäubung": 6, "Vollnarkose": 1}),
    "Kaiserschnitt": {"Teilnarkose": 9, "Vollnarkose": 2},
    "Knieprothese": {"Vollnarkose": 5, "Teilnarkose": 5},
}
_MINUTES = {
    "Hüftprothese": 95,
    "Knieprothese": 88,
    "Prostataoperation": 74,
    "Herzkatheter": 48,
    "Kaiserschnitt": 42,
    "Mandeloperation": 34,
}


def station_stamm(draw: Draw, made: Made) -> Iterator[Row]:
    for number, (name, kind, speciality, floor, _) in enumerate(_STATIONS, 1):
        yield {"id": number, "station_name": name, "station_art": kind, "fach_name": speciality, "etagen_nr": floor}


def bett_platz(draw: Draw, made: Made) -> Iterator[Row]:
    number = 0
    for station, (name, kind, _, floor, rooms) in zip(made["station_stamm"], _STATIONS, strict=True):
        for room, beds in enumerate(rooms, 1):
            for _ in range(beds):
                number += 1
                yield {
                    "id": number,
                    "station_nr": station["id"],
                    "zimmer_nr": 100 * floor + room + (20 if name.endswith(("B", "2")) else 0),
                    "zimmer_art": _ROOMS[beds],
                    "beatmung_jn": "ja" if kind == "Intensivstation" or draw.chance(0.12) else "nein",
                }


def bett_sperre(draw: Draw, made: Made) -> Iterator[Row]:
    beds = sorted(made["bett_platz"], key=lambda bed: bed["id"] * 29 % 79)
    for number in range(1, _CLOSED + 1):
        reason = draw.weighted(_CLOSURES)
        first = draw.day(FIRST, LAST, {12: 1.8, 8: 1.4})
        last = later(first, draw.between(0, 2 * _DAYS_CLOSED[reason]))
        yield {
            "id": number,
            "bett_nr": draw.skewed(beds)["id"],
            "gesperrt_ab": first,
            "gesperrt_bis": None if last > LAST else last,
            "sperr_grund": reason,
        }


def patient_stamm(draw: Draw, made: Made) -> Iterator[Row]:
    for number in range(1, _PATIENTS + 1):
        name = draw.person()
        age = draw.weighted({5: 11, 26: 24, 45: 12, 65: 27, 80: 26}) + draw.between(-5, 14)
        need = draw.chance(0.45) if age > 74 else draw.chance(0.04)
        yield {
            "id": number,
            "patient_name": name,
            "geschlecht_kz": "weiblich" if name.split()[0] in _WOMEN else "männlich",
            "alter_jahre": age,
            "kassen_art": draw.weighted({"gesetzlich": 84, "privat": 13, "Selbstzahler": 3}),
            "pflege_grad": draw.weighted({1: 2, 2: 5, 3: 5, 4: 2, 5: 1}) if need else None,
            "hausarzt_name": draw.maybe(0.88, f"Dr. {draw.skewed(names('last_names')[20:36])}"),
        }


def kranken_aufenthalt(draw: Draw, made: Made) -> Iterator[Row]:
    free_from = {bed["id"]: FIRST for bed in made["bett_platz"]}
    home: dict[int, str] = {}  # patient → the day from which on a new stay may begin
    fresh = iter(made["patient_stamm"])
    for number, day in enumerate(sorted(draw.day(FIRST, LAST, _SEASON) for _ in range(_STAYS)), 1):
        patient = _patient(draw, fresh, home, made, day)
        name = draw.weighted(_possible(patient, patient["id"] in home, weekday(day) > 4))
        bed, days = _bed(draw, name, patient, made, free_from, day), _days(draw, name, patient)
        end = later(day, days)
        way = None if end > LAST else _way_out(draw, name, patient["alter_jahre"])
        free_from[bed], home[patient["id"]] = end, LAST if way == "verstorben" else end
        yield {
            "id": number,
            "patient_nr": patient["id"],
            "bett_nr": bed,
            **_admission(draw, name, day),
            **_isolation(draw, name, patient, day, end),
            "ende_am": None if end > LAST else end,
            "ende_art": way,
        }


def _patient(draw: Draw, fresh: Iterator[Row], home: Mapping[int, str], made: Made, day: str) -> Row:
    """Somebody new, or, more and more often, one who went home before."""
    back = [made["patient_stamm"][p - 1] for p, end in home.items() if end < day] if draw.chance(0.34) else []
    old = [patient for patient in back if patient["alter_jahre"] > 44 or draw.chance(0.2)]
    return draw.pick(old) if old else next(fresh)


def _possible(patient: Row, again: bool, weekend: bool) -> dict[str, float]:
    """Illness → share, of those that fit the patient and the day; nobody gives birth twice within half a year."""
    age = patient["alter_jahre"]
    found = {
        name: illness.share
        for name, illness in _ILLNESSES.items()
        if illness.ages[0] <= age <= illness.ages[1] and illness.sex in (None, patient["geschlecht_kz"])
    }
    barred = {"Entbindung"} if again else set()
    barred |= {name for name in found if weekend and name != "Entbindung" and _ILLNESSES[name].urgent < 0.1}
    return {name: share for name, share in found.items() if name not in barred}


def _bed(draw: Draw, name: str, patient: Row, made: Made, free_from: Mapping[int, str], day: str) -> int:
    """A free bed of the speciality, for some of intensive care; where there is none, that of a neighbour."""
    wanted = "Intensivstation" if name in ("Schlaganfall", "Herzinfarkt") and draw.chance(0.3) else "Normalstation"
    stations = {s["id"]: s for s in made["station_stamm"]}
    closed = {c["bett_nr"] for c in made["bett_sperre"] if c["gesperrt_ab"] <= day <= (c["gesperrt_bis"] or LAST)}
    free = [b for b in made["bett_platz"] if free_from[b["id"]] <= day and b["id"] not in closed]
    right = [bed for bed in free if _fits(stations[bed["station_nr"]], name, wanted)]
    adults = [b for b in free if stations[b["station_nr"]]["fach_name"] not in ("Kinderheilkunde", "Geburtshilfe")]
    return draw.skewed(right or adults or free)["id"]


def _fits(station: Row, name: str, wanted: str) -> bool:
    if wanted == "Intensivstation":
        return station["station_art"] != "Normalstation"
    return station["station_art"] == wanted and station["fach_name"] == _ILLNESSES[name].speciality


def _days(draw: Draw, name: str, patient: Row) -> int:
    usual = _ILLNESSES[name].days * (1.18 if patient["alter_jahre"] > 79 else 1.0)
    long = draw.weighted({1.0: 90, 1.7: 8, 2.6: 2})
    return max(1, int(draw.around(usual * long, usual * 0.3) + 0.5))


def _admission(draw: Draw, name: str, day: str) -> Row:
    urgent = draw.chance(_ILLNESSES[name].urgent)
    ways = {"Einweisung durch Hausarzt": 5, "Einweisung durch Facharzt": 6, "Übernahme aus anderer Klinik": 1}
    if name == "Entbindung":
        ways = {"Selbstvorstellung": 8, "Einweisung durch Facharzt": 2}
    at_night = urgent or name == "Entbindung"
    return {
        "aufnahme_am": day,
        "aufnahme_zeit": _hour(draw) if at_night else draw.clock("07:00", "11:45"),
        "aufnahme_weg": "Notaufnahme" if urgent else draw.weighted(ways),
        "diagnose_grp": name,
    }


def _hour(draw: Draw) -> str:
    """A time of an emergency: any hour, the evening most."""
    first = draw.weighted({0: 14, 6: 26, 12: 27, 18: 33})
    return draw.clock(f"{first:02d}:00", f"{first + 5:02d}:59")


def _isolation(draw: Draw, name: str, patient: Row, day: str, end: str) -> Row:
    share, keim, season = _KEIME.get(name, (0.0, "", LAST))
    if day < season or not draw.chance(share):
        keim = draw.weighted({"MRSA": 6, "Clostridien": 3, "VRE": 1})
        if not draw.chance(0.07 if patient["alter_jahre"] > 69 else 0.015):
            return {"keim_name": None, "isoliert_ab": None, "isoliert_bis": None}
    first = min(later(day, draw.weighted({0: 5, 1: 3, 2: 2, 3: 1})), end, LAST)
    last = min(later(first, draw.between(2, 8)), end)
    return {"keim_name": keim, "isoliert_ab": first, "isoliert_bis": None if last > LAST else last}


def _way_out(draw: Draw, name: str, age: int) -> str:
    grave = 0.09 if name in ("Schlaganfall", "Herzinfarkt", "Herzschwäche") else 0.02
    if age > 59 and draw.chance(grave + (0.03 if age > 79 else 0.0)):
        return "verstorben"
    if draw.chance(_REHA.get(name, 0.01)):
        return "Reha"
    if age > 77 and draw.chance(0.16):
        return "Pflegeheim"
    return draw.weighted({"nach Hause": 93, "andere Klinik": 4, "auf eigenen Wunsch": 3})


def verlegung_gang(draw: Draw, made: Made) -> Iterator[Row]:
    number = 0
    station_of = {bed["id"]: bed["station_nr"] for bed in made["bett_platz"]}
    for stay in made["kranken_aufenthalt"]:
        here, day = station_of[stay["bett_nr"]], stay["aufnahme_am"]
        while draw.chance(0.75 if here <= 2 else 0.17):
            day = later(day, draw.weighted({1: 6, 2: 5, 3: 2, 5: 1}))
            if day >= (stay["ende_am"] or LAST):
                break
            number += 1
            here, reason = _target(draw, here, stay, made)
            yield {
                "id": number,
                "aufenthalt_nr": stay["id"],
                "ziel_station_nr": here,
                "verlegt_am": day,
                "verlegt_zeit": draw.clock("08:00", "17:30") if draw.chance(0.72) else _hour(draw),
                "verlegt_grund": reason,
            }


def _target(draw: Draw, here: int, stay: Row, made: Made) -> tuple[int, str]:
    """Where to, and why: up from intensive care, down to it, or to a neighbour."""
    illness = _ILLNESSES[stay["diagnose_grp"]]
    own = next(s["id"] for s in made["station_stamm"][2:] if s["fach_name"] == illness.speciality)
    if here <= 2:
        return own, "Besserung"
    if draw.chance(0.55):
        after = illness.operated > 0.5 and draw.chance(0.6)
        return (1 if draw.chance(0.62) else 2), "Überwachung nach Operation" if after else "Verschlechterung"
    if own != here:
        return own, "Bett im eigenen Fach frei"
    reason = "Isolierung" if stay["keim_name"] and draw.chance(0.7) else "Bettenmangel"
    others = [s["id"] for s in made["station_stamm"][2:8] if s["id"] != here]
    return draw.skewed(others), reason if draw.chance(0.8) else "eigener Wunsch"


def eingriff_plan(draw: Draw, made: Made) -> Iterator[Row]:
    number = 0
    for stay in made["kranken_aufenthalt"]:
        illness = _ILLNESSES[stay["diagnose_grp"]]
        if not draw.chance(illness.operated):
            continue
        planned = 0.4 if illness.operation == "Kaiserschnitt" else 0.0
        at_once = 0.75 if stay["aufnahme_weg"] == "Notaufnahme" else planned
        urgent = draw.chance(at_once)
        day, start = _date(draw, stay, urgent)
        if day > LAST:
            continue
        number += 1
        yield {"id": number, "aufenthalt_nr": stay["id"], **_operation(draw, illness.operation, urgent, day, start)}


def _date(draw: Draw, stay: Row, urgent: bool) -> tuple[str, int]:
    """Day and minute on which it begins: an emergency soon after admission, others on a working day of the stay."""
    day, came = stay["aufnahme_am"], minutes_of(stay["aufnahme_zeit"])
    if urgent:
        start = came + draw.between(45, 240)
        return (day, start) if start < 22 * 60 else (later(day, 1), draw.between(30, 300))
    earliest = later(day, 1 if came > 15 * 60 else 0)
    last = max(later(stay["ende_am"] or later(LAST, 1), -1), earliest)
    day = max(min(later(day, draw.weighted({0: 3, 1: 7, 2: 2})), last), earliest)
    while weekday(day) > 4 and day < last:
        day = later(day, 1)
    first = max(7 * 60 + 30, came + 60 if day == stay["aufnahme_am"] else 0)
    return day, min(first + 5 * draw.between(0, 70), 18 * 60)


def _operation(draw: Draw, name: str, urgent: bool, day: str, start: int) -> Row:
    off = None if urgent or name == "Kaiserschnitt" else draw.maybe(0.15, draw.weighted(_CALLED_OFF))
    usual = _MINUTES.get(name, 62)
    length = max(15, int(draw.around(usual, usual * 0.22)))
    return {
        "eingriff_name": name,
        "dringend_art": "Notfall" if urgent else "geplant",
        "saal_name": "Katheterlabor" if name in _HEART else draw.weighted({"Saal 1": 9, "Saal 2": 6, "Saal 3": 4}),
        "op_tag": day,
        "beginn_zeit": None if off else clock(start),
        "ende_zeit": None if off else clock(start + length),
        "narkose_art": None if off else draw.weighted(_NARCOSES.get(name, {"Vollnarkose": 8, "Teilnarkose": 2})),
        "absage_grund": off,
    }


def pflege_dienst(draw: Draw, made: Made) -> Iterator[Row]:
    number = 0
    beds: dict[int, int] = {}
    for bed in made["bett_platz"]:
        beds[bed["station_nr"]] = beds.get(bed["station_nr"], 0) + 1
    for station in made["station_stamm"]:
        for day in days_from(DUTY_FIRST, LAST):
            for shift in ("Früh", "Spät", "Nacht"):
                number += 1
                row = {"id": number, "station_nr": station["id"], "dienst_tag": day, "schicht_art": shift}
                yield {**row, **_staff(draw, station, beds[station["id"]], shift, day)}


def _staff(draw: Draw, station: Row, beds: int, shift: str, day: str) -> Row:
    per_nurse = 2 if station["station_art"] == "Intensivstation" else _PER_NURSE[shift]
    plan = max(1, round(beds / per_nurse))
    ill = draw.weighted({0: 62, 1: 26, 2: 9, 3: 3} if day >= "2025-12-08" else {0: 78, 1: 18, 2: 4})
    return {
        "fachkraft_anz": max(1, plan + draw.weighted({0: 6, 1: 3, -1: 2}) - (1 if ill > 1 else 0)),
        "hilfskraft_anz": 0 if shift == "Nacht" else draw.weighted({0: 3, 1: 5, 2: 2}),
        "leihkraft_anz": draw.weighted({0: 3, 1: 5, 2: 2}) if ill else draw.weighted({0: 9, 1: 1}),
        "krank_anz": ill,
    }
