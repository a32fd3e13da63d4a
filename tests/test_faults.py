"""Each kind of trouble against a stub: what is tried again, what is not, and that one bad task never stops a run."""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path

import pytest

import run_eval
from tests.stub_endpoint import React, Request, StubEndpoint, completion

GOOD = React(completion('{"name": "weather", "arguments": {"slug": "bonn"}}'))
CHUNKED = (b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
           b"10\r\n{\"choices\": [{\"i\r\n")

PASSING = {
    "408": React({"error": "zu langsam"}, 408), "409": React({"error": "belegt"}, 409),
    "425": React({"error": "zu früh"}, 425), "429 without a time": React({"error": "langsam"}, 429),
    "429 with a time": React({"error": "langsam"}, 429, {"Retry-After": "0.1"}),
    "500": React({"error": "kaputt"}, 500), "502 from a proxy": React(b"<html>Bad Gateway</html>", 502),
    "503": React({}, 503), "504": React({}, 504), "529": React({"error": {"type": "overloaded_error"}}, 529),
    "error inside 200": React({"error": {"message": "upstream", "code": 502}}),
    "reset before the response": React(keep=0), "reset in the headers": React(keep=30), "body cut": React(keep=150),
    "chunked body cut": React(raw=CHUNKED, close=True), "no JSON": React(b"ok"), "broken JSON": React(b'{"choices": ['),
    "empty body": React(b""), "no HTTP": React(raw=b"SSH-2.0-x\r\n", close=True), "empty reply": React(completion("")),
    "a hang": React(delay_s=3),
    "dripping body": React(drip_s=0.05, drip_from=100), "dripping headers": React(drip_s=0.05),
    "dripping chunks": React(raw=CHUNKED + b" " * 100, drip_s=0.05, drip_from=90),
}
LASTING = {
    "400": (React({"error": "falsch"}, 400), "infra_error"), "403": (React({"error": "verboten"}, 403), "auth_error"),
    "404": (React({"error": "weg"}, 404), "infra_error"), "422": (React({"error": "unlesbar"}, 422), "infra_error"),
    "413": (React({"error": "zu groß"}, 413), "context_overflow"),
    "overflow": (React({"error": "maximum context length is 9"}, 400), "context_overflow"),
}


def run(kinds: dict[str, React], folder: Path, *flags: str) -> tuple[int, dict[str, dict], Counter[str]]:
    """The exit status, the rows and the requests of each kind: a task a kind, the kind's reaction at the first try.

    No rows where nothing was written.
    """
    tasks = [{"task_id": kind, "category": "x", "question": f"Wetter in Bonn: {kind}?",
              "expected": [{"name": "weather", "arguments": {"slug": "bonn"}}]} for kind in kinds]
    (folder / "t.jsonl").write_text("".join(json.dumps(task) + "\n" for task in tasks), "utf-8")
    requests: Counter[str] = Counter()

    def script(request: Request) -> React:
        kind = request.body["messages"][-1]["content"].rpartition("Bonn: ")[2].rstrip("?")
        requests[kind] += 1
        return kinds[kind] if requests[kind] == 1 else GOOD

    with StubEndpoint(script) as endpoint:
        status = run_eval.main(["--base-url", endpoint.url, "--model", "m", "--tasks", str(folder / "t.jsonl"),
                                "--out", str(folder / "r.json"), "--timeout", "0.8", "--concurrency", "32", *flags])
    written = folder / "r.json"
    rows = json.loads(written.read_text("utf-8"))["rows"] if written.exists() else []
    return status, {row["task_id"]: row for row in rows}, requests


def test_what_may_pass_is_tried_again_and_then_right(tmp_path: Path) -> None:
    started = time.monotonic()
    status, rows, requests = run(PASSING, tmp_path)
    assert {kind: row["outcome"] for kind, row in rows.items()} == dict.fromkeys(PASSING, "ok")
    assert requests == dict.fromkeys(PASSING, 2) and status == 0
    assert {row["attempts"] for row in rows.values()} == {2}
    assert time.monotonic() - started < 5, "neither hang nor drip holds longer than its deadline"


