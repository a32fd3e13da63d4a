"""Coherence: what one field of a template says about another, and about its category."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from infranode_eval.chain.declaration import Derivation, check_steps, faults_from_json, steps_from_json
from infranode_eval.generator.chain.fields import INJECTED
from infranode_eval.generator.chain.slots import CITY_SLOTS, SPOKEN, Filling, base_of, filled, slots_of
from infranode_eval.generator.chain.template import Cities, Template, twin_of
from lm_eval_task.errors import DataError


def check(template: Template) -> None:
    """Raise DataError with file, template and field for slots, steps and rules of the category that do not fit."""
    _check_slots(template)
    _check_declaration(template)
    _check_category(template)


def _check_slots(template: Template) -> None:
    """Every slot has a filling, and what decides about the answer stands in every wording."""
    known = _known_slots(template)
    parts = {"plan": template.plan, "derive": template.derive, "near": template.near, "same": template.same,
             "faults": template.faults, "must_not": template.must_not, "answer": template.answer,
             "injection": template.injection}
    parts |= {f"pick.{name}": (pick.call, pick.where) for name, pick in template.picks.items()}
    parts |= {f"phrasings[{number}]": text for number, text in enumerate(template.phrasings)}
    if template.control is not None:
        control = template.control
        parts["control"] = (control.plan, control.derive, control.near, control.same, control.answer)
    for field, value in parts.items():
        unknown = sorted(slots_of(value) - known - (INJECTED if field == "injection" else set()))
        if unknown:
            raise template.problem(field, f"nothing fills {{{unknown[0]}}}; known are {', '.join(sorted(known))}")
    deciding = slots_of((template.plan, template.derive)) & set(template.vary)
    for number, text in enumerate(template.phrasings):
        _check_wording(template, f"phrasings[{number}]", text, deciding)


def _check_wording(template: Template, field: str, text: str, deciding: frozenset[str]) -> None:
    asked = slots_of(text)
    missing = sorted(deciding - asked)
    if missing:
        raise template.problem(field, f"lacks {{{missing[0]}}}, which decides about the answer")
    if any(base_of(slot) == "slug" for slot in asked):
        raise template.problem(field, "names a slug; a question names the city: {city}, {in_city}, {gen} or {adj}")
    if len(template.cities) > 1 and not asked & {*template.cities[0].fillings, *template.picks}:
        for number in _numbers(template.cities):
            if not {f"{form}{number}" for form in SPOKEN} & asked:
                raise template.problem(field, f"names no city {number}".rstrip() + ", but cities differ")


def _check_declaration(template: Template) -> None:
    """Plan, derivations and faults as they are read after filling: every operation, step and pointer is known."""
    _check_answering(template, "")
    with _located(template, "faults"):
        faults_from_json(_example(template, list(template.faults)))
    if template.control is not None:
        _check_answering(twin_of(template, template.control), "control.")


def _check_answering(template: Template, prefix: str) -> None:
    with _located(template, f"{prefix}plan"):
        known = {step.id for step in steps_from_json(_example(template, list(template.plan)))}
    derivations = {f"{prefix}derive": template.derive,
                   **{f"{prefix}near.{name}": slip for name, slip in template.near.items()},
                   **{f"{prefix}same.{name}": reading for name, reading in template.same.items()}}
    for field, value in derivations.items():
        with _located(template, field):
            check_steps(Derivation.from_json(_example(template, value)).steps(), known, "it")


@contextmanager
def _located(template: Template, field: str) -> Iterator[None]:
    """Says which field of which template a DataError is about."""
    try:
        yield
    except DataError as error:
        raise template.problem(field, str(error)) from None


def _example(template: Template, value: Any) -> Any:
    """The value with some filling for each slot."""
    fillings = {slot: Filling("x", "x") for slot in _known_slots(template)}
    varied = {slot: choices[0] for slot, choices in template.vary.items()}
    return filled(value, {**fillings, **template.cities[0].fillings, **varied})


def _check_category(template: Template) -> None:
    if (template.injection is not None) != (template.category == "injection"):
        raise template.problem("injection", "belongs to every template of the category injection, and to no other")
    if template.category == "degraded" and not template.faults:
        raise template.problem("faults", "a degraded task needs a fault")
    if template.category == "stop" and {"after_evidence": True} not in list(template.must_not):
        raise template.problem("must_not", 'a stop task forbids calls after the evidence: [{"after_evidence": true}]')
    if (template.answer["type"] == "none") != (template.derive.get("op") == "none"):
        raise template.problem("answer.type", 'is "none" exactly where the operation of derive is')
    if template.category == "not_covered" and template.answer["type"] != "none":
        raise template.problem("answer.type", 'must be "none" in the category not_covered')


def _known_slots(template: Template) -> frozenset[str]:
    cities = {f"{slot}{number}" for slot in CITY_SLOTS for number in _numbers(template.cities)}
    also = {slot for pick in template.picks.values() for slot in pick.also}
    return frozenset((*cities, *template.cities[0].fillings, *template.vary, *template.picks, *also))


def _numbers(cities: Sequence[Cities]) -> tuple[str, ...]:
    """("",) for one city a task, ("1", "2", …) for several, () for none."""
    count = len(cities[0].slugs)
    return () if count == 0 else ("",) if count == 1 else tuple(str(number + 1) for number in range(count))
