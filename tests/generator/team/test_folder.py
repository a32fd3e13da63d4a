"""The folder of a small draft: what is written, what is refused, and what a comparison finds."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from infranode_eval.generator.team import folder
from infranode_eval.generator.team.draft import Asset, Before, Change, Draft, RoundDraft, Wrong
from infranode_eval.generator.team.leak import Secret
from lm_eval_task.errors import DataError, UsageError
from tests.needs import need

PNG = b"\x89PNG\r\n\x1a\n" + b"\0\0\0\0IEND\xaeB`\x82"
ROUND = RoundDraft("r1", "Schreiben Sie ${workspace}/ausgabe/r1.json.", {"tag": 5},
                   [Wrong("geraten", {"tag": 6}, from_="archiv/alt.txt")], covers=("C5",))
DRAFT = Draft("klein", "Klein", "law", ("ausgabe",), ("bilder", "archiv"), ("archiv",),
              {"ausgabe/x.txt": "leer\n", "archiv/alt.txt": "Tag 6\n",
               "bilder/a.png": Asset("image", "Tag 5", lambda: PNG)},
              {"u1": (Change("replace", "archiv/alt.txt", "Tag 7\n"),)}, (ROUND,),
              {"bilder/a.png": (Secret("tag", (5,)),)})


def test_what_is_written() -> None:
    assert sorted(folder.files(DRAFT)) == [
        "checks/check.py", "checks/expected.json", "golden/facts.json", "golden/lint.json",
        "golden/r1.wrong1/ausgabe/r1.json", "golden/r1.wrong1/why.json", "golden/r1/ausgabe/r1.json",
        "golden/runs.jsonl", "manifest.json", "rounds.json", "updates/u1/archiv/alt.txt", "workspace/archiv/alt.txt",
        "workspace/ausgabe/x.txt", "workspace/bilder/a.png"]


def test_facts_hang_on_the_hash_of_the_asset() -> None:
    facts = json.loads(folder.files(DRAFT)["golden/facts.json"])
    assert list(facts.values()) == [{"modality": "image", "text": "Tag 5"}]
    assert set(map(len, facts)) == {64}


@pytest.mark.parametrize(("change", "command"), [
    ({}, "python3 -I ${scripts}/check.py r1 ${workspace}/ausgabe/r1.json ${scripts}"),
    ({"overlap": 2}, "python3 -I ${scripts}/check.py r1 ${workspace}/ausgabe/r1.json ${scripts} --runs ${runs}"),
    ({"before": Before("ls", "x")},
     "python3 -I ${scripts}/check.py r1 ${workspace}/ausgabe/r1.json ${scripts} --before ${before}"),
])
def test_the_check_gets_what_it_looks_at(change: dict, command: str) -> None:
    row, = json.loads(folder.files(replace(DRAFT, rounds=(replace(ROUND, **change),)))["rounds.json"])
    assert row["eval"]["command"] == command


@pytest.mark.parametrize(("change", "where"), [
    ({"workspace": {**DRAFT.workspace, "archiv/alt.txt": "Tag fünf"}}, "workspace/archiv/alt.txt"),
    ({"updates": {"u1": (Change("new", "archiv/neu.txt", "am 5. des Monats"),)}}, "updates/u1/archiv/neu.txt"),
    ({"rounds": (replace(ROUND, question="Ist es der 5. Tag?"),)}, "rounds.json"),
    ({"title": "Die 5 Tage"}, "manifest.json"),
    ({"workspace": {**DRAFT.workspace, "archiv/tag_5.txt": ""}}, "workspace/archiv/tag_5.txt"),
])
def test_a_text_that_tells_a_secret_is_refused(change: dict, where: str) -> None:
    with pytest.raises(DataError, match=where):
        folder.files(replace(DRAFT, **change))


def test_written_twice_is_equal_and_a_stale_file_goes(tmp_path: Path) -> None:
    need("PIL")
    size = folder.write(DRAFT, tmp_path / "klein")
    (tmp_path / "klein" / "workspace" / "alt.txt").write_text("x", "utf-8")
    assert folder.write(DRAFT, tmp_path / "klein") == size
    assert folder.differences(DRAFT, tmp_path / "klein") == ([], [])


def test_a_folder_that_is_no_scenario_is_left_alone(tmp_path: Path) -> None:
    need("PIL")
    (tmp_path / "wichtig.txt").write_text("x", "utf-8")
    with pytest.raises(UsageError, match="nothing is removed"):
        folder.write(DRAFT, tmp_path)
    assert (tmp_path / "wichtig.txt").is_file()


def test_differences_are_named(tmp_path: Path) -> None:
    need("PIL")
    place = tmp_path / "klein"
    folder.write(DRAFT, place)
    (place / "workspace/ausgabe/x.txt").write_text("anders", "utf-8")
    (place / "workspace/archiv/alt.txt").unlink()
    (place / "workspace/archiv/mehr.txt").write_text("", "utf-8")
    assert folder.differences(DRAFT, place)[0] == [
        "workspace/archiv/alt.txt: is missing", "workspace/archiv/mehr.txt: no draft writes it",
        "workspace/ausgabe/x.txt: differs"]


def test_an_asset_of_other_tools_is_not_made_anew(tmp_path: Path) -> None:
    need("PIL")
    place = tmp_path / "klein"
    folder.write(DRAFT, place)
    (place / folder.TOOLS).write_text('{"image": {"pillow": "0.1"}}', "utf-8")
    other = Asset("image", "Tag 5", lambda: PNG + PNG[8:])
    draft = replace(DRAFT, workspace={**DRAFT.workspace, "bilder/a.png": other})
    assert folder.differences(draft, place) == ([], ["workspace/bilder/a.png"])


def test_the_same_tools_make_it_anew(tmp_path: Path) -> None:
    need("PIL")
    folder.write(DRAFT, tmp_path / "klein")
    other = Asset("image", "Tag 5", lambda: PNG + PNG[8:])
    draft = replace(DRAFT, workspace={**DRAFT.workspace, "bilder/a.png": other})
    assert folder.differences(draft, tmp_path / "klein") == (
        ["golden/facts.json: differs", "workspace/bilder/a.png: differs"], [])
