"""What a run of suite team costs: the tokens of the main agent at the list price; those of the pool stay outside."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from infranode_eval.budget import Price
from infranode_eval.fold import row_of
from infranode_eval.providers.protocol import Answer, Sampling
from infranode_eval.providers.team import Team
from infranode_eval.reports.archive import run_from_json
from infranode_eval.reports.figures import summarise
from infranode_eval.reports.team_tables import money
from infranode_eval.runner import Played
from infranode_eval.suites import Setup, open_suite
from infranode_eval.team.pool import MAX_TOKENS
from infranode_eval.team.script_player import Manager
from infranode_eval.team.scripted import Worker
from infranode_eval.team.tasks import read_team_tasks
from infranode_eval.team.tools import toolset
from infranode_eval.totals import Tariff, Totals
from tests.needs import need_program
from tests.reports.team_runs import agent, result, row

MAIN = {"prompt_tokens": 1000, "completion_tokens": 10, "prompt_tokens_details": {"cached_tokens": 400}}
POOL = {"prompt_tokens": 777_000, "completion_tokens": 55_000}


class Metered:
    """A program whose answers tell tokens."""

    def __init__(self, provider: Any, usage: Mapping[str, Any]) -> None:
        self._provider, self._usage = provider, usage

    def __getattr__(self, name: str) -> Any:
        return getattr(self._provider, name)

    def for_task(self, task: Any) -> Metered:
        return Metered(self._provider.for_task(task), self._usage)

    def ask(self, messages: Any, tools: Any, sampling: Sampling) -> Answer:
        return replace(self._provider.ask(messages, tools, sampling), usage=self._usage)


@pytest.fixture(scope="module")
def played() -> dict[str, Any]:
    """The row of a play in which every role tells tokens."""
    need_program("bwrap", shutil.which("bwrap"))
    suite, [task] = open_suite("team"), read_team_tasks(None, ["recht_satzung"])
    staff = Team(Metered(Manager("muster"), MAIN), {key: Metered(Worker(key), POOL) for key in ("llm", "vlm", "omni")})
    setup = Setup("native", toolset(), (), Sampling(MAX_TOKENS),
                  scene=suite.scene(None, toolset()))      # type: ignore[call-arg]
    transcript = suite.play(task, staff.for_task(task), setup)
    return row_of(Played(task, 1, suite.score(task, transcript, setup), transcript, 1), deterministic=False)


def test_the_tokens_of_a_row_are_those_of_main(played) -> None:
    requests = played["team"]["usage"]["main"]["requests"]
    assert played["usage"]["input_tokens"] == 1000 * requests > 5000
    assert (played["usage"]["output_tokens"], played["usage"]["cached_tokens"]) == (10 * requests, 400 * requests)


def test_the_tokens_of_the_pool_are_told_by_role_and_counted_nowhere_else(played) -> None:
    by_role = played["team"]["usage"]
    assert by_role["llm"]["input_tokens"] == 777_000 * by_role["llm"]["requests"]
    assert all(by_role[key]["requests"] for key in ("llm", "vlm", "omni"))
    totals = Totals()
    totals.add(played)
    assert totals.tokens["input_tokens"] < 777_000


def test_the_cost_is_that_of_main_with_its_cached_tokens(played) -> None:
    requests, totals = played["team"]["usage"]["main"]["requests"], Totals()
    totals.add(played)
    cost = totals.to_json(Tariff(Price(2.0, 8.0, 0.5), "USD", "list"))["cost"]
    assert cost["amount"] == pytest.approx(requests * (600 * 2.0 + 400 * 0.5 + 10 * 8.0) / 1_000_000, abs=1e-6)


@pytest.mark.parametrize(("spent", "received", "shown", "why"), [
    (1_000_000, 100_000, "2.8000 USD", "1 M in at 2.00 + 0.1 M out at 8.00 = 2.80"),
    (None, 100_000, "—", "nobody told what went in")])
def test_the_worked_example(spent, received, shown, why) -> None:
    totals = Totals()
    totals.add({"attempts": 1, "reply": {}, "usage": {"input_tokens": spent, "output_tokens": received},
                "latency_s": None, "finish_reason": "stop"})
    value = result("m", [row("recht", "+++", [agent()])])
    value["totals"] = totals.to_json(Tariff(Price(2.0, 8.0), "USD", "list"))
    assert money(summarise(run_from_json(value, "m.json")).team) == shown, why


def test_an_unknown_price_is_no_price() -> None:
    value = result("m", [row("recht", "+++", [agent()])])
    value["totals"] = Totals().to_json(None)
    found = summarise(run_from_json(value, "m.json")).team
    assert money(found) == "—" and found.amount is None, "not 0: that would be on every front"
