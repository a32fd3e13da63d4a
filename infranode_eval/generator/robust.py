"""The robustness set: core and extended tasks asked again, written otherwise by rule or by hand, with the same gold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from infranode_eval.generator.deal import shuffled
from infranode_eval.generator.splits import cities_of, split_of
from infranode_eval.generator.templates import city_forms, places
from infranode_eval.generator.variants import RULES
from infranode_eval.shipped import DATA
from lm_eval_task.errors import DataError
from lm_eval_task.records import Task, read_json_lines

ORIGINAL = "original"
WRITTEN = ("inflected", "official_name", "regional", "register", "easy", "mixed", "english", "paraphrase")
VARIANTS = (ORIGINAL, *RULES, *WRITTEN)
PER_RULE, OF_CORE = 50, 30                       # tasks that each rule is applied to, and how many of the core at most
WHOLE_CORE = ("reframed", "paraphrase")          # against contamination: every core task
_SEED = 1


@dataclass(frozen=True, slots=True)
class Written:
    """One question written by hand. phrasing: that of the base, so that it can be kept out of training."""

    base: str
    variant: str
    question: str
    phrasing: str


@cache
def written() -> tuple[Written, ...]:
    """The questions of data/robust/*.jsonl. Raise DataError for a broken row or a base that occurs twice."""
    found: dict[tuple[str, str], Written] = {}
    for name in WRITTEN:
        path = DATA / "robust" / f"{name}.jsonl"
        for number, row in read_json_lines(path):
            try:
                one = Written(row["base"], name, row["question"], row["phrasing"])
            except (KeyError, TypeError) as error:
                raise DataError(f'expected {{"base", "phrasing", "question"}} ({error})', path, number) from None
            if (name, one.base) in found:
                raise DataError(f"{one.base} has a {name} variant already", path, number)
            found[name, one.base] = one
    return tuple(found.values())


def robust_tasks(tasks: Sequence[Task]) -> tuple[list[Task], list[tuple[str, str]]]:
    """The rows of the set, and (task_id, reason) of those whose base was not confirmed.

    Each base has a row with its own words, too (variant `original`), so that one run holds both sides of a pair.
    """
    by_id = {task.task_id: task for task in tasks}
    rows: dict[str, Task] = {}
    lost: list[tuple[str, str]] = []
    for one in written():
        name = f"robust-{one.variant}-{one.base}"
        if one.base in by_id:
            rows[name] = _row(by_id[one.base], one.variant, one.question)
        else:
            lost.append((name, "its base was dropped"))
    rows |= {row.task_id: row for row in _by_rule(tasks)}
    for base in dict.fromkeys(str(row.extra["base"]) for row in rows.values()):
        rows[f"robust-{ORIGINAL}-{base}"] = _row(by_id[base], ORIGINAL, by_id[base].question)
    return list(rows.values()), lost


def _by_rule(tasks: Sequence[Task]) -> Iterator[Task]:
    """Each rule on PER_RULE tasks: core tasks in an order of its own, and the same extended test tasks for all rules.

    So the core is spread over the rules, and some tasks meet nearly all of them: consistency needs those.
    """
    by_id = {task.task_id: task for task in tasks}
    core = [task.task_id for task in tasks if task.set == "core"]
    other = shuffled((task.task_id for task in tasks if task.set == "extended" and split_of(task) == "test"),
                     _SEED, "by rule")
    for name in RULES:
        whole = name in WHOLE_CORE
        order = map(by_id.__getitem__, shuffled(core, _SEED, name))
        made = list(_applied(name, order, len(core) if whole else OF_CORE))
        yield from made
        if not whole:
            yield from _applied(name, map(by_id.__getitem__, other), PER_RULE - len(made))


def _applied(name: str, tasks: Iterable[Task], most: int) -> Iterator[Task]:
    """The first `most` tasks to which the rule applies."""
    for task in tasks:
        if not most:
            return
        question = RULES[name](task.question, _kept(task), f"{name}|{task.task_id}")
        if question is not None:
            most -= 1
            yield _row(task, name, question)


def _kept(task: Task) -> list[str]:
    """The names that a typing error would turn into another place: the cities of the task, stations and stops."""
    forms = [city_forms()[slug] for slug in cities_of(task) if slug in city_forms()]
    names = [name for form in forms for name in (form.name, form.genitive, form.adjective) if name]
    return names + [place.name for kind in ("two_step", "board", "stops") for place in places(kind)
                    if place.name in task.question]


def _row(base: Task, variant: str, question: str) -> Task:
    kept: Mapping[str, object] = {k: v for k, v in base.extra.items() if k not in ("pair", "canary")}
    return replace(base, task_id=f"robust-{variant}-{base.task_id}", question=question, set="robust",
                   extra={"variant": variant, "base": base.task_id, **kept})
