"""Routers by words: features, weights and ties, worked out by hand."""

from __future__ import annotations

import math

import pytest

from infranode_eval.db_routing.lexical import ROUTERS, best, characters, tfidf, words
from infranode_eval.db_routing.naive import drawn


def test_characters_are_taken_inside_words() -> None:
    assert list(characters("Ab cde")) == [" ab", "ab ", " ab ", " cd", "cde", "de ", " cde", "cde ", " cde "]
    assert list(characters("a")) == [" a "]
    assert list(characters("")) == []


def test_words_are_stems_without_function_words() -> None:
    assert list(words("Wie viele der Schiffe?")) == ["schiff"]


def test_a_score_is_the_cosine_of_tfidf_vectors() -> None:
    """Two paragraphs over three words; idf of a word in both is 1, in one ln(3/2) + 1."""
    scores = tfidf(lambda text: iter(text.split()))({"x": "rot blau", "y": "rot rot grün"})("blau rot schwarz")
    rare = math.log(3 / 2) + 1
    x, y, asked = (1.0, rare), (1 + math.log(2), rare), (1.0, rare)      # rot, and the other word of each
    length = [math.hypot(*vector) for vector in (x, y, asked)]
    assert scores["x"] == pytest.approx(1.0)
    assert scores["y"] == pytest.approx(y[0] * asked[0] / length[1] / length[2])


@pytest.mark.parametrize("router", ROUTERS)
def test_a_question_goes_to_the_paragraph_with_its_words(router: str) -> None:
    texts = {"db_01": "Schiffe legen an und bleiben.", "db_02": "Waren gehen über den Tresen."}
    assert best(ROUTERS[router](texts)("Wie viele Schiffe legten an?"), 7, "t") == "db_01"


@pytest.mark.parametrize("router", ROUTERS)
def test_what_scores_nothing_is_drawn(router: str) -> None:
    texts = {"db_01": "Schiffe legen an.", "db_02": "Waren gehen hinaus."}
    scores = ROUTERS[router](texts)("xyz")
    assert set(scores.values()) == {0.0}
    assert {best(scores, 7, f"t{n}") for n in range(20)} == {"db_01", "db_02"}
    assert best(scores, 7, "t1") == drawn(["db_01", "db_02"], 7, "t1"), "the same in every run"
