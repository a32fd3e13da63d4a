"""Runs of sub-agents in the foreground, their sessions, and several at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from infranode_eval.team.limits import Limits
from tests.team.plays import Until, after, background, call, calls, create, echo, play, prompt_in, read, run, tiny


def test_each_run_without_a_session_begins_a_new_one(tmp_path: Path) -> None:
    """T20"""
    done = play(tiny(tmp_path), [calls(create()), calls(run("eins")), calls(run("zwei")), "Fertig."])
    assert done.results[1:] == ["session_id: s1\n\nEINS", "session_id: s2\n\nZWEI"]
    assert [len(request) for request in done.voices["llm"].requests] == [2, 2]
    assert done.row["invocations"] == {"new_runtime": 2, "continue_runtime": 0, "new_background": 0,
                                       "continue_background": 0, "workflow": 0}


def test_a_session_goes_on_with_all_that_was_said_in_it(tmp_path: Path) -> None:
    """T21"""
    done = play(tiny(tmp_path), [calls(create(), run("eins")), calls(run("zwei", session_id="s1")), "Fertig."])
    assert done.results[-1] == "session_id: s1\n\nZWEI"
    assert [m["content"] for m in done.voices["llm"].requests[1]][1:] == ["eins", "EINS", "zwei"]
    assert [m["content"] for m in done.course.told["sessions"][0]["messages"]][1:] == ["eins", "EINS", "zwei", "ZWEI"]
    assert done.row["invocations"]["continue_runtime"] == 1


@pytest.mark.parametrize("wanted, why", [
    (run("x", "anderer", session_id="s1"), "of another sub-agent"), (run("x", session_id="s9"), "of nobody"),
    (run("x", session_id=7), "no text"), (run("x", "niemand"), "no such sub-agent"), (run(""), "no prompt"),
    (call("RunSubagent", subagent="leser"), "no prompt either"), (run("x", run_in_background="ja"), "no flag"),
    (run("x", session_id="w1.1"), "of a workflow that is none"),
])
def test_a_run_that_cannot_be_meant_is_an_error(tmp_path: Path, wanted: tuple, why: str) -> None:
    """T21"""
    done = play(tiny(tmp_path), [calls(create(), create("anderer"), run("eins")), calls(wanted), "Fertig."])
    assert done.results[-1].startswith("Fehler: "), why
    assert len(done.voices["llm"].requests) == 1 and sum(done.row["invocations"].values()) == 1


@pytest.mark.parametrize("say", [echo, after(0.2)], ids=["at once", "slowly"])
@pytest.mark.parametrize("first", [run, background], ids=["foreground", "background"])
def test_a_session_is_busy_until_the_manager_hears_of_it(tmp_path: Path, first: Callable, say: Callable) -> None:
    """T21: two runs of one session in one answer, however fast the worker is"""
    done = play(tiny(tmp_path), [calls(create(), run("null")),
                                 calls(first("eins", session_id="s1"), run("zwei", session_id="s1")), Until(
                                     int(first is background)), calls(run("drei", session_id="s1")), "Fertig."],
                llm=lambda messages: echo(messages) if "null" in prompt_in(messages) else say(messages))
    assert done.results[3].startswith("Fehler: ") and "s1" in done.results[3]
    assert done.results[4] == "session_id: s1\n\nDREI"
    assert "zwei" not in str(done.voices["llm"].requests)


def test_runs_of_one_answer_go_on_at_the_same_time(tmp_path: Path) -> None:
    """T24"""
    began = time.monotonic()
    done = play(tiny(tmp_path), [calls(create(), run("a"), run("b"), run("c")), "Fertig."], llm=after(0.3))
    assert time.monotonic() - began < 0.6
    assert done.results[1:] == ["session_id: s1\n\nA", "session_id: s2\n\nB", "session_id: s3\n\nC"]


def test_results_stand_in_the_order_of_the_calls_and_others_need_not_wait(tmp_path: Path) -> None:
    done = play(tiny(tmp_path), [calls(create(), run("a"), call("Glob", pattern="entwurf/*"), run("b")), "Fertig."],
                llm=lambda m: after(0.2 if prompt_in(m) == "a" else 0.0)(m))
    assert [text.split("\n")[0] for text in done.results] == [
        "Unteragent leser angelegt (llm).", "session_id: s1", "/arbeit/entwurf/vorlage.txt", "session_id: s2"]


def test_a_run_starts_while_later_calls_of_its_answer_are_executed(tmp_path: Path) -> None:
    started = threading.Event()

    def llm(messages):
        started.set()
        return after(0.3)(messages)

    done = play(tiny(tmp_path), [calls(create(), run("a"), run("b", "niemand"), call("ListSubagents")), "Fertig."],
                llm=llm)
    assert started.is_set() and "Sitzungen s1" in done.results[3], "the session is there before its run has ended"


@pytest.mark.parametrize("order", [run, background], ids=["foreground", "background"])
def test_at_most_eight_run_at_once_and_further_ones_start_in_order(tmp_path: Path, order: Callable) -> None:
    lock, began, now, most = threading.Lock(), [], [0], [0]

    def llm(messages):
        with lock:
            began.append(prompt_in(messages))
            now[0] += 1
            most[0] = max(most[0], now[0])
        time.sleep(0.05 + 0.01 * int(prompt_in(messages)))
        with lock:
            now[0] -= 1
        return "gut"

    prompts = [f"{number:02}" for number in range(20)]
    done = play(tiny(tmp_path), [calls(create(), *(order(prompt) for prompt in prompts)), Until(
        20 * (order is background)), "Fertig."], llm=llm, limits=Limits(turns=80))
    assert most[0] == 8
    assert sorted(began[:8]) == prompts[:8]
    assert all(abs(place - int(prompt)) <= 3 for place, prompt in enumerate(began[8:], 8)), "neighbours may meet"
    assert [one["session"] for one in done.course.told["events"] if one["event"] == "start"] == [
        f"s{number}" for number in range(1, 21)]


def test_calls_of_one_answer_overlap_in_the_run_log_however_fast_they_are(tmp_path: Path) -> None:
    """A logical clock: an end is written when the manager gets it."""
    done = play(tiny(tmp_path), [calls(create(), run("a"), run("b")), calls(run("c")), "Fertig."])
    assert [(one["event"], one["run"]) for one in done.course.told["events"]] == [
        ("start", "run1"), ("start", "run2"), ("end", "run1"), ("end", "run2"), ("start", "run3"), ("end", "run3")]
    assert set(done.course.told["events"][0]) == {"event", "run", "subagent", "session", "round"}


def test_the_check_reads_the_runs_so_far(tmp_path: Path) -> None:
    scenario = tiny(tmp_path, 2, command="wc -l < ${runs}", stdout_contains=None, stdout_matches=r"^\s*2\s*$")
    done = play(scenario, [calls(create(), run("a")), "Fertig.", calls(run("b")), "Fertig."])
    assert [one["passed"] for one in done.row["rounds"]] == [True, False]


# --- what the manager can look at -------------------------------------------------------------------------------------
def test_list_and_inspect_tell_what_was_heard_of(tmp_path: Path) -> None:
    def llm(messages):
        return calls(read("register/x")) if messages[-1]["role"] == "user" else "gelesen"

    done = play(tiny(tmp_path), [
        calls(call("ListSubagents"), create(), create("zweiter", "vlm", ["Read", "Glob"], ["/arbeit/entwurf"])),
        calls(run("eins")), calls(call("ListSubagents"), call("InspectSubagent", subagent="leser"),
                                  call("InspectSubagent", session_id="s1"), call("InspectSubagent"),
                                  call("InspectSubagent", subagent="leser", session_id="s1"),
                                  call("InspectSubagent", subagent="x"), call("InspectSubagent", session_id="s2"),
                                  call("ListSubagents", x=1)), "Fertig."], llm=llm)
    listed, by_name, by_session = done.results[4:7]
    assert done.results[0] == "Es gibt noch keine Unteragenten."
    assert listed.split("\n") == [
        "leser (llm): Werkzeuge Read; Pfade /arbeit/akten; Sitzungen s1; Aufträge 1",
        "zweiter (vlm): Werkzeuge Read, Glob; Pfade /arbeit/entwurf; Sitzungen keine; Aufträge 0"]
    assert by_name == by_session and "Verweigerte Zugriffe: 1" in by_name and by_name.endswith("gelesen")
    assert all(text.startswith("Fehler: ") for text in done.results[7:])


def test_what_is_seen_of_a_run_changes_with_its_notice_not_with_its_thread(tmp_path: Path) -> None:
    """The same replies give the same requests: a resumed play is faster than the first."""
    inspect = call("InspectSubagent", subagent="leser")
    seen = []
    for pause in (0.0, 0.3):
        def llm(messages, pause=pause):
            time.sleep(pause)
            return calls(read("register/x")) if messages[-1]["role"] == "user" else "fertig gelesen"

        folder = tmp_path / str(pause)
        done = play(tiny(folder), [calls(create(), background("a"), call("Grep", pattern="x"), inspect), Until(1),
                                   calls(inspect), "Fertig."], llm=llm)
        seen.append((done.results[3], done.results[-1]))
    assert seen[0] == seen[1]
    assert "Verweigerte Zugriffe: 0" in seen[0][0] and "Verweigerte Zugriffe: 1" in seen[0][1]
    assert seen[0][0].endswith("(ohne Text)") and seen[0][1].endswith("fertig gelesen")


# --- limits -----------------------------------------------------------------------------------------------------------
def test_a_worker_that_never_answers_is_ended_by_its_turns(tmp_path: Path) -> None:
    done = play(tiny(tmp_path), [calls(create(), run("los")), "Fertig."],
                llm=lambda messages: calls(read("akten/satzung.txt")), limits=Limits(worker_turns=3))
    assert len(done.voices["llm"].requests) == 3
    assert done.results[1].startswith("Fehler: session_id: s1") and "3 Nachrichten" in done.results[1]


def test_no_more_runs_and_no_more_sub_agents_than_allowed(tmp_path: Path) -> None:
    done = play(tiny(tmp_path), [calls(create("a"), create("b"), create("c"), run("1", "a"), run("2", "b"),
                                       run("3", "a"), background("4", "a")), "Fertig."],
                limits=Limits(runs=2, subagents=2))
    assert [text.startswith("Fehler: ") for text in done.results] == [False, False, True, False, False, True, True]
    assert len(done.row["subagents"]) == 2 and len(done.voices["llm"].requests) == 2


def test_a_worker_without_tools_is_asked_without_any(tmp_path: Path) -> None:
    done = play(tiny(tmp_path), [calls(create(tools=[], paths=[]), run("denke")), "Fertig."])
    assert done.voices["llm"].tools == [None] and done.results[1] == "session_id: s1\n\nDENKE"
    assert done.row["subagents"][0]["granted"] == [] and done.row["values"]["tpp"] == 0


def test_a_worker_that_says_nothing_is_told_as_such(tmp_path: Path) -> None:
    done = play(tiny(tmp_path), [calls(create(), run("los")), "Fertig."], llm=[" \n"])
    assert done.results[1] == "session_id: s1\n\n(ohne Text)"
