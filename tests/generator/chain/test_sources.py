"""Sources of a world: what they are called, and what time it is there."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from infranode_eval.chain.worlds import LiveWorld, RecordingWorld, open_world
from infranode_eval.generator.chain.sources import Kept, Wish, clock_of, seed_name, world_of
from infranode_eval.infranode.recording import read_recording
from infranode_eval.infranode.snapshot import Snapshot
from tests.generator.chain.small_world import SmallWorld


def tape(path: Path, *bodies: Any) -> RecordingWorld:
    head = {"recording": 1, "level": "live", "base_url": "https://infranode.dev/api/v1"}
    lines = [{"request": f"/cities/bonn/{number}", "status": 200, "headers": {}, "date": "2026-08-0" + str(number + 1),
              "body": body} for number, body in enumerate(bodies)]
    path.write_text("".join(json.dumps(line) + "\n" for line in (head, *lines)), "utf-8")
    return RecordingWorld(read_recording(path))


@pytest.mark.parametrize(("seed", "name"), [("7", "s7"), ("s7", "s7"), ("mine", "mine")])
def test_a_number_is_a_seed(seed: str, name: str) -> None:
    assert seed_name(seed) == name
    assert world_of(Wish(seed=seed), lambda world: None).name == name


def test_the_embedded_model_has_a_clock_of_its_own() -> None:
    assert clock_of(open_world({"kind": "snapshot", "name": "s1"})) is None


@pytest.mark.parametrize(("bodies", "clock", "why"), [
    ([{"data": {"retrieved_at": "2026-08-01T08:00:00.000000Z"}},
      {"data": [{"data": {"retrieved_at": "2026-08-02T10:30:15Z"}}]}], "2026-08-02T12:30:15", "the last, local time"),
    ([{"data": {"retrieved_at": "2026-01-02T10:30:15Z"}}], "2026-01-02T11:30:15", "winter"),
    ([{"data": None}, {"error": {}}], "2026-08-02T12:00:00", "no record: noon of the last day"),
])
def test_a_recording_has_the_time_at_which_it_was_made(tmp_path: Path, bodies: list[Any], clock: str, why: str) -> None:
    assert clock_of(tape(tmp_path / "tape.jsonl", *bodies)) == clock, why


def test_the_live_api_has_the_time_that_it_is() -> None:
    world = LiveWorld("http://127.0.0.1:9/api/v1", Snapshot().transport())
    clock = clock_of(world)
    assert clock is not None and abs(datetime.fromisoformat(clock) - datetime.now()) < timedelta(days=1)


def test_a_kept_world_is_asked_once() -> None:
    small = SmallWorld({"/x": {"a": 1}})
    kept = Kept(small)
    assert kept.answer("/x") is kept.answer("/x") and small.asked == ["/x"]
    assert (kept.kind, kept.name, kept.sha256) == (small.kind, small.name, small.sha256)
