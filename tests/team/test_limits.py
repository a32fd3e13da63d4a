"""How long a play may go on: messages, tokens of the manager's context, and what it is told before."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from infranode_eval.team.limits import Limits
from tests.team.plays import call, calls, create, play, run, solve, tiny, used


def reminders(told: list[str]) -> list[str]:
    return [found for text in told for found in re.findall(r"hat (\d+) % der zulässigen Länge", text)]


@pytest.mark.parametrize("tokens, told, why", [
    ([40], [], "below every threshold"), ([45, 65], ["60"], "the highest of several alone"),
    ([50, 51, 60], ["50", "60"], "each once"), ([49.9, 50], ["50"], "reached is crossed"),
    ([96, 97], ["95"], "the last"), ([60, 40, 60], ["60"], "once a scenario"), ([95, 60], ["95"], "never a lower one"),
    ([50, 60, 70, 80, 90, 95], ["50", "60", "70", "80", "90", "95"], "all")])
def test_a_threshold_is_told_once_and_only_the_highest_crossed(tmp_path: Path, tokens: list, told: list,
                                                               why: str) -> None:
    """T29"""
    lines = [used(calls(call("ListSubagents")), int(10 * value) - 1, 1) for value in tokens]
    done = play(tiny(tmp_path), [*lines, used("Fertig.", 1)], limits=Limits(context=1000))
    assert reminders(done.told) == told, why
    assert "verfügbar" in done.told[0] and done.told[0].startswith("<system-reminder>")


def test_a_reminder_follows_the_results_and_one_of_the_last_answer_goes_with_the_next_question(tmp_path: Path) -> None:
    """T29, T33"""
    done = play(tiny(tmp_path, 2), [used(calls(call("ListSubagents")), 600), used("Fertig.", 700), used("Fertig.", 1)],
                limits=Limits(context=1000))
    assert [m["role"] for m in done.requests[1]][-2:] == ["tool", "user"]
    assert done.told[2].startswith("r1 falsch.\n\n") and "70 %" in done.told[2] and "Aufgabe 2" in done.told[2]


def test_over_the_token_limit_this_and_all_later_rounds_fail_unchecked(tmp_path: Path) -> None:
    """T30"""
    done = play(tiny(tmp_path, 5), [used(calls(solve(1), solve(2)), 900), used("Fertig.", 950),
                                    used(calls(call("ListSubagents")), 950, 51)], limits=Limits(context=1000))
    assert [(one["passed"], one["reason"], one["exit"]) for one in done.row["rounds"]] == [
        (True, None, 0), *[(False, "token_limit", None)] * 4]
    assert len(done.requests) == 3 and done.score.outcome == "partial" and done.score.why == "r2: token_limit"
    assert done.row["values"]["tcr"] == 0.2


def test_exactly_full_is_not_over(tmp_path: Path) -> None:
    done = play(tiny(tmp_path), [used(calls(solve()), 900, 100), used("Fertig.", 1)], limits=Limits(context=1000))
    assert done.score.outcome == "solved"


def test_without_counts_tokens_are_estimated_and_the_row_says_so(tmp_path: Path) -> None:
    """T30: bytes / 3.5"""
    done = play(tiny(tmp_path, 2), ["x" * 4000, "Fertig."], limits=Limits(context=1500))
    assert [one["reason"] for one in done.row["rounds"]] == ["token_limit"] * 2
    assert "tokens_estimated" in done.score.labels
    done = play(tiny(tmp_path / "b"), [used(calls(solve()), 100), used("x" * 4000, 100)], limits=Limits(context=2000))
    assert done.score.outcome == "solved" and "tokens_estimated" not in done.score.labels


def test_a_round_has_so_many_messages_and_the_next_one_as_many_again(tmp_path: Path) -> None:
    done = play(tiny(tmp_path, 2), [*[calls(call("ListSubagents"))] * 3, calls(solve(2)), "Fertig."],
                limits=Limits(turns=3))
    assert [(one["passed"], one["reason"]) for one in done.row["rounds"]] == [(False, "turn_limit"), (True, None)]
    assert done.told[1].startswith("r1 falsch.")


def test_the_limits_are_told_and_stored(tmp_path: Path) -> None:
    done = play(tiny(tmp_path), ["Fertig."], limits=Limits(turns=7, worker_turns=5, runs=11, subagents=3))
    assert all(f"{number} " in done.told[0] for number in (7, 5, 11, 3))
    assert Limits().to_json() == {"turns": 40, "context": 128_000, "worker_turns": 30, "runs": 200, "subagents": 64,
                                  "wall_s": 3600.0}


def test_usage_is_summed_by_role(tmp_path: Path) -> None:
    done = play(tiny(tmp_path), [used(calls(create(), create("b", "vlm"), run("1"), run("2"), run("3", "b")), 10, 2),
                                 used("Fertig.", 20, 3)], llm=lambda m: used("gut", 5, 1), vlm=lambda m: "ohne Zahl")
    usage = done.row["usage"]
    assert (usage["main"]["requests"], usage["main"]["input_tokens"], usage["main"]["output_tokens"]) == (2, 30, 5)
    assert (usage["llm"]["requests"], usage["llm"]["input_tokens"], usage["llm"]["output_tokens"]) == (2, 10, 2)
    assert usage["vlm"] == {"requests": 1} and usage["omni"] == {}
