"""Public against sealed tasks: differences by hand, what is refused, whether the seal holds, and the text."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from infranode_eval.reports.archive import run_from_json
from infranode_eval.reports.figures import Summary, summarise
from infranode_eval.reports.sealed import (
    ENOUGH,
    Seal,
    compare_sealed,
    seal_of,
    sealed_json,
    sealed_section,
    sentence,
)
from infranode_eval.reports.tasksets import TaskSet, known_sets
from infranode_eval.statistics import newcombe
from infranode_eval.tables import render
from lm_eval_task.errors import DataError
from lm_eval_task.records import Call, Reply, Score, Task, tasks_fingerprint

ROOT = Path(__file__).resolve().parent.parent.parent
UNCHECKED = Seal(None, "seal not checked")


def tasks(kind: str, sizes: dict[str, int], **extra: str) -> tuple[Task, ...]:
    return tuple(Task(f"{kind}-{category}-{i}", f"Wetter {kind} {category} {i}?", (Call("weather", {"slug": "koeln"}),),
                      category=category, set=None, extra=extra) for category, n in sizes.items() for i in range(n))


PUBLIC = tasks("public", {"a": 20, "b": 12, "c": 4})
SEALED = tasks("sealed", {"a": 15, "b": 10, "c": 12})


@pytest.fixture
def summary(make_result, answer) -> Callable[..., Summary]:
    """summary(tasks, wrong={category: how many}): the first ones of each category are wrong."""

    def make(asked: tuple[Task, ...], wrong: dict[str, int] | None = None, sets: tuple[TaskSet, ...] = (),
             **header: Any) -> Summary:
        missed = {t.task_id for t in asked if int(t.task_id.rpartition("-")[2]) < (wrong or {}).get(t.category, 0)}
        value = make_result(lambda t: Reply.from_text("Nein." if t.task_id in missed else answer(t)), tasks=asked,
                            set=asked[0].task_id.partition("-")[0], **header)
        return summarise(run_from_json(value, f"r/{asked[0].task_id.partition('-')[0]}.json"), sets)

    return make


def test_differences_are_newcombes_for_independent_samples(summary):
    found = compare_sealed(summary(PUBLIC, {"a": 2}), summary(SEALED, {"a": 6, "b": 5}), UNCHECKED)
    assert found.whole.difference == newcombe(34, 36, 26, 37)
    assert {gap.name: gap.difference for gap in found.categories} == {
        "a": newcombe(18, 20, 9, 15), "b": newcombe(12, 12, 5, 10)}
    assert found.few == ("c",) and ENOUGH == 10, "4 public tasks are too few, 10 are enough"
    assert (found.whole.public_n, found.whole.sealed_n) == (36, 37)


def test_ability_is_compared_too(summary):
    found = compare_sealed(summary(PUBLIC, {"a": 2}), summary(SEALED, {"a": 6, "b": 5}), UNCHECKED)
    assert found.ability.public.estimate == pytest.approx((0.9 + 1 + 1) / 3)
    assert found.ability.sealed.estimate == pytest.approx((0.6 + 0.5 + 1) / 3)
    assert found.ability.difference.estimate == pytest.approx(0.8 / 3)


def test_tasks_of_one_template_and_repeats_are_drawn_together(summary):
    asked = tasks("public", {"a": 20, "b": 12}, phrasing="p1")
    extended = TaskSet("extended", tasks_fingerprint(asked), {t.task_id: t for t in asked})
    found = compare_sealed(summary(asked, {"a": 2}, (extended,)), summary(SEALED, repeats=2), UNCHECKED)
    assert found.whole.difference != newcombe(30, 32, 37, 37)
    assert found.categories[0].public_n == 20 and found.categories[0].sealed_n == 15, "tasks, not rows"


@pytest.mark.parametrize("wrong_public, wrong_sealed, said, why", [
    (0, 14, "solves 100.0 % of the public and 62.2 % of the sealed tasks; public minus sealed is +37.8 points "
            "[21.0–53.9], and that is more than chance: it fits a model that has seen the public tasks", "36, 23"),
    (0, 1, "that is not more than chance: no sign", "one task"),
    (0, 0, "public minus sealed is +0.0 points", "all right"),
    (19, 0, "that is more than chance: the sealed tasks are the easier ones", "the other way round"),
])
def test_the_sentence(summary, wrong_public, wrong_sealed, said, why):
    found = compare_sealed(summary(PUBLIC, {"a": wrong_public}), summary(SEALED, {"a": wrong_sealed}), UNCHECKED)
    assert said in sentence(found), why


@pytest.mark.parametrize("header, message", [
    ({"model": "other"}, "are runs of two models, demo and other"),
    ({"mode": "native"}, "cannot be compared, they differ in mode prompt / native"),
    ({"hashes": {"tasks": "1" * 64, "tools": "2" * 64, "prompt": "3" * 64}}, "they differ in tools hash"),
    ({"hashes": {"tasks": None}}, "they differ in tools hash"),
])
def test_what_cannot_be_compared_is_refused(summary, header, message):
    with pytest.raises(DataError, match=message):
        compare_sealed(summary(PUBLIC), summary(SEALED, **header), UNCHECKED)


def test_a_set_is_not_compared_with_itself(summary):
    with pytest.raises(DataError, match="were asked the same tasks"):
        compare_sealed(summary(PUBLIC), summary(PUBLIC), UNCHECKED)


def test_numbers_without_rows_are_refused(summary):
    with pytest.raises(DataError, match="holds numbers only"):
        compare_sealed(summary(PUBLIC), replace(summary(SEALED), tally=None), UNCHECKED)


def test_what_a_reader_must_know_is_noted(summary, make_result, answer):
    def failing(task: Task) -> Reply | Score:
        return Score.failure("infra_error", "x") if task.category == "c" else Reply.from_text(answer(task))

    overlapping = (*SEALED, *PUBLIC[:2], *tasks("sealed", {"d": 1}))
    value = make_result(failing, tasks=overlapping, setup="custom", set="sealed")
    found = compare_sealed(summary(PUBLIC), summarise(run_from_json(value, "r/s.json")), UNCHECKED)
    assert [note.partition(":")[0] for note in found.notes] == [
        "the runs also differ in set-up S / custom (max_tokens 160, temperature 0)", "2 task ids stand in both sets",
        "only one of the sets holds d", "r/s.json"]
    assert "12 of 40 rows are failures" in found.notes[3]


# --- the seal ---------------------------------------------------------------------------------------------------------

@pytest.fixture
def sealed_file(tmp_path: Path) -> Path:
    path = tmp_path / "sealed.jsonl"
    path.write_text("".join(json.dumps(t.to_json(), ensure_ascii=False) + "\n" for t in SEALED), "utf-8")
    return path


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("published, given, holds, said, why", [
    (None, True, None, "give the published SHA-256", "nothing to check against"),
    ("file", True, True, "has the published SHA-256 and is what the sealed run was asked", "as published"),
    ("FILE", True, True, "has the published SHA-256", "in capitals"),
    ("file", False, None, "give the sealed tasks with --tasks FILE", "the file is not at hand"),
    ("tasks", False, True, "is the tasks hash of the sealed run", "the other hash was published"),
    ("0" * 64, True, False, "has the tasks of the sealed run, but not the published SHA-256", "another file"),
    ("0" * 64, False, None, "no file at hand", "nobody can tell"),
])
def test_the_seal(summary, toolset, sealed_file, published, given, holds, said, why):
    told = {"file": sha256(sealed_file), "FILE": sha256(sealed_file).upper(),
            "tasks": tasks_fingerprint(SEALED)}.get(published, published)
    files = [(sealed_file, known_sets(toolset, sealed_file))] if given else []
    found = seal_of(summary(SEALED).run, told, files)
    assert found.holds is holds and said in found.line, why


def test_a_run_over_other_tasks_than_the_sealed_ones_breaks_the_seal(summary, toolset, sealed_file):
    found = seal_of(summary(SEALED[1:]).run, sha256(sealed_file), [(sealed_file, known_sets(toolset, sealed_file))])
    assert found.holds is False and "the sealed run was asked other tasks" in found.line
    broken = compare_sealed(summary(PUBLIC), summary(SEALED[1:]), found)
    assert sentence(broken).endswith("with a broken seal the difference says nothing.")


def test_part_of_a_sealed_set_is_said_to_be_one(summary):
    found = compare_sealed(summary(PUBLIC), summary(SEALED, settings={"limit": 20}), UNCHECKED)
    assert any("--limit 20" in note for note in found.notes)


def test_a_public_set_is_no_sealed_one(summary):
    with pytest.raises(DataError, match="was asked the public set robust"):
        compare_sealed(summary(PUBLIC), replace(summary(SEALED), dataset="robust"), UNCHECKED)


# --- the view ---------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("form, name", [("text", "sealed.txt"), ("markdown", "sealed.md")])
def test_the_view(summary, golden, form, name):
    seal = Seal(True, "seal holds: sealed.jsonl has the published SHA-256 and is what the sealed run was asked")
    found = compare_sealed(summary(PUBLIC, {"a": 2}), summary(SEALED, {"a": 9, "b": 5}), seal)
    golden(name, render([sealed_section(found)], form))


def test_for_programs(summary):
    found = sealed_json(compare_sealed(summary(PUBLIC, {"a": 2}), summary(SEALED, {"a": 9}), UNCHECKED))
    assert json.loads(json.dumps(found)) == found
    assert found["call_match"]["difference"]["estimate"] == pytest.approx(34 / 36 - 28 / 37)
    assert (list(found["categories"]), found["too_few"], found["seal"]["holds"]) == (["a", "b"], ["c"], None)


def test_from_tasks_to_report(tmp_path: Path, sealed_file: Path) -> None:
    public = tmp_path / "public.jsonl"
    public.write_text("".join(json.dumps(t.to_json(), ensure_ascii=False) + "\n" for t in PUBLIC), "utf-8")

    def run(*command: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, str(ROOT / str(command[0])), *map(str, command[1:])], text=True,
                              capture_output=True, encoding="utf-8", cwd=tmp_path)

    for file in (public, sealed_file):
        asked = run("run_eval.py", "--tasks", file, "--model", "oracle", "--out", file.with_suffix(".json"))
        assert asked.returncode == 0
    pair = ["--sealed", "public.json", "sealed.json"]
    done = run("report.py", *pair, "--tasks", sealed_file, "--sha256", sha256(sealed_file))
    assert (done.returncode, done.stderr) == (0, "")
    assert "oracle solves 100.0 % of the public and 100.0 % of the sealed tasks" in done.stdout
    assert "seal holds" in done.stdout and ["b", "100.0", "[75.8–100.0]", "12"] in [
        line.split()[:4] for line in done.stdout.splitlines()]
    broken = run("report.py", *pair, "--tasks", sealed_file, "--sha256", "0" * 64, "--format", "json")
    assert broken.returncode == 1 and json.loads(broken.stdout)["seal"]["holds"] is False
    for arguments, message in [(["--sha256", "x"], "--sha256 goes with --sealed only"),
                               ([*pair, "--sha256", "x"], "--sha256 'x': expected 64 hexadecimal digits"),
                               ([*pair, "--compare", "a", "b"], "--compare does not go with --sealed"),
                               ([*pair, "--format", "csv"], "--format csv does not go with --sealed"),
                               (["--sealed", "public.json", "public.json"], "were asked the same tasks")]:
        refused = run("report.py", *arguments)
        assert (refused.returncode, refused.stdout, refused.stderr.count("\n")) == (2, "", 1)
        assert message in refused.stderr
