"""The calls of a scripted manager: what a manner changes in them, and what is read from results and index."""

from __future__ import annotations

import json

import pytest

from infranode_eval.team.manner import manner
from infranode_eval.team.orders import create, edit, place, read, run, session_in, write_answer

INDEX = """\
Verzeichnis

akten/satzung.txt – Satzung, geltende Fassung
archiv/satzung.txt – Satzung von 2011
angebote/nord – Angebot der Firma Nord
"""


@pytest.mark.parametrize(("name", "modality", "key", "tools", "paths"), [
    ("muster", "image", "vlm", ["Read"], ["/arbeit/bilder/a.png"]),
    ("muster", "audio", "omni", ["Read"], ["/arbeit/bilder/a.png"]),
    ("uebervergabe", "text", "llm", ["Read", "Write", "Bash", "Grep"], ["/arbeit/bilder"]),
    ("falsche_modalitaet", "image", "llm", ["Read"], ["/arbeit/bilder/a.png"])])
def test_a_subagent_gets_the_rights_of_the_manner(name: str, modality: str, key: str, tools: list[str],
                                                  paths: list[str]) -> None:
    call = create(manner(name), "auge", modality, "/arbeit/bilder/a.png", system_prompt="Sehen Sie hin.")
    assert (call.name, call.arguments) == ("CreateSubagent", {
        "name": "auge", "model_key": key, "tools": tools, "accessible_paths": paths, "system_prompt": "Sehen Sie hin."})


def test_orders_and_files() -> None:
    assert run("auge", "Los.", session_id="s1").arguments == {"subagent": "auge", "prompt": "Los.", "session_id": "s1"}
    assert read("/arbeit/a").arguments == {"file_path": "/arbeit/a"}
    assert edit("/arbeit/a", "x", "y").arguments == {"file_path": "/arbeit/a", "old_string": "x", "new_string": "y"}


def test_an_answer_is_json_in_the_folder_of_results() -> None:
    call, = write_answer("r3", {"groesse": "fünf", "zahl": 5})
    assert (call.name, call.arguments["file_path"]) == ("Write", "/arbeit/ausgabe/r3.json")
    assert "fünf" in call.arguments["content"]
    assert json.loads(call.arguments["content"]) == {"groesse": "fünf", "zahl": 5}


@pytest.mark.parametrize(("result", "session"), [
    ("session_id: s2\n\nText", "s2"), ("task_id: r1\nsession_id: s3", "s3"), ("Fehler: belegt", "")])
def test_the_session_of_a_result(result: str, session: str) -> None:
    assert session_in(result) == session


@pytest.mark.parametrize(("wanted", "path"), [
    ("geltende Fassung", "/arbeit/akten/satzung.txt"), ("Satzung von", "/arbeit/archiv/satzung.txt"),
    ("Firma Nord", "/arbeit/angebote/nord"), ("gibt es nicht", "/arbeit"), ("Verzeichnis", "/arbeit")])
def test_the_place_of_what_an_index_names(wanted: str, path: str) -> None:
    assert place(INDEX, wanted) == path
