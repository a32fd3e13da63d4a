"""A play: which tools are offered, how a round ends and is decided, what it tells the next one, what it counts."""

from __future__ import annotations

import json
import os
import tempfile
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from infranode_eval.team.limits import Limits
from infranode_eval.team.play import Play
from infranode_eval.team.sandbox import open_sandbox
from infranode_eval.team.scenario import read_scenario
from infranode_eval.team.slots import Slots
from infranode_eval.team.tools import MAIN_TOOLS
from lm_eval_task.errors import ContextOverflowError, InfraError, ProviderError, UsageError, WorldNotReadyError
from tests.team import probe
from tests.team.plays import (
    Until,
    Voice,
    after,
    background,
    call,
    calls,
    create,
    echo,
    play,
    prompt_in,
    read,
    run,
    solve,
    stage_for,
    tiny,
    used,
    write,
)


# --- what is offered --------------------------------------------------------------------------------------------------
def test_main_is_offered_exactly_the_eleven_tools(tmp_path: Path) -> None:
    """T1"""
    done = play(tiny(tmp_path), ["Fertig."])
    assert sorted(tool["function"]["name"] for tool in done.voices["main"].tools[0]) == sorted((
        "Read", "Write", "Edit", "Bash", "Grep", "Glob", "CreateSubagent", "RunSubagent", "ListSubagents",
        "InspectSubagent", "Workflow")) == sorted(MAIN_TOOLS)


@pytest.mark.parametrize("tools", [["Read", "RunSubagent"], ["CreateSubagent"], ["Workflow"], ["read"], "Read", [7],
                                   None, ["Read", None]])
def test_a_sub_agent_is_granted_basic_tools_alone(tmp_path: Path, tools: object) -> None:
    """T2"""
    done = play(tiny(tmp_path), [calls(call("CreateSubagent", name="a", model_key="llm", tools=tools,
                                            accessible_paths=["/arbeit/akten"], system_prompt="")), "Fertig."])
    assert done.results[0].startswith("Fehler: ")
    assert done.row["subagents"] == [] and done.row["values"]["maf"] == 0


def test_a_worker_is_offered_what_it_was_granted(tmp_path: Path) -> None:
    """T2"""
    done = play(tiny(tmp_path), [calls(create(tools=["Glob", "Read", "Read"]), run("los")), "Fertig."])
    assert [tool["function"]["name"] for tool in done.voices["llm"].tools[0]] == ["Read", "Glob"]


@pytest.mark.parametrize("more, why", [
    ({"name": "leser"}, "the name is taken"), ({"name": "main"}, "the manager's own name"),
    ({"name": "a b"}, "a blank"), ({"name": ""}, "no name"), ({"name": 7}, "a number"),
    ({"model_key": "main"}, "no key of the pool"), ({"model_key": "gpt"}, "a model"),
    ({"accessible_paths": ["akten"]}, "relative"), ({"accessible_paths": ["/etc"]}, "another root"),
    ({"accessible_paths": ["/arbeit"]}, "all of it"), ({"accessible_paths": ["/arbeit/akten/../.."]}, "above it"),
    ({"accessible_paths": ["/arbeit/gibtsnicht"]}, "neither accessible nor delegable"),
    ({"accessible_paths": ["/arbeit/akten/fehlt.txt"]}, "not there"), ({"accessible_paths": "/arbeit/akten"}, "a text"),
    ({"temperature": 1}, "an unknown parameter"),
])
def test_what_cannot_be_granted_is_an_error_and_no_forbidden_access(tmp_path: Path, more: dict, why: str) -> None:
    """T13, T15"""
    wanted = {"name": "zweiter", "model_key": "llm", "tools": ["Read"], "accessible_paths": ["/arbeit/akten"],
              "system_prompt": "x"}
    done = play(tiny(tmp_path), [calls(create(), call("CreateSubagent", **wanted | more)), calls(run("los")),
                                 "Fertig."])
    assert done.results[1].startswith("Fehler: "), why
    assert [one["name"] for one in done.row["subagents"]] == ["leser"]
    assert done.row["values"]["maf"] == done.row["values"]["saft"] == 0 and done.row["refusals"] == []


