"""What may be overwritten, what may be continued, and what is refused with both names."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from infranode_eval.destination import Taken, claim
from infranode_eval.fold import result_of
from infranode_eval.journal import Entry, Journal, journal_path
from infranode_eval.providers.protocol import Answer, Sampling
from infranode_eval.results import Description, write_result
from infranode_eval.runner import Played
from infranode_eval.suites import Transcript
from lm_eval_task.errors import BenchError, UsageError
from lm_eval_task.records import MATCHES, Score, Task

HASH = "0" * 64
KEY = "1" * 64
OURS = Description("single", "core", "m", "openai", "prompt", None, {"tasks": HASH, "tools": HASH, "prompt": HASH},
                   {"temperature": 0.0, "max_tokens": 160, "limit": None, "repeats": 1})
ANSWER = Answer({"role": "assistant", "content": "x"}, "stop", None, 0.1, "m")


def store_result(out: Path, description: Description = OURS, task_id: str = "a", deterministic: bool = False) -> None:
    played = Played(Task(task_id, "?", ()), 1, Score("ok", **dict.fromkeys(MATCHES, True)),
                    Transcript((), (ANSWER,)), 1, None, (KEY,))
    write_result(out, result_of(description, [played], Sampling(160), deterministic))


def store_journal(out: Path, description: Description = OURS, *entries: Entry) -> None:
    journal = Journal.open(journal_path(out), description.identity())
    for entry in entries:
        journal.append(entry)
    journal.close()


def claimed(out: Path, description: Description = OURS, **flags: bool) -> Any:
    return claim(out, description, **{"deterministic": False, "resume": False, "force": False} | flags)


def entry(task_id: str = "a", key: str = KEY) -> Entry:
    return Entry(task_id, 1, key, ANSWER)


def test_an_empty_place_is_free_also_with_resume(tmp_path: Path) -> None:
    for resume in (False, True):
        assert claimed(tmp_path / "r.json", resume=resume).stored == {}


@pytest.mark.parametrize("present", [("result",), ("journal",), ("result", "journal")])
def test_what_stands_there_is_refused_with_both_names(tmp_path: Path, present: tuple[str, ...]) -> None:
    out = tmp_path / "r.json"
    if "result" in present:
        store_result(out)
    if "journal" in present:
        store_journal(out)
    with pytest.raises(UsageError) as caught:
        claimed(out)
    assert str(out) in str(caught.value) and str(journal_path(out)) in str(caught.value)
    assert "--resume" in str(caught.value) and "--force" in str(caught.value)
    assert claimed(out, force=True).stored == {}


@pytest.mark.parametrize("where", ("result", "journal"))
def test_another_run_is_called_that_and_resume_is_not_suggested(tmp_path: Path, where: str) -> None:
    out = tmp_path / "r.json"
    other = replace(OURS, hashes={**OURS.hashes, "tasks": "2" * 64})
    (store_result if where == "result" else store_journal)(out, other)
    with pytest.raises(Taken, match=r"holds another run \(hash of tasks\)") as caught:
        claimed(out)
    assert "--resume" not in str(caught.value)
    with pytest.raises(Taken, match=r"holds another run \(hash of tasks\) and cannot be resumed"):
        claimed(out, resume=True)


def test_resume_takes_each_answer_once_from_journal_and_file(tmp_path: Path) -> None:
    out = tmp_path / "r.json"
    store_result(out)
    store_journal(out, OURS, entry("a"), entry("b"))
    assert claimed(out, resume=True).stored == {("a", 1): [entry("a")], ("b", 1): [entry("b")]}
    journal_path(out).unlink()
    assert claimed(out, resume=True).stored == {("a", 1): [entry("a")]}


DIFFERENCES = [
    ({"model": "n"}, "model"), ({"mode": "native"}, "mode"), ({"suite": "chain"}, "suite"), ({"set": "all"}, "set"),
    ({"hashes": {**OURS.hashes, "tasks": "2" * 64}}, "hash of tasks"),
    ({"hashes": {**OURS.hashes, "tools": "2" * 64}}, "hash of tools"),
    ({"hashes": {**OURS.hashes, "prompt": "2" * 64}}, "hash of prompt"),
    ({"settings": {**OURS.settings, "max_tokens": 1024}}, "max_tokens"),
    ({"settings": {**OURS.settings, "temperature": 1.0}}, "temperature"),
]


@pytest.mark.parametrize(("change", "named"), DIFFERENCES)
@pytest.mark.parametrize("where", ("result", "journal"))
def test_resume_refuses_another_run_and_names_the_difference(tmp_path: Path, change: dict[str, Any], named: str,
                                                             where: str) -> None:
    out = tmp_path / "r.json"
    (store_result if where == "result" else store_journal)(out, replace(OURS, **change))
    with pytest.raises(UsageError, match=f"cannot be resumed: {named} differs"):
        claimed(out, resume=True)
    assert claimed(out, resume=True, force=True).forced == (named,)


@pytest.mark.parametrize("change", [{"limit": 5}, {"repeats": 3}, {"retries": 9}])
def test_resume_may_change_what_does_not_change_an_answer(tmp_path: Path, change: dict[str, Any]) -> None:
    out = tmp_path / "r.json"
    store_result(out, replace(OURS, settings={**OURS.settings, **change}))
    assert claimed(out, resume=True).stored == {("a", 1): [entry("a")]}


def test_a_broken_file_is_neither_resumed_nor_overwritten(tmp_path: Path) -> None:
    out = tmp_path / "r.json"
    out.write_text("kaputt")
    for flags in ({}, {"resume": True}, {"force": True}, {"deterministic": True}):
        with pytest.raises(BenchError):
            claimed(out, **flags)
    assert out.read_text() == "kaputt"


OWN = [
    ({}, True, "the same run again"),
    ({"hashes": {**OURS.hashes, "prompt": "2" * 64}}, True, "baselines see no prompt"),
    ({"hashes": {**OURS.hashes, "tasks": "2" * 64}}, False, "another dataset"),
    ({"model": "n"}, False, "another program"),
    ({"backend": "openai"}, False, "a paid run"),
    ({"settings": {**OURS.settings, "limit": 5}}, False, "a part of it"),
    ({"settings": {**OURS.settings, "repeats": 2}}, False, "several passes"),
]


@pytest.mark.parametrize(("change", "free", "reason"), OWN)
def test_a_deterministic_run_rewrites_its_own_file_only(tmp_path: Path, change: dict[str, Any], free: bool,
                                                        reason: str) -> None:
    out = tmp_path / "r.json"
    ours = replace(OURS, backend="baseline")
    store_result(out, replace(ours, **change), deterministic=True)
    if free:
        assert claimed(out, ours, deterministic=True).stored == {}, reason
    else:
        with pytest.raises(UsageError, match="holds another run"):
            claimed(out, ours, deterministic=True)
    assert claimed(out, ours, deterministic=True, force=True).stored == {}


def test_a_deterministic_run_leaves_a_journal_alone(tmp_path: Path) -> None:
    out = tmp_path / "r.json"
    store_result(out, deterministic=True)
    store_journal(out)
    with pytest.raises(UsageError, match="holds another run"):
        claimed(out, deterministic=True)
