"""Moves of a manager as a user writes them down: golden/play.json, for scenarios without a script in Python."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from infranode_eval.team.finding import fault, read_json
from infranode_eval.team.manner import WAIT, Desk, RoundScript, Script
from infranode_eval.team.scenario import Scenario
from lm_eval_task.errors import DataError
from lm_eval_task.records import Call, calls_from_json

FILE = "play.json"


def read_moves(scenario: Scenario) -> tuple[RoundScript, ...] | None:
    """One script a round of the scenario; None where there is no such file.

    The file: [{"round": id, "answers": [{"calls": [{"name", "arguments"}, …]} | {"text": "…"}, …]}, …]. An answer with
    a text waits where something runs in the background, else it ends the round. Raise DataError, naming place, found
    and expected, for another form.
    """
    path = scenario.folder / "golden" / FILE
    if not path.exists():
        return None
    file = scenario.name_of(path)
    value = read_json(path, file)
    ids = [round_.id for round_ in scenario.rounds]
    if not isinstance(value, list) or [row.get("round") if isinstance(row, dict) else None for row in value] != ids:
        raise fault(file, "", value, f"a list with one object a round, in this order: {', '.join(ids)}").failure()
    return tuple(partial(_script, tuple(_answers(row, file, place))) for place, row in enumerate(value))


def _answers(row: dict[str, Any], file: str, place: int) -> list[tuple[Call, ...] | None]:
    answers = row.get("answers")
    if not isinstance(answers, list):
        raise fault(file, f"[{place}].answers", answers, "a list of answers").failure()
    return [_answer(answer, file, f"[{place}].answers[{number}]") for number, answer in enumerate(answers)]


def _answer(answer: Any, file: str, key: str) -> tuple[Call, ...] | None:
    if isinstance(answer, dict) and set(answer) == {"text"} and isinstance(answer["text"], str):
        return None
    if not isinstance(answer, dict) or set(answer) != {"calls"} or not answer["calls"]:
        raise fault(file, key, answer, 'an object with "calls" or "text"').failure()
    try:
        return calls_from_json(answer["calls"])
    except DataError as error:
        raise fault(file, f"{key}.calls", str(error), "a list of calls").failure() from None


def _script(answers: Sequence[tuple[Call, ...] | None], desk: Desk) -> Script:
    started = False
    for calls in answers:
        if calls is not None:
            results = yield calls
            started = started or any(text.startswith("task_id: ") for text in results)
        elif started:
            yield WAIT
            started = False
