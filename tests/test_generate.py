"""generate.py as a command: reproducible, honest about its source, and careful with the old file."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import generate
from infranode_eval.generator import output
from infranode_eval.generator import rows as rows_module
from infranode_eval.infranode.server import LoopbackServer
from infranode_eval.infranode.snapshot import Snapshot
from lm_eval_task.dataset import load_tasks
from lm_eval_task.records import tasks_fingerprint
from lm_eval_task.tools import data_file, read_tools

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


# --- when the API moves -----------------------------------------------------------------------------------------------

@pytest.fixture
def july() -> Iterator[str]:
    """The base URL of our model in the state of 1 July, where keys of today do not exist yet."""
    with LoopbackServer(Snapshot("july-1")) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        yield server.base_url
        server.shutdown()


def watch(base_url: str, *arguments: str | Path) -> int:
    return run("--verify", "--base-url", base_url, "--rps", 1000, *arguments)


def test_a_watch_report_says_what_moved_over_a_real_connection(
        july: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = data_file("tasks.jsonl").read_bytes()
    assert watch(july, "--watch-report", tmp_path / "w.md") == 1
    assert watch(july, "--watch-report", tmp_path / "w.json") == 1
    text, value = (tmp_path / "w.md").read_text("utf-8"), json.loads((tmp_path / "w.json").read_text("utf-8"))
    assert "says nothing about the live API" in text and "/openapi.json" in text
    assert "| resource_key-jena-charging-status | core | /cities/jena/charging-status |" in text
    moved = [f["task_id"] for f in value["findings"] if f["grade"] == "moved"]
    out = capsys.readouterr().out
    assert all(f"{name}: " in out for name in moved) and f"{len(moved)} do not hold" in out
    assert data_file("tasks.jsonl").read_bytes() == before, "watching writes no task"


def test_retired_rows_are_marked_and_nothing_else_changes(july: str, tmp_path: Path) -> None:
    out = tmp_path / "t.jsonl"
    assert watch(july, "--retire", "--out", out) == 1
    old, new = rows(data_file("tasks.jsonl")), rows(out)
    marked = {r["task_id"]: r.pop("retired") for r in new if "retired" in r}
    assert new == old and "resource_key-jena-charging-status" in marked
    assert all(r.get("pair") in (None, *marked) for r in old if r["task_id"] in marked)
    meta, before = (json.loads(output.meta_path(path).read_text("utf-8")) for path in (out, data_file("tasks.jsonl")))
    core = sum(r["task_id"] in marked for r in old if r["set"] == "core")
    assert meta["version"] == f"{before['version']}+r{core}-2026-07-06"
    used = load_tasks(read_tools(), "core", out)
    assert len(used) == before["counts"]["core"]["all"] - core == meta["counts"]["core"]["all"]
    assert meta["hashes"]["core"] == tasks_fingerprint(used) != before["hashes"]["core"]
    rows_module.check_rows(rows(out))


def test_a_retired_row_that_holds_again_is_told_and_stays_retired(
        july: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "t.jsonl"
    watch(july, "--retire", "--out", out)
    bytes_then, meta_then = out.read_bytes(), output.meta_path(out).read_bytes()
    capsys.readouterr()
    assert run("--verify", "--source", "snapshot", "--tasks", out, "--watch-report", tmp_path / "w.json") == 0
    back = json.loads((tmp_path / "w.json").read_text())["counts"]["back"]
    assert back == bytes_then.count(b'"retired": {') > 0
    assert capsys.readouterr().out.count(": back, retired on 2026-07-06: ") == back
    assert out.read_bytes() == bytes_then
    assert run("--source", "snapshot", "--out", out) == 0, "and building the file anew revives none"
    assert (out.read_bytes(), output.meta_path(out).read_bytes()) == (bytes_then, meta_then)


def test_nothing_moves_where_nothing_moved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report, out = tmp_path / "w.md", tmp_path / "t.jsonl"
    assert run("--verify", "--source", "snapshot", "--watch-report", report, "--retire", "--out", out) == 0
    assert "0 moved, 0 without an answer" in report.read_text("utf-8")
    assert "nothing is retired and nothing was written" in capsys.readouterr().out and not out.exists()


@pytest.mark.parametrize("arguments", [["--watch-report", "w.md"], ["--retire", "--out", "t.jsonl"],
                                       ["--retire", "--tasks", "t.jsonl"]])
def test_existing_files_are_replaced_with_force_only(
        arguments: list[str], july: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    run("--source", "snapshot", "--max-per-category", 2, "--out", "t.jsonl")
    Path("w.md").write_text("mine")
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    capsys.readouterr()
    assert watch(july, *arguments) == 2
    out, err = capsys.readouterr()
    assert err.count("\n") == 1 and "--force" in err and out == "", "told before the first request"
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before
    assert watch(july, *arguments, "--force") == 1
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} != before


def test_a_source_that_is_down_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recording = tmp_path / "r.jsonl"
    run("--source", "snapshot", "--max-per-category", 3, "--out", tmp_path / "t.jsonl", "--record", recording)
    lines = [json.loads(line) for line in recording.read_text().splitlines()]
    dead = [lines[0], *({**line, "status": 503, "body": {"error": {"code": "upstream_unavailable"}}} if i % 3 else line
                        for i, line in enumerate(lines[1:]))]
    recording.write_text("\n".join(map(json.dumps, dead)) + "\n")
    before = (tmp_path / "t.jsonl").read_bytes()
    capsys.readouterr()
    assert run("--verify", "--replay", recording, "--tasks", tmp_path / "t.jsonl", "--retire", "--force",
               "--watch-report", tmp_path / "w.md") == 3
    assert "got no answer, so the source is down" in capsys.readouterr().err
    assert (tmp_path / "t.jsonl").read_bytes() == before and not (tmp_path / "w.md").exists()


@pytest.mark.parametrize("arguments", [
    ["--watch-report", "w.md"], ["--retire"], ["--tasks", "t.jsonl"], ["--verify", "--force"],
    ["--verify", "--tasks", "a.jsonl", "--out", "b.jsonl"],
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
    (["--verify", "--source", "snapshot", "--watch-report", "no/folder/w.md"], "does not exist"),
    (["--base-url", "infranode.dev"], "must start with"),
    (["--rps", "0"], "greater than 0"),
])
def test_bad_input_is_one_line_and_exit_2(arguments: list[str], said: str, tmp_path: Path,
                                          monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(*arguments) == 2
    err = capsys.readouterr().err
    assert said in err and err.count("\n") == 1 and "Traceback" not in err
