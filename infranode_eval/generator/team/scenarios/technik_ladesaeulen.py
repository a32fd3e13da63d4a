"""Ladesäulen: a control room settles a fault of a charger, from register, call, type plate and charging logs."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from fractions import Fraction
from typing import Any

from infranode_eval.generator.team.draft import Asset, Before, Change, Draft, RoundDraft, Wrong
from infranode_eval.generator.team.leak import Secret
from infranode_eval.generator.team.number import in_words
from infranode_eval.generator.team.picture import PALE, Sheet
from infranode_eval.generator.team.sound import speak
from infranode_eval.generator.team.texts import technik_ladesaeulen as texts

SEED = "technik_ladesaeulen 1"
PLACES = {"hafenkai": "Hafenkai", "bahnhof": "Bahnhof", "markthalle": "Markthalle", "klinikum": "Klinikum"}
OURS, KIND = "LS-117", "Kolumbus 4"             # the charger of the fault
LEAVING, FOLLOWING = "Elektro Lüttjohann", "Servicewerk Petershain"
FIRMS = (LEAVING, "Averbeck Stromtechnik", "Netzdienst Brinkhus")
MONTH, HOURS = date(2026, 9, 1), 720
LEAST_WH = 500
UPKEEP = ((75, 24), (150, 12))                  # up to so many kW every so many months; above: every 6
REGISTER, FIRMWARE, PLATE, CALL = ("register/ladesaeulen.csv", "handbuch/firmware.csv", "fotos/typenschild.png",
                                   "hotline/anruf.wav")
EXTRACT, OLD_REGISTER, OLD_TICKET = ("ki_auszug/typenschild.txt", "altbestand/register_2022.csv",
                                     "altbestand/ticket_2024.txt")
PROGRAM = "werkstatt/auslastung.py"
TRIALS = ((1_234_567, 50, 744, 12), (655_380, 22, 720, 0), (98_765, 11, 672, 100))    # what the repaired program gets


@dataclass(frozen=True, slots=True)
class Charger:
    """A line of the register. power: kW as the register has it, None where it refers to the plate."""

    name: str
    place: str
    kind: str
    points: int
    power: int | None
    firmware: str
    checked: date
    firm: str


@dataclass(frozen=True, slots=True)
class Plate:
    power: int
    apparent: int
    serial: str


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of a charging log. use: Kunde, Test or Wartung."""

    number: int
    day: date
    charger: str
    point: int
    energy: int
    use: str


