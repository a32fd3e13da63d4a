"""docs/db_routing.md: every requirement has its row, and every module and test that it names is there."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "docs/db_routing.md").read_text("utf-8")
ROWS = [line for line in TEXT.splitlines() if re.match(r"\| \d", line)]
NAMED = re.compile(r"`([\w/.]+\.py)::(\w+)`")


def test_every_requirement_has_its_row() -> None:
    numbers = [row.split("|")[1].strip() for row in ROWS]
    expected = [str(n) for n in range(1, 75)]
    expected.insert(21, "21a")
    expected.insert(expected.index("34") + 1, "34a")
    assert numbers == expected and all(row.count("|") == 6 for row in ROWS)
    for row in ROWS:
        *_, held, missing, _ = row.split("|")
        assert NAMED.search(held) or missing.strip(), row


@pytest.mark.parametrize(("file", "name"), sorted(set(NAMED.findall(TEXT))))
def test_a_test_that_is_named_exists(file: str, name: str) -> None:
    path = ROOT / (file if "/" in file else f"tests/db_routing/{file}")
    assert f"def {name}(" in path.read_text("utf-8")


@pytest.mark.parametrize("module", sorted({name for row in ROWS for name in re.findall(
    r"`([\w/.]+(?:\.py|/))`", row.split("|")[3])}))
def test_a_module_that_is_named_exists(module: str) -> None:
    assert (ROOT / (module if "/" in module else f"infranode_eval/db_routing/{module}")).exists()


# --- figures ----------------------------------------------------------------------------------------------------------

RESULTS = ROOT / "results" / "db_routing"


def read(name: str) -> dict:
    return json.loads((RESULTS / f"{name}.json").read_text("utf-8"))


@pytest.mark.parametrize(("program", "told"), [
    ("oracle", "oracle 506 of 506 routes"), ("constant", "constant 46"), ("tfidf_char", "characters 20.2 %"),
    ("tfidf_word", "words 13.6 %"), ("bm25", "BM25 13.8 %"), ("embeddings", "embeddings 16.6 %")])
def test_what_programs_reach_is_that_of_the_results(program: str, told: str) -> None:
    rows = read(program)["rows"]
    right = sum(row["route_ok"] for row in rows)
    share = float(told.split()[-2]) if told.endswith("%") else None
    assert " ".join(told.split()) in " ".join(TEXT.split())
    assert (round(100 * right / len(rows), 1) == share) if share else f" {right}" in told


def test_the_embeddings_are_told_as_they_were() -> None:
    result, told = read("embeddings"), " ".join(TEXT.partition("By embeddings")[2].split())
    rows, model = result["rows"], result["settings"]["embedding"]
    shares = {None: "over all", "neighbour_hard": "on nachbar-hart", "neighbour_free": "on nachbar-frei"}
    for bucket, word in shares.items():
        inside = [row["route_ok"] for row in rows if bucket in (None, row["bucket"])]
        assert f"{100 * sum(inside) / len(inside):.1f} % {word} ({sum(inside)} of {len(inside)})" in told
    assert model["model"] in told and len(model["sha256"]) == 64
    fahrplan = sum(row["declared"] == "oepnv_fahrplan" for row in rows)
    assert f"oepnv_fahrplan for {fahrplan} of the {len(rows)} questions" in told
    own = [row["route_ok"] for row in rows if row["database"] == "oepnv_betrieb"]
    assert not any(own) and f"oepnv_betrieb for none of its own {len(own)}" in told
    words = sum(row["route_ok"] for row in read("tfidf_char")["rows"])
    assert sum(row["route_ok"] for row in rows) < words and "below TF-IDF of characters" in told


def test_the_small_model_is_told_as_it_was() -> None:
    result = read("SmolLM2-135M-Instruct-Q4_1.prompt.llamacpp")
    rows, told = result["rows"], TEXT.partition("SmolLM2-135M-Instruct")[2]
    errors = [row["declaration_error"] for row in rows]
    assert f"{sum(row['route_ok'] for row in rows)} of {len(rows)} routes" in told
    assert f"{sum(row['declared'] is not None for row in rows)} of {len(rows)} declared anything" in told
    assert f"{errors.count('truncated')} of its {len(rows)} answers were cut" in told
    assert f"{errors.count('missing')} held no object" in told and not sum(row["tool_calls"] for row in rows)
    requests = result["totals"]["attempts"]
    assert f"{round(result['totals']['input_tokens'] / requests):,} tokens of prompt" in told
    assert requests == 2 * len(rows) and result["settings"]["max_tokens"] == 192 and "a budget of 192" in told
    assert (RESULTS / result["transcripts"]["file"]).stat().st_size < 2_000_000
