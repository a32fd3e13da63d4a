"""Difficulty: where the words of a question lead, without a model."""

from __future__ import annotations

import pytest

from infranode_eval.generator.difficulty import BUCKETS, Difficulty, Meter
from lm_eval_task.records import Call, Task
from lm_eval_task.tools import read_tools

METER = Meter(read_tools())


def resource(question: str, key: str, *accept: str) -> Task:
    calls = [(Call("get_city_resource", {"slug": "bonn", "resource": name}),) for name in (key, *accept)]
    return Task("t", question, calls[0], tuple(calls[1:]), "resource_key")


@pytest.mark.parametrize(("question", "key", "bucket", "why"), [
    ("Wie hoch sind die Pegelstände?", "water-level", "easy", "the word stands in the text of the key alone"),
    ("Xyz in Bonn?", "parcel-lockers", "medium", "no word helps, and no text is like the gold's"),
    ("Xyz in Bonn?", "post-offices", "hard", "no word helps, and several texts are like the gold's"),
    ("Welche Trinkbrunnen gibt es?", "parcel-lockers", "hard", "the words lead to drinking-water"),
    ("Gibt es in Bonn Packstationen?", "parcel-lockers", "medium", "a word of ours, but none of the tool's"),
])
def test_bucket(question: str, key: str, bucket: str, why: str) -> None:
    assert METER.difficulty(resource(question, key)).bucket == bucket


def test_an_accepted_answer_counts_as_the_gold() -> None:
    question = "Welche Trinkbrunnen gibt es?"
    assert METER.difficulty(resource(question, "parcel-lockers")).margin == -1.0
    assert METER.difficulty(resource(question, "parcel-lockers", "drinking-water")).margin == 1.0


def test_a_key_with_a_tool_of_its_own_is_no_rival_of_that_tool() -> None:
    weather = Task("t", "Wetter?", (Call("weather", {"slug": "bonn"}),))
    assert METER.difficulty(weather).margin == METER.difficulty(resource("Wetter?", "weather")).margin


def test_a_task_without_a_gold_has_no_difficulty() -> None:
    assert METER.difficulty(Task("t", "Reserviere mir einen Tisch.", (), expect="refuse")) is None


@pytest.mark.parametrize(("margin", "neighbours", "bucket"), [
    (0.01, 9, "easy"), (0.0, 1, "medium"), (0.0, 2, "hard"), (-0.01, 0, "hard")])
def test_bounds_of_the_buckets(margin: float, neighbours: int, bucket: str) -> None:
    assert Difficulty(margin, neighbours).bucket == bucket
    assert bucket in BUCKETS


def test_as_it_stands_in_the_meta_file() -> None:
    assert Difficulty(-0.5, 2).to_json() == {"margin": -0.5, "neighbours": 2, "bucket": "hard"}
