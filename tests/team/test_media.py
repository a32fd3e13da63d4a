"""Pictures, sounds and films: who gets them, in which message, how many, and what is told in their place."""

from __future__ import annotations

import io
import struct
import wave
import zlib
from pathlib import Path

import pytest

from infranode_eval.team.scenario import Scenario
from lm_eval_task.errors import ContextOverflowError
from tests.team.plays import MEDIA, call, calls, create, play, read, run, tiny


def png(shade: int = 0) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(bytes([0, shade]))) + chunk(b"IEND", b""))


def wav() -> bytes:
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(8000)
        file.writeframes(bytes(160))
    return buffer.getvalue()


MP4 = b"\x00\x00\x00\x18ftypisom\x00\x00\x02\x00isomiso2" + bytes(64)


def illustrated(parent: Path, rounds: int = 1) -> Scenario:
    scenario = tiny(parent, rounds)
    for folder in ("akten", "entwurf"):
        for name, data in {"bild1.png": png(1), "bild2.png": png(2), "bild3.png": png(3), "bild4.png": png(4),
                           "ton.wav": wav(), "film.mp4": MP4}.items():
            (scenario.template / folder / name).write_bytes(data)
    return scenario


def reading(*names: str):
    """A worker that reads these files of akten in one answer, then reports."""
    def llm(messages):
        return calls(*(read(f"akten/{name}") for name in names)) if messages[-1]["role"] == "user" and isinstance(
            messages[-1]["content"], str) else "gesehen"
    return llm


def parts(request: list) -> list[str]:
    return [part["path"].removeprefix("/arbeit/akten/") if part["type"] == "media" else part["text"]
            for message in request if isinstance(message["content"], list) for part in message["content"]]


# --- who perceives what -----------------------------------------------------------------------------------------------
def test_main_gets_a_placeholder_and_no_attachment(tmp_path: Path) -> None:
    """T4"""
    done = play(illustrated(tmp_path), [calls(read("entwurf/bild1.png"), read("entwurf/ton.wav")), "Fertig."])
    picture, sound = done.results
    assert all(word in picture for word in ("/arbeit/entwurf/bild1.png", "image/png", str(len(png())), "vlm, omni"))
    assert all(word in sound for word in ("/arbeit/entwurf/ton.wav", "audio/", str(len(wav())), "omni"))
    assert "vlm" not in sound and done.voices["main"].media == [[], []]


def test_a_main_that_perceives_pictures_gets_one_behind_the_results(tmp_path: Path) -> None:
    """T5"""
    done = play(illustrated(tmp_path), [calls(read("entwurf/bild1.png"), call("ListSubagents")), "Fertig."],
                media={**MEDIA, "main": {"image": 4}})
    assert done.voices["main"].media == [[], ["/arbeit/entwurf/bild1.png"]]
    assert [m["role"] for m in done.requests[1]][-3:] == ["tool", "tool", "user"]
    assert done.requests[1][-1]["content"][1] == {
        "type": "media", "sha256": done.requests[1][-1]["content"][1]["sha256"], "mime": "image/png",
        "bytes": len(png()), "path": "/arbeit/entwurf/bild1.png"}


@pytest.mark.parametrize("key, name, seen", [
    ("llm", "bild1.png", False), ("llm", "ton.wav", False), ("vlm", "bild1.png", True), ("vlm", "ton.wav", False),
    ("vlm", "film.mp4", True), ("omni", "bild1.png", True), ("omni", "ton.wav", True), ("omni", "film.mp4", True)])
def test_a_worker_perceives_what_its_key_does(tmp_path: Path, key: str, name: str, seen: bool) -> None:
    """T4, T16"""
    done = play(illustrated(tmp_path), [calls(create(key=key), run("los")), "Fertig."],
                **{key: reading(name)})
    assert bool(parts(done.voices[key].requests[1])) is seen
    (worker,) = done.row["subagents"]
    assert sum(worker["media"].values()) == int(seen) and worker["touched"] == [f"/arbeit/akten/{name}"]
    assert done.row["values"]["mca"] == float((key, name) in (
        ("vlm", "bild1.png"), ("vlm", "film.mp4"), ("omni", "ton.wav")) or key == "llm")


# --- how many ---------------------------------------------------------------------------------------------------------
def test_only_the_newest_stay_and_a_line_tells_of_the_older(tmp_path: Path) -> None:
    """T6"""
    done = play(illustrated(tmp_path), [calls(create(key="vlm"), run("los")), "Fertig."],
                vlm=reading("bild1.png", "bild2.png", "bild3.png"))
    told = parts(done.voices["vlm"].requests[1])
    assert [one for one in told if one.endswith(".png")] == ["bild2.png", "bild3.png"]
    (line,) = [one for one in told if "nicht mehr" in one]
    assert "/arbeit/akten/bild1.png" in line and "höchstens 2" in line
    assert done.row["subagents"][0]["media"] == {"image": 2, "audio": 0, "video": 0}, "the first was never sent"


def test_older_ones_of_earlier_messages_go_and_caps_are_by_modality(tmp_path: Path) -> None:
    """T6"""
    done = play(illustrated(tmp_path), [calls(create(key="omni"), run("1")), calls(run("2", session_id="s1")),
                                        calls(run("3", session_id="s1")), "Fertig."],
                omni=[calls(read("akten/bild1.png"), read("akten/ton.wav")), "ja", calls(read("akten/bild2.png")), "ja",
                      calls(read("akten/bild3.png")), "ja"])
    sent = [[one for one in parts(request) if "." in one[-4:] and " " not in one]
            for request in done.voices["omni"].requests]
    assert sent == [[], ["bild1.png", "ton.wav"], ["bild1.png", "ton.wav"], ["bild1.png", "ton.wav", "bild2.png"],
                    ["bild1.png", "ton.wav", "bild2.png"], ["ton.wav", "bild2.png", "bild3.png"]]
    assert done.row["subagents"][0]["media"] == {"image": 3, "audio": 1, "video": 0}, "each attachment once"
    kept = str(done.course.told["sessions"][0]["messages"])
    assert all(kept.count(f"'path': '/arbeit/akten/{name}'") == 1 for name in ("bild1.png", "bild2.png", "bild3.png"))


def test_a_request_that_was_refused_as_too_long_counts_its_attachments_once(tmp_path: Path) -> None:
    done = play(illustrated(tmp_path), [calls(create(key="vlm"), run("1")), calls(run("2", session_id="s1")), "Gut."],
                vlm=[calls(read("akten/bild1.png")), ContextOverflowError("zu lang"), "gut"])
    assert done.row["subagents"][0]["media"]["image"] == 1


def test_no_bytes_stand_in_transcripts_and_a_file_that_is_read_twice_is_shown_twice(tmp_path: Path) -> None:
    done = play(illustrated(tmp_path), [calls(create(key="vlm"), run("los")), "Fertig."],
                vlm=reading("bild1.png", "bild1.png"))
    assert parts(done.voices["vlm"].requests[1]).count("bild1.png") == 2
    text = str(done.course.to_json())
    assert "base64" not in text and "\\x89PNG" not in text and "iVBOR" not in text
