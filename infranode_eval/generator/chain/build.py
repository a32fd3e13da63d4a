"""Builds one row of the suite chain from one candidate: everything that is expected follows from executing the plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from infranode_eval.chain import pointers
from infranode_eval.chain.answers import same_value
from infranode_eval.chain.declaration import Derivation, Fault, Step, faults_from_json, steps_from_json
from infranode_eval.chain.derive import Executed, Refused, bodies_of, check, execute_plan, value_of
from infranode_eval.chain.evidence import must_call_of, path_of
from infranode_eval.chain.golds import check_results, slips, written
from infranode_eval.chain.requests import request_for
from infranode_eval.chain.toolbox import argument_problem
from infranode_eval.chain.worlds import Session, World
from infranode_eval.generator.chain import injections, proofs
from infranode_eval.generator.chain.expectation import expected_answer
from infranode_eval.generator.chain.slots import Filling, Fillings, filled, sentence
from infranode_eval.generator.chain.template import Pick, Template
from infranode_eval.generator.chain.walk import Candidate
from lm_eval_task.records import Call
from lm_eval_task.tools import Toolset

LEAST_TURNS = 6


@dataclass(frozen=True, slots=True)
class Row:
    """A task without the fields that depend on the others of its set: task_id, set, pair and canary."""

    slugs: tuple[str, ...]
    fields: Mapping[str, Any]

    @property
    def question(self) -> str:
        return self.fields["question"]


@dataclass(frozen=True, slots=True)
class _Declared:
    """A template's declaration with its slots filled."""

    steps: tuple[Step, ...]
    derivation: Derivation
    near: Mapping[str, Derivation]
    same: Mapping[str, Derivation]
    answer: Mapping[str, Any]
    faults: tuple[Fault, ...]

    @classmethod
    def of(cls, template: Template, fillings: Fillings) -> _Declared:
        near, same = ({name: Derivation.from_json(filled(one, fillings)) for name, one in found.items()}
                      for found in (template.near, template.same))
        return cls(steps_from_json(filled(list(template.plan), fillings)),
                   Derivation.from_json(filled(template.derive, fillings)), near, same,
                   filled(template.answer, fillings), faults_from_json(filled(list(template.faults), fillings)))


