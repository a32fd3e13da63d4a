"""The conditions under which a question is put without tools, and what is offered in each.

One message holds labels, paragraphs and question; the answer is asked for at once. `anonymised` is the base of all
others. Pure but for the one request. Source: specification, db_routing, requirements 67 to 70.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

from infranode_eval.db_routing.asking import Asking
from infranode_eval.db_routing.course import FINAL, Course, Turn, replying
from infranode_eval.db_routing.loop import drawn_from
from infranode_eval.db_routing.opening import catalogue_of, single_shot
from infranode_eval.db_routing.tasks import RoutingTask
from infranode_eval.db_routing.tools import alias_of, order_of
from lm_eval_task.errors import DataError, UsageError

BASE = "anonymised"
DISTRACTORS = 10


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a catalogue. database: None for a paragraph of the reserve. paragraph: None where none is shown."""

    label: str
    database: str | None
    paragraph: str | None


@dataclass(frozen=True, slots=True)
class Offered:
    """What a question is offered, in order. gold: the label that is right.

    behind: label → database whose paragraph stands under it, where that is not the label's own.
    """

    entries: tuple[Entry, ...]
    gold: str
    behind: Mapping[str, str] | None = None

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(entry.label for entry in self.entries)

    @property
    def databases(self) -> dict[str, str]:
        """label → what it stands for; paragraphs of the reserve get a name of their own."""
        return {entry.label: entry.database or f"reserve:{entry.label}" for entry in self.entries}

    @property
    def catalogue(self) -> str:
        return catalogue_of((entry.label, entry.paragraph) for entry in self.entries)


def _order(task: RoutingTask) -> list[str]:
    """The databases in the order of the question's tools, so that an arm changes one thing only."""
    names = task.panel.aliases
    return [names[alias] for alias in order_of(task.panel.seed, task.task_id, names)]


def anonymised(task: RoutingTask) -> Offered:
    """Aliases and paragraphs: what the loop shows as well."""
    known = task.panel.databases
    return Offered(tuple(Entry(known[name].alias, name, known[name].description) for name in _order(task)), task.alias)


def names(task: RoutingTask) -> Offered:
    """The real names, without a paragraph."""
    return Offered(tuple(Entry(name, name, None) for name in _order(task)), task.database)


def catalogue(task: RoutingTask) -> Offered:
    """The real names with their paragraphs."""
    known = task.panel.databases
    return Offered(tuple(Entry(name, name, known[name].description) for name in _order(task)), task.database)


def permuted(task: RoutingTask) -> Offered:
    """The real names, each with the paragraph of another: whoever goes by the text is wrong by the name."""
    known, order = task.panel.databases, _order(task)
    behind = derangement(order, f"{task.panel.seed}/{task.task_id}/permuted")
    return Offered(tuple(Entry(name, name, known[behind[name]].description) for name in order), task.database, behind)


def derangement(names: Sequence[str], seed: str) -> dict[str, str]:
    """A seeded permutation that leaves nothing in its place. Raise ValueError for fewer than two."""
    if len(names) < 2:
        raise ValueError("fewer than two cannot change places")
    drawing, ordered = random.Random(seed), sorted(names)
    while True:
        drawn = ordered[:]
        drawing.shuffle(drawn)
        if all(a != b for a, b in zip(ordered, drawn, strict=True)):
            return dict(zip(ordered, drawn, strict=True))


def distractors(task: RoutingTask) -> Offered:
    """The right paragraph and ten of the reserve, all under aliases that are dealt for this question."""
    key, panel = f"{task.panel.seed}/{task.task_id}", task.panel
    count = min(DISTRACTORS, len(panel.databases) - 1)
    if len(panel.reserve) < count:
        raise DataError(f"the panel has {len(panel.reserve)} paragraphs in reserve, the arm needs {count}")
    drawn = sorted(panel.reserve, key=lambda text: sha256(f"{key}/{text}".encode()).digest())[:count]
    gold = alias_of(int.from_bytes(sha256(key.encode()).digest(), "big") % (count + 1) + 1)
    labels = [alias_of(number) for number in range(1, count + 2)]
    others = dict(zip([label for label in labels if label != gold], drawn, strict=True))
    known = panel.databases[task.database].description
    return Offered(tuple(Entry(label, task.database, known) if label == gold else Entry(label, None, others[label])
                         for label in order_of(panel.seed, task.task_id, labels)), gold)


CONDITIONS: Mapping[str, Callable[[RoutingTask], Offered]] = {
    BASE: anonymised, "names": names, "catalogue": catalogue, "permuted": permuted, "distractors": distractors,
    "paraphrase": anonymised}


def offered(task: RoutingTask, condition: str) -> Offered:
    """Raise UsageError for a condition that does not exist."""
    return CONDITIONS[checked(condition)](task)


def checked(condition: str) -> str:
    """Raise UsageError for a condition that does not exist."""
    if condition not in CONDITIONS:
        raise UsageError(f"suite db_routing has no arm {condition!r}; expected one of {', '.join(CONDITIONS)}")
    return condition


def question_of(task: RoutingTask, condition: str) -> str:
    """The question, or its paraphrase. Raise DataError where none passes the gates."""
    if condition != "paraphrase":
        return task.question
    if task.paraphrase is None:
        raise DataError(f"task {task.task_id} has no paraphrase")
    return task.paraphrase


def eligible(tasks: Sequence[RoutingTask], condition: str) -> tuple[RoutingTask, ...]:
    """The tasks that a condition can be put to: all, but for paraphrases those that have one."""
    return tuple(task for task in tasks if condition != "paraphrase" or task.paraphrase is not None)


def ask_once(task: RoutingTask, condition: str, asking: Asking) -> Course:
    """The one request. Lets ProviderError through."""
    this = offered(task, condition)
    told = single_shot(this.catalogue, question_of(task, condition), len(this.entries))
    asked = asking.ask(told, None, first=True)
    assert asked.answer is not None, "the first request is answered, or raises"
    return Course((*told, replying(asked.answer.message)), (Turn(FINAL, asked),), this.labels, condition,
                  "single_shot", "single_shot", drawn_from=drawn_from(asked.answer, asking.timed), timed=asking.timed)
