"""The command: its files, its exit codes, one line for whatever is wrong, and nothing lost when it is killed."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import run_eval
from infranode_eval.providers.baselines import PROGRAMS
from lm_eval_task.errors import UsageError
from tests.stub_endpoint import React, Request, StubEndpoint, completion

ROOT = Path(__file__).parents[1]
SCHEMA = json.loads((ROOT / "infranode_eval/data/result.schema.json").read_text("utf-8"))
KEY = "sk-geheim-0123456789"
ROWS = [
    {"task_id": "a", "set": "core", "category": "resource_key", "question": "Trinkbrunnen in Köln?",
     "expected": [{"name": "get_city_resource", "arguments": {"slug": "koeln", "resource": "drinking-water"}}]},
    {"task_id": "b", "set": "core", "category": "routing_named", "question": "Wetter in Bonn?",
     "expected": [{"name": "weather", "arguments": {"slug": "bonn"}}]},
    {"task_id": "c", "set": "extended", "category": "two_calls", "question": "Wetter in Ulm, Luftgüte in Kiel?",
     "expected": [{"name": "weather", "arguments": {"slug": "ulm"}},
                  {"name": "air_quality", "arguments": {"slug": "kiel"}}]},
    {"task_id": "d", "set": "core", "category": "none", "question": "Wie alt ist die Kanzlerin?", "expected": []},
]


@pytest.fixture(autouse=True)
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of its own with a small dataset, no keys in the environment, and the old signal handler afterwards."""
    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_API_KEY", "HF_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    write_tasks(Path("t.jsonl"), ROWS)
    yield tmp_path
    signal.signal(signal.SIGTERM, before)


def write_tasks(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows), "utf-8")


def many(count: int) -> list[dict[str, Any]]:
    return [ROWS[1] | {"task_id": f"t{i:03}", "question": f"Wetter in Bonn, Frage {i}?"} for i in range(count)]


def load(path: str) -> dict[str, Any]:
    result = json.loads(Path(path).read_text("utf-8"))
    jsonschema.validate(result, SCHEMA)
    return result


def command(*flags: str, python: tuple[str, ...] = ()) -> list[str]:
    return [sys.executable, *python, str(ROOT / "run_eval.py"), *flags]


# --- baselines --------------------------------------------------------------------------------------------------------

