"""The built panel: every hash is recomputed when it is loaded, and what was changed afterwards is named."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from infranode_eval.db_routing.bench import Bench
from infranode_eval.db_routing.build import build, built_files, file_problems
from infranode_eval.db_routing.panel import FOLDER, MANIFEST, QUESTIONS, load_panel, panel_sha256, text_sha256
from infranode_eval.db_routing.questions import result_sha256
from infranode_eval.db_routing.textfiles import read_json, read_lines
from lm_eval_task.errors import DataError
from tests.db_routing.draft import Draft
from tests.db_routing.tiny_panel import tiny_panel, write_panel
from tests.needs import need


def load(tmp: Path) -> Any:
    return load_panel(tmp / "panel", cache=tmp / "cache", makers=partial(_nothing))


def _nothing(database: str) -> Any:
    raise AssertionError("the cache holds the databases")


def replaced(old: str, new: str) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        text = path.read_text("utf-8")
        assert old in text
        path.write_text(text.replace(old, new, 1), "utf-8")
    return change


@pytest.mark.parametrize(("name", "change"), [
    ("questions.jsonl", replaced("Köln?", "Bonn?")), ("descriptions.json", replaced("Tresen", "Tisch")),
    ("descriptions.json", replaced("Pferde", "Pferd")), ("register.json", replaced("{}", "{ }")),
    ("manifest.json", replaced('"db_01": "werkstatt", "db_02": "laden"', '"db_01": "laden", "db_02": "werkstatt"')),
    ("manifest.json", replaced('"seed": 7', '"seed": 8')), ("manifest.json", replaced('"floor": 0.1', '"floor": 0.2'))])
def test_a_changed_byte_is_refused(tmp_path: Path, name: str, change: Callable[[Path], None]) -> None:
    tiny_panel(tmp_path)
    change(tmp_path / "panel" / name)
    with pytest.raises(DataError, match=rf"{name}: has sha256 \w{{64}}, expected \w{{64}}"):
        load(tmp_path)


def test_a_changed_cell_is_refused(tmp_path: Path) -> None:
    path = tiny_panel(tmp_path).databases["laden"].path
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE bon_kopf SET bon_summe = bon_summe + 0.01 WHERE id = 3")
    with pytest.raises(DataError, match=rf"{path.name}: the content has sha256 \w+, expected \w+; delete the file"):
        load(tmp_path)


def test_a_hash_that_is_made_anew_needs_the_paragraph_and_the_order_to_fit(tmp_path: Path) -> None:
    write_panel(tmp_path / "panel", tmp_path / "cache")
    path = tmp_path / "panel" / MANIFEST
    manifest = read_json(path)
    for key, value, said in (("order", manifest["order"][1:], "does not name each question once"),
                             ("databases", manifest["databases"] | {"laden": manifest["databases"]["laden"] | {
                                 "description_sha256": text_sha256("x")}}, "descriptions.json: has sha256")):
        changed = manifest | {key: value}
        path.write_text(json.dumps(changed | {"panel_sha256": panel_sha256(changed)}), "utf-8")
        with pytest.raises(DataError, match=said):
            load(tmp_path)


def test_a_missing_or_broken_file_is_named(tmp_path: Path) -> None:
    tiny_panel(tmp_path)
    (tmp_path / "panel" / MANIFEST).write_text("{", "utf-8")
    with pytest.raises(DataError, match="manifest.json:1: is not JSON"):
        load(tmp_path)
    (tmp_path / "panel" / MANIFEST).unlink()
    with pytest.raises(DataError, match="manifest.json: cannot be read"):
        load(tmp_path)


def test_the_shipped_panel_holds_its_hashes(tmp_path: Path) -> None:
    panel = load_panel(cache=tmp_path)
    assert len(panel.questions) == len(panel.order) == len(set(panel.order))
    assert list(panel.aliases) == [f"db_{n:02d}" for n in range(1, len(panel.aliases) + 1)]
    assert panel.aliases != dict(zip(panel.aliases, sorted(panel.aliases.values()), strict=True)), "not the alphabet's"
    assert list(panel.order) != sorted(panel.order), "shuffled"
    assert [row["task_id"] for row in panel.questions] == sorted(panel.order)
    for number, row in read_lines(FOLDER / QUESTIONS):
        assert row["database"] in panel.databases, number
        assert all(why["voiced_by"] for why in row["why_not"].values()), row["task_id"]


def test_a_result_is_hashed_by_what_it_holds() -> None:
    rows: list[tuple[Any, ...]] = [("a", 1.0000000001), ("b", None)]
    assert result_sha256(rows, ordered=False) == result_sha256(rows[::-1], ordered=False)
    assert result_sha256(rows, ordered=True) != result_sha256(rows[::-1], ordered=True)
    assert result_sha256(rows, ordered=True) == result_sha256([("a", 1.0), ("b", None)], ordered=True)
    assert result_sha256(rows, ordered=True) != result_sha256([("a", 1.00001), ("b", None)], ordered=True)


# --- building ---------------------------------------------------------------------------------------------------------

def test_the_same_sources_give_the_same_bytes(tmp_path: Path) -> None:
    need("sklearn")
    first, second = (built_files(Draft().bench(tmp_path / name), 0.1) for name in ("one", "two"))
    assert first == second
    manifest = json.loads(first[MANIFEST])
    assert manifest["databases"]["hafenamt"] == {
        "cluster": None, "tables": 2, "rows": 30, "content_sha256": manifest["databases"]["hafenamt"]["content_sha256"],
        "description_sha256": text_sha256(Draft().paragraphs["hafenamt"])}
    assert manifest["hardness"]["floor"] == 0.1 and manifest["hardness"]["pool"] == 14
    row = json.loads(first[QUESTIONS].splitlines()[0])
    assert row["task_id"] == "db_routing-hafenamt-001"
    assert row["why_not"]["kraemerei"] == {"lacks": ["ladung", "schiff"], "voiced_by": ["ladung"]}


def test_a_built_panel_loads_and_its_gate_finds_a_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need("sklearn")
    monkeypatch.setenv("INFRANODE_EVAL_CACHE", str(tmp_path / "cache"))
    draft = Draft()
    bench = draft.bench(tmp_path / "panel")
    assert [message for _, message in file_problems(bench.sources)] == ["is not built yet"]
    assert build(bench, 0.1).startswith("wrote register.json")
    assert list(file_problems(bench.sources)) == []
    panel = load_panel(tmp_path / "panel", makers=draft.makers.__getitem__)
    assert panel.databases["hafenamt"].description == draft.paragraphs["hafenamt"]
    replaced("Minna", "Mina")(tmp_path / "panel" / QUESTIONS)
    assert ["questions.jsonl: has sha256" in message for _, message in file_problems(bench.sources)] == [True]


def test_nothing_is_built_that_a_gate_refuses(tmp_path: Path) -> None:
    draft = Draft()
    draft.find("kraemerei-003")["limit"] = 8
    with pytest.raises(DataError, match=r"gate 6 \(with clear places\): kraemerei-003: the places 1 to 9"):
        build(draft.bench(tmp_path / "panel"))
    assert not (tmp_path / "panel" / MANIFEST).exists()


def test_a_database_without_a_paragraph_is_not_built(tmp_path: Path) -> None:
    need("sklearn")
    draft = Draft()
    del draft.paragraphs["hafenamt"]
    with pytest.raises(DataError, match="has no paragraph of hafenamt"):
        built_files(draft.bench(tmp_path / "panel"), 0.1)


def test_without_a_floor_that_keeps_the_isolated_free_nothing_is_built(tmp_path: Path) -> None:
    need("sklearn")
    bench: Bench = Draft().bench(tmp_path / "panel")
    assert json.loads(built_files(bench)[MANIFEST])["hardness"]["floor"] == 0.05, "so few texts have no 5 neighbours"
