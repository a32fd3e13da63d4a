"""Words made comparable, words without a domain, and how alike two texts are."""

from __future__ import annotations

import itertools
import math

import pytest

from infranode_eval.db_routing.alike import alike_pairs, likeness, trigram_vector
from infranode_eval.db_routing.folding import folded, phrase, words
from infranode_eval.db_routing.sources import FOLDER
from infranode_eval.db_routing.wordlists import Wordlists, bare_words, read_wordlists, stem, words_of_many_groups


@pytest.mark.parametrize(("text", "found"), [
    ("Störung", "stoerung"), ("STO\u0308RUNG", "stoerung"), ("Straße", "strasse"), ("Café", "cafe"),
    ("Yılmaz", "yılmaz"), ("µg/m³", "μg/m3")])
def test_texts_are_folded(text: str, found: str) -> None:
    assert folded(text) == found


def test_words_and_phrases() -> None:
    assert words("Wie oft (PM2,5) im Kölner E-Bike-Laden?") == ["wie", "oft", "pm2", "5", "im", "koelner", "e", "bike",
                                                                 "laden"]
    assert phrase("Auf Lager!") == " auf lager "
    assert stem("Gießkannen") == stem("Giesskanne") == "giessk"


LISTS = Wordlists(frozenset(("in", "der", "nicht")), frozenset(("wie", "viele")), frozenset(("koeln", "koelner")))


@pytest.mark.parametrize(("text", "literals", "left", "why"), [
    ("Wie viele Kunden in der Kölner Filiale?", [], "kunden filiale", "stop, frame, place"),
    ("Kunden 2025, 14 Bons, PM10", [], "kunden bons", "numbers"),
    ("Im März und noch MAI", [], "im und noch", "months"),
    ("Becher Mira, Bechers und Becherhalter", ["Becher Mira"], "und becherhalter", "an open literal in its forms"),
    ("Adas Bons", ["Ada"], "bons", "a genitive"),
    ("Passt nicht, passte", ["passt nicht"], "", "of a literal only words that are no function words"),
    ("Störung", [], "störung", "umlauts stay"),
])
def test_words_that_may_carry_a_domain(text: str, literals: list[str], left: str, why: str) -> None:
    assert " ".join(bare_words(text, literals, LISTS)) == left, why


def test_a_word_of_three_groups_is_a_frame_word() -> None:
    texts = {"handel": [["karte", "laden"], ["karte"]], "luft": [["karte", "laden"]], "amt": [["Karte"], ["stempel"]]}
    assert words_of_many_groups(texts) == {"karte"}


def test_the_shipped_lists() -> None:
    lists = read_wordlists(FOLDER, ["Köln", "Hürth"])
    assert min(len(lists.stop), len(lists.frame)) > 100
    assert {"gibt", "hat", "wurde", "liegt"} <= lists.stop
    assert {"anzahl", "durchschnittlich", "hoechste", "haeufigste", "umfang"} <= lists.frame
    assert {"huerther", "koelns", "muenchner", "bonner"} <= lists.places


def test_likeness_is_the_cosine_of_counted_trigrams() -> None:
    assert likeness("abc", "abc") == pytest.approx(1.0)
    assert likeness("abc", "xyz") == 0.0
    assert likeness("Abc", "abc") == pytest.approx(1.0)
    assert sum(weight * weight for weight in trigram_vector("hallo hallo").values()) == pytest.approx(1.0)
    assert likeness("abab", "ab") == pytest.approx(2 / math.sqrt(4) / math.sqrt(2))


def test_alike_pairs_are_those_that_a_comparison_of_all_finds() -> None:
    texts = ["Wie viele Kunden?", "Wie viele Kunden gibt es?", "Zahl der Kunden?", "Ganz anders", "Wie viele Kunden"]
    wanted = {(i, j) for (i, a), (j, b) in itertools.combinations(enumerate(texts), 2) if likeness(a, b) >= 0.6}
    found = list(alike_pairs(texts, 0.6))
    assert {(i, j) for i, j, _ in found} == wanted != set()
    assert all(cosine == pytest.approx(likeness(texts[i], texts[j])) for i, j, cosine in found)
