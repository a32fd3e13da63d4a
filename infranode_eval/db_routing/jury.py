"""The votes of a jury of models on how confusing a question is, as they stand in an append-only file.

Source: specification, db_routing, 32 and 34a.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from infranode_eval.db_routing.panel import FOLDER, Panel
from infranode_eval.db_routing.textfiles import read_text
from infranode_eval.final_objects import objects_with
from lm_eval_task.errors import DataError
from lm_eval_task.records import fingerprint, read_json_lines
from lm_eval_task.shapes import parts_of
from lm_eval_task.thoughts import split_thoughts

MODELS = 3              # a jury has so many distinct models
KEY = "confusing"
FIXTURE = "fixture"     # the model name of votes that tests have written
VOTES = "jury.jsonl"    # the file of votes, in the folder of a panel
_KEYS = {"task_id": str, "model": str, "raw": str, "prompt_sha256": str, "panel_sha256": str, "time": str}


@dataclass(frozen=True, slots=True)
class Vote:
    """One line of the file. vote: None for a reply that says neither, which is no vote."""

    task_id: str
    model: str
    vote: bool | None
    raw: str
    prompt_sha256: str
    panel_sha256: str
    time: str

    @classmethod
    def from_json(cls, row: Any) -> Vote:
        """Raise DataError, without path and line, for a row that breaks the format."""
        if not isinstance(row, dict):
            raise DataError("a vote is a JSON object")
        wrong = [key for key, kind in _KEYS.items() if not isinstance(row.get(key), kind)]
        if wrong:
            raise DataError(f'"{wrong[0]}" of a vote must be a string, found {row.get(wrong[0])!r}')
        if "vote" not in row or not (row["vote"] is None or isinstance(row["vote"], bool)):
            raise DataError(f'"vote" must be true, false or null, found {row.get("vote")!r}')
        return cls(**{key: row[key] for key in ("task_id", "model", "vote", *list(_KEYS)[2:])})

    def to_json(self) -> dict[str, Any]:
        """The line, keys in the order of the format."""
        return {"task_id": self.task_id, "model": self.model, "vote": self.vote, "raw": self.raw,
                "prompt_sha256": self.prompt_sha256, "panel_sha256": self.panel_sha256, "time": self.time}


def read_votes(path: str | Path) -> tuple[Vote, ...]:
    """The lines of a file in their order; () if there is no such file: nobody has voted yet.

    Raise DataError with file and line for a line that is no vote.
    """
    if not Path(path).exists():
        return ()
    votes = []
    for number, row in read_json_lines(path):
        try:
            votes.append(Vote.from_json(row))
        except DataError as error:
            raise DataError(str(error), path, number) from None
    return tuple(votes)


@cache
def _template() -> str:
    return read_text(FOLDER / "jury.txt").rstrip("\n")


def jury_prompt(catalogue: str, question: str, databases: int) -> list[dict[str, str]]:
    """What a model of the jury is asked. catalogue: of anonymised paragraphs, as `opening.catalogue_of`."""
    text = _template()
    for key, value in (("{n}", str(databases)), ("{catalogue}", catalogue), ("{question}", question)):
        before, _, after = text.partition(key)
        text = f"{before}{value}{after}"
    return [{"role": "user", "content": text}]


def prompt_sha256() -> str:
    """Votes that were given to another prompt are stale."""
    return fingerprint(_template())


def vote_of(message: Mapping[str, Any]) -> bool | None:
    """What a reply votes: the truth value under "confusing" in its object. None: no such object, or two that differ."""
    text = split_thoughts(parts_of(message).text).text.strip()
    said = [found.value[KEY] for found in objects_with(KEY, text)]
    return said[0] if said and all(one is said[0] for one in said) and isinstance(said[0], bool) else None


@dataclass(frozen=True, slots=True)
class Jury:
    """Counted votes. models: the three that count, () unless complete. votes: how many of them call a question
    confusing, by task_id; None unless complete. missing: questions without three votes. stale, unreadable, repeated:
    lines that are no vote: of another prompt or panel, null, or given again after a readable one.
    """

    models: tuple[str, ...]
    votes: Mapping[str, int] | None
    missing: int
    stale: int
    unreadable: int
    repeated: int

    @property
    def complete(self) -> bool:
        """Has every question the votes of three distinct models? Only then do buckets know of a jury."""
        return self.votes is not None


def count_votes(votes: Iterable[Vote], task_ids: Iterable[str], prompt_sha256: str, panel_sha256: str) -> Jury:
    """Count the votes on `task_ids` that were given to this prompt over this panel.

    The first readable vote of a model on a question stands, so that nobody asks until an answer suits. The jury is the
    same for all questions: the first three models, in the order of their first vote, that voted on every one.
    """
    task_ids = tuple(dict.fromkeys(task_ids))
    given: dict[str, dict[str, bool]] = {}
    stale = unreadable = repeated = 0
    for vote in votes:
        if (vote.prompt_sha256, vote.panel_sha256) != (prompt_sha256, panel_sha256):
            stale += 1
        elif vote.vote is None:
            unreadable += 1
        elif vote.task_id in given.setdefault(vote.model, {}):
            repeated += 1
        else:
            given[vote.model][vote.task_id] = vote.vote
    whole = [model for model, said in given.items() if task_ids and all(task in said for task in task_ids)]
    models = tuple(whole[:MODELS]) if len(whole) >= MODELS else ()
    found = {task: sum(given[model][task] for model in models) for task in task_ids} if models else None
    missing = 0 if models else sum(sum(task in said for said in given.values()) < MODELS for task in task_ids)
    return Jury(models, found, missing, stale, unreadable, repeated)


def jury_of(panel: Panel, path: Path) -> Jury:
    """The votes of a file on the questions of a panel. Raise DataError for a line that is no vote."""
    return count_votes(read_votes(path), panel.order, prompt_sha256(), panel.sha256)


def invented(votes: Iterable[Vote]) -> list[Vote]:
    """Votes that a test has written; a release holds none."""
    return [vote for vote in votes if vote.model.startswith(FIXTURE)]