@pytest.mark.parametrize("arguments", ["{\"file_path\": ", "", "[]", "7", "null", "\"x\"", "{}", "{\"nichts\": 1}",
                                       "{\"file_path\": 7}", "{\"file_path\": null}"])
@pytest.mark.parametrize("tool", ["Read", "CreateSubagent", "RunSubagent", "Workflow", "InspectSubagent"])
def test_arguments_that_cannot_be_meant_are_an_error_as_the_result(tmp_path: Path, tool: str, arguments: str) -> None:
    done = play(tiny(tmp_path), [calls((tool, arguments), solve()), "Fertig."])
    assert done.results[0].startswith("Fehler: ") and done.score.outcome == "solved"
    assert done.row["subagents"] == [] and done.row["values"]["maf"] == 0
    json.dumps(done.requests, ensure_ascii=False).encode()


def test_a_tool_that_nobody_has_is_an_error_and_the_loop_goes_on(tmp_path: Path) -> None:
    script = lambda messages: calls(write("akten/x.txt", "x"), ("Nirgends", {})) if len(messages) < 3 else "Gut."  # noqa: E731
    done = play(tiny(tmp_path), [calls(("Nirgends", {}), create()), calls(run("los")), calls(solve()), "Fertig."],
                llm=script)
    assert done.results[0].startswith("Fehler: ")
    answered = [m["content"] for m in done.voices["llm"].requests[1] if m["role"] == "tool"]
    assert len(answered) == 2 and all(text.startswith("Fehler: ") for text in answered)
    assert "Write" in answered[0], "it is told which tool it does not have"
    assert done.row["subagents"][0]["used"] == [] and done.row["values"]["saft"] == 0
    assert done.score.outcome == "solved"


# --- counting ---------------------------------------------------------------------------------------------------------
def test_refused_calls_are_counted_each_and_are_no_use(tmp_path: Path) -> None:
    """T15"""
    def llm(messages):
        if len(messages) > 2:
            return "Fertig."
        return calls(read("register/strassen.csv"), read("register/gibtsnicht")) if "neugierig" in str(
            messages[0]) else calls(read("akten/satzung.txt"))

    done = play(tiny(tmp_path), [calls(create("neugierig"), create("brav"), run("los", "neugierig"),
                                       run("los", "brav")), "Fertig."], llm=llm)
    values = done.row["values"]
    assert (values["saft"], values["safa"], values["maf"]) == (2, 1.0, 0)
    curious, good = done.row["subagents"]
    assert (curious["used"], curious["refused"], curious["touched"]) == ([], 2, [])
    assert (good["used"], good["refused"], good["touched"]) == (["Read"], 0, ["/arbeit/akten/satzung.txt"])
    assert [(one["agent"], one["tool"], one["path"], one["round"]) for one in done.row["refusals"]] == [
        ("neugierig", "Read", "/arbeit/register/gibtsnicht", "r1"),
        ("neugierig", "Read", "/arbeit/register/strassen.csv", "r1")]


def test_main_may_grant_what_it_may_not_open(tmp_path: Path) -> None:
    """T13"""
    done = play(tiny(tmp_path), [calls(read("akten/satzung.txt"), create()), "Fertig."])
    assert done.results[0].startswith("verboten: ") and done.results[1].startswith("Unteragent leser angelegt (llm).")
    assert done.row["values"]["maf"] == 1 and done.row["refusals"][0]["agent"] == "main"


