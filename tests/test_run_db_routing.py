"""run_eval.py --suite db_routing: what every vendor is sent, killed runs taken up again, and the files of a run."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import run_eval
from infranode_eval.db_routing.data import CACHE, cache_folder
from infranode_eval.db_routing.opening import finalisation
from tests.db_routing.tiny_panel import ALIASES, GOLDS, SCHEMAS, write_panel
from tests.stub_endpoint import VENDORS, React, Request, StubEndpoint, vendor_body

ROOT = Path(__file__).resolve().parent.parent
ALIAS = {name: alias for alias, name in ALIASES.items()}
TIMES = ("started", "finished", "latency_s", "totals", "attempts", "base_url", "ms")
FINAL = json.dumps(finalisation(), ensure_ascii=False)[1:-1]


@pytest.fixture(autouse=True)
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(CACHE, str(tmp_path / "cache"))
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.setenv(name, "none")
    write_panel(tmp_path / "panel", cache_folder())


def flags(url: str, *more: str) -> list[str]:
    return ["--suite", "db_routing", "--base-url", url, "--model", "m", "--tasks", "panel", "--tools", "panel", "--out",
            "r.json", "--concurrency", "1", *more]


def result(name: str = "r.json") -> dict[str, Any]:
    return json.loads(Path(name).read_text("utf-8"))


def transcripts(name: str = "r.transcripts.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(name).read_text("utf-8").splitlines()]


def without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_times(inner) for key, inner in value.items() if key not in (*TIMES, "transcripts")}
    return [without_times(inner) for inner in value] if isinstance(value, list) else value


def oracle(vendor: str, delay_s: float = 0.0) -> Callable[[Request], React]:
    """Looks at the right schema, runs gold, stops, and declares it."""
    def react(request: Request) -> React:
        text = json.dumps(request.body, ensure_ascii=False)
        database, sql = next((name, sql) for name, golds in GOLDS.items()
                             for question, sql in golds if question in text)
        called = text.count("kunden_stamm\\\\nbon_kopf") + text.count("auftrag_kopf\\\\n```") + text.count(
            "```\\\\nschiff_stamm")
        if FINAL in text or finalisation() in text:
            return React(vendor_body(vendor, json.dumps({"selected_database": ALIAS[database], "sql": sql})), delay_s=0)
        if "execute_query" in _said(request.body):
            return React(vendor_body(vendor, "Fertig."), delay_s=delay_s)
        schema = {"action": "get_schema"}
        call = {"action": "execute_query", "sql": sql} if called or '"get_schema"' in _said(request.body) else schema
        return React(vendor_body(vendor, None, (ALIAS[database], call), "Hm."), delay_s=delay_s)

    return react


def _said(body: dict[str, Any]) -> str:
    """What the model itself has said before, whichever way the vendor keeps it."""
    told = body.get("messages") or body.get("contents") or body.get("input")
    mine = [m for m in told if m.get("role") in ("assistant", "model") or m.get("type") == "function_call"]
    return json.dumps(mine).replace("\\", "")


def is_final(request: Request) -> bool:
    return finalisation() in json.dumps(request.body, ensure_ascii=False).replace("\\n", "\n").replace('\\"', '"')


# --- what is sent -----------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("vendor", VENDORS)
def test_every_vendor_gets_tools_in_tool_turns_only(vendor: str) -> None:
    with StubEndpoint(oracle(vendor)) as endpoint:
        assert run_eval.main([*flags(endpoint.url), "--backend", vendor]) == 0
    found = result()
    assert found["headline"] == {"route_neighbour_hard": 1.0, "route_ok": 1.0}
    assert found["metrics"]["sql_strict"] == 1.0 and found["counts"] == {"n": 12, "scored": 12, "failed": 0}
    assert len(endpoint.requests) == 12 * 4
    for number, request in enumerate(endpoint.requests):
        body, final = request.body, number % 4 == 3
        assert is_final(request) is final
        assert ("tools" in body) is not final
        for key in ("tool_choice", "parallel_tool_calls", "toolConfig"):
            assert not (final and key in body), key
        assert (body.get("temperature", body.get("generationConfig", {}).get("temperature"))) == 0
    tools = [json.dumps(request.body.get("tools")) for request in endpoint.requests]
    for start in range(0, 48, 4):
        assert len(set(tools[start:start + 3])) == 1, "the order is constant within a question"
    assert len(set(tools)) > 3, "and another one between questions"


def test_one_call_at_a_time_is_asked_for_in_tool_turns_only() -> None:
    with StubEndpoint(oracle("openai")) as endpoint:
        assert run_eval.main([*flags(endpoint.url), "--limit", "1"]) == 0
    assert [request.body.get("parallel_tool_calls") for request in endpoint.requests] == [False] * 3 + [None]
    with StubEndpoint(oracle("anthropic")) as endpoint:
        assert run_eval.main([*flags(endpoint.url), "--limit", "1", "--backend", "anthropic", "--force"]) == 0
    assert [request.body.get("tool_choice") for request in endpoint.requests] == [
        {"type": "auto", "disable_parallel_tool_use": True}] * 3 + [None]


def test_the_history_goes_as_text_to_an_api_that_wants_tools_beside_results() -> None:
    def react(request: Request) -> React:
        if "tools" not in request.body and "tool_use" in json.dumps(request.body):
            return React(status=400, body={"type": "error", "error": {"type": "invalid_request_error", "message":
                         "Requests which include `tool_use` or `tool_result` blocks must define tools"}})
        return oracle("anthropic")(request)

    with StubEndpoint(react) as endpoint:
        assert run_eval.main([*flags(endpoint.url), "--limit", "2", "--backend", "anthropic"]) == 0
    last = [request.body for request in endpoint.requests if is_final(request) and "tool_use" not in json.dumps(
        request.body)]
    assert len(last) == 2 and result()["headline"]["route_ok"] == 1.0
    assert {row["history"] for row in result()["rows"]} == {"text"}
    roles = [message["role"] for message in last[0]["messages"]]
    assert roles == ["user", "assistant", "user", "assistant", "user", "assistant", "user"]


def test_no_real_name_and_no_real_path_is_sent(tmp_path: Path) -> None:
    with StubEndpoint(oracle("openai")) as endpoint:
        assert run_eval.main(flags(endpoint.url)) == 0
    sent = json.dumps([request.body for request in endpoint.requests], ensure_ascii=False).casefold()
    assert not [name for name in SCHEMAS if name in sent] and str(tmp_path).casefold() not in sent


# --- its files --------------------------------------------------------------------------------------------------------

def test_transcripts_stand_beside_the_result_and_belong_to_it() -> None:
    with StubEndpoint(oracle("openai")) as endpoint:
        assert run_eval.main(flags(endpoint.url)) == 0
    found, told = result(), transcripts()
    assert found["transcripts"] == {"file": "r.transcripts.jsonl", "n": 12, "sha256": hashlib.sha256(
        Path("r.transcripts.jsonl").read_bytes()).hexdigest()}
    assert "transcript" not in found["rows"][0]
    one = told[0]
    assert list(one) == ["task_id", "repeat", "messages", "db_routing"]
    assert [call["kind"] for call in one["db_routing"]["calls"]] == ["tool", "tool", "tool", "final"]
    call = one["db_routing"]["calls"][1]
    assert (call["usage"], call["model_returned"], call["attempts"], call["turn"]) == (
        {"prompt_tokens": 7, "completion_tokens": 3}, "stub-1", 1, 2)
    assert call["tool_calls"][0]["ms"] >= 0 and call["tool_calls"][0]["rows"] == 1
    assert [c["request_sha256"] for c in one["db_routing"]["calls"]] == found["rows"][0]["keys"]


@pytest.mark.parametrize("model", ["oracle", "parallel_prober", "chance", "bm25"])
def test_a_program_gives_the_same_bytes_again(model: str) -> None:
    run = ["--suite", "db_routing", "--model", model, "--tasks", "panel", "--tools", "panel", "--out", "r.json"]
    files = ("r.json", "r.transcripts.jsonl")
    assert run_eval.main(run) == 0
    first = [Path(name).read_bytes() for name in files]
    assert run_eval.main([*run, "--concurrency", "3"]) == 0
    assert [Path(name).read_bytes() for name in files] == first
    text = b"".join(first).decode("utf-8")
    assert "jury" not in text and "hard_strict" not in text, "nobody has voted"


def test_a_limit_takes_the_first_of_the_order() -> None:
    order = json.loads(Path("panel/manifest.json").read_text("utf-8"))["order"]
    run = ["--suite", "db_routing", "--model", "oracle", "--tasks", "panel", "--tools", "panel"]
    for limit in (3, 7):
        assert run_eval.main([*run, "--limit", str(limit), "--out", f"{limit}.json"]) == 0
        assert [row["task_id"] for row in result(f"{limit}.json")["rows"]] == order[:limit]


def test_the_dry_run_counts_the_plays_of_the_oracle(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_eval.main([*flags("http://127.0.0.1:9"), "--dry-run"]) == 0
    told = capsys.readouterr().out
    assert "requests                 48" in told and '"parallel_tool_calls": false' in told


# --- killed, failed, taken up again -----------------------------------------------------------------------------------

REQUESTS = 8


@pytest.mark.parametrize("killed_at", range(1, REQUESTS + 1))
def test_killed_at_any_reply_it_goes_on_and_sends_nothing_twice(killed_at: int) -> None:
    few = ("--limit", "2")
    with StubEndpoint(oracle("openai")) as endpoint:
        assert run_eval.main(flags(endpoint.url, *few)) == 0
        undisturbed = without_times(result()), without_times(transcripts())
    Path("r.json").unlink()
    running: list[subprocess.Popen[bytes]] = []

    def react(request: Request) -> React:
        if len(endpoint.requests) == killed_at and running:
            running[0].kill()
            return React(delay_s=1, close=True)
        return oracle("openai")(request)

    with StubEndpoint(react) as endpoint:
        code = "import sys; sys.path.insert(0, sys.argv.pop(1)); import run_eval; sys.exit(run_eval.main(sys.argv[1:]))"
        running.append(subprocess.Popen([sys.executable, "-c", code, str(ROOT), *flags(endpoint.url, *few)],
                                        env={**os.environ}, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL))
        running[0].wait(timeout=60)
    with StubEndpoint(oracle("openai")) as endpoint:
        assert run_eval.main([*flags(endpoint.url, *few), "--resume"]) == 0
        assert len(endpoint.requests) == REQUESTS - killed_at + 1
    assert (without_times(result()), without_times(transcripts())) == undisturbed


def test_a_failed_call_fails_the_question_and_is_the_first_that_is_sent_again() -> None:
    def breaking(request: Request) -> React:
        return React(status=500, body={}) if is_final(request) else oracle("openai")(request)

    with StubEndpoint(breaking) as endpoint:
        assert run_eval.main([*flags(endpoint.url, "--limit", "2"), "--retries", "0"]) == 3
    with StubEndpoint(oracle("openai")) as endpoint:
        assert run_eval.main([*flags(endpoint.url, "--limit", "2"), "--resume"]) == 0
        assert all(map(is_final, endpoint.requests)) and len(endpoint.requests) == 2
    assert result()["headline"]["route_ok"] == 1.0


def test_a_retry_costs_no_budget() -> None:
    replies = iter([React(status=503, body={}, headers={"Retry-After": "0"})])
    with StubEndpoint(lambda r: next(replies, None) or oracle("openai")(r)) as endpoint:
        assert run_eval.main(flags(endpoint.url, "--limit", "1")) == 0
    (row,) = result()["rows"]
    assert (row["tool_turns"], row["api_calls"], row["attempts"]) == (3, 4, 5)
    assert [call["attempts"] for call in transcripts()[0]["db_routing"]["calls"]] == [2, 1, 1, 1]


def small(request: Request) -> React:
    """The oracle in a context that holds one result, not two."""
    if "execute_query" in _said(request.body) and "tools" in request.body:
        return React(status=400, body={"error": {"message": "maximum context length is 4096 tokens"}})
    return oracle("openai")(request)


def test_an_overflow_is_remembered_when_the_run_goes_on() -> None:
    with StubEndpoint(lambda r: React(status=500, body={}) if is_final(r) else small(r)) as endpoint:
        assert run_eval.main([*flags(endpoint.url, "--limit", "1"), "--retries", "0"]) == 3
        assert [is_final(request) for request in endpoint.requests] == [False] * 3 + [True] * 2, "two passes"
    with StubEndpoint(oracle("openai")) as endpoint:
        assert run_eval.main([*flags(endpoint.url, "--limit", "1"), "--resume"]) == 0
        assert len(endpoint.requests) == 1, "the request that did not fit is not sent again"
    (row,) = result()["rows"]
    assert (row["stop_reason"], row["outcome"], row["tool_turns"]) == ("context_overflow", "ok", 2)


@pytest.mark.parametrize("react", [small, oracle("openai")], ids=["with an overflow", "without"])
def test_a_finished_result_is_gone_on_with_and_what_it_holds_is_not_sent_again(
        react: Callable[[Request], React]) -> None:
    with StubEndpoint(react) as endpoint:
        assert run_eval.main(flags(endpoint.url, "--limit", "2")) == 0
        before = without_times(result()["rows"]), len(endpoint.requests)
    with StubEndpoint(react) as endpoint:
        assert run_eval.main([*flags(endpoint.url, "--limit", "3"), "--resume"]) == 0
        assert len(endpoint.requests) == before[1] // 2
    assert without_times(result()["rows"][:2]) == before[0]


def test_a_blank_reply_that_has_cost_tokens_is_an_answer_and_one_that_has_not_is_a_failure() -> None:
    def react(request: Request, tokens: int = 3) -> React:
        blank = vendor_body("openai", "") | {"usage": {"prompt_tokens": 7, "completion_tokens": tokens}}
        return React(blank) if is_final(request) else oracle("openai")(request)

    with StubEndpoint(react) as endpoint:
        assert run_eval.main(flags(endpoint.url, "--limit", "1")) == 0
    (row,) = result()["rows"]
    assert (row["outcome"], row["declaration_error"], row["route_ok"]) == ("no_declaration", "blank", False)
    with StubEndpoint(lambda request: react(request, 0)) as endpoint:
        assert run_eval.main([*flags(endpoint.url, "--limit", "1"), "--force", "--retries", "1"]) == 3
        assert len(endpoint.requests) == 3 + 2 * 2, "two passes, a retry each"


# --- arms -------------------------------------------------------------------------------------------------------------

def test_an_arm_has_a_result_of_its_own_and_one_request_a_question() -> None:
    def react(request: Request) -> React:
        text = json.dumps(request.body, ensure_ascii=False)
        database = next(name for name, golds in GOLDS.items() for question, _ in golds if question in text)
        return React(vendor_body("openai", json.dumps({"selected_database": database})))

    with StubEndpoint(react) as endpoint:
        run = ["--suite", "db_routing", "--base-url", endpoint.url, "--model", "m", "--tasks", "panel"]
        assert run_eval.main([*run, "--arm", "names"]) == 0
        assert len(endpoint.requests) == 12 and not any("tools" in request.body for request in endpoint.requests)
        assert run_eval.main([*run, "--arm", "paraphrase"]) == 0
    found = result("results/db_routing/m.panel.names.json")
    assert found["headline"]["route_ok"] == 1.0
    assert (found["settings"]["condition"], found["settings"]["procedure"]) == ("names", "single_shot")
    assert {row["procedure"] for row in found["rows"]} == {"single_shot"} and found["metrics"]["sql_set"] is None
    paraphrased = result("results/db_routing/m.panel.paraphrase.json")
    assert paraphrased["counts"]["n"] == 9, "only those whose paraphrase passed"
    assert len({json.dumps(one["hashes"]) for one in (found, paraphrased)}) == 2


def test_an_arm_of_another_suite_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_eval.main(["--suite", "db_routing", "--model", "oracle", "--tasks", "panel", "--arm", "order"]) == 2
    assert "has no arm 'order'; expected one of anonymised, names" in capsys.readouterr().err
