"""Managers without a model: pure functions of the messages, waiting, rounds, and moves that a user wrote down."""

from __future__ import annotations

from pathlib import Path

import pytest

from infranode_eval.providers.protocol import Sampling
from infranode_eval.team.manner import MANNERS, WAIT
from infranode_eval.team.scenario import Scenario, read_scenario
from infranode_eval.team.script_player import DONE, PROGRAMS, WAITING, Manager, scripts_of
from infranode_eval.team.scripted import Worker
from lm_eval_task.errors import UsageError
from lm_eval_task.records import Call
from tests.team import probe
from tests.team.plays import Played, play, task_of, tiny

LAWS = "Lies /arbeit/akten/satzung.txt"


def led(scenario: Scenario, manager: Manager) -> Played:
    """A play of a program with scripted workers, every request answered twice and alike."""
    worker = Worker("llm").for_task(task_of(scenario))

    def main(messages):
        first, again = (manager.ask(messages, None, Sampling(1)) for _ in range(2))
        assert first == again, "the same messages get the same reply"
        return first

    return play(scenario, main, deterministic=True,
                llm=lambda m: worker.ask(m, [{"function": {"name": "Read"}}], Sampling(1)))


def create(**more: object) -> Call:
    return Call("CreateSubagent", {"name": "leser", "model_key": "llm", "tools": ["Read"],
                                   "accessible_paths": ["/arbeit/akten"], "system_prompt": "", **more})


def order(prompt: str, **more: object) -> Call:
    return Call("RunSubagent", {"subagent": "leser", "prompt": prompt, **more})


def write(number: int) -> Call:
    return Call("Write", {"file_path": f"/arbeit/ausgabe/r{number}.txt", "content": "gut"})


def test_a_script_gets_results_and_notices_and_keeps_notes_over_rounds(tmp_path: Path) -> None:
    seen: list[object] = []

    def first(desk):
        (made, ordered) = yield (create(), order(LAWS, run_in_background=True))
        notices = yield WAIT
        desk.notes["text"] = notices["r1"]
        seen.append((made, ordered.splitlines()[0]))
        yield (write(1),)

    def second(desk):
        assert "r1 richtig." in desk.question and "Satzung" in desk.notes["text"]
        (answer,) = yield (order("Denke", session_id="s1"),)
        assert "Satzung" in answer
        yield (write(2),)

    done = led(tiny(tmp_path, 2), Manager("muster", lambda: [first, second]))
    assert done.score.outcome == "solved" and set(seen) == {("Unteragent leser angelegt (llm).", "task_id: r1")}
    assert done.course.messages[-1]["content"] == DONE


def test_a_notice_that_comes_before_it_is_waited_for_is_kept(tmp_path: Path) -> None:
    def script(desk):
        yield (create(), order(LAWS, run_in_background=True))
        yield (Call("ListSubagents", {}),)
        notices = yield WAIT
        assert set(notices) == {"r1"}
        yield (write(1),)

    assert led(tiny(tmp_path), Manager("muster", lambda: [script])).score.outcome == "solved"


def test_a_script_that_ends_while_a_run_works_is_told_of_it_and_no_round_begins(tmp_path: Path) -> None:
    questions: list[str] = []

    def first(desk):
        yield (create(), order(LAWS, run_in_background=True), write(1))

    def second(desk):
        questions.append(desk.question)
        yield (order("Denke", run_in_background=True),)
        assert set((yield WAIT)) == {"r2"}, "what was told of the round before is over"
        yield (write(2),)

    done = led(tiny(tmp_path, 2), Manager("muster", lambda: [first, second]))
    assert done.score.outcome == "solved" and len(done.notices) == 2
    assert all("Aufgabe 2" in question for question in questions)


def test_while_it_waits_it_says_so() -> None:
    def script(desk):
        yield WAIT

    asked = [{"role": "system", "content": "x"}, {"role": "user", "content": "Frage"}]
    assert Manager("muster", lambda: [script]).ask(asked, None, Sampling(1)).message["content"] == WAITING


def test_a_program_answers_no_questions_of_other_suites() -> None:
    with pytest.raises(UsageError):
        Manager("muster").ask([], None, Sampling(1))


def test_every_manner_is_a_program() -> None:
    assert set(PROGRAMS) == set(MANNERS) and all(program(None).deterministic for program in PROGRAMS.values())


def test_a_scenario_without_script_and_moves_is_named(tmp_path: Path) -> None:
    scenario = read_scenario(probe.write_probe(tmp_path))
    with pytest.raises(UsageError) as caught:
        scripts_of("muster", scenario)
    assert "probe_klein" in str(caught.value) and "play.json" in str(caught.value)


def test_allein_writes_the_gold_and_manages_nothing(tmp_path: Path) -> None:
    scenario = read_scenario(probe.write_probe(tmp_path))
    done = led(scenario, Manager("allein").for_task(task_of(scenario)))
    assert done.row["values"]["tcr"] == 1.0 and done.row["values"]["sms"] == 0.0 and done.row["subagents"] == []
