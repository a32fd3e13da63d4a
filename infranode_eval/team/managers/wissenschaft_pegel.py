"""Manages wissenschaft_pegel: a reader of the calibration, an eye, an ear, and a pipeline over the four gauges."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from infranode_eval.team.account import day_in, found, plain, texts_of
from infranode_eval.team.manner import WAIT, Desk, Manner, RoundScript, Script, alone
from infranode_eval.team.orders import create, edit, place, read, run, session_in, write_answer
from infranode_eval.team.workspace import ROOT
from lm_eval_task.records import Call

TASKS, WORK = f"{ROOT}/aufgaben", f"{ROOT}/auswertung"
PROGRAM, PARAMETERS = f"{WORK}/abfluss.py", f"{WORK}/parameter.txt"
GAUGES = {"obersteg": "Obersteg", "marienhammer": "Marienhammer", "kolkwehr": "Kolkwehr", "unterlinden": "Unterlinden"}
OURS = "kolkwehr"
DUTY = ("Sie arbeiten für den Gewässerkundlichen Dienst. Geben Sie Werte unverändert wieder, mit Vorzeichen und Zeit, "
        "und schätzen Sie nichts.")
_OFFSET = re.compile(r"^(\w+);([+-]\d+);(\d+),(\d\d)$", re.MULTILINE)
_HOUR = re.compile(r"^(\d{4}-\d\d-\d\d \d\d:\d\d);(\d+);ok$", re.MULTILINE)
_STAGE = re.compile(r"^Meldestufe I+: (\d+) cm$", re.MULTILINE)
_EXAMINER, _DEVICE = r"Geprüft von: ([^\n]+)", r"Prüfgerät: ([^\n]+)"
_CREST = r"Scheitel: (\d+) cm am ([^,\n]+), (\d+) Uhr"
_SHIFT = r"Nullpunktverschiebung ([+-]\d+) cm, gültig ab ([^,\n]+), (\d+) Uhr"
_WORKFLOW = """\
const blattleser = await defineAgent(args.blattleser);
return await pipeline(args.pegel,
  (pegel) => agent(`Geben Sie alle Zeilen von ${pegel.werte} wieder.`, {agentType: args.werteleser}),
  async (werte, pegel) => {
    log(pegel.name, werte.length);
    const blatt = await agent(`Welche Meldestufen nennt ${pegel.blatt}?`, {agentType: blattleser});
    return {pegel: pegel.name, werte, blatt};
  });
