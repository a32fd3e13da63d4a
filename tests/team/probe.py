"""A tiny good scenario, `probe_klein`: two rounds, text only, written anew into a test's own folder.

Main sees aufgaben, ausgabe, entwurf; it may grant akten, register, notizen and the decoys archiv, altes.
r1: akten/satzung.txt says how many days an objection may take (FRIST = 14) -> ausgabe/r1.json {"frist_tage": 14}.
r2: update u1 replaces that file (FRIST_NEU = 30) and lays aufgaben/hinweis.txt down
    -> ausgabe/r2.json {"frist_tage": 30, "vorher": 14, "differenz": 16}.
Wrong answers: r1.wrong1 the decoy's 21 days, r1.wrong2 weeks for days; r2.wrong1 the old statute (stale_of u1),
r2.wrong2 a wrong r1 carried on (built_on r1). The checks compare with checks/soll.json, `python3 -I`, exit 0 and "OK".
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SCENARIO_ID = "probe_klein"
FRIST, FRIST_NEU, FRIST_KOEDER = 14, 30, 21

MANIFEST: dict[str, Any] = {
    "scenario_id": SCENARIO_ID, "title": "Widerspruchsfrist", "domain": "law", "version": 1,
    "workspace_template": "workspace", "scripts": "checks", "rounds": "rounds.json", "needs": ["python3"],
    "accessible": ["aufgaben", "ausgabe", "entwurf"],
    "delegable": ["akten", "register", "notizen", "archiv", "altes"], "decoys": ["archiv", "altes"],
    "updates": {"u1": {"files": [
        {"op": "replace", "src": "updates/u1/satzung.txt", "dst": "akten/satzung.txt"},
        {"op": "new", "src": "updates/u1/hinweis.txt", "dst": "aufgaben/hinweis.txt"}]}}}


def _round(name: str, question: str, update_ids: list[str], covers: list[str]) -> dict[str, Any]:
    command = f"python3 -I ${{scripts}}/check.py {name} ${{workspace}}/ausgabe/{name}.json ${{scripts}}/soll.json"
    return {"id": name, "type": "exec_check", "question": question, "update_ids": update_ids, "covers": covers,
            "tags": [],
            "eval": {"command": command, "expect_exit": 0, "stdout_contains": "OK", "timeout_s": 20, "before": None},
            "feedback": {"correct": f"Die Prüfung von {name} war erfolgreich.",
                         "incorrect": f"Die Prüfung von {name} ist fehlgeschlagen."}}


ROUNDS: list[dict[str, Any]] = [
    _round("r1", "Wie viele Tage beträgt die Widerspruchsfrist nach akten/satzung.txt? Schreibe "
           '{"frist_tage": Zahl} nach ${workspace}/ausgabe/r1.json.', [], ["C1", "C10"]),
    _round("r2", "Die Satzung wurde geändert. Schreibe die neue Frist, die Frist aus der ersten Aufgabe und ihren "
           'Unterschied als {"frist_tage": Zahl, "vorher": Zahl, "differenz": Zahl} nach '
           "${workspace}/ausgabe/r2.json.", ["u1"], ["C2", "C8:r1", "C10"])]

GOLD: dict[str, dict[str, int]] = {
    "r1": {"frist_tage": FRIST},
    "r2": {"frist_tage": FRIST_NEU, "vorher": FRIST, "differenz": FRIST_NEU - FRIST}}

CHECK = '''\
import json
import sys

name, answer, gold = sys.argv[1:4]
expected = json.load(open(gold, encoding="utf-8"))[name]
try:
    found = json.load(open(answer, encoding="utf-8"))
except (OSError, ValueError) as error:
    sys.exit("keine lesbare Antwort: %s" % type(error).__name__)
wrong = [key for key in expected if not isinstance(found, dict) or found.get(key) != expected[key]]
if wrong:
    print("falsch: " + ", ".join(wrong))
    sys.exit(1)
print("OK")
'''


def _statute(days: int, version: str) -> str:
    return (f"Satzung über die Erhebung von Beiträgen, {version}\n"
            f"§ 9 Gegen den Bescheid kann binnen {days} Tagen Widerspruch erhoben werden.\n")


WORKSPACE = {
    "aufgaben/lies_mich.txt": "Die Aufgaben stellt das Rechtsamt. Antworten gehören nach ausgabe.\n",
    "ausgabe/.behalten": "",
    "entwurf/vorlage.txt": "Sehr geehrte Damen und Herren,\n",
    "akten/satzung.txt": _statute(FRIST, "geltende Fassung"),
    "akten/verteiler.txt": "Rechtsamt, Kämmerei, Bauamt\n",
    "register/strassen.csv": "strasse,laenge_m\nAhornweg,310\nBirkenallee,545\n",
    "notizen/sitzung.txt": "Die Sitzung fand im kleinen Saal statt.\n",
    "archiv/satzung_alt.txt": _statute(FRIST_KOEDER, "aufgehobene Fassung"),
    "altes/plan.txt": "Raumplan des Rathauses, ohne Gewähr.\n"}
UPDATES = {"u1/satzung.txt": _statute(FRIST_NEU, "geänderte Fassung"),
           "u1/hinweis.txt": "Die Satzung in den Akten wurde ersetzt.\n"}
WRONGS: dict[str, tuple[dict[str, int], dict[str, Any]]] = {
    "r1.wrong1": ({"frist_tage": FRIST_KOEDER},
                  {"why": "die aufgehobene Fassung", "from": "archiv/satzung_alt.txt", "stale_of": None,
                   "built_on": None}),
    "r1.wrong2": ({"frist_tage": FRIST // 7},
                  {"why": "Wochen statt Tage", "from": None, "stale_of": None, "built_on": None}),
    "r2.wrong1": ({"frist_tage": FRIST, "vorher": FRIST, "differenz": 0},
                  {"why": "die Fassung vor der Änderung", "from": None, "stale_of": "u1", "built_on": None}),
    "r2.wrong2": ({"frist_tage": FRIST_NEU, "vorher": FRIST_KOEDER, "differenz": FRIST_NEU - FRIST_KOEDER},
                  {"why": "rechnet mit der falschen ersten Antwort weiter", "from": None, "stale_of": None,
                   "built_on": "r1"})}


def write_probe(parent: Path) -> Path:
    """Write the scenario to parent/probe_klein and give that folder. Nothing is shared between two calls."""
    folder = parent / SCENARIO_ID
    write_json(folder / "manifest.json", MANIFEST)
    write_json(folder / "rounds.json", ROUNDS)
    for relative, text in WORKSPACE.items():
        write(folder / "workspace" / relative, text)
    for relative, text in UPDATES.items():
        write(folder / "updates" / relative, text)
    write(folder / "checks" / "check.py", CHECK)
    write_json(folder / "checks" / "soll.json", GOLD)
    write_json(folder / "golden" / "facts.json", {})
    for name, answer in GOLD.items():
        write_json(folder / "golden" / name / "ausgabe" / f"{name}.json", answer)
    for name, (answer, why) in WRONGS.items():
        write_json(folder / "golden" / name / "ausgabe" / f"{name.split('.')[0]}.json", answer)
        write_json(folder / "golden" / name / "why.json", why)
    return folder


def write_collection(parent: Path) -> Path:
    """Write tests.json beside the scenario, so that `parent` is a folder for --tasks; give it."""
    write_probe(parent)
    write_json(parent / "tests.json", {"name": "probe", "scenarios": [SCENARIO_ID], "note": "extra keys are fine here"})
    return parent


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode("utf-8"))


def write_json(path: Path, value: Any) -> None:
    write(path, json.dumps(value, ensure_ascii=False, indent=1) + "\n")
