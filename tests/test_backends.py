"""The command with every backend: native runs, secrets nowhere, the probe, dry runs, questions, several models."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import jsonschema
import pytest

import run_eval
from tests.stub_endpoint import VENDORS, React, Request, StubEndpoint, StubProxy, completion, vendor_body

ROOT = Path(__file__).parents[1]
SCHEMA = json.loads((ROOT / "infranode_eval/data/result.schema.json").read_text("utf-8"))
KEY = "sk-geheim-0123456789"
SECRET = "Bearer header-secret-98765"
ROWS = [
    {"task_id": "a", "set": "core", "category": "routing_named", "question": "Wetter in Bonn?",
     "expected": [{"name": "weather", "arguments": {"slug": "bonn"}}]},
    {"task_id": "b", "set": "core", "category": "none", "question": "Wie alt ist die Kanzlerin?", "expected": []},
]
CALL = ("weather", {"slug": "bonn"})


@pytest.fixture(autouse=True)
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of its own with two tasks, no keys and no proxies in the environment."""
    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.chdir(tmp_path)
    for name in (*(n for n in os.environ if n.upper().endswith("_PROXY")), "OPENAI_API_KEY", "HF_TOKEN",
                 "ANTHROPIC_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    write_tasks("t.jsonl", ROWS)
    yield tmp_path
    signal.signal(signal.SIGTERM, before)


def write_tasks(name: str, rows: list[dict[str, Any]]) -> None:
    Path(name).write_text("".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows), "utf-8")


def many(count: int) -> list[dict[str, Any]]:
    return [ROWS[0] | {"task_id": f"t{i:03}", "question": f"Wetter in Bonn, Frage {i}?"} for i in range(count)]


def load(path: str) -> dict[str, Any]:
    result = json.loads(Path(path).read_text("utf-8"))
    jsonschema.validate(result, SCHEMA)
    return result


def answering(vendor: str, *calls: Any) -> Any:
    """A call for the weather, a sentence for anything else."""

    def script(request: Request) -> React:
        native = "Wetter in Bonn" in json.dumps(request.body)
        return React(vendor_body(vendor, None, CALL) if native else vendor_body(vendor, "Dafür passt kein Werkzeug."))

    return script


def flags(endpoint: StubEndpoint, vendor: str = "openai", *more: str) -> list[str]:
    return ["--backend", vendor, "--base-url", endpoint.url, "--model", "m", "--tasks", "t.jsonl", *more]


# --- runs -------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("vendor", VENDORS)
def test_a_native_run_is_right_and_says_what_it_sent(vendor: str) -> None:
    with StubEndpoint(answering(vendor)) as endpoint:
        assert run_eval.main(flags(endpoint, vendor, "--mode", "native")) == 0
    result = load("results/m.t.native.json")
    assert result["metrics"]["call_match"] == 1.0 and result["backend"] == vendor
    settings = result["settings"]
    assert settings["tool_choice"] == "auto" and settings["deviations"] == []
    assert settings["parallel_tool_calls"] is (None if vendor == "gemini" else False)
    row = result["rows"][0]
    assert row["usage"]["input_tokens"] == 7 and row["usage_raw"] and row["served_model"] == "stub-1"
    assert row.get("parallel_obeyed") is (None if vendor == "gemini" else True)
    assert row["finish_reason"] in ("tool_calls", "stop")


def test_prompt_mode_records_no_tool_settings() -> None:
    with StubEndpoint(lambda r: React(completion('{"name": "weather", "arguments": {"slug": "bonn"}}'))) as endpoint:
        run_eval.main(flags(endpoint))
    result = load("results/m.t.json")
    assert (result["settings"]["tool_choice"], result["settings"]["parallel_tool_calls"]) == (None, None)
    assert "parallel_obeyed" not in result["rows"][0] and result["setup"] == "S"


def test_more_than_one_call_although_one_was_asked_for_is_recorded() -> None:
    calls = [{"id": f"c{i}", "type": "function", "function": {"name": "weather", "arguments": '{"slug": "bonn"}'}}
             for i in range(2)]
    with StubEndpoint([React(completion(None, "tool_calls", tool_calls=calls))]) as endpoint:
        for mode in ("off", "on", "unset"):
            run_eval.main(flags(endpoint, "openai", "--mode", "native", "--parallel-tool-calls", mode, "--tag", mode))
    off, on, unset = (load(f"results/m.t.native.{mode}.json") for mode in ("off", "on", "unset"))
    assert [r["parallel_obeyed"] for r in off["rows"]] == [False, False]
    assert off["rows"][0]["outcome"] == "extra_calls"
    assert [r["settings"]["parallel_tool_calls"] for r in (off, on, unset)] == [False, True, None]
    assert all("parallel_obeyed" not in r for r in (*on["rows"], *unset["rows"]))


