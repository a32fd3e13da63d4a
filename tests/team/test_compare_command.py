"""`python -m infranode_eval.team compare`: two results or more side by side."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from infranode_eval.results import result_bytes
from infranode_eval.team.__main__ import main
from tests.reports.team_runs import agent, result, row


@pytest.fixture
def file(tmp_path: Path):
    def write(name: str, model: str, passed: str, **more) -> Path:
        path = tmp_path / f"{name}.json"
        path.write_bytes(result_bytes(result(model, [row("recht", passed, [agent()]), row("pegel", "+++", [agent()])],
                                             **more)))
        return path
    return write


def compare(capsys, *arguments: object, code: int = 0) -> str:
    capsys.readouterr()
    assert main(["compare", *map(str, arguments)]) == code
    return "".join(capsys.readouterr())


def test_the_best_is_first_and_scenarios_stand_beside_each_other(file, capsys) -> None:
    out = compare(capsys, "-r", file("a", "weak", "+--"), "-r", file("b", "strong", "+++"))
    lines = out.splitlines()
    scores = [line for line in lines[lines.index("Management of sub-agents"):] if line.startswith(("weak", "strong"))]
    assert [line.split()[:2] for line in scores[:2]] == [["strong", "100.0"], ["weak", "66.7"]]
    assert any(line.split() == ["weak", "33.3", "(1/3)", "100.0", "(3/3)"] for line in lines)


def test_equal_labels_are_told_apart_by_their_files(file, capsys) -> None:
    one, other = file("a", "same", "+--"), file("b", "same", "+++")
    out = compare(capsys, "-r", one, "-r", other)
    assert f"same · {one}" in out and f"same · {other}" in out


def test_unlike_runs_stand_together_with_a_warning(file, capsys) -> None:
    out = compare(capsys, "-r", file("a", "a", "+++"), "-r", file("b", "b", "+++", workflow="off"))
    assert "NOT MADE ALIKE: workflow engine differs" in out


@pytest.mark.parametrize("again", [0, 1])
def test_one_result_is_nothing_to_compare(file, capsys, again) -> None:
    """The same file named twice is one result."""
    path = file("a", "a", "+++")
    assert "give two results or more" in compare(capsys, *["-r", path] * (1 + again), code=2)
    assert "found 0" in compare(capsys, code=2)


def test_another_suite_is_refused(file, capsys) -> None:
    out = compare(capsys, "-r", file("a", "a", "+++"), "-r", "results/bm25.json", code=2)
    assert "results/bm25.json: is a run of suite infranode_tools_de; expected suite team" in out


def test_markdown(file, capsys) -> None:
    out = compare(capsys, "-r", file("a", "a", "+++"), "-r", file("b", "b", "++-"), "--format", "markdown")
    assert "| a | 100.0 |" in out


@pytest.mark.parametrize("command", ["compare", "pack"])
def test_help_is_quick_and_loads_little(command) -> None:
    code = (f"import sys; from infranode_eval.team.__main__ import main\ntry: main(['{command}', '--help'])\n"
            "except SystemExit as end: assert end.code == 0\n"
            "assert not {'infranode_eval.reports.sections', 'infranode_eval.runner'} & sys.modules.keys()")
    started = time.monotonic()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=10,
                          cwd=Path(__file__).parents[2])
    assert done.returncode == 0 and "usage:" in done.stdout, done.stderr
    assert time.monotonic() - started < 3
