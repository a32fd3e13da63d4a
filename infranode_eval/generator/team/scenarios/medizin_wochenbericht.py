"""Wochenbericht: a health office counts respiratory infections of four districts, from lists, a chart and a call."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from fractions import Fraction
from typing import Any

from infranode_eval.generator.team.draft import Asset, Before, Change, Draft, RoundDraft, Wrong
from infranode_eval.generator.team.leak import Secret
from infranode_eval.generator.team.number import grouped, in_words
from infranode_eval.generator.team.picture import PALE, Plot, Sheet
from infranode_eval.generator.team.sound import speak
from infranode_eval.generator.team.texts import medizin_wochenbericht as texts

SEED = "medizin_wochenbericht 1"
NAMES = {"dornsee": "Dornsee", "wiehau": "Wiehau", "lammeroth": "Lammeroth", "ostrahden": "Ostrahden"}
OURS, SWAPPED = "wiehau", "lammeroth"           # the first table has their inhabitants exchanged
CALLED = "ostrahden"                            # the district of the call
MONDAY, SUNDAY = date(2026, 11, 16), date(2026, 11, 22)
COUNTED = ("Influenza A", "Influenza B", "RSV", "SARS-CoV-2")
AGES = ("A00-A04", "A05-A14", "A15-A34", "A35-A59", "A60-A79", "A80+")
STRONG = 110
EARLY, OLD_DEFINITION = "archiv/vorabauszug.txt", "archiv/falldefinition_2023.txt"
TRANSCRIPT, REPORT = "transkripte/nachmeldung.txt", "entwurf/wochenbericht.txt"
TABLE, CALL, CHART = "tabellen/wochentabelle.txt", "anrufe/nachmeldung.wav", "bilder/vorwoche.png"


@dataclass(frozen=True, slots=True)
class Report:
    """A line of a list. proof: PCR, Antigen or klinisch; remark: "-", or why it does not count."""

    number: int
    day: date
    germ: str
    age: str
    proof: str
    hospital: bool
    remark: str


@dataclass(frozen=True, slots=True)
class Table:
    """One version of the table. raised: from which incidence on a district is over the threshold."""

    mark: str
    people: Mapping[str, int]
    raised: int


@dataclass(frozen=True, slots=True)
class Late:
    """Cases that were told by telephone, and how many of them are in hospital."""

    cases: int
    hospital: int


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything that is drawn. before: cases of the week before; early: what an overtaken sheet says of them; heard:
    what the automatic transcript makes of the call."""

    lists: Mapping[str, Sequence[Report]]
    before: Mapping[str, int]
    early: Mapping[str, int]
    first: Table
    second: Table
    late: Late
    heard: Late

    @property
    def cases(self) -> dict[str, int]:
        """Cases of the week by district, with what was told late."""
        return {name: sum(map(is_case, rows)) + self.late.cases * (name == CALLED) for name, rows in self.lists.items()}

    @property
    def change(self) -> float:
        """Per cent against the week before."""
        before = sum(self.before.values())
        return tenth(Fraction((sum(self.cases.values()) - before) * 100, before))


def in_week(report: Report) -> bool:
    return MONDAY <= report.day <= SUNDAY


def is_case(report: Report) -> bool:
    return in_week(report) and _is_proven(report) and report.remark == "-"


def _is_proven(report: Report) -> bool:
    return report.germ in COUNTED and report.proof != "klinisch"


def tenth(value: Fraction) -> float:
    """One decimal, half away from zero."""
    tenths = int(abs(value) * 10 + Fraction(1, 2))
    return (tenths if value >= 0 else -tenths) / 10


def incidence(cases: int, people: int) -> float:
    return tenth(Fraction(cases * 100_000, people))


def level(value: float, table: Table) -> str:
    return "niedrig" if value < table.raised else "erhöht" if value < STRONG else "stark erhöht"