def test_what_an_endpoint_refuses_is_sent_otherwise_and_recorded_once() -> None:
    write_tasks("t.jsonl", many(12))

    def script(request: Request) -> React:
        for name in ("temperature", "parallel_tool_calls"):
            if name in request.body:
                return React({"error": {"message": f"Unsupported parameter: '{name}'", "param": name}}, 400)
        return React(vendor_body("openai", None, CALL))

    with StubEndpoint(script) as endpoint:
        assert run_eval.main(flags(endpoint, "openai", "--mode", "native", "--concurrency", "4")) == 0
        result = load("results/m.t.native.json")
        assert len(endpoint.requests) <= 12 + 2 * 4, "at most one extra request a worker and parameter"
        assert sum(r["attempts"] for r in result["rows"]) == len(endpoint.requests)
        assert result["settings"]["deviations"] == ["parallel_tool_calls refused: left out",
                                                    "temperature refused: sent without"]
        assert all("parallel_obeyed" not in r for r in result["rows"])
        before = len(endpoint.requests)
        assert run_eval.main(flags(endpoint, "openai", "--mode", "native", "--resume")) == 0
        assert len(endpoint.requests) == before
    assert load("results/m.t.native.json")["settings"]["deviations"] == result["settings"]["deviations"]


def test_a_call_that_the_server_cannot_read_is_an_outcome_and_not_retried() -> None:
    body = {"error": {"message": "The model produced output that does not match the expected peg-native format"}}
    with StubEndpoint([React(body, 500)]) as endpoint:
        assert run_eval.main(flags(endpoint, "openai", "--mode", "native")) == 0
    result = load("results/m.t.native.json")
    assert {r["outcome"] for r in result["rows"]} == {"malformed_call"} and len(endpoint.requests) == 2
    assert result["rows"][0]["finish_reason_raw"].startswith("HTTP 500")


DIFFERENT = [
    (["--tool-choice", "required"], "tool_choice"),
    (["--parallel-tool-calls", "on"], "parallel_tool_calls"),
    (["--extra-body", '{"top_k": 1}'], "extra_body"),
]


@pytest.mark.parametrize(("more", "named"), DIFFERENT)
def test_a_run_is_not_resumed_under_other_settings(more: list[str], named: str,
                                                   capsys: pytest.CaptureFixture[str]) -> None:
    with StubEndpoint(answering("openai")) as endpoint:
        assert run_eval.main(flags(endpoint, "openai", "--mode", "native")) == 0
        assert run_eval.main(flags(endpoint, "openai", "--mode", "native", "--resume", *more)) == 2
        assert named in capsys.readouterr().err
        assert run_eval.main(flags(endpoint, "openai", "--mode", "native", "--force", *more)) == 0
        assert run_eval.main(flags(endpoint, "openai", "--mode", "native", "--resume")) == 2, "nor back again"


def test_the_extra_body_is_sent_and_recorded() -> None:
    with StubEndpoint(answering("openai")) as endpoint:
        run_eval.main(flags(endpoint, "openai", "--mode", "native", "--extra-body", '{"reasoning": {"effort": "low"}}'))
    assert endpoint.requests[0].body["reasoning"] == {"effort": "low"}
    assert load("results/m.t.native.json")["settings"]["extra_body"] == {"reasoning": {"effort": "low"}}