def test_what_lasts_is_asked_once_and_the_others_are_answered(tmp_path: Path) -> None:
    good = dict.fromkeys(("one", "two", "three"), GOOD)
    status, rows, requests = run({kind: reaction for kind, (reaction, _) in LASTING.items()} | good, tmp_path)
    assert {kind: rows[kind]["outcome"] for kind in LASTING} == {kind: name for kind, (_, name) in LASTING.items()}
    assert set(requests.values()) == {1} and [rows[kind]["outcome"] for kind in good] == ["ok"] * 3
    assert status == 3


@pytest.mark.parametrize("kind", ["500", "a hang", "broken JSON", "empty reply", "reset before the response"])
def test_without_retries_a_failure_is_a_row_with_its_reason(kind: str, tmp_path: Path) -> None:
    status, rows, requests = run({kind: PASSING[kind], "good": GOOD}, tmp_path, "--retries", "0")
    assert (status, requests[kind], rows["good"]["outcome"]) == (3, 1, "ok")
    assert rows[kind]["call_match"] is None and rows[kind]["error"]


def test_who_asks_for_longer_than_anybody_waits_ends_the_run(tmp_path: Path,
                                                             capsys: pytest.CaptureFixture[str]) -> None:
    slow = React({"error": "Tageslimit erreicht"}, 429, {"Retry-After": "7200"})
    status, rows, requests = run({f"t{i}": slow for i in range(9)}, tmp_path, "--concurrency", "1")
    stopped = capsys.readouterr().err
    assert (status, sum(requests.values()), rows) == (3, 1, {})
    assert "--max-wait" in stopped and "7200" in stopped and "Tageslimit" in stopped


HOPELESS = {
    "no such model": (React({"error": {"message": "The model `m` does not exist"}}, 404), 1),
    "no such model by its code": (React({"error": {"message": "weg", "code": "model_not_found"}}, 404), 1),
    "no such model at Ollama": (React({"error": {"message": 'model "m" not found, try pulling it first'}}, 404), 1),
    "no such model at Gemini": (React({"error": {"message": "models/m is not found for API version v1"}}, 404), 1),
    "quota": (React({"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}}, 429), 1),
    "balance": (React({"error": {"message": "Insufficient Balance"}}, 402), 1),
    "credit": (React({"error": {"message": "Your credit balance is too low to access the API"}}, 400), 1),
    "a 404 that does not say what": (React({"error": "weg"}, 404), 5),
    "one page for all": (React(b"<html>Hier wohnt ein Router</html>"), 8),
}


@pytest.mark.parametrize("kind", HOPELESS)
def test_what_would_meet_every_task_ends_a_run_that_has_no_answer(kind: str, tmp_path: Path,
                                                                  capsys: pytest.CaptureFixture[str]) -> None:
    reaction, asked = HOPELESS[kind]
    status, rows, requests = run({f"t{i}": reaction for i in range(12)}, tmp_path, "--concurrency", "1",
                                 "--retries", "0")
    err = capsys.readouterr().err
    assert (status, sum(requests.values()), rows) == (3, asked, {}) and err.count("\n") == 1
    assert "Error:" not in err and not list(tmp_path.glob("r.*"))


@pytest.mark.parametrize("kind", ["no such model", "quota", "one page for all"])
def test_the_same_after_an_answer_is_the_tasks_own_trouble(kind: str, tmp_path: Path) -> None:
    kinds = {"good": GOOD} | {f"t{i}": HOPELESS[kind][0] for i in range(3)} | {"last": GOOD}
    status, rows, _ = run(kinds, tmp_path, "--concurrency", "1", "--retries", "0")
    assert status == 3 and [rows[k]["outcome"] for k in kinds] == ["ok", *["infra_error"] * 3, "ok"]


def test_a_page_that_is_no_answer_is_shown_with_its_address_and_type(tmp_path: Path,
                                                                     capsys: pytest.CaptureFixture[str]) -> None:
    page = React(("<html>\x1b[31m\u202e Anmeldung " + "x" * 500).encode(), headers={"Content-Type": "text/html"})
    run({"t": page}, tmp_path, "--retries", "0")
    err = capsys.readouterr().err
    assert "HTTP 200 from /v1/chat/completions with " in err and "(text/html, '<html> [31m Anmeldung xxx" in err
    assert "\x1b" not in err and "\u202e" not in err and "x" * 80 not in err and err.count("\n") == 1
