"""Worlds: the embedded API, a recording and the network answer alike, and a wrong world is named with both hashes."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import httpx
import pytest

from infranode_eval.chain.declaration import Fault, steps_from_json
from infranode_eval.chain.derive import execute_plan
from infranode_eval.chain.worlds import LiveWorld, Response, Session, World, open_world, session_of
from infranode_eval.infranode.client import Client
from infranode_eval.infranode.facts import world_hash
from infranode_eval.infranode.recording import Recorder
from infranode_eval.infranode.snapshot import Snapshot
from lm_eval_task.errors import DataError, InfraError, RefusedRequestError

BASE = "https://example.org/api/v1"
REQUESTS = ("/cities/bonn/weather", "/cities?limit=200", "/compare?resource=air&cities=bonn,giessen",
            "/cities/giessen/base", "/stations/80002/departures", "/cities/bonn/parking",
            "/live/bonn/transit/departures?stop_id=1")


def live(transport: httpx.BaseTransport | None = None) -> World:
    return open_world({"kind": "live", "name": BASE, "sha256": None}, transport or Snapshot().transport(), rps=None)


def recorded(path: Path, requests: tuple[str, ...] = REQUESTS) -> Path:
    recorder = Recorder(path, "snapshot", BASE, lambda: "2026-07-06")
    with Client(BASE, rps=None, retries=0, transport=recorder.around(Snapshot().transport())) as client:
        for request in requests:
            try:
                client.get(request)
            except RefusedRequestError:
                continue
    recorder.close()
    return path


def snapshot(name: str = "s1", **more: Any) -> World:
    return open_world({"kind": "snapshot", "name": name, **more})


@pytest.mark.parametrize("request_", REQUESTS)
def test_every_kind_of_world_gives_the_same_answer(request_: str, tmp_path: Path) -> None:
    expected = Snapshot().respond("GET", "/api/v1" + request_)
    recording = open_world({"kind": "recording", "name": str(recorded(tmp_path / "r.jsonl"))})
    for world in (snapshot(), recording, live()):
        found = world.answer(request_)
        assert (found.request, found.status, found.body) == (request_, expected.status, expected.json()), world.kind
        assert json.loads(found.text) == found.body, "the text is the body"


@pytest.mark.parametrize(("request_", "answered", "source_status"), [
    ("/cities/bonn/weather", True, "ok"), ("/cities?limit=200", True, None), ("/cities/giessen/base", False, None),
    ("/cities/bonn/parking", False, "not_covered"), ("/live/bonn/transit/departures?stop_id=1", False, "no_data"),
    ("/compare?resource=air&cities=bonn", True, None),
])
def test_an_answer_knows_its_state(request_: str, answered: bool, source_status: str | None) -> None:
    found = snapshot().answer(request_)
    assert (found.answered, found.source_status) == (answered, source_status)


def test_the_text_is_compact_with_real_umlauts() -> None:
    assert Response("/x", 200, {"data": {"name": "Köln"}, "meta": {}}).text == '{"data":{"name":"Köln"},"meta":{}}'
    assert snapshot().answer("/cities/koeln/base").text.startswith('{"data":{"city_slug":"koeln",')


def test_a_world_is_opened_once_and_keeps_its_answers() -> None:
    assert snapshot() is snapshot()
    assert snapshot().answer("/cities/bonn/weather") is snapshot().answer("/cities/bonn/weather")
    assert snapshot("s2") is not snapshot()
    assert snapshot("s2").answer("/cities/bonn/weather").body != snapshot().answer("/cities/bonn/weather").body


def test_a_snapshot_is_named_by_its_seed_and_hashed_by_its_rules() -> None:
    world = snapshot("reseed-7", sha256=world_hash("reseed-7"))
    assert (world.kind, world.name, world.sha256) == ("snapshot", "reseed-7", world_hash("reseed-7"))


@pytest.mark.parametrize("kind", ["snapshot", "recording"])
def test_another_world_is_refused_with_both_hashes_and_advice(kind: str, tmp_path: Path) -> None:
    name = "s1" if kind == "snapshot" else str(recorded(tmp_path / "r.jsonl"))
    world = open_world({"kind": kind, "name": name})
    with pytest.raises(DataError) as error:
        open_world({"kind": kind, "name": name, "sha256": "0" * 64})
    assert "0" * 64 in str(error.value) and str(world.sha256) in str(error.value)
    assert "rebuild them" in str(error.value)


@pytest.mark.parametrize("value", [
    {}, {"kind": "mars", "name": "s1"}, {"kind": "snapshot"}, {"kind": "snapshot", "name": ""}, "s1", None])
def test_what_is_no_world_is_refused(value: Any) -> None:
    with pytest.raises(DataError, match="a world is"):
        open_world(value)


def test_the_hash_of_a_recording_is_that_of_its_answers_not_of_their_order(tmp_path: Path) -> None:
    forth = open_world({"kind": "recording", "name": str(recorded(tmp_path / "a.jsonl"))})
    back = open_world({"kind": "recording", "name": str(recorded(tmp_path / "b.jsonl", REQUESTS[::-1]))})
    less = open_world({"kind": "recording", "name": str(recorded(tmp_path / "c.jsonl", REQUESTS[1:]))})
    assert forth.sha256 == back.sha256 != less.sha256


def test_an_unrecorded_request_is_an_error_that_names_it(tmp_path: Path) -> None:
    world = open_world({"kind": "recording", "name": str(recorded(tmp_path / "r.jsonl"))})
    with pytest.raises(DataError, match=r"no response to GET /cities/ulm/weather"):
        world.answer("/cities/ulm/weather")


def test_a_recorded_page_that_is_no_envelope_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    rows = [{"recording": 1, "level": "live", "base_url": BASE},
            {"request": "/cities/bonn/base", "status": 502, "headers": {}, "date": "2026-07-06", "body": "<html>"}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    with pytest.raises(DataError, match="is no envelope"):
        open_world({"kind": "recording", "name": str(path)}).answer("/cities/bonn/base")


def test_256_threads_see_one_and_the_same_answer() -> None:
    world = snapshot("threads")
    found: list[Response] = []
    gate = threading.Barrier(256)

    def ask() -> None:
        gate.wait()
        found.append(world.answer("/cities/bonn/overview"))

    threads = [threading.Thread(target=ask) for _ in range(256)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 256 and len({id(response) for response in found}) == 1


def answering(status: int, content: bytes, asked: list[str]) -> httpx.BaseTransport:
    def handle(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.path)
        return httpx.Response(status, content=content)

    return httpx.MockTransport(handle)


def test_a_refusal_of_the_live_api_is_an_answer_a_page_of_something_in_between_is_not() -> None:
    refusal = b'{"error":{"code":"not_found","message":"x","hint":null},"meta":{}}'
    found = live(answering(404, refusal, [])).answer("/cities/x/base")
    assert (found.status, found.body["error"]["code"]) == (404, "not_found")
    with pytest.raises(RefusedRequestError):
        live(answering(404, b"<html>", [])).answer("/cities/x/base")


def test_a_dead_upstream_is_an_answer_after_the_retries() -> None:
    asked: list[str] = []
    dead = b'{"error":{"code":"upstream_unavailable","message":"x","hint":null},"meta":{}}'
    world = LiveWorld(BASE, answering(503, dead, asked), rps=None, sleep=lambda seconds: None)
    assert world.answer("/cities/bonn/weather").status == 503
    assert len(asked) == 4, "one attempt and three retries"
    with pytest.raises(InfraError):
        LiveWorld(BASE, answering(503, b"busy", []), rps=None, sleep=lambda seconds: None).answer("/cities/bonn/base")


def test_a_live_session_asks_once_so_that_gold_and_model_see_the_same_bytes() -> None:
    asked: list[str] = []
    inner = Snapshot()

    def handle(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.path)
        body = inner.respond("GET", request.url.raw_path.decode()).json()
        return httpx.Response(200, json={**body, "meta": {**body["meta"], "answer": len(asked)}})

    world = live(httpx.MockTransport(handle))
    session = Session(world)
    steps = steps_from_json([{"id": "a", "call": {"name": "weather", "arguments": {"slug": "bonn"}}}])
    gold = execute_plan(steps, session.get)[0].response
    assert session.get("/cities/bonn/weather") is gold
    assert len(asked) == 1
    assert Session(world).get("/cities/bonn/weather").body["meta"]["answer"] == 2, "another play asks again"


def test_a_session_of_a_row_has_its_world_and_its_faults() -> None:
    fault = {"req": "/cities/bonn/weather", "status": 503, "source": "dwd"}
    session = session_of({"world": {"kind": "snapshot", "name": "s1", "sha256": world_hash()}, "faults": [fault]})
    assert session.world is snapshot()
    assert session.faults == (Fault.from_json(fault),)
    assert session.get("/cities/bonn/weather").status == 503
    assert session_of({"world": {"kind": "snapshot", "name": "s1"}}).get("/cities/bonn/weather").status == 200


def test_importing_the_worlds_needs_no_httpx() -> None:
    import subprocess
    import sys

    code = ("import sys; sys.modules['httpx'] = None; from infranode_eval.chain.worlds import open_world; "
            "print(open_world({'kind': 'snapshot', 'name': 's1'}).answer('/cities/bonn/base').status)")
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                           cwd=Path(__file__).parent.parent.parent)
    assert found.stdout == "200\n"