def draw_facts(seed: str = SEED) -> Facts:
    """Facts in which each slip gives another answer: the update changes the level, all three levels occur, one district
    leads clearly, and the total has risen."""
    rng = random.Random(seed)
    while True:
        facts = _drawn(rng)
        values = {name: incidence(cases, facts.second.people[name]) for name, cases in facts.cases.items()}
        stale = incidence(facts.cases[OURS], facts.first.people[OURS])
        *_, second, first = sorted(values.values())
        if level(values[OURS], facts.second) != level(stale, facts.first) and first - second > 3 and facts.change > 2 \
                and {level(value, facts.second) for value in values.values()} == {"niedrig", "erhöht", "stark erhöht"}:
            return facts


def _drawn(rng: random.Random) -> Facts:
    people = {name: 10 * rng.randint(9_800, 15_900) for name in NAMES}
    wrong = {**people, OURS: people[SWAPPED], SWAPPED: people[OURS]}
    before = dict(zip(NAMES, rng.sample(range(101, 139), len(NAMES)), strict=True))
    tens, ones = rng.choice(((3, 8), (5, 7), (6, 9), (4, 8)))
    late = Late(10 * tens + ones, 12)
    return Facts({name: _list(rng, 1_000 * n + 2_001) for n, name in enumerate(NAMES)}, before,
                 {name: value - rng.randint(14, 31) for name, value in before.items()},
                 Table("HW-" + _mark(rng), wrong, 95), Table("HW-" + _mark(rng), people, 80),
                 late, Late(10 * ones + tens, 2))


def _mark(rng: random.Random) -> str:
    return f"{rng.randint(1_000, 1_999)}-{rng.choice('CFKMRT')}"


def _list(rng: random.Random, first: int) -> list[Report]:
    """About 160 lines in the order of their days, some of them for nothing."""
    around = (-2, -1, *range(7), *range(7), 7, 8)
    days = sorted(MONDAY + timedelta(days=rng.choice(around)) for _ in range(rng.randint(140, 185)))
    found: list[Report] = []
    for number, day in enumerate(days, first):
        germ = rng.choices((*COUNTED, "Rhinovirus"), (34, 12, 22, 22, 10))[0]
        proof = rng.choices(("PCR", "Antigen", "klinisch"), (70, 20, 10))[0]
        twin = rng.choice(found) if found and rng.random() < 0.07 else None
        if twin is not None and twin.remark == "-" and in_week(twin):
            found.append(replace(twin, number=number, day=day, remark=f"Dublette zu {twin.number}"))
        else:
            found.append(Report(number, day, germ, rng.choice(AGES), proof, rng.random() < 0.13,
                                "zurückgezogen" if rng.random() < 0.04 else "-"))
    return found


def draft() -> Draft:
    facts = draw_facts()
    return Draft(
        "medizin_wochenbericht", "Wochenbericht Atemwegsinfektionen: Listen, Vorwoche, Erratum", "medicine",
        accessible=("aufgaben", "ausgabe", "entwurf"),
        delegable=("meldungen", "regelwerk", "tabellen", "bilder", "anrufe", "transkripte", "archiv"),
        decoys=("transkripte", "archiv"),
        workspace=workspace(facts),
        updates={"u1": (Change("replace", TABLE, table_text(facts.second)),
                        Change("new", "aufgaben/erratum.txt", texts.ERRATUM))},
        rounds=rounds(facts),
        secrets={CHART: tuple(Secret(f"vorwoche {name}", (value,)) for name, value in facts.before.items()),
                 CALL: (Secret("nachgemeldet", (facts.late.cases,)),
                        Secret("davon im Krankenhaus", (facts.late.hospital, "Quistorp")))})


