"""The jury's command against an endpoint: what it is shown, what a vote is, when three models are a jury."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import run_eval
from infranode_eval.db_routing.data import CACHE, cache_folder
from infranode_eval.db_routing.jury import VOTES, jury_prompt, prompt_sha256, read_votes
from infranode_eval.db_routing.jury_command import main
from infranode_eval.db_routing.release import _votes
from infranode_eval.db_routing.tasks import read_routing_tasks
from tests.db_routing.tiny_panel import PARAGRAPHS, SCHEMAS, write_panel
from tests.stub_endpoint import React, Request, StubEndpoint, completion

FILE = Path("panel", VOTES)


@pytest.fixture(autouse=True)
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(CACHE, str(tmp_path / "cache"))
    write_panel(tmp_path / "panel", cache_folder())


def confused(request: Request) -> React:
    """By whatever asks how many."""
    text = request.body["messages"][0]["content"]
    return React(completion(json.dumps({"confusing": "Wie viele" in text})))


def vote(model: str, *more: str, react: Callable[[Request], React] = confused, status: int = 0) -> list[Request]:
    with StubEndpoint(react) as endpoint:
        assert main(["--base-url", endpoint.url, "--model", model, "--tasks", "panel", "--concurrency", "2",
                     *more]) == status
    return endpoint.requests


def test_a_model_sees_question_and_anonymised_paragraphs_and_nothing_else() -> None:
    requests = vote("juror-a")
    assert len(requests) == 12
    for request in requests:
        (message,) = request.body["messages"]
        assert "tools" not in request.body and request.body["temperature"] == 0
        assert all(text in message["content"] for text in (*PARAGRAPHS.values(), "db_01", "db_02", "db_03"))
        assert not [name for name in SCHEMAS if name in message["content"].casefold()]
        assert "{" not in message["content"].replace('{"confusing": true}', "").replace('{"confusing": false}', "")


def test_what_stands_in_braces_is_never_filled_in_twice() -> None:
    (message,) = jury_prompt("Die Datenbanken:\ndb_01: Text", "Was heißt {catalogue} und {n}?", 1)
    assert "Frage: Was heißt {catalogue} und {n}?\n" in message["content"]
    assert message["content"].count("Die Datenbanken:") == 1


def test_votes_are_appended_with_the_hashes_of_prompt_and_panel(capsys: pytest.CaptureFixture[str]) -> None:
    vote("juror-a")
    before = FILE.read_bytes()
    vote("juror-b")
    assert FILE.read_bytes().startswith(before)
    votes = read_votes(FILE)
    assert len(votes) == 24 and {one.model for one in votes} == {"juror-a", "juror-b"}
    tasks = {task.task_id: task for task in read_routing_tasks("panel")}
    for one in votes:
        assert (one.prompt_sha256, one.panel_sha256) == (prompt_sha256(), tasks[one.task_id].panel.sha256)
        assert one.vote is ("Wie viele" in tasks[one.task_id].question)
        assert json.loads(one.raw) == {"confusing": one.vote}
        assert list(one.to_json()) == ["task_id", "model", "vote", "raw", "prompt_sha256", "panel_sha256", "time"]
    told = capsys.readouterr().out
    assert "juror-b: 12 votes, 4 of them confusing, 0 unreadable" in told
    assert "12 questions lack the votes of 3 distinct models" in told


def test_three_models_make_buckets_of_a_jury_and_two_do_not() -> None:
    for model in ("juror-a", "juror-b"):
        vote(model)
        assert {task.bucket for task in read_routing_tasks("panel")} == {"neighbour_free", "neighbour_hard"}
    run = ["--suite", "db_routing", "--model", "oracle", "--tasks", "panel", "--out"]
    assert run_eval.main([*run, "two.json"]) == 0
    assert "jury" not in Path("two.json").read_text("utf-8")
    vote("juror-c")
    tasks = {task.task_id.removeprefix("db_routing-"): task for task in read_routing_tasks("panel")}
    assert {name: tasks[name].bucket for name in ("laden-001", "laden-002", "werkstatt-001", "werkstatt-002",
                                                  "laden-004", "hafen-001")} == {
        "laden-001": "jury_only_hard", "laden-002": "qq_only_hard", "werkstatt-001": "qq_only_hard",
        "werkstatt-002": "jury_only_hard", "laden-004": "jury_only_hard", "hafen-001": "easy"}
    assert run_eval.main([*run, "three.json"]) == 0
    assert "jury" in json.loads(Path("three.json").read_text("utf-8"))["hashes"], "other buckets are another run"


def test_an_unreadable_reply_is_no_vote_and_is_asked_for_again() -> None:
    replies = iter(["vielleicht", '{"confusing": "ja"}', '{"confusing": true} oder {"confusing": false}'])
    vote("juror-a", "--limit", "3", react=lambda request: React(completion(next(replies))))
    assert [one.vote for one in read_votes(FILE)] == [None] * 3
    assert {one.raw for one in read_votes(FILE)} >= {"vielleicht"}
    assert len(vote("juror-a", "--limit", "3")) == 3
    assert [one.vote is None for one in read_votes(FILE)] == [True] * 3 + [False] * 3


def test_a_limit_takes_the_first_of_the_order_and_resume_the_rest(capsys: pytest.CaptureFixture[str]) -> None:
    vote("juror-a", "--limit", "5")
    order = [task.task_id for task in read_routing_tasks("panel")]
    assert {one.task_id for one in read_votes(FILE)} == set(order[:5])
    assert vote("juror-a", status=2) == []
    assert "juror-a has voted on 5 questions; --resume" in capsys.readouterr().err
    assert len(vote("juror-a", "--resume")) == 7 and len(vote("juror-a", "--resume")) == 0
    assert sorted(one.task_id for one in read_votes(FILE)) == sorted(order)


def test_what_gets_no_answer_has_no_line_and_the_rest_is_kept(capsys: pytest.CaptureFixture[str]) -> None:
    def react(request: Request) -> React:
        broken = "Wie lang" in request.body["messages"][0]["content"]
        return React(status=500, body={}) if broken else confused(request)

    assert len(vote("juror-a", "--retries", "0", react=react, status=3)) == 12
    assert len(read_votes(FILE)) == 11 and "1 questions got no answer" in capsys.readouterr().err
    assert len(vote("juror-a", "--resume")) == 1 and len(read_votes(FILE)) == 12


def test_a_retry_is_no_second_vote() -> None:
    first = iter([React(status=503, body={}, headers={"Retry-After": "0"})])
    assert len(vote("juror-a", "--limit", "1", react=lambda r: next(first, None) or confused(r))) == 2
    assert len(read_votes(FILE)) == 1


@pytest.mark.parametrize("code", [401, 404])
def test_what_every_request_is_refused_for_ends_it_at_once(code: int) -> None:
    refused = React(status=code, body={"error": {"message": "no"}})
    assert len(vote("juror-a", react=lambda request: refused, status=3)) < 12
    assert FILE.read_bytes() == b""


def test_a_content_filter_is_no_vote() -> None:
    blank = React(completion(None, "content_filter"))
    vote("juror-a", "--limit", "1", react=lambda request: blank)
    assert [one.vote for one in read_votes(FILE)] == [None]


def test_votes_of_tests_are_asked_for_by_nobody_and_refused_by_a_release(capsys: pytest.CaptureFixture[str]) -> None:
    assert vote("fixture-a", status=2) == [] and "no release may hold" in capsys.readouterr().err
    vote("juror-a", "--limit", "1")

    class Sources:
        folder = Path("panel").resolve()

    assert not list(_votes(Sources()))
    line = json.loads(FILE.read_text("utf-8"))
    FILE.write_text(json.dumps(line | {"model": "fixture-a"}) + "\n", "utf-8")
    assert [found.subject for found in _votes(Sources())] == [VOTES]


def test_a_line_that_is_no_vote_is_told_with_file_and_line(capsys: pytest.CaptureFixture[str]) -> None:
    FILE.write_text('{"task_id": 1}\n', "utf-8")
    assert vote("juror-a", status=2) == []
    assert f"{VOTES}:1" in capsys.readouterr().err.replace(", line ", ":")
