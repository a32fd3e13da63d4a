"""What an endpoint refuses to be told, and what is sent instead: learned from its refusal, once for all threads."""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass
from typing import Any

from lm_eval_task.errors import ProviderError, RefusedRequestError

TEMPERATURE = "temperature"
MAX_COMPLETION_TOKENS = "max_completion_tokens"
PARALLEL = "parallel_tool_calls"
STREAM = "stream"
SEED = "seed"
PARALLEL_LEFT_OUT = "parallel_tool_calls refused: left out"   # how the results file says it


@dataclass(frozen=True, slots=True)
class Rule:
    """named: what a refusal says that this rule answers. deviation: how the results file words it."""

    named: re.Pattern[str]
    deviation: str


RULES = {
    MAX_COMPLETION_TOKENS: Rule(re.compile(r"\bmax_completion_tokens\b"),
                                "max_tokens refused: sent as max_completion_tokens"),
    PARALLEL: Rule(re.compile(r"\b(?:disable_parallel_tool_use|parallel_tool_calls?)\b"),
                   PARALLEL_LEFT_OUT),
    TEMPERATURE: Rule(re.compile(r"\btemperature\b", re.IGNORECASE), "temperature refused: sent without"),
    SEED: Rule(re.compile(r"\bseed\b"), "seed refused: sent without"),
    STREAM: Rule(re.compile(r"(?:only|must|enable|require|needs?)\b.{0,40}\bstream|\bstream\w*\W.{0,30}\b(?:only|must|"
                            r"required|true)\b", re.IGNORECASE), "answers without streaming refused: streamed"),
}
_NAMED_BY_ITSELF = (TEMPERATURE, SEED, PARALLEL, "disable_parallel_tool_use")


class Adaptation:
    """What one endpoint has refused so far; shared by all threads."""

    def __init__(self, possible: frozenset[str]) -> None:
        self._possible = possible
        self._learned: frozenset[str] = frozenset()
        self._lock = threading.Lock()

    @property
    def learned(self) -> frozenset[str]:
        return self._learned

    def learn(self, refusal: ProviderError, body: Any, sent_with: frozenset[str]) -> bool:
        """Does another way of sending answer this refusal? sent_with: what was learned when the request was sent.

        A refusal of a request that was sent before another thread learned the same counts as learned, too.
        """
        if not isinstance(refusal, RefusedRequestError) or refusal.status not in (400, 422):
            return False
        for name, named_by in _named(body):
            if name in self._possible - sent_with and named_by:
                with self._lock:
                    self._learned |= {name}
                return True
        return False


def _named(body: Any) -> list[tuple[str, bool]]:
    """Each rule with whether the refusal names its parameter; where the endpoint names one itself, that one counts."""
    error = body.get("error", body) if isinstance(body, dict) else body
    parameter = error.get("param") if isinstance(error, dict) else None
    message = error.get("message") if isinstance(error, dict) else None
    text = message if isinstance(message, str) else str(error)[:4000]
    if isinstance(parameter, str) and parameter.split(".")[-1] in _NAMED_BY_ITSELF:
        text = parameter
    return [(name, rule.named.search(text) is not None) for name, rule in RULES.items()]


def deviations(learned: frozenset[str]) -> tuple[str, ...]:
    return tuple(RULES[name].deviation for name in sorted(learned))
