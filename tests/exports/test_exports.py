"""`generate.py --export` as a command: what it writes, what it refuses, and that nothing of the user's is lost."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import generate
from infranode_eval.exports import FORMATS, MANIFEST
from lm_eval_task.records import tasks_fingerprint
from tests.exports.trial_data import TASKS, dataset
from tests.needs import need

Run = Callable[..., int]
LIGHT = [form for form in FORMATS if form not in ("hf", "dpo")]     # hf needs a package, dpo results


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """run("--export", …): over the small dataset, in an empty folder."""
    path = dataset(tmp_path / "data")
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: generate.main([*map(str, arguments), "--tasks", str(path)])


def content(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.parametrize("form", LIGHT)
def test_an_export_is_a_folder_and_one_line_and_the_same_bytes_again(
        run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str) -> None:
    assert run("--export", form, "--out", "a") == run("--export", form, "--out", "b") == 0
    assert capsys.readouterr().out.startswith(f"a: {form}, ")
    assert content(tmp_path / "a") == content(tmp_path / "b")
    manifest = json.loads((tmp_path / "a" / MANIFEST).read_text("utf-8"))
    assert manifest["format"] == form and sorted(manifest["files"]) == sorted(content(tmp_path / "a"))


def test_the_manifest_says_which_tasks_were_exported(run: Run, tmp_path: Path) -> None:
    run("--export", "inspect", "--set", "abstain", "--out", "a")
    manifest = json.loads((tmp_path / "a" / MANIFEST).read_text("utf-8"))
    chosen = [task for task in TASKS if task.set == "abstain"]
    assert (manifest["tasks"], manifest["set"], manifest["contaminated"]) == (len(chosen), "abstain", False)
    assert manifest["hashes"]["tasks"] == tasks_fingerprint(chosen)


def test_a_folder_in_use_is_replaced_only_with_force_and_only_an_export_of_ours(
        run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "a"
    assert run("--export", "sft-trl", "--out", out) == 0
    (out / "mine.txt").write_text("mine")
    before = content(out)
    assert run("--export", "sft-trl", "--split", "dev", "--out", out) == 2
    assert content(out) == before and "--force" in capsys.readouterr().err
    assert run("--export", "sft-trl", "--split", "dev", "--out", out, "--force") == 0
    assert set(content(out)) == {"dev.jsonl", MANIFEST, "mine.txt"}


@pytest.mark.parametrize("manifest", [None, "{", "[]", '{"files": 5}'])
def test_even_force_leaves_a_folder_alone_that_holds_no_export(
        run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str], manifest: str | None) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "train.jsonl").write_text("mine")
    if manifest is not None:
        (tmp_path / "a" / MANIFEST).write_text(manifest)
    before = content(tmp_path / "a")
    assert run("--export", "sft-trl", "--out", "a", "--force") == 2
    err = capsys.readouterr().err
    assert "holds no export of ours" in err and err.count("\n") == 1
    assert content(tmp_path / "a") == before


def test_a_manifest_cannot_name_files_outside_its_folder(run: Run, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    assert run("--export", "sft-trl", "--out", "a") == 0
    manifest = json.loads((tmp_path / "a" / MANIFEST).read_text("utf-8"))
    (tmp_path / "a" / MANIFEST).write_text(json.dumps({**manifest, "files": ["../mine.txt", "train.jsonl"]}))
    assert run("--export", "sft-trl", "--out", "a", "--force") == 0
    assert (tmp_path / "mine.txt").read_text() == "mine"


@pytest.mark.parametrize(("arguments", "said"), [
    (("--export", "csv", "--out", "a"), f"expected one of {', '.join(FORMATS)}"),
    (("--export", "hf"), "needs --out DIR"),
    (("--export", "sft-trl", "--out", "data/tasks.jsonl"), "is a file"),
    (("--export", "sft-trl", "--out", "a", "--set", "core"), "would put what measures into it"),
    (("--export", "dpo", "--out", "a", "--results", "none.json"), "does not exist"),
    (("--export", "inspect", "--out", "a", "--split", "dev"), "holds no task for --export inspect --split dev"),
    (("--export", "hf", "--out", "a", "--mode", "native"), "--mode goes with --export sft-openai or sft-trl or dpo"),
    (("--export", "hf", "--out", "a", "--results", "x.json"), "--results goes with --export dpo"),
    (("--export", "hf", "--out", "a", "--allow-contamination"), "--allow-contamination goes with"),
    (("--export", "hf", "--out", "a", "--verify"), "leave out --verify"),
    (("--split", "dev"), "--split goes with --export"),
])
def test_what_cannot_be_meant_is_one_line_and_writes_nothing(
        run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], said: str) -> None:
    assert run(*arguments) == 2
    err = capsys.readouterr().err
    assert said in err and err.count("\n") == 1
    assert not (tmp_path / "a").exists()


def test_the_hub_export_runs_as_a_command(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    need("datasets")
    assert run("--export", "hf", "--out", "a") == 0
    assert "splits: core " in capsys.readouterr().out
    assert (tmp_path / "a" / "README.md").is_file() and (tmp_path / "a" / "LICENSE").is_file()
