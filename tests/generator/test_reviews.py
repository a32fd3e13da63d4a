"""Reviews: joined to the question that was read, and summed up."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from infranode_eval.generator.reviews import Review, agreement, question_sha, read_reviews, reviews_of
from lm_eval_task.errors import DataError
from lm_eval_task.records import Call, Task

GOLD = Call("weather", {"slug": "ulm"})
SAME_URL = Call("get_city_resource", {"slug": "ulm", "resource": "weather"})
OTHER = Call("air_quality", {"slug": "ulm"})
TASK = Task("t", "Wie warm ist es in Ulm?", (GOLD,), ((OTHER,),))


def write(path: Path, *rows: dict[str, object]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def row(reader: str, *answers: Call, question: str = TASK.question, task_id: str = "t") -> dict[str, object]:
    return {"task_id": task_id, "question_sha": question_sha(question), "reader": reader,
            "calls": [[call.to_json()] for call in answers]}


def test_no_file_means_no_reviews(tmp_path: Path) -> None:
    assert read_reviews(tmp_path / "none.jsonl") == ()


def test_reviews_of_a_task_are_sorted_by_reader(tmp_path: Path) -> None:
    path = write(tmp_path / "r.jsonl", row("B", GOLD), row("A", GOLD, OTHER), row("A", GOLD, task_id="u"))
    reviews = read_reviews(path)
    assert reviews_of(TASK, reviews) == [
        {"reader": "A", "calls": [[GOLD.to_json()], [OTHER.to_json()]]},
        {"reader": "B", "calls": [[GOLD.to_json()]]}]


def test_a_changed_question_loses_its_reviews(tmp_path: Path) -> None:
    reviews = read_reviews(write(tmp_path / "r.jsonl", row("A", GOLD, question="Wie warm ist es denn in Ulm?")))
    assert reviews_of(TASK, reviews) == []


def test_a_full_hash_is_the_same_as_its_beginning(tmp_path: Path) -> None:
    full = row("A", GOLD) | {"question_sha": question_sha(TASK.question) + "0" * 48}
    assert reviews_of(TASK, read_reviews(write(tmp_path / "r.jsonl", full)))


def reviews(*answers: tuple[str, list[Call]]) -> list[Review]:
    return [Review("t", question_sha(TASK.question), reader, tuple((call,) for call in calls))
            for reader, calls in answers]


@pytest.mark.parametrize(("answers", "right", "agree", "why"), [
    ([("A", [GOLD]), ("B", [GOLD])], {"A": 1, "B": 1}, 1, "both name the gold"),
    ([("A", [SAME_URL]), ("B", [GOLD])], {"A": 1, "B": 1}, 1, "the same request under another name"),
    ([("A", [OTHER]), ("B", [GOLD])], {"A": 1, "B": 1}, 0, "both right, one by an accept: no common answer"),
    ([("A", [Call("sources")]), ("B", [GOLD])], {"A": 0, "B": 1}, 0, "one wrong"),
    ([("A", [Call("sources"), GOLD]), ("B", [GOLD])], {"A": 1, "B": 1}, 1, "one of several answers is enough"),
])
def test_agreement(answers: list[tuple[str, list[Call]]], right: dict[str, int], agree: int, why: str) -> None:
    found = agreement([TASK, Task("u", "Und in Bonn?", (GOLD,))], reviews(*answers))
    assert {name: counts["right"] for name, counts in found["readers"].items()} == right, why
    assert (found["reviewed"], found["by_several"], found["agree"]) == (1, 1, agree), why


@pytest.mark.parametrize("bad", [{"task_id": "t"}, {"task_id": "t", "question_sha": "x", "reader": "A", "calls": [1]}])
def test_a_broken_line_is_named(tmp_path: Path, bad: dict[str, object]) -> None:
    with pytest.raises(DataError, match=r"r\.jsonl:2: expected"):
        read_reviews(write(tmp_path / "r.jsonl", row("A", GOLD), bad))
