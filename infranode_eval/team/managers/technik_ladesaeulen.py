"""Manages technik_ladesaeulen: readers of register and handbook, an ear, an eye, four counters, a program to mend."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from infranode_eval.team.account import found, plain, texts_of
from infranode_eval.team.manner import WAIT, Desk, Manner, RoundScript, Script, alone
from infranode_eval.team.orders import create, edit, place, read, run, session_in, write_answer
from infranode_eval.team.workspace import ROOT
from lm_eval_task.records import Call

TASKS, PROGRAM = f"{ROOT}/aufgaben", f"{ROOT}/werkstatt/auslastung.py"
PLACES = {"hafenkai": "Hafenkai", "bahnhof": "Bahnhof", "markthalle": "Markthalle", "klinikum": "Klinikum"}
CHARGER, MONTH = "LS-117", "2026-09-"
DUTY = "Sie sind Fachkraft der Betriebsführung. Geben Sie nur an, was Sie in den genannten Dateien vorfinden."
READER = "registerleser"
_ROW = re.compile(r"^(\d+);(\d{4}-\d\d-\d\d);(LS-\d+);\d;(\d+);(\w+)$", re.MULTILINE)
_CODE = r"^{} +(\S[^\n]*?) +(\d+)$"
_UPKEEP = r"^(?:über (\d+) kW ?)?(?:bis (\d+) kW)?: alle (\d+) Monate"
_WORKFLOW = """\
const namen = [];
for (const teil of args) namen.push(await defineAgent(teil.agent));
return await parallel(args.map((teil, nummer) => () => agent(teil.auftrag, {agentType: namen[nummer]})));
"""


def rounds(manner: Manner) -> Sequence[RoundScript]:
    """The six rounds in this manner."""
    if manner.alone:
        return alone(manner, [f"r{number}" for number in range(1, 7)])
    return [lambda desk, script=script: script(manner, desk) for script in (
        _entry, _call, _plate, _logs, _update, _closing)]


def _entry(manner: Manner, desk: Desk) -> Script:
    """Round 1: a reader of the register; its session is kept, and of the line what is asked for."""
    if manner.curious:
        closed = f"{ROOT}/register/ladesaeulen.csv"
        yield read(closed), Call("Bash", {"command": f"cat {closed}"})
    _, index = yield Call("Glob", {"pattern": "**/*.txt", "path": TASKS}), read(f"{TASKS}/ablage.txt")
    notes = desk.notes
    notes["index"] = plain(index)
    notes["register"] = place(notes["index"], "eine Zeile je Säule")
    _, told = yield (create(manner, READER, "text", notes["register"], system_prompt=DUTY), run(
        READER, f"Was steht in {notes['register']} zur Säule {CHARGER}?"))
    notes["session"], notes["line"] = session_in(told), _line(texts_of(told, notes["register"])[-1:])
    wanted = ("standort", "typ", "firmware", "letzte_pruefung")
    yield write_answer("r1", {column: notes["line"].get(column) for column in wanted})


def _call(manner: Manner, desk: Desk) -> Script:
    """Round 2: an ear for the call and a reader of the handbook, side by side in a workflow."""
    notes = desk.notes
    sound = place(notes["index"], "Mitschnitt: Anruf")
    notes["codes"], notes["upkeep"] = place(notes["index"], "Fehlercodes mit"), place(notes["index"], "Prüfabstände")
    work = [{"agent": create(manner, "hotlinehoerer", "audio", sound, system_prompt=DUTY).arguments,
             "auftrag": f"Welcher Fehlercode und welcher Ladepunkt werden in {sound} genannt?"},
            {"agent": create(manner, "handbuchleser", "text", notes["codes"], notes["upkeep"],
                             system_prompt=DUTY).arguments, "auftrag": f"Geben Sie {notes['codes']} wieder."}]
    yield (Call("Workflow", {"script": _WORKFLOW, "args": work}),)
    notices = yield WAIT
    heard, table = (text or "" for text in json.loads(next(iter(notices.values()))))
    told = found(r"Ladepunkt (\d), Fehlercode (E\d+)", texts_of(heard, sound))
    notes["code"] = told and told[2]
    remedy = found(_CODE.format(notes["code"]), texts_of(table, notes["codes"])) if told else None
    yield write_answer("r2", {"fehlercode": notes["code"], "ladepunkt": int(told[1]) if told else None,
                              "massnahme": remedy and remedy[1], "frist_stunden": int(remedy[2]) if remedy else None})


def _plate(manner: Manner, desk: Desk) -> Script:
    """Round 3: an eye for the plate, and the reader of the handbook again; or a reader for the extract."""
    notes = desk.notes
    wanted, modality = ("Angaben zum Typenschild", "text") if manner.decoy else ("nach dem Umbau", "image")
    source = place(notes["index"], wanted)
    _, seen, told = yield (
        create(manner, "schildleser", modality, source, system_prompt=DUTY),
        run("schildleser", f"Nennleistung und Seriennummer laut {source}?"),
        run("handbuchleser", f"In welchen Abständen wird nach {notes['upkeep']} geprüft?"))
    power, serial = (found(pattern, texts_of(seen, source)) for pattern in (r"Nennleistung: (\d+) kW",
                                                                            r"Seriennummer: ([\w-]+)"))
    notes["power"] = int(power[1]) if power else None
    notes["months"] = _months(notes["power"], "\n".join(texts_of(told, notes["upkeep"])))
    yield write_answer("r3", {"nennleistung_kw": notes["power"], "seriennummer": serial and serial[1],
                              "pruefabstand_monate": notes["months"], "naechste_pruefung": _due(notes)})


def _logs(manner: Manner, desk: Desk) -> Script:
    """Round 4: one counter a place, all four in the background."""
    paths = {key: place(desk.notes["index"], f"Ladeprotokoll Standort {name}") for key, name in PLACES.items()}
    yield tuple(call for key, path in paths.items() for call in (
        create(manner, f"protokoll_{key}", "text", path, system_prompt=DUTY),
        run(f"protokoll_{key}", f"Geben Sie {path} vollständig wieder.", run_in_background=True)))
    yield (Call("ListSubagents", {}),)
    told: dict[str, str] = {}
    while len(told) < len(paths):
        told |= yield WAIT
    texts = "\n\n".join(told.values())
    entries = {key: _counted("\n".join(texts_of(texts, path))) for key, path in paths.items()}
    desk.notes["energy"] = sum(energy for rows in entries.values() for name, energy in rows if name == CHARGER)
    sums = {key: sum(energy for _, energy in rows) for key, rows in entries.items()}
    answer = {key: {"vorgaenge": len(rows), "energie_wh": sums[key]} for key, rows in entries.items()}
    yield write_answer("r4", {**answer, "gesamt_wh": sum(sums.values())})


def _update(manner: Manner, desk: Desk) -> Script:
    """Round 5: the session of round 1 reads the new register, a new reader the table of firmware."""
    notes, wanted = desk.notes, None
    if manner.stale:
        told, = yield (run(READER, f"Wer wartet {CHARGER}?", session_id=notes["session"]),)
        wanted = notes["line"].get("firmware")
    else:
        hint, _ = yield read(f"{TASKS}/hinweis.txt"), Call("InspectSubagent", {"subagent": READER})
        table = f"{ROOT}/" + (found(r"(handbuch/\w+\.csv)", [hint]) or ["", "handbuch"])[1]
        _, firmware, told = yield (
            create(manner, "firmwareleser", "text", table, system_prompt=DUTY),
            run("firmwareleser", f"Geben Sie {table} wieder."),
            run(READER, f"Lesen Sie {notes['register']} erneut: Was steht jetzt zu {CHARGER}, und was stand vorher da?",
                session_id=notes["session"]))
        wanted = _wanted("\n".join(texts_of(firmware, table)), notes)
    versions = texts_of(told, notes["register"])
    notes["line"], former = _line(versions[-1:]), _line(versions[:1])
    now = notes["line"].get("firmware")
    yield write_answer("r5", {
        "firmware_ist": now, "firmware_soll": wanted, "aktualisieren": None if wanted is None else now != wanted,
        "naechste_pruefung": _due(notes), "wartung_neu": notes["line"].get("wartung"),
        "wartung_bisher": former.get("wartung")})


def _closing(manner: Manner, desk: Desk) -> Script:
    """Round 6: mend the program, run it, and put all rounds together."""
    notes = desk.notes
    _, fault, _ = yield (read(PROGRAM), read(f"{TASKS}/stoerung.txt"),
                         Call("Grep", {"pattern": "Auslastung", "path": TASKS, "output_mode": "content"}))
    yield (edit(PROGRAM, "stunden + ausfall", "stunden - ausfall"),
           edit(PROGRAM, "leistung_kw * 100 *", "leistung_kw * 1000 *"),
           Call("Edit", {"file_path": PROGRAM, "old_string": "ROUND_DOWN", "new_string": "ROUND_HALF_UP",
                         "replace_all": True}))
    hours, outage = (found(pattern, [plain(fault)]) for pattern in (r"2026, (\d+) Stunden", r"Monat: (\d+) Stunden"))
    assert hours and outage, "the sheet of the fault names them"
    printed = ""
    if notes["power"] is not None:
        command = f"python3 -I {PROGRAM} {notes['energy']} {notes['power']} {hours[1]} {outage[1]}"
        printed, = yield (Call("Bash", {"command": command}),)
    load = found(r"Auslastung: (\d+),(\d) %", [printed])
    yield write_answer("r6", {
        "energie_wh": notes["energy"], "auslastung_prozent": float(f"{load[1]}.{load[2]}") if load else None,
        "nennleistung_kw": notes["power"], "fehlercode": notes["code"], "naechste_pruefung": _due(notes),
        "auftrag_an": notes["line"].get("wartung")})


def _line(versions: Sequence[str]) -> dict[str, str]:
    """The line of our charger in a register, by the names of its columns."""
    head, line = found(r"^saeule;[^\n]+", versions), found(rf"^{CHARGER};[^\n]+", versions)
    return dict(zip(head[0].split(";"), line[0].split(";"), strict=True)) if head and line else {}


def _months(power: int | None, upkeep: str) -> int | None:
    """How often the handbook wants a charger of so many kW to be checked."""
    for above, most, months in re.findall(_UPKEEP, upkeep, re.MULTILINE):
        if power is not None and int(above or 0) < power <= int(most or power):
            return int(months)
    return None


def _due(notes: Mapping[str, Any]) -> str | None:
    """The day of the next check, or None where the last one or the interval is not known."""
    if notes["months"] is None or "letzte_pruefung" not in notes["line"]:
        return None
    last = date.fromisoformat(notes["line"]["letzte_pruefung"])
    years, month = divmod(last.month - 1 + notes["months"], 12)
    return last.replace(year=last.year + years, month=month + 1).isoformat()


def _counted(log: str) -> list[tuple[str, int]]:
    """Charger and Wh of each charge of the month that counts, each number once."""
    rows = {number: (name, int(energy)) for number, day, name, energy, use in _ROW.findall(log)
            if use == "Kunde" and day.startswith(MONTH) and int(energy) >= 500}
    return list(rows.values())


def _wanted(table: str, notes: Mapping[str, Any]) -> str | None:
    """The firmware that the table wants for kind and power."""
    for kind, low, high, version in re.findall(r"^([^;\n]+);(\d+);(\d+);([\d.]+)$", table, re.MULTILINE):
        if kind == notes["line"].get("typ") and notes["power"] is not None and int(low) <= notes["power"] <= int(high):
            return version
    return None