def workspace(facts: Facts) -> dict[str, str | Asset]:
    """Path → content, in the state before round 1."""
    early = "\n".join(f"  {name}: {facts.early[key]}" for key, name in NAMES.items())
    return {
        "aufgaben/lies_mich.txt": texts.README, "aufgaben/verzeichnis.txt": texts.INDEX,
        "aufgaben/auftrag.txt": texts.ORDER, "aufgaben/zaehlregel.txt": texts.RULES,
        "ausgabe/lies_mich.txt": texts.RESULTS,
        REPORT: texts.REPORT, "entwurf/schreibweise.txt": texts.STYLE,
        **{f"meldungen/{name}.csv": list_text(rows) for name, rows in facts.lists.items()},
        "regelwerk/falldefinition.txt": texts.DEFINITION.format(clinical=texts.CLINICAL_OUT),
        "regelwerk/meldeweg.txt": texts.ROUTE, "regelwerk/datenschutz.txt": texts.PRIVACY,
        TABLE: table_text(facts.first), "tabellen/praxen.txt": texts.PRACTICES,
        CHART: Asset("image", chart_report(facts), lambda: chart(facts)),
        "bilder/karte.png": Asset("image", "Kartenskizze der Kreise Dornsee, Wiehau, Lammeroth und Ostrahden.", sketch),
        CALL: Asset("audio", call_report(facts), lambda: speak(spoken(facts))),
        "anrufe/mitschnitt.txt": texts.RECORDING,
        TRANSCRIPT: texts.TRANSCRIPT.format(cases=facts.heard.cases, hospital=facts.heard.hospital),
        OLD_DEFINITION: texts.OLD_DEFINITION.format(raised=70), EARLY: texts.EARLY.format(rows=early),
    }


def list_text(rows: Sequence[Report]) -> str:
    lines = ["meldung;eingang;erreger;altersgruppe;nachweis;krankenhaus;vermerk"]
    lines += [f"{r.number};{r.day.isoformat()};{r.germ};{r.age};{r.proof};{'ja' if r.hospital else 'nein'};{r.remark}"
              for r in rows]
    return "\n".join(lines) + "\n"


def table_text(table: Table) -> str:
    rows = "\n".join(f"{name:<12} {grouped(table.people[key]):>9}" for key, name in NAMES.items())
    return texts.TABLE.format(mark=table.mark, rows=rows, raised=table.raised, strong=STRONG)


def chart_report(facts: Facts) -> str:
    """What someone who sees the chart reports."""
    return ("Balkendiagramm „Fälle der Meldewoche 46 je Kreis“, Beschriftung der Balken: "
            + ", ".join(f"{name} {facts.before[key]}" for key, name in NAMES.items()) + ".")


def chart(facts: Facts) -> bytes:
    """One bar a district as PNG, each with its number."""
    sheet, plot = Sheet(900, 620), Plot(100, 130, 860, 530, 0, 160)
    sheet.text(450, 30, "Fälle der Meldewoche 46 je Kreis", 34, bold=True, anchor="ma")
    sheet.text(450, 78, "Gesundheitsamt Hasebruch, endgültiger Stand", 22, anchor="ma")
    sheet.axes(plot, range(0, 161, 40))
    sheet.bars(plot, {name: facts.before[key] for key, name in NAMES.items()}, size=28)
    return sheet.png()


def sketch() -> bytes:
    """Where the districts lie, as PNG."""
    sheet = Sheet(560, 420)
    sheet.text(280, 16, "Die vier Kreise (Skizze)", 26, bold=True, anchor="ma")
    corners = ((40, 70), (290, 60), (50, 240), (300, 230))
    for name, (left, top) in zip(NAMES.values(), corners, strict=True):
        sheet.polygon([(left, top + 10), (left + 210, top), (left + 225, top + 130), (left + 10, top + 150)], fill=PALE)
        sheet.text(left + 112, top + 72, name, 24, anchor="mm")
    return sheet.png()


def call_report(facts: Facts) -> str:
    """What someone who hears the call reports."""
    return (f"Labor Quistorp. Nachmeldung für den Kreis {NAMES[CALLED]}: {facts.late.cases} Fälle RSV, davon "
            f"{facts.late.hospital} im Krankenhaus.")


def spoken(facts: Facts) -> str:
    cases, hospital = in_words(facts.late.cases), in_words(facts.late.hospital)
    return (f"Labor Quistorp. Nachmeldung für den Kreis {NAMES[CALLED]}. {cases} Fälle RSV, davon {hospital} im "
            f"Krankenhaus. Ich wiederhole: {cases} Fälle, davon {hospital} im Krankenhaus.")


