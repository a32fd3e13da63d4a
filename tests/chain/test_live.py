"""A play in a world that changes: the gold's requests go first, and what they say is right."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from infranode_eval.chain import policies
from infranode_eval.chain.live import NotedWorld, StrictWorld, expectation_now
from infranode_eval.chain.tasks import ChainTask, read_chain_tasks
from infranode_eval.chain.worlds import Session, open_world
from infranode_eval.infranode.server import LoopbackServer
from infranode_eval.infranode.snapshot import Snapshot
from infranode_eval.journal import Journal, read_journal, stored_answers
from infranode_eval.providers.protocol import ProviderOptions, Sampling
from infranode_eval.runner import Limits, Played, Runner
from infranode_eval.suites import Setup, chain
from lm_eval_task.errors import WorldNotReadyError
from lm_eval_task.tools import read_tools

TOOLS = read_tools()
TASKS = read_chain_tasks(None, TOOLS, "core")
EACH = list({task.category: task for task in TASKS}.values())
DEAD = next(t for t in TASKS if t.category == "degraded" and t.expectation["answer"]["type"] == "none")
LOOKED_UP = next(t for t in TASKS if t.category == "lookup_then_call" and "/live/" in json.dumps(t.extra["gold"]))
SETUP = Setup.of("native", TOOLS, Sampling(1024), None, chain.scene(None, TOOLS))


@pytest.fixture
def elsewhere() -> Iterator[LoopbackServer]:
    """The API with other values than those of the tasks, over a real connection."""
    with LoopbackServer(Snapshot(seed="s9")) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def live(task: ChainTask, server: LoopbackServer) -> ChainTask:
    return replace(task, world={"kind": "live", "name": server.base_url, "sha256": None, "rps": None})


def played(task: ChainTask, provider: Any, **more: Any) -> Played:
    return Runner(chain, SETUP, provider, Limits(1, retries=0), **more).run([task])[0]


def planner() -> Any:
    return policies.PROGRAMS["planner"](ProviderOptions("planner", TOOLS))


def session(task: ChainTask) -> Session:
    """The task's plan in the world of another seed."""
    return Session(open_world({"kind": "snapshot", "name": "s9"}), task.faults)


@pytest.mark.parametrize("task", EACH, ids=lambda task: task.category)
def test_the_plan_succeeds_with_the_values_of_the_day(task: ChainTask, elsewhere: LoopbackServer) -> None:
    row = played(live(task, elsewhere), planner())
    if row.score.outcome == "not_run":      # other values may make this very task ambiguous; then it is not judged
        assert row.score.sub == "world_not_ready"
        return
    assert row.score.details["task_success"], row.score.why


def test_most_tasks_have_a_gold_in_another_world_and_other_values() -> None:
    ready, moved = 0, 0
    for task in TASKS:
        try:
            expect = expectation_now(task, session(task))
        except WorldNotReadyError:
            continue
        ready += 1
        moved += expect["answer"] != task.expectation["answer"]
    assert ready > 100 and moved > 70, (ready, moved)


def test_what_a_look_up_finds_there_is_what_must_be_called() -> None:
    expect = expectation_now(LOOKED_UP, session(LOOKED_UP))
    old, new = (json.dumps(value) for value in (LOOKED_UP.expectation["must_call"], expect["must_call"]))
    stop = LOOKED_UP.extra["gold"][-1]["request"]
    assert stop in old and stop not in new, "stop ids belong to a world"


def test_in_its_own_world_a_task_expects_what_it_says() -> None:
    for task in TASKS:
        own = Session(open_world(task.world), task.faults)
        expect = expectation_now(task, own)
        assert expect["answer"]["value"] == task.expectation["answer"]["value"], task.task_id
        assert expect["must_call"] == task.expectation["must_call"]
        assert expect["near_misses"] == task.expectation["near_misses"]


def test_a_world_that_does_not_answer_is_a_failure_and_no_verdict() -> None:
    gone = replace(TASKS[0], world={"kind": "live", "name": "http://127.0.0.1:9", "sha256": None, "rps": None})
    row = played(gone, planner())
    assert (row.score.outcome, row.score.sub) == ("not_run", "world_not_ready")
    assert row.score.details["task_success"] is None and "GET /" in str(row.error)


def test_a_task_whose_data_are_there_again_is_not_judged() -> None:
    """A fault is ours and stays; coverage is the world's: where it has changed, the task has no answer."""
    uncovered = next(t for t in TASKS if t.category == "not_covered")

    class Covering:
        kind, name, sha256 = "live", "x", None

        def answer(self, request: str) -> Any:
            return open_world({"kind": "snapshot", "name": "s1"}).answer("/cities/koeln/weather")

    with pytest.raises(WorldNotReadyError, match="no gold now"):
        expectation_now(uncovered, Session(Covering()))


def test_a_resumed_play_reads_what_the_first_one_read(elsewhere: LoopbackServer, tmp_path: Path) -> None:
    task, asked = live(LOOKED_UP, elsewhere), []
    inner = elsewhere.responder.respond

    class Counting:
        def respond(self, method: str, target: str, headers: Mapping[str, str] | None = None) -> Any:
            asked.append(target)
            return inner(method, target, headers)

    elsewhere.responder = Counting()
    journal = Journal.open(tmp_path / "j.jsonl", {})
    first = played(task, planner(), journal=journal)
    before = len(asked)
    again = played(task, planner(), journal=journal, stored=stored_answers(read_journal(journal.path)[1]))
    journal.close()
    assert before > 0 and len(asked) == before, "nothing is read twice"
    assert again.transcript == first.transcript and first.score.details["task_success"]


def test_a_stored_play_is_judged_by_what_was_right_then(elsewhere: LoopbackServer) -> None:
    task = live(LOOKED_UP, elsewhere)
    first = played(task, planner())
    course = first.transcript.course
    row = json.loads(json.dumps({"transcript": course.to_json()}))
    assert chain.rescore(task, row, course.bodies(), TOOLS, "native").to_json() == first.score.to_json()


def test_a_request_that_nobody_recorded_fails_one_play_and_is_named(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text(json.dumps({"recording": 1, "level": "snapshot", "base_url": "http://x/api/v1"}) + "\n", "utf-8")
    world = StrictWorld(open_world({"kind": "recording", "name": str(path)}))
    with pytest.raises(WorldNotReadyError, match="GET /cities/bonn/weather") as caught:
        world.answer("/cities/bonn/weather")
    assert caught.value.sub == "not_recorded"


def test_answers_are_noted_under_their_request() -> None:
    notes: dict[str, Any] = {}
    world = NotedWorld(open_world({"kind": "snapshot", "name": "s1"}),
                       lambda name, make: notes.setdefault(name, notes.get(name) or make()))
    found = world.answer("/cities/bonn/weather")
    assert list(notes) == ["GET /cities/bonn/weather"] and world.read["/cities/bonn/weather"] == (200, found.text)
