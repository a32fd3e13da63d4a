"""Reviews: what independent readers answered from prompt and tools alone, joined to the questions that they saw."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infranode_eval.shipped import DATA
from lm_eval_task.errors import DataError
from lm_eval_task.records import Call, Task, calls_from_json, canonical_json, read_json_lines
from lm_eval_task.tools import request_of

REVIEWS = DATA / "reviews.jsonl"


@dataclass(frozen=True, slots=True)
class Review:
    """One reader's answer to one question: `answers` are equally right answers, each a tuple of calls."""

    task_id: str
    question_sha: str
    reader: str
    answers: tuple[tuple[Call, ...], ...]

    def to_json(self) -> dict[str, Any]:
        """As it stands in a task row."""
        return {"reader": self.reader, "calls": [[call.to_json() for call in answer] for answer in self.answers]}


def question_sha(question: str) -> str:
    """First 16 hex digits of sha256 over the question in UTF-8: a review of another wording does not count."""
    return hashlib.sha256(question.encode()).hexdigest()[:16]


def read_reviews(path: Path = REVIEWS) -> tuple[Review, ...]:
    """The reviews of a file; none if there is no file. Raise DataError with the line that breaks the format."""
    if not path.exists():
        return ()
    found = []
    for number, row in read_json_lines(path):
        try:
            answers = tuple(calls_from_json(answer) for answer in row["calls"])
            found.append(Review(row["task_id"], row["question_sha"], row["reader"], answers))
        except (KeyError, TypeError, DataError) as error:
            raise DataError(f'expected {{"task_id", "question_sha", "reader", "calls": [[call, …], …]}} ({error})',
                            path, number) from None
    return tuple(found)


def reviews_of(task: Task, reviews: Sequence[Review]) -> list[dict[str, Any]]:
    """The reviews of a task whose question is still the one that was read, by reader."""
    sha = question_sha(task.question)
    fitting = [r for r in reviews if r.task_id == task.task_id and r.question_sha[:16] == sha]
    return [review.to_json() for review in sorted(fitting, key=lambda review: review.reader)]


def agreement(tasks: Sequence[Task], reviews: Sequence[Review]) -> dict[str, Any]:
    """How the readers did on the tasks that were read.

    {"readers": {reader: {"n", "right"}}, "reviewed", "agree"}: right = one of the reader's answers causes the same
    requests as the gold or an accept; agree = tasks of two readers or more on which all name a common answer.
    """
    readers: dict[str, dict[str, int]] = {}
    reviewed = several = agree = 0
    for task in tasks:
        named = {r["reader"]: {_key(calls_from_json(a)) for a in r["calls"]} for r in reviews_of(task, reviews)}
        right = {_key(alternative) for alternative in task.alternatives}
        for reader, answers in named.items():
            row = readers.setdefault(reader, {"n": 0, "right": 0})
            row["n"] += 1
            row["right"] += bool(answers & right)
        reviewed += bool(named)
        if len(named) > 1:
            several += 1
            agree += bool(set.intersection(*named.values()))
    return {"readers": dict(sorted(readers.items())), "reviewed": reviewed, "by_several": several, "agree": agree}


def _key(calls: Sequence[Call]) -> str:
    """Equal for answers that cause the same requests; a call without a request counts by name and arguments."""
    parts: list[Any] = [request_of(call) or canonical_json(call.to_json()) for call in calls]
    return canonical_json(sorted(parts))
