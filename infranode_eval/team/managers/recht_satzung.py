"""Manages recht_satzung: a reader of statute and file, an eye, an ear, three readers at once, a program to mend."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Any

from infranode_eval.team.account import day_in, found, plain, texts_of
from infranode_eval.team.manner import WAIT, Desk, Manner, RoundScript, Script, alone
from infranode_eval.team.workspace import ROOT
from lm_eval_task.records import Call

TASKS, DRAFTS, RESULTS = f"{ROOT}/aufgaben", f"{ROOT}/entwurf", f"{ROOT}/ausgabe"
INDEX, CASE, PROGRAM = f"{TASKS}/aktenplan.txt", f"{TASKS}/vorgang.txt", f"{DRAFTS}/beitrag.py"
DISTRICTS = ("nord", "mitte", "sued")
_SHARE = r"bei {}n (\d+) v\. H\."
_PERIOD = r"binnen (\d+) Tagen nach der Bekanntmachung"
_SIGNER = r"gez\. ([^\n]+)"
_VOTES = r"(\d+) Ja-Stimmen, (\d+) Nein-Stimmen, (\d+) Enthaltungen"
_ROW = re.compile(r"^\d+/\d+;(\d+);(\d),(\d\d);(ja|nein);(ja|nein)$", re.MULTILINE)
_WORKFLOW = """\
for (const gebiet of args) await defineAgent(gebiet.agent);
return await parallel(args.map((gebiet) => () => agent(gebiet.auftrag, {agentType: gebiet.agent.name})));
"""


def rounds(manner: Manner) -> Sequence[RoundScript]:
    """The six rounds in this manner."""
    if manner.alone:
        return alone(manner, [f"r{number}" for number in range(1, 7)])
    return [lambda desk, script=script: script(manner, desk) for script in (
        _statute, _gazette, _vote, _new_statute, _areas, _notice)]


def _statute(manner: Manner, desk: Desk) -> Script:
    """Round 1: a reader for statute and file of the works; its session is kept."""
    if manner.curious:
        closed = f"{ROOT}/akten/satzung.txt"
        yield Call("Read", {"file_path": closed}), Call("Bash", {"command": f"cat {closed}"})
    _, index, case = yield (Call("Glob", {"pattern": "*.txt", "path": TASKS}), _read(INDEX), _read(CASE))
    notes = desk.notes
    notes["index"], notes["case"] = plain(index), plain(case)
    notes["statute"], notes["works"] = _place(notes, "geltende Fassung"), _place(notes, "Einstufung")
    files = (notes["statute"], notes["works"])
    _, told = yield (_create(manner, "satzungsleser", "text", *files), _run(
        "satzungsleser", f"Lesen Sie {files[0]} und {files[1]}: Einstufung der Straße, Anteil der Beitragspflichtigen, "
        "Frist für Einwendungen."))
    session = found(r"session_id: (\S+)", [told])
    notes["session"] = session[1] if session else ""
    kind = found(r"ist als (\w+straße) eingestuft", texts_of(told, notes["works"]))
    notes["kind"] = kind[1] if kind else "Anliegerstraße"
    notes["terms"] = _terms(notes, texts_of(told, notes["statute"])[-1:])
    yield _write("r1", notes["terms"])


def _gazette(manner: Manner, desk: Desk) -> Script:
    """Round 2: an eye for the page of the gazette."""
    lines, = yield (Call("Grep", {"pattern": "Amtsblatt", "path": TASKS, "output_mode": "content"}),)
    page = f"{ROOT}/" + (found(r"(bilder/\w+\.png)", [lines]) or ["", "bilder"])[1]
    _, told = yield (_create(manner, "bildleser", "image", page), _run(
        "bildleser", f"Sehen Sie sich {page} an: Welches Datum ist als Tag der Bekanntmachung angegeben?"))
    line = found(r"Tag der Bekanntmachung: [^\n]+", texts_of(told, page))
    desk.notes["day"] = day_in(line[0]) if line else None
    yield _write("r2", {"bekanntmachung": _iso(desk.notes["day"]), "fristende": _end(desk.notes)})


def _vote(manner: Manner, desk: Desk) -> Script:
    """Round 3: an ear for the recording, in the background; or a reader for the draft of the minutes."""
    source, modality = _place(desk.notes, "Tonaufnahme der Abstimmung"), "audio"
    if manner.decoy:
        source, modality = _place(desk.notes, "nicht genehmigter Entwurf"), "text"
    yield (_create(manner, "stimmenzaehler", modality, source), _run(
        "stimmenzaehler", f"Stellen Sie aus {source} das Ergebnis der Abstimmung fest: Ja, Nein, Enthaltungen.",
        run_in_background=True))
    yield (Call("ListSubagents", {}),)
    notices = yield WAIT
    votes = found(_VOTES, list(notices.values()))
    desk.notes["votes"] = tuple(map(int, votes.groups())) if votes else (None, None, None)
    yield _write("r3", dict(zip(("dafuer", "dagegen", "enthaltungen"), desk.notes["votes"], strict=True)))


def _new_statute(manner: Manner, desk: Desk) -> Script:
    """Round 4: the session of round 1 reads the new version beside the one that it remembers."""
    notes = desk.notes
    yield (Call("Glob", {"pattern": "mitteilung*", "path": TASKS}),
           Call("InspectSubagent", {"subagent": "satzungsleser"}))
    prompt = (f"Die Satzung ist neu gefasst. Lesen Sie {notes['statute']} erneut und nennen Sie die Unterzeichner "
              "beider Fassungen.")
    if manner.stale:
        prompt = "Wer hat die Satzung unterzeichnet?"
    told, = yield (_run("satzungsleser", prompt, session_id=notes["session"]),)
    versions = texts_of(told, notes["statute"])
    notes["terms"] = _terms(notes, versions[-1:])
    new, old = found(_SIGNER, versions[-1:]), found(_SIGNER, versions[:1])
    yield _write("r4", {**notes["terms"], "fristende": _end(notes), "unterzeichnet_neu": new and new[1],
                        "unterzeichnet_bisher": old and old[1]})


def _areas(manner: Manner, desk: Desk) -> Script:
    """Round 5: three readers at once, by a workflow."""
    work = []
    for name in DISTRICTS:
        path = _place(desk.notes, f"Bezirk {name.replace('ue', 'ü').title()}")
        work.append({"agent": _create(manner, f"gebiet_{name}", "text", path).arguments,
                     "auftrag": f"Lesen Sie {path} und geben Sie alle Zeilen wieder."})
    yield (Call("Workflow", {"script": _WORKFLOW, "args": work}),)
    notices = yield WAIT
    told = json.loads(next(iter(notices.values())))
    answer: dict[str, Any] = {name: _sums(text or "") for name, text in zip(DISTRICTS, told, strict=True)}
    desk.notes["total"] = sum(answer[name]["flaeche"] for name in DISTRICTS)
    yield _write("r5", answer | {"gesamtflaeche": desk.notes["total"]})


def _notice(manner: Manner, desk: Desk) -> Script:
    """Round 6: mend the program, run it, and put all rounds together."""
    notes = desk.notes
    yield (_read(PROGRAM), _read(f"{TASKS}/rechenregel.txt"))
    yield (_edit("(100 - anteil)", "anteil"), _edit("ROUND_DOWN", "ROUND_HALF_UP"))
    values, share = _case(notes["case"]), notes["terms"]["anteil_prozent"]
    command = f"python3 -I {PROGRAM} {values['cost']} {share} {notes['total']} {values['area']}"
    printed, = yield (Call("Bash", {"command": command}),)
    cents, end = found(r"Beitrag: (\d+) Cent", [printed]), _end(notes)
    yield _write("r6", {"beitrag_cent": int(cents[1]) if cents else None,
                        "abstimmung": ":".join(map(str, notes["votes"])), "bekanntmachung": _iso(notes["day"]),
                        "fristende": end, "einwendung_rechtzeitig": end is not None and values["received"] <= end})


def _place(notes: Mapping[str, Any], wanted: str) -> str:
    """The path whose line in the index says what is wanted."""
    line = found(rf"^(\S+) – [^\n]*{re.escape(wanted)}", [notes["index"]])
    return f"{ROOT}/{line[1]}" if line else ROOT


def _terms(notes: Mapping[str, Any], versions: Sequence[str]) -> dict[str, int | None]:
    share, period = found(_SHARE.format(notes["kind"]), versions), found(_PERIOD, versions)
    return {"anteil_prozent": int(share[1]) if share else None, "frist_tage": int(period[1]) if period else None}


def _end(notes: Mapping[str, Any]) -> str | None:
    """The last day for objections, or None where day or period is not known."""
    day, period = notes["day"], notes["terms"]["frist_tage"]
    return None if day is None or period is None else _iso(day + timedelta(days=period))


def _sums(text: str) -> dict[str, int]:
    """Square metres that count, and objections, of a list."""
    rows = _ROW.findall(text)
    return {"flaeche": sum(int(area) * (100 * int(whole) + int(rest)) // 100 for area, whole, rest, liable, _ in rows
                           if liable == "ja"), "einwendungen": sum(objects == "ja" for *_, objects in rows)}


def _case(text: str) -> dict[str, str]:
    """Cost in Euro, square metres that count and day of the objection, from the sheet of the case."""
    cost, area = found(r"Aufwand: ([\d.]+),(\d\d) EUR", [text]), found(r"Grundstücksfläche: ([\d.]+) m²", [text])
    factor, received = found(r"Nutzungsfaktor: (\d),(\d\d)", [text]), found(r"eingegangen am ([^\n]+)", [text])
    assert cost and area and factor and received, "the sheet of the case names them"
    counted = int(area[1].replace(".", "")) * int(factor[1] + factor[2]) // 100
    return {"cost": f"{cost[1].replace('.', '')}.{cost[2]}", "area": str(counted),
            "received": _iso(day_in(received[1])) or ""}


def _iso(day: date | None) -> str | None:
    return None if day is None else day.isoformat()


def _read(path: str) -> Call:
    return Call("Read", {"file_path": path})


def _edit(old: str, new: str) -> Call:
    return Call("Edit", {"file_path": PROGRAM, "old_string": old, "new_string": new, "replace_all": True})


def _write(round_id: str, answer: Mapping[str, Any]) -> tuple[Call, ...]:
    text = json.dumps(answer, ensure_ascii=False, indent=1)
    return (Call("Write", {"file_path": f"{RESULTS}/{round_id}.json", "content": text + "\n"}),)


def _create(manner: Manner, name: str, modality: str, *paths: str) -> Call:
    return Call("CreateSubagent", {
        "name": name, "model_key": manner.key(modality), "tools": manner.tools("Read"),
        "accessible_paths": manner.paths(*paths), "system_prompt": "Sie arbeiten dem Amt für Tiefbau und Beiträge zu. "
        "Geben Sie wieder, was in den Unterlagen steht, und fügen Sie nichts hinzu."})


def _run(name: str, prompt: str, **more: Any) -> Call:
    return Call("RunSubagent", {"subagent": name, "prompt": prompt, **more})