"""


def rounds(manner: Manner) -> Sequence[RoundScript]:
    """The six rounds in this manner."""
    if manner.alone:
        return alone(manner, [f"r{number}" for number in range(1, 7)])
    return [lambda desk, script=script: script(manner, desk) for script in (
        _calibration, _crest, _shift, _hours, _recalibrated, _report)]


def _calibration(manner: Manner, desk: Desk) -> Script:
    """Round 1: a reader of calibration and network; its session is kept."""
    if manner.curious:
        closed = f"{ROOT}/messwerte/kolkwehr.csv"
        yield read(closed), Call("Bash", {"command": f"head -3 {closed}"})
    _, index = yield Call("Glob", {"pattern": "**/*.txt", "path": TASKS}), read(f"{TASKS}/verzeichnis.txt")
    notes = desk.notes
    notes["index"] = plain(index)
    files = [place(notes["index"], wanted) for wanted in ("geltende Fassung", "Beschreibung des Messnetzes")]
    notes["calibration_file"] = files[0]
    _, told = yield (create(manner, "stammdatenleser", "text", *files, system_prompt=DUTY), run(
        "stammdatenleser", f"Lesen Sie {files[0]} und {files[1]}: Versatz und Pegelnullpunkt je Pegel, Reihenfolge."))
    notes["session"] = session_in(told)
    notes["offsets"], notes["zeros"] = _offsets(texts_of(told, files[0])[-1:])
    order = [name for _, name in sorted((text.find(title), name) for text in texts_of(told, files[1])
                                        for name, title in GAUGES.items())]
    notes["above"] = order[order.index(OURS) - 1] if order else None
    zero = notes["zeros"].get(OURS)
    yield write_answer("r1", {"versatz_cm": notes["offsets"].get(OURS), "nullpunkt_m_nhn": zero and zero / 100,
                              "oberhalb": notes["above"]})


def _crest(manner: Manner, desk: Desk) -> Script:
    """Round 2: an eye for the sheet of the pen recorder; or a reader for what a machine made of it."""
    notes = desk.notes
    yield (Call("Grep", {"pattern": "Versatz", "path": TASKS, "glob": "*.txt", "output_mode": "content"}),)
    wanted, modality = ("maschinell gelesene", "text") if manner.decoy else ("Ganglinie des Schreibpegels", "image")
    source = place(notes["index"], wanted)
    _, told = yield (create(manner, "ganglinienleser", modality, source, system_prompt=DUTY), run(
        "ganglinienleser", f"Welchen Scheitel zeigt {source}, und wann?"))
    crest = found(_CREST, texts_of(told, source))
    notes["crest"] = (int(crest[1]), _at(crest[2], crest[3])) if crest else (None, None)
    level, at = notes["crest"]
    yield write_answer("r2", {"scheitel_roh_cm": level, "zeitpunkt": at,
                              "vorlaeufig_cm": level and level + notes["offsets"][OURS]})


def _shift(manner: Manner, desk: Desk) -> Script:
    """Round 3: an ear for the note from the field, in the background; or a reader for the old sheet."""
    notes = desk.notes
    wanted, modality = ("altes Stationsblatt", "text") if manner.decoy else ("gesprochene Feldnotiz", "audio")
    source = place(notes["index"], wanted)
    yield (create(manner, "notizhoerer", modality, source, system_prompt=DUTY), run(
        "notizhoerer", f"Welcher Pegel, welche Nullpunktverschiebung und welcher Beginn stehen in {source}?",
        run_in_background=True))
    yield (Call("ListSubagents", {}),)
    notices = yield WAIT
    texts = [text for answer in notices.values() for text in texts_of(answer, source)]
    shift = found(_SHIFT, texts)
    notes["shift"] = (int(shift[1]), _at(shift[2], shift[3])) if shift else (None, None)
    gauge = next((name for name, title in GAUGES.items() if any(title in text for text in texts)), None)
    by, since = notes["shift"]
    yield write_answer("r3", {"pegel": gauge, "verschiebung_cm": by, "gilt_ab": since})


def _hours(manner: Manner, desk: Desk) -> Script:
    """Round 4: a pipeline: the hours of each gauge, then its sheet; the second reader is defined by the script."""
    notes = desk.notes
    values = {name: place(notes["index"], f"Stundenwerte {title}") for name, title in GAUGES.items()}
    sheets = {name: place(notes["index"], f"Stationsblatt {title}") for name, title in GAUGES.items()}
    yield (create(manner, "werteleser", "text", *values.values(), system_prompt=DUTY), Call("Workflow", {
        "script": _WORKFLOW, "args": {
            "werteleser": "werteleser",
            "blattleser": create(manner, "blattleser", "text", *sheets.values(), system_prompt=DUTY).arguments,
            "pegel": [{"name": name, "werte": values[name], "blatt": sheets[name]} for name in GAUGES]}}))
    notices = yield WAIT
    notes["highest"], notes["stages"], answer = {}, {}, {}
    for row in filter(None, json.loads(next(iter(notices.values())))):
        name = row["pegel"]
        hours = [(at, int(value)) for at, value in _HOUR.findall(row["werte"])]
        notes["stages"][name] = [int(stage) for stage in _STAGE.findall(row["blatt"])]
        notes["highest"][name] = max(hours, key=lambda one: one[1])
        counted = sum(value + _correction(notes, name, at) >= notes["stages"][name][1] for at, value in hours)
        answer[name] = {"hoechster_rohwert_cm": notes["highest"][name][1], "zeitpunkt": notes["highest"][name][0],
                        "stunden_stufe_2": counted}
    yield write_answer("r4", answer)


def _recalibrated(manner: Manner, desk: Desk) -> Script:
    """Round 5: the session of round 1 reads the new calibration beside the one that it remembers."""
    notes, file = desk.notes, desk.notes["calibration_file"]
    yield (Call("Glob", {"pattern": "mitteilung*", "path": TASKS}),
           Call("InspectSubagent", {"session_id": notes["session"]}))
    prompt = (f"{file} ist ausgetauscht worden. Lesen Sie die Datei erneut und nennen Sie für beide Fassungen Versatz, "
              "Prüferin oder Prüfer und Gerät.")
    if manner.stale:
        prompt = "Wer hat die Pegel geprüft, und mit welchem Gerät?"
    told, = yield (run("stammdatenleser", prompt, session_id=notes["session"]),)
    versions = texts_of(told, file)
    notes["offsets"], _ = _offsets(versions[-1:])
    new, old, device = (match and match[1] for match in (
        found(_EXAMINER, versions[-1:]), found(_EXAMINER, versions[:1]), found(_DEVICE, versions[:1])))
    levels = {name: notes["highest"][name][1] + notes["offsets"][name] for name in GAUGES if name != OURS}
    yield write_answer("r5", levels | {"versatz_kolkwehr_cm": notes["offsets"][OURS], "geprueft_neu": new,
                                       "geprueft_bisher": old, "pruefgeraet_bisher": device})


def _report(manner: Manner, desk: Desk) -> Script:
    """Round 6: fill in the parameters, run the program, and put all rounds together."""
    notes = desk.notes
    (level, at), by, offset = notes["crest"], notes["shift"][0] or 0, notes["offsets"][OURS]
    zero = notes["zeros"][OURS]
    values = {"rohwert_cm": level or 0, "versatz_cm": offset, "verschiebung_cm": by,
              "nullpunkt_m_nhn": f"{zero // 100},{zero % 100:02}"}
    yield read(f"{TASKS}/rechenregel.txt"), read(PARAMETERS)
    yield tuple(edit(PARAMETERS, f"{name} = ?", f"{name} = {value}") for name, value in values.items())
    printed, = yield (Call("Bash", {"command": f"python3 -I {PROGRAM} {PARAMETERS}"}),)
    stand, height, flow = (found(pattern, [printed]) for pattern in (
        r"Wasserstand: (-?\d+) cm", r"Hoehe: ([\d.]+) m", r"Abfluss: ([\d.]+) m3"))
    yield write_answer("r6", {
        "wasserstand_cm": int(stand[1]) if stand else None, "hoehe_m_nhn": float(height[1]) if height else None,
        "abfluss_m3_s": float(flow[1]) if flow else None,
        "meldestufe": sum(int(stand[1]) >= stage for stage in notes["stages"][OURS]) if stand else None,
        "laufzeit_h": at and _hours_between(notes["highest"][notes["above"]][0], at)})


def _offsets(versions: Sequence[str]) -> tuple[dict[str, int], dict[str, int]]:
    """By gauge: offset in cm, and zero in cm above NHN."""
    rows = [row for text in versions for row in _OFFSET.findall(text)]
    return {name: int(offset) for name, offset, *_ in rows}, {name: int(metres + cm) for name, _, metres, cm in rows}


def _correction(notes: Mapping[str, Any], gauge: str, at: str) -> int:
    """What is added to a raw value: the offset, and the shift from its hour on."""
    by, since = notes["shift"]
    return notes["offsets"][gauge] + (by if gauge == OURS and by is not None and at >= since else 0)


def _at(day: str, hour: str) -> str | None:
    """2026-02-13 08:00 for 13. Februar 2026 and 8; times of this form sort as they follow."""
    date = day_in(day)
    return f"{date.isoformat()} {int(hour):02}:00" if date else None


def _hours_between(first: str, then: str) -> int:
    return round((datetime.fromisoformat(then) - datetime.fromisoformat(first)).total_seconds() / 3600)
