"""The offline world behind the tools: a call in, the text that a tool would hand back to the model out.

Answers come from the embedded snapshot, our model of the API: the same call, the same text, no network.
"""

from __future__ import annotations

import json

from infranode_eval.infranode.routes import PREFIX
from infranode_eval.infranode.snapshot import Responder, Snapshot
from lm_eval_task.records import Call
from lm_eval_task.tools import Toolset, call_problem, request_of

LONGEST = 4000      # characters of a tool's answer; catalogues and overviews are cut there, with a mark


class World:
    """Answers calls of the twelve tools; calls that would send no request are refused with the reason."""

    def __init__(self, tools: Toolset, responder: Responder | None = None, longest: int = LONGEST) -> None:
        self._tools, self._longest = tools, longest
        self._responder = responder or Snapshot()

    def answer(self, call: Call) -> str:
        """The body of the API's answer as JSON text, an error body for what the API refuses."""
        request = None if (problem := call_problem(self._tools, call)) else request_of(call)
        if request is None:
            return json.dumps({"error": {"code": "not_sent", "message": problem or f"{call} causes no request"}},
                              ensure_ascii=False)
        text = self._responder.respond("GET", PREFIX + request).body.decode("utf-8")
        return text if len(text) <= self._longest else f"{text[:self._longest]}… (gekürzt)"


def refused(answer: str) -> bool:
    """Did the world (or the API) refuse the call?"""
    return answer.startswith('{"error"')
