"""One run from its plan: what a setting makes of the requests, what is recorded, what a resumed run refuses."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import run_eval
from infranode_eval.providers.protocol import Sampling
from infranode_eval.results import now_utc
from infranode_eval.run import Plan, parallel_of, tariff_of
from infranode_eval.suites import Setup
from lm_eval_task.prompt import messages, render_tools
from lm_eval_task.records import Call, Task
from lm_eval_task.tools import read_tools
from tests.stub_endpoint import React, StubEndpoint, completion

SCHEMA = json.loads((Path(__file__).parents[1] / "infranode_eval/data/result.schema.json").read_text("utf-8"))
TOOLS = read_tools()
ONE = Task("one", "?", (Call("weather", {"slug": "bonn"}),))
TWO = Task("two", "?", (Call("weather", {"slug": "ulm"}), Call("weather", {"slug": "kiel"})))
NONE = Task("none", "?", ())
EITHER = Task("either", "?", TWO.expected, (ONE.expected,))
GOOD = React(completion('{"name": "weather", "arguments": {"slug": "bonn"}}'))


@pytest.fixture(autouse=True)
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write((ONE, NONE))


def write(tasks: Sequence[Task]) -> None:
    Path("t.jsonl").write_text("".join(json.dumps(t.to_json()) + "\n" for t in tasks), "utf-8")


def ran(*flags: str, status: int = 0, reaction: React = GOOD) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The bodies that were sent, and the result."""
    with StubEndpoint([reaction]) as endpoint:
        code = run_eval.main(["--base-url", endpoint.url, "--model", "m", "--tasks", "t.jsonl", "--out", "r.json",
                              "--concurrency", "1", *flags])
    assert code == status
    result = json.loads(Path("r.json").read_text("utf-8"))
    jsonschema.validate(result, SCHEMA)
    return [request.body for request in endpoint.requests], result


# --- several calls in a reply -----------------------------------------------------------------------------------------

@pytest.mark.parametrize(("choice", "tasks", "expected", "reason"), [
    ("auto", (ONE, NONE), False, "one call at most is enough for each"),
    ("auto", (ONE, TWO), True, "no obedient API could solve the second"),
    ("auto", (ONE, EITHER), False, "the second has an answer of one call, too"),
    ("auto", (), None, "a single question: nothing is known, nothing is said"),
    ("off", (TWO,), False, "as given"), ("on", (ONE,), True, "as given"), ("unset", (TWO,), None, "as given"),
])
def test_whether_a_reply_may_hold_several_calls(choice: str, tasks: Sequence[Task], expected: bool | None,
                                                reason: str) -> None:
    assert parallel_of(choice, tasks) is expected, reason


@pytest.mark.parametrize(("tasks", "flags", "sent", "chosen"), [
    ((ONE, NONE), (), False, "by the tasks"), ((ONE, TWO), (), True, "by the tasks"),
    ((ONE, TWO), ("--parallel-tool-calls", "off"), False, None),
    ((ONE, TWO), ("--limit", "1"), True, "by the tasks"),     # the whole set decides, so that --resume can go on
])
def test_the_choice_is_sent_and_recorded(tasks: Sequence[Task], flags: tuple[str, ...], sent: bool,
                                         chosen: str | None) -> None:
    write(tasks)
    bodies, result = ran("--mode", "native", *flags)
    assert {body["parallel_tool_calls"] for body in bodies} == {sent}
    assert result["settings"]["parallel_tool_calls"] is sent
    assert result["settings"].get("parallel_tool_calls_chosen") == chosen


# --- when, and with which version -------------------------------------------------------------------------------------