def rounds(facts: Facts) -> tuple[RoundDraft, ...]:
    """The six rounds, each with the slips that must not pass."""
    return tuple(make(facts) for make in (_basis, _before, _lists, _late, _erratum, _report))


def _basis(facts: Facts) -> RoundDraft:
    answer = {"einwohner_wiehau": facts.first.people[OURS], "schwelle_erhoeht": facts.first.raised,
              "klinisch_zaehlt": False}
    return RoundDraft("r1", texts.QUESTIONS["r1"], answer, (
        Wrong("the definition of a former season lets the clinical picture count", {**answer, "klinisch_zaehlt": True},
              from_=OLD_DEFINITION),
        Wrong("the threshold of a former season", {**answer, "schwelle_erhoeht": 70}, from_=OLD_DEFINITION),
        Wrong("the line above in the table", {**answer, "einwohner_wiehau": facts.first.people["dornsee"]})),
        covers=("C1", "C4", "C10"), tags=("text",))


def _before(facts: Facts) -> RoundDraft:
    swapped = {**facts.before, OURS: facts.before[SWAPPED], SWAPPED: facts.before[OURS]}
    return RoundDraft("r2", texts.QUESTIONS["r2"], _weeks(facts.before), (
        Wrong("the early sheet", _weeks(facts.early), from_=EARLY),
        Wrong("two bars exchanged", _weeks(swapped)),
        Wrong("heights read off the axis, to tens", _weeks({name: round(value, -1)
                                                            for name, value in facts.before.items()}))),
        covers=("C5", "C9"), tags=("image",))


def _weeks(cases: Mapping[str, int]) -> dict[str, int]:
    return {**cases, "summe": sum(cases.values())}


def _lists(facts: Facts) -> RoundDraft:
    return RoundDraft("r3", texts.QUESTIONS["r3"], _sums(facts, is_case), (
        Wrong("the clinical picture counted, as a former season had it",
              _sums(facts, lambda r: in_week(r) and r.germ in COUNTED and r.remark == "-"), from_=OLD_DEFINITION),
        Wrong("duplicates and withdrawn lines counted", _sums(facts, _unsifted)),
        Wrong("lines of other weeks counted", _sums(facts, lambda r: _is_proven(r) and r.remark == "-")),
        Wrong("rhinoviruses counted",
              _sums(facts, lambda r: in_week(r) and r.proof != "klinisch" and r.remark == "-"))),
        covers=("C6",), tags=("workflow",), overlap=2)


def _unsifted(report: Report) -> bool:
    return in_week(report) and _is_proven(report)


def _sums(facts: Facts, counts: Callable[[Report], bool]) -> dict[str, Any]:
    found: dict[str, Any] = {name: {"faelle": sum(map(counts, rows)),
                                    "krankenhaus": sum(counts(row) and row.hospital for row in rows)}
                             for name, rows in facts.lists.items()}
    return found | {"faelle_gesamt": sum(part["faelle"] for part in found.values())}


def _late(facts: Facts) -> RoundDraft:
    answer = _told(facts, facts.late, is_case)
    swapped = Late(int(str(facts.late.cases)[::-1]), facts.late.hospital)
    return RoundDraft("r4", texts.QUESTIONS["r4"], answer, (
        Wrong("the automatic transcript", _told(facts, facts.heard, is_case), from_=TRANSCRIPT),
        Wrong("tens and ones exchanged", _told(facts, swapped, is_case)),
        Wrong("cases of the list counted with duplicates", _told(facts, facts.late, _unsifted), built_on="r3")),
        covers=("C5", "C9", "C8:r3"), tags=("audio", "chain"))


