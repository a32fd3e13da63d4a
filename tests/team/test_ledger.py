"""The counts of a play: uses, touched files, refusals, attachments, tokens; a table of calls and what they count."""

from __future__ import annotations

import threading
from collections import Counter

import pytest

from infranode_eval.providers.protocol import Answer
from infranode_eval.team.agent import Agent, Result
from infranode_eval.team.ledger import Ledger
from infranode_eval.team.workspace import Scope


def agent(name: str = "leser", key: str = "llm") -> Agent:
    return Agent(name, key, Scope(("akten",)), {}, ("Read", "Write"))


def ledger() -> Ledger:
    made = Ledger()
    made.round = "r1"
    made.created(agent(), ("akten",), 3)
    return made


@pytest.mark.parametrize("result, used, touched, refused, why", [
    (Result("x", touched="/arbeit/a"), ["Read"], ["/arbeit/a"], 0, "a success"),
    (Result("x"), ["Read"], [], 0, "a success without a file: Bash, Grep, Glob"),
    (Result("Fehler: x", error=True), [], [], 0, "an error"),
    (Result("verboten: x", error=True, refused="/arbeit/b"), [], [], 1, "a refusal"),
    (Result("Fehler: x", error=True, touched="/arbeit/a"), [], [], 0, "an error touches nothing")])
def test_a_call_counts_by_its_result(result: Result, used: list, touched: list, refused: int, why: str) -> None:
    made = ledger()
    made.called(agent(), "Read", result)
    (one,) = made.subagents()
    assert (one["used"], one["touched"], one["refused"]) == (used, touched, refused), why
    assert len(made.refusals({"r1": 0})) == refused


def test_a_sub_agent_that_never_ran_stands_there_with_its_grants() -> None:
    assert ledger().subagents() == [{
        "name": "leser", "model_key": "llm", "granted": ["Read", "Write"], "used": [], "paths": ["akten"], "files": 3,
        "touched": [], "media": {"image": 0, "audio": 0, "video": 0}, "refused": 0}]


def test_refusals_are_sorted_since_threads_have_no_order() -> None:
    made = ledger()
    for name, path, round_id in (("leser", "b", "r2"), ("main", "z", "r2"), ("leser", "a", "r2"), ("leser", "c", "r1")):
        made.round = round_id
        made.called(agent(name), "Read", Result("verboten", error=True, refused=path))
    assert [(one["round"], one["agent"], one["path"]) for one in made.refusals({"r1": 0, "r2": 1})] == [
        ("r1", "leser", "c"), ("r2", "main", "z"), ("r2", "leser", "a"), ("r2", "leser", "b")]


def test_attachments_are_added_up_and_the_managers_are_not_counted() -> None:
    made = ledger()
    made.perceived(agent(), Counter(image=2))
    made.perceived(agent(), Counter(image=1, audio=1))
    made.perceived(agent("main", "main"), Counter(image=9))
    assert made.subagents()[0]["media"] == {"image": 3, "audio": 1, "video": 0}


@pytest.mark.parametrize("usage", [{"prompt_tokens": 5, "completion_tokens": 2},
                                   {"input_tokens": 5, "output_tokens": 2},
                                   {"promptTokenCount": 5, "candidatesTokenCount": 2}])
def test_tokens_are_added_up_by_role_in_any_apis_words(usage: dict) -> None:
    made = ledger()
    for _ in range(2):
        made.answered("vlm", Answer({}, usage=usage))
    made.answered("vlm", Answer({}))
    found = made.usage()
    assert (found["vlm"]["requests"], found["vlm"]["input_tokens"], found["vlm"]["output_tokens"]) == (3, 10, 4)
    assert found["main"] == found["llm"] == found["omni"] == {}


def test_many_threads_count_together() -> None:
    made = ledger()
    threads = [threading.Thread(target=lambda: [made.invoked("workflow") for _ in range(500)]) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made.invocations["workflow"] == 4000
