"""What the manager of recht_satzung makes of what it is told: by a session continued, by a new one, by nobody."""

from __future__ import annotations

import json
from datetime import date
from types import SimpleNamespace
from typing import Any

import pytest

from infranode_eval.shipped import DATA
from infranode_eval.team.managers.recht_satzung import rounds
from infranode_eval.team.manner import MANNERS, WAIT, manner

FOLDER = DATA / "team" / "recht_satzung"
STATUTE, WORKS = "/arbeit/akten/satzung.txt", "/arbeit/akten/bauakte.txt"
OLD = (FOLDER / "workspace/akten/satzung.txt").read_text("utf-8")
NEW = (FOLDER / "updates/u1/akten/satzung.txt").read_text("utf-8")
GOLD = {r: json.loads((FOLDER / f"golden/{r}/ausgabe/{r}.json").read_text("utf-8")) for r in ("r1", "r2", "r3", "r4")}


def desk() -> Any:
    """As it is after round 3."""
    index = (FOLDER / "workspace/aufgaben/aktenplan.txt").read_text("utf-8")
    return SimpleNamespace(question="", notes={
        "index": index, "statute": STATUTE, "works": WORKS, "kind": "Haupterschließungsstraße", "session": "s1",
        "day": date.fromisoformat(GOLD["r2"]["bekanntmachung"]), "terms": GOLD["r1"]})


def written(number: int, *results: Any, name: str = "muster") -> tuple[list[Any], dict[str, Any]]:
    """All turns of a round in this manner, and the answer that it writes after these results."""
    script = rounds(manner(name))[number - 1](desk())
    turns = [next(script)]
    for result in results:
        turns.append(script.send(result))
    return turns, json.loads(turns[-1][0].arguments["content"])


def told(*files: tuple[str, str]) -> str:
    return "session_id: s1\n\n" + "\n\n".join(f"[{path}]\n{text}" for path, text in files)


@pytest.mark.parametrize(("answer", "right", "why"), [
    (told((STATUTE, OLD), (WORKS, "x"), (STATUTE, NEW)), True, "the session of round 1 remembers the former version"),
    (told((STATUTE, NEW)), False, "a new session never saw who signed it"),
    (told((STATUTE, OLD), (WORKS, "x")), False, "who does not read again knows the former one only"),
    ("Fehler: die Sitzung gibt es nicht", False, "nothing is told"),
])
def test_only_the_old_session_knows_who_signed_the_former_version(answer: str, right: bool, why: str) -> None:
    _, said = written(4, ("", ""), (answer,))
    assert (said == GOLD["r4"]) is right, why


def test_round_4_continues_the_session_of_round_1() -> None:
    turns, _ = written(4, ("", ""), (told((STATUTE, OLD), (STATUTE, NEW)),))
    run, = turns[1]
    assert (run.name, run.arguments["session_id"], STATUTE in run.arguments["prompt"]) == ("RunSubagent", "s1", True)


@pytest.mark.parametrize(("number", "results", "keys"), [
    (2, [("aktenplan.txt: bilder/amtsblatt.png",),
         ("", "[/arbeit/bilder/amtsblatt.png]\nnicht wahrnehmbar")], GOLD["r2"]),
    (3, [("", "task_id: r1"), ("",), {"r1": "[/arbeit/toene/ratssitzung.wav]\nnicht wahrnehmbar"}], GOLD["r3"]),
])
def test_who_perceives_nothing_leads_to_an_answer_without_values(number: int, results: list[Any], keys: Any) -> None:
    _, said = written(number, *results, name="falsche_modalitaet")
    assert said == dict.fromkeys(keys)


def test_round_3_waits_for_the_ear() -> None:
    fact = ("[/arbeit/toene/ratssitzung.wav]\n{dafuer} Ja-Stimmen, {dagegen} Nein-Stimmen, {enthaltungen} Enthaltungen")
    turns, said = written(3, ("", "task_id: r1"), ("",), {"r1": fact.format(**GOLD["r3"])})
    assert turns[2] is WAIT and said == GOLD["r3"]


@pytest.mark.parametrize(("name", "key", "path"), [
    ("muster", "omni", "/arbeit/toene/ratssitzung.wav"), ("koeder", "llm", "/arbeit/archiv/protokoll_entwurf.txt"),
    ("falsche_modalitaet", "vlm", "/arbeit/toene/ratssitzung.wav"), ("uebervergabe", "omni", "/arbeit/toene")])
def test_who_counts_the_votes(name: str, key: str, path: str) -> None:
    create, run = next(rounds(manner(name))[2](desk()))
    assert (create.arguments["model_key"], create.arguments["accessible_paths"]) == (key, [path])
    assert run.arguments["run_in_background"] is True


@pytest.mark.parametrize("name", MANNERS)
def test_six_rounds_in_each_manner(name: str) -> None:
    assert len(rounds(manner(name))) == 6