def _told(facts: Facts, late: Late, counts: Callable[[Report], bool]) -> dict[str, Any]:
    listed = _sums(facts, counts)[CALLED]
    return {"kreis": NAMES[CALLED], "nachgemeldet": late.cases, "davon_krankenhaus": late.hospital,
            "faelle_neu": listed["faelle"] + late.cases, "krankenhaus_neu": listed["krankenhaus"] + late.hospital}


def _erratum(facts: Facts) -> RoundDraft:
    cases, old = facts.cases[OURS], facts.first.mark
    answer = _terms(cases, facts.second) | {"pruefzeichen_bisher": old}
    clinical = sum(in_week(r) and r.germ in COUNTED and r.remark == "-" for r in facts.lists[OURS])
    return RoundDraft("r5", texts.QUESTIONS["r5"], answer, (
        Wrong("inhabitants and threshold of the former version", _terms(cases, facts.first) | {
            "pruefzeichen_neu": facts.second.mark, "pruefzeichen_bisher": old}, stale_of="u1"),
        Wrong("the new mark twice", {**answer, "pruefzeichen_bisher": facts.second.mark}),
        Wrong("cases that the clinical picture alone makes", _terms(clinical, facts.second) | {
            "pruefzeichen_bisher": old}, built_on="r3")),
        covers=("C2", "C7:r1"), tags=("update", "session"), update_ids=("u1",), only_in_session=(old,))


def _terms(cases: int, table: Table) -> dict[str, Any]:
    value = incidence(cases, table.people[OURS])
    return {"einwohner_wiehau": table.people[OURS], "schwelle_erhoeht": table.raised, "inzidenz_wiehau": value,
            "stufe_wiehau": level(value, table), "pruefzeichen_neu": table.mark}


def _report(facts: Facts) -> RoundDraft:
    written = report_text(facts, facts.second)
    early, heard, without = ((_summary(other, facts.second), {REPORT: report_text(other, facts.second)}) for other in (
        replace(facts, before=facts.early), replace(facts, late=facts.heard), replace(facts, late=Late(0, 0))))
    return RoundDraft("r6", texts.QUESTIONS["r6"], _summary(facts, facts.second), (
        Wrong("the week before as the early sheet has it, from round 2", *early, from_=EARLY, built_on="r2"),
        Wrong("the late cases as the transcript has them, from round 4", *heard, from_=TRANSCRIPT, built_on="r4"),
        Wrong("the call forgotten", *without),
        Wrong("inhabitants and threshold of the former version", _summary(facts, facts.first),
              {REPORT: report_text(facts, facts.first)}, stale_of="u1", built_on="r5"),
        Wrong("the report not written", _summary(facts, facts.second)),
        Wrong("decimals with a dot in the report", _summary(facts, facts.second),
              {REPORT: written.replace(_comma(facts.change), str(facts.change))})),
        covers=("C3", "C8:r2"), tags=("report", "chain"), files={REPORT: written},
        before=Before(f"cat ${{workspace}}/{REPORT}", written))


def _summary(facts: Facts, table: Table) -> dict[str, Any]:
    values = {name: incidence(cases, table.people[name]) for name, cases in facts.cases.items()}
    return {"faelle_gesamt": sum(facts.cases.values()), "veraenderung_prozent": facts.change, "inzidenzen": values,
            "hoechste_inzidenz": NAMES[max(values, key=lambda name: values[name])],
            "kreise_ueber_schwelle": sum(level(value, table) != "niedrig" for value in values.values())}


def report_text(facts: Facts, table: Table) -> str:
    """The report with its gaps filled."""
    told = _summary(facts, table)
    values = {"FAELLE": told["faelle_gesamt"], "VORWOCHE": sum(facts.before.values()),
              "VERAENDERUNG": _comma(facts.change), "KREIS": told["hoechste_inzidenz"],
              "INZIDENZ": _comma(max(told["inzidenzen"].values())), "ANZAHL": told["kreise_ueber_schwelle"],
              "PRUEFZEICHEN": table.mark}
    text = texts.REPORT
    for name, value in values.items():
        text = text.replace(f"<{name}>", str(value))
    return text


def _comma(value: float) -> str:
    return str(value).replace(".", ",")
