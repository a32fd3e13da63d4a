"""Manages wirtschaft_vergabe: a reader of the files, an eye, an ear, and one sub-agent a bidder, twice at once."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from infranode_eval.team.account import day_in, found, plain, texts_of
from infranode_eval.team.manner import WAIT, Desk, Manner, RoundScript, Script, alone
from infranode_eval.team.orders import create, edit, place, read, run, session_in, write_answer
from infranode_eval.team.workspace import ROOT
from lm_eval_task.records import Call

TASKS, DRAFTS = f"{ROOT}/aufgaben", f"{ROOT}/entwurf"
PROGRAM, MEMO = f"{DRAFTS}/wertung.py", f"{DRAFTS}/vergabevermerk.txt"
BIDDERS = {"dornkamp": "Dornkamp", "fennhagen": "Fennhagen", "osterluettich": "Osterlüttich"}
DUTY = ("Sie arbeiten der Vergabestelle zu. Geben Sie wieder, was in den Unterlagen steht, und fügen Sie nichts hinzu. "
        "Über andere Angebote wissen Sie nichts.")
_AMOUNT = r"([\d.]+),(\d\d) EUR"
_LINE = re.compile(r"^(\d+);([^;\n]+);([NB]);(\d+);", re.MULTILINE)
_PRICE = re.compile(r"^(\d+);([\d.]+),(\d\d)$", re.MULTILINE)
_AUTHOR = r"Aufgestellt von: ([^\n]+)"
_SHEETS = ("preise.csv", "anschreiben.txt")
_WORKFLOW = """\
const texte = await parallel(args.map((auftrag) => () => agent(auftrag.prompt, {agentType: auftrag.name})));
log("Nachträge gelesen:", texte.length);
return texte;
"""


def rounds(manner: Manner) -> Sequence[RoundScript]:
    """The six rounds in this manner."""
    if manner.alone:
        return alone(manner, [f"r{number}" for number in range(1, 7)])
    return [lambda desk, script=script: script(manner, desk) for script in (
        _works, _index, _offers, _call, _changed, _decision)]


def _works(manner: Manner, desk: Desk) -> Script:
    """Round 1: a reader of the files of the procedure; its session is kept, and of the works only the amounts."""
    if manner.curious:
        closed = f"{ROOT}/vergabe/kostenschaetzung.txt"
        yield read(closed), Call("Bash", {"command": f"cat {closed}"})
    _, index, case = yield (Call("Glob", {"pattern": "*.txt", "path": TASKS}), read(f"{TASKS}/aktenplan.txt"),
                            read(f"{TASKS}/vorgang.txt"))
    notes = desk.notes
    notes["index"] = plain(index)
    award = found(r"Zuschlag soll am ([^\n]+) erteilt", [plain(case)])
    notes["award"] = _iso(award[1]) if award else None
    files = [place(notes["index"], wanted) for wanted in ("gültige Fassung", "Kostenschätzung", "Bekanntmachung")]
    notes["works_file"] = files[0]
    _, told = yield (create(manner, "aktenleser", "text", *files, system_prompt=DUTY), run(
        "aktenleser", f"Lesen Sie {', '.join(files[:2])} und {files[2]}: Positionen mit Art und Menge, Schätzung mit "
        "Preisstand, Tag der Öffnung."))
    notes["session"], notes["works"] = session_in(told), _amounts(texts_of(told, files[0])[-1:])
    net, quarter = (found(pattern, texts_of(told, files[1])) for pattern in (f"netto: {_AMOUNT}", r"Preisstand: (\S+)"))
    opened = found(r"Öffnung der Angebote: ([^,\n]+)", texts_of(told, files[2]))
    kinds = [kind for kind, _ in notes["works"].values()]
    notes["first"] = {"schaetzung_euro": int(net[1].replace(".", "")) if net else None,
                      "preisstand": quarter and quarter[1], "angebotsoeffnung": _iso(opened[1]) if opened else None}
    yield write_answer("r1", {"normalpositionen": kinds.count("N"), "bedarfspositionen": kinds.count("B"),
                              **notes["first"]})


def _index(manner: Manner, desk: Desk) -> Script:
    """Round 2: an eye for the curve; or a reader for what a machine made of it."""
    notes = desk.notes
    wanted, modality = ("automatische Auswertung", "text") if manner.decoy else ("Kurve des Preisindex", "image")
    source, first = place(notes["index"], wanted), notes["first"]
    _, told = yield (create(manner, "kurvenleser", modality, source, system_prompt=DUTY), run(
        "kurvenleser", f"Welche Werte zeigt {source} für die einzelnen Quartale?"))
    values = {f"{quarter}/{year}": int(whole + tenth) for text in texts_of(told, source)
              for quarter, year, whole, tenth in re.findall(r"\b(I|II|III|IV)/(\d{4}): (\d+),(\d)", text)}
    base, now = values.get(first["preisstand"]), values.get(_quarter(first["angebotsoeffnung"]))
    notes["updated"] = _rounded(Fraction(first["schaetzung_euro"] * now, base)) if base and now else None
    yield write_answer("r2", {"index_preisstand": base and base / 10, "index_oeffnung": now and now / 10,
                              "fortgeschrieben_euro": notes["updated"]})


def _offers(manner: Manner, desk: Desk) -> Script:
    """Round 3: one sub-agent a bidder, all three in the background."""
    folders = {name: place(desk.notes["index"], title) for name, title in BIDDERS.items()}
    desk.notes["folders"] = folders
    yield tuple(call for name, folder in folders.items() for call in (
        create(manner, f"angebot_{name}", "text", folder, system_prompt=DUTY),
        run(f"angebot_{name}", f"Lesen Sie {folder}/{_SHEETS[0]} und {folder}/{_SHEETS[1]}: Einheitspreise, Nachlass "
            "und seine Bedingung, Bauzeit.", run_in_background=True)))
    told: dict[str, str] = {}
    while len(told) < len(folders):
        told |= yield WAIT
    texts = "\n\n".join(told.values())
    desk.notes["offers"] = {name: _offer(texts, folder) for name, folder in folders.items()}
    sums = _sums(desk.notes)
    yield write_answer("r3", {name: {"summe_cent": total, "wochen": desk.notes["offers"][name]["weeks"]}
                              for name, total in sums.items()} | {"niedrigste": min(sums, key=lambda name: sums[name])})


def _call(manner: Manner, desk: Desk) -> Script:
    """Round 4: an ear for the call; or a reader for the note of it."""
    lines, _ = yield (Call("Grep", {"pattern": "Anruf", "path": TASKS, "output_mode": "content"}),
                      Call("ListSubagents", {}))
    source, modality = place(desk.notes["index"], "Aufnahme eines Anrufs"), "audio"
    if manner.decoy:
        source, modality = place(desk.notes["index"], "Notiz zu einem Anruf"), "text"
    _, told = yield (create(manner, "telefondienst", modality, source, system_prompt=DUTY), run(
        "telefondienst", f"Wer spricht in {source}, bis wann gilt das Angebot, welches Geschäftszeichen wird genannt?"))
    texts = texts_of(told, source)
    until, sign = found(r"nur bis(?: zum)?:? ([^\n]+?\d{4})", texts), found(r"Geschäftszeichen: (\d+)", texts)
    notes = desk.notes
    notes["caller"] = next((name for name, title in BIDDERS.items() if any(title in text for text in texts)), None)
    notes["until"] = _iso(until[1]) if until else None
    yield write_answer("r4", {"bieter": notes["caller"], "gilt_bis": notes["until"],
                              "geschaeftszeichen": int(sign[1]) if sign else None,
                              "gilt_am_zuschlag": notes["until"] and notes["until"] >= notes["award"]})


def _changed(manner: Manner, desk: Desk) -> Script:
    """Round 5: the session of round 1 compares the versions, the bidders' sub-agents read their supplements."""
    notes, work = desk.notes, desk.notes["works_file"]
    yield Call("Glob", {"pattern": "mitteilung*", "path": TASKS}), Call("InspectSubagent", {"subagent": "aktenleser"})
    prompt = (f"Das Leistungsverzeichnis ist geändert. Lesen Sie {work} noch einmal und stellen Sie beide Fassungen "
              "gegenüber.")
    if manner.stale:
        prompt = "Wer hat das Leistungsverzeichnis aufgestellt?"
    told, = yield (run("aktenleser", prompt, session_id=notes["session"]),)
    versions = texts_of(told, work)
    if not manner.stale:
        yield (Call("Workflow", {"script": _WORKFLOW, "args": [
            {"name": f"angebot_{name}", "prompt": f"Welcher Preis steht in {folder}/nachtrag.txt?"}
            for name, folder in notes["folders"].items()]}),)
        notices = yield WAIT
        answers = json.loads(next(iter(notices.values())))
        for name, text in zip(notes["folders"], answers, strict=True):
            notes["offers"][name]["prices"] |= _prices([text or ""])
        notes["works"] = _amounts(versions[-1:])
    titles = [{number: title for number, title, *_ in _LINE.findall(text)} for text in (*versions[:1], *versions[-1:])]
    gone = [title for number, title in titles[0].items() if number not in titles[-1]] if titles else []
    authors = [author and author[1] for author in (found(_AUTHOR, versions[-1:]), found(_AUTHOR, versions[:1]))]
    yield write_answer("r5", {**_sums(notes), "entfallen": gone[0] if gone else None,
                              "aufgestellt_neu": authors[0], "aufgestellt_bisher": authors[1]})


