"""The knobs of the seven manners, and the one manager that is told the golden answers."""

from __future__ import annotations

import pytest

from infranode_eval.team.manner import MANNERS, alone, manner
from lm_eval_task.errors import UsageError
from lm_eval_task.records import Call

FILES = ("/arbeit/akten/satzung.txt", "/arbeit/akten/bauakte.txt", "/arbeit/bilder/amtsblatt.png")


def test_seven() -> None:
    assert list(MANNERS) == ["muster", "uebervergabe", "falsche_modalitaet", "koeder", "veraltet", "allein",
                             "neugierig"]


@pytest.mark.parametrize(("name", "tools", "paths"), [
    ("muster", ["Read"], list(FILES)), ("neugierig", ["Read"], list(FILES)),
    ("uebervergabe", ["Read", "Write", "Bash", "Grep"], ["/arbeit/akten", "/arbeit/bilder"])])
def test_what_is_granted(name: str, tools: list[str], paths: list[str]) -> None:
    assert manner(name).tools("Read") == tools
    assert manner(name).paths(*FILES) == paths


@pytest.mark.parametrize(("name", "keys"), [
    ("muster", ("llm", "vlm", "omni")), ("falsche_modalitaet", ("llm", "llm", "vlm"))])
def test_who_perceives(name: str, keys: tuple[str, ...]) -> None:
    assert tuple(manner(name).key(modality) for modality in ("text", "image", "audio")) == keys


@pytest.mark.parametrize(("knob", "name"), [
    ("decoy", "koeder"), ("stale", "veraltet"), ("alone", "allein"), ("curious", "neugierig"),
    ("whole_folders", "uebervergabe"), ("granted", "uebervergabe")])
def test_each_knob_is_turned_by_one_manner(knob: str, name: str) -> None:
    assert [found for found in MANNERS if getattr(MANNERS[found], knob)] == [name]


@pytest.mark.parametrize("name", [name for name in MANNERS if name != "allein"])
def test_nobody_else_is_told_the_golden_answers(name: str) -> None:
    with pytest.raises(UsageError, match="does not know"):
        manner(name, lambda round_id: {"ausgabe/r1.json": "{}"}).gold("r1")


def test_an_unknown_manner() -> None:
    with pytest.raises(UsageError, match="no manager 'faul'"):
        manner("faul")


def test_alone_reads_what_it_writes_over() -> None:
    script, = alone(manner("allein", {"r1": {"ausgabe/r1.json": "{}"}}.__getitem__), ["r1"])
    turns = script(None)        # type: ignore[arg-type]
    assert next(turns) == (Call("Read", {"file_path": "/arbeit/ausgabe/r1.json"}),)
    assert turns.send(("Fehler: gibt es nicht",)) == (
        Call("Write", {"file_path": "/arbeit/ausgabe/r1.json", "content": "{}"}),)
    with pytest.raises(StopIteration):
        turns.send(("geschrieben",))
