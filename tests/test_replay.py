"""A play of several requests: each answer is stored as it comes, and a resumed play sends none of them again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from infranode_eval.journal import Entry, Journal, read_journal, stored_answers
from infranode_eval.providers.conversation import Conversation
from infranode_eval.providers.protocol import Answer, Provider, Sampling
from infranode_eval.providers.scripted import ScriptedProvider
from infranode_eval.runner import Diverged, Limits, Played, Runner
from infranode_eval.suites import IN_ORDER, MANY, Setup, Transcript, failure_of
from lm_eval_task.errors import EmptyReplyError, InfraError
from lm_eval_task.records import Score, Task
from lm_eval_task.tools import read_tools

SETUP = Setup.of("prompt", read_tools(), Sampling(160))
ONE_BY_ONE = Limits(concurrency=1, backoff_s=0.001, retries=0)
QUESTIONS = 4


def suite(begin: str = "Los", reads: list[str] | None = None, second: bool = False, blank: bool = False) -> Any:
    """Asks four times a task, each time telling the last reply; reads a value of a world that changes."""
    def play(task: Task, provider: Provider, setup: Setup) -> Transcript:
        told = Conversation([{"role": "user", "content": f"{begin}, {task.task_id}"}])
        if reads is not None:
            value = provider.noted("weather", lambda: reads.pop(0))    # type: ignore[attr-defined]
            told.append({"role": "user", "content": value})
        answers: list[Answer] = []
        for _ in range(QUESTIONS):
            answers.append(provider.ask(told, None, setup.sampling))
            told.append({"role": "user", "content": f"nach {answers[-1].message['content']}"})
        return Transcript(tuple(told), tuple(answers))

    return SimpleNamespace(REPLAYS=IN_ORDER, PLAYS_AT_ONCE=MANY, SECOND_PASS=second, TAKES_BLANK=blank, play=play,
                           failure=failure_of, score=lambda task, transcript, setup: Score("ok", call_match=True))


def tasks(count: int = 1) -> list[Task]:
    return [Task(f"t{i}", "?", ()) for i in range(count)]


def counting(fail_at: int | None = None) -> ScriptedProvider:
    """Replies with the number of the request in its play; fails at one of them."""
    def reply(messages: Any) -> Any:
        number = sum("nach" in m["content"] for m in messages) + 1
        return InfraError("cut off") if number == fail_at else f"Antwort {number}"
    return ScriptedProvider(reply)


def run(provider: ScriptedProvider, path: Path, *, resume: bool = True, anew: bool = False, count: int = 1,
        **made: Any) -> list[Played]:
    entries = read_journal(path)[1] if resume and path.exists() else []
    journal = Journal.open(path, {"suite": "s"}, anew=not resume)
    try:
        return Runner(suite(**made), SETUP, provider, ONE_BY_ONE, journal, stored_answers(entries),
                      anew=anew).run(tasks(count))
    finally:
        journal.close()


@pytest.mark.parametrize("killed_at", range(1, QUESTIONS + 1))
def test_a_play_cut_off_at_any_request_goes_on_from_its_last_answer(tmp_path: Path, killed_at: int) -> None:
    path = tmp_path / "j.jsonl"
    whole = run(counting(), tmp_path / "whole.jsonl")[0]
    first, second = counting(killed_at), counting()
    assert run(first, path)[0].score.outcome == "infra_error"
    resumed = run(second, path)[0]
    assert resumed.transcript == whole.transcript and resumed.keys == whole.keys
    assert len(first.requests) + len(second.requests) == QUESTIONS + 1, "the failed request once more, no other"
    assert [entry.seq for entry in read_journal(path)[1]] == [0, 1, 2, 3]


def test_a_finished_play_is_read_from_its_journal_alone(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    whole = run(counting(), path, count=3)
    again = counting()
    assert [p.transcript for p in run(again, path, count=3)] == [p.transcript for p in whole]
    assert again.requests == []


def test_a_request_that_differs_from_the_stored_one_is_refused_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    run(counting(3), path)
    with pytest.raises(Diverged, match="task t0: request 1 is not the one.*--force starts that task anew"):
        run(counting(), path, begin="Anders")
    assert len(read_journal(path)[1]) == 2, "the answers are still there"


def test_anew_plays_the_task_from_its_beginning_and_later_runs_take_the_new_play(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    run(counting(3), path)
    second = counting(2)
    run(second, path, anew=True, begin="Anders")
    assert len(second.requests) == 2
    assert [e.seq for e in read_journal(path)[1]] == [0, 1, 0], "what was paid for stays in the file"
    third = counting()
    assert run(third, path, begin="Anders")[0].score.outcome == "ok"
    assert len(third.requests) == QUESTIONS - 1


def test_what_was_read_elsewhere_is_read_from_the_journal_by_a_resumed_play(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    run(counting(2), path, reads=["13 Grad", "14 Grad"])
    second = counting()
    played = run(second, path, reads=["99 Grad"])[0]
    assert played.transcript is not None and played.transcript.messages[1]["content"] == "13 Grad"
    assert len(second.requests) == QUESTIONS - 1


def test_equal_requests_get_their_answers_in_order(tmp_path: Path) -> None:
    """A blank reply is asked for once more with the very same request: two answers under one key."""
    entries = [Entry("t0", 1, "k", Answer({"content": text}), 1, seq) for seq, text in enumerate(("", "Hallo"))]
    assert [e.answer.message["content"] for e in stored_answers(entries)["t0", 1]] == ["", "Hallo"]


@pytest.mark.parametrize("entry", [
    Entry("t", 1, "k", Answer({"content": "x"}, "stop"), 2, 3),
    Entry("t", 2, "GET /cities", None, 0, None, [200, "{}"]),
    Entry("t", 1, "k", Answer({"content": "x"}, "stop"), 2)])
def test_every_kind_of_line_is_read_as_it_was_written(tmp_path: Path, entry: Entry) -> None:
    journal = Journal.open(tmp_path / "j.jsonl", {})
    journal.append(entry)
    journal.close()
    assert read_journal(journal.path)[1] == [entry]


def test_stored_answers_beyond_the_end_of_a_play_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    whole = run(counting(), path)[0]
    entries = read_journal(path)[1]
    more: Mapping[tuple[str, int], Any] = {("t0", 1): [*entries, Entry("t0", 1, "z", Answer({"content": "5"}), 1, 4)]}
    played = Runner(suite(), SETUP, counting(), ONE_BY_ONE, None, dict(more)).run(tasks())[0]
    assert (played.unused, whole.unused) == (1, 0)


def test_a_suite_may_play_once_more_what_failed(tmp_path: Path) -> None:
    """From its last answer on, and once: what fails again stays a failure."""
    failed: list[int] = []

    def reply(messages: Any) -> Any:
        number = sum("nach" in m["content"] for m in messages) + 1
        if number == 3 and not failed:
            failed.append(number)
            return InfraError("cut off")
        return f"Antwort {number}"

    provider = ScriptedProvider(reply)
    assert run(provider, tmp_path / "j.jsonl", second=True)[0].score.outcome == "ok"
    assert len(provider.requests) == QUESTIONS + 1
    always = counting(3)
    assert run(always, tmp_path / "k.jsonl", second=True)[0].score.outcome == "infra_error"
    assert len(always.requests) == 4, "two answers, and twice the request that fails"


@pytest.mark.parametrize(("blank", "tokens", "outcome"), [(True, 5, "ok"), (True, 0, "empty_reply"),
                                                         (False, 5, "empty_reply")])
def test_a_blank_reply_that_has_cost_tokens_is_an_answer_where_the_suite_says_so(
        tmp_path: Path, blank: bool, tokens: int, outcome: str) -> None:
    def reply(messages: Any) -> Any:
        error = EmptyReplyError("blank")
        error.answer = Answer({"role": "assistant", "content": ""}, "stop", {"completion_tokens": tokens})
        return error

    assert run(ScriptedProvider(reply), tmp_path / "j.jsonl", blank=blank)[0].score.outcome == outcome