@dataclass(frozen=True, slots=True)
class Remedy:
    """What an error code asks for, and within how many hours."""

    code: str
    text: str
    hours: int


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything that is drawn. believed: what an AI took from old papers; called: place of the code in remedies."""

    first: Sequence[Charger]
    second: Sequence[Charger]
    old: Sequence[Charger]
    plate: Plate
    believed: Plate
    remedies: Sequence[Remedy]
    called: int
    point: int
    firmware: Sequence[tuple[int, int, str]]        # of our kind: from kW, to kW, version
    logs: Mapping[str, Sequence[Entry]]
    outage: int

    @property
    def remedy(self) -> Remedy:
        return self.remedies[self.called]

    def wanted(self, power: int) -> str:
        """The firmware that our charger should have with so many kW."""
        return next(version for low, high, version in self.firmware if low <= power <= high)

    @property
    def energy(self) -> int:
        """Wh of our charger."""
        return sum(e.energy for e in counted(e for rows in self.logs.values() for e in rows) if e.charger == OURS)

    def load(self, power: int) -> float:
        return load(self.energy, power, HOURS, self.outage)


def ours(register: Sequence[Charger]) -> Charger:
    return next(c for c in register if c.name == OURS)


def is_counted(entry: Entry) -> bool:
    return entry.use == "Kunde" and entry.energy >= LEAST_WH and entry.day.replace(day=1) == MONTH


def counted(entries: Iterable[Entry], counts: Callable[[Entry], bool] = is_counted) -> list[Entry]:
    """Those that count, each number once."""
    return list({e.number: e for e in entries if counts(e)}.values())


def load(energy: int, power: int, hours: int, outage: int) -> float:
    """Per cent with one decimal, half up."""
    return int(Fraction(energy * 1000, power * 1000 * (hours - outage)) + Fraction(1, 2)) / 10


def months_of(power: int) -> int:
    return next((months for most, months in UPKEEP if power <= most), 6)


def due(checked: date, power: int) -> date:
    """The day of the next check; `checked` is at most the 28th."""
    years, month = divmod(checked.month - 1 + months_of(power), 12)
    return checked.replace(year=checked.year + years, month=month + 1)


def draw_facts(seed: str = SEED) -> Facts:
    """Facts in which truncating the load gives another answer than rounding it."""
    rng = random.Random(seed)
    while True:
        facts = _drawn(rng)
        exact = Fraction(facts.energy * 1000, facts.plate.power * 1000 * (HOURS - facts.outage))
        if Fraction(3, 5) < exact % 1 < Fraction(9, 10):
            return facts


def _drawn(rng: random.Random) -> Facts:
    first = _register(rng)
    power = rng.randint(131, 146)
    plate = Plate(power, power + rng.randint(6, 11), _serial(rng))
    believed = Plate(rng.choice((56, 58, 62, 64)), 0, _serial(rng))
    versions = [f"{start}.{rng.randint(1, 8)}" for start in ("4.12", "4.16", "5.2")]
    current = f"4.{rng.randint(8, 9)}.{rng.randint(3, 9)}"
    second = [replace(c, firm=FOLLOWING) if c.firm == LEAVING else c for c in first]
    second = [replace(c, firmware=current, checked=date(2026, 9, rng.randint(3, 25))) if c.name == OURS else c
              for c in second]
    old = [replace(c, firmware=f"2.{rng.randint(0, 9)}.{rng.randint(0, 9)}", checked=c.checked.replace(year=2021),
                   firm=rng.choice(FIRMS[1:]), power=c.power or believed.power) for c in first]
    logs = {name: _log(rng, 40_001 + 1_000 * n, [c for c in first if c.place == place])
            for n, (name, place) in enumerate(PLACES.items())}
    return Facts(first, second, old, plate, believed, _remedies(rng), 3, rng.randint(1, 2),
                 tuple(zip((0, 100, 200), (99, 199, 400), versions, strict=True)), logs, rng.randint(26, 48))


def _serial(rng: random.Random) -> str:
    return f"EB-{rng.randint(30_000, 89_999)}-{rng.randint(2, 9)}"


def _register(rng: random.Random) -> list[Charger]:
    """24 chargers, six a place."""
    found = []
    for n in range(24):
        kind, points, powers = rng.choice((("Kolumbus 2", 2, (22, 44)), (KIND, 2, (50, 75)), ("Hexa S", 1, (11, 22))))
        found.append(Charger(f"LS-{101 + n}", list(PLACES.values())[n % 4], kind, points, rng.choice(powers),
                             f"3.{rng.randint(2, 9)}.{rng.randint(0, 9)}",
                             date(2025, rng.randint(2, 11), rng.randint(2, 28)), rng.choice(FIRMS)))
    return [replace(c, kind=KIND, points=2, power=None, firm=LEAVING) if c.name == OURS else c for c in found]


def _remedies(rng: random.Random) -> list[Remedy]:
    """Six codes of the same three digits. The one that is told (place 3) has its digits exchanged at place 1."""
    digits = rng.sample(range(3, 10), 3)
    orders = ((1, 0, 2), (0, 2, 1), (2, 1, 0), (0, 1, 2), (1, 2, 0), (2, 0, 1))
    codes = ["E" + "".join(str(digits[place]) for place in order) for order in orders]
    measures = ["Lüfter reinigen", "Steuergerät neu starten", "Ladekabel ersetzen", "Kühlmittelpumpe tauschen",
                "Schütz prüfen", "Kartenleser tauschen"]
    hours = rng.sample((4, 8, 12, 24, 48, 72), 6)
    return [Remedy(*row) for row in zip(codes, measures, hours, strict=True)]


def _log(rng: random.Random, first: int, chargers: Sequence[Charger]) -> list[Entry]:
    """About 120 lines in the order of their days. Some were sent twice, some are of other months; our charger, a quick
    one, is used three times as often as another."""
    weights = [3 if charger.name == OURS else 1 for charger in chargers]
    days = sorted(MONTH + timedelta(days=rng.randint(-2, 31)) for _ in range(rng.randint(105, 135)))
    found: list[Entry] = []
    for number, day in enumerate(days, first):
        use = rng.choices(("Kunde", "Test", "Wartung"), (86, 9, 5))[0]
        energy = rng.randint(150, 490) if rng.random() < 0.06 else rng.randint(4_100, 61_900)
        charger = rng.choices(chargers, weights)[0]
        found.append(Entry(number, day, charger.name, rng.randint(1, charger.points), energy, use))
        if rng.random() < 0.07:
            found.append(found[-1])
    return found


def draft() -> Draft:
    facts = draw_facts()
    return Draft(
        "technik_ladesaeulen", "Ladesäulen: Register, Störung, Auslastung", "engineering",
        accessible=("aufgaben", "ausgabe", "werkstatt"),
        delegable=("register", "handbuch", "fotos", "hotline", "protokolle", "ki_auszug", "altbestand"),
        decoys=("ki_auszug", "altbestand"),
        workspace=workspace(facts),
        updates={"u1": (Change("new", FIRMWARE, firmware_text(facts)),
                        Change("replace", REGISTER, register_text(facts.second)),
                        Change("new", "aufgaben/hinweis.txt", texts.FIRMWARE_NOTE))},
        rounds=rounds(facts),
        secrets={PLATE: (Secret("nennleistung", (facts.plate.power,)), Secret("seriennummer", (facts.plate.serial,))),
                 CALL: (Secret("fehlercode", (facts.remedy.code, int(OURS[3:]))),)})     # the handbook lists all codes


def workspace(facts: Facts) -> dict[str, str | Asset]:
    """Path → content, in the state before round 1."""
    rows = "\n".join(f"{r.code}   {r.text:<28}  {r.hours}" for r in sorted(facts.remedies, key=lambda r: r.code))
    ticket = facts.remedies[1]
    return {
        "aufgaben/lies_mich.txt": texts.README, "aufgaben/ablage.txt": texts.INDEX,
        "aufgaben/stoerung.txt": texts.FAULT.format(hours=HOURS, outage=facts.outage),
        "aufgaben/rechenregel.txt": texts.RULES, "ausgabe/lies_mich.txt": texts.RESULTS,
        PROGRAM: texts.BROKEN, "werkstatt/notizen.txt": texts.LOGBOOK,
        REGISTER: register_text(facts.first), "register/lesehilfe.txt": texts.COLUMNS,
        "handbuch/fehlercodes.txt": texts.CODES.format(rows=rows), "handbuch/wartung.txt": texts.UPKEEP,
        "handbuch/sicherheit.txt": texts.SAFETY,
        PLATE: Asset("image", plate_report(facts.plate), lambda: plate_picture(facts.plate)),
        "fotos/standort.png": Asset("image", "Lageskizze Hafenkai: sechs Säulen an der Kaistraße.", sketch),
        CALL: Asset("audio", call_report(facts), lambda: speak(spoken(facts))), "hotline/dienstplan.txt": texts.ROSTER,
        **{f"protokolle/{name}.csv": log_text(rows) for name, rows in facts.logs.items()},
        EXTRACT: texts.EXTRACT.format(serial=facts.believed.serial, power=facts.believed.power),
        OLD_REGISTER: register_text(facts.old),
        OLD_TICKET: texts.OLD_TICKET.format(code=ticket.code, remedy=ticket.text, point=3 - facts.point),
    }


def register_text(register: Sequence[Charger]) -> str:
    lines = ["saeule;standort;typ;ladepunkte;leistung_kw;firmware;letzte_pruefung;wartung"]
    lines += [f"{c.name};{c.place};{c.kind};{c.points};{c.power or 'siehe Typenschild'};{c.firmware};"
              f"{c.checked.isoformat()};{c.firm}" for c in register]
    return "\n".join(lines) + "\n"


def firmware_text(facts: Facts) -> str:
    lines = ["typ;leistung_von_kw;leistung_bis_kw;firmware_soll", "Hexa S;0;22;3.10.2", "Kolumbus 2;0;99;3.11.0"]
    lines += [f"{KIND};{low};{high};{version}" for low, high, version in facts.firmware]
    return "\n".join(lines) + "\n"


def log_text(entries: Sequence[Entry]) -> str:
    lines = ["vorgang;beginn;saeule;ladepunkt;energie_wh;art"]
    lines += [f"{e.number};{e.day.isoformat()};{e.charger};{e.point};{e.energy};{e.use}" for e in entries]
    return "\n".join(lines) + "\n"


def plate_report(plate: Plate) -> str:
    """What someone who sees the plate reports."""
    return (f"Typenschild: Elmtal Technik, Typ {KIND}, Seriennummer: {plate.serial}, Netzanschluss 400 V, 50 Hz, "
            f"Scheinleistung: {plate.apparent} kVA, Ausgang DC 200–920 V, Nennleistung: {plate.power} kW, "
            "Schutzart IP54.")


def plate_picture(plate: Plate) -> bytes:
    """The plate as PNG."""
    sheet = Sheet(820, 560)
    sheet.frame(20, 20, 800, 540, width=4)
    for x, y in ((45, 45), (775, 45), (45, 515), (775, 515)):
        sheet.frame(x - 9, y - 9, x + 9, y + 9, width=2, fill=PALE)
    sheet.text(410, 50, "ELMTAL TECHNIK", 44, bold=True, anchor="ma")
    sheet.text(410, 108, "DC-Ladesäule", 26, anchor="ma")
    sheet.rule(60, 155, 760, 155)
    rows = (("Typ", KIND), ("Seriennummer", plate.serial), ("Netzanschluss", "3/N/PE 400 V 50 Hz"),
            ("Scheinleistung", f"{plate.apparent} kVA"), ("Ausgang", "DC 200–920 V"),
            ("Nennleistung", f"{plate.power} kW"), ("Schutzart", "IP54"))
    for n, (name, value) in enumerate(rows):
        sheet.text(70, 175 + 46 * n, name, 28)
        sheet.text(390, 175 + 46 * n, value, 28, bold=True)
    return sheet.png()


def sketch() -> bytes:
    """Where the chargers of the quay stand, as PNG."""
    sheet = Sheet(600, 360)
    sheet.text(300, 14, "Hafenkai, Lage der Säulen", 26, bold=True, anchor="ma")
    sheet.frame(30, 70, 570, 130, width=2, fill=PALE)
    sheet.text(300, 100, "Kaistraße", 24, anchor="mm")
    for n in range(6):
        sheet.frame(60 + 88 * n, 170, 100 + 88 * n, 210, width=3)
    sheet.frame(30, 250, 570, 335, width=2)
    sheet.text(300, 292, "Becken", 24, anchor="mm")
    return sheet.png()


def call_report(facts: Facts) -> str:
    """What someone who hears the call reports."""
    return f"Anruf bei der Störungshotline: Säule {OURS}, Ladepunkt {facts.point}, Fehlercode {facts.remedy.code}."


def spoken(facts: Facts) -> str:
    number, code = (", ".join(in_words(int(d)) for d in digits) for digits in (OURS[3:], facts.remedy.code[1:]))
    return (f"Störungshotline. Es geht um die Säule {number}. Ladepunkt {in_words(facts.point)}. Das Display zeigt "
            f"Fehlercode E, {code}. Noch einmal: E, {code}.")


def rounds(facts: Facts) -> tuple[RoundDraft, ...]:
    """The six rounds, each with the slips that must not pass."""
    return tuple(make(facts) for make in (_entry, _call, _plate, _logs, _update, _closing))


def _entry(facts: Facts) -> RoundDraft:
    above = facts.first[[c.name for c in facts.first].index(OURS) - 1]
    return RoundDraft("r1", texts.QUESTIONS["r1"], _line(ours(facts.first)), (
        Wrong("the line above", _line(above)),
        Wrong("the register of 2022", _line(ours(facts.old)), from_=OLD_REGISTER)),
        covers=("C1", "C4", "C10"), tags=("text",))


def _line(charger: Charger) -> dict[str, Any]:
    return {"standort": charger.place, "typ": charger.kind, "firmware": charger.firmware,
            "letzte_pruefung": charger.checked.isoformat()}


def _call(facts: Facts) -> RoundDraft:
    answer = _asked(facts.remedy, facts.point)
    return RoundDraft("r2", texts.QUESTIONS["r2"], answer, (
        Wrong("two digits exchanged, a code that exists", _asked(facts.remedies[0], facts.point)),
        Wrong("the fault of 2024", _asked(facts.remedies[1], 3 - facts.point), from_=OLD_TICKET),
        Wrong("measure and hours of another line", {**_asked(facts.remedies[4], facts.point),
                                                    "fehlercode": facts.remedy.code})),
        covers=("C5",), tags=("audio",))


def _asked(remedy: Remedy, point: int) -> dict[str, Any]:
    return {"fehlercode": remedy.code, "ladepunkt": point, "massnahme": remedy.text, "frist_stunden": remedy.hours}


def _plate(facts: Facts) -> RoundDraft:
    checked, plate = ours(facts.first).checked, facts.plate
    return RoundDraft("r3", texts.QUESTIONS["r3"], _read_off(plate, checked), (
        Wrong("the extract that an AI made of old papers", _read_off(facts.believed, checked), from_=EXTRACT),
        Wrong("the apparent power", _read_off(replace(plate, power=plate.apparent), checked)),
        Wrong("counted from the check that the register of 2022 has", _read_off(plate, ours(facts.old).checked),
              from_=OLD_REGISTER, built_on="r1")),
        covers=("C5", "C9", "C8:r1"), tags=("image", "chain"))


def _read_off(plate: Plate, checked: date) -> dict[str, Any]:
    return {"nennleistung_kw": plate.power, "seriennummer": plate.serial, "pruefabstand_monate": months_of(plate.power),
            "naechste_pruefung": due(checked, plate.power).isoformat()}


def _logs(facts: Facts) -> RoundDraft:
    return RoundDraft("r4", texts.QUESTIONS["r4"], _sums(facts.logs, counted), (
        Wrong("tests and maintenance counted",
              _sums(facts.logs, lambda rows: counted(rows, lambda e: is_counted(replace(e, use="Kunde"))))),
        Wrong("what was sent twice counted twice", _sums(facts.logs, lambda rows: [*filter(is_counted, rows)])),
        Wrong("other months counted",
              _sums(facts.logs, lambda rows: counted(rows, lambda e: is_counted(replace(e, day=MONTH))))),
        Wrong("charges of less than 500 Wh counted",
              _sums(facts.logs, lambda rows: counted(rows, lambda e: is_counted(replace(e, energy=LEAST_WH)))))),
        covers=("C6",), tags=("parallel",), overlap=2)


def _sums(logs: Mapping[str, Sequence[Entry]], sift: Callable[[Sequence[Entry]], Sequence[Entry]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, rows in logs.items():
        kept = sift(rows)
        found[name] = {"vorgaenge": len(kept), "energie_wh": sum(e.energy for e in kept)}
    return found | {"gesamt_wh": sum(part["energie_wh"] for part in found.values())}


def _update(facts: Facts) -> RoundDraft:
    new, old, power = ours(facts.second), ours(facts.first), facts.plate.power
    answer = _handover(facts, new, power)
    return RoundDraft("r5", texts.QUESTIONS["r5"], answer, (
        Wrong("firmware and check of the former register", {**answer, "firmware_ist": old.firmware,
              "naechste_pruefung": due(old.checked, power).isoformat()}, stale_of="u1"),
        Wrong("the new firm twice", {**answer, "wartung_bisher": new.firm}),
        Wrong("power of the extract, from round 3", _handover(facts, new, facts.believed.power), from_=EXTRACT,
              built_on="r3"),
        Wrong("the firm of the register of 2022", {**answer, "wartung_bisher": ours(facts.old).firm},
              from_=OLD_REGISTER)),
        covers=("C2", "C7:r1", "C8:r3"), tags=("update", "session"), update_ids=("u1",), only_in_session=(LEAVING,))


def _handover(facts: Facts, line: Charger, power: int) -> dict[str, Any]:
    wanted = facts.wanted(power)
    return {"firmware_ist": line.firmware, "firmware_soll": wanted, "aktualisieren": line.firmware != wanted,
            "naechste_pruefung": due(line.checked, power).isoformat(), "wartung_neu": line.firm,
            "wartung_bisher": LEAVING}


def _closing(facts: Facts) -> RoundDraft:
    answer, repaired = _closed(facts, facts.plate.power, ours(facts.second)), texts.BROKEN
    for old, new in texts.FIXES:
        repaired = repaired.replace(old, new)
    whole = {PROGRAM: repaired}
    trials = " && ".join(f"python3 -I ${{workspace}}/{PROGRAM} " + " ".join(map(str, trial)) for trial in TRIALS)
    printed = "".join(f"Auslastung: {load(*trial)} %\n".replace(".", ",") for trial in TRIALS)
    return RoundDraft("r6", texts.QUESTIONS["r6"], answer, (
        Wrong("power of the extract, from round 3", _closed(facts, facts.believed.power, ours(facts.second)), whole,
              from_=EXTRACT, built_on="r3"),
        Wrong("the exchanged code, from round 2", {**answer, "fehlercode": facts.remedies[0].code}, whole,
              built_on="r2"),
        Wrong("check and firm of the former register", _closed(facts, facts.plate.power, ours(facts.first)), whole,
              stale_of="u1", built_on="r5"),
        Wrong("the program still truncates", answer, {PROGRAM: repaired.replace("ROUND_HALF_UP", "ROUND_DOWN")}),
        Wrong("the program still adds the outage", answer, {PROGRAM: repaired.replace("stunden - ", "stunden + ")}),
        Wrong("the program as it was", answer)),
        covers=("C3", "C8:r2"), tags=("program", "chain"), files=whole, before=Before(trials, printed))


def _closed(facts: Facts, power: int, line: Charger) -> dict[str, Any]:
    return {"energie_wh": facts.energy, "auslastung_prozent": facts.load(power), "nennleistung_kw": power,
            "fehlercode": facts.remedy.code, "naechste_pruefung": due(line.checked, power).isoformat(),
            "auftrag_an": line.firm}
