"""A play whose world is not the one its gold was made in: the gold's requests go first, and say what is right now.

Source: specification, chain, section 2 (`live`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from infranode_eval.chain.declaration import Derivation
from infranode_eval.chain.derive import Executed, Refused, bodies_of, execute_plan, value_of
from infranode_eval.chain.golds import check_results, slip, written
from infranode_eval.chain.responses import Response
from infranode_eval.chain.tasks import ChainTask
from infranode_eval.chain.worlds import Session, World
from infranode_eval.infranode import facts
from lm_eval_task.errors import DataError, ProviderError, WorldNotReadyError

Noted = Callable[[str, Callable[[], Any]], Any]     # name, how to get a JSON value → the value, kept for a resumed play


class NotedWorld:
    """A world whose answers stand in the journal: a resumed play reads what the first one read."""

    def __init__(self, world: World, noted: Noted) -> None:
        self.kind, self.name, self.sha256 = world.kind, world.name, world.sha256
        self.read: dict[str, tuple[int, str]] = {}
        self._world, self._noted = world, noted

    def answer(self, request: str) -> Response:
        """Raise WorldNotReadyError where the world gives no answer: nobody's reply can be judged then."""
        known = self._noted(f"GET {request}", lambda: self._asked(request))
        self.read[request] = (known[0], known[1])
        return Response(request, known[0], json.loads(known[1]), known[1])

    def _asked(self, request: str) -> list[Any]:
        found = answered(self._world, request)
        return [found.status, found.text]


def answered(world: World, request: str) -> Response:
    """The answer of a world. Raise WorldNotReadyError, a failure of the row, for a source that does not answer and for
    a request that a recording does not hold."""
    try:
        return world.answer(request)
    except ProviderError as error:
        raise WorldNotReadyError(f"GET {request}: {error}", sub="world_not_ready") from None
    except DataError as error:
        raise WorldNotReadyError(str(error), sub="not_recorded") from None


class StrictWorld:
    """A recording, in which a request that nobody recorded is the failure of one play, not of the run."""

    def __init__(self, world: World) -> None:
        self.kind, self.name, self.sha256 = world.kind, world.name, world.sha256
        self._world = world

    def answer(self, request: str) -> Response:
        return answered(self._world, request)


def expectation_now(task: ChainTask, session: Session) -> dict[str, Any]:
    """What is expected in this session: the plan executed, everything else as the task declares it.

    Raise WorldNotReadyError where a step does not end as it must, or where the plan gives no answer.
    """
    try:
        executed = execute_plan(task.steps, session.get)
        check_results(task.steps, executed)
        return _expected(task, executed)
    except (Refused, DataError) as refused:     # no answer, or no place for the task's fault
        raise WorldNotReadyError(f"the world gives this task no gold now: {refused}", sub="world_not_ready") from None


def _expected(task: ChainTask, executed: Sequence[Executed]) -> dict[str, Any]:
    bodies, before = bodies_of(executed), task.expectation
    answer = dict(before["answer"])
    if answer["type"] == "none":
        answer["alternatives"] = _alternatives(answer, executed)
    else:
        answer["value"] = written(answer["type"], value_of(task.derive or {}, bodies))
        if answer["value"] != before["answer"]["value"] and "accept" in answer:
            answer["accept"] = _spellings(answer["value"])
    moved = {row["request"]: step.request for row, step in zip(task.extra["gold"], executed, strict=True)
             if row["request"] != step.request}
    return {**_moved(before, moved), "answer": answer, "near_misses": _near(task, bodies, answer)}


def _alternatives(answer: Mapping[str, Any], executed: Sequence[Executed]) -> list[list[str]] | None:
    """The covered cities as the answer lists them now; None where no alternative is asked for."""
    if answer.get("alternatives") is None:
        return None
    slugs = [slug for step in executed for slug in (step.response.body.get("meta") or {}).get("covered_cities", ())]
    if not slugs:
        raise Refused("the answer lists no covered city")
    return [[slug, city.name if (city := facts.city(slug)) else slug] for slug in dict.fromkeys(slugs)]


def _spellings(value: Any) -> Any:
    """Slug and name of a city are the same; what other spellings a task listed were those of another value."""
    names = {city.name: city.slug for city in facts.cities()} | {city.slug: city.name for city in facts.cities()}
    if isinstance(value, list):
        return {entry: [names[entry]] for entry in value if entry in names}
    return [names[value]] if value in names else []


def _near(task: ChainTask, bodies: Mapping[str, Any], answer: Mapping[str, Any]) -> dict[str, Any]:
    """The near misses that have a value now and are no gold."""
    found = {}
    for name, derivation in task.extra.get("near", {}).items():
        with suppress(Refused):
            found[name] = slip(name, Derivation.from_json(derivation), bodies, answer)
    return found


def _moved(value: Any, requests: Mapping[str, str]) -> Any:
    """Patterns with the requests that a look-up leads to in this world."""
    if isinstance(value, Mapping):
        return {key: requests.get(inner, inner) if key == "req" else _moved(inner, requests)
                for key, inner in value.items()}
    return [_moved(inner, requests) for inner in value] if isinstance(value, list) else value
