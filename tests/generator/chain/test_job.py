"""generate.py --suite chain: the shipped bytes, other worlds, recordings, and what is refused."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import generate
from infranode_eval.chain.tasks import shipped_path
from infranode_eval.chain.worlds import open_world
from infranode_eval.generator import output
from infranode_eval.generator.chain import job
from infranode_eval.generator.chain import templates as template_files
from infranode_eval.generator.chain.templates import read_templates
from infranode_eval.infranode.server import LoopbackServer
from infranode_eval.infranode.snapshot import Snapshot
from lm_eval_task.errors import DataError

CALL = {"name": "get_city_resource", "arguments": {"slug": "{slug}", "resource": "charging"}}
COUNT = {"op": "count", "from": "a", "at": "/data/payload/stations", "where": [["/power_kw", ">=", "{kw}"]]}
SMALL: dict[str, Any] = {
    "template": "power", "phrasings": [f"{word} {{in_city}} mindestens {{kw}} kW?" for word in ("Was", "Wie", "Wo")],
    "cities": ["dresden", "ulm", "bonn", "koeln"], "vary": {"kw": [150, 50]}, "tasks": 2,
    "plan": [{"id": "a", "call": CALL}], "derive": COUNT, "near": {"ohne Filter": {**COUNT, "where": []}},
    "answer": {"type": "number"}}


def run(*arguments: str | Path | int) -> int:
    return generate.main(["--suite", "chain", *map(str, arguments)])


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Templates of one's own: one of two tasks."""
    folder = tmp_path / "templates"
    folder.mkdir()
    text = json.dumps({"category": "filter_count", "templates": [SMALL]})
    (folder / "filter_count.json").write_text(text, "utf-8")
    monkeypatch.setattr(template_files, "FOLDER", folder)
    return folder / "filter_count.json"


# --- the shipped file -------------------------------------------------------------------------------------------------

def test_building_gives_the_shipped_bytes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--out", tmp_path / "x.jsonl") == 0
    again = "run: python generate.py --suite chain"
    assert (tmp_path / "x.jsonl").read_bytes() == shipped_path().read_bytes(), again
    assert (tmp_path / "x.meta.json").read_bytes() == output.meta_path(shipped_path()).read_bytes(), again
    out, err = capsys.readouterr()
    assert out.count("\n") == 1 and "core 150" in out and "reseed 150" in out
    assert "tasks were redrawn" in err and err.count("\n") == 1


def test_the_shipped_meta_file_counts_and_keeps_reasons() -> None:
    meta = json.loads(output.meta_path(shipped_path()).read_text("utf-8"))
    found = rows(shipped_path())
    assert meta["counts"]["core"]["all"] == 150 and set(meta["counts"]["core"].values()) == {15, 150}
    assert meta["worlds"]["core"]["name"] == meta["worlds"]["control"]["name"] == "s1"
    assert meta["worlds"]["reseed"]["name"] == "s2" and meta["short"] == {}
    assert meta["cities"] >= 40 and len(meta["keys"]) >= 20
    assert set(meta["redrawn"]) <= {row["task_id"] for row in found}
    assert all(reason for refusals in meta["redrawn"].values() for _, reason in refusals)
    assert {row["canary"] for row in found} == {meta["canary"]}


def test_the_second_world_asks_the_same_of_other_values() -> None:
    found = {row["task_id"]: row for row in rows(shipped_path())}
    again = {name.removesuffix("-s2"): row for name, row in found.items() if row["set"] == "reseed"}
    core = {name: row for name, row in found.items() if row["set"] == "core"}
    both = [(core[name], again[name]) for name in core.keys() & again.keys()]
    same = [one for one, other in both if one["question"] == other["question"]]
    assert len(same) > 100, "texts stay"
    drawn = [(one["expect"]["answer"], other["expect"]["answer"]) for one, other in both
             if one["question"] == other["question"] and one["expect"]["answer"]["type"] == "number"]
    assert sum(one["value"] != other["value"] for one, other in drawn) > 0.8 * len(drawn), "values change"
    assert Counter(row["template"] for row in core.values()) == Counter(
        row["template"] for row in found.values() if row["set"] == "reseed")


