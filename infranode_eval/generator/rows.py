"""Rows: candidates that a source confirmed, with their proof, in the order of the file; notes beside them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from infranode_eval.generator.build import Candidate
from infranode_eval.generator.difficulty import Meter
from infranode_eval.generator.reviews import Review, reviews_of
from infranode_eval.generator.splits import split_of
from infranode_eval.generator.verify import Source, Verdict, wanted_of
from infranode_eval.shipped import DATA
from lm_eval_task.errors import DataError
from lm_eval_task.records import SETS, Task
from lm_eval_task.tools import Toolset

_FIELDS = ("variant", "base", "then", "phrasing", "pair", "twin", "datum", "accept_unverified", "absent", "why",
           "verified", "retired", "canary")
# Whoever trains on text that holds this string has trained on the test; none stands in a row of the split train.
CANARY = "infranode-tool-eval canary 6f1d1a52-0c1b-4a5e-9b77-3d2f0c84e9a1: do not train on this row"

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Rows:
    """The confirmed tasks in file order, and why each other candidate was dropped: (task_id, reason)."""

    tasks: tuple[Task, ...]
    dropped: tuple[tuple[str, str], ...]
    lost_accepts: tuple[tuple[str, str], ...] = ()

    def joined(self, tasks: Sequence[Task], dropped: Sequence[tuple[str, str]]) -> Rows:
        """These and further tasks, in the order of the file."""
        return Rows(in_file_order((*self.tasks, *tasks)), (*self.dropped, *dropped), self.lost_accepts)


def capped(candidates: Sequence[Candidate], most: int | None) -> tuple[Candidate, ...]:
    """At most `most` tasks of each set and category; the twins of the chosen not_covered tasks come first."""
    if most is None:
        return tuple(candidates)
    counts: dict[tuple[str | None, str], int] = {}
    twins: set[tuple[str | None, int]] = set()
    kept: list[Candidate] = []

    def first(candidate: Candidate) -> int:
        if candidate.task.category == "not_covered":
            return 0
        return 1 if (candidate.task.set, candidate.twin) in twins else 2

    for candidate in candidates:
        group = (candidate.task.set, candidate.task.category)
        if group[1] == "not_covered" and counts.get(group, 0) < most:
            counts[group] = counts.get(group, 0) + 1
            twins.add((candidate.task.set, candidate.twin or 0))
            kept.append(candidate)
    for candidate in sorted(candidates, key=first):
        group = (candidate.task.set, candidate.task.category)
        if group[1] != "not_covered" and counts.get(group, 0) < most:
            counts[group] = counts.get(group, 0) + 1
            kept.append(candidate)
    return tuple(kept)


def in_file_order(tasks: Sequence[Task]) -> tuple[Task, ...]:
    """By set, then by id; the fields of each row in the order of the format, with the canary where it belongs."""
    return tuple(sorted(map(_finished, tasks), key=lambda task: (SETS.index(task.set or "extended"), task.task_id)))


def balanced(candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """As many tasks of each category as the smallest has (of each set), its answers and phrasings in turn."""
    groups: dict[tuple[str | None, str], list[Candidate]] = {}
    for candidate in candidates:
        groups.setdefault((candidate.task.set, candidate.task.category), []).append(candidate)
    order = [candidate for group in groups.values() for candidate in _in_turn(group)]
    least = {name: min(len(g) for (s, _), g in groups.items() if s == name) for name in {s for s, _ in groups}}
    taken: Counter[tuple[str | None, str]] = Counter()
    kept = []
    for candidate in order:
        group = (candidate.task.set, candidate.task.category)
        taken[group] += 1
        if taken[group] <= least[group[0]]:
            kept.append(candidate)
    return tuple(_unpaired(kept))


def _unpaired(candidates: Sequence[Candidate]) -> Iterator[Candidate]:
    """Without the links to twins that were not chosen."""
    names = {candidate.task.task_id for candidate in candidates}
    for candidate in candidates:
        if candidate.task.extra.get("pair", candidate.task.task_id) in names:
            yield candidate
        else:
            extra = {name: value for name, value in candidate.task.extra.items() if name != "pair"}
            yield replace(candidate, task=replace(candidate.task, extra=extra))


def _in_turn(group: Sequence[Candidate]) -> list[Candidate]:
    """One of each answer, then a second of each, …; of an answer one of each phrasing first."""
    seen: Counter[str] = Counter()
    worded: Counter[str] = Counter()
    turns = []
    for place, candidate in enumerate(group):
        worded[candidate.phrasing.id] += 1
        turns.append((worded[candidate.phrasing.id], place, candidate))
    ranked = []
    for again, place, candidate in sorted(turns, key=lambda turn: turn[:2]):
        seen[candidate.phrasing.answer] += 1
        ranked.append((seen[candidate.phrasing.answer], again, place, candidate))
    return [candidate for *_, candidate in sorted(ranked, key=lambda rank: rank[:3])]


def confirmed(candidates: Sequence[Candidate], source: Source, progress: Progress) -> Rows:
    """Ask the source for every candidate and keep those that hold. Raises what Source.prefetch raises."""
    source.prefetch([candidate.task for candidate in candidates], progress)
    kept: dict[str, Task] = {}
    dropped: list[tuple[str, str]] = []
    lost: list[tuple[str, str]] = []
    for candidate in candidates:
        phrasing, task = candidate.phrasing, candidate.task
        verdict = source.check(task, wanted_of(task, phrasing.topic, phrasing.water))
        if verdict.problem is not None:
            dropped.append((task.task_id, verdict.problem))
            continue
        kept[task.task_id] = _with_verdict(task, verdict)
        lost += [(task.task_id, f"accept: {reason}") for reason in verdict.useless.values()]
    dropped += _break_pairs(kept)
    return Rows(in_file_order(tuple(kept.values())), tuple(sorted(dropped)), tuple(sorted(lost)))


def _with_verdict(task: Task, verdict: Verdict) -> Task:
    """The task with its proof; accepts that do not answer are gone, switched-off ones are marked by their new index."""
    places = [index for index in range(len(task.accept)) if index not in verdict.useless]
    extra: dict[str, Any] = dict(task.extra)
    extra["verified"] = verdict.verified[0] if len(verdict.verified) == 1 else list(verdict.verified)
    unverified = [new for new, old in enumerate(places) if old in verdict.unverified]
    if unverified:
        extra["accept_unverified"] = unverified
    return replace(task, accept=tuple(task.accept[index] for index in places), extra=extra)


def _break_pairs(kept: dict[str, Task]) -> list[tuple[str, str]]:
    """A not_covered task without its twin is dropped; a resource_key task just loses the link."""
    dropped = []
    for name, task in list(kept.items()):
        if "pair" not in task.extra or task.extra["pair"] in kept:
            continue
        if task.category == "not_covered":
            del kept[name]
            dropped.append((name, "its twin was dropped"))
        else:
            kept[name] = replace(task, extra={k: v for k, v in task.extra.items() if k != "pair"})
    return dropped


def _finished(task: Task) -> Task:
    extra = dict(task.extra)
    if task.set != "extended" or split_of(task) != "train":
        extra["canary"] = CANARY
    return replace(task, extra={name: extra[name] for name in _FIELDS if name in extra})


def notes_of(tasks: Sequence[Task], tools: Toolset, reviews: Sequence[Review]) -> dict[str, dict[str, Any]]:
    """What is known about each task besides the task: split, difficulty, and what readers answered."""
    meter = Meter(tools)
    notes: dict[str, dict[str, Any]] = {}
    for task in tasks:
        difficulty = meter.difficulty(task)
        split = split_of(task) if task.set in ("core", "extended") else "test"
        review = reviews_of(task, reviews)
        notes[task.task_id] = {**({"split": split} if split else {}),
                               **({"difficulty": difficulty.to_json()} if difficulty else {}),
                               **({"review": review} if review else {})}
    return notes


def check_rows(rows: Sequence[Mapping[str, Any]]) -> None:
    """Raise DataError with the task_id and the place of the first row that breaks task.schema.json."""
    import jsonschema  # late: only writing the file needs it

    schema = json.loads((DATA / "task.schema.json").read_text("utf-8"))
    validator = jsonschema.Draft202012Validator(schema)
    for row in rows:
        error = next(iter(validator.iter_errors(row)), None)
        if error is not None:
            raise DataError(f"task {row.get('task_id')}: {error.json_path}: {error.message}")
