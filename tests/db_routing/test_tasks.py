"""The loader: every hash is computed again, and a changed byte anywhere is told with what was expected and found."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import run_eval
from infranode_eval.db_routing.data import CACHE, cache_folder
from infranode_eval.db_routing.panel import FOLDER, MANIFEST
from infranode_eval.db_routing.tasks import aliases_in, questions_fingerprint, read_routing_tasks, tasks_of
from infranode_eval.suites import db_routing
from lm_eval_task.errors import DataError, UsageError
from tests.db_routing.tiny_panel import ALIASES, tiny_panel, write_panel


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(CACHE, str(tmp_path / "cache"))
    return write_panel(tmp_path / "panel", cache_folder())


def test_questions_come_in_the_order_of_the_manifest(folder: Path) -> None:
    tasks = read_routing_tasks(folder)
    order = json.loads((folder / MANIFEST).read_text("utf-8"))["order"]
    assert [task.task_id for task in tasks] == order != sorted(order)
    first = tasks[order.index("db_routing-laden-002")]
    assert (first.database, first.alias, first.cluster, first.bucket) == ("laden", "db_02", "handel", "neighbour_hard")
    assert first.gold_ordered and first.expected[0].arguments == {"database": "laden"}
    assert aliases_in(folder) == tuple(ALIASES) == aliases_in(folder / "questions.jsonl")


def _byte(old: str, new: str) -> Callable[[str], str]:
    def change(text: str) -> str:
        assert old in text
        return text.replace(old, new, 1)
    return change


CHANGES = [("questions.jsonl", _byte("Köln", "Bonn")), ("descriptions.json", _byte("Tresen", "Tisch")),
           ("register.json", _byte("{}", "{ }")), (MANIFEST, _byte('"db_01": "werkstatt"', '"db_04": "werkstatt"')),
           (MANIFEST, _byte('"seed": 7', '"seed": 8'))]


@pytest.mark.parametrize(("name", "change"), CHANGES, ids=[f"{n}-{i}" for i, (n, _) in enumerate(CHANGES)])
def test_a_changed_byte_is_refused_with_expected_found_and_file(
        folder: Path, name: str, change: Callable[[str], str], capsys: pytest.CaptureFixture[str]) -> None:
    path = folder / name
    path.write_text(change(path.read_text("utf-8")), "utf-8")
    assert run_eval.main(["--suite", "db_routing", "--model", "oracle", "--tasks", str(folder), "--tools", str(folder),
                          "--out", str(folder / "r.json")]) == 2
    told = capsys.readouterr().err
    assert str(path) in told and len(re.findall(r"\b[0-9a-f]{64}\b", told)) == 2, told
    assert not (folder / "r.json").exists()


def test_a_changed_cell_is_refused(folder: Path) -> None:
    import sqlite3
    from contextlib import closing

    path = next(cache_folder().glob("laden-*.sqlite"))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE kunden_stamm SET kunden_ort = 'Ulm' WHERE id = 1")
        connection.commit()
    with pytest.raises(DataError, match=r"laden-.*sqlite: the content has sha256 \w{64}, expected \w{64}"):
        read_routing_tasks(folder)


def test_what_is_no_panel_is_told(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(DataError, match="is not the folder of a panel: manifest.json is missing"):
        read_routing_tasks(tmp_path)
    with pytest.raises(UsageError, match="no set 'extended'"):
        read_routing_tasks(folder, "extended")


def test_other_tools_than_the_panels_are_refused(folder: Path) -> None:
    from infranode_eval.db_routing.tools import toolset

    with pytest.raises(UsageError, match="11 given, 3 databases"):
        db_routing.load(folder, toolset([f"db_{n:02d}" for n in range(1, 12)]), "core")


def test_the_hash_of_the_questions_does_not_depend_on_the_order_of_a_run(tmp_path: Path) -> None:
    tasks = tasks_of(tiny_panel(tmp_path))
    assert questions_fingerprint(tasks) == questions_fingerprint(tasks[::-1]) != questions_fingerprint(tasks[1:])


def test_with_all_votes_in_the_jury_has_a_say(tmp_path: Path) -> None:
    panel = tiny_panel(tmp_path)
    votes = {row["task_id"]: 3 if row["task_id"].endswith("002") else 0 for row in panel.questions}
    graded = {task.task_id: task.bucket for task in tasks_of(panel, votes=votes)}
    assert graded["db_routing-laden-002"] == "hard_strict" and graded["db_routing-laden-003"] == "qq_only_hard"
    assert graded["db_routing-hafen-002"] == "jury_only_hard" and graded["db_routing-hafen-001"] == "easy"
    short = {task: vote for task, vote in votes.items() if task != "db_routing-hafen-001"}
    assert {task.bucket for task in tasks_of(panel, votes=short)} == {"neighbour_hard", "neighbour_free"}


@pytest.mark.skipif(not (FOLDER / MANIFEST).is_file(), reason="the panel is not built")
def test_the_shipped_panel_loads_and_its_oracle_is_right() -> None:
    from tests.db_routing.plays import by_policy

    tools = db_routing.read_tools(None)
    tasks = db_routing.load(None, tools, "core")
    scores = [(task, by_policy(task, "oracle").score) for task in tasks]
    found = db_routing.aggregate(scores)
    assert (found["route_ok"], found["sql_strict"], found["sql_set"]) == (1.0, 1.0, 1.0)