# --- rounds -----------------------------------------------------------------------------------------------------------
def test_the_probe_is_solved_by_reading_and_writing_and_its_update_is_told(tmp_path: Path) -> None:
    """T33, T34"""
    scenario = read_scenario(probe.write_probe(tmp_path))
    reading = lambda messages: calls(read("akten/satzung.txt")) if messages[-1]["role"] == "user" else str(  # noqa: E731
        messages[-1]["content"])
    done = play(scenario, [
        calls(create(), run("Lies.")), calls(write("ausgabe/r1.json", '{"frist_tage": 14}')), "Fertig.",
        calls(run("Lies noch einmal.", session_id="s1")),
        calls(write("ausgabe/r2.json", '{"frist_tage": 30, "vorher": 14, "differenz": 16}'),
              read("aufgaben/hinweis.txt")), "Fertig."], llm=reading)
    assert done.score.outcome == "solved" and [one["passed"] for one in done.row["rounds"]] == [True, True]
    first, second = done.told
    assert first.startswith("<system-reminder>\n") and first.endswith("/arbeit/ausgabe/r1.json.")
    assert second.startswith("Die Prüfung von r1 war erfolgreich.\n\n<system-reminder>\n")
    assert second.index("ersetzt: /arbeit/akten/satzung.txt") < second.index("neu: /arbeit/aufgaben/hinweis.txt")
    assert second.endswith("/arbeit/ausgabe/r2.json.")
    assert "binnen 14 Tagen" in done.results[1] and "binnen 30 Tagen" in done.results[3]
    assert "14 Tagen" not in done.results[3] and done.results[-1].startswith("1\tDie Satzung")


def test_a_target_that_the_manager_has_created_is_replaced_and_the_row_says_so(tmp_path: Path) -> None:
    """T34"""
    scenario = read_scenario(probe.write_probe(tmp_path))
    done = play(scenario, [calls(write("aufgaben/hinweis.txt", "meins")), "Fertig.",
                           calls(read("aufgaben/hinweis.txt")), "Fertig."])
    assert "update_collision" in done.score.labels
    assert "meins" not in done.results[-1] and "ersetzt" in done.results[-1]


def test_feedback_tells_of_the_last_round_alone(tmp_path: Path) -> None:
    """T33"""
    done = play(tiny(tmp_path, 3), ["Nichts.", calls(solve(2)), "Fertig.", "Nichts."])
    assert [text.split("\n\n")[0] for text in done.told[1:]] == ["r1 falsch.", "r2 richtig."]
    assert done.score.outcome == "partial" and done.score.why.startswith("r1: exit 1")


def test_only_files_in_the_workspace_count(tmp_path: Path) -> None:
    """T35"""
    done = play(tiny(tmp_path), ["gut"])
    assert done.score.outcome == "unsolved" and done.row["rounds"][0]["passed"] is False


@pytest.mark.parametrize("check, passed, why", [
    ({"command": "true"}, True, "exit 0"), ({"command": "exit 1"}, False, "exit 1"),
    ({"command": "exit 3", "expect_exit": 3}, True, "exit as expected"),
    ({"command": "true", "expect_exit": 3}, False, "0 is not 3"),
    ({"command": "echo alles gut", "stdout_contains": "gut"}, True, "a part"),
    ({"command": "echo Frist 14", "stdout_contains": None, "stdout_matches": r"\b\d\d\b"}, True, "a pattern"),
    ({"command": "echo Frist 4", "stdout_contains": None, "stdout_matches": r"\b\d\d\b"}, False, "no pattern"),
    ({"command": "sleep 5", "timeout_s": 0.2}, False, "too slow"),
])
def test_the_command_alone_decides_a_round(tmp_path: Path, check: dict, passed: bool, why: str) -> None:
    """T31"""
    done = play(tiny(tmp_path, **{"stdout_contains": None} | check), ["Fertig."])
    assert done.row["rounds"][0]["passed"] is passed, why
    assert done.row["rounds"][0]["timed_out"] is ("slow" in why)


def test_a_scenario_whose_folder_name_holds_a_blank_can_be_decided(tmp_path: Path) -> None:
    """T32"""
    scenario = replace(tiny(tmp_path), scenario_id="zwei worte")
    check = replace(scenario.rounds[0].check,
                    command="test ${scenario_id} = 'zwei worte' && cat ${workspace}/ausgabe/r1.txt")
    scenario = replace(scenario, rounds=(
        replace(scenario.rounds[0], question="Zu ${scenario_id} in ${workspace}.", check=check),))
    done = play(scenario, [calls(solve()), "Fertig."])
    assert done.score.outcome == "solved" and done.told[0].endswith("Zu zwei worte in /arbeit.")


