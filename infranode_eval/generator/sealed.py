"""A sealed set: questions of the core's make-up that are in no published file, and the hash that commits to them."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from infranode_eval.generator import output
from infranode_eval.generator.build import Candidate, candidate_of, candidates, partial_keys, servable_keys
from infranode_eval.generator.deal import Dealer, Wanted, answering_cities, shuffled, uncovered_cities
from infranode_eval.generator.splits import phrasing_splits
from infranode_eval.generator.templates import Phrasing, Place, core_rows, core_version, phrasings, places
from infranode_eval.generator.variants import reframed
from lm_eval_task.errors import DataError
from lm_eval_task.records import Task, tasks_fingerprint

PUBLISHED_SEED = 1          # of the shipped file


def sealed_candidates(secret: str, own: Mapping[str, Phrasing] | None = None) -> tuple[Candidate, ...]:
    """As many candidates of each category as the core has, none of them with a published pair of phrasing and cities.

    secret: decides phrasings, cities and openings. own: private phrasings (then the wording is new as well); without
    them public phrasings of the test split, as in the core, get other cities and an opening: all of these can be
    counted through from the public files, so a test that nobody could have trained on needs phrasings of one's own.
    Raise DataError where the phrasings do not suffice.
    """
    source = dict(own) if own else {name: p for name, p in phrasings().items() if phrasing_splits()[name] == "test"}
    dealer = Dealer(_number(secret))
    for candidate in candidates(PUBLISHED_SEED):
        dealer.take(candidate.phrasing, candidate.slugs)
    taken = {candidate.task.question for candidate in candidates(PUBLISHED_SEED)}
    seed = _number(f"{secret}|order")
    wanted = Counter(str(row["category"]) for row in core_rows())
    found = [one for category, count in sorted(wanted.items())
             for one in _of_category(category, count, source, seed, dealer, taken)]
    named = [candidate.with_id(f"sealed-{number:03d}-{candidate.task.category}")
             for number, candidate in enumerate(found, 1)]
    return tuple(replace(one, task=_private(one.task, None if own else secret)) for one in named)


def _number(text: str) -> int:
    return int(hashlib.sha256(text.encode()).hexdigest(), 16)


def _private(task: Task, secret: str | None) -> Task:
    """Without a set, so that it runs as a file of its own; behind an opening where only the cities are new."""
    question = reframed(task.question, (), f"{secret}|{task.task_id}") if secret else task.question
    return replace(task, set=None, question=question or task.question)


def _of_category(category: str, count: int, source: Mapping[str, Phrasing], seed: int, dealer: Dealer,
                 taken: set[str]) -> list[Candidate]:
    made = list(_two_steps(source, seed, taken)) if category == "two_step" \
        else _dealt(category, source, seed, dealer, count)
    if len(made) < count:
        raise DataError(f"a sealed set needs {count} tasks of {category}, the phrasings give {len(made)}; add more")
    return made[:count]


def _dealt(category: str, source: Mapping[str, Phrasing], seed: int, dealer: Dealer, count: int) -> list[Candidate]:
    """One task of each answer in turn, so that keys, types and tools vary as in the core."""
    kind, cities = ("resource_key", uncovered_cities) if category == "not_covered" else (category, answering_cities)
    by_answer: dict[str, list[Phrasing]] = {}
    for name in shuffled(source, seed, category):
        phrasing = source[name]
        if phrasing.category == kind and (kind != "resource_key" or phrasing.key in _keys(category)):
            by_answer.setdefault(phrasing.answer, []).append(phrasing)
    made: list[Candidate] = []
    for phrasing in [*_in_turn(by_answer)] * count:            # a phrasing again only where all others were used
        if len(made) == count:
            break
        free = dealer.free(phrasing, cities(phrasing))
        if free:
            made.append(candidate_of("core", category, phrasing, dealer.deal(Wanted(category, phrasing, free))))
    return made


def _keys(category: str) -> Sequence[str]:
    return partial_keys() if category == "not_covered" else servable_keys()


def _in_turn(groups: Mapping[str, Sequence[Phrasing]]) -> Iterator[Phrasing]:
    """The first of each group, then the second of each, …"""
    for turn in range(max(map(len, groups.values()), default=0)):
        yield from (group[turn] for group in groups.values() if turn < len(group))


def _two_steps(source: Mapping[str, Phrasing], seed: int, taken: set[str]) -> Iterator[Candidate]:
    """A station in a question that nobody has asked about it in public."""
    worded = [source[name] for name in shuffled(source, seed, "two_step") if re.fullmatch(r"two-step-\d+", name)
              or source[name].board is not None]
    stations: dict[str, Place] = {place.name: place for place in places("two_step")}
    for number, name in enumerate(shuffled(stations, seed, "stations")):
        place = stations[name]
        for phrasing in worded[number % max(1, len(worded)):] + worded[:number % max(1, len(worded))]:
            made = candidate_of("core", "two_step", phrasing, (place.slug,), place)
            if made.task.question not in taken:
                yield made
                break


def write(path: Path, tasks: Sequence[Task], secret: str, source: Mapping[str, Any]) -> dict[str, Any]:
    """Write the private file and its private meta file; return what may be published: no word of a question.

    sha256: of the file's bytes. tasks: the hash that every result over the file carries in hashes.tasks.
    Raise UsageError where the folder cannot be written.
    """
    public = {"sealed": path.name, "tasks": tasks_fingerprint(tasks), "n": len(tasks),
              "categories": dict(sorted(Counter(task.category for task in tasks).items())), "beside": core_version()}
    output.write(path, tasks, {"version": f"sealed beside {core_version()}", "secret": secret, "source": dict(source),
                               "public": public})
    return {**public, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
