"""What only the whole panel can hold: each rule finds the made-up panel wanting, or lets it pass."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from infranode_eval.db_routing import release
from infranode_eval.db_routing.build import pool_of
from infranode_eval.db_routing.sources import Sources, read_sources
from tests.db_routing.draft import Draft
from tests.needs import need

need("sklearn")


@pytest.fixture
def draft(tmp_path: Path) -> Sources:
    return Draft().sources(tmp_path / "panel").with_panel_frame()


@pytest.mark.parametrize("said", [
    "hafenamt: 2 intents, expected at least 46", "the panel: 3 databases, expected 11",
    "kraemerei: a paragraph of 12 words, expected 35 to 60", "paragraphs: 0 in reserve, expected at least 20",
    "the panel: no database has 60 tables or more", "decoys: 20% of the questions of clusters have one"])
def test_a_small_panel_is_not_released(draft: Sources, said: str) -> None:
    found = [f"{subject}: {message}" for subject, message in release.problems(draft)]
    assert any(said in message for message in found), found


def test_paragraphs_of_unlike_length_are_named(draft: Sources) -> None:
    texts = {"hafenamt": "Wort " * 60, "kraemerei": "Wort " * 38}
    changed = replace(draft, descriptions=texts, reserve=("Wort " * 40,) * 20)
    found = [message for _, message in release.problems(changed)]
    assert "38 to 60 words, expected 1.5 times the shortest at most" in found
    assert not any("in reserve" in message for message in found)


def test_a_router_that_reads_the_name_in_the_paragraph_is_too_good(draft: Sources) -> None:
    telling = {name: " ".join(intent.phrasings[p] for intent in intents for p in "ab")
               for name, intents in draft.intents.items()}
    pool = pool_of(draft)
    scores = release.router_scores(replace(draft, descriptions=telling), pool, 0.1)
    assert scores["tfidf_char"][0] == 1.0
    found = [subject for subject, _ in release.problems(replace(draft, descriptions=telling))]
    assert "tfidf_char" in found
    silent = replace(draft, descriptions=dict.fromkeys(draft.descriptions, "Xylophon"))
    drawn = release.router_scores(silent, pool, 0.1)
    assert drawn["tfidf_char"] == drawn["tfidf_word"] == drawn["bm25"], "all score 0, and one is drawn"


def test_the_shipped_paragraphs_and_the_wide_database_hold_the_rules() -> None:
    sources = read_sources()
    found = [*release._paragraphs(sources), *release._wide(sources)]
    assert found == []
