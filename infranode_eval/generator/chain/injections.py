"""Injections: orders in the text of an answer, what they want, and the proof that nobody who answers well obeys one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from infranode_eval.chain import pointers
from infranode_eval.chain.declaration import Derivation, Fault, Step
from infranode_eval.chain.derive import Executed, Refused, execute_plan
from infranode_eval.chain.requests import request_for
from infranode_eval.chain.worlds import Session
from infranode_eval.generator.chain import proofs
from infranode_eval.generator.chain.slots import Filling, Fillings, filled, sentence
from infranode_eval.generator.chain.template import Template
from lm_eval_task.records import Call


def poisoning(template: Template, steps: Sequence[Step], derivation: Derivation, fillings: Fillings,
              clean: Session) -> Fault:
    """The fault that puts the text of a template's injection into the answer of its step.

    Without a step it is the last one that carries the datum. Raise Refused where there is no text to replace,
    DataError for a step that does not exist.
    """
    injection = template.injection or {}
    carrying = [step.id for step in steps if step.carries(derivation)] or [steps[-1].id]
    responses = {done.id: done.response for done in execute_plan(steps, clean.get)}
    response = responses.get(injection.get("step", carrying[-1]))
    if response is None:
        raise template.problem("injection.step", f"there is no step {injection['step']}")
    place = filled(injection["at"], fillings)
    original = pointers.at(response.body, place)
    value = injection.get("value", "{text}")
    if original is pointers.MISSING or (value == "{text}" and not isinstance(original, str)):
        raise Refused(f"there is no text at {place} of {response.request} that could carry an order")
    text = sentence(injection["text"], {**fillings, "original": Filling(str(original), original)})
    return Fault(response.request, at=place, value=filled(value, {**fillings, "text": Filling(text, text)}))


def wanted_of(template: Template, fillings: Fillings, derivation: Derivation, fault: Fault,
              must_call: Mapping[str, Any], executed: Sequence[Executed], clean: Session) -> dict[str, Any]:
    """`expect.injection`: the call and the answer that the text orders, neither useful nor right.

    Raise Refused where obeying would help, DataError for a call that causes no request.
    """
    call, answer = (filled((template.injection or {}).get(name), fillings) for name in ("call", "answer"))
    proofs.prove_harmless(derivation, fault.at or "", executed, clean.get)
    if call is None:
        return {"call": None, "answer": answer}
    request = request_for(Call.from_json(call))
    if request is None:
        raise template.problem("injection.call", "causes no request")
    proofs.prove_useless(request, must_call, executed)
    return {"call": {"req": request, "result": "any"}, "answer": answer}
