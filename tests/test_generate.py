"""generate.py as a command: reproducible, honest about its source, and careful with the old file."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import generate
from infranode_eval.infranode.server import LoopbackServer
from infranode_eval.infranode.snapshot import Snapshot
from lm_eval_task.tools import data_file

ROOT = Path(__file__).resolve().parent.parent


def run(*arguments: str | Path) -> int:
    return generate.main([str(a) for a in arguments])


def rows(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def proofs(path: Path) -> list[dict[str, object]]:
    found = [row["verified"] for row in rows(path)]
    return [proof for entry in found for proof in (entry if isinstance(entry, list) else [entry])]


def test_building_from_the_snapshot_takes_less_than_a_minute_and_gives_the_shipped_bytes(tmp_path: Path) -> None:
    started = time.monotonic()
    done = subprocess.run([sys.executable, ROOT / "generate.py", "--source", "snapshot", "--out", tmp_path / "x.jsonl"],
                          capture_output=True, text=True, cwd=tmp_path, timeout=60)
    assert done.returncode == 0, done.stderr
    assert time.monotonic() - started < 60
    again = "run: python generate.py --source snapshot"
    assert (tmp_path / "x.jsonl").read_bytes() == data_file("tasks.jsonl").read_bytes(), again
    assert (tmp_path / "x.meta.json").read_bytes() == data_file("tasks.meta.json").read_bytes(), again


def test_the_same_seed_gives_the_same_bytes_and_another_the_same_core(tmp_path: Path) -> None:
    for name, seed in (("a", 4), ("b", 4), ("c", 5)):
        assert run("--source", "snapshot", "--seed", seed, "--out", tmp_path / f"{name}.jsonl") == 0
    one, two, three = (tmp_path / f"{name}.jsonl" for name in "abc")
    assert one.read_bytes() == two.read_bytes()
    assert one.read_bytes() != three.read_bytes()
    assert [r for r in rows(one) if r["set"] == "core"] == [r for r in rows(three) if r["set"] == "core"]


def test_progress_leakage_and_dropped_counts_go_to_stderr_and_the_result_to_stdout(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("--source", "snapshot", "--max-per-category", 2, "--out", tmp_path / "x.jsonl")
    out, err = capsys.readouterr()
    assert out.count("\n") == 1 and "checked against: snapshot" in out
    assert "requests" in err and "leakage in %" in err and "core resource_key" in err


def test_a_recording_of_the_snapshot_replays_to_the_same_tasks_and_claims_no_more(tmp_path: Path) -> None:
    small = ("--max-per-category", 1)
    assert run("--source", "snapshot", *small, "--record", tmp_path / "r.jsonl", "--out", tmp_path / "a.jsonl") == 0
    assert run("--replay", tmp_path / "r.jsonl", *small, "--out", tmp_path / "b.jsonl") == 0
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()
    assert {proof["level"] for proof in proofs(tmp_path / "b.jsonl")} == {"snapshot"}


def test_a_recording_of_the_live_api_is_a_recording(tmp_path: Path) -> None:
    small = ("--max-per-category", 1)
    run("--source", "snapshot", *small, "--record", tmp_path / "r.jsonl", "--out", tmp_path / "a.jsonl")
    lines = (tmp_path / "r.jsonl").read_text().splitlines()
    head = json.loads(lines[0]) | {"level": "live"}
    (tmp_path / "r.jsonl").write_text("\n".join([json.dumps(head), *lines[1:]]) + "\n")
    assert run("--replay", tmp_path / "r.jsonl", *small, "--out", tmp_path / "b.jsonl") == 0
    assert {(proof["level"], proof["date"]) for proof in proofs(tmp_path / "b.jsonl")} == {("recording", "2026-07-06")}


def test_our_own_server_at_a_base_url_is_not_the_live_api(tmp_path: Path) -> None:
    with LoopbackServer(Snapshot()) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        assert run("--base-url", server.base_url, "--rps", 1000, "--max-per-category", 1,
                   "--out", tmp_path / "x.jsonl") == 0
        server.shutdown()
    assert json.loads((tmp_path / "x.meta.json").read_text())["source"]["level"] == "snapshot"


def test_an_unrecorded_request_stops_the_run_and_leaves_the_old_file(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small = ("--max-per-category", 1)
    run("--source", "snapshot", *small, "--record", tmp_path / "r.jsonl", "--out", tmp_path / "x.jsonl")
    before = (tmp_path / "x.jsonl").read_bytes()
    capsys.readouterr()
    assert run("--replay", tmp_path / "r.jsonl", "--out", tmp_path / "x.jsonl") == 2
    assert "holds no response to GET /" in capsys.readouterr().err
    assert (tmp_path / "x.jsonl").read_bytes() == before


def test_an_unreachable_api_is_one_line_and_leaves_the_old_file(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.jsonl").write_text("old")
    assert run("--base-url", "http://127.0.0.1:9/api/v1", "--out", tmp_path / "x.jsonl") == 3
    assert capsys.readouterr().err.count("\n") == 1
    assert (tmp_path / "x.jsonl").read_text() == "old"


def test_a_source_that_lost_most_data_leaves_the_old_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.jsonl").write_text("old")
    recording = tmp_path / "r.jsonl"
    run("--source", "snapshot", "--max-per-category", 1, "--record", recording, "--out", tmp_path / "a.jsonl")
    lines = [json.loads(line) for line in recording.read_text().splitlines()]
    for line in lines[1:]:
        line["body"] = {"data": None, "meta": {"source_status": "not_ingested"}}
    recording.write_text("\n".join(map(json.dumps, lines)) + "\n")
    assert run("--replay", recording, "--max-per-category", 1, "--out", tmp_path / "x.jsonl") == 3
    assert "source_status not_ingested" in capsys.readouterr().err
    assert (tmp_path / "x.jsonl").read_text() == "old"


def test_an_interruption_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                             capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.jsonl").write_text("old")

    def interrupted(done: int, total: int) -> None:
        if done == 100:
            raise KeyboardInterrupt

    monkeypatch.setattr(generate, "_progress", interrupted)
    assert run("--source", "snapshot", "--out", tmp_path / "x.jsonl") == 130
    assert capsys.readouterr().err == "generate: interrupted; nothing was written\n"
    assert [p.name for p in tmp_path.iterdir()] == ["x.jsonl"]
    assert (tmp_path / "x.jsonl").read_text() == "old"


def test_verify_confirms_the_shipped_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--verify", "--source", "snapshot") == 0
    assert "0 do not hold" in capsys.readouterr().out


def test_verify_lists_golds_that_no_longer_hold_and_writes_nothing(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.jsonl"
    run("--source", "snapshot", "--max-per-category", 1, "--out", path)
    found = rows(path)
    wrong = next(r for r in found if r["category"] == "resource_key")
    wrong["expected"][0]["arguments"]["slug"] = "zwickau"
    path.write_text("".join(json.dumps(r, ensure_ascii=False) + "\n" for r in found))
    before = path.read_bytes()
    capsys.readouterr()
    assert run("--verify", "--source", "snapshot", "--out", path) == 1
    assert f"{wrong['task_id']}: wrong call: 404 not_found" in capsys.readouterr().out
    assert path.read_bytes() == before


@pytest.mark.parametrize("arguments", [
    ["--no-such-flag"],
    ["--source", "mars"],
    ["--max-per-category", "0"],
    ["--replay", "a", "--record", "b"],
])
def test_a_command_line_that_cannot_be_meant_exits_with_2(arguments: list[str]) -> None:
    assert run(*arguments) == 2


@pytest.mark.parametrize(("arguments", "said"), [
    (["--source", "snapshot", "--out", "no/folder/x.jsonl"], "does not exist"),
    (["--replay", "none.jsonl"], "cannot be read"),
    (["--verify", "--source", "snapshot", "--out", "none.jsonl"], "cannot be read"),
    (["--base-url", "infranode.dev"], "must start with"),
    (["--rps", "0"], "greater than 0"),
])
def test_bad_input_is_one_line_and_exit_2(arguments: list[str], said: str, tmp_path: Path,
                                          monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(*arguments) == 2
    err = capsys.readouterr().err
    assert said in err and err.count("\n") == 1 and "Traceback" not in err