# --- other worlds -----------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("seed", [3, 7, 12])
def test_another_seed_rebuilds_every_task(tmp_path: Path, seed: int) -> None:
    started = time.monotonic()
    assert run("--world-seed", seed, "--out", tmp_path / "x.jsonl") == 0
    found = rows(tmp_path / "x.jsonl")
    assert Counter(row["set"] for row in found)["core"] == 150
    wanted = Counter({template.name: template.tasks for template in read_templates()})
    assert Counter(row["template"] for row in found if row["set"] == "core") == wanted
    assert {row["world"]["name"] for row in found} == {f"s{seed}"}
    assert {row["world"]["sha256"] for row in found} == {open_world({"kind": "snapshot", "name": f"s{seed}"}).sha256}
    assert time.monotonic() - started < 30


def test_the_same_seed_gives_the_same_bytes(small: Path, tmp_path: Path) -> None:
    for name, seed in (("a", "7"), ("b", "s7"), ("c", "8")):
        assert run("--world-seed", seed, "--out", tmp_path / f"{name}.jsonl") == 0
    one, two, three = ((tmp_path / f"{name}.jsonl").read_bytes() for name in "abc")
    assert one == two and one != three


def test_a_template_that_runs_out_is_one_clear_line_and_leaves_the_old_file(
        small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.jsonl").write_text("old")
    few = SMALL | {"cities": ["ulm"], "vary": {"kw": [5000]}}
    small.write_text(json.dumps({"category": "filter_count", "templates": [few]}))
    assert run("--world-seed", 3, "--out", tmp_path / "x.jsonl") == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and "template power: 0 of 2 tasks" in err and "count is 0, below 2" in err
    assert (tmp_path / "x.jsonl").read_text() == "old"


def test_a_broken_template_is_one_line_with_file_template_and_field(
        small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small.write_text(json.dumps({"category": "filter_count", "templates": [SMALL | {"tasks": 0}]}))
    assert run("--world-seed", 3, "--out", tmp_path / "x.jsonl") == 2
    assert "filter_count.json: template power: tasks: must be" in capsys.readouterr().err


def test_what_is_redrawn_is_written_down(small: Path, tmp_path: Path) -> None:
    small.write_text(json.dumps({"category": "filter_count", "templates": [SMALL | {"vary": {"kw": [5000, 50]}}]}))
    assert run("--world-seed", 3, "--out", tmp_path / "x.jsonl") == 0
    meta = json.loads((tmp_path / "x.meta.json").read_text("utf-8"))
    assert meta["redrawn"]["filter_count-dresden-power"] == [["dresden, kw=5.000", "count is 0, below 2"]]
    assert sum(meta["refused"].values()) >= 1


# --- recordings and the network ---------------------------------------------------------------------------------------

def test_a_recording_holds_all_that_golds_need(small: Path, tmp_path: Path) -> None:
    tape = tmp_path / "tape.jsonl"
    assert run("--world-seed", 4, "--record", tape, "--out", tmp_path / "a.jsonl") == 0
    assert run("--replay", tape, "--out", tmp_path / "b.jsonl") == 0
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()
    found = rows(tmp_path / "b.jsonl")
    assert {(row["world"]["kind"], row["world"]["name"]) for row in found} == {("recording", str(tape))}
    assert {row["world"]["clock"] for row in found} == {"2026-07-06T10:00:00"}, "the clock of what was recorded"
    assert run("--world-seed", 4, "--out", tmp_path / "c.jsonl") == 0
    assert [row["expect"] for row in found] == [row["expect"] for row in rows(tmp_path / "c.jsonl")]


def test_the_whole_suite_replays_from_a_recording_of_the_snapshot(tmp_path: Path) -> None:
    tape = tmp_path / "tape.jsonl"
    assert run("--record", tape, "--out", tmp_path / "a.jsonl") == 0
    core = {row["task_id"]: row["expect"] for row in rows(shipped_path()) if row["set"] != "reseed"}
    assert {row["task_id"]: row["expect"] for row in rows(tmp_path / "a.jsonl")} == core


def test_the_live_api_behind_the_client(small: Path, tmp_path: Path) -> None:
    with LoopbackServer(Snapshot()) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        live = ("--source", "live", "--base-url", server.base_url, "--rps", 1000)
        assert run(*live, "--out", tmp_path / "a.jsonl") == 0
        assert run(*live, "--record", tmp_path / "tape.jsonl", "--out", tmp_path / "b.jsonl") == 0
        server.shutdown()
    one, other = rows(tmp_path / "a.jsonl"), rows(tmp_path / "b.jsonl")
    assert {name: one[0]["world"][name] for name in ("kind", "name", "sha256")} == {
        "kind": "live", "name": server.base_url, "sha256": None}
    assert other[0]["world"]["kind"] == "recording"
    assert [row["expect"] for row in one] == [row["expect"] for row in other]
    assert run("--replay", tmp_path / "tape.jsonl", "--out", tmp_path / "c.jsonl") == 0
    assert (tmp_path / "c.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()


def test_an_unrecorded_request_is_named(small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("--world-seed", 4, "--record", tmp_path / "tape.jsonl", "--out", tmp_path / "a.jsonl")
    lines = [line for line in (tmp_path / "tape.jsonl").read_text("utf-8").splitlines() if "ulm" not in line]
    (tmp_path / "cut.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    capsys.readouterr()
    assert run("--replay", tmp_path / "cut.jsonl", "--out", tmp_path / "b.jsonl") == 2
    assert "holds no response to GET /cities/ulm/charging" in capsys.readouterr().err
    assert not (tmp_path / "b.jsonl").exists()


def test_a_source_that_lacks_data_gives_the_tasks_that_hold_and_names_the_rest(
        small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gone = SMALL | {"template": "gone", "phrasings": [f"{word} {{in_city}}, {{kw}} kW?" for word in ("A", "B", "C")],
                    "derive": {**COUNT, "at": "/data/payload/nothing"}, "near": {}}
    small.write_text(json.dumps({"category": "filter_count", "templates": [SMALL, gone]}))
    assert run("--record", tmp_path / "tape.jsonl", "--out", tmp_path / "a.jsonl") == 0
    assert "template gone: 0 of 2 tasks" in capsys.readouterr().err
    assert len(rows(tmp_path / "a.jsonl")) == 2
    assert "gone" in json.loads((tmp_path / "a.meta.json").read_text("utf-8"))["short"]
    small.write_text(json.dumps({"category": "filter_count", "templates": [gone]}))
    assert run("--replay", tmp_path / "tape.jsonl", "--out", tmp_path / "b.jsonl") == 3
    assert "no template yields a task" in capsys.readouterr().err and not (tmp_path / "b.jsonl").exists()


# --- flags ------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("flags", "said"), [
    (("--verify",), "--suite chain has no --verify"),
    (("--export", "hf"), "--suite chain has no --export"),
    (("--max-per-category", "3"), "--suite chain has no --max-per-category"),
    (("--world-seed", "3"), "--out is missing"),
    (("--source", "live"), "--out is missing"),
    (("--record", "x"), "--out is missing"),
    (("--world-seed", "3", "--replay", "x", "--out", "y"), "--world-seed names a world of the embedded model"),
    (("--world-seed", "3", "--source", "live", "--out", "y"), "--world-seed names a world of the embedded model"),
    (("--replay", "x", "--record", "z", "--out", "y"), "--replay and --record exclude each other"),
    (("--out", "no/such/folder/x.jsonl"), "the folder no/such/folder does not exist"),
    (("--replay", "no-tape.jsonl", "--out", "y"), "no-tape.jsonl: cannot be read"),
    (("--lint", "--out", "no-file.jsonl"), "no-file.jsonl: cannot be read"),
])
def test_flags_that_cannot_be_meant(flags: tuple[str, ...], said: str, tmp_path: Path,
                                    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(*flags) == 2
    assert said in capsys.readouterr().err


def test_a_world_belongs_to_the_suite_chain(capsys: pytest.CaptureFixture[str]) -> None:
    assert generate.main(["--world-seed", "3"]) == 2
    assert "--world-seed goes with --suite chain" in capsys.readouterr().err


def test_lint_as_a_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--lint") == 0
    assert "344 tasks, 0 findings" in capsys.readouterr().out.replace(str(len(rows(shipped_path()))), "344")
    lines = shipped_path().read_text("utf-8").splitlines()
    (tmp_path / "x.jsonl").write_text("\n".join(lines[1:]) + "\n", "utf-8")
    assert run("--lint", "--out", tmp_path / "x.jsonl") == 1
    assert "thin: " in capsys.readouterr().out


def test_a_row_that_breaks_the_format_is_refused() -> None:
    row = rows(shipped_path())[0]
    with pytest.raises(DataError, match="a pattern is"):
        job.check_rows([row | {"expect": {**row["expect"], "must_call": {"request": "/x"}}}])
    with pytest.raises(DataError, match='"plan" is missing'):
        job.check_rows([{name: value for name, value in row.items() if name != "plan"}])
