"""A sealed set: made like the core, found in no published file, committed to by a hash that says no word of it."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path

import pytest

import generate
from infranode_eval.generator.sealed import sealed_candidates
from infranode_eval.generator.splits import phrasing_splits
from infranode_eval.generator.templates import core_rows, phrasings, read_phrasings
from lm_eval_task.dataset import load_tasks
from lm_eval_task.errors import DataError
from lm_eval_task.records import read_tasks, tasks_fingerprint
from lm_eval_task.tools import read_tools

PUBLISHED = load_tasks(read_tools(), "all")


@pytest.mark.parametrize("secret", ["a", "b", "c"])
def test_it_has_the_make_up_of_the_core_and_no_published_question(secret: str) -> None:
    found = sealed_candidates(secret)
    assert Counter(c.task.category for c in found) == Counter(row["category"] for row in core_rows())
    known = {task.question for task in PUBLISHED}
    assert not [c.task.question for c in found if any(c.task.question.endswith(question) for question in known)]
    assert len({c.task.question for c in found}) == len({c.task.task_id for c in found}) == len(found)


@pytest.mark.parametrize("secret", ["a", "b", "c"])
def test_its_wording_is_test_as_the_wording_of_the_core_is(secret: str) -> None:
    """Who trained on the split train must not know half of the sealed wordings and none of the core's."""
    assert {phrasing_splits()[c.phrasing.id] for c in sealed_candidates(secret)} == {"test"}


def test_another_secret_gives_other_questions_and_the_same_secret_the_same() -> None:
    one, two = (dict.fromkeys(c.task.question for c in sealed_candidates(secret)) for secret in "ab")
    assert len(one.keys() & two.keys()) <= 8
    assert [c.task for c in sealed_candidates("a")] == [c.task for c in sealed_candidates("a")]


def test_the_ids_say_neither_city_nor_key() -> None:
    assert all(c.task.task_id.startswith("sealed-") and c.task.task_id.count("-") == 2 for c in sealed_candidates("a"))


def own_file(path: Path, *, mark: str = " Danke!") -> Path:
    """Private phrasings: the public ones in other words, as far as this test needs them."""
    rows = []
    for phrasing in phrasings().values():
        calls = [dict(call) for call in phrasing.calls]
        rows.append({"id": f"x{phrasing.id}" if phrasing.board is None else phrasing.id,
                     "category": phrasing.category, "register": phrasing.register,
                     "text": phrasing.text + mark, "calls": calls, "accept": [list(a) for a in phrasing.accept],
                     "cities": None if phrasing.cities is None else list(phrasing.cities),
                     "cities_not": list(phrasing.cities_not), "topic": phrasing.topic, "board": phrasing.board,
                     "water": phrasing.water, "datum": list(getattr(phrasing, "datum", ())) or ["x"]})
    path.write_text(json.dumps({"phrasings": rows}), "utf-8")
    return path


def test_private_phrasings_are_asked_as_they_stand(tmp_path: Path) -> None:
    own = read_phrasings(own_file(tmp_path / "own.json"))
    found = sealed_candidates("a", own)
    assert all(c.task.question.endswith(" Danke!") for c in found)
    assert {c.phrasing.id for c in found} <= set(own)


def test_too_few_private_phrasings_are_named(tmp_path: Path) -> None:
    own = {name: p for name, p in phrasings().items() if p.category != "poi_type"}
    with pytest.raises(DataError, match="12 tasks of poi_type, the phrasings give 0"):
        sealed_candidates("a", own)


def test_the_command_keeps_the_questions_and_prints_what_may_be_published(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "sealed.jsonl"
    assert generate.main(["--source", "snapshot", "--sealed", str(path)]) == 0
    public = json.loads(capsys.readouterr().out)
    tasks = read_tasks(path)
    assert public["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert public["tasks"] == tasks_fingerprint(tasks)
    assert public["n"] == len(tasks) == len(core_rows())
    assert {task.set for task in tasks} == {None}, "it runs whole, as a file of its own"
    assert not any(task.question in json.dumps(public, ensure_ascii=False) for task in tasks)
    private = json.loads((tmp_path / "sealed.meta.json").read_text("utf-8"))
    assert private["secret"] not in json.dumps(public)


def test_a_sealed_set_is_never_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "sealed.jsonl"
    path.write_text("mine", "utf-8")
    assert generate.main(["--source", "snapshot", "--sealed", str(path)]) == 2
    assert path.read_text("utf-8") == "mine" and "never overwritten" in capsys.readouterr().err


@pytest.mark.parametrize("content", ["no json", '{"phrasings": 3}', '{"rows": []}', "[]"])
def test_a_broken_file_of_phrasings_is_named(tmp_path: Path, content: str) -> None:
    path = tmp_path / "own.json"
    path.write_text(content, "utf-8")
    with pytest.raises(DataError, match=r"own\.json"):
        read_phrasings(path)
