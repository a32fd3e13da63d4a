"""Programs that play without a model: what proves the loop, and the floor under every number.

A policy sees what a model sees; only some look at the gold, and say so.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from infranode_eval.db_routing.embeddings import DEFAULT, EMBEDDINGS, Embedder, SentenceModel, router_by
from infranode_eval.db_routing.lexical import ROUTERS, Router, best
from infranode_eval.db_routing.loop import MOST_CALLS
from infranode_eval.db_routing.naive import drawn
from infranode_eval.db_routing.naive import majority as largest
from infranode_eval.db_routing.opening import asks_for_answer, catalogue_in, one_line, question_in
from infranode_eval.db_routing.tasks import RoutingTask
from infranode_eval.providers.baselines import written
from infranode_eval.providers.protocol import Answer, Messages, ProviderOptions, Sampling, Tools
from lm_eval_task.errors import UsageError
from lm_eval_task.records import Call

DONE = "Mehr brauche ich nicht."


@dataclass(frozen=True, slots=True)
class Situation:
    """Where a play stands. catalogue: label → paragraph (None: none is shown), in the order of the question.

    question: as it is put. replies: how many were given before.
    """

    task: RoutingTask
    question: str
    catalogue: Mapping[str, str | None]
    replies: int
    last: bool

    @property
    def labels(self) -> list[str]:
        return list(self.catalogue)

    def label_of(self, database: str) -> str | None:
        """What a database is called here: its name, else what its paragraph is called; None where it is not offered."""
        if database in self.catalogue:
            return database
        text = one_line(self.task.panel.databases[database].description)
        return next((label for label, paragraph in self.catalogue.items() if paragraph == text), None)

    @property
    def gold(self) -> str:
        label = self.label_of(self.task.database)
        assert label is not None, "the right database is always offered"
        return label


Move = Sequence[Call] | str
Policy = Callable[[Situation], Move]
LIKENESS = "baseline: the paragraph most like the question by {}, without a call"


class Program(NamedTuple):
    """setup: what a result says of it. settings: what it hangs on besides, recorded with those of the run."""

    policy: Policy
    setup: str
    settings: Mapping[str, Any] = {}


def answer(label: str, sql: str | None = None) -> str:
    """An answer object."""
    return json.dumps({"selected_database": label, "sql": sql}, ensure_ascii=False)


def call(label: str, action: str = "get_schema", **arguments: str) -> Call:
    return Call(label, {"action": action, **arguments})


def _right(at: Situation) -> str:
    return answer(at.gold, at.task.gold_sql)


def _stepwise(moves: Sequence[Move], at: Situation, end: str) -> Move:
    if at.last:
        return end
    return moves[at.replies] if at.replies < len(moves) else DONE


def oracle(at: Situation) -> Move:
    """Looks at the right schema, runs gold, declares it."""
    steps = [[call(at.gold)], [call(at.gold, "execute_query", sql=at.task.gold_sql)]]
    return _stepwise(steps, at, _right(at))


def first_probe(at: Situation) -> Move:
    """Probes the first that is offered, and declares it."""
    return _stepwise([[call(at.labels[0])]], at, answer(at.labels[0]))


def switcher(at: Situation) -> Move:
    """Probes a wrong one first, then the right one, which it declares."""
    wrong = next(label for label in at.labels if label != at.gold)
    return _stepwise([[call(wrong)], [call(at.gold)]], at, _right(at))


def narrator(at: Situation) -> Move:
    """Tells what it would do, calls nothing, and names the right one in a sentence."""
    return f"Die Frage gehört zu {at.gold}." if at.last else f"Ich würde zuerst in {at.gold} nachsehen."


def never_stops(at: Situation) -> Move:
    """One probe after the other as long as it is asked; declares the last one."""
    labels = at.labels
    return answer(labels[(at.replies - 1) % len(labels)]) if at.last else [call(labels[at.replies % len(labels)])]


def parallel_prober(at: Situation) -> Move:
    """One call more than is executed, all in one message; declares the right one."""
    calls = [call(at.labels[number % len(at.labels)]) for number in range(MOST_CALLS + 1)]
    return _stepwise([calls], at, _right(at))


def constant(at: Situation) -> Move:
    """Always the label that comes first by name."""
    return answer(min(at.labels)) if at.last else DONE


def chance(at: Situation) -> Move:
    """One label drawn for each question."""
    return answer(drawn(at.labels, at.task.panel.seed, at.task.task_id)) if at.last else DONE


def majority(at: Situation) -> Move:
    """Always the database with most questions; the first label by name where it is not offered."""
    name, _ = largest(row["database"] for row in at.task.panel.questions)
    return answer(at.label_of(name) or min(at.labels)) if at.last else DONE


def routed(router: Router, at: Situation) -> Move:
    """The label whose paragraph looks most like the question; labels stand for themselves where no text is shown."""
    if not at.last:
        return DONE
    texts = {label: paragraph or label for label, paragraph in at.catalogue.items()}
    return answer(best(router(texts)(at.question), at.task.panel.seed, at.task.task_id))


POLICIES: Mapping[str, Program] = {
    "oracle": Program(oracle, "oracle: the right schema, gold, and its declaration; proves the plumbing only"),
    "first_probe": Program(first_probe, "baseline: probes the first database that is offered, and declares it"),
    "switcher": Program(switcher, "oracle: probes a wrong database, then the right one"),
    "narrator": Program(narrator, "baseline: names the right database in prose, calls and declares nothing"),
    "never_stops": Program(never_stops, "baseline: probes until no call is allowed, and declares the last one"),
    "parallel_prober": Program(parallel_prober, "oracle: twelve calls in one message, then the right declaration"),
    "constant": Program(constant, "baseline: always the first alias by name, without a call"),
    "chance": Program(chance, "baseline: a drawn database, without a call; the numbers are the analytic ones"),
    "majority": Program(majority, "baseline: always the database with most questions, without a call"),
    **{name: Program(partial(routed, ROUTERS[name]), LIKENESS.format(what))
       for name, what in (("tfidf_char", "TF-IDF of characters"), ("tfidf_word", "TF-IDF of words"),
                          ("bm25", "BM25"))},
}


class Player:
    """A policy as provider. Keeps nothing between requests: the same messages get the same reply."""

    deterministic = True

    def __init__(self, name: str, task: RoutingTask | None = None, program: Program | None = None) -> None:
        self._name, self._task, self._program = name, task, program or POLICIES[name]
        self.setup, self.settings = self._program.setup, self._program.settings

    def for_task(self, task: RoutingTask) -> Player:
        return Player(self._name, task, self._program)

    def ask(self, messages: Messages, tools: Tools | None, sampling: Sampling) -> Answer:
        if self._task is None:
            raise UsageError("a program of the suite db_routing answers tasks, not questions")
        situation = _situation(self._task, messages)
        found = written(self._program.policy(situation), native=tools is not None)
        return Answer(_marked(found.message, len(situation.catalogue)), found.finish_reason) \
            if self._name == "chance" and situation.last else found

    def close(self) -> None:
        pass


def _marked(message: Mapping[str, Any], count: int) -> dict[str, Any]:
    """A drawn answer says among how many it was drawn, so that its worth is reckoned, not observed."""
    return {**message, "drawn_from": count}


def _situation(task: RoutingTask, messages: Messages) -> Situation:
    asked = next(message["content"] for message in messages if message["role"] == "user")
    replies = sum(message["role"] == "assistant" for message in messages)
    return Situation(task, question_in(asked), catalogue_in(asked), replies,
                     asks_for_answer(messages[-1]["content"]))


def open_policy(name: str, options: ProviderOptions) -> Player:
    """The program of a name in POLICIES."""
    return Player(name)


def open_embeddings(options: ProviderOptions, opened: Callable[[str], Embedder] = SentenceModel) -> Player:
    """The router by sentence embeddings. Raise UsageError where the library or the model is missing."""
    embedder = opened(options.own.get("embedding_model", DEFAULT))
    setup = LIKENESS.format(f"embeddings of {embedder.told['model']}")
    return Player(EMBEDDINGS, program=Program(partial(routed, router_by(embedder)), setup,
                                              {"embedding": embedder.told}))


PROGRAMS: Mapping[str, Callable[[ProviderOptions], Player]] = {
    **{name: partial(open_policy, name) for name in POLICIES}, EMBEDDINGS: open_embeddings}
