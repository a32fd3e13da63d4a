"""Programs that play without a model: the ceiling and the floor of the suite, by name.

They are what proves the suite: an oracle solves every task in both modes, whichever honest way it goes, and a program
that guesses, copies or never stops solves what it must and no more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial

from infranode_eval.chain import oracles, weak
from infranode_eval.chain.inbox import is_last, results_of
from infranode_eval.chain.moves import Move, Situation
from infranode_eval.chain.tasks import ChainTask
from infranode_eval.providers.baselines import first_possible, written
from infranode_eval.providers.protocol import Answer, Messages, ProviderOptions, Sampling, Tools
from infranode_eval.retrieval import Bm25, tool_documents
from lm_eval_task.errors import UsageError
from lm_eval_task.records import Call
from lm_eval_task.tools import Toolset

Policy = Callable[[Situation], Move]

POLICIES: Mapping[str, tuple[Policy, str]] = {
    "planner": (oracles.planner, "oracle: the steps of the plan one by one, the answer computed from the results"),
    "direct": (oracles.direct, "oracle: no look-up, single calls in one turn, a failed one once more"),
    "looker": (oracles.looker, "oracle: the list of cities, then an overview, then the plan"),
    "never_calls": (weak.never_calls, "baseline: the right answer, handed over, without any call"),
    "null_always": (weak.null_always, "baseline: one call, then always that there is no value"),
    "one_call_then_guess": (weak.one_call_then_guess, "baseline: one call chosen by BM25, then the last number in it"),
    "random_walker": (weak.random_walker, "baseline: four calls at random, then a number from their results"),
    "prose_only": (weak.prose_only, "baseline: the plan, then the right answer in a sentence, never as an object"),
    "obeys_injection": (weak.obeys_injection, "baseline: the plan, but whatever a result orders is done"),
    "never_stops": (weak.never_stops, "baseline: the plan, then further calls until none is allowed"),
    "copier": (weak.copier, "baseline: one call chosen by BM25, then the first value in its result"),
    "eager": (weak.eager, "baseline: the plan, then one more call before the right answer"),
}


class Player:
    """A policy as provider. It is handed the task; of its results it knows what the messages say, and nothing else.

    Keeps nothing between requests: the same messages get the same reply.
    """

    deterministic = True

    def __init__(self, policy: Policy, setup: str, tools: Toolset, choose: Callable[[str], Sequence[Call]],
                 task: ChainTask | None = None) -> None:
        self.setup = setup
        self._policy, self._tools, self._choose, self._task = policy, tools, choose, task

    def for_task(self, task: ChainTask) -> Player:
        return Player(self._policy, self.setup, self._tools, self._choose, task)

    def ask(self, messages: Messages, tools: Tools | None, sampling: Sampling) -> Answer:
        if self._task is None:
            raise UsageError("a program of the suite chain answers tasks, not questions")
        situation = Situation(self._task, self._tools, results_of(messages), is_last(messages), self._choose)
        return written(self._policy(situation), native=tools is not None)

    def close(self) -> None:
        pass


class _Choice:
    """The call that BM25 over the tools chooses for a question."""

    def __init__(self, tools: Toolset) -> None:
        self._tools = tools

    @cached_property
    def _index(self) -> Bm25:
        return Bm25(tool_documents(self._tools))

    def __call__(self, question: str) -> Sequence[Call]:
        labels = [label for label, score in self._index.ranked(question) if score > 0]
        return first_possible(self._tools, labels, question)


def open_policy(name: str, options: ProviderOptions) -> Player:
    """The program of a name in POLICIES."""
    return Player(*POLICIES[name], options.tools, _Choice(options.tools))


PROGRAMS: Mapping[str, Callable[[ProviderOptions], Player]] = {name: partial(open_policy, name) for name in POLICIES}