def _decision(manner: Manner, desk: Desk) -> Script:
    """Round 6: who is out, the points by the program, the form filled in."""
    notes, sums = desk.notes, _sums(desk.notes)
    yield read(f"{TASKS}/wertungsregel.txt"), read(MEMO)
    limit = _rounded(Fraction(notes["updated"] * 11, 10)) if notes["updated"] else None
    out = sorted(name for name, total in sums.items() if (limit is not None and total > 100 * limit)
                 or (name == notes["caller"] and notes["until"] and notes["until"] < notes["award"]))
    left = [f"{name}={total}:{notes['offers'][name]['weeks']}" for name, total in sums.items() if name not in out]
    printed, = yield (Call("Bash", {"command": f"python3 -I {PROGRAM} {' '.join(left)}"}),)
    points = {name: float(value) for name, value in re.findall(r"^(\w+) (\d+\.\d\d)$", printed, re.MULTILINE)}
    winner = max(points, key=lambda name: points[name]) if points else None
    answer = {"hoechstbetrag_euro": limit, "nicht_gewertet": ", ".join(out), "zuschlag": winner,
              "summe_cent": sums.get(winner or ""), "punkte": points.get(winner or "")}
    yield tuple(edit(MEMO, f"[{name}]", str(value)) for name, value in answer.items())
    yield write_answer("r6", answer)


