"""The draw: as many rows of each template as it promises, with the reason of every candidate that was passed over."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from infranode_eval.chain.derive import Refused
from infranode_eval.generator.chain.build import Builder, Row
from infranode_eval.generator.chain.slots import german_number
from infranode_eval.generator.chain.template import Template, twin_of
from infranode_eval.generator.chain.walk import Candidate, candidates
from infranode_eval.generator.templates import city_forms
from infranode_eval.shipped import read_shipped

_FIELDS = ("task_id", "set", "category", "question", "world", "max_turns", "plan", "derive", "near", "faults", "pair",
           "gold", "expect", "expected", "template", "canary")
_LETTERS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})


@dataclass(frozen=True, slots=True)
class Refusal:
    """A candidate that makes no fair task in this world."""

    template: str
    candidate: str
    reason: str


@dataclass(frozen=True, slots=True)
class Drawn:
    """Rows in file order; redrawn: why earlier candidates of a task were passed over, by its id; short: templates
    that ran out of candidates, with the number of tasks that are missing and a reason that says more."""

    rows: tuple[Mapping[str, Any], ...]
    redrawn: Mapping[str, Sequence[Refusal]]
    refusals: Sequence[Refusal]
    short: Mapping[str, str]

    def joined(self, other: Drawn) -> Drawn:
        """Both, in file order."""
        rows = sorted((*self.rows, *other.rows), key=lambda row: row["task_id"])
        return Drawn(tuple(rows), {**self.redrawn, **other.redrawn}, (*self.refusals, *other.refusals),
                     {**self.short, **other.short})


def draw(templates: Iterable[Template], builder: Builder, set_name: str = "core", mark: str = "") -> Drawn:
    """The rows of the templates in the builder's world, sorted by task_id.

    set_name "core" brings the twins (set "control") along, any other set has none. mark: goes behind every id.
    """
    hand = _Hand(builder, set_name, mark)
    for template in templates:
        hand.draw(template)
    rows = sorted(hand.rows, key=lambda row: row["task_id"])
    return Drawn(tuple(rows), hand.redrawn, tuple(hand.refusals), hand.short)


@dataclass
class _Hand:
    """What was drawn so far."""

    builder: Builder
    set_name: str
    mark: str
    rows: list[Mapping[str, Any]] = field(default_factory=list)
    redrawn: dict[str, Sequence[Refusal]] = field(default_factory=dict)
    refusals: list[Refusal] = field(default_factory=list)
    short: dict[str, str] = field(default_factory=dict)
    ids: set[str] = field(default_factory=set)
    questions: dict[str, str] = field(default_factory=dict)

    def draw(self, template: Template) -> None:
        used: set[str] = set()
        for number in range(template.tasks):
            refused: list[Refusal] = []
            if not self._task(template, number, used, refused):
                last = refused[-1].reason if refused else "every candidate is used already"
                self.short[template.name] = f"{number} of {template.tasks} tasks; {len(refused)} candidates were " \
                                            f"refused for the next one, the last because {last}"
                return

    def _task(self, template: Template, number: int, used: set[str], refused: list[Refusal]) -> bool:
        """Take the first candidate that holds, together with its twin where it has one."""
        for candidate in candidates(template, number, self.builder.picked):
            if candidate.named in used:
                continue
            used.add(candidate.named)
            try:
                row = self._row(template, candidate)
                twin = self._twin(template, number, candidate, row)
            except Refused as error:
                refused.append(Refusal(template.name, candidate.named, error.reason))
                self.refusals.append(refused[-1])
                continue
            self._take(row, twin, candidate, refused)
            return True
        return False

    def _row(self, template: Template, candidate: Candidate) -> Row:
        row = self.builder.row(template, candidate)
        self._check_question(row)
        return row

    def _check_question(self, row: Row) -> None:
        if row.question in self.questions:
            raise Refused(f"the same question stands in {self.questions[row.question]}")
        told = told_gold(row.question, row.fields["expect"]["answer"])
        if told is not None:
            raise Refused(f"the question holds the gold {told}")

    def _twin(self, template: Template, number: int, candidate: Candidate, row: Row) -> tuple[Row, Candidate] | None:
        """The twin of a core task: the first of its candidates that holds."""
        if template.control is None or self.set_name != "core":
            return None
        reason = "it has no candidate"
        other = replace(twin_of(template, template.control), phrasings=(candidate.phrasing,), picks={}, tasks=1,
                        vary={slot: (candidate.fillings[slot],) for slot in candidate.chosen})
        if template.control.cities is None:
            other = replace(other, cities=(candidate.cities,))
        for one in candidates(other, number, self.builder.picked):
            try:
                found = self.builder.row(other, one)
                if found.question != row.question:
                    self._check_question(found)
                return found, one
            except Refused as error:
                reason = f"{one.named}: {error.reason}"
        raise Refused(f"no twin holds; {reason}")

    def _take(self, row: Row, twin: tuple[Row, Candidate] | None, candidate: Candidate,
              refused: Sequence[Refusal]) -> None:
        task_id = self._id(row, candidate, self.mark)
        twin_id = None if twin is None else self._id(twin[0], twin[1], "-control")
        self._add(row, task_id, self.set_name, twin_id)
        if twin is not None and twin_id is not None:
            self._add(twin[0], twin_id, "control", task_id)
        if refused:
            self.redrawn[task_id] = tuple(refused)

    def _add(self, row: Row, task_id: str, set_name: str, pair: str | None) -> None:
        fields = {**row.fields, "task_id": task_id, "set": set_name, "pair": pair, "canary": canary()}
        self.rows.append({name: fields[name] for name in _FIELDS})
        self.questions.setdefault(row.question, task_id)

    def _id(self, row: Row, candidate: Candidate, mark: str) -> str:
        """category-city-template, numbered where it is taken; without a city what the question names instead."""
        named = row.slugs or [_ascii(str(candidate.fillings[slot].value)) for slot in candidate.chosen[:1]]
        stem = "-".join((row.fields["category"], *named, row.fields["template"]))
        found = _first_free(stem, mark, self.ids)
        self.ids.add(found)
        return found


def _first_free(stem: str, mark: str, taken: set[str]) -> str:
    number, found = 1, stem + mark
    while found in taken:
        number += 1
        found = f"{stem}-{number}{mark}"
    return found


def told_gold(question: str, answer: Mapping[str, Any]) -> str | None:
    """The gold, where the question holds it. Of several cities that a question names, one may be the answer."""
    value = answer["value"]
    if answer["type"] in ("none", "set") or value in _city_names():
        return None
    spelled = {str(value)}
    if answer["type"] == "number":
        spelled |= {str(value).replace(".", ","), german_number(value), f"{value:g}", f"{value:g}".replace(".", ",")}
    return next((text for text in sorted(spelled)
                 if re.search(rf"(?<![\w.,]){re.escape(text)}(?!\w|[.,]\d)", question)), None)


@cache
def _city_names() -> frozenset[str]:
    return frozenset(city_forms()) | {forms.name for forms in city_forms().values()}


def canary() -> str:
    """The string that says who trained on the test; its own, so that it can be told from the main suite's."""
    return read_shipped("chain/canary.json")["canary"]


def _ascii(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower().translate(_LETTERS)).strip("-")


