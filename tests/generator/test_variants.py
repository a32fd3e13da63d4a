"""Variants by rule: what each does, where it does not apply, and what no rule may touch."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infranode_eval.generator.templates import city_forms
from infranode_eval.generator.variants import (
    _NEIGHBOURS,
    RULES,
    ascii_umlaut,
    lower,
    nfd,
    no_dots,
    no_punctuation,
    reframed,
    speech,
    typo_neighbour,
    typo_swap,
)

RULE_CASES = [
    (nfd, "Wie warm ist es in Köln?", "Wie warm ist es in Ko\u0308ln?", "letter and combining dots"),
    (nfd, "Wie warm ist es in Bonn?", None, "nothing to take apart"),
    (ascii_umlaut, "Grüße aus Köln, Ärger in Düren!", "Gruesse aus Koeln, Aerger in Dueren!", "ß and capitals, too"),
    (ascii_umlaut, "Wie warm ist es in Bonn?", None, "no umlaut"),
    (no_dots, "Wie ist die Luft in Köln und Düren?", "Wie ist die Luft in Koln und Duren?", "dots gone, ß would stay"),
    (no_dots, "Wie warm ist es in Münster?", None, "Munster is another town"),
    (no_dots, "Wo ist Fürths Wertstoffhof?", None, "Furth is another town, in the genitive as well"),
    (no_dots, "Das wäre möglich, würde ich sagen.", None, "wurde is another word"),
    (lower, "Wie warm ist es in Bonn?", "wie warm ist es in bonn?", "all small"),
    (lower, "Was läuft in Essen?", None, "essen is a word"),
    (lower, "Welche Ulmer Straßen sind gesperrt?", None, "ulmer is a word, too"),
    (no_punctuation, "Sag mal, wo (in Halle) gibt's PM2,5-Werte?", "Sag mal wo in Halle gibt's PM2,5-Werte",
     "commas in numbers, hyphens and apostrophes in words stay"),
    (no_punctuation, "Abfahrt an der EVA-Nummer 8000207?", "Abfahrt an der EVA-Nummer 8000207", "ids stay whole"),
    (no_punctuation, "Haltestelle de:05315:11201, bitte!", "Haltestelle de:05315:11201 bitte", "stop ids stay whole"),
    (speech, "Wo gibt's E-Scooter, und wie viele?", "wo gibts e scooter und wie viele", "as it is heard"),
    (speech, "Wie hoch ist PM2,5 in Bonn?", None, "nobody knows how digits would be written"),
    (speech, "Was läuft in Essen?", None, "essen is a word"),
]


@pytest.mark.parametrize(("rule", "question", "expected", "why"), RULE_CASES, ids=[f"{c[0].__name__}: {c[3]}"
                                                                                  for c in RULE_CASES])
def test_a_rule(rule, question: str, expected: str | None, why: str) -> None:
    assert rule(question, (), "s") == expected


def test_a_neighbour_is_a_neighbour_and_only_one_letter_moves() -> None:
    question = "Welche Parkhäuser haben gerade freie Plätze?"
    changed = typo_neighbour(question, (), "s")
    assert changed is not None and len(changed) == len(question)
    differ = [(a, b) for a, b in zip(question, changed, strict=True) if a != b]
    assert len(differ) == 1
    assert all(b in _NEIGHBOURS[a] for a, b in differ)


def test_a_swap_keeps_the_letters() -> None:
    question = "Welche Parkhäuser haben gerade freie Plätze?"
    changed = typo_swap(question, (), "s")
    assert changed is not None and sorted(changed) == sorted(question) and changed != question


def test_a_long_question_gets_two_errors_at_most() -> None:
    question = "Welche Unternehmen beteiligen sich derzeit bundesweit öffentlich ausgeschriebenen Vorhaben? " * 3
    for rule in (typo_neighbour, typo_swap):
        changed = rule(question, (), "s").split()
        assert sum(a != b for a, b in zip(question.split(), changed, strict=True)) <= 1 + len(question) // 70


@pytest.mark.parametrize("rule", [typo_neighbour, typo_swap])
def test_places_numbers_and_compounds_with_hyphens_stay_whole(rule) -> None:
    for seed in map(str, range(50)):
        changed = rule("Abfahrten in Mönchengladbach an Stuttgart-Bad Cannstatt, EVA 8000207, bitte auflisten",
                       ("Mönchengladbach", "Stuttgart-Bad Cannstatt"), seed)
        for kept in ("Mönchengladbach", "Stuttgart-Bad Cannstatt", "8000207"):
            assert kept in changed


def test_a_question_of_short_words_takes_no_error() -> None:
    assert typo_neighbour("Wie warm ist es da?", (), "s") is None
    assert typo_swap("Wie warm ist es da?", (), "s") is None


def test_a_frame_leaves_the_question_whole_and_says_nothing_about_it() -> None:
    question = "Wie warm ist es in Bonn?"
    frames = {reframed(question, (), str(seed)).removesuffix(question).strip() for seed in range(200)}
    assert len(frames) >= 8
    names = {form.name.lower() for form in city_forms().values()}
    assert not [frame for frame in frames for name in names if name in frame.lower().split()]


@pytest.mark.parametrize("name", RULES)
@given(question=st.text(alphabet="abcdeäöüßÄÖÜ ,.?!-'0123456789NO", max_size=80), seed=st.text(max_size=4))
def test_a_rule_never_raises_and_never_returns_the_question_itself(name: str, question: str, seed: str) -> None:
    changed = RULES[name](question, (), seed)
    assert changed is None or changed != question
    assert changed == RULES[name](question, (), seed), "the same input gives the same variant"


def test_nfd_is_the_same_text_to_unicode() -> None:
    question = "Wo gibt es in Köln Trinkbrunnen für größere Flaschen?"
    assert unicodedata.normalize("NFC", nfd(question, (), "s")) == question
