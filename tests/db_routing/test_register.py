"""The concept register: cues, exclusions, coverage, who lacks what; and its parts on disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from infranode_eval.db_routing.register import Concept, Coverage, Register, read_register
from infranode_eval.db_routing.sources import FOLDER, read_sources
from infranode_eval.db_routing.textfiles import read_json
from lm_eval_task.errors import DataError
from tests.db_routing.draft import Draft


def concept(*cues: str, excluded: tuple[str, ...] = ()) -> Concept:
    return Concept.from_json("x", {"de": "x", "cues": list(cues), **({"not": list(excluded)} if excluded else {})})


@pytest.mark.parametrize(("cues", "excluded", "text", "said", "why"), [
    (["störung"], [], "Eine Stoerung am Gleis", True, "umlauts are spelled out"),
    (["störung"], [], "Die Betriebsstörungen", True, "from five letters on inside a compound"),
    (["wohn"], [], "Wer in Bonn wohnt", True, "four letters at the start of a word"),
    (["wohn"], [], "Die Bewohner", False, "four letters do not count inside"),
    (["=bon"], [], "Auf dem Bon und in Bons", True, "a whole word, with its endings"),
    (["=bon"], ["bonn"], "In Bonn und Bonität", False, "other words"),
    (["karte"], ["tankkarte"], "Mit der Tankkarte", False, "what is excluded wins"),
    (["karte"], ["tankkarte"], "Tankkarte oder Karte", True, "another word says it"),
    (["auf lager"], [], "Was ist auf Lager?", True, "a phrase"),
    (["auf lager"], [], "Was liegt auf dem Lager?", False, "another phrase"),
    (["betrieb"], ["in betrieb"], "Wann ging es in Betrieb?", False, "an excluded phrase"),
    (["betrieb"], ["in betrieb"], "Welcher Betrieb ist in Betrieb?", True, "said once more"),
    (["kunde"], [], "Ku\u0308nde, ku-nde", False, "a hyphen parts words"),
])
def test_a_text_voices_a_concept(cues: list[str], excluded: list[str], text: str, said: bool, why: str) -> None:
    assert concept(*cues, excluded=tuple(excluded)).is_voiced(text) is said, why


@pytest.mark.parametrize(("value", "said"), [
    ({"de": "x", "cues": ["bon"]}, '"bon" has fewer than 4 letters'),
    ({"de": "x", "cues": ["=b"]}, '"=b" has fewer than 2 letters'),
    ({"de": "x", "cues": ["=auf lager"]}, "is no whole word and a phrase at once"),
    ({"de": "x"}, "concept x is"),
    ({"de": "x", "cues": [], "nicht": []}, "concept x is"),
])
def test_a_cue_that_matches_by_accident_is_refused(value: dict[str, Any], said: str) -> None:
    with pytest.raises(DataError, match=said):
        Concept.from_json("x", value)


@pytest.mark.parametrize(("first", "last", "inside"), [
    ("2025-03", "2025-03", True), ("2025", "2025", True), ("2024-06-01", "2024-06-01", True),
    ("2024-05-31", "2024-05-31", False), ("2024", "2024", True), ("2026-01", "2026-01", False)])
def test_a_coverage_holds_a_time(first: str, last: str, inside: bool) -> None:
    assert Coverage("2024-06-01", "2025-12-31").holds_time(first, last) is inside


@pytest.fixture(scope="module")
def register() -> Register:
    """The one that ships."""
    return read_register(FOLDER / "register", read_json(FOLDER / "panel.json")["databases"])


def test_sisters_are_the_mates_of_the_cluster_and_the_bridges(register: Register) -> None:
    assert register.mates("luftguete") == register.sisters("luftguete") == []
    assert register.sisters("oepnv_betrieb") == ["oepnv_fahrplan", "lade_und_parkraum"]
    assert register.sisters("tankkarte") == [*register.mates("tankkarte"), "lade_und_parkraum"]
    assert register.group("tankkarte") == "handel"
    assert register.group("luftguete") == "luftguete"


def test_who_lacks_what(register: Register) -> None:
    assert register.lacking("onlineshop", ["kundenkarte", "umsatz", "filiale"]) == ["filiale", "kundenkarte"]
    assert register.knows("filialhandel", ["kundenkarte", "filiale"])
    granted = register.granting("onlineshop", ["filiale"])
    assert granted.lacking("onlineshop", ["kundenkarte", "umsatz", "filiale"]) == ["kundenkarte"]
    assert register.lacking("onlineshop", ["filiale"]) == ["filiale"], "the register itself stays as it is"


@pytest.mark.parametrize("database", ["stromvertrieb", "onlineshop", "filialhandel", "tankkarte", "grosshandel_erp",
                                      "oepnv_fahrplan", "oepnv_betrieb", "lade_und_parkraum"])
def test_a_cluster_database_shares_concepts_and_has_its_own(register: Register, database: str) -> None:
    """Common, paired and own: none of the three is missing, and no sister knows all that another does."""
    known = register.databases[database].concepts
    counts = {c: sum(register.knows(sister, [c]) for sister in register.sisters(database)) for c in known}
    assert sum(n == 0 for n in counts.values()) >= 6, "own"
    assert sum(n >= 1 for n in counts.values()) >= 6, "shared"
    assert not any(register.knows(sister, known) for sister in register.others(database))


def test_the_shipped_sources_agree_with_the_register() -> None:
    sources = read_sources()
    assert {"onlineshop", "filialhandel", "luftguete"} <= sources.schemas.keys()
    for name, schema in sources.schemas.items():
        assert schema.concepts.keys() == sources.register.databases[name].concepts.keys()


@pytest.mark.parametrize(("change", "said"), [
    (lambda d: d.register["hafenamt"]["concepts"].update(kasse={"de": "x", "cues": []}), '"kasse" is defined twice'),
    (lambda d: d.register["hafenamt"]["uses"].update(kasse={}), '"uses" names "kasse", which shared.json does not'),
    (lambda d: d.register["hafenamt"].update(bridges=["kraemerei"]), "names the bridge kraemerei, which does not name"),
    (lambda d: d.register["hafenamt"]["uses"].update(umsatz={}), 'no column carries "umsatz"'),
    (lambda d: d.register["hafenamt"]["concepts"].pop("ladung"), 'carries "ladung", which the register does not give'),
    (lambda d: d.shared.update(rest={"de": "x", "cues": ["wie viele", "=und"]}), 'the cue "=und" is a function word'),
])
def test_parts_that_do_not_fit_are_refused(tmp_path: Path, change: Any, said: str) -> None:
    draft = Draft()
    change(draft)
    with pytest.raises(DataError, match=said):
        draft.sources(tmp_path / "panel")


def test_the_built_register_names_the_columns_of_a_concept(tmp_path: Path) -> None:
    sources = Draft().sources(tmp_path / "panel")
    columns = {name: schema.concepts for name, schema in sources.schemas.items()}
    built = sources.register.to_json(columns)
    assert built["concepts"]["kasse"] == {"de": "Kasse eines Ladens", "cues": ["kasse", "tresen", "=bon"],
                                          "not": ["krankenkasse"]}
    assert built["databases"]["kraemerei"]["concepts"]["umsatz"] == {
        "columns": ["bon_kopf.betrag_eur"], "from": "2025-01-01", "to": "2025-12-31"}
