"""The command with --suite bench: its files, its flags, what is sent, cases of one's own, and the starter."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from zoneinfo import available_timezones

import jsonschema
import pytest

import run_eval
from lm_eval_task.cases import read_cases
from lm_eval_task.records import Call, Task
from tests.stub_endpoint import React, Request, StubEndpoint, completion

ROOT = Path(__file__).parents[1]
SCHEMA = json.loads((ROOT / "infranode_eval/data/result.schema.json").read_text("utf-8"))
CASES = {which: read_cases(which=which) for which in ("original", "paraphrase", "all")}
DEAD = "http://127.0.0.1:9"


@pytest.fixture(autouse=True)
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_API_KEY", "HF_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    yield tmp_path
    signal.signal(signal.SIGTERM, before)


def run(*flags: str) -> int:
    return run_eval.main(["--suite", "bench", *flags])


def load(path: str | Path) -> dict[str, Any]:
    result = json.loads(Path(path).read_text("utf-8"))
    jsonschema.validate(result, SCHEMA)
    return result


def question_in(body: Mapping[str, Any]) -> str:
    return body["messages"][-1]["content"].rpartition("Frage:\n")[2]


def case_of(request: Request) -> Task:
    return next(task for task in CASES["all"].tasks if task.question == question_in(request.body))


def entries(calls: tuple[Call, ...]) -> dict[str, Any]:
    """The expected calls as an endpoint sends them; a question back where none is."""
    body = completion(None if calls else "Welche Angabe fehlt mir noch?")
    if calls:
        body["choices"][0]["message"]["tool_calls"] = [
            {"id": str(i), "type": "function", "function": {"name": c.name, "arguments": json.dumps(dict(c.arguments))}}
            for i, c in enumerate(calls)]
    return body


def right(request: Request) -> React:
    expected = case_of(request).expected
    if "tools" in request.body:
        return React(entries(expected))
    return React(completion("\n".join(json.dumps(c.to_json()) for c in expected) or "Da passt nichts."))


# --- files ------------------------------------------------------------------------------------------------------------

NAMES = [
    ((), "never_calls", "original"), (("--model", "oracle"), "oracle", "original"),
    (("--set", "paraphrase"), "never_calls.paraphrase", "paraphrase"),
    (("--mode", "native", "--set", "all", "--tag", "t"), "never_calls.all.native.t", "all"),
]


@pytest.mark.parametrize(("flags", "name", "which"), NAMES)
def test_results_lie_in_a_folder_of_the_suite(flags: tuple[str, ...], name: str, which: str) -> None:
    assert run(*flags) == 0
    result = load(f"results/bench/{name}.json")
    assert (result["suite"], result["set"]) == ("bench", which)
    assert [row["task_id"] for row in result["rows"]] == [task.task_id for task in CASES[which].tasks]
    assert result["settings"]["max_tokens"] == 512 and result["settings"]["zone"] == "+02:00"
    assert result["hashes"]["tools"] == CASES[which].tools.fingerprint


def test_both_rules_are_always_stored_and_the_flag_says_which_leads(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--model", "oracle") == 0
    ours = load("results/bench/oracle.json")
    assert ours["headline"] == {"auftraege_gelungen": 1.0}
    assert run("--model", "oracle", "--streng") == 0, "another presentation of the same run"
    theirs = load("results/bench/oracle.json")
    assert list(theirs["headline"]) == ["streng", "auftraege_gelungen"]
    assert {**ours, "headline": None} == {**theirs, "headline": None}
    out = capsys.readouterr().out
    assert out.index("auftraege_gelungen") < out.index("streng  ")
    assert {"hits", "steps", "emitted", "form_notes", "streng_match"} <= ours["rows"][0].keys()


@pytest.mark.parametrize("model", ("never_calls", "asks_always", "always_calls", "first_step_only", "oracle"))
def test_a_baseline_writes_the_same_bytes_again(model: str) -> None:
    assert run("--model", model, "--concurrency", "1") == 0
    path = Path(f"results/bench/{model}.json")
    first = path.read_bytes()
    assert run("--model", model, "--concurrency", "7") == 0
    assert path.read_bytes() == first


@pytest.mark.parametrize("name", ["never_calls", "asks_always", "always_calls", "first_step_only", "oracle"])
@pytest.mark.parametrize("which", ("original", "paraphrase"))
def test_the_stored_baselines_are_what_the_command_writes(name: str, which: str) -> None:
    assert run("--model", name, "--set", which) == 0
    written = Path(f"results/bench/{name}{'.paraphrase' if which == 'paraphrase' else ''}.json")
    assert written.read_bytes() == (ROOT / written).read_bytes()


# --- an endpoint ------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("mode", ("prompt", "native"))
def test_a_case_sends_the_tools_that_it_offers_and_room_for_several_calls(mode: str) -> None:
    with StubEndpoint(right) as endpoint:
        assert run("--base-url", endpoint.url, "--model", "m", "--mode", mode) == 0
    result = load(f"results/bench/m{'.native' if mode == 'native' else ''}.json")
    assert result["metrics"]["auftraege_gelungen"] == 1.0 and result["metrics"]["streng_auftraege_gelungen"] == 1.0
    for request in endpoint.requests:
        offered = case_of(request).extra.get("nur") or list(CASES["original"].tools.by_name)
        lines = [line for line in request.body["messages"][0]["content"].split("\n") if '"parameters"' in line]
        shown = [tool["function"]["name"] for tool in request.body["tools"]] if mode == "native" else \
            [json.loads(line)["name"] for line in lines]
        assert shown == offered
        assert request.body["max_tokens"] == 512
        assert request.body.get("parallel_tool_calls") is (True if mode == "native" else None)


@pytest.mark.parametrize(("flags", "reaction", "shown"), [
    (("--backend", "anthropic"), {"type": "message", "role": "assistant", "model": "m", "stop_reason": "tool_use",
                                  "content": [{"type": "tool_use", "id": "1", "name": "list_contacts", "input": {}}],
                                  "usage": {"input_tokens": 1, "output_tokens": 1}}, "anthropic"),
    (("--backend", "gemini"), {"candidates": [{"finishReason": "STOP", "content": {"role": "model", "parts": [
        {"functionCall": {"name": "list_contacts", "args": {}}}]}}]}, "gemini"),
    (("--backend", "responses"), {"id": "r", "object": "response", "status": "completed", "model": "m", "output": [
        {"type": "function_call", "name": "list_contacts", "arguments": "{}", "call_id": "c"}]}, "responses"),
])
@pytest.mark.parametrize("mode", ("prompt", "native"))
def test_every_backend_takes_the_suite(flags: tuple[str, ...], reaction: dict[str, Any], shown: str, mode: str,
                                       monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("K", "k")
    with StubEndpoint([React(reaction)]) as endpoint:
        assert run(*flags, "--base-url", endpoint.url, "--model", "m", "--api-key-env", "K", "--mode", mode,
                   "--limit", "1") == 0
    row, = load(f"results/bench/m{'.native' if mode == 'native' else ''}.json")["rows"]
    assert row["task_id"] == "S1-1"
    assert row["outcome"].startswith("ok"), shown


def test_an_unfinished_run_is_gone_on_with() -> None:
    down = {"S1-2", "S5-1"}

    def script(request: Request) -> React:
        return React({"error": "kaputt"}, 500) if case_of(request).task_id in down else right(request)

    with StubEndpoint(script) as endpoint:
        flags = ["--base-url", endpoint.url, "--model", "m", "--mode", "native", "--retries", "0"]
        assert run(*flags) == 3
        before = load("results/bench/m.native.json")
        assert before["counts"] == {"n": 42, "scored": 40, "failed": 2}
        assert before["metrics"]["auftraege_gelungen"] == 40 / 42
        assert before["answered"]["auftraege_gelungen"] == 1.0
        assert run(*flags) == 2, "nothing is overwritten"
        down.clear()
        assert run(*flags, "--resume", "--streng") == 0, "which rule leads does not make another run"
        assert len(endpoint.requests) == 44
        assert run(*flags, "--force", "--limit", "3") == 0
    assert load("results/bench/m.native.json")["counts"]["n"] == 3


def test_an_unfinished_run_over_the_paraphrases_is_another_one(capsys: pytest.CaptureFixture[str]) -> None:
    with StubEndpoint(right) as endpoint:
        flags = ["--base-url", endpoint.url, "--model", "m", "--out", "r.json"]
        assert run(*flags) == 0
        assert run(*flags, "--set", "paraphrase", "--resume") == 2
    err = capsys.readouterr().err
    assert "set" in err and "hash of tasks" in err


def test_repeats_are_rows_of_their_own() -> None:
    with StubEndpoint(right) as endpoint:
        assert run("--base-url", endpoint.url, "--model", "m", "--repeats", "2", "--temperature", "0.7") == 0
    result = load("results/bench/m.json")
    assert result["counts"]["n"] == 84 and {row["repeat"] for row in result["rows"]} == {1, 2}
    assert {request.body["temperature"] for request in endpoint.requests} == {0.7}


def test_a_dry_run_counts_the_prompt_of_this_suite(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--base-url", DEAD, "--model", "m", "--mode", "native", "--dry-run") == 0
    out = capsys.readouterr().out
    assert "an estimate (measure.py --suite bench --tokenizer counts)" in out
    assert "suite bench, set original" in out and "results/bench/m.native.json" in out
    body = json.loads("{" + out.partition("\n{")[2])
    first = CASES["original"].tasks[0]
    assert body["messages"][0]["content"] == CASES["original"].system
    assert [tool["function"]["name"] for tool in body["tools"]] == first.extra["nur"]
    assert "Städten" not in out and not Path("results/bench").exists() or not any(Path("results/bench").iterdir())


def test_one_question_is_asked_with_the_tools_of_this_suite(capsys: pytest.CaptureFixture[str]) -> None:
    calls = (Call("list_rooms"), Call("list_calendars"))
    with StubEndpoint([React(completion("\n".join(json.dumps(c.to_json()) for c in calls)))]) as endpoint:
        assert run("--base-url", endpoint.url, "--model", "m", "--ask", "Räume und Kalender?") == 0
    assert question_in(endpoint.requests[0].body) == "Räume und Kalender?"
    assert endpoint.requests[0].body["messages"][0]["content"].startswith(CASES["original"].system)
    assert capsys.readouterr().out.startswith("call    list_rooms {}\ncall    list_calendars {}\n")


def test_several_models_run_one_after_another() -> None:
    Path("models.txt").write_text("never_calls\noracle\n")
    assert run("--models", "models.txt") == 0
    assert load("results/bench/oracle.json")["metrics"]["auftraege_gelungen"] == 1.0
    assert load("results/bench/never_calls.json")["metrics"]["auftraege_gelungen"] == 14 / 42


# --- the starter, and cases of one's own ------------------------------------------------------------------------------

@pytest.mark.parametrize("folder", ("neu", "mit Leerzeichen/tief"))
def test_the_starter_runs_at_once(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--init", folder) == 0
    shown = capsys.readouterr().out
    assert sorted(path.name for path in Path(folder).iterdir()) == ["README.md", "faelle.jsonl", "system.txt",
                                                                    "werkzeuge.json"]
    assert "--model oracle" in shown and "@" not in Path(folder, "README.md").read_text("utf-8")
    own = ["--cases", f"{folder}/faelle.jsonl", "--tools", f"{folder}/werkzeuge.json"]
    for model, solved in (("oracle", 5), ("never_calls", 2), ("first_step_only", 4), ("always_calls", 0)):
        for mode in ("prompt", "native"):
            assert run(*own, "--model", model, "--mode", mode) == 0
            result = load(f"results/bench/{model}.faelle{'.native' if mode == 'native' else ''}.json")
            assert result["metrics"]["auftraege_gelungen"] == solved / 5, model
            assert result["set"] == "faelle"
    rows = load("results/bench/oracle.faelle.json")["rows"]
    assert [row["category"] for row in rows] == ["S1", "S2", "S3", "S4", "S5"]


def test_the_starter_has_a_second_wording_of_each_case() -> None:
    assert run("--init", "neu") == 0
    own = ["--cases", "neu/faelle.jsonl", "--tools", "neu/werkzeuge.json"]
    assert run(*own, "--set", "paraphrase", "--model", "oracle") == 0
    assert load("results/bench/oracle.faelle.paraphrase.json")["metrics"]["auftraege_gelungen"] == 1.0
    assert run(*own, "--set", "all") == 0
    assert load("results/bench/never_calls.faelle.all.json")["counts"]["n"] == 10


@pytest.mark.parametrize("flags", [(), ("--dry-run",)])
def test_a_run_tells_its_system_text_and_what_may_be_an_oversight(flags: tuple[str, ...],
                                                                  capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--init", "neu") == 0
    own = ["--cases", "neu/faelle.jsonl", "--tools", "neu/werkzeuge.json", "--force", *flags]
    capsys.readouterr()
    assert run(*own) == 0
    shown = capsys.readouterr()
    assert "\nsystem text: neu/system.txt, 3 lines\n" in shown.out and shown.err == ""
    lines = Path("neu/faelle.jsonl").read_text("utf-8").splitlines(keepends=True)
    Path("neu/faelle.jsonl").write_text("".join(line for line in lines if '"kopf"' not in line), "utf-8")
    assert run(*own) == 0
    shown = capsys.readouterr()
    assert "\nsystem text: built-in\n" in shown.out
    assert shown.err.startswith("run_eval.py: note: neu/faelle.jsonl: no ") and shown.err.count("\n") == 1
    assert run(*flags) == 0
    assert "\nsystem text: bench_system.txt, " in capsys.readouterr().out


def test_the_two_commands_of_the_starter_are_real_flags() -> None:
    import shlex

    assert run("--init", "mein Prüfstand") == 0
    text = Path("mein Prüfstand/README.md").read_text("utf-8")
    commands = [shlex.split(line) for line in text.splitlines() if line.startswith("python3 run_eval.py")]
    assert len(commands) == 2
    assert run_eval.main(commands[0][2:]) == 0
    assert run_eval.main([*commands[1][2:], "--dry-run"]) == 0


@pytest.mark.parametrize("used", ("a.txt", "unter/ordner"))
def test_a_folder_in_use_is_left_alone(used: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("da", used).parent.mkdir(parents=True)
    Path("da", used).write_text("meins")
    assert run("--init", "da") == 2
    assert "da is not an empty folder" in capsys.readouterr().err
    assert [path.name for path in Path("da").rglob("*") if path.is_file()] == [Path(used).name]


def test_a_users_own_paraphrases_have_a_file_of_their_own() -> None:
    rows = [{"id": "S4-1", "stufe": "S4", "frage": "Danke!", "frage2": "Vielen Dank.", "erwartet": []}]
    Path("eigene.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    assert run("--cases", "eigene.jsonl", "--set", "paraphrase") == 0
    assert load("results/bench/never_calls.eigene.paraphrase.json")["set"] == "eigene.paraphrase"


@pytest.mark.parametrize(("start", "solved"), [("2026-07-01T10:00:00Z", True), ("2026-07-01T11:00:00Z", False),
                                               ("2026-12-01T11:00:00Z", True), ("2026-12-01T10:00:00Z", False)])
def test_a_zone_by_name_holds_in_summer_and_in_winter(start: str, solved: bool) -> None:
    if not available_timezones():
        pytest.skip("no time zone database")
    gold = {"room": "atelier", "start": start[:10] + "T12:00:00", "duration_min": 60}
    rows = [{"kopf": {"zeitzone": "Europe/Berlin"}},
            {"id": "S2-1", "stufe": "S2", "frage": "?", "erwartet": [{"name": "book_room", "args": gold}]}]
    Path("zone.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    reply = React(entries((Call("book_room", gold | {"start": start}),)))
    with StubEndpoint([reply]) as endpoint:
        assert run("--cases", "zone.jsonl", "--base-url", endpoint.url, "--model", "m", "--mode", "native") == 0
    result = load("results/bench/m.zone.native.json")
    assert result["settings"]["zone"] == "Europe/Berlin" and result["rows"][0]["call_match"] is solved


# --- whatever is wrong ------------------------------------------------------------------------------------------------

BAD = [
    (["--cases", "gut.jsonl"], "gut.jsonl looks like cases of the test bench: add --suite", "no suite"),
    (["--tasks", "kopf.jsonl", "--set", "paraphrase"], "kopf.jsonl looks like cases of the test bench: add --suite",
     "a head and a comment, and the suite forgotten"),
    (["--suite", "bench", "--cases", "kaputt.jsonl"], "if it is a tool of your own, give --tools FILE", "no tools"),
    (["--suite", "bench", "--cases", "haupt.jsonl"], "haupt.jsonl:1: \"task_id\": a task of the main suite, no case",
     "the other suite"),
    (["--suite", "bench", "--set", "core"], "suite bench has no set 'core'; expected one of original", "a main set"),
    (["--set", "original"], "set 'original' does not exist; expected one of core", "a set of the bench"),
    (["--suite", "bench", "--arm", "order"], "suite bench has no arms; leave out --arm", "an arm"),
    (["--suite", "bench", "--shuffle-tools", "1"], "leave out --shuffle-tools", "its old name"),
    (["--streng"], "suite single has one rule only; leave out --streng", "the rule of the bench"),
    (["--init", "neu"], "suite single has no starter", "a starter of the main suite"),
    (["--suite", "bench", "--init", "neu", "--dry-run"], "--init and --dry-run exclude each other", "two jobs"),
    (["--suite", "bench", "--init", "datei.txt"], "datei.txt is not an empty folder", "a file as folder"),
    (["--suite", "bench", "--init", "datei.txt/neu"], "cannot be written", "a file as parent"),
    (["--suite", "bench", "--cases", "nirgends.jsonl"], "nirgends.jsonl: cannot be read", "no such file"),
    (["--suite", "bench", "--cases", "kaputt.jsonl"], "kaputt.jsonl:2: case S2-1: \"erwartet\"[0]", "an unknown tool"),
    (["--suite", "bench", "--tools", "nirgends.json"], "nirgends.json: cannot be read", "no such tools"),
    (["--suite", "bench", "--cases", "gut.jsonl", "--set", "paraphrase"], "gut.jsonl:1: case S4-1: \"frage2\"",
     "no second questions"),
    (["--suite", "bench", "--model", "bm26"], "baseline 'bm26' does not exist", "an unknown baseline"),
]


@pytest.mark.parametrize(("flags", "shown", "reason"), BAD, ids=[b[2] for b in BAD])
def test_one_line_and_exit_status_2(flags: list[str], shown: str, reason: str, workplace: Path,
                                    capsys: pytest.CaptureFixture[str]) -> None:
    (workplace / "datei.txt").write_text("meins")
    good = {"id": "S4-1", "stufe": "S4", "frage": "Danke!", "erwartet": []}
    bad = {"id": "S2-1", "stufe": "S2", "frage": "?", "erwartet": [{"name": "fliegen", "args": {}}]}
    (workplace / "gut.jsonl").write_text(json.dumps(good) + "\n")
    (workplace / "kopf.jsonl").write_text('# meine\n{"kopf": {}}\n' + json.dumps(good) + "\n")
    (workplace / "haupt.jsonl").write_text('{"task_id": "a", "question": "?", "expected": []}\n')
    (workplace / "kaputt.jsonl").write_text(json.dumps(good) + "\n" + json.dumps(bad) + "\n")
    assert run_eval.main(flags) == 2, reason
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and shown in err
    assert (workplace / "datei.txt").read_text() == "meins" and not list(workplace.rglob("results/*/*"))