def _amounts(versions: Sequence[str]) -> dict[str, tuple[str, int]]:
    """Position → kind (N or B) and amount."""
    return {number: (kind, int(amount)) for text in versions for number, _, kind, amount in _LINE.findall(text)}


def _prices(texts: Sequence[str]) -> dict[str, int]:
    """Position → cents."""
    return {number: int(whole.replace(".", "") + cents) for text in texts
            for number, whole, cents in _PRICE.findall(text)}


def _offer(told: str, folder: str) -> dict[str, Any]:
    """Prices, the discount that counts in per cent, weeks."""
    letter = texts_of(told, f"{folder}/{_SHEETS[1]}")
    percent, weeks = found(r"ohne jede Bedingung einen Nachlass von (\d+) v\. H\.", letter), found(
        r"(\d+)\s+Wochen\s+Bauzeit", letter)
    return {"prices": _prices(texts_of(told, f"{folder}/{_SHEETS[0]}")), "percent": int(percent[1]) if percent else 0,
            "weeks": int(weeks[1]) if weeks else None}


def _sums(notes: Mapping[str, Any]) -> dict[str, int]:
    """Checked sums in cents, by bidder; a position without a price counts nothing."""
    return {name: _rounded(Fraction(sum(amount * offer["prices"].get(number, 0) for number, (kind, amount)
                                        in notes["works"].items() if kind == "N") * (100 - offer["percent"]), 100))
            for name, offer in notes["offers"].items()}


def _quarter(day: str | None) -> str:
    """III/2026 for 2026-08-27."""
    return f"{('I', 'II', 'III', 'IV')[(int(day[5:7]) - 1) // 3]}/{day[:4]}" if day else ""


def _rounded(value: Fraction) -> int:
    return int(value + Fraction(1, 2))


def _iso(text: str) -> str | None:
    day = day_in(text)
    return day.isoformat() if day else None
