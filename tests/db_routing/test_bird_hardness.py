"""Neighbours of a BIRD folder's questions by embeddings: counted with a made-up embedder, once, and told."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import run_eval
from infranode_eval.db_routing.bird import bird_panel
from infranode_eval.db_routing.bird_files import Asked
from infranode_eval.db_routing.bird_hardness import EMBEDDED, Graded, graded
from infranode_eval.db_routing.hardness import NEIGHBOURS
from lm_eval_task.errors import UsageError
from tests.db_routing.bird_folder import write_folder
from tests.db_routing.topics import Topics


def asked(word: str, *databases: str) -> list[Asked]:
    return [Asked(f"{word}-{n}", "dev", database, f"Nummer {n}: {word}?", "SELECT 1", None)
            for n, database in enumerate(databases)]


QUESTIONS = [*asked("Bon", *["bank"] * 4, *["shop"] * 5), *asked("Schiff", *["sky"] * 6, *["bank"] * 4)]


class Opened:
    """Opens the made-up embedder, and counts how often."""

    def __init__(self) -> None:
        self.made: list[Topics] = []

    def __call__(self, name: str) -> Topics:
        self.made.append(Topics(name))
        return self.made[-1]


def grade(beside: Path, opened: Opened, questions: list[Asked] = QUESTIONS, model: str = "tiny") -> Graded:
    return graded(questions, EMBEDDED, beside, model, opened)


def test_neighbours_are_those_of_the_vectors_of_whole_questions(tmp_path: Path) -> None:
    opened = Opened()
    found = grade(tmp_path, opened)
    assert found.foreign is not None and found.missing is None
    assert found.foreign["Bon-0"] == (5, 8) and found.foreign["Bon-4"] == (4, 8)
    assert found.foreign["Schiff-0"] == (4, 9) and found.foreign["Schiff-6"] == (6, 9)
    assert opened.made[0].seen == [one.question for one in QUESTIONS], "as they stand, each once"
    assert found.told == {"signal": "embeddings", "k": 20, "threshold": 5, "floor": 0.0, "pool": 19,
                          "library": "made up 1.0", "model": "tiny", "sha256": None}


def test_twenty_neighbours_count_and_the_rest_does_not(tmp_path: Path) -> None:
    found = grade(tmp_path, Opened(), asked("Bon", *["bank"] * 15, *["shop"] * 15))
    assert found.foreign is not None and {near for _, near in found.foreign.values()} == {NEIGHBOURS}


def test_they_are_counted_once_for_a_model_and_kept(tmp_path: Path) -> None:
    opened = Opened()
    first = grade(tmp_path, opened)
    assert grade(tmp_path, opened) == first and len(opened.made) == 1, "from the file, without the library"
    assert grade(tmp_path, opened, model="other").told["model"] == "other" and len(opened.made) == 2
    assert len(list(tmp_path.glob("bird-*.hardness.json"))) == 2
    grade(tmp_path, opened, asked("Bon", "bank", "shop"))
    assert len(opened.made) == 3, "other questions are counted anew"


def test_names_of_databases_change_no_count(tmp_path: Path) -> None:
    named = [Asked(one.task_id, one.split, one.database[::-1], one.question, one.sql, None) for one in QUESTIONS]
    assert grade(tmp_path, Opened(), named).foreign == grade(tmp_path, Opened()).foreign


def test_what_was_asked_for_and_is_not_there_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(UsageError, match=r"pip install 'infranode-tool-eval\[embeddings\]'"):
        graded(QUESTIONS, EMBEDDED, tmp_path)
    assert not list(tmp_path.glob("*")), "nothing was counted, so nothing is kept"


def test_a_run_takes_the_kept_counts_and_records_the_signal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    folder = write_folder(tmp_path / "folder")
    flags = ["--suite", "db_routing", "--bird", "folder", "--descriptions", str(folder / "descriptions.json"),
             "--out", "r.json", "--model", "bm25", "--signal", "embeddings", "--embedding-model", "tiny"]
    bird_panel.cache_clear()
    assert run_eval.main(flags) == 2
    questions = _questions(folder)
    grade(tmp_path, Opened(), questions)
    bird_panel.cache_clear()
    assert run_eval.main(flags) == 0
    found = json.loads(Path("r.json").read_text("utf-8"))
    assert found["settings"]["bird"]["hardness"]["signal"] == "embeddings"
    assert found["settings"]["bird"]["hardness"]["model"] == "tiny"
    assert {row["bucket"] for row in found["rows"]} == {"neighbour_free"}


def _questions(folder: Path) -> list[Asked]:
    from infranode_eval.db_routing.bird_files import read_folder

    return list(read_folder(folder, json.loads((folder / "descriptions.json").read_text("utf-8"))).questions)
