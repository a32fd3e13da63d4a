"""run_eval.py --suite chain: the loop behind every vendor's API, killed and taken up again, its costs said before."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import measure
import run_eval
from infranode_eval.chain.tasks import shipped_path
from tests.chain_oracle import answer_of, golden, results_in
from tests.stub_endpoint import VENDORS, React, StubEndpoint, completion, vendor_body

ROOT = Path(__file__).resolve().parent.parent
ROWS = [json.loads(line) for line in shipped_path().read_text("utf-8").splitlines()]
CORE = [row for row in ROWS if row["set"] == "core"]
TWO_STEPS = [row for row in CORE if len(row["plan"]) == 2 and not row["faults"]][:2]
FEW = [*TWO_STEPS, *[next(row for row in CORE if row["category"] == category) for category in (
    "aggregate", "degraded", "not_covered", "stop", "injection")]]
TIMES = ("started", "finished", "latency_s", "totals", "attempts", "base_url")


@pytest.fixture(autouse=True)
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.setenv(name, "none")


def write(rows: list[dict[str, Any]], name: str = "few.jsonl") -> str:
    Path(name).write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
    return name


def flags(url: str, rows: list[dict[str, Any]], *more: str) -> list[str]:
    return ["--suite", "chain", "--base-url", url, "--model", "m", "--tasks", write(rows), "--out", "r.json",
            "--concurrency", "1", *more]


def result(name: str = "r.json") -> dict[str, Any]:
    return json.loads(Path(name).read_text("utf-8"))


def without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_times(inner) for key, inner in value.items() if key not in TIMES}
    return [without_times(inner) for inner in value] if isinstance(value, list) else value


# --- the loop -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("vendor", VENDORS)
def test_every_vendor_gets_its_results_and_the_golds_succeed(vendor: str) -> None:
    with StubEndpoint(golden(FEW, vendor)) as endpoint:
        assert run_eval.main([*flags(endpoint.url, FEW), "--backend", vendor]) == 0
    found = result()
    assert found["headline"] == {"task_success": 1.0, "ability": 1.0}
    assert found["counts"] == {"n": len(FEW), "scored": len(FEW), "failed": 0}
    assert [row["transcript"]["stop_reason"] for row in found["rows"]] == ["answered"] * len(FEW)
    assert {row["outcome"] for row in found["rows"]} == {"ok"}
    assert len(endpoint.requests) == sum(len(row["plan"]) + 1 for row in FEW)


def test_prompted_mode_sends_no_tools_and_gets_results_as_text() -> None:
    def react(request: Any) -> React:
        text = request.body["messages"][0]["content"]
        row = next(row for row in FEW if text.endswith(row["question"]))
        number = sum(message["content"].count("Ergebnis von ") for message in request.body["messages"][1:]
                     if message["role"] == "user")
        if number < len(row["expected"]):
            return React(completion(json.dumps(row["expected"][number], ensure_ascii=False)))
        return React(completion(answer_of(row)))

    with StubEndpoint(react) as endpoint:
        assert run_eval.main([*flags(endpoint.url, FEW), "--mode", "prompt"]) == 0
    assert result()["headline"]["task_success"] == 1.0
    assert all("tools" not in request.body for request in endpoint.requests)


def test_a_model_that_never_answers_is_asked_once_without_calls() -> None:
    """The last request keeps the tools, which some APIs need to accept results, and allows no call."""
    with StubEndpoint(lambda r: React(vendor_body("openai", None, ("list_cities", {})))) as endpoint:
        assert run_eval.main(flags(endpoint.url, TWO_STEPS[:1])) == 0
    bodies = [request.body for request in endpoint.requests]
    assert len(bodies) == TWO_STEPS[0]["max_turns"] + 1
    assert [body["tool_choice"] for body in bodies] == ["auto"] * (len(bodies) - 1) + ["none"]
    assert all(body["tools"] for body in bodies)
    row = result()["rows"][0]
    assert (row["stop_reason"], row["outcome"], row["repeated_calls"]) == ("max_turns", "no_answer", len(bodies) - 2)


def test_a_failed_request_scores_nothing_and_loses_nothing() -> None:
    rows = TWO_STEPS[:1]
    with StubEndpoint(lambda r: React(status=500, body={}) if results_in(r) == 1 else golden(rows)(r)) as endpoint:
        assert run_eval.main([*flags(endpoint.url, rows), "--retries", "0"]) == 3
        assert not Path("r.json").exists() and Path("r.journal.jsonl").exists(), "one reply was paid for"
        before = len(endpoint.requests)
    with StubEndpoint(golden(rows)) as endpoint:
        assert run_eval.main([*flags(endpoint.url, rows), "--resume"]) == 0
        assert len(endpoint.requests) == 2, "the failed request and the last one"
    assert before == 2 and result()["rows"][0]["task_success"] is True


def test_a_429_in_the_middle_of_a_play_is_a_pause_and_no_error() -> None:
    refused: list[int] = []

    def react(request: Any) -> React:
        if results_in(request) == 1 and not refused:
            refused.append(1)
            return React(status=429, headers={"Retry-After": "0"}, body={})
        return golden(TWO_STEPS[:1])(request)

    with StubEndpoint(react) as endpoint:
        assert run_eval.main(flags(endpoint.url, TWO_STEPS[:1])) == 0
    row = result()["rows"][0]
    assert row["task_success"] and row["attempts"] == 4 and len(row["keys"]) == 3


def test_repeats_are_plays_of_their_own_and_are_taken_up_as_such() -> None:
    with StubEndpoint(golden(TWO_STEPS)) as endpoint:
        gate = flags(endpoint.url, TWO_STEPS, "--repeats", "2")
        assert run_eval.main(gate) == 0
        sent = len(endpoint.requests)
        assert run_eval.main([*gate, "--resume"]) == 0
        assert len(endpoint.requests) == sent == 2 * sum(len(row["plan"]) + 1 for row in TWO_STEPS)
    assert [(row["task_id"], row["repeat"]) for row in result()["rows"]] == [
        (row["task_id"], repeat) for row in TWO_STEPS for repeat in (1, 2)]


# --- killed and taken up again --------------------------------------------------------------------------------------
REQUESTS = sum(len(row["plan"]) + 1 for row in TWO_STEPS)


@pytest.mark.parametrize("killed_at", range(1, REQUESTS + 1))
def test_killed_at_any_reply_it_goes_on_and_sends_nothing_twice(killed_at: int) -> None:
    with StubEndpoint(golden(TWO_STEPS)) as endpoint:
        assert run_eval.main(flags(endpoint.url, TWO_STEPS)) == 0
        undisturbed = without_times(result())
    Path("r.json").unlink()
    sent: list[str] = []
    running: list[subprocess.Popen[bytes]] = []

    def react(request: Any) -> React:
        sent.append(json.dumps(request.body, sort_keys=True))
        if running and len(sent) == killed_at:
            running[0].kill()
            running[0].wait()
        return golden(TWO_STEPS)(request)

    with StubEndpoint(react) as endpoint:
        gate = flags(endpoint.url, TWO_STEPS)
        running.append(subprocess.Popen([sys.executable, str(ROOT / "run_eval.py"), *gate], stderr=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, env={**os.environ, "OPENAI_API_KEY": "none"}))
        running[0].wait(timeout=20)
        running.clear()
        assert run_eval.main([*gate, "--resume"]) == 0
    assert without_times(result()) == undisturbed
    assert len(sent) == REQUESTS + 1, "only the request in flight was sent once more"
    assert len(set(sent)) == REQUESTS


def test_a_complete_result_is_taken_up_without_a_request() -> None:
    with StubEndpoint(golden(FEW)) as endpoint:
        gate = flags(endpoint.url, FEW)
        assert run_eval.main(gate) == 0
        sent, before = len(endpoint.requests), result()
        assert run_eval.main([*gate, "--resume"]) == 0
        assert len(endpoint.requests) == sent
    assert without_times(result()) == without_times(before)


def test_another_limit_of_results_is_another_run(capsys: pytest.CaptureFixture[str]) -> None:
    with StubEndpoint(golden(FEW)) as endpoint:
        gate = flags(endpoint.url, FEW)
        assert run_eval.main(gate) == 0
        assert run_eval.main([*gate, "--resume", "--max-result-chars", "2000"]) == 2
    assert "max_result_chars differs" in capsys.readouterr().err


def test_the_file_holds_each_result_once_and_can_be_judged_again() -> None:
    twice = [dict(row, task_id=f"{row['task_id']}-{n}", question=f"{row['question']} ({n})")
             for row in TWO_STEPS for n in (1, 2)]
    with StubEndpoint(golden(twice)) as endpoint:
        assert run_eval.main(flags(endpoint.url, twice)) == 0
    found = result()
    used = {one["body"] for row in found["rows"] for turn in row["transcript"]["turns"] for one in turn["executed"]}
    assert used == set(found["bodies"]) and len(used) < 8
    assert found["settings"]["max_result_chars"] == 24_000


# --- what it takes --------------------------------------------------------------------------------------------------
def test_the_cost_of_every_turn_is_said_before_it_is_spent(capsys: pytest.CaptureFixture[str]) -> None:
    with StubEndpoint(golden(FEW)) as endpoint:
        assert run_eval.main([*flags(endpoint.url, FEW), "--dry-run", "--price-in", "1", "--price-out", "2"]) == 0
        assert endpoint.requests == []
    said = capsys.readouterr().out
    requests = sum(len(row["plan"]) + 1 for row in FEW)
    assert f"requests       {requests:>12,}" in said
    assert all(word in said for word in ("context  ", "input tokens", "price  ", "at most"))
    assert not Path("r.json").exists()


def test_shorter_results_need_less_context(capsys: pytest.CaptureFixture[str]) -> None:
    found = {}
    for chars in ("2000", "24000"):
        assert measure.main(["--suite", "chain", "--tasks", write(FEW), "--max-result-chars", chars, "--json"]) == 0
        found[chars] = json.loads(capsys.readouterr().out)["forecasts"]
    for mode in ("prompt", "native"):
        assert found["2000"][mode]["context"] < found["24000"][mode]["context"]
        assert found["2000"][mode]["requests"] == found["24000"][mode]["requests"]


def test_another_world_is_refused_before_anything_is_sent(capsys: pytest.CaptureFixture[str]) -> None:
    other = [dict(row, world={**row["world"], "sha256": "0" * 64}) for row in TWO_STEPS]
    with StubEndpoint(golden(other)) as endpoint:
        assert run_eval.main(flags(endpoint.url, other)) == 2
        assert endpoint.requests == []
    said = capsys.readouterr().err
    assert "0" * 64 in said and TWO_STEPS[0]["world"]["sha256"] in said, "both hashes"


def test_the_world_stands_in_the_result() -> None:
    with StubEndpoint(golden(FEW)) as endpoint:
        assert run_eval.main(flags(endpoint.url, FEW)) == 0
    assert result()["settings"]["world"] == FEW[0]["world"]


def test_the_flag_of_one_suite_is_refused_by_another(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_eval.main(["--max-result-chars", "100"]) == 2
    assert "suite single takes no --max-result-chars" in capsys.readouterr().err
