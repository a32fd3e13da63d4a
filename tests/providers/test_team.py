"""A provider with others beside it: who answers, who sees the task, what is closed."""

from __future__ import annotations

import threading

import pytest

from infranode_eval.providers.protocol import Answer, Noting, Remote, Sampling
from infranode_eval.providers.scripted import ScriptedProvider
from infranode_eval.providers.team import Keyed, RemoteTeam, Staffed, Team, team_of


class Program:
    """Deterministic, sees the task, and says which."""

    setup = "program"

    def __init__(self, task: object = None, deterministic: bool = True) -> None:
        self.task, self.deterministic, self.closed = task, deterministic, 0

    def for_task(self, task: object) -> Program:
        return Program(task)

    def ask(self, messages, tools, sampling) -> Answer:
        return Answer({"role": "assistant", "content": f"{self.task}"})

    def close(self) -> None:
        self.closed += 1


class Far(Program):
    parallel_switch, takes_seed, address, rpm = True, False, ("http", "x", 1, ""), 7.0

    def for_task(self, task: object) -> Far:
        return Far(task)

    def preview(self, messages, tools, sampling):
        return "so"


def test_main_answers_for_the_whole_and_the_others_by_name() -> None:
    team = Team(ScriptedProvider(["haupt"]), {"llm": ScriptedProvider(["text"])})
    assert isinstance(team, Staffed) and not isinstance(team, (Keyed, Noting, Remote))
    assert team.ask([], None, Sampling(1)).message["content"] == "haupt"
    assert team.as_role("llm", threading.Event()).ask([], None, Sampling(1)).message["content"] == "text"
    with pytest.raises(KeyError):
        team.as_role("main", threading.Event())


@pytest.mark.parametrize("main, other, expected", [(True, True, True), (True, False, False), (False, True, False)])
def test_it_is_deterministic_only_if_all_are(main: bool, other: bool, expected: bool) -> None:
    assert Team(Program(None, main), {"llm": Program(None, other)}).deterministic is expected


def test_every_program_of_it_sees_the_task_and_models_stay_as_they_are() -> None:
    model = ScriptedProvider(["x"])
    team = Team(Program(), {"llm": Program(), "vlm": model}).for_task("aufgabe")    # type: ignore[arg-type]
    assert team.main.task == team.roles["llm"].task == "aufgabe" and team.roles["vlm"] is model


def test_closing_it_closes_all() -> None:
    main, other = Program(), Program()
    Team(main, {"llm": other}).close()
    assert (main.closed, other.closed) == (1, 1)


def test_a_remote_main_makes_a_remote_team_with_its_address_and_pace() -> None:
    team = team_of(Far(), {})
    assert isinstance(team, RemoteTeam) and isinstance(team, Remote) and team.preview([], None, Sampling(1)) == "so"
    assert (team.parallel_switch, team.takes_seed, team.address, team.rpm) == (True, False, ("http", "x", 1, ""), 7.0)
    assert isinstance(team.for_task("x"), RemoteTeam) and type(team_of(Program(), {})) is Team  # type: ignore[arg-type]
