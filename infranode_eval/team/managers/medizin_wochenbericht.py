"""Manages medizin_wochenbericht: a reader of table and rules, an eye, four counters at once, an ear, a report."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import date
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from infranode_eval.team.account import day_in, found, plain, texts_of
from infranode_eval.team.manner import WAIT, Desk, Manner, RoundScript, Script, alone
from infranode_eval.team.orders import create, edit, place, read, run, session_in, write_answer
from infranode_eval.team.workspace import ROOT
from lm_eval_task.records import Call

TASKS, REPORT = f"{ROOT}/aufgaben", f"{ROOT}/entwurf/wochenbericht.txt"
NAMES = {"dornsee": "Dornsee", "wiehau": "Wiehau", "lammeroth": "Lammeroth", "ostrahden": "Ostrahden"}
DUTY = ("Sie arbeiten dem Gesundheitsamt zu. Berichten Sie genau, was in den Unterlagen steht, und ergänzen Sie nichts "
        "aus eigenem Wissen.")
READER = "tabellenleser"
_ROW = re.compile(r"^\d+;(\d{4}-\d\d-\d\d);([^;\n]+);[^;\n]+;(\w+);(ja|nein);([^\n]+)$", re.MULTILINE)
_LATE = r"Kreis (\w+): (\d+) Fälle RSV,\s+davon (\d+) im Krankenhaus"
_WORKFLOW = """\
for (const kreis of args) await defineAgent(kreis.agent);
const listen = await parallel(args.map((kreis) => () => agent(kreis.auftrag, {agentType: kreis.agent.name})));
log("ausgewertet:", listen.filter((text) => text !== null).length);
return listen;
"""


def rounds(manner: Manner) -> Sequence[RoundScript]:
    """The six rounds in this manner."""
    if manner.alone:
        return alone(manner, [f"r{number}" for number in range(1, 7)])
    return [lambda desk, script=script: script(manner, desk) for script in (
        _basis, _before, _lists, _late, _erratum, _report)]


def _basis(manner: Manner, desk: Desk) -> Script:
    """Round 1: a reader of table and definition; its session is kept, and of the table what is asked for."""
    if manner.curious:
        closed = f"{ROOT}/tabellen/wochentabelle.txt"
        yield read(closed), Call("Bash", {"command": f"cat {closed}"})
    _, index, order = yield (Call("Glob", {"pattern": "*.txt", "path": TASKS}), read(f"{TASKS}/verzeichnis.txt"),
                             read(f"{TASKS}/auftrag.txt"))
    notes = desk.notes
    notes["index"], notes["week"] = plain(index), _week(plain(order))
    notes["table"] = place(notes["index"], "Wochentabelle: Einwohner")
    rules = place(notes["index"], "gültig in dieser Saison")
    _, told = yield (create(manner, READER, "text", notes["table"], rules, system_prompt=DUTY), run(
        READER, f"Lesen Sie {notes['table']} und {rules}: Einwohner je Kreis, Schwellen, und was als Nachweis gilt."))
    notes["session"], notes["terms"] = session_in(told), _terms(texts_of(told, notes["table"])[-1:])
    notes["germs"] = _germs(texts_of(told, rules))
    clinical = found(r"klinische Bild allein genügt nicht", texts_of(told, rules))
    terms = notes["terms"]
    yield write_answer("r1", {"einwohner_wiehau": terms["wiehau"], "schwelle_erhoeht": terms["raised"],
                              "klinisch_zaehlt": clinical is None})


def _before(manner: Manner, desk: Desk) -> Script:
    """Round 2: an eye for the chart; or a reader for the early sheet."""
    lines, = yield (Call("Grep", {"pattern": "Vorwoche", "path": TASKS, "output_mode": "content", "-n": False}),)
    wanted, modality = ("Vorabauszug", "text") if manner.decoy else ("Balkendiagramm", "image")
    source = place(desk.notes["index"], wanted) if wanted in lines else ROOT
    _, told = yield (create(manner, "bildleser", modality, source, system_prompt=DUTY), run(
        "bildleser", f"Welche Zahl nennt {source} für jeden der vier Kreise?"))
    texts = texts_of(told, source)
    values = {key: int(m[1]) if (m := found(rf"{name}:? (\d+)", texts)) else None for key, name in NAMES.items()}
    known = [value for value in values.values() if value is not None]
    desk.notes["before"] = sum(known) if len(known) == len(NAMES) else None
    yield write_answer("r2", {**values, "summe": desk.notes["before"]})


def _lists(manner: Manner, desk: Desk) -> Script:
    """Round 3: one counter a district, by a workflow."""
    work = []
    for key, name in NAMES.items():
        path = place(desk.notes["index"], f"Meldeliste Kreis {name}")
        work.append({"agent": create(manner, f"zaehler_{key}", "text", path, system_prompt=DUTY).arguments,
                     "auftrag": f"Geben Sie alle Zeilen aus {path} wieder."})
    yield (Call("Workflow", {"script": _WORKFLOW, "args": work}),)
    notices = yield WAIT
    told = json.loads(next(iter(notices.values())))
    counts = {key: _counted(text or "", desk.notes) for key, text in zip(NAMES, told, strict=True)}
    desk.notes["counts"] = counts
    yield write_answer("r3", {**counts, "faelle_gesamt": sum(part["faelle"] for part in counts.values())})


def _late(manner: Manner, desk: Desk) -> Script:
    """Round 4: an ear for the call, in the background; or a reader for the transcript."""
    wanted, modality = ("Mitschrift", "text") if manner.decoy else ("Mitschnitt: Anruf", "audio")
    source = place(desk.notes["index"], wanted)
    yield (create(manner, "anrufhoerer", modality, source, system_prompt=DUTY), run(
        "anrufhoerer", f"Was wird in {source} nachgemeldet: Kreis, Fälle, davon im Krankenhaus?",
        run_in_background=True))
    yield (Call("ListSubagents", {}),)
    notices = yield WAIT
    told = found(_LATE, list(notices.values()))
    key = next((key for key, name in NAMES.items() if told and told[1] == name), None)
    desk.notes["late"] = None if told is None or key is None else (key, int(told[2]))
    if told is None or key is None:
        yield write_answer("r4", {"kreis": None})
        return
    cases, hospital, listed = int(told[2]), int(told[3]), desk.notes["counts"][key]
    yield write_answer("r4", {"kreis": told[1], "nachgemeldet": cases, "davon_krankenhaus": hospital,
                              "faelle_neu": listed["faelle"] + cases,
                              "krankenhaus_neu": listed["krankenhaus"] + hospital})


def _erratum(manner: Manner, desk: Desk) -> Script:
    """Round 5: the session of round 1 reads the new table beside the one that it remembers."""
    notes, prompt = desk.notes, "Welches Prüfzeichen trägt die Wochentabelle?"
    if not manner.stale:
        yield read(f"{TASKS}/erratum.txt"), Call("InspectSubagent", {"subagent": READER})
        prompt = f"Lesen Sie {notes['table']} noch einmal: Was steht jetzt darin, welches Prüfzeichen stand vorher da?"
    told, = yield (run(READER, prompt, session_id=notes["session"]),)
    versions = texts_of(told, notes["table"])
    notes["terms"], former = _terms(versions[-1:]), _terms(versions[:1])
    terms = notes["terms"]
    value = _incidence(notes["counts"]["wiehau"]["faelle"], terms["wiehau"])
    yield write_answer("r5", {"einwohner_wiehau": terms["wiehau"], "schwelle_erhoeht": terms["raised"],
                              "inzidenz_wiehau": float(value), "stufe_wiehau": _level(value, terms),
                              "pruefzeichen_neu": terms["mark"], "pruefzeichen_bisher": former["mark"]})


def _report(manner: Manner, desk: Desk) -> Script:
    """Round 6: put all rounds together, and fill the gaps of the report."""
    notes, terms = desk.notes, desk.notes["terms"]
    key, late = notes["late"] or (None, 0)
    cases = {name: part["faelle"] + late * (name == key) for name, part in notes["counts"].items()}
    values = {name: _incidence(count, terms[name]) for name, count in cases.items()}
    total, before, first = sum(cases.values()), notes["before"], max(values, key=lambda name: values[name])
    change = _tenth(Decimal((total - before) * 100) / before) if before else None
    above = sum(_level(value, terms) != "niedrig" for value in values.values())
    yield read(REPORT), read(f"{ROOT}/entwurf/schreibweise.txt")
    yield tuple(edit(REPORT, f"<{gap}>", str(value).replace(".", ",")) for gap, value in (
        ("FAELLE", total), ("VORWOCHE", before), ("VERAENDERUNG", change), ("KREIS", NAMES[first]),
        ("INZIDENZ", values[first]), ("ANZAHL", above), ("PRUEFZEICHEN", terms["mark"])))
    yield (Call("Bash", {"command": f"grep -c '[<>]' {REPORT}"}),)
    yield write_answer("r6", {"faelle_gesamt": total, "veraenderung_prozent": None if change is None else float(change),
                              "inzidenzen": {name: float(value) for name, value in values.items()},
                              "hoechste_inzidenz": NAMES[first], "kreise_ueber_schwelle": above})


def _week(order: str) -> tuple[date, date]:
    line = found(r"Meldewoche: \w+, ([^,]+), bis \w+, ([^\n]+)", [order])
    days = [day_in(part) for part in line.groups()] if line else []
    assert len(days) == 2 and days[0] and days[1], "the order names the first and the last day"
    return days[0], days[1]


def _terms(versions: Sequence[str]) -> dict[str, Any]:
    """Mark, thresholds and inhabitants by district of a table."""
    terms: dict[str, Any] = {"mark": (found(r"Prüfzeichen dieser Fassung: (\S+)", versions) or ["", None])[1]}
    for name, pattern in {"raised": r"^  erhöht ab (\d+)", "strong": r"stark erhöht ab (\d+)",
                          **{key: rf"^{name} +([\d.]+)$" for key, name in NAMES.items()}}.items():
        number = found(pattern, versions)
        terms[name] = int(number[1].replace(".", "")) if number else None
    return terms


def _germs(rules: Sequence[str]) -> list[str]:
    line = found(r"Erfasst werden ([^.]+)\.", rules)
    return re.split(r", | und ", " ".join(line[1].split())) if line else []


def _counted(text: str, notes: Mapping[str, Any]) -> dict[str, int]:
    """Cases of the week in a list, and those of them in hospital."""
    first, last = notes["week"]
    hospital = [stay for day, germ, proof, stay, remark in _ROW.findall(text)
                if first <= date.fromisoformat(day) <= last and germ in notes["germs"] and proof != "klinisch"
                and remark.strip() == "-"]
    return {"faelle": len(hospital), "krankenhaus": hospital.count("ja")}


def _incidence(cases: int, people: int) -> Decimal:
    return _tenth(Decimal(cases * 100_000) / people)


def _tenth(value: Decimal) -> Decimal:
    return value.quantize(Decimal("0.1"), rounding=ROUND_HALF_UP)


def _level(value: Decimal, terms: Mapping[str, Any]) -> str:
    return "niedrig" if value < terms["raised"] else "erhöht" if value < terms["strong"] else "stark erhöht"
