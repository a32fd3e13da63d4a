"""What the intents of a database are made of: kinds, levels with their twins, literals, paraphrases, decoys."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from infranode_eval.db_routing.composition import CHECKS, kinds
from infranode_eval.db_routing.decoys import decoys_of
from infranode_eval.db_routing.sources import read_sources
from tests.db_routing.draft import Change, Draft, intent
from tests.db_routing.test_gates import change, more, say


def found(folder: Path, name: str, *changes: Change) -> list[str]:
    draft = Draft()
    for made in changes:
        made(draft)
    return [f"{subject}: {message}" for subject, message in CHECKS[name](draft.bench(folder / "panel"))]


@pytest.mark.parametrize("name", [name for name in CHECKS if name != "mix"])
def test_the_made_up_panel_passes(tmp_path: Path, name: str) -> None:
    assert found(tmp_path, name) == []


def test_a_small_database_lacks_every_kind(tmp_path: Path) -> None:
    messages = found(tmp_path, "mix")
    assert "hafenamt: 2 intents, expected at least 46" in messages
    assert "hafenamt: 0 intents of the kind count, expected at least 14" in messages
    assert "kraemerei: 3 intents of level own, expected 14 ± 2" in messages
    assert not any("hafenamt" in m and "level" in m for m in messages), "an isolated database has no levels to mix"


@pytest.mark.parametrize(("name", "expected"), [
    ("kraemerei-001", {"sum or avg"}), ("kraemerei-002", {"count", "NULL or negation"}),
    ("kraemerei-003", {"sum or avg", "group", "top-n"}), ("selbstbedienung-001", {"count"}),
    ("hafenamt-002", {"list", "NULL or negation"})])
def test_the_kinds_of_an_intent(tmp_path: Path, name: str, expected: set[str]) -> None:
    bench = Draft().bench(tmp_path / "panel")
    assert kinds(bench.sources.intent(name), bench) == expected


COUNT: list[Any] = [{"agg": "count"}]


def twins(level: str = "common", twin: str | None = "selbstbedienung-001", **keys: Any) -> Change:
    """A question of the first sister, asked in the frame of a question of the second."""
    return more("kraemerei-004", "bon_kopf", COUNT, [["bon_kopf.kassen_nr", "=", 1]], "Wie oft Kasse 1?", "Kasse 1?",
                "Am Tresen 1 wie oft?", level=level, **({"twin": twin} if twin else {}), **keys)


@pytest.mark.parametrize(("changes", "said"), [
    ([twins()], None),
    ([twins(twin="selbstbedienung-002")], "kraemerei-004: has the frame ('count', False, False), its"),
    ([twins(twin=None)], 'kraemerei-004: names no twin in a sister that has intents, found "None"'),
    ([twins(twin="hafenamt-001")], "names no twin in a sister"), ([twins(twin="selbstbedienung-009")], "names no twin"),
    ([twins(), change("kraemerei-004", select=["bon_kopf.kunden_nr", "bon_kopf.id"], level="paired")],
     "kraemerei-004: is no paired intent: no sister knows kasse"),
    ([more("kraemerei-005", "kunden_stamm", COUNT, [["kunden_stamm.wohn_ort", "=", "Köln"]], "A?", "B?", "C?")],
     "kraemerei-005: is no own intent: a sister knows each of kunde, wohnort"),
    ([more("kraemerei-005", "kunden_stamm", COUNT, [["kunden_stamm.wohn_ort", "=", "Köln"]], "A?", "B?", "C?",
           level="common", twin="selbstbedienung-001")], "is separated from selbstbedienung by nothing, not by one"),
])
def test_a_level_is_what_the_concepts_say(tmp_path: Path, changes: list[Change], said: str | None) -> None:
    messages = found(tmp_path, "levels", *changes)
    assert (messages == []) if said is None else any(said in message for message in messages), messages


@pytest.mark.parametrize(("where", "text", "says", "why"), [
    (["bon_kopf.bon_tag", "month", "2025-03"], "im März 2025", True, "by name"),
    (["bon_kopf.bon_tag", "month", "2025-03"], "im Maerz des Jahres 2025", True, "spelled out"),
    (["bon_kopf.bon_tag", "month", "2025-03"], "im März", False, "without its year"),
    (["bon_kopf.bon_tag", "month", "2025-03"], "2025", False, "without its month"),
    (["bon_kopf.bon_tag", "year", "2025"], "2025", True, "a year"),
    (["bon_kopf.bon_tag", "=", "2025-12-24"], "am 24. Dezember 2025", True, "a day"),
    (["bon_kopf.bon_tag", "=", "2025-12-24"], "im Dezember 2025", False, "no day"),
    (["bon_kopf.bon_tag", ">=", "2025-01-01"], "seit Anfang 2025", True, "a bound said by the year next to it"),
    (["bon_kopf.kassen_nr", "=", 3], "an Kasse 3", True, "a number"),
    (["bon_kopf.kassen_nr", "=", 3], "an der dritten", False, "an ordinal is none"),
    (["bon_kopf.kassen_nr", "=", 3], "drei Kassen", True, "in words"),
    (["bon_kopf.kassen_nr", "=", 1], "eine Kasse", True, "one"),
    (["bon_kopf.kassen_nr", "=", 3], "an Kasse 13", False, "another number"),
    (["bon_kopf.betrag_eur", ">", 1000], "über 1.000 Euro", True, "with its dot"),
    (["bon_kopf.betrag_eur", ">", 2.5], "über 2,5 Euro", True, "with its comma"),
    (["bon_kopf.betrag_eur", ">", 0], "umsonst", True, "nothing has many names"),
    (["kunden_stamm.wohn_ort", "=", "Köln"], "Kölner", True, "an adjective"),
    (["kunden_stamm.wohn_ort", "=", "Köln"], "am Rhein", False, "another name"),
    (["kunden_stamm.kunden_name", "like", "Ad%"], "Namen mit Ad", True, "a pattern"),
    (["bon_kopf.bon_tag", "<", "08:30"], "vor 8.30 Uhr", True, "a time"),
    (["bon_kopf.bon_tag", "<", "08:00"], "vor acht Uhr", True, "a full hour in words"),
    (["bon_kopf.bon_tag", "<", "08:00"], "vor 9 Uhr", False, "another hour")])
def test_literals_stand_in_every_phrasing(tmp_path: Path, where: list[Any], text: str, says: bool, why: str) -> None:
    phrase = f"Sage mir: {text}?"
    messages = found(tmp_path, "literals", change("kraemerei-001", where=[where]),
                     say("kraemerei-001", a=phrase, b=phrase, c=phrase))
    assert (messages == []) is says, why


def test_a_closed_literal_may_be_said_in_other_words(tmp_path: Path) -> None:
    assert found(tmp_path, "literals", say("selbstbedienung-001", a="Wie oft Essen aus dem Automaten?")) == []


@pytest.mark.parametrize(("phrasings", "said"), [
    ({"c": "Welchen Betrag nahm Kasse 2 ein?"}, "like a"), ({"b": "Anzahl von Bons"}, 'b says "Anzahl von"'),
    ({"b": "Datensätze der Kasse?"}, 'b says "Datensätze"'), ({"b": "Kasse 2"}, "b has no mark at its end")])
def test_a_paraphrase_differs_and_a_phrasing_is_a_sentence(tmp_path: Path, phrasings: dict[str, str],
                                                           said: str) -> None:
    messages = found(tmp_path, "paraphrases", say("kraemerei-001", **phrasings))
    assert any(said in message for message in messages), messages


@pytest.mark.parametrize(("name", "where", "decoys"), [
    ("selbstbedienung-002", [["kunden_stamm.wohn_ort", "=", "Bonn"]], ["kraemerei"]),
    ("selbstbedienung-001", [["verkauf_pos.automat_art", "=", "Imbiss"]], []),
    ("kraemerei-003", [["bon_kopf.bon_tag", "month", "2025-03"]], []),
    ("kraemerei-002", [["bon_kopf.kunden_nr", "is", None]], []),
    ("kraemerei-002", [["kunden_stamm.kunden_name", "like", "Ad%"]], ["selbstbedienung"]),
    ("hafenamt-001", [["schiff_stamm.schiff_name", "=", "Ada"]], [])])
def test_decoys_are_sisters_that_hold_every_literal(tmp_path: Path, name: str, where: list[Any],
                                                    decoys: list[str]) -> None:
    draft = Draft()
    draft.find(name)["where"] = where
    sources = draft.sources(tmp_path / "panel")
    assert decoys_of(sources.intent(name), sources) == decoys


def test_the_sister_of_the_twin_is_a_decoy(tmp_path: Path) -> None:
    draft = Draft()
    draft.intents["kraemerei"].append(intent("kraemerei-004", "bon_kopf", COUNT, [], "A?", "B?", "C?", level="common",
                                             twin="selbstbedienung-001"))
    sources = draft.sources(tmp_path / "panel")
    assert decoys_of(sources.intent("kraemerei-004"), sources) == ["selbstbedienung"]


def test_most_shipped_questions_of_a_cluster_have_a_decoy() -> None:
    sources = read_sources()
    for name in ("onlineshop", "filialhandel"):
        found = [bool(decoys_of(i, sources)) for i in sources.intents[name]]
        assert sum(found) >= 0.5 * len(found), name
