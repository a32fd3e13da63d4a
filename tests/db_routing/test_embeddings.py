"""Routing by sentence embeddings: cosines and ties by a made-up embedder, then the library with a model made here."""

from __future__ import annotations

import hashlib
import importlib
import json
import math
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import run_eval
from infranode_eval.db_routing.data import CACHE, cache_folder
from infranode_eval.db_routing.embeddings import PLACES, Model, SentenceModel, router_by
from infranode_eval.db_routing.lexical import best
from infranode_eval.db_routing.naive import drawn
from lm_eval_task.errors import UsageError
from lm_eval_task.records import fingerprint
from tests.db_routing.tiny_panel import PARAGRAPHS, write_panel
from tests.db_routing.topics import TOPICS, Topics
from tests.needs import need

SCHEMA = Path(__file__).parents[2] / "infranode_eval/data/result.schema.json"


# --- the router -------------------------------------------------------------------------------------------------------

class At(Topics):
    """Angles in degrees: of the one question, and of each paragraph."""

    def __init__(self, asked: float, **paragraphs: float) -> None:
        super().__init__("angles")
        self._asked, self._paragraphs = asked, paragraphs

    def question(self, text: str) -> list[float]:
        return _at(self._asked)

    def paragraph(self, text: str) -> list[float]:
        return _at(self._paragraphs[text])


def _at(degrees: float) -> list[float]:
    return [math.cos(math.radians(degrees)), math.sin(math.radians(degrees))]


def test_a_score_is_the_cosine_of_question_and_paragraph() -> None:
    scores = router_by(At(10, near=40, square=100, behind=190))({name: name for name in ("near", "square", "behind")})
    assert scores("?") == pytest.approx({"near": math.cos(math.radians(30)), "square": 0, "behind": -1}, abs=1e-6)
    assert best(scores("?"), 7, "t") == "near"


@pytest.mark.parametrize(("apart", "tie"), [(1e-8, True), (1e-3, False)])
def test_what_is_nearer_by_less_than_can_be_told_is_drawn(apart: float, tie: bool) -> None:
    """At 60 degrees a cosine moves by 0.866 for each radian."""
    scores = router_by(At(0, db_01=60, db_02=60 - math.degrees(apart)))({"db_01": "db_01", "db_02": "db_02"})("?")
    declared = {best(scores, 7, f"t{n}") for n in range(20)}
    assert declared == ({"db_01", "db_02"} if tie else {"db_02"})
    if tie:
        assert best(scores, 7, "t1") == drawn(["db_01", "db_02"], 7, "t1"), "the same in every run"
        assert all(round(score, PLACES) == score for score in scores.values())


# --- which model is meant ---------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("name", "model"), [
    ("organisation/some-model.v2_x", "organisation/some-model.v2_x"), ("some-model", "some-model")])
