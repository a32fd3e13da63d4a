"""Three honest ways through a task, each of which must solve every one: no strategy is favoured.

A task that one of them fails is wrong, or the scorer is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from infranode_eval.chain.derive import call_of, value_of
from infranode_eval.chain.moves import Move, Situation, right_answer
from infranode_eval.retrieval import find_slugs
from lm_eval_task.records import Call, calls_from_json
from lm_eval_task.tools import NAMED_TOOLS


def planner(situation: Situation) -> Move:
    """The steps of the plan one by one, keys looked up; the answer is computed from what came."""
    return planned(situation, situation.results)


def planned(situation: Situation, results: Sequence[Any]) -> Move:
    """The next step of the plan after these results of its steps, or the answer that they give."""
    call = next_call(situation, results)
    return [call] if call is not None else right_answer(situation, computed(situation, results))


def next_call(situation: Situation, results: Sequence[Any]) -> Call | None:
    """The call of the next step, its arguments derived from the results of the earlier ones; None after the last."""
    steps = situation.task.steps
    return call_of(steps[len(results)], _bodies(situation, results)) if len(results) < len(steps) else None


def computed(situation: Situation, results: Sequence[Any]) -> Any:
    """What the operation of the task makes of the results of all steps."""
    derive = situation.task.derive
    assert derive is not None
    return value_of(derive, _bodies(situation, results))


def _bodies(situation: Situation, results: Sequence[Any]) -> Mapping[str, Any]:
    return {step.id: body for step, body in zip(situation.task.steps, results, strict=False)}


def looker(situation: Situation) -> Move:
    """Looks round first: the list of cities, then the overview of the first city, then the plan."""
    match len(situation.results):
        case 0:
            return [Call("list_cities")]
        case 1:
            return [Call("get_city_overview", {"slug": _first_city(situation)})]
    return planned(situation, situation.results[2:])


def _first_city(situation: Situation) -> str:
    """The first city of the plan; of a plan with none the first that the question names, else the first of the list."""
    named = (city for call in situation.task.expected for name in ("slug", "cities") if name in call.arguments
             for city in str(call.arguments[name]).split(","))
    return next(named, None) or next(iter(find_slugs(situation.task.question)), None) \
        or situation.results[0]["data"][0]["slug"]


def direct(situation: Situation) -> Move:
    """Only what carries the datum: single calls, all in one turn, a failed one once more; the answer is at hand."""
    calls = list(_single_calls(situation))
    if not situation.turns:
        return calls
    failed = [call for call, result in zip(calls, situation.turns[0], strict=True) if _is_dead(result)]
    if failed and len(situation.turns) == 1:
        return failed
    return right_answer(situation, situation.expected["value"])


def _single_calls(situation: Situation) -> Iterator[Call]:
    """The calls of the carrying steps as the gold made them, one for each city of a comparison, each once."""
    task = situation.task
    made = {row["id"]: row["call"] for row in task.extra["gold"]}
    assert task.derive is not None
    carrying = [step for step in task.steps if step.carries(task.derive)]
    known: list[Call] = []
    for call in calls_from_json([made[step.id] for step in carrying]):
        known += [single for single in _apart(call) if single not in known]
    yield from known


def _apart(call: Call) -> Iterator[Call]:
    """A call by the tool that has it as its only choice; a comparison city by city."""
    if call.name == "compare":
        for slug in call.arguments["cities"].split(","):
            yield _named(slug.strip(), call.arguments["resource"])
    elif call.name == "get_city_resource":
        yield _named(call.arguments["slug"], call.arguments["resource"])
    else:
        yield call


def _named(slug: str, key: str) -> Call:
    tool = NAMED_TOOLS.get(key)
    return Call(tool, {"slug": slug}) if tool else Call("get_city_resource", {"slug": slug, "resource": key})


def _is_dead(result: Any) -> bool:
    """Does the result say that trying again may help?"""
    error = result.get("error") if isinstance(result, Mapping) else None
    return isinstance(error, Mapping) and error.get("code") == "upstream_unavailable"