# --- secrets ----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("vendor", VENDORS)
@pytest.mark.parametrize("status", (200, 400, 401, 500))
def test_keys_and_headers_are_in_no_file_and_on_no_screen(vendor: str, status: int, monkeypatch: pytest.MonkeyPatch,
                                                          capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    text = f"{KEY} und {SECRET} und sk-ge*****6789"
    body = vendor_body(vendor, text) if status == 200 else {"error": {"message": text}}
    with StubEndpoint([React(vendor_body(vendor, text)), React(body, status)]) as endpoint:   # an answer makes a file
        given = flags(endpoint, vendor, "--api-key-env", "MY_KEY", "--header", f"X-Auth: {SECRET}", "--retries", "0",
                      "--concurrency", "1", "--extra-body", json.dumps({"auth": {"key": KEY}}))
        run_eval.main(given)
        run_eval.main([*given, "--ask", "Wer da?"])
        run_eval.main([*given, "--dry-run", "--force"])
    seen = "".join(capsys.readouterr()) + "".join(p.read_text("utf-8") for p in Path().rglob("*") if p.is_file())
    assert SECRET in endpoint.requests[0].headers["x-auth"] and KEY in str(endpoint.requests[0].headers)
    assert "***" in seen and not any(part in seen for part in ("0123456789", "header-secret", "sk-ge"))
    assert endpoint.requests[0].body["auth"] == {"key": KEY}
    settings = load("results/m.t.json")["settings"]
    assert settings["headers"] == {"X-Auth": "***"} and settings["extra_body"] == {"auth": {"key": "***"}}


def test_the_journal_of_a_broken_run_holds_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    reactions = [React(completion(f"Hallo {KEY}")), React({"error": KEY}, 500)]
    with StubEndpoint(reactions) as endpoint:
        assert run_eval.main(flags(endpoint, "openai", "--retries", "0", "--concurrency", "1", "--header",
                                   f"X-Auth: {SECRET}")) == 3
    journal = Path("results/m.t.journal.jsonl").read_text("utf-8")
    assert "***" in journal and KEY not in journal and "header-secret" not in journal


def test_a_run_goes_through_the_proxy_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    with StubEndpoint(answering("openai")) as endpoint, StubProxy("127.0.0.1", urlsplit(endpoint.url).port) as proxy:
        monkeypatch.setenv("http_proxy", f"http://nutzer:kennwort99@{proxy.address}")
        assert run_eval.main(["--base-url", "http://llm.example", "--model", "m", "--tasks", "t.jsonl"]) == 0
    assert proxy.heads[0].startswith("POST http://llm.example:80/v1/chat/completions")
    assert "kennwort99" not in Path("results/m.t.json").read_text("utf-8")


# --- the probe --------------------------------------------------------------------------------------------------------

PROBES = [
    (React({"error": {"message": "model m does not exist", "code": "model_not_found"}}, 404), "does not exist"),
    (React({"error": {"message": '"auto" tool choice requires --enable-auto-tool-choice'}}, 400), "tool choice"),
    (React({"error": {"message": "no"}}, 403), "HTTP 403"),
]


@pytest.mark.parametrize(("reaction", "shown"), PROBES, ids=[p[1] for p in PROBES])
def test_a_long_run_with_a_mistake_fails_after_one_request(reaction: React, shown: str,
                                                           capsys: pytest.CaptureFixture[str]) -> None:
    write_tasks("t.jsonl", many(201))
    with StubEndpoint([reaction]) as endpoint:
        assert run_eval.main(flags(endpoint, "openai", "--mode", "native")) == 3
    assert len(endpoint.requests) == 1
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and shown in err and "first request was refused" in err
    assert os.listdir("results") == [], "nothing was answered, nothing is kept"


def test_the_probe_counts_and_is_paid_once() -> None:
    write_tasks("t.jsonl", many(201))
    with StubEndpoint(answering("openai")) as endpoint:
        assert run_eval.main(flags(endpoint, "openai", "--mode", "native")) == 0
    assert len(endpoint.requests) == 201
    assert endpoint.requests[0].at < min(r.at for r in endpoint.requests[1:])
    assert load("results/m.t.native.json")["counts"]["scored"] == 201


# --- dry runs ---------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("vendor", VENDORS)
def test_a_dry_run_shows_everything_and_sends_nothing(vendor: str, monkeypatch: pytest.MonkeyPatch,
                                                      capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    with StubEndpoint() as endpoint:
        assert run_eval.main(flags(endpoint, vendor, "--mode", "native", "--dry-run", "--repeats", "3", "--price-in",
                                   "1", "--price-out", "10", "--api-key-env", "MY_KEY")) == 0
        assert endpoint.connections == 0
    out = capsys.readouterr().out
    assert re.search(r"requests +6\b", out) and re.search(r"price +\d+\.\d{4}", out) and "(as given)" in out
    assert "POST http://127.0.0.1" in out and ": ***" in out and "Wetter in Bonn?" in out
    assert json.loads(out[out.index("\n{"):]), "the request's body is JSON"
    assert not any(Path("results").iterdir()) if Path("results").exists() else True


def test_a_dry_run_counts_what_resume_would_send(capsys: pytest.CaptureFixture[str]) -> None:
    with StubEndpoint(answering("openai")) as endpoint:
        run_eval.main(flags(endpoint, "openai", "--limit", "1"))
        assert run_eval.main(flags(endpoint, "openai", "--resume", "--dry-run")) == 0
        assert run_eval.main(flags(endpoint, "openai", "--dry-run")) == 0, "a result in the way is only told"
        assert len(endpoint.requests) == 1
    with_resume, anew = capsys.readouterr().out.split("dry run, nothing is sent")[1:]
    assert re.search(r"requests +1\b", with_resume) and "note:" not in with_resume
    assert re.search(r"requests +2\b", anew) and "note: results/m.t.json exists; --resume continues" in anew


def test_a_dry_run_knows_list_prices(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_eval.main(["--backend", "anthropic", "--model", "claude-haiku-4-5", "--tasks", "t.jsonl",
                          "--dry-run"]) == 0, "no key is needed"
    assert "list price of" in capsys.readouterr().out
    assert run_eval.main(["--tasks", "t.jsonl", "--dry-run"]) == 0
    assert "POST" not in capsys.readouterr().out, "a baseline sends nothing"


# --- one question -----------------------------------------------------------------------------------------------------

def test_a_question_shows_call_text_and_latency_and_writes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    for vendor in VENDORS:
        with StubEndpoint([React(vendor_body(vendor, "Ich sehe\nnach.\x1b[31m", CALL))]) as endpoint:
            assert run_eval.main(["--backend", vendor, "--base-url", endpoint.url, "--model", "m", "--mode", "native",
                                  "--ask", "Wetter in Bonn?"]) == 0
        out = capsys.readouterr().out
        assert out.splitlines()[:3] == ['call    weather {"slug": "bonn"}', "text    Ich sehe",
                                        "text    nach.\\x1b[31m"]
        assert re.search(r"native mode, \d+\.\d\d s, finish reason \w+, input tokens 7", out)
        assert "Wetter in Bonn?" in json.dumps(endpoint.requests[0].body) and len(endpoint.requests) == 1
    assert os.listdir() == ["t.jsonl"]


def test_a_question_adapts_and_fails_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with StubEndpoint([React({"error": {"message": "no temperature"}}, 400), React(completion("Nein."))]) as endpoint:
        assert run_eval.main(["--base-url", endpoint.url, "--model", "m", "--ask", "x"]) == 0
    out = capsys.readouterr().out
    assert "call    none" in out and "temperature refused" in out
    with StubEndpoint([React({"error": "kaputt"}, 500)]) as endpoint:
        assert run_eval.main(["--base-url", endpoint.url, "--model", "m", "--ask", "x"]) == 3
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and "HTTP 500: kaputt" in err
    assert run_eval.main(["--ask", "Wie ist das Wetter in Köln?"]) == 0
    assert 'weather {"slug": "koeln"}' in capsys.readouterr().out


# --- several models ---------------------------------------------------------------------------------------------------

def test_models_run_one_after_another_each_with_its_result(capsys: pytest.CaptureFixture[str]) -> None:
    with StubEndpoint(answering("openai")) as one, StubEndpoint(answering("anthropic")) as two:
        second = {"model": "claude", "backend": "anthropic", "base_url": two.url, "max_tokens": 99,
                  "extra_body": {"top_k": 1}, "header": ["X-A: 1"]}
        Path("models.txt").write_text(f"# Modelle\norg/a\n\n{json.dumps(second)}\n")
        given = ["--models", "models.txt", "--base-url", one.url, "--mode", "native", "--tasks", "t.jsonl"]
        assert run_eval.main(given) == 0
        assert run_eval.main(given) == 2, "files are protected"
        assert run_eval.main([*given, "--resume"]) == 0
        assert (len(one.requests), len(two.requests)) == (2, 2)
    assert sorted(os.listdir("results")) == ["claude.t.native.json", "org__a.t.native.json"]
    claude = load("results/claude.t.native.json")
    assert claude["backend"] == "anthropic" and claude["settings"]["max_tokens"] == 99
    assert two.requests[0].body["top_k"] == 1 and two.requests[0].headers["x-a"] == "1"
    assert {r.body["model"] for r in one.requests} == {"org/a"}
    assert "claude: " in capsys.readouterr().err


def test_a_failing_model_does_not_keep_the_next_from_running() -> None:
    def script(request: Request) -> React:
        return React({"error": "weg"}, 404) if request.body["model"] == "weg" else answering("openai")(request)

    Path("models.txt").write_text("weg\nda\n")
    with StubEndpoint(script) as endpoint:
        assert run_eval.main(["--models", "models.txt", "--base-url", endpoint.url, "--mode", "native", "--tasks",
                              "t.jsonl"]) == 3
    assert load("results/da.t.native.json")["complete"] and os.listdir("results") == ["da.t.native.json"]


LINEUPS = [
    ("", "names no model"),
    ("# nur ein Kommentar\n", "names no model"),
    ('a\n{"model": "b", "farbe": 1}\n', "models.txt:2: unknown key 'farbe'"),
    ('{"backend": "openai"}\n', 'models.txt:1: has no "model"'),
    ("{kaputt\n", "models.txt:1: is no JSON object"),
    ('{"model": "b", "max_tokens": -1}\n', "models.txt:1: argument --max-tokens"),
    ('a\n{"model": "b", "api_key_env": "NOPE"}\n', "models.txt:2: the environment variable NOPE"),
]


@pytest.mark.parametrize(("text", "shown"), LINEUPS)
def test_a_broken_file_of_models_is_refused_before_the_first_request(text: str, shown: str,
                                                                     capsys: pytest.CaptureFixture[str]) -> None:
    Path("models.txt").write_text(text)
    with StubEndpoint() as endpoint:
        assert run_eval.main(["--models", "models.txt", "--base-url", endpoint.url, "--tasks", "t.jsonl"]) == 2
        assert endpoint.connections == 0
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and shown in err


# --- wrong usage ------------------------------------------------------------------------------------------------------

DEAD = ["--base-url", "http://127.0.0.1:9", "--model", "m", "--tasks", "t.jsonl"]
BAD = [
    ([*DEAD, "--tool-choice", "required"], "--tool-choice required needs --mode native", "no tools, no choice"),
    ([*DEAD, "--tool-choice", "any"], "--tool-choice", "another vendor's word"),
    ([*DEAD, "--header", "geheim"], "expected 'Name: value'", "no colon"),
    ([*DEAD, "--header", "a b: geheim"], "expected 'Name: value'", "a blank in the name"),
    ([*DEAD, "--header", "X: geheim\nY: 1"], "the value of X", "a line break"),
    ([*DEAD, "--header", "Content-Length: 1"], "belongs to the connection", "framing"),
    ([*DEAD, "--extra-body", "[1]"], "expected a JSON object", "no object"),
    ([*DEAD, "--extra-body", "{"], "expected a JSON object", "no JSON"),
    ([*DEAD, "--extra-body", '{"temperature": 1}'], "temperature is set by --temperature", "a flag of its own"),
    ([*DEAD, "--extra-body", '{"messages": []}'], "messages is set by --tasks", "the test itself"),
    ([*DEAD, "--extra-body", '{"generationConfig": {"maxOutputTokens": 1}}'], "--max-tokens", "the same inside"),
    ([*DEAD, "--price-in", "1", "--dry-run"], "go together", "half a price"),
    ([*DEAD, "--ask", "x", "--dry-run"], "exclude each other", "two things at once"),
    (["--models", "x", "--model", "m"], "leave out --model", "two ways to name a model"),
    (["--models", "x", "--out", "r.json"], "leave out --out", "one file for many"),
    (["--models", "nirgends.txt"], "nirgends.txt: cannot be read", "no file"),
    (["--backend", "anthropic", "--model", "m"], "ANTHROPIC_API_KEY", "no key for the vendor"),
    (["--backend", "gemini", "--model", "m"], "GEMINI_API_KEY", "no key for the vendor"),
    (["--backend", "responses", "--model", "m"], "OPENAI_API_KEY", "no key for the vendor"),
    (["--model", "oracle", "--ask", "x"], "answers tasks, not questions", "the oracle"),
]


@pytest.mark.parametrize(("given", "shown", "reason"), BAD, ids=[b[2] for b in BAD])
def test_wrong_usage_is_one_line(given: list[str], shown: str, reason: str,
                                 capsys: pytest.CaptureFixture[str]) -> None:
    assert run_eval.main(given) == 2, reason
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and shown in err and "geheim" not in err


def test_an_unusable_proxy_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "socks5://u:geheim@p:1")
    assert run_eval.main(["--base-url", "https://llm.example", "--model", "m", "--tasks", "t.jsonl"]) == 2
    err = capsys.readouterr().err
    assert "HTTPS_PROXY" in err and "geheim" not in err


VENDOR_KEYS = [("anthropic", "ANTHROPIC_API_KEY"), ("gemini", "GEMINI_API_KEY"), ("responses", "OPENAI_API_KEY"),
               ("openai", "OPENAI_API_KEY")]


@pytest.mark.parametrize(("backend", "variable"), VENDOR_KEYS)
def test_each_vendors_key_goes_to_its_backend_alone(backend: str, variable: str) -> None:
    environ = {name: name.lower() for _, name in VENDOR_KEYS}
    assert run_eval.api_key(None, None, environ, backend) == variable.lower()
    assert run_eval.api_key(None, "http://127.0.0.1:1", environ, backend) == variable.lower()
