"""The commands beside a run: help, check, stats, resume (specification: team, T44, T45, T50)."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from infranode_eval.beside import transcripts_path
from infranode_eval.journal import journal_path
from infranode_eval.team.__main__ import COMMANDS, main
from infranode_eval.team.resume_command import copy_run
from lm_eval_task.errors import UsageError
from tests.needs import need_program
from tests.team.probe import write_collection

ROOT = Path(__file__).resolve().parents[2]
HEAVY = ("quickjs", "PIL", "matplotlib", "jinja2", "sklearn", "torch")


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_help_is_quick_and_loads_nothing_heavy(name: str) -> None:
    """T50."""
    code = (f"import sys; sys.argv[1:] = {[name, '--help'] if name else ['--help']}\n"
            "from infranode_eval.team.__main__ import main\n"
            "try:\n    status = main(sys.argv[1:])\nexcept SystemExit as end:\n    status = end.code\n"
            f"print([one for one in {HEAVY} if one in sys.modules], status, file=sys.stderr)")
    started = time.monotonic()
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=20,
                          check=True)
    assert done.stderr.strip().splitlines()[-1] == "[] 0" and len(done.stdout) > 100
    assert time.monotonic() - started < 2, "0.5 s on a machine with nothing else to do"


def test_an_unknown_command_names_those_that_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["spielen"]) == 2
    assert "expected one of check, run, resume, stats, compare, pack" in capsys.readouterr().err


def test_the_suite_module_is_a_way_to_them_too() -> None:
    done = subprocess.run([sys.executable, "-m", "infranode_eval.suites.team", "--help"], cwd=ROOT, capture_output=True,
                          text=True, timeout=20, check=True)
    assert "python -m infranode_eval.team check" in done.stdout


def test_check_says_by_its_exit_code_what_it_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """0 fine, 1 warnings that count, 2 errors."""
    need_program("bwrap", shutil.which("bwrap"))
    folder = write_collection(tmp_path)
    assert main(["check", "-d", str(folder)]) == 0
    assert main(["check", "-d", str(folder), "--strict"]) == 1
    assert "no golden run" in capsys.readouterr().out
    (folder / "probe_klein" / "golden" / "r1" / "ausgabe" / "r1.json").write_text("{}", "utf-8")
    assert main(["check", "-d", str(folder)]) == 2
    assert "probe_klein/golden/r1" in capsys.readouterr().out
    assert main(["check", "-d", str(tmp_path / "nichts")]) == 2


def test_stats_counts_what_the_folder_holds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """T45; by hand: two rounds, one update with a new and a replaced file."""
    folder = write_collection(tmp_path)
    assert main(["stats", "-d", str(folder), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["probe_klein"]
    assert (told["rounds"], told["update_groups"], told["update_new"], told["update_replace"]) == (2, 1, 1, 1)
    assert main(["stats", "-d", str(folder)]) == 0
    assert "probe_klein" in capsys.readouterr().out


def test_a_resumed_copy_leaves_the_old_run_alone(tmp_path: Path) -> None:
    """T44: result, transcripts and journal under another name."""
    need_program("bwrap", shutil.which("bwrap"))
    folder = write_collection(tmp_path / "tasks")
    old, new = tmp_path / "old.json", tmp_path / "new" / "run.json"
    assert main(["run", "--tasks", str(folder), "--model", "allein", "--out", str(old)]) == 0
    journal_path(old).write_text("ein Journal\n", "utf-8")
    before = old.read_bytes()
    copy_run(old, new)
    assert old.read_bytes() == before and journal_path(new).read_text("utf-8") == "ein Journal\n"
    assert json.loads(new.read_bytes())["transcripts"]["file"] == transcripts_path(new).name
    assert transcripts_path(new).read_bytes() == transcripts_path(old).read_bytes()


@pytest.mark.parametrize(("there", "message"), [
    ((), "there is no run at"), (("old.json", "new.json"), "new.json exists; choose another -o"),
    (("old.json", "new.journal.jsonl"), "new.journal.jsonl exists")])
def test_a_copy_needs_an_old_run_and_a_free_place(tmp_path: Path, there: tuple[str, ...], message: str) -> None:
    for name in there:
        (tmp_path / name).write_text("{}", "utf-8")
    with pytest.raises(UsageError, match=message):
        copy_run(tmp_path / "old.json", tmp_path / "new.json")


def test_resuming_begins_no_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A slip in the name would pay for all scenarios."""
    assert main(["resume", "-o", str(tmp_path / "tippfehler.json")]) == 2
    assert "there is no run at" in capsys.readouterr().err and not list(tmp_path.iterdir())