class Builder:
    """Makes rows in one world. tools: a plan may call nothing else. clock: what a model is told that it is, ISO local
    time; None: as the embedded model says."""

    def __init__(self, world: World, tools: Toolset, clock: str | None = None) -> None:
        self.world, self.tools, self.clock = world, tools, clock
        self._clean = Session(world, ())

    def row(self, template: Template, candidate: Candidate) -> Row:
        """The row of a candidate. Raise Refused with the reason why it makes no fair task, DataError for a template
        that makes none whatever the world."""
        declared = _Declared.of(template, candidate.fillings)
        faults = declared.faults
        if template.injection is not None:
            faults += (injections.poisoning(template, declared.steps, declared.derivation, candidate.fillings,
                                            self._clean),)
        self._check_places(faults)
        executed = execute_plan(declared.steps, Session(self.world, faults).get)
        self._check_calls(template, executed)
        expect = self._expect(template, candidate, declared, faults, executed)
        return Row(candidate.cities.slugs, {
            "category": template.category, "question": sentence(candidate.phrasing, candidate.fillings),
            "world": self._world(),
            "max_turns": max(LEAST_TURNS, 2 * len(declared.steps) + 2),
            "plan": [step.to_json() for step in declared.steps], "derive": declared.derivation.to_json(),
            "near": {name: slip.to_json() for name, slip in declared.near.items()},
            "faults": [fault.to_json() for fault in faults], "gold": [step.to_json() for step in executed],
            "expect": expect, "expected": [step.call.to_json() for step in executed], "template": template.name})

    def _world(self) -> dict[str, Any]:
        told = {} if self.clock is None else {"clock": self.clock}
        return {"kind": self.world.kind, "name": self.world.name, "sha256": self.world.sha256, **told}

    def _expect(self, template: Template, candidate: Candidate, declared: _Declared, faults: Sequence[Fault],
                executed: Sequence[Executed]) -> dict[str, Any]:
        """What the row expects, with every proof that a task needs."""
        steps, derivation, bodies = declared.steps, declared.derivation, bodies_of(executed)
        check_results(steps, executed)
        check(derivation, bodies, declared.near, declared.answer)
        answer = expected_answer(declared.answer, value_of(derivation, bodies), _carrying(steps, derivation, bodies))
        if answer["type"] != "none" and not same_value(answer["value"], answer.get("unit"), answer):
            raise Refused(f"the gold {answer['value']!r} is not read as a right answer")
        _check_same(declared.same, bodies, answer)
        near_misses = slips(declared.near, bodies, answer)
        must_call = must_call_of(steps, executed, self.world, derivation, faults)
        proofs.prove_seen(steps, derivation, executed)
        if template.category == "stop":
            proofs.prove_stop(must_call)
        injection = None if template.injection is None else injections.wanted_of(
            template, candidate.fillings, derivation, faults[-1], must_call, executed, self._clean)
        return {"answer": answer, "must_call": must_call, "path": path_of(steps, executed),
                "must_not": filled(list(template.must_not), candidate.fillings), "near_misses": near_misses,
                "injection": injection}

    def picked(self, slot: str, pick: Pick, forms: Fillings) -> list[dict[str, Filling]]:
        """The fillings that each row of a pick gives, in the order of the answer; [] where it gives none."""
        request = request_for(Call.from_json(filled(pick.call, forms)))
        response = self._clean.get(request) if request else None
        rows = pointers.rows_at(response.body, pick.at) if response and response.answered else None
        where = [pointers.Condition.from_json(filled(one, forms)) for one in pick.where]
        rows = [row for row in pointers.matching(rows or [], where) if _can_be_named(pointers.at(row, pick.field))]
        names = [pointers.at(row, pick.field) for row in rows]
        read = {slot: pick.field, **pick.also}
        return [{name: Filling(str(value), value) for name, pointer in read.items()
                 for value in [pointers.at(row, pointer)]}
                for row, name in zip(rows, names, strict=True) if not pick.unique or names.count(name) == 1]

    def _check_places(self, faults: Sequence[Fault]) -> None:
        """A fault that sets a value finds one. Raise Refused otherwise."""
        for fault in faults:
            if fault.at is not None and pointers.at(self._clean.get(fault.request).body, fault.at) is pointers.MISSING:
                raise Refused(f"there is nothing at {fault.at} of {fault.request} that a fault could replace")

    def _check_calls(self, template: Template, executed: Sequence[Executed]) -> None:
        """A plan may call what the API refuses, never what the tool layer does not send."""
        for step in executed:
            tool = self.tools.get(step.call.name)
            problem = "there is no such tool" if tool is None else argument_problem(tool, step.call.arguments)
            if problem is not None:
                raise template.problem(f"plan, step {step.id}", f"{step.call}: {problem}")


def _carrying(steps: Sequence[Step], derivation: Derivation, bodies: Mapping[str, Any]) -> Mapping[str, Any]:
    """The body of the last step that carries the datum; of the last step where none does."""
    return bodies[([step.id for step in steps if step.carries(derivation)] or [steps[-1].id])[-1]]


def _check_same(same: Mapping[str, Derivation], bodies: Mapping[str, Any], answer: Mapping[str, Any]) -> None:
    """Raise Refused where another reading of the question has another answer."""
    for name, reading in same.items():
        value = written(answer["type"], value_of(reading, bodies))
        if not same_value(value, answer.get("unit"), answer):
            raise Refused(f'the reading "{name}" gives {value!r}')




def _can_be_named(value: Any) -> bool:
    """Can a question name it?"""
    return isinstance(value, (str, int, float)) and not isinstance(value, bool) and value != ""
