"""Word stems, BM25 and the gazetteer: what the retrieval baseline and the leakage check stand on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from infranode_eval.retrieval import Bm25, find_slugs, label_documents, tokens, tool_documents
from lm_eval_task.tools import read_tools

CITIES = json.loads((Path(__file__).parents[1] / "infranode_eval/data/city_forms.json").read_text("utf-8"))["cities"]

TOKENS = [
    ("Wie ist das Wetter in Köln?", ["wett", "köln"], "stop words go, umlauts stay"),
    ("WETTER Wetters wetter", ["wett", "wett", "wett"], "case and endings do not separate a word"),
    ("Haus Hauses", ["haus", "haus"], "a stem keeps four letters"),
    ("PM2,5 um 12 Uhr", ["pm2", "5", "12", "uhr"], "numbers stay whole"),
    ("", [], "nothing in, nothing out"),
    ("und der die das", [], "only stop words"),
]


@pytest.mark.parametrize(("text", "expected", "reason"), TOKENS)
def test_tokens(text: str, expected: list[str], reason: str) -> None:
    assert tokens(text) == expected, reason


SLUGS = [
    ("Wie ist das Wetter in Köln?", ["koeln"], "a plain name"),
    ("Zeig mir Kölns Parkhäuser", ["koeln"], "a genitive"),
    ("Gibt es Münchner Spielplätze?", ["muenchen"], "an adjective"),
    ("Vergleiche Bonn, Köln und Aachen", ["bonn", "koeln", "aachen"], "order of appearance"),
    ("Köln oder Bonn? Lieber Köln.", ["koeln", "bonn"], "each city once"),
    ("Bremerhaven im Sommer", ["bremerhaven"], "the longest form wins over Bremen"),
    ("Freiburg im Breisgau", ["freiburg-im-breisgau"], "the full name"),
    ("Parken in Frankfurt", ["frankfurt-am-main"], "the only Frankfurt of the registry"),
    ("Parken in Frankfurt (Oder)", [], "another town"),
    ("Parken in Frankfurt/Main", ["frankfurt-am-main"], "another spelling of the addition"),
    ("Halle (Saale) und Halle", ["halle-saale"], "long and short form are one city"),
    ("Wo kann man in Essen gut essen?", ["essen"], "the verb is no city"),
    ("wo kann man in köln gut essen", ["koeln"], "lower case throughout"),
    ("Neu-Ulm", [], "a name behind a hyphen belongs to another place"),
    ("Köln-Mülheim", ["koeln"], "a borough belongs to the city before the hyphen"),
    ("Wie wird das Wetter?", [], "no city"),
    ("Kieler Förde, Ulmer Münster", ["kiel", "ulm", "muenster"], "the gazetteer knows no context"),
]


@pytest.mark.parametrize(("question", "expected", "reason"), SLUGS)
def test_cities_of_a_question(question: str, expected: list[str], reason: str) -> None:
    assert find_slugs(question) == expected, reason


@pytest.mark.parametrize("slug", sorted(CITIES))
def test_every_form_of_every_city_is_found(slug: str) -> None:
    forms = CITIES[slug]
    for form in filter(None, (forms["name"], forms["genitive"], forms["adjective"])):
        assert find_slugs(f"Bitte für {form} nachsehen") == [slug]


def test_documents_cover_every_choice_of_the_tools() -> None:
    tools = read_tools()
    documents = tool_documents(tools)
    keys = tools.by_name["get_city_resource"].properties["resource"]["enum"]
    assert {f"get_city_resource/{k}" for k in keys} <= set(documents)
    assert {d for d in documents if d.startswith("pois/")} == {
        f"pois/{t}" for t in ("hospital", "kindergarten", "pharmacy", "police", "restaurant", "school")}
    assert {d for d in documents if d.startswith("compare/")} == {
        f"compare/{r}" for r in ("air", "charging-status", "demographics", "indicators", "tourism", "unemployment",
                                 "weather", "weather-warnings")}
    assert {d for d in documents if "/" not in d} == {
        t.name for t in tools.tools} - {"get_city_resource", "pois", "compare"}
    assert documents["get_city_resource/parking"].startswith("parking: Parkhäuser")
    assert "Krankenhaus" in documents["pois/hospital"]
    assert set(label_documents(tools)) == set(documents)
    assert label_documents(tools)["get_city_resource/bike-counts"] == "bike-counts"


@pytest.mark.parametrize(("question", "label"), [
    ("Wie viele Trinkbrunnen gibt es in Köln?", "get_city_resource/drinking-water"),
    ("Welche Spielplätze hat Bonn?", "get_city_resource/playgrounds"),
    ("Gibt es ein Krankenhaus in Ulm?", "pois/hospital"),
])
def test_bm25_finds_the_description_that_shares_a_rare_word(question: str, label: str) -> None:
    assert Bm25(tool_documents(read_tools())).ranked(question)[0][0] == label


def test_bm25_ranks_by_rarity_and_breaks_ties_by_label() -> None:
    index = Bm25({"b": "Regen Wind", "a": "Regen Wind", "c": "Regen Hagelkorn", "d": "Schnee"})
    ranked = index.ranked("Regen und Hagelkorn")
    assert [label for label, _ in ranked] == ["c", "a", "b", "d"]
    assert ranked[0][1] > ranked[1][1] == ranked[2][1] > ranked[3][1] == 0.0
    assert index.ranked("Unbekanntes") == [(label, 0.0) for label in "abcd"]


def test_bm25_accepts_empty_documents() -> None:
    assert Bm25({"a": ""}).ranked("Regen") == [("a", 0.0)]
    assert Bm25({}).ranked("Regen") == []
