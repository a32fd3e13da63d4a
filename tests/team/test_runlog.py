"""The log of runs: starts and ends in order, each end once, as a check reads it."""

from __future__ import annotations

import json

from infranode_eval.team.runlog import RunLog


def test_starts_and_ends_stand_in_the_order_in_which_they_happen() -> None:
    log = RunLog()
    log.start("run1", "leser", "s1", "r1")
    log.start("w2.1", "seher", "w2.1", "r1")
    log.end("w2.1", "r1")
    log.end("run1", "r2")
    assert [json.loads(line) for line in log.lines().splitlines()] == log.events == [
        {"event": "start", "run": "run1", "subagent": "leser", "session": "s1", "round": "r1"},
        {"event": "start", "run": "w2.1", "subagent": "seher", "session": "w2.1", "round": "r1"},
        {"event": "end", "run": "w2.1", "subagent": "seher", "session": "w2.1", "round": "r1"},
        {"event": "end", "run": "run1", "subagent": "leser", "session": "s1", "round": "r2"}]


def test_an_end_comes_once_and_only_after_a_start() -> None:
    log = RunLog()
    log.end("run1", "r1")
    log.start("run1", "leser", "s1", "r1")
    log.end("run1", "r1")
    log.end("run1", "r1")
    assert [one["event"] for one in log.events] == ["start", "end"]


def test_without_runs_it_is_empty() -> None:
    assert RunLog().lines() == ""
