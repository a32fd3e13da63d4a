"""Every gate of the panel: a made-up panel passes them all, and one change makes each of them find it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from infranode_eval.db_routing.bench import Bench
from infranode_eval.db_routing.draw import Draw, Made, Row
from infranode_eval.db_routing.gates import GATES, own_paragraph_stems
from infranode_eval.db_routing.register import Register
from infranode_eval.db_routing.safe_run import safe_run
from tests.db_routing.draft import Change, Draft, intent
from tests.needs import need_program

SPELLING = 14


def found(bench: Bench, number: int) -> list[str]:
    return [f"{subject}: {message}" for subject, message in GATES[number][1](bench)]


@pytest.mark.parametrize("number", GATES)
def test_the_made_up_panel_passes(tmp_path: Path, number: int) -> None:
    if number == SPELLING:
        need_program("hunspell", shutil.which("hunspell"))
    assert found(Draft().bench(tmp_path / "panel"), number) == []


def change(name: str, **keys: Any) -> Change:
    """Set keys of an intent."""
    return lambda draft: draft.find(name).update(keys)


def say(name: str, **phrasings: str) -> Change:
    return lambda draft: draft.find(name)["phrasings"].update(phrasings)


def more(name: str, *arguments: Any, **keys: Any) -> Change:
    """Add an intent to its database."""
    return lambda draft: draft.intents[name.rpartition("-")[0]].append(intent(name, *arguments, **keys))


def rows(database: str, table: str, values: list[Row]) -> Change:
    def made(draw: Draw, made: Made) -> Iterator[Row]:
        yield from values
    return lambda draft: draft.makers[database].update({table: made})


def same_customers(draft: Draft) -> None:
    """Both sisters hold the same people, and one asks for nothing that the other has not."""
    draft.makers["selbstbedienung"]["kunden_stamm"] = draft.makers["kraemerei"]["kunden_stamm"]
    more("kraemerei-004", "kunden_stamm", [{"agg": "count"}], [["kunden_stamm.wohn_ort", "=", "Köln"]],
         "Wie viele Kunden wohnen in Köln?", "Zahl der Käufer mit Wohnort Köln?",
         "Köln ist die Stadt der Kundschaft: Auf wie viele trifft das zu, wohnhaft dort?")(draft)


COUNT = [{"agg": "count"}]
BROKEN: list[tuple[int, Change, str, str]] = [
    (1, change("kraemerei-003", group=[]), "kraemerei-003: ", "an aggregate in the order, but no group"),
    (2, change("selbstbedienung-001", where=[["verkauf_pos.automat_art", "=", "Suppe"]]), "answers nothing", "only 0"),
    (2, change("hafenamt-001", where=[["schiff_stamm.schiff_name", "=", "Nina"]]), "answers nothing", "only NULL"),
    (2, change("kraemerei-002", select=["bon_kopf.id"], where=[["bon_kopf.id", ">", 0]]), "", "40 rows are fine"),
    (2, lambda d: (rows("hafenamt", "schiff_stamm", [
        {"id": n, "schiff_name": "Minna", "laenge_m": 1.0, "flagge_land": None} for n in range(1, 52)])(d)),
     "answers 51 rows", "more than a model is shown"),
    (3, change("kraemerei-003", order=[["bon_kopf.kassen_nr", "asc"], ["bon_kopf.kassen_nr", "asc"]], limit=1,
               where=[], group=[], select=["bon_kopf.id"]), "rows inserted in reverse", "the order leaves ties"),
    (4, change("kraemerei-001", where=[["bon_kopf.bon_tag", "<", "now"]]), "reads 'now'", "a clock"),
    (5, change("kraemerei-002", where=[["bon_kopf.id", "=", 99]]), "answers the same without the rows", "selects none"),
    (6, change("kraemerei-003", limit=8), "the places 1 to 9", "there is no place after the last"),
    (6, change("kraemerei-003", order=[["kunden_stamm.wohn_ort", "asc"], ["kunden_stamm.id", "asc"]]),
     "the places 1 to 3", "two share the first key"),
    (7, change("kraemerei-002", where=[["bon_kopf.kunden_nr", "is", None], ["bon_kopf.betrag_eur", ">", 0]]),
     "answers the same without [bon_kopf.betrag_eur > 0]", "a filter that filters nothing"),
    (8, same_customers, "kraemerei-004: answers the same in selbstbedienung", "a question of both"),
    (9, same_customers, "kraemerei-004: selbstbedienung knows all of kunde, wohnort", "a question of both"),
    (9, say("hafenamt-001", b="Höchster Wert der Minna?"), "schiff, which b does not voice", "one phrasing is mute"),
    (9, say("kraemerei-001", a="Welchen Betrag nahm die Krankenkasse 2 ein?"), "which a does not voice",
     "an excluded word is no cue"),
    (9, change("kraemerei-001", where=[["bon_kopf.bon_tag", "year", "2025"]]), "", "inside the coverage"),
    (9, lambda d: d.register["kraemerei"]["concepts"]["kasse"].update(cues=["=bon"]),
     "which a, b, c does not voice", "a whole word is no piece of one"),
    (11, say("kraemerei-001", c="Was steht in bon_kopf?"), '-001 c: holds the identifier "bon_kopf"', "a table"),
    (11, say("kraemerei-001", c="Was nahm die Kraemerei ein?"), 'holds the name "kraemerei"', "a database"),
    (11, say("kraemerei-001", c="Was nahm die Krämerei ein?"), 'holds the name "kraemerei"', "with its umlaut"),
    (11, lambda d: d.paragraphs.update(hafenamt="Ein Hafenamt zählt, was anlegt."), 'paragraph of hafenamt: holds the',
     "in a paragraph"),
    (12, say("kraemerei-002", b="Einnahmen am Tresen 2!"), "kraemerei-001 b, kraemerei-002 b: are 0.9", "nearly same"),
    (12, more("kraemerei-004", "bon_kopf", [{"agg": "sum", "expr": "bon_kopf.betrag_eur"}],
              [["bon_kopf.kassen_nr", "=", 3]], "Was lag in Kasse 3?", "Kasse 3, Umsatz?", "Und am Tresen 3 so?"),
     "kraemerei-001, kraemerei-004: differ in literals only", "another number is no other question"),
    (13, lambda d: setattr(d, "frame", d.frame.replace("kasse", "")), '"kasse…" stands in', "a word in every third"),
    (14, say("kraemerei-001", a="Welchen Betrak nahm die Kasse 2 ein?"), "kraemerei-001 a: unknown to the dictionary: "
                                                                          "Betrak", "a slip"),
]


@pytest.mark.parametrize(("number", "broken", "said", "why"), [row for row in BROKEN if row[2]],
                         ids=[f"{n}-{why}" for n, _, said, why in BROKEN if said])
def test_a_gate_finds_what_breaks_it(tmp_path: Path, number: int, broken: Change, said: str, why: str) -> None:
    if number == SPELLING:
        need_program("hunspell", shutil.which("hunspell"))
    draft = Draft()
    broken(draft)
    messages = found(draft.bench(tmp_path / "panel"), number)
    assert any(said in message for message in messages), (why, messages)


@pytest.mark.parametrize(("number", "fine", "why"), [(n, c, why) for n, c, said, why in BROKEN if not said])
def test_a_gate_lets_pass_what_is_fine(tmp_path: Path, number: int, fine: Change, why: str) -> None:
    draft = Draft()
    fine(draft)
    assert found(draft.bench(tmp_path / "panel"), number) == [], why


def test_a_gold_runs_in_the_safe_executor(tmp_path: Path) -> None:
    draft = Draft()
    draft.find("kraemerei-003")["group"] = []
    sources = draft.sources(tmp_path / "panel")
    with safe_run(sources) as run:
        assert [subject.partition(":")[0] for subject in found(Bench(sources, run), 1)] == ["kraemerei-003"]
        assert run("kraemerei", "SELECT name FROM sqlite_master") != []
        assert isinstance(run("kraemerei", "SELECT name FROM sqlite_master"), str), "refused, not answered"
        assert run("kraemerei", "SELECT COUNT(*) FROM bon_kopf") == [(40,)]


def test_a_question_outside_its_coverage_is_no_question(tmp_path: Path) -> None:
    draft = Draft()
    draft.schemas["kraemerei"][1]["columns"][2]["concept"] = "umsatz"      # the day is covered like the money
    draft.find("kraemerei-003")["where"] = [["bon_kopf.bon_tag", "month", "2026-03"]]
    messages = found(draft.bench(tmp_path / "panel"), 9)
    assert messages == ["kraemerei-003: [bon_kopf.bon_tag month 2026-03] lies outside 2025-01-01 to 2025-12-31"]


class Deaf(Register):
    """A register that grants nothing: what the mutation finds if the gate before it does not look."""

    def granting(self, database: str, concepts: object) -> Register:
        return self


def test_the_mutation_finds_a_gate_that_does_not_look(tmp_path: Path) -> None:
    bench = Draft().bench(tmp_path / "panel")
    deaf = Deaf(bench.register.concepts, bench.register.databases)
    messages = found(Bench(replace(bench.sources, register=deaf), bench.run), 10)
    assert "hafenamt-001: is still accepted when kraemerei knows ladung, schiff" in messages
    assert len(messages) == 2 * len(bench.intents)


def test_words_of_the_own_paragraph_are_bounded_more_tightly(tmp_path: Path) -> None:
    """In 2 of 9 phrasings a word is a tag anyway; in 3 of 18 only if the own paragraph says it."""
    draft = Draft()
    draft.intents["kraemerei"] += [
        intent(f"kraemerei-00{n}", "bon_kopf", COUNT, [["bon_kopf.kassen_nr", "=", n]], *texts) for n, texts in (
            (4, ("Tinte vier?", "Sahne fünf?", "Kreide sechs?")), (5, ("Tinte neun?", "Mohn zwölf?", "Salz elf?")),
            (6, ("Tinte zwanzig?", "Honig?", "Zwirn?")))]
    assert not [m for m in found(draft.bench(tmp_path / "one"), 13) if "tinte" in m]
    draft.paragraphs["kraemerei"] += " Auch Tinte."
    bench = draft.bench(tmp_path / "two")
    assert "tinte" in own_paragraph_stems(bench, "kraemerei")
    assert 'kraemerei: "tinte…" of its own paragraph stands in 3 of 18 phrasings' in found(bench, 13)
    draft.paragraphs["selbstbedienung"] += " Nie Tinte."
    assert not [m for m in found(draft.bench(tmp_path / "three"), 13) if "tinte" in m], "a sister's has it, too"
