"""Decisions: for every call whose answer holds what a task asks for, is it right, and by which rule?

A candidate is found by execution (carriers) or named as a neighbour (data/datum.json). One without a decision, a
decision that meets no candidate, and an accept that no decision backs are problems, one line each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from infranode_eval.generator.carriers import matches
from infranode_eval.generator.templates import Phrasing
from infranode_eval.shipped import read_shipped
from lm_eval_task.datum import Carriers, cities_of, datum_of, label_of
from lm_eval_task.errors import DataError
from lm_eval_task.records import Call, Task
from lm_eval_task.tools import NAMED_TOOLS

VERDICTS = ("accept", "accept_missing", "reject")
EACH = "each:"          # one call a city instead of one compare
_ALIASES = {f"get_city_resource/{key}": tool for key, tool in NAMED_TOOLS.items()}
_BY_NUMBER = ("station_board_", "transit_departures")       # an answer for any number says nothing about this one


@dataclass(frozen=True, slots=True)
class Candidate:
    """A call that needs a decision in a task: its label, and the data that it holds for the task."""

    task_id: str
    phrasing: str
    label: str
    datum: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.task_id}: {self.label}: {', '.join(self.datum)}"


@dataclass(frozen=True, slots=True)
class Decision:
    """A verdict on the calls that match `calls`, for tasks whose datum matches one of `datum` or, in an override, for
    those made from a phrasing, or one task by its id (`maker`). rule: a name of the table of rules; reason: one
    sentence."""

    calls: tuple[str, ...]
    verdict: str
    rule: str
    reason: str
    datum: tuple[str, ...] = ()
    maker: str | None = None

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Decision:
        """Raise DataError if a field is missing or the verdict does not exist."""
        try:
            found = cls(_several(row["call"]), row["decision"], row["rule"], row["reason"],
                        _several(row.get("datum", [])), row.get("phrasing") or row.get("task"))
        except KeyError as missing:
            raise DataError(f"datum.json: decision {row} lacks {missing}") from None
        if found.verdict not in VERDICTS:
            raise DataError(f"datum.json: {found}: a decision is one of {', '.join(VERDICTS)}")
        return found

    def fits(self, candidate: Candidate) -> bool:
        if not any(matches(call, candidate.label) for call in self.calls):
            return False
        if self.maker is not None:
            return self.maker in (candidate.phrasing, candidate.task_id)
        return any(matches(pattern, name) for pattern in self.datum for name in candidate.datum)

    def __str__(self) -> str:
        return f"{self.maker or ', '.join(self.datum)}: {', '.join(self.calls)}: {self.verdict}"


def _several(value: str | Sequence[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


@dataclass(frozen=True, slots=True)
class Decisions:
    """Overrides first, then the table in the order of the file: the first decision that fits counts.

    neighbours: (pattern of a datum, labels that are easily taken for its carriers).
    """

    rows: tuple[Decision, ...]
    neighbours: tuple[tuple[str, tuple[str, ...]], ...]

    @classmethod
    def read(cls) -> Decisions:
        """Raise DataError for a broken decision or an unknown rule."""
        value = read_shipped("datum.json")
        rows = tuple(map(Decision.from_json, [*value["overrides"], *value["decisions"]]))
        for row in rows:
            if row.rule not in value["rules"]:
                raise DataError(f"datum.json: {row}: rule {row.rule!r} does not stand in rules")
        return cls(rows, tuple((row["datum"], tuple(row["calls"])) for row in value["neighbours"]["pairs"]))

    def of(self, candidate: Candidate) -> Decision | None:
        return next((row for row in self.rows if row.fits(candidate)), None)

    def neighbours_of(self, names: Sequence[str]) -> Iterator[str]:
        for pattern, labels in self.neighbours:
            if any(matches(pattern, name) for name in names):
                yield from labels


@dataclass(slots=True)
class Check:
    """Judges tasks and phrasings one after the other; `stale` names the decisions that no candidate of theirs met."""

    carriers: Carriers
    decisions: Decisions
    counts: dict[str, int] = field(default_factory=dict)
    _used: set[Decision] = field(default_factory=set)

    def problems(self, task: Task) -> list[str]:
        """One line each: a datum that the gold lacks, an undecided candidate, accepts and decisions that differ."""
        if not task.expected:
            return []       # no call is right, so there is nothing to hold
        if not datum_of(task):
            return [f"{task.task_id}: names no datum"]
        problems = list(_gold_problems(task, self.carriers))
        accepted: set[str] = set()
        for candidate in candidates(task, self.carriers, self.decisions):
            verdict = _settled(task, candidate.label) or self._decided(candidate)
            self.counts[verdict] = self.counts.get(verdict, 0) + 1
            if verdict == "undecided":
                problems.append(f"{candidate}: undecided")
            if verdict == "accept":
                accepted.add(candidate.label)
        return problems + _accept_problems(task, accepted)

    def _decided(self, candidate: Candidate) -> str:
        decision = self.decisions.of(candidate)
        if decision is None:
            return "undecided"
        self._used.add(decision)
        return decision.verdict

    def stale(self) -> list[str]:
        """Decisions without a candidate, in the order of the table."""
        return [f"{row}: stale, nothing has such a candidate" for row in self.decisions.rows if row not in self._used]


def anywhere(phrasing: Phrasing) -> Task:
    """A phrasing as a task without a city, so that every call which answers in some city is a candidate."""
    def placeless(call: Mapping[str, Any]) -> Call:
        return Call(call["name"], {k: v for k, v in call["arguments"].items() if k not in ("slug", "cities")})

    return Task(phrasing.id, phrasing.text, tuple(map(placeless, phrasing.calls)),
                tuple(tuple(map(placeless, alternative)) for alternative in phrasing.accept), phrasing.category,
                extra={"phrasing": phrasing.id, "datum": list(phrasing.datum)})


def candidates(task: Task, carriers: Carriers, decisions: Decisions) -> Iterator[Candidate]:
    """Every call that holds what one of the gold calls is for, every neighbour, and the calls after a look-up."""
    phrasing = str(task.extra.get("phrasing", ""))
    seen: set[str] = set()
    for gold in task.expected:
        wanted = _wanted(task, gold, carriers)
        for label in _labels(task, gold, wanted, carriers, decisions):
            if label not in seen:
                seen.add(label)
                yield Candidate(task.task_id, phrasing, label, wanted)


def _wanted(task: Task, gold: Call, carriers: Carriers) -> tuple[str, ...]:
    """The data of the task that this gold call is for; all of them where it answers for none of its cities."""
    names = datum_of(task)
    return tuple(name for name in names if carriers.hold(name, label_of(gold))) or names


def _labels(task: Task, gold: Call, wanted: Sequence[str], carriers: Carriers, decisions: Decisions) -> Iterator[str]:
    cities = cities_of(gold)
    several = gold.name == "compare"
    yield label_of(gold)
    for label in sorted(set.intersection(*(set(carriers.labels.get(name, ())) for name in wanted))):
        each = several and not label.startswith("compare/") and label != "list_cities"
        if not label.startswith(_BY_NUMBER) and all(carriers.hold(name, label, cities) for name in wanted):
            yield EACH + label if each else label
    for label in decisions.neighbours_of(wanted):
        if all(city in carriers.only.get(label, (city,)) for city in cities):
            yield EACH + label if several else label
    yield from (label_of(Call.from_json(call)) for call in task.extra.get("then", ()))


def _settled(task: Task, label: str) -> str | None:
    """gold, same_request (the second spelling of a tool's own request), or None: to be decided."""
    if label in map(label_of, task.expected):
        return "gold"
    return "same_request" if _ALIASES.get(label.removeprefix(EACH)) else None


def _gold_problems(task: Task, carriers: Carriers) -> Iterator[str]:
    """Every datum stands in the answer of some gold call; where the city is not covered, in none."""
    held = {name for call in task.expected for name in datum_of(task)
            if carriers.hold(name, label_of(call), cities_of(call))}
    if task.category == "not_covered":
        yield from (f"{task.task_id}: the uncovered city's answer holds {name}" for name in sorted(held))
    else:
        yield from (f"{task.task_id}: no gold call holds {name}" for name in datum_of(task) if name not in held)


def _accept_problems(task: Task, accepted: set[str]) -> list[str]:
    """accept in the row ⇔ decision accept."""
    listed = {" + ".join(map(label_of, alternative)) for alternative in task.accept}
    return [*(f"{task.task_id}: {label}: in accept, but no decision accepts it" for label in sorted(listed - accepted)),
            *(f"{task.task_id}: {label}: decided accept, but not in accept" for label in sorted(accepted - listed))]


def problems(tasks: Iterable[Task], found: Iterable[Phrasing], carriers: Carriers) -> tuple[list[str], dict[str, int]]:
    """Every problem of the tasks, of the phrasings (met in any city) and of the table, and how often each verdict
    fell on a candidate of a task."""
    check = Check(carriers, Decisions.read())
    lines = [line for task in tasks for line in check.problems(task)]
    counts = dict(sorted(check.counts.items()))
    lines += [line for phrasing in found for line in check.problems(anywhere(phrasing))]
    return lines + check.stale(), counts
