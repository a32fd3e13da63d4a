"""What a program that plays sees, and what it can do: calls, an answer object, or a sentence."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from infranode_eval.chain.tasks import ChainTask
from lm_eval_task.records import Call
from lm_eval_task.tools import Toolset

Move = Sequence[Call] | str


@dataclass(frozen=True, slots=True)
class Situation:
    """Where a play stands. turns: the decoded results of each reply with calls; last: no call is executed any more.

    choose: question -> the one call that it suggests, as retrieval over the tools sees it; () where none can be filled.
    """

    task: ChainTask
    tools: Toolset
    turns: tuple[tuple[Any, ...], ...]
    last: bool
    choose: Callable[[str], Sequence[Call]]

    @property
    def results(self) -> list[Any]:
        """All results in order."""
        return [result for turn in self.turns for result in turn]

    @property
    def expected(self) -> Mapping[str, Any]:
        """The expected answer."""
        return self.task.expectation["answer"]


def answer(value: Any, unit: str | None = None, reason: str | None = None, alternative: str | None = None) -> str:
    """An answer object as text."""
    return json.dumps({"antwort": value, "einheit": unit, "grund": reason, "alternative": alternative, "quelle": None},
                      ensure_ascii=False)


def right_answer(situation: Situation, value: Any) -> str:
    """The answer object for a value; where there is none, the first reason and the first alternative of the task."""
    expected = situation.expected
    if expected["type"] != "none":
        return answer(value, expected.get("unit"))
    alternatives = expected.get("alternatives")
    return answer(None, None, expected["reasons"][0], alternatives[0][0] if alternatives else None)
