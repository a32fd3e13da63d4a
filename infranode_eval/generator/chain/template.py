"""A template of the suite chain: German wordings with slots beside the plan and the derivation that answer them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from infranode_eval.generator.chain.slots import Filling
from lm_eval_task.errors import DataError

COVERED_CITIES = "covered_cities"       # the alternatives of an answer: those that the answer itself lists
WITHOUT_FAULTS = "without_faults"       # the twin of a task: the same request of a source that delivers


@dataclass(frozen=True, slots=True)
class Cities:
    """The city or cities of a task, with slots that belong to them (a station of that city)."""

    slugs: tuple[str, ...] = ()
    fillings: Mapping[str, Filling] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class Pick:
    """A slot whose candidate values come from the world: `field` of the rows at `at` of the answer to `call`.

    unique: only values that one row alone has. also: further slots of the same row, {slot: pointer}.
    """

    call: Mapping[str, Any]
    at: str
    where: Sequence[Any]
    field: str
    unique: bool
    also: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Control:
    """How the twin of a task is made; None: as the task has it. Its wording is always the task's, its faults none."""

    cities: tuple[Cities, ...] | None = None
    plan: Sequence[Mapping[str, Any]] | None = None
    derive: Mapping[str, Any] | None = None
    near: Mapping[str, Any] | None = None
    same: Mapping[str, Any] | None = None
    answer: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Template:
    """One kind of task. cities: candidates; one without slugs where the question names no registry city.

    plan, derive, near, answer, faults, injection, must_not: JSON with slots (the shapes of a task row, see
    chain.declaration). same: other readings of the question that have to give the gold. tasks: how many rows it yields.
    """

    name: str
    category: str
    path: Path
    phrasings: tuple[str, ...]
    cities: tuple[Cities, ...]
    vary: Mapping[str, tuple[Filling, ...]]
    picks: Mapping[str, Pick]
    tasks: int
    plan: Sequence[Mapping[str, Any]]
    derive: Mapping[str, Any]
    near: Mapping[str, Any]
    same: Mapping[str, Any]
    answer: Mapping[str, Any]
    faults: Sequence[Mapping[str, Any]]
    injection: Mapping[str, Any] | None
    must_not: Sequence[Mapping[str, Any]]
    control: Control | None

    def problem(self, field: str, text: str) -> DataError:
        """A fault of this template, for people."""
        return problem(self.path, self.name, field, text)


def twin_of(template: Template, control: Control) -> Template:
    """The template of the twins of a template's tasks: the same wordings, other parts where the control has them.

    There is no fault and no injection. Steps that only the fault makes necessary are gone: those that fail, unless the
    twin's derivation reads them.
    """
    derive = control.derive or template.derive
    near, same = ((own if own is not None else {} if control.derive else of_task)
                  for own, of_task in ((control.near, template.near), (control.same, template.same)))
    plan = control.plan or [_answering(step) for step in template.plan if _is_needed(step, derive)]
    return replace(template, cities=control.cities or template.cities, plan=plan, derive=derive, near=near, same=same,
                   answer=control.answer or template.answer, faults=(), injection=None, control=None)


def _is_needed(step: Mapping[str, Any], derive: Mapping[str, Any]) -> bool:
    return step.get("result", "answered") == "answered" or step.get("id") in _steps_of(derive)


def _answering(step: Mapping[str, Any]) -> Mapping[str, Any]:
    """The step as one that is answered."""
    return {name: value for name, value in step.items() if name not in ("result", "carry")}


def _steps_of(derive: Any) -> Iterator[str]:
    if isinstance(derive, Mapping):
        named = derive.get("from", [])
        yield from [named] if isinstance(named, str) else named
        for inner in derive.values():
            yield from _steps_of(inner)


def problem(path: Path, name: str, field: str, text: str) -> DataError:
    """A fault of a template, with file, template and field."""
    return DataError(f"template {name}: {field}: {text}", path)
