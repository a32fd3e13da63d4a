"""The tool Workflow in a play: in the background, its sub-agents with all others, its runaways stopped."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from infranode_eval.team.limits import Limits
from infranode_eval.team.scripts import Arrivals
from tests.needs import need
from tests.team.plays import (
    NOTICE,
    Until,
    after,
    call,
    calls,
    create,
    echo,
    play,
    prompt_in,
    read,
    run,
    solve,
    tiny,
    used,
)

need("quickjs")


def flow(script: str, **more: object) -> tuple:
    return call("Workflow", script=script, **more)


def played(tmp_path: Path, script: str, llm=echo, **more: object):
    """A play of one script; (notice's status, its text)."""
    done = play(tiny(tmp_path), [calls(create(), flow(script, **more)), Until(1), calls(solve()), "Fertig."], llm=llm)
    ((task, status, text),) = NOTICE.findall("".join(done.notices))
    assert task == "w1" and done.results[1] == "task_id: w1" and done.score.outcome == "solved"
    return done, status, text


def test_a_script_runs_in_the_background_and_is_stored(tmp_path: Path) -> None:
    """T25, T26, T28"""
    script = 'log("los"); return [await agent("eins", {agentType: "leser"}), args.n];'
    done, status, text = played(tmp_path, script, args={"n": 7})
    assert (status, json.loads(text)) == ("done", ["EINS", 7])
    assert done.course.told["workflows"] == [{"task_id": "w1", "script": script, "log": ["los"], "result": text}]
    assert done.row["invocations"]["workflow"] == 1
    assert [one["id"] for one in done.course.told["sessions"]] == ["w1.1"]
    assert [(one["event"], one["run"]) for one in done.course.told["events"]] == [("start", "w1.1"), ("end", "w1.1")]


def test_a_failed_item_is_null_and_its_siblings_live(tmp_path: Path) -> None:
    """T25"""
    lock, now, most = threading.Lock(), [0], [0]

    def llm(messages):
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        time.sleep(0.05)
        with lock:
            now[0] -= 1
        return calls(read("akten/satzung.txt")) if "c" in prompt_in(messages) else echo(messages)

    script = ('return await parallel(["a", "b", "c", "d"].map(x => () => agent(x, {agentType: "leser"})));')
    done = play(tiny(tmp_path), [calls(create(), flow(script)), Until(1), "Fertig."], llm=llm,
                limits=Limits(worker_turns=2))
    ((_, status, text),) = NOTICE.findall("".join(done.notices))
    assert (status, json.loads(text)) == ("done", ["A", "B", None, "D"]) and most[0] == 4


def test_a_pipeline_gives_each_stage_value_item_and_index(tmp_path: Path) -> None:
    """T25"""
    done, status, text = played(tmp_path, """
        return await pipeline(["a", "b"], (v, item, i) => agent(item + i, {agentType: "leser"}),
                              (v, item, i) => agent(v + item + i, {agentType: "leser"}));""")
    assert json.loads(text) == ["A0A0", "B1B1"] and done.row["invocations"]["workflow"] == 4


def test_its_sub_agents_join_the_pool_the_limits_and_the_statistics(tmp_path: Path) -> None:
    """T26"""
    script = """const name = await defineAgent({name: "neu", model_key: "llm", tools: ["Read", "Glob"],
                 accessible_paths: ["/arbeit/akten"], system_prompt: ""});
                return await agent("lies", {agentType: name});"""
    llm = lambda m: calls(read("akten/satzung.txt")) if m[-1]["role"] == "user" else "gelesen"  # noqa: E731
    done = play(tiny(tmp_path), [calls(flow(script), call("ListSubagents")), Until(1),
                                 calls(call("ListSubagents"), run("noch", "neu", session_id="w1.1")), "Fertig."],
                llm=llm, limits=Limits(runs=2))
    assert done.results[1] == "Es gibt noch keine Unteragenten.", "what it defines is seen with its notice"
    assert done.results[2] == ("neu (llm): Werkzeuge Read, Glob; Pfade /arbeit/akten; Sitzungen w1.1; Aufträge 1")
    assert done.results[3] == "session_id: w1.1\n\ngelesen"
    assert [one["name"] for one in done.row["subagents"]] == ["neu"] and done.row["values"]["tpp"] == 0.5


@pytest.mark.parametrize("script, says", [
    ('return await agent("x", {agentType: "niemand"});', "niemand"),
    ('await defineAgent({name: "a", model_key: "gibtsnicht", tools: [], accessible_paths: [], system_prompt: ""});',
     "gibtsnicht"),
    ("await new Promise(() => {});", "wartet auf nichts"),
    ("kein javascript", "JavaScript"), ('throw new Error("<task-notification>");', "&lt;task-notification>"),
])
def test_a_script_that_fails_is_an_error_notice(tmp_path: Path, script: str, says: str) -> None:
    """T27"""
    _, status, text = played(tmp_path, script)
    assert status == "error" and says in text


@pytest.mark.parametrize("arguments", [{}, {"script": ""}, {"script": 7}, {"script": "return 1", "x": 1}])
def test_arguments_that_are_none_start_nothing(tmp_path: Path, arguments: dict) -> None:
    done = play(tiny(tmp_path), [calls(call("Workflow", **arguments)), "Fertig."])
    assert done.results[0].startswith("Fehler: ") and done.course.told["workflows"] == []


def test_without_an_engine_it_says_so(tmp_path: Path) -> None:
    done = play(tiny(tmp_path), [calls(flow("return 1")), "Fertig."], workflow=False)
    assert done.results[0].startswith("Fehler: ") and "nicht verfügbar" in done.results[0]
    assert "Workflow: nicht verfügbar" in done.told[0]


def test_runs_that_a_script_left_are_cancelled_and_their_sessions_closed(tmp_path: Path) -> None:
    """T27"""
    asked = []

    def llm(messages):
        asked.append(prompt_in(messages))
        time.sleep(0.3)
        return calls(read("akten/satzung.txt"))

    script = 'agent("lang", {agentType: "leser"}); await agent("x", {agentType: "niemand"});'
    done = play(tiny(tmp_path), [calls(create(), flow(script)), Until(1), calls(run("y", session_id="w1.1")),
                                 "Fertig."], llm=llm)
    assert done.results[2].startswith("Fehler: ") and "abgebrochen" in done.results[2]
    assert asked == ["lang"] and done.threads == 0
    assert [one["event"] for one in done.course.told["events"]] == ["start", "end"]


def test_a_failure_of_a_workflows_worker_ends_the_play(tmp_path: Path) -> None:
    from lm_eval_task.errors import InfraError

    with pytest.raises(InfraError):
        play(tiny(tmp_path), [calls(create(), flow('return await agent("x", {agentType: "leser"});')), Until(1),
                              "Fertig."], llm=[InfraError("weg")])


def test_a_turn_limit_ends_a_script_and_its_runs(tmp_path: Path) -> None:
    done = play(tiny(tmp_path, 2), [
        calls(create(), flow('return await agent("x", {agentType: "leser"});')), calls(call("ListSubagents")),
        calls(solve(2), run("y", session_id="w1.1")), "Fertig."], llm=after(0.3), limits=Limits(turns=2))
    assert [(one["passed"], one["reason"]) for one in done.row["rounds"]] == [(False, "turn_limit"), (True, None)]
    assert done.results[-1].startswith("Fehler: ") and done.threads == 0


def test_one_of_each_is_counted(tmp_path: Path) -> None:
    """T28"""
    done = play(tiny(tmp_path), [
        calls(create(), run("a")), calls(run("b", session_id="s1")),
        calls(call("RunSubagent", subagent="leser", prompt="c", run_in_background=True),
              flow('return await agent("x", {agentType: "leser"});')), Until(2),
        calls(call("RunSubagent", subagent="leser", prompt="d", session_id="s2", run_in_background=True)), Until(3),
        used("Fertig.", 1)])
    assert done.row["invocations"] == dict.fromkeys(
        ("new_runtime", "continue_runtime", "new_background", "continue_background", "workflow"), 1)


def notes(*order: int) -> Callable[[str, Callable[[], Any]], Any]:
    """What was noted before; what is noted now is kept behind it."""
    known: dict[str, Any] = {f"arrived w1 {place}": number for place, number in enumerate(order)}

    def noted(name: str, make: Callable[[], Any]) -> Any:
        return known[name] if name in known else known.setdefault(name, make())

    return noted


@pytest.mark.parametrize(("noted", "came", "handed"), [
    ((1, 0), (0, 1), [1, 0]),       # as it was noted, whoever is faster now
    ((), (1, 0), [1, 0]),           # nothing noted: as they come
    ((7, 1, 0), (0, 1), [0, 1]),    # a run that this script never started is not waited for
    ((0, 7), (1, 0), [0, 1])])
def test_results_come_as_noted_as_long_as_the_script_is_the_same(noted: tuple[int, ...], came: tuple[int, ...],
                                                                 handed: list[int]) -> None:
    found: list[int] = []
    arrivals = Arrivals("arrived w1", notes(*noted))
    open_runs = {0, 1}
    for number in came:
        arrivals.come(number, lambda number=number: (found.append(number), open_runs.discard(number)))
        arrivals.expect(open_runs)      # as the workflow's thread does once it has started what was called
    assert found == handed


def test_a_run_that_the_next_answer_will_start_is_waited_for() -> None:
    """Noted: 0, then 2, which the script calls when it has 0, then 1. Meanwhile 1 has come, and 0 is on its way."""
    found: list[int] = []
    arrivals = Arrivals("arrived w1", notes(0, 2, 1))
    arrivals.come(1, lambda: found.append(1))
    arrivals.come(0, lambda: found.append(0))
    arrivals.expect({0, 1})             # the thread has not heard of 0 yet
    assert found == [0]
    arrivals.expect({1, 2})             # 0 has entered the script, which has called 2
    arrivals.come(2, lambda: found.append(2))
    assert found == [0, 2, 1]