# --- what is left -----------------------------------------------------------------------------------------------------
def test_nothing_is_left_of_a_play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """T43: no folder, no thread"""
    own = Path(tempfile.mkdtemp())
    own.chmod(0o755)
    monkeypatch.setattr(tempfile, "tempdir", str(own))
    before = threading.active_count()
    done = play(tiny(tmp_path), [calls(create(), run("a"), run("b")), calls(solve()), "Fertig."])
    assert done.score.outcome == "solved" and threading.active_count() == before
    with pytest.raises(InfraError):
        play(tiny(tmp_path / "zwei"), [calls(create()), InfraError("weg")])
    own.rmdir()     # it is empty


def test_a_folder_that_a_sandboxs_user_cannot_reach_is_refused_before_the_first_request(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else every round would fail, and nobody would know why."""
    closed = tmp_path / "zu" / "tmp"
    closed.mkdir(parents=True)
    closed.parent.chmod(0o700)
    monkeypatch.setattr(tempfile, "tempdir", str(closed))
    if os.geteuid() != 0:
        pytest.skip("only root's sandboxes run as another user")
    with pytest.raises(UsageError) as caught:
        play(tiny(tmp_path / "s"), [])
    assert "TMPDIR" in str(caught.value) and list(closed.iterdir()) == []


def test_what_a_check_says_without_a_wall_holds_no_real_path(tmp_path: Path) -> None:
    """T17: --sandbox none gives checks the real paths"""
    scenario = tiny(tmp_path, command="ls -d ${workspace}/ausgabe ${scripts} ${runs}; exit 1")
    with Slots().take() as slot:
        voice = Voice(["Fertig."])
        stage = stage_for(scenario, {"main": voice, "llm": voice}, Limits(), None, slot)
        course = Play(replace(stage, sandbox=open_sandbox("none")), threading.Event()).run()
    assert sorted(course.told["rounds"][0]["stdout"].split()) == ["/arbeit/ausgabe", "/lauf/runs.jsonl", "/pruefung"]


def test_no_real_path_reaches_an_agent_or_the_transcript(tmp_path: Path) -> None:
    """T17"""
    done = play(tiny(tmp_path), [calls(create(paths=["/arbeit/akten"]), run("los"), call("ListSubagents"),
                                       call("InspectSubagent", subagent="leser"), call("Glob", pattern="**/*")),
                                 calls(call("Read", file_path="/arbeit/nichts"), call(
                                     "Edit", file_path="/arbeit/entwurf/x", old_string="a", new_string="b")),
                                 "Fertig."])
    told = json.dumps([done.course.to_json(), [v.requests for v in done.voices.values()], done.score.to_json()])
    assert "infranode-team" not in told and str(tmp_path) not in told and tempfile.gettempdir() + "/" not in told


# --- failures ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("wanted", [
    (run("krach"),), (background("krach"),), (run("krach"), run("still")), (run("still"), run("krach")),
    (background("still"), background("krach"))], ids=str)
def test_a_failure_of_a_workers_model_ends_the_play_and_its_threads(tmp_path: Path, wanted: tuple) -> None:
    def llm(messages):
        if "krach" in prompt_in(messages):
            return InfraError("weg")
        return after(0.3)(messages)

    before = set(threading.enumerate())
    with pytest.raises(InfraError):
        play(tiny(tmp_path), [calls(create(), *wanted), *["Warte."] * 3], llm=llm)
    assert not [one for one in threading.enumerate() if one not in before]


def test_a_failure_is_not_kept_waiting_by_a_run_that_takes_long(tmp_path: Path) -> None:
    release = threading.Event()

    def llm(messages):
        if "krach" in prompt_in(messages):
            return InfraError("weg")
        release.wait(20)
        return "spät"

    failed: list[type] = []

    def body() -> None:
        try:
            play(tiny(tmp_path), [calls(create(), run("langsam"), run("krach")), "Fertig."], llm=llm)
        except ProviderError as error:
            failed.append(type(error))

    thread = threading.Thread(target=body, daemon=True)
    thread.start()
    thread.join(4.0)
    assert failed == [InfraError], "the slow run was waited for"
    release.set()


def test_a_context_overflow_of_a_worker_is_an_error_to_the_manager(tmp_path: Path) -> None:
    llm = lambda messages: ContextOverflowError("zu lang") if "lang" in prompt_in(messages) else echo(messages)  # noqa: E731
    done = play(tiny(tmp_path), [calls(create(), run("lang")), calls(background("lang")), Until(1),
                                 calls(run("kurz", session_id="s1")), calls(solve()), "Fertig."], llm=llm)
    assert done.results[1].startswith("Fehler: session_id: s1\n\n") and 'status="error"' in done.notices[0]
    assert done.results[3] == "session_id: s1\n\nKURZ" and done.score.outcome == "solved"


@pytest.mark.parametrize("at", [0, 1])
def test_a_context_overflow_of_main_ends_the_scenario_as_the_token_limit_does(tmp_path: Path, at: int) -> None:
    """T30"""
    lines = [calls(solve(1)), "Fertig.", ContextOverflowError("zu lang")] if at else [ContextOverflowError("zu lang")]
    done = play(tiny(tmp_path, 3), lines)
    assert [(one["passed"], one["reason"]) for one in done.row["rounds"]] == [
        (True, None), (False, "token_limit"), (False, "token_limit")][1 - at:] + [(False, "token_limit")] * (1 - at)


def test_a_name_of_the_managers_own_cannot_be_taken(tmp_path: Path) -> None:
    """What main does is not to be counted as a sub-agent's."""
    done = play(tiny(tmp_path), [calls(create("main")), calls(solve(), read("akten/satzung.txt")), "Fertig."])
    assert done.results[0].startswith("Fehler: ")
    assert done.row["values"]["maf"] == 1 and done.row["values"]["saft"] == 0 and done.row["subagents"] == []


def test_a_blank_reply_of_main_ends_a_round_as_a_text_does(tmp_path: Path) -> None:
    done = play(tiny(tmp_path, 2), [calls(solve(1)), used("", 5), calls(solve(2)), used("  \n", 5)])
    assert done.score.outcome == "solved" and len(done.requests) == 4


def test_calls_that_stand_in_the_text_are_executed_too(tmp_path: Path) -> None:
    text = json.dumps({"name": "Write", "arguments": {"file_path": "/arbeit/ausgabe/r1.txt", "content": "gut"}})
    done = play(tiny(tmp_path), [text, "Fertig."])
    assert done.score.outcome == "solved"
    last = done.requests[1][-1]
    assert last["role"] == "user" and "/arbeit/ausgabe/r1.txt angelegt" in last["content"]


def test_a_play_that_never_waits_ends_with_its_time_too(tmp_path: Path) -> None:
    """Wall time is a failure, repeated on resume."""
    with pytest.raises(InfraError) as caught:
        play(tiny(tmp_path), lambda messages: after(0.1, lambda m: calls(call("ListSubagents")))(messages),
             limits=Limits(wall_s=0.4))
    assert caught.value.sub == "timeout"


def test_a_play_that_waits_ends_with_its_time(tmp_path: Path) -> None:
    with pytest.raises(InfraError) as caught:
        play(tiny(tmp_path), [calls(create(), run("los")), "Fertig."], llm=after(0.8), limits=Limits(wall_s=0.3))
    assert caught.value.sub == "timeout"


def test_a_disk_that_takes_no_more_fails_the_scenario_and_not_the_run(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every other scenario goes on; --resume plays this one again."""
    scenario = tiny(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "weg"))
    with pytest.raises(WorldNotReadyError, match="the workspace could not be kept: No such file or directory"):
        play(scenario, ["Fertig."])
