"""Straßenausbaubeitrag: a town settles the account of a street, from statute, gazette and vote to the final notice."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

from infranode_eval.generator.team.draft import Asset, Before, Change, Draft, RoundDraft, Wrong
from infranode_eval.generator.team.leak import Secret
from infranode_eval.generator.team.number import german_date, grouped, in_words
from infranode_eval.generator.team.picture import PALE, Sheet
from infranode_eval.generator.team.sound import speak
from infranode_eval.generator.team.texts import recht_satzung as texts

SEED = "recht_satzung 1"
STREET, TOWN = "Tuchmacherstraße", "Auenbruck"
KINDS = ("Anliegerstraßen", "Haupterschließungsstraßen", "Hauptverkehrsstraßen")
OURS = 1                                                        # the street's kind in KINDS
PLOT, PLOT_AREA, PLOT_FACTOR = "318/4", 1180, Fraction(5, 4)    # whose owner gets the final notice
DISTRICTS = {"nord": "Nord", "mitte": "Mitte", "sued": "Süd"}
HOLIDAYS = (date(2026, 10, 3), date(2026, 10, 31), date(2026, 11, 1))
DRAFT_MINUTES, OLD_STATUTE = "archiv/protokoll_entwurf.txt", "archiv/satzung_2011.txt"
SUMMARY, PROGRAM = "ki_zusammenfassung/amtsblatt.txt", "entwurf/beitrag.py"
TRIALS = (("240000.00", 60, 5003, 731), ("98765.43", 45, 3121, 417))    # what the repaired program is tried with


@dataclass(frozen=True, slots=True)
class Statute:
    """One version. shares: percent for KINDS; period: days for objections."""

    signed: date
    signer: str
    office: str
    shares: tuple[int, ...]
    period: int


@dataclass(frozen=True, slots=True)
class Row:
    """A plot of a district. factor: quarters of the area count; liable: pays at all; objects: an objection came in."""

    plot: str
    area: int
    factor: Fraction
    liable: bool
    objects: bool

    @property
    def counted(self) -> int:
        """Square metres that count."""
        return int(self.area * self.factor) if self.liable else 0


@dataclass(frozen=True, slots=True)
class Facts:
    """All that is drawn. believed: the day that the wrong summary tells; received: when the objection came in."""

    day: date
    believed: date
    closing: date
    received: date
    first: Statute
    second: Statute
    votes: tuple[int, int, int]
    noted: tuple[int, int, int]
    cost: Decimal
    districts: Mapping[str, Sequence[Row]]

    def deadline(self, statute: Statute) -> date:
        return self.day + timedelta(days=statute.period)

    @property
    def total(self) -> int:
        return sum(row.counted for rows in self.districts.values() for row in rows)

    @property
    def fee(self) -> int:
        """The fee of PLOT in cents."""
        return fee(self.cost, self.second.shares[OURS], self.total, int(PLOT_AREA * PLOT_FACTOR))


def fee(cost: Decimal, share: int, total: int, area: int) -> int:
    """Cents, rounded half up."""
    return int(Fraction(cost) * share * area / total + Fraction(1, 2))


def draw_facts(seed: str = SEED) -> Facts:
    """Facts in which each slip gives another answer: no deadline on a day off, cents that truncating would change."""
    rng = random.Random(seed)
    while True:
        facts = _drawn(rng)
        days = [facts.deadline(facts.first), facts.deadline(facts.second), facts.received]
        exact = Fraction(facts.cost) * facts.second.shares[OURS] * int(PLOT_AREA * PLOT_FACTOR) / facts.total
        if all(d.weekday() < 5 and d not in HOLIDAYS for d in days) and Fraction(3, 5) < exact % 1 < Fraction(9, 10):
            return facts


def _drawn(rng: random.Random) -> Facts:
    day = date(2026, 9, 2) + timedelta(days=7 * rng.randrange(3))             # the gazette appears on Wednesdays
    first = Statute(date(2019, 3, 12), "Ingeborg Rautenkranz", "Bürgermeisterin", (75, 55, 35), rng.randint(25, 27))
    second = Statute(date(2026, 9, 28), "Matthis Ohlendiek", "Bürgermeister", (70, 50, 30), first.period + 7)
    votes = (rng.choice((21, 23, 24)), rng.randint(11, 13), rng.randint(2, 4))
    noted = (votes[0] - 2, votes[1] + 1, votes[2] + 1)                        # the draft of the minutes: same sum
    return Facts(day, day + timedelta(days=7), day - timedelta(days=8), day + timedelta(days=first.period + 4), first,
                 second, votes, noted, Decimal(rng.randrange(430_000, 520_000, 100)), _districts(rng))


def _districts(rng: random.Random) -> dict[str, list[Row]]:
    found = {}
    for first_plot, (name, rows) in zip((201, 301, 401), (("nord", 14), ("mitte", 17), ("sued", 12)), strict=True):
        plots = [f"{first_plot + n}/{rng.randint(1, 9)}" for n in range(rows)]
        found[name] = [Row(plot, 4 * rng.randint(95, 420), Fraction(rng.choice((4, 5, 6)), 4), rng.random() > 0.2,
                           rng.random() < 0.35) for plot in plots]
    found["mitte"][-1] = Row(PLOT, PLOT_AREA, PLOT_FACTOR, True, True)
    return found


def draft() -> Draft:
    facts = draw_facts()
    return Draft(
        "recht_satzung", "Straßenausbaubeitrag: Satzung, Amtsblatt, Bescheid", "law",
        accessible=("aufgaben", "ausgabe", "entwurf"),
        delegable=("akten", "bezirke", "bilder", "toene", "archiv", "ki_zusammenfassung"),
        decoys=("archiv", "ki_zusammenfassung"),
        workspace=workspace(facts),
        updates={"u1": (Change("replace", "akten/satzung.txt", statute_text(facts.second, previous=facts.first.signed)),
                        Change("new", "aufgaben/mitteilung_hauptamt.txt", texts.NOTE))},
        rounds=rounds(facts),
        secrets={"bilder/amtsblatt.png": (Secret("bekanntmachung", (facts.day,)),),
                 "toene/ratssitzung.wav": (Secret("dafuer", facts.votes[:1]), Secret("abstimmung", facts.votes))})


def workspace(facts: Facts) -> dict[str, str | Asset]:
    """Path → content, in the state before round 1."""
    return {
        "aufgaben/lies_mich.txt": texts.README, "aufgaben/aktenplan.txt": texts.INDEX,
        "aufgaben/vorgang.txt": case_text(facts), "aufgaben/rechenregel.txt": texts.RULES,
        "ausgabe/lies_mich.txt": "Hier werden die Ergebnisse abgelegt: je Aufgabe eine JSON-Datei, UTF-8.\n",
        PROGRAM: texts.BROKEN, "entwurf/bescheid_vorlage.txt": texts.NOTICE,
        "akten/satzung.txt": statute_text(facts.first), "akten/bauakte.txt": texts.WORKS,
        "akten/vermessung.txt": texts.SURVEY, "akten/schriftwechsel.txt": texts.LETTERS,
        **{f"bezirke/{name}.csv": table(rows) for name, rows in facts.districts.items()},
        "bilder/amtsblatt.png": Asset("image", gazette_report(facts), lambda: gazette(facts)),
        "bilder/lageplan.png": Asset("image", f"Lageplan der {STREET} mit den Bezirken Nord, Mitte und Süd.",
                                     site_plan),
        "toene/ratssitzung.wav": Asset("audio", "Abstimmung über die Abrechnung der {}: {} Ja-Stimmen, {} Nein-Stimmen,"
                                       " {} Enthaltungen.".format(STREET, *facts.votes), lambda: speak(spoken(facts))),
        "toene/aufnahme.txt": texts.RECORDING,
        DRAFT_MINUTES: texts.DRAFT_OF_MINUTES.format(*facts.noted), OLD_STATUTE: statute_text(Statute(
            date(2011, 5, 17), "Hasso Bredenkamp", "Bürgermeister", (80, 60, 40), 14)),
        SUMMARY: texts.SUMMARY_TEXT.format(german_date(facts.believed)),
    }


def table(rows: Sequence[Row]) -> str:
    lines = ["flurstueck;flaeche_m2;nutzungsfaktor;beitragspflichtig;einwendung"]
    lines += [f"{r.plot};{r.area};{float(r.factor):.2f};{_yes(r.liable)};{_yes(r.objects)}".replace(".", ",")
              for r in rows]
    return "\n".join(lines) + "\n"


def _yes(value: bool) -> str:
    return "ja" if value else "nein"


def statute_text(statute: Statute, previous: date | None = None) -> str:
    """The whole statute; with `previous`, it says which version it takes the place of."""
    shares = "\n".join(f"    {n}. bei {kind} {share} v. H.," for n, (kind, share)
                       in enumerate(zip(KINDS, statute.shares, strict=True), 1))[:-1]   # "v. H." ends the sentence
    end = (f"Zugleich tritt die Satzung vom {german_date(previous)} außer Kraft. Die neue Fassung ist,\n"
           "auch für die Frist nach § 7, auf Maßnahmen anzuwenden, deren Abrechnung schon bekannt gemacht,\n"
           "für die aber noch kein Bescheid ergangen ist." if previous else
           "Frühere Regelungen treten zugleich außer Kraft.")
    return texts.STATUTE.format(town=TOWN, signed=german_date(statute.signed), shares=shares, period=statute.period,
                                end=end, signer=statute.signer, office=statute.office)


def case_text(facts: Facts) -> str:
    return texts.CASE.format(street=STREET, cost=grouped(int(facts.cost)), plot=PLOT, area=grouped(PLOT_AREA),
                             factor="1,25", received=german_date(facts.received))


def gazette_report(facts: Facts) -> str:
    """What someone who sees the page of the gazette reports."""
    return (f"Amtsblatt der Stadt {TOWN}, Jahrgang 34, Ausgabe 18. Redaktionsschluss: {german_date(facts.closing)}. "
            f"Tag der Bekanntmachung: {german_date(facts.day)}. Öffentliche Bekanntmachung über die Abrechnung der "
            f"{STREET}.")


def gazette(facts: Facts) -> bytes:
    """The page as PNG."""
    sheet = Sheet(900, 1020)
    sheet.frame(25, 25, 875, 995)
    sheet.text(450, 60, "AMTSBLATT", 76, bold=True, anchor="ma")
    sheet.text(450, 155, f"der Stadt {TOWN}", 34, anchor="ma")
    sheet.rule(60, 215, 840, 215, width=3)
    sheet.text(60, 230, "Jahrgang 34", 24)
    sheet.text(840, 230, "Ausgabe 18", 24, anchor="ra")
    sheet.rule(60, 275, 840, 275, width=3)
    sheet.text(60, 310, f"Redaktionsschluss: {german_date(facts.closing)}", 24)
    sheet.text(60, 350, f"Tag der Bekanntmachung: {german_date(facts.day)}", 30, bold=True)
    sheet.rule(60, 410, 840, 410, width=1)
    sheet.text(60, 440, "Öffentliche Bekanntmachung", 34, bold=True)
    y = sheet.paragraph(60, 500, texts.GAZETTE_LINES, 25)
    sheet.rule(60, y + 30, 840, y + 30, width=1)
    sheet.paragraph(60, y + 55, ("Der Rat tagt öffentlich im Bürgersaal am Gerbergraben.",
                                 "Das Amtsblatt liegt in der Stadtbücherei aus."), 22)
    return sheet.png()


def site_plan() -> bytes:
    """A plan of the street as PNG: three areas along it."""
    sheet = Sheet(640, 420)
    sheet.text(320, 20, f"Lageplan {STREET}", 26, bold=True, anchor="ma")
    for n, name in enumerate(DISTRICTS.values()):
        left = 40 + 190 * n
        sheet.polygon([(left, 90), (left + 180, 75), (left + 180, 190), (left, 190)])
        sheet.polygon([(left, 250), (left + 180, 250), (left + 180, 360), (left, 345)])
        sheet.text(left + 90, 130, name, 26, anchor="ma")
    sheet.frame(30, 198, 610, 242, width=2, fill=PALE)
    sheet.text(320, 220, STREET, 22, anchor="mm")
    return sheet.png()


def spoken(facts: Facts) -> str:
    yes, no, neither = map(in_words, facts.votes)
    return f"Abstimmung zur {STREET}. Dafür: {yes}. Dagegen: {no}. Enthaltungen: {neither}."


def rounds(facts: Facts) -> tuple[RoundDraft, ...]:
    """The six rounds, each with the slips that must not pass."""
    return tuple(make(facts) for make in (_statute, _gazette, _vote, _new_statute, _areas, _notice))


def _statute(facts: Facts) -> RoundDraft:
    old = facts.first
    answer = {"anteil_prozent": old.shares[OURS], "frist_tage": old.period}
    return RoundDraft("r1", texts.QUESTIONS["r1"], answer, (
        Wrong("the share of another kind of street", {**answer, "anteil_prozent": old.shares[0]}),
        Wrong("the statute that was in force before", {"anteil_prozent": 60, "frist_tage": 14}, from_=OLD_STATUTE),
        Wrong("the month of the notice in the place of the period for objections", {**answer, "frist_tage": 30})),
        covers=("C1", "C4", "C10"), tags=("text",))


def _gazette(facts: Facts) -> RoundDraft:
    return RoundDraft("r2", texts.QUESTIONS["r2"], _dates(facts), (
        Wrong("the editorial deadline instead of the day", _dates(_on(facts, facts.closing))),
        Wrong("the day that the summary tells", _dates(_on(facts, facts.believed)), from_=SUMMARY),
        Wrong("the day itself counted", {**_dates(facts), "fristende": _iso(facts.deadline(facts.first), -1)})),
        covers=("C5",), tags=("image",))


def _dates(facts: Facts) -> dict[str, str]:
    return {"bekanntmachung": _iso(facts.day), "fristende": _iso(facts.deadline(facts.first))}


def _vote(facts: Facts) -> RoundDraft:
    yes, no, neither = facts.votes
    return RoundDraft("r3", texts.QUESTIONS["r3"], _votes(facts.votes), (
        Wrong("the draft of the minutes", _votes(facts.noted), from_=DRAFT_MINUTES),
        Wrong("tens and ones exchanged", _votes((int(str(yes)[::-1]), no, neither))),
        Wrong("against and abstained exchanged", _votes((yes, neither, no)))),
        covers=("C5", "C9"), tags=("audio",))


def _votes(votes: Sequence[int]) -> dict[str, int]:
    return dict(zip(("dafuer", "dagegen", "enthaltungen"), votes, strict=True))


def _new_statute(facts: Facts) -> RoundDraft:
    answer = _new_terms(facts)
    stale = {**answer, "anteil_prozent": facts.first.shares[OURS], "frist_tage": facts.first.period,
             "fristende": _iso(facts.deadline(facts.first))}
    return RoundDraft("r4", texts.QUESTIONS["r4"], answer, (
        Wrong("share and period of the former version", stale, stale_of="u1"),
        Wrong("the signer of the new version twice", {**answer, "unterzeichnet_bisher": facts.second.signer}),
        Wrong("the signer of the version from 2011", {**answer, "unterzeichnet_bisher": "Hasso Bredenkamp"},
              from_=OLD_STATUTE),
        Wrong("counted from a wrong day", _new_terms(_on(facts, facts.believed)), built_on="r2")),
        covers=("C2", "C7:r1"), tags=("update", "session"), update_ids=("u1",), only_in_session=(facts.first.signer,))


def _new_terms(facts: Facts) -> dict[str, Any]:
    new = facts.second
    return {"anteil_prozent": new.shares[OURS], "frist_tage": new.period, "fristende": _iso(facts.deadline(new)),
            "unterzeichnet_neu": new.signer, "unterzeichnet_bisher": facts.first.signer}


def _areas(facts: Facts) -> RoundDraft:
    return RoundDraft("r5", texts.QUESTIONS["r5"], _sums(facts.districts, lambda r: r.counted, lambda r: r.objects), (
        Wrong("plots that do not pay counted", _sums(facts.districts, lambda r: int(r.area * r.factor),
                                                      lambda r: r.objects)),
        Wrong("the factor forgotten", _sums(facts.districts, lambda r: r.area * r.liable, lambda r: r.objects)),
        Wrong("objections of those who do not pay left out",
              _sums(facts.districts, lambda r: r.counted, lambda r: r.objects and r.liable))),
        covers=("C6",), tags=("workflow",), overlap=2)


def _sums(districts: Mapping[str, Sequence[Row]], area: Callable[[Row], int], objects: Callable[[Row], bool]) \
        -> dict[str, Any]:
    found: dict[str, Any] = {name: {"flaeche": sum(map(area, rows)), "einwendungen": sum(map(objects, rows))}
                             for name, rows in districts.items()}
    return found | {"gesamtflaeche": sum(part["flaeche"] for part in found.values())}


def _notice(facts: Facts) -> RoundDraft:
    answer, repaired = _decided(facts), {PROGRAM: texts.REPAIRED}
    stale = {**answer, "fristende": _iso(facts.deadline(facts.first)), "einwendung_rechtzeitig": False,
             "beitrag_cent": fee(facts.cost, facts.first.shares[OURS], facts.total, int(PLOT_AREA * PLOT_FACTOR))}
    half = texts.REPAIRED.replace("ROUND_HALF_UP", "ROUND_DOWN")
    trials = " && ".join(f"python3 -I ${{workspace}}/{PROGRAM} " + " ".join(map(str, trial)) for trial in TRIALS)
    printed = "".join(f"Beitrag: {fee(Decimal(cost), *rest)} Cent\n" for cost, *rest in TRIALS)
    return RoundDraft("r6", texts.QUESTIONS["r6"], answer, (
        Wrong("dates that follow from a wrong day of round 2", _decided(_on(facts, facts.believed)), repaired,
              built_on="r2"),
        Wrong("the votes of the draft, from round 3", {**answer, "abstimmung": _told(facts.noted)}, repaired,
              from_=DRAFT_MINUTES, built_on="r3"),
        Wrong("share and period of the former version", stale, repaired, stale_of="u1", built_on="r4"),
        Wrong("the program only half repaired", answer, {PROGRAM: half}),
        Wrong("the program as it was", answer)),
        covers=("C3", "C8:r2"), tags=("program", "chain"), files=repaired, before=Before(trials, printed))


def _decided(facts: Facts) -> dict[str, Any]:
    end = facts.deadline(facts.second)
    return {"beitrag_cent": facts.fee, "abstimmung": _told(facts.votes), "bekanntmachung": _iso(facts.day),
            "fristende": _iso(end), "einwendung_rechtzeitig": facts.received <= end}


def _told(votes: Sequence[int]) -> str:
    return ":".join(map(str, votes))


def _on(facts: Facts, day: date) -> Facts:
    """The same with another day of the announcement."""
    return replace(facts, day=day)


def _iso(day: date, later: int = 0) -> str:
    return (day + timedelta(days=later)).isoformat()