def test_without_a_model_it_runs_bm25_on_the_core(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_eval.main(["--tasks", "t.jsonl"]) == 0
    result = load("results/bm25.t.json")
    assert [r["task_id"] for r in result["rows"]] == ["a", "b", "d"]
    assert (result["suite"], result["set"], result["model"], result["backend"], result["mode"], result["harness"]) == (
        "single", "core", "bm25", "baseline", "prompt", "run_eval")
    assert result["complete"] is True and result["counts"] == {"n": 3, "scored": 3, "failed": 0}
    out, err = capsys.readouterr()
    assert "results/bm25.t.json" in out and "call_match" in out and "resource_key" in out and err == ""


@pytest.mark.parametrize("mode", ("prompt", "native"))
def test_the_oracle_is_always_right(mode: str) -> None:
    assert run_eval.main(["--model", "oracle", "--mode", mode, "--tasks", "t.jsonl", "--set", "all"]) == 0
    metrics = load(f"results/oracle.t{'.native' if mode == 'native' else ''}.json")["metrics"]
    assert set(metrics.values()) == {1.0}


@pytest.mark.parametrize("model", [*PROGRAMS, "oracle"])
def test_a_baseline_rewrites_its_own_file_with_the_same_bytes(model: str) -> None:
    flags = ["--model", model, "--tasks", "t.jsonl", "--set", "all", "--concurrency"]
    assert run_eval.main([*flags, "1"]) == 0
    first = Path(f"results/{model}.t.json").read_bytes()
    assert run_eval.main([*flags, "7"]) == 0
    assert Path(f"results/{model}.t.json").read_bytes() == first
    assert os.listdir("results") == [f"{model}.t.json"]


def test_limit_and_repeats_shape_the_rows() -> None:
    assert run_eval.main(["--tasks", "t.jsonl", "--limit", "2", "--repeats", "2", "--out", "r.json"]) == 0
    assert [(r["task_id"], r["repeat"]) for r in load("r.json")["rows"]] == [("a", 1), ("a", 2), ("b", 1), ("b", 2)]


def test_a_part_of_a_run_does_not_replace_the_whole(capsys: pytest.CaptureFixture[str]) -> None:
    run_eval.main(["--tasks", "t.jsonl"])
    whole = Path("results/bm25.t.json").read_bytes()
    assert run_eval.main(["--tasks", "t.jsonl", "--limit", "1"]) == 2
    assert Path("results/bm25.t.json").read_bytes() == whole
    assert run_eval.main(["--tasks", "t.jsonl", "--limit", "1", "--force"]) == 0


def test_a_users_own_tasks_and_tools_run_whole() -> None:
    own = [{"type": "function", "function": {"name": "wuerfeln", "description": "Wirft einen Würfel.",
                                             "parameters": {"type": "object", "properties": {
                                                 "seiten": {"type": "integer", "enum": [6, 20]}},
                                                 "required": ["seiten"]}}}]
    Path("tools.json").write_text(json.dumps(own))
    write_tasks(Path("own.jsonl"), [{"task_id": "w", "question": "Wirf einen Würfel.",
                                     "expected": [{"name": "wuerfeln", "arguments": {"seiten": 6}}]}])
    for model in ("oracle", "bm25"):
        assert run_eval.main(["--model", model, "--tasks", "own.jsonl", "--tools", "tools.json"]) == 0
        assert load(f"results/{model}.own.json")["metrics"]["call_match"] == 1.0
        assert load(f"results/{model}.own.json")["set"] == "own", "the rows name no set"


def test_a_users_own_tasks_do_not_meet_the_shipped_result(capsys: pytest.CaptureFixture[str]) -> None:
    Path("results").mkdir()
    shipped = (ROOT / "results/bm25.json").read_bytes()
    Path("results/bm25.json").write_bytes(shipped)
    assert run_eval.main(["--tasks", "t.jsonl"]) == 0
    assert load("results/bm25.t.json")["set"] == "core" and Path("results/bm25.json").read_bytes() == shipped
    capsys.readouterr()
    assert run_eval.main(["--tasks", "t.jsonl", "--out", "results/bm25.json"]) == 2
    assert "holds another run" in capsys.readouterr().err
    assert run_eval.main(["--tasks", "t.jsonl", "--out", "results/bm25.json", "--dry-run"]) == 0
    out, err = capsys.readouterr()
    assert out.count("note: results/bm25.json holds another run (hash of") == 1 and err == ""
    assert Path("results/bm25.json").read_bytes() == shipped


def test_retired_rows_are_not_asked_and_a_dry_run_says_how_many_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"task_id": f"t{i}", "set": "core", "question": "Wie warm ist es in Köln?",
             "expected": [{"name": "weather", "arguments": {"slug": "koeln"}}]} for i in range(3)]
    rows[1]["retired"] = {"date": "2026-12-05", "reason": "source_status disabled"}
    Path("own.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    assert run_eval.main(["--tasks", "own.jsonl", "--dry-run"]) == 0
    assert re.search(r"^retired rows +1 ", capsys.readouterr().out, re.MULTILINE)
    assert run_eval.main(["--tasks", "own.jsonl"]) == 0
    assert [row["task_id"] for row in load("results/bm25.own.json")["rows"]] == ["t0", "t2"]
    rows[1].pop("retired")
    Path("own.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    capsys.readouterr()
    assert run_eval.main(["--tasks", "own.jsonl", "--dry-run"]) == 0
    assert "retired" not in capsys.readouterr().out, "no noise where nothing is retired"


# --- an endpoint ------------------------------------------------------------------------------------------------------

def answer_by_question(request: Request) -> React:
    question = request.body["messages"][-1]["content"].splitlines()[-1]
    expected = next(r["expected"] for r in ROWS if r["question"] == question)
    return React(completion(json.dumps(expected) if expected else "Das weiß ich nicht."))


def test_a_run_against_an_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with StubEndpoint(answer_by_question) as endpoint:
        assert run_eval.main(["--base-url", endpoint.url, "--model", "org/m", "--tasks", "t.jsonl",
                              "--set", "all"]) == 0
    result = load("results/org__m.t.json")
    assert result["metrics"]["call_match"] == 1.0 and result["setup"] == "S"
    assert [r["task_id"] for r in result["rows"]] == ["a", "b", "c", "d"]
    assert result["rows"][0]["usage"] == {"input_tokens": 7, "output_tokens": 3, "cached_tokens": None,
                                          "reasoning_tokens": None}
    assert result["rows"][0]["usage_raw"] == {"prompt_tokens": 7, "completion_tokens": 3}
    assert result["rows"][0]["served_model"] == "stub-1" and result["rows"][0]["latency_s"] >= 0
    assert {r.headers["authorization"] for r in endpoint.requests} == {f"Bearer {KEY}"}
    assert os.listdir("results") == ["org__m.t.json"], "the journal went into the file"
    assert KEY not in Path("results/org__m.t.json").read_text()


def test_prompt_and_native_mode_send_what_design_says() -> None:
    with StubEndpoint() as endpoint:
        for mode in ("prompt", "native"):
            run_eval.main(["--base-url", endpoint.url, "--model", "m", "--tasks", "t.jsonl", "--mode", mode,
                           "--limit", "1", "--max-tokens", "99", "--temperature", "0.5"])
    prompt, native = (r.body for r in endpoint.requests)
    assert set(prompt) == {"model", "messages", "temperature", "max_tokens"}
    assert (prompt["temperature"], prompt["max_tokens"]) == (0.5, 99)
    assert [m["role"] for m in prompt["messages"]] == ["user"]
    assert prompt["messages"][0]["content"].endswith("\nTrinkbrunnen in Köln?")
    assert [m["role"] for m in native["messages"]] == ["system", "user"]
    assert native["tools"] == json.loads((ROOT / "tools.json").read_text("utf-8"))


def test_a_refused_temperature_is_told_and_makes_the_setup_custom(capsys: pytest.CaptureFixture[str]) -> None:
    def script(request: Request) -> React:
        if "temperature" in request.body:
            return React({"error": {"message": "Unsupported value: 'temperature'", "param": "temperature"}}, 400)
        return answer_by_question(request)

    with StubEndpoint(script) as endpoint:
        assert run_eval.main(["--base-url", endpoint.url, "--model", "m", "--tasks", "t.jsonl"]) == 0
    assert capsys.readouterr().out.count("\nnote: temperature refused: sent without\n") == 1
    assert load("results/m.t.json")["setup"] == "custom"


@pytest.mark.parametrize(("mode", "tokens", "told"), [
    ("native", 40, "--jinja"), ("prompt", 40, "num_ctx"), ("native", 9000, None), ("prompt", None, None)])
def test_tools_that_the_server_dropped_are_told(mode: str, tokens: int | None, told: str | None,
                                                capsys: pytest.CaptureFixture[str]) -> None:
    body = completion("Das weiß ich nicht.") | {"usage": tokens and {"prompt_tokens": tokens, "completion_tokens": 3}}
    with StubEndpoint([React(body)]) as endpoint:
        assert run_eval.main(["--base-url", endpoint.url, "--model", "m", "--tasks", "t.jsonl", "--mode", mode]) == 0
    out = capsys.readouterr().out
    assert ("the model did not see them" in out) == (told is not None) and (told or "") in out


def test_resume_sends_only_what_has_no_answer_and_pays_nothing_twice(capsys: pytest.CaptureFixture[str]) -> None:
    down = {"b", "c"}

    def script(request: Request) -> React:
        question = request.body["messages"][-1]["content"].splitlines()[-1]
        task_id = next(r["task_id"] for r in ROWS if r["question"] == question)
        return React({"error": "kaputt"}, 500) if task_id in down else answer_by_question(request)

    with StubEndpoint(script) as endpoint:
        flags = ["--base-url", endpoint.url, "--model", "m", "--tasks", "t.jsonl", "--set", "all", "--retries", "0"]
        assert run_eval.main(flags) == 3
        assert "incomplete: 2 of 4 tasks have no answer" in capsys.readouterr().err
        before = load("results/m.t.json")
        assert before["complete"] is False and before["counts"] == {"n": 4, "scored": 2, "failed": 2}
        assert (before["metrics"]["call_match"], before["answered"]["call_match"]) == (0.5, 1.0)
        assert run_eval.main(flags) == 2, "without --resume nothing is overwritten"
        assert "--resume" in capsys.readouterr().err and load("results/m.t.json") == before
        down.clear()
        assert run_eval.main([*flags, "--resume"]) == 0
        assert run_eval.main([*flags, "--resume"]) == 0
    assert Counter(r.body["messages"][-1]["content"].splitlines()[-1] for r in endpoint.requests) == {
        ROWS[0]["question"]: 1, ROWS[1]["question"]: 2, ROWS[2]["question"]: 2, ROWS[3]["question"]: 1}
    after = load("results/m.t.json")
    assert after["complete"] is True and after["rows"][0] == before["rows"][0]


def test_resume_with_more_tasks_and_repeats_keeps_the_answers() -> None:
    with StubEndpoint(answer_by_question) as endpoint:
        flags = ["--base-url", endpoint.url, "--model", "m", "--tasks", "t.jsonl", "--set", "all"]
        assert run_eval.main([*flags, "--limit", "2"]) == 0
        assert run_eval.main([*flags, "--resume", "--limit", "1"]) == 0
        assert [r["task_id"] for r in load("results/m.t.json")["rows"]] == ["a", "b"], "nothing is thrown away"
        assert run_eval.main([*flags, "--resume", "--repeats", "2"]) == 0
    assert len(endpoint.requests) == 8
    assert load("results/m.t.json")["counts"]["n"] == 8


def test_a_broken_reply_is_an_outcome_or_a_failure_never_a_crash() -> None:
    reactions = [React(completion("\ud800 halb {")),
                 React(completion('{"name": "weather", "arguments": {"slug": 1e999}}')),
                 React(completion([{"type": "text", "text": "\x00"}])), React(b"\xff")]
    with StubEndpoint(reactions) as endpoint:
        assert run_eval.main(["--base-url", endpoint.url, "--model", "m", "--tasks", "t.jsonl", "--set", "all",
                              "--retries", "0", "--concurrency", "1"]) == 3
    rows = load("results/m.t.json")["rows"]
    assert rows[0]["reply"]["content"] == "\ud800 halb {"
    assert (rows[3]["outcome"], rows[3]["sub"]) == ("infra_error", "broken_json")


def test_under_all_faults_at_once_every_task_is_answered_exactly_once() -> None:
    write_tasks(Path("many.jsonl"), many(120))
    good = React(completion('{"name": "weather", "arguments": {"slug": "bonn"}}'))
    faults = [React({"error": "kaputt"}, 500), React(keep=0), React(b'{"choices": [', 200), React(completion("")),
              React({"error": "langsam"}, 429, {"Retry-After": "0.05"}), React(drip_s=0.2), React(delay_s=2),
              React({"error": {"code": 503}}), React(keep=100), React({"error": "warte"}, 429)]
    answered: Counter[str] = Counter()
    tries: Counter[str] = Counter()
    lock = threading.Lock()

    def script(request: Request) -> React:
        question = request.body["messages"][-1]["content"].splitlines()[-1]
        number = int(question.rpartition(" ")[2].rstrip("?"))
        with lock:
            tries[question] += 1
            if number % 4 == 0 and tries[question] <= 1 + number % 2:
                return faults[(number // 4 + tries[question]) % len(faults)]
            answered[question] += 1
            return good

    with StubEndpoint(script) as endpoint:
        assert run_eval.main(["--base-url", endpoint.url, "--model", "m", "--tasks", "many.jsonl", "--timeout", "0.4",
                              "--concurrency", "32"]) == 0
    result = load("results/m.many.json")
    assert result["counts"] == {"n": 120, "scored": 120, "failed": 0}
    assert set(answered.values()) == {1} and len(answered) == 120, "no answer is bought twice"
    assert sum(r["attempts"] for r in result["rows"]) == len(endpoint.requests) == sum(tries.values())


# --- whatever is wrong ------------------------------------------------------------------------------------------------

DEAD = "http://127.0.0.1:9"
BAD = [
    (["--telepathy"], 2, "unrecognized arguments: --telepathy", "unknown flag"),
    (["--mod", "bm25"], 2, "--mod", "flags are not abbreviated"),
    (["--mode", "both"], 2, "prompt", "unknown mode"),
    (["--tasks", "nirgends.jsonl"], 2, "nirgends.jsonl: cannot be read", "missing file"),
    (["--tasks", "broken.jsonl"], 2, "broken.jsonl:2: is not JSON", "broken line, with its number"),
    (["--tasks", "twice.jsonl"], 2, "twice.jsonl:3: task_id a", "duplicate task_id"),
    (["--tasks", "gold.jsonl"], 2, "task g: gold weather", "gold outside the schema"),
    (["--tasks", "empty.jsonl"], 2, "holds no task", "nothing in it"),
    (["--tasks", "t.jsonl", "--tools", "t.jsonl"], 2, "t.jsonl: is not JSON", "tools that are none"),
    (["--tasks", "t.jsonl", "--tools", "nirgends"], 2, "nirgends: cannot be read", "missing tools"),
    (["--model", "bm26", "--tasks", "t.jsonl"], 2, "baseline 'bm26' does not exist", "unknown baseline"),
    (["--set", "kern", "--tasks", "t.jsonl"], 2, "set 'kern' does not exist", "unknown set"),
    (["--set", "robust", "--tasks", "t.jsonl"], 2, "holds no task of set robust", "a set without rows"),
    (["--suite", "solo"], 2, "suite 'solo' does not exist", "unknown suite"),
    (["--backend", "telepathy", "--model", "m", "--tasks", "t.jsonl"], 2, "backend 'telepathy'", "unknown backend"),
    (["--backend", "openai", "--model", "m", "--tasks", "t.jsonl"], 2, "--base-url", "no endpoint"),
    (["--base-url", DEAD, "--tasks", "t.jsonl"], 2, "needs --model", "no model"),
    (["--backend", "baseline", "--base-url", DEAD], 2, "takes no --base-url", "flags that exclude each other"),
    (["--base-url", "http://[::1", "--model", "m", "--tasks", "t.jsonl"], 2, "is no URL", "a broken URL"),
    (["--base-url", "http://u:geheim@h", "--model", "m", "--tasks", "t.jsonl"], 2, "no user or password", "a password"),
    (["--base-url", DEAD, "--model", "m", "--api-key-env", "NOPE"], 2, "NOPE (--api-key-env) is not set", "no key"),
    (["--limit", "0"], 2, "--limit", "nothing to do"),
    (["--concurrency", "viele"], 2, "--concurrency", "no number"),
    (["--timeout", "nan"], 2, "--timeout", "no time"),
    (["--temperature", "-1"], 2, "--temperature", "below zero"),
    (["--tasks", "t.jsonl", "--out", "t.jsonl"], 2, "t.jsonl: is no results file", "the dataset as output"),
    (["--tasks", "t.jsonl", "--out", "t.jsonl", "--force"], 2, "t.jsonl: is no results file", "not even with --force"),
    (["--tasks", "t.jsonl", "--out", "."], 2, "is a folder", "a folder as output"),
    (["--tasks", "t.jsonl", "--out", "t.jsonl/r.json"], 2, "cannot be written", "a file as folder"),
    (["--base-url", DEAD, "--model", "m", "--tasks", "t.jsonl", "--out", "t.jsonl/r.json"], 2, "cannot be written",
     "the same for a paid run"),
    (["--base-url", DEAD, "--model", "m", "--tasks", "t.jsonl", "--retries", "0"], 3, "cannot be reached", "nobody"),
]


@pytest.mark.parametrize(("flags", "status", "shown", "reason"), BAD, ids=[b[3] for b in BAD])
def test_one_line_and_an_exit_code(flags: list[str], status: int, shown: str, reason: str, workplace: Path,
                                   capsys: pytest.CaptureFixture[str]) -> None:
    (workplace / "broken.jsonl").write_text(json.dumps(ROWS[0]) + "\n{kaputt\n")
    write_tasks(workplace / "twice.jsonl", [ROWS[0], ROWS[1], ROWS[0]])
    misfit = {"task_id": "g", "expected": [{"name": "weather", "arguments": {}}]}
    write_tasks(workplace / "gold.jsonl", [ROWS[0] | misfit])
    (workplace / "empty.jsonl").write_text("\n")
    before = {p: p.read_bytes() for p in workplace.iterdir()}
    assert run_eval.main(flags) == status, reason
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and err.startswith("run_eval.py: ") and shown in err
    assert "geheim" not in err
    assert {p: p.read_bytes() for p in before} == before, "nothing is overwritten"
    if status == 2:
        assert not (workplace / "results").exists() or not any((workplace / "results").iterdir())


NO_ANSWER = [
    (React({"error": {"message": "The model `m` does not exist"}}, 404), "does not exist", 1),
    (React({"error": "kaputt"}, 500), "HTTP 500: kaputt", 3), (React({"error": "falsch"}, 401), "HTTP 401: falsch", 1),
]


@pytest.mark.parametrize(("reaction", "shown", "asked"), NO_ANSWER, ids=[n[1] for n in NO_ANSWER])
def test_a_run_without_any_answer_leaves_nothing_behind(reaction: React, shown: str, asked: int,
                                                        capsys: pytest.CaptureFixture[str]) -> None:
    wrong = [True]
    with StubEndpoint(lambda r: reaction if wrong else answer_by_question(r)) as endpoint:
        flags = ["--base-url", endpoint.url, "--model", "m", "--tasks", "t.jsonl", "--retries", "0",
                 "--concurrency", "1"]
        assert run_eval.main(flags) == 3
        out, err = capsys.readouterr()
        assert out == "" and err.count("\n") == 1 and "no task was answered" in err and shown in err
        assert "Error:" not in err and len(endpoint.requests) == asked
        assert os.listdir("results") == []
        wrong.clear()
        assert run_eval.main(flags) == 0, "the plain command works again"
        before = Path("results/m.t.json").read_bytes()
        wrong.append(True)
        assert run_eval.main([*flags, "--force"]) == 3
        assert os.listdir("results") == ["m.t.json"] and Path("results/m.t.json").read_bytes() == before


def test_a_resumed_run_without_a_new_answer_keeps_the_old_ones() -> None:
    wrong = ["b", "d"]

    def script(request: Request) -> React:
        question = request.body["messages"][-1]["content"].splitlines()[-1]
        failing = any(r["question"] == question and r["task_id"] in wrong for r in ROWS)
        return React({"error": "kaputt"}, 500) if failing else answer_by_question(request)

    with StubEndpoint(script) as endpoint:
        flags = ["--base-url", endpoint.url, "--model", "m", "--tasks", "t.jsonl", "--retries", "0"]
        assert run_eval.main(flags) == 3
        assert run_eval.main([*flags, "--resume"]) == 3
        assert load("results/m.t.json")["counts"] == {"n": 3, "scored": 1, "failed": 2}
        wrong.clear()
        assert run_eval.main([*flags, "--resume"]) == 0
    assert load("results/m.t.json")["complete"] and os.listdir("results") == ["m.t.json"]


def test_a_wrong_key_ends_the_run_at_once_and_is_never_shown(monkeypatch: pytest.MonkeyPatch,
                                                             capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    with StubEndpoint([React({"error": {"message": f"Incorrect API key provided: {KEY}"}}, 401)]) as endpoint:
        assert run_eval.main(["--base-url", endpoint.url, "--model", "m", "--tasks", "t.jsonl", "--concurrency", "1",
                              "--api-key-env", "MY_KEY"]) == 3
    out, err = capsys.readouterr()
    assert len(endpoint.requests) == 1
    assert err.count("\n") == 1 and "HTTP 401" in err
    assert KEY not in out + err and os.listdir("results") == []


KEYS = [
    (None, "https://api.openai.com/v1", {"OPENAI_API_KEY": "o", "HF_TOKEN": "h"}, "o", "any endpoint"),
    (None, "https://router.huggingface.co/v1", {"OPENAI_API_KEY": "o", "HF_TOKEN": "h"}, "h", "Hugging Face"),
    (None, "https://x.endpoints.huggingface.cloud", {"HF_TOKEN": "h"}, "h", "a private endpoint there"),
    (None, "https://nothuggingface.co/v1", {"HF_TOKEN": "h"}, None, "the token goes nowhere else"),
    (None, "http://127.0.0.1:1", {}, None, "no key"),
    (None, "http://127.0.0.1:1", {"OPENAI_API_KEY": " o\n"}, "o", "blanks around it"),
    ("MINE", "http://127.0.0.1:1", {"OPENAI_API_KEY": "o", "MINE": "m"}, "m", "a named variable"),
]


@pytest.mark.parametrize(("name", "url", "environ", "expected", "reason"), KEYS)
def test_which_key_goes_where(name: str | None, url: str, environ: dict[str, str], expected: str | None,
                              reason: str) -> None:
    assert run_eval.api_key(name, url, environ) == expected, reason


@pytest.mark.parametrize("key", ["zwei Teile", "schlüssel", "a\x00b"])
def test_a_key_that_no_header_carries_is_refused_unseen(key: str) -> None:
    with pytest.raises(UsageError, match="OPENAI_API_KEY") as caught:
        run_eval.api_key(None, "http://h", {"OPENAI_API_KEY": key})
    assert key not in str(caught.value)


@pytest.mark.parametrize(("text", "line"), [("a\n[b]\n", 2), ('["a", "b"]\n', 1), ('[{"model": "a"},\n', 1)])
def test_a_list_of_models_is_no_lineup(text: str, line: int, capsys: pytest.CaptureFixture[str]) -> None:
    Path("models.txt").write_text(text)
    assert run_eval.main(["--models", "models.txt", "--base-url", DEAD, "--tasks", "t.jsonl"]) == 2
    err = capsys.readouterr().err
    assert err == f"run_eval.py: models.txt:{line}: is a list; expected a name or a JSON object a line\n"


# --- as a process -----------------------------------------------------------------------------------------------------

def test_it_runs_on_the_standard_library_alone() -> None:
    done = subprocess.run(command("--tasks", "t.jsonl", python=("-S", "-I")), capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    with StubEndpoint() as endpoint:
        done = subprocess.run(command("--tasks", "t.jsonl", "--base-url", endpoint.url, "--model", "m",
                                      python=("-S", "-I", "-X", "dev")), capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, ""), "no warning either"


def test_help_imports_nothing_of_the_run_path() -> None:
    code = ("import sys, runpy\nsys.argv = ['run_eval.py', '--help']\n"
            "try: runpy.run_path(sys.executable and r'%s', run_name='__main__')\nexcept SystemExit: pass\n"
            "print(sorted(m for m in sys.modules if m.startswith('infranode_eval.')"
            " or m in ('http.client', 'ssl', 'json')), file=sys.stderr)" % (ROOT / "run_eval.py"))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "--stop-after-errors" in done.stdout
    assert done.stderr == "['infranode_eval.harmless', 'infranode_eval.terminal']\n"


@pytest.mark.parametrize("kind", (signal.SIGINT, signal.SIGTERM))
def test_a_signal_folds_what_is_there(kind: signal.Signals) -> None:
    write_tasks(Path("many.jsonl"), many(100))
    with StubEndpoint(lambda r: React(completion('{"name": "weather", "arguments": {"slug": "bonn"}}'),
                                      delay_s=0.02)) as endpoint:
        process = subprocess.Popen(command("--tasks", "many.jsonl", "--base-url", endpoint.url, "--model", "m",
                                           "--concurrency", "2"), text=True, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        wait_for(lambda: len(endpoint.requests) > 10)
        process.send_signal(kind)
        _, err = process.communicate(timeout=20)
        assert process.returncode == 3 and "stopped: interrupted" in err and err.count("\n") == 1
        result = load("results/m.many.json")
        scored = result["counts"]["scored"]
        assert 0 < scored < 100 and result["counts"]["n"] == 100 and result["stopped"] == "interrupted"
        assert run_eval.main(["--tasks", "many.jsonl", "--base-url", endpoint.url, "--model", "m", "--resume"]) == 0
    assert load("results/m.many.json")["counts"] == {"n": 100, "scored": 100, "failed": 0}
    assert 100 <= len(endpoint.requests) <= 102


def test_kill_9_loses_at_most_the_requests_in_flight() -> None:
    write_tasks(Path("many.jsonl"), many(100))
    with StubEndpoint(lambda r: React(completion('{"name": "weather", "arguments": {"slug": "bonn"}}'),
                                      delay_s=0.01)) as endpoint:
        flags = ["--tasks", "many.jsonl", "--base-url", endpoint.url, "--model", "m", "--concurrency", "4"]
        process = subprocess.Popen(command(*flags), stdout=subprocess.DEVNULL)
        wait_for(lambda: len(endpoint.requests) > 20)
        process.kill()
        process.wait()
        assert not Path("results/m.many.json").exists() and Path("results/m.many.journal.jsonl").exists()
        assert run_eval.main(flags) == 2, "the journal is protected"
        assert run_eval.main([*flags, "--resume"]) == 0
    assert load("results/m.many.json")["counts"] == {"n": 100, "scored": 100, "failed": 0}
    assert 100 <= len(endpoint.requests) <= 104
    assert os.listdir("results") == ["m.many.json"]


def wait_for(condition: Any) -> None:
    until = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < until, "nothing happened"
        time.sleep(0.005)


def test_a_closed_pipe_and_a_poor_terminal_are_no_tracebacks() -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = subprocess.run(command("--tasks", "t.jsonl"), stdout=write_end, stderr=subprocess.PIPE, text=True)
    os.close(write_end)
    assert (done.returncode, done.stderr) == (0, "")
    poor = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = subprocess.run(command("--tasks", "wüst—.jsonl"), capture_output=True, text=True, env=poor)
    assert done.returncode == 2 and done.stderr.startswith("run_eval.py: w\\xfcst")
