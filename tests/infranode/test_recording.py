"""Recordings: written line by line, replayed without a network, and honest about what they hold."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest

from infranode_eval.infranode.client import Client
from infranode_eval.infranode.recording import Recorder, read_recording
from infranode_eval.infranode.snapshot import Snapshot
from lm_eval_task.errors import DataError, RefusedRequestError, UsageError

BASE = "https://example.org/api/v1"


def recorder_of(path: Path, **changes: str) -> Recorder:
    settings = {"level": "snapshot", "base_url": BASE} | changes
    return Recorder(path, settings["level"], settings["base_url"], lambda: "2026-07-06")


def asking(transport: httpx.BaseTransport) -> Client:
    return Client(BASE, rps=None, retries=0, transport=transport, today=lambda: "2030-01-01")


def record(path: Path, requests: list[str]) -> None:
    recorder = recorder_of(path)
    with asking(recorder.around(Snapshot().transport())) as client:
        for request in requests:
            try:
                client.get(request)
            except RefusedRequestError:
                continue
    recorder.close()


def test_a_replay_answers_like_the_source_and_keeps_the_day_of_the_recording(tmp_path: Path) -> None:
    requests = ["/cities/koeln/weather", "/compare?resource=air&cities=bonn,ulm", "/sources?limit=200",
                "/live/koeln/transit/departures?stop_id=de:05315:1134"]
    record(tmp_path / "r.jsonl", requests)
    replay = asking(read_recording(tmp_path / "r.jsonl").transport())
    source = asking(Snapshot().transport())
    for request in requests:
        answer = replay.get(request)
        assert answer.body == source.get(request).body
        assert answer.date == "2026-07-06"


def test_an_error_answer_is_recorded_and_replayed_too(tmp_path: Path) -> None:
    record(tmp_path / "r.jsonl", ["/cities/xyz/weather"])
    with pytest.raises(RefusedRequestError, match="GET /cities/xyz/weather: 404"):
        asking(read_recording(tmp_path / "r.jsonl").transport()).get("/cities/xyz/weather")


def test_an_unrecorded_request_is_an_error_that_names_it(tmp_path: Path) -> None:
    record(tmp_path / "r.jsonl", ["/cities/koeln/weather"])
    with pytest.raises(DataError, match="no response to GET /cities/bonn/weather"):
        asking(read_recording(tmp_path / "r.jsonl").transport()).get("/cities/bonn/weather")


def test_each_response_is_on_disk_before_it_is_handed_on(tmp_path: Path) -> None:
    recorder = recorder_of(tmp_path / "r.jsonl")
    client = asking(recorder.around(Snapshot().transport()))
    for count, slug in enumerate(("bonn", "ulm", "kiel"), 1):
        client.get(f"/cities/{slug}/air")
        assert len((tmp_path / "r.jsonl").read_text().splitlines()) == 1 + count


def test_the_same_answers_give_the_same_bytes_and_no_request_headers(tmp_path: Path) -> None:
    for name in ("a.jsonl", "b.jsonl"):
        record(tmp_path / name, ["/cities/koeln/weather", "/cities/xyz/weather"])
    text = (tmp_path / "a.jsonl").read_text()
    assert text == (tmp_path / "b.jsonl").read_text()
    assert "user-agent" not in text.lower()
    for row in map(json.loads, text.splitlines()[1:]):
        assert list(row) == ["body", "date", "headers", "request", "status"]


def test_a_password_in_the_base_url_is_not_written(tmp_path: Path) -> None:
    recorder_of(tmp_path / "r.jsonl", base_url="https://me:secret@example.org/api/v1").close()
    assert json.loads((tmp_path / "r.jsonl").read_text())["base_url"] == BASE


def test_recording_goes_on_where_it_was_interrupted(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    record(path, ["/cities/koeln/weather"])
    path.write_text(path.read_text() + '{"body": {"data": nu')
    record(path, ["/cities/bonn/weather"])
    assert set(read_recording(path).responses) == {"/cities/koeln/weather", "/cities/bonn/weather"}


def test_the_last_answer_to_a_request_counts(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    answers = [httpx.Response(503, text="down"), httpx.Response(200, json={"data": [1], "meta": {}})]
    recorder = recorder_of(path)
    client = Client(BASE, rps=None, transport=recorder.around(httpx.MockTransport(lambda request: answers.pop(0))),
                    sleep=lambda seconds: None)
    client.get("/sources")
    assert len(path.read_text().splitlines()) == 3
    assert asking(read_recording(path).transport()).get("/sources").data == [1]


@pytest.mark.parametrize("changes", [
    {"level": "live"},                            # a snapshot must never pass for the live API
    {"base_url": "https://other.org/api/v1"},     # two places in one file
])
def test_a_recording_is_not_continued_from_elsewhere(tmp_path: Path, changes: dict[str, str]) -> None:
    recorder_of(tmp_path / "r.jsonl").close()
    with pytest.raises(UsageError, match="choose another file"):
        recorder_of(tmp_path / "r.jsonl", **changes)


@pytest.mark.parametrize(("text", "message"), [
    ("", "is empty"),
    ('{"request": "/x"}\n', ":1: expected"),                                                       # no head
    ('{"recording": 1, "level": "guess", "base_url": "u"}\n', ":1: expected"),                     # unknown level
    ('{"recording": 1, "level": "live", "base_url": "u"}\n{"request": "/x"}\n', ":2: expected"),   # no response
    ('{"recording": 1, "level": "live", "base_url": "u"}\n{"requ', ":2: is not JSON"),
])
def test_a_broken_file_is_named_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "r.jsonl").write_text(text)
    with pytest.raises(DataError, match=message):
        read_recording(tmp_path / "r.jsonl")


def test_a_missing_file_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        read_recording(tmp_path / "none.jsonl")


def test_a_file_that_cannot_be_written_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be written"):
        recorder_of(tmp_path / "no" / "r.jsonl")