def test_a_result_says_when_it_was_made_and_with_what_and_a_baseline_does_not() -> None:
    before = now_utc()
    _, result = ran()
    assert before <= result["started"] <= result["finished"] <= now_utc()
    project = (Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8")
    assert f'version = "{result["version"]}"' in project
    assert run_eval.main(["--tasks", "t.jsonl", "--out", "b.json"]) == 0
    assert not {"started", "finished", "version"} & json.loads(Path("b.json").read_text("utf-8")).keys()


# --- seeds ------------------------------------------------------------------------------------------------------------

def test_each_repeat_has_a_seed_of_its_own_that_is_derived_from_the_first() -> None:
    bodies, result = ran("--seed", "7", "--repeats", "2")
    assert [body["seed"] for body in bodies] == [7, 7, 8, 8] and result["settings"]["seed"] == 7
    bodies, result = ran("--force")
    assert not any("seed" in body for body in bodies) and "seed" not in result["settings"]


@pytest.mark.parametrize("flags", [
    ("--backend", "anthropic", "--api-key-env", "K", "--base-url", "http://127.0.0.1:9", "--model", "m", "--seed", "1"),
    ("--seed", "1")])
def test_what_cannot_take_a_seed_says_so(flags: tuple[str, ...], monkeypatch: pytest.MonkeyPatch,
                                         capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("K", "k")
    assert run_eval.main(["--tasks", "t.jsonl", *flags]) == 2
    assert flags[-2] in capsys.readouterr().err


# --- the order of the tools -------------------------------------------------------------------------------------------

def order(seed: int, task_id: str) -> list[str]:
    """Worked out from what the schema says about it."""
    return sorted(TOOLS.by_name, key=lambda name: hashlib.sha256(f"{seed}|{task_id}|{name}".encode()).hexdigest())


def test_native_tools_come_in_an_order_of_the_task() -> None:
    bodies, result = ran("--mode", "native", "--shuffle-tools", "5")
    sent = [[tool["function"]["name"] for tool in body["tools"]] for body in bodies]
    assert sent == [order(5, "one"), order(5, "none")] and sent[0] != sent[1]
    assert result["settings"]["shuffle_tools"] == 5 and result["hashes"]["tools"] == TOOLS.fingerprint


def test_the_text_of_a_prompt_changes_with_them() -> None:
    bodies, result = ran("--shuffle-tools", "5")
    text = bodies[0]["messages"][0]["content"]
    lines = [line for line in text.split("\n") if '"parameters"' in line]
    assert sorted(lines) == sorted(render_tools(TOOLS).split("\n"))
    assert [json.loads(line)["name"] for line in lines] == order(5, "one")
    assert result["rows"][0]["outcome"] == "ok"


def test_a_dry_run_shows_the_order_of_its_first_task(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_eval.main(["--base-url", "http://127.0.0.1:9", "--model", "m", "--tasks", "t.jsonl", "--mode", "native",
                          "--shuffle-tools", "5", "--seed", "3", "--dry-run"]) == 0
    body = json.loads("{" + capsys.readouterr().out.partition("\n{")[2])
    assert [tool["function"]["name"] for tool in body["tools"]] == order(5, "one") and body["seed"] == 3


@pytest.mark.parametrize("mode", ["prompt", "native"])
def test_a_setup_asks_what_the_prompt_module_says(mode: str) -> None:
    setup = Setup.of(mode, TOOLS, Sampling(160))
    assert setup.messages("Wie ist das Wetter?") == messages(mode, TOOLS, "Wie ist das Wetter?")
    assert setup.for_task("x") is setup


@pytest.mark.parametrize(("first", "second", "named"), [
    (("--seed", "1"), ("--seed", "2"), "seed"), ((), ("--seed", "1"), "seed"),
    (("--shuffle-tools", "1"), (), "shuffle_tools"),
    (("--shuffle-tools", "1"), ("--shuffle-tools", "2"), "shuffle_tools"),
    (("--arm", "order"), (), "arm"),
    (("--arm", "order"), ("--arm", "order", "--arm-seed", "2"), "arm_seed"),
])
def test_a_run_with_another_seed_is_not_gone_on_with(first: tuple[str, ...], second: tuple[str, ...], named: str,
                                                     capsys: pytest.CaptureFixture[str]) -> None:
    ran(*first)
    bodies, _ = ran(*second, "--resume", status=2)
    assert not bodies and named in capsys.readouterr().err
    assert not ran(*first, "--resume")[0], "the same one has nothing left to send"


# --- what it took -----------------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("plan", "expected"), [
    (Plan("single", "openai", "m"), None),
    (Plan("single", "openai", "m", price_in=1.0, price_out=2.0), (1.0, 2.0, None, None, "as given")),
    (Plan("single", "openai", "openai/gpt-4.1-mini"), (0.4, 1.6, 0.1, "USD", "list price of 2026-01, unchecked")),
])
def test_the_price_is_the_given_one_else_the_listed_one(plan: Plan, expected: Any) -> None:
    tariff = tariff_of(plan)
    assert (tariff and (tariff.price.price_in, tariff.price.price_out, tariff.price.cached, tariff.currency,
                        tariff.source)) == expected


@pytest.mark.parametrize("reaction", [
    React(completion("Hallo.") | {"provider": "Fireworks"}),
    React(completion("Hallo."), headers={"X-Inference-Provider": "Fireworks"})], ids=["OpenRouter", "Hugging Face"])
def test_whom_a_router_asked_is_kept_over_a_resume(reaction: React) -> None:
    _, before = ran(reaction=reaction)
    assert before["rows"][0]["served_by"] == "Fireworks" and before["totals"]["served_by"] == {"Fireworks": 2}
    sent, after = ran("--resume", reaction=reaction)
    assert not sent and after["rows"] == before["rows"]


def test_totals_stand_in_the_file() -> None:
    _, result = ran("--price-in", "1", "--price-out", "2")
    totals = result["totals"]
    assert (totals["input_tokens"], totals["output_tokens"]) == (14, 6)
    assert (totals["rows_with_usage"], totals["attempts"]) == (2, 2)
    assert totals["cost"] == {"amount": 26e-6, "currency": None, "source": "as given"}
    assert totals["served_models"] == {"stub-1": 2} and totals["finish_reasons"] == {"stop": 2}
    assert totals["pacing"] == {"refused": 0, "pauses": 0, "paused_s": 0.0, "least_concurrency": 1}


def test_a_sample_takes_so_many_tasks_of_each_category_and_says_so() -> None:
    rows = [Task(f"{category}-{n}", f"Frage {category} {n}?", ONE.expected, (), category)
            for category in ("a", "b") for n in range(5)]
    write(rows)
    _, result = ran("--per-category", "2")
    assert [row["category"] for row in result["rows"]] == ["a", "a", "b", "b"]
    assert result["settings"]["per_category"] == 2 and result["counts"]["n"] == 4
    write(list(reversed(rows)))
    Path("r.json").unlink()
    _, again = ran("--per-category", "2")
    assert {r["task_id"] for r in again["rows"]} == {r["task_id"] for r in result["rows"]}, "the order plays no part"
