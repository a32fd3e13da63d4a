"""The commands sql and rescan, and how a command is chosen."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import run_eval
from infranode_eval.db_routing import rescan_command, sql_command
from infranode_eval.db_routing.__main__ import COMMANDS, main
from infranode_eval.db_routing.data import CACHE, cache_folder
from tests.db_routing.bird_folder import write_folder
from tests.db_routing.tiny_panel import write_panel

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(CACHE, str(tmp_path / "cache"))
    write_panel(tmp_path / "panel", cache_folder())


@pytest.mark.parametrize(("database", "sql", "status", "told"), [
    ("laden", "SELECT kunden_name FROM kunden_stamm ORDER BY id", 0, "Emmy"),
    ("db_02", "SELECT COUNT(*) FROM bon_kopf", 0, "60"),
    ("laden", "SELECT * FROM bon_kopf", 0, "50"),
    ("laden", "SELECT * FROM schiff_stamm", 1, "schiff_stamm"),
    ("laden", "DELETE FROM bon_kopf", 1, ""), ("laden", "SELECT 1; SELECT 2", 1, ""),
    ("laden", "ATTACH 'x.db' AS x", 1, ""), ("laden", "SELECT load_extension('x')", 1, ""),
    ("nowhere", "SELECT 1", 2, "there is no database nowhere")])
def test_sql_runs_as_a_models_would(
        database: str, sql: str, status: int, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert sql_command.main(["--database", database, sql, "--tasks", "panel"]) == status
    shown = capsys.readouterr()
    assert told in (shown.err if status else shown.out) and not Path("x.db").exists()


def test_sql_runs_in_a_bird_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_folder(tmp_path / "folder")
    assert sql_command.main(["--database", "financial", 'SELECT COUNT(*) FROM "order"', "--bird", str(folder),
                             "--descriptions", str(folder / "descriptions.json"), "--signal", "none"]) == 0
    assert "2" in capsys.readouterr().out
    assert sql_command.main(["--database", "financial", "SELECT 1", "--bird", str(folder)]) == 2


@pytest.mark.parametrize(("arguments", "status", "told"), [
    (("sql", "--database", "laden", "SELECT 7 AS n", "--tasks", "panel"), 0, "7"), (("--help",), 0, "rescan FILE"),
    (("rescan", "--help"), 0, "cannot"), ((), 2, "expected one of"), (("jurie",), 2, "found 'jurie'")])
def test_the_command_that_is_named_first_runs(arguments: tuple[str, ...], status: int, told: str) -> None:
    done = subprocess.run([sys.executable, "-m", "infranode_eval.db_routing", *arguments], capture_output=True,
                          text=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert (done.returncode, told in done.stdout + done.stderr) == (status, True), done.stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main([name, "--help"])
    assert f"python -m infranode_eval.db_routing {name}" in capsys.readouterr().out


# --- rescan -----------------------------------------------------------------------------------------------------------

def run(model: str) -> None:
    assert run_eval.main(["--suite", "db_routing", "--model", model, "--tasks", "panel", "--out", "r.json"]) == 0


def rescan(status: int, *more: str) -> None:
    assert rescan_command.main(["r.json", "--tasks", "panel", *more]) == status


def changed(change: Callable[[dict[str, Any]], object], file: str = "r.json") -> None:
    """A result whose content was changed, or whose transcripts were, with the right sha256."""
    result = json.loads(Path("r.json").read_text("utf-8"))
    if file == "r.json":
        change(result)
    else:
        told = [json.loads(line) for line in Path(file).read_text("utf-8").splitlines()]
        change(told[0])
        Path(file).write_text("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in told), "utf-8")
        result["transcripts"]["sha256"] = hashlib.sha256(Path(file).read_bytes()).hexdigest()
    Path("r.json").write_text(json.dumps(result, ensure_ascii=False), "utf-8")


@pytest.mark.parametrize("model", ["oracle", "parallel_prober", "switcher", "narrator", "never_stops", "chance"])
def test_what_was_just_played_comes_out_the_same(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    run(model)
    rescan(0)
    assert "12 transcripts: 0 read otherwise, which are marked and not judged again; 12 judged again, 0 otherwise" in \
        capsys.readouterr().out


def test_another_verdict_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    run("oracle")
    changed(lambda result: result["rows"][0].update(route_ok=False, sql_set=False))
    task_id = json.loads(Path("r.json").read_text("utf-8"))["rows"][0]["task_id"]
    rescan(1)
    told = capsys.readouterr().out
    assert f"{task_id} repeat 1: " in told and "route_ok false → true" in told and "1 otherwise" in told


def test_a_turn_that_is_read_otherwise_is_marked_and_not_judged_again(capsys: pytest.CaptureFixture[str]) -> None:
    run("oracle")

    def text_instead(transcript: dict[str, Any]) -> None:
        """As if a call in the text had been overlooked then."""
        said = next(message for message in transcript["messages"] if message["role"] == "assistant")
        said.pop("tool_calls", None)
        said["content"] = '<tool_call>{"name": "db_03", "arguments": {"action": "get_schema"}}</tool_call>'
        transcript["db_routing"]["calls"][0]["tool_calls"] = []

    changed(text_instead, "r.transcripts.jsonl")
    changed(lambda result: result["rows"][0].update(route_ok=None))
    rescan(1)
    told = capsys.readouterr().out
    assert 'turn 1 is read otherwise: no call → db_03({"action":"get_schema"})' in told
    assert "12 transcripts: 1 read otherwise" in told and "11 judged again, 0 otherwise" in told
    assert "route_ok" not in told


def test_only_what_belongs_together_is_read(capsys: pytest.CaptureFixture[str]) -> None:
    run("oracle")
    changed(lambda result: result["hashes"].update(panel="0" * 64))
    rescan(2)
    assert "belongs to the panel 000" in capsys.readouterr().err
    run_eval.main(["--suite", "single", "--model", "bm25", "--out", "r.json", "--limit", "1", "--force"])
    rescan(2)
    assert "is no result of the suite db_routing" in capsys.readouterr().err