def test_a_name_on_the_hub_is_recorded_as_it_is(name: str, model: str, tmp_path: Path,
                                                monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert Model.of(name).to_json() == {"model": model, "sha256": None}


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(("files", "sha256", "why"), [
    ({"model.safetensors": "a", "config.json": "{}"}, _sha256("a"), "one file: what sha256sum gives"),
    ({"model.safetensors": "a", "pytorch_model.bin": "b"}, _sha256("a"), "the kind that is loaded"),
    ({"model.safetensors": "a", "onnx/model.bin": "b", "openvino/x.bin": "c"}, _sha256("a"), "not what others run"),
    ({"pytorch_model.bin": "b"}, _sha256("b"), "an older folder"),
    ({"2_Dense/model.safetensors": "d", "model.safetensors": "a"},
     fingerprint([["2_Dense/model.safetensors", _sha256("d")], ["model.safetensors", _sha256("a")]]), "several")])
def test_a_folder_is_recorded_by_its_last_name_and_its_weights(
        files: dict[str, str], sha256: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "models" / "mine"
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    (tmp_path / "linked").symlink_to(folder)
    monkeypatch.chdir(folder)
    linked = str(tmp_path / "linked")
    for name, last in ((str(folder), "mine"), (f"{folder}/", "mine"), (".", "mine"), (linked, "linked")):
        assert Model.of(name).to_json() == {"model": last, "sha256": sha256}, (why, name)


@pytest.mark.parametrize(("name", "told"), [
    ("/gone/model", "neither a folder nor a name"), ("../gone", "neither a folder nor a name"),
    ("a/b/c", "neither a folder nor a name"), ("", "neither a folder nor a name"),
    ("empty", "empty is a folder without weights")])
def test_what_is_no_model_is_told_in_one_line(name: str, told: str, tmp_path: Path,
                                              monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=told) as caught:
        Model.of(name)
    assert "\n" not in str(caught.value) and str(tmp_path) not in str(caught.value)


# --- runs -------------------------------------------------------------------------------------------------------------

@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(CACHE, str(tmp_path / "cache"))
    write_panel(tmp_path / "panel", cache_folder())
    return tmp_path


def run(model: str, *more: str) -> int:
    return run_eval.main(["--suite", "db_routing", "--model", model, "--tasks", "panel", "--tools", "panel", "--out",
                          "r.json", *more])


def test_without_the_library_one_line_names_the_extra_and_other_programs_run(
        workplace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    assert run("embeddings") == 2
    assert capsys.readouterr().err == ("run_eval.py: embeddings need sentence-transformers: pip install "
                                       "'infranode-tool-eval[embeddings]'\n")
    assert not Path("r.json").exists()
    assert run("tfidf_char") == 0, "which imports nothing of it"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A model of the library that knows the words of TOPICS; any other word points along an axis of its own."""
    library, tokenizers, numpy = need("sentence_transformers"), need("tokenizers"), need("numpy")
    modules = importlib.import_module("sentence_transformers.sentence_transformer.modules")
    words = {word: axis for axis, topic in enumerate(TOPICS.values(), 1) for word in topic}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(
        {"?": 0, **{word: n for n, word in enumerate(words, 1)}}, unk_token="?"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    weights = numpy.zeros((len(words) + 1, 4), dtype="float32")
    for n, axis in enumerate((0, *words.values())):
        weights[n, axis] = 0.1 if axis == 0 else 1.0
    static = modules.StaticEmbedding(tokenizer, embedding_weights=weights)
    folder = tmp_path / "somewhere" / "topics-tiny"
    library.SentenceTransformer(modules=[static], device="cpu").save(str(folder))
    return folder


def result() -> dict[str, Any]:
    return json.loads(Path("r.json").read_text("utf-8"))


def test_a_model_of_the_library_routes_and_gives_the_same_bytes_again(workplace: Path, model: Path) -> None:
    flags = ("--embedding-model", str(model))
    assert run("embeddings", *flags) == 0
    found = result()
    assert found["metrics"]["route_ok"] == 1.0 and {row["api_calls"] for row in found["rows"]} == {2}
    weights = hashlib.sha256((model / "model.safetensors").read_bytes()).hexdigest()
    told = found["settings"]["embedding"]
    assert (told["model"], told["sha256"]) == ("topics-tiny", weights)
    assert told["library"].startswith("sentence-transformers ")
    assert found["setup"].endswith("by embeddings of topics-tiny, without a call")
    jsonschema.validate(found, json.loads(SCHEMA.read_text("utf-8")))
    files = ("r.json", "r.transcripts.jsonl")
    first = [Path(name).read_bytes() for name in files]
    assert run("embeddings", *flags, "--concurrency", "3") == 0
    assert [Path(name).read_bytes() for name in files] == first
    assert str(workplace).encode() not in b"".join(first)


def test_another_model_does_not_write_over_the_file(workplace: Path, model: Path,
                                                    capsys: pytest.CaptureFixture[str]) -> None:
    assert run("embeddings", "--embedding-model", str(model)) == 0
    other = model.rename(model.with_name("other"))
    assert run("embeddings", "--embedding-model", str(other)) == 2
    assert "holds another run (embedding)" in capsys.readouterr().err


def test_vectors_of_the_library_have_length_one_and_are_taken_one_by_one(model: Path) -> None:
    embedder = SentenceModel(str(model))
    half = math.sqrt(0.5)
    assert embedder.question("Schiff Kunden") == pytest.approx([0, half, 0, half], abs=1e-6)
    assert embedder.paragraph("Schiff") == pytest.approx([0, 0, 0, 1], abs=1e-6)
    rows = list(embedder.alike(["Schiff", "Schiff Kunden", "Bon"]))
    assert [list(row) for row in rows] == [[1, 0.707107, 0], [0.707107, 1, 0.707107], [0, 0.707107, 1]]
    shown = router_by(embedder)(PARAGRAPHS)("Wie viele Bons gibt es?")
    assert max(shown, key=lambda name: shown[name]) == "laden"


@pytest.mark.parametrize(("file", "text"), [("modules.json", "{"), ("model.safetensors", "cut"),
                                            ("tokenizer.json", "{}")])
def test_what_the_library_cannot_load_is_one_line(model: Path, file: str, text: str) -> None:
    (model / file).write_text(text, "utf-8")
    with pytest.raises(UsageError, match="cannot be loaded: ") as caught:
        SentenceModel(str(model))
    assert "\n" not in str(caught.value)
