"""Every scenario that ships: its script writes the same bytes, its checks tell right from wrong, its assets are clear.

The checks run here without a sandbox, on a copy of the workspace; the host's own check does so in one.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from infranode_eval.generator.team import folder, picture, sound
from infranode_eval.generator.team.__main__ import SHIPPED, draft_of, main
from infranode_eval.generator.team.draft import Draft, RoundDraft, source_of
from infranode_eval.generator.team.leak import told_in
from infranode_eval.team.scenario import fill
from tests.needs import need, need_program

IDS: list[str] = json.loads((SHIPPED / "tests.json").read_text("utf-8"))["scenarios"]
TOO_LARGE, PLENTY_S = 1_000_000, 30
MANAGING = re.compile(r"unteragent|subagent|delegier|llm|vlm|omni|workflow|session", re.IGNORECASE)


@cache
def the_draft(scenario_id: str) -> Draft:
    return draft_of(scenario_id)


def assets(kind: str) -> list[tuple[str, str]]:
    """(scenario, path of an asset in its folder)."""
    return [(name, path) for name in IDS for path, a in the_draft(name).assets.items() if a.modality == kind]


ROUNDS = [(name, r.id) for name in IDS for r in the_draft(name).rounds]


@pytest.fixture(params=IDS)
def draft(request: pytest.FixtureRequest) -> Draft:
    return the_draft(request.param)


def test_its_script_writes_what_ships(draft: Draft) -> None:
    faults, _ = folder.differences(draft, SHIPPED / draft.scenario_id)
    assert faults == [], f"python -m infranode_eval.generator.team {draft.scenario_id}"


def test_the_same_bytes_twice(draft: Draft) -> None:
    need("PIL")
    for program in ("espeak-ng", "sox"):
        need_program(program, shutil.which(program))
    again = draft_of(draft.scenario_id)
    assert folder.files(draft) == folder.files(again)


def test_size_and_folders(draft: Draft) -> None:
    files = [path for path in (SHIPPED / draft.scenario_id).rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < TOO_LARGE
    assert len({path.split("/")[0] for path in draft.workspace}) >= 8
    assert len(draft.decoys) >= 2


def test_facts_tell_the_secrets_of_their_asset(draft: Draft) -> None:
    facts = json.loads((SHIPPED / draft.scenario_id / "golden/facts.json").read_text("utf-8"))
    for path, secrets in draft.secrets.items():
        digest = hashlib.sha256((SHIPPED / draft.scenario_id / "workspace" / path).read_bytes()).hexdigest()
        for secret in secrets:
            assert told_in(facts[digest]["text"], secret), (path, secret.name)


def test_what_a_session_alone_knows_was_replaced(draft: Draft) -> None:
    for number, row in enumerate(draft.rounds):
        before, now = files_at(draft, 0), files_at(draft, number)
        for text in row.only_in_session:
            assert any(text.encode() in content for content in before.values()), text
            assert not any(text.encode() in content for content in now.values()), text


@pytest.mark.parametrize(("name", "round_id"), ROUNDS)
def test_a_question_names_the_file_and_each_key_and_never_how_to_manage(name: str, round_id: str) -> None:
    row = round_of(name, round_id)
    assert f"${{workspace}}/ausgabe/{round_id}.json" in row.question
    for key in keys_of(row.answer):
        assert f'"{key}"' in row.question, key
    assert not MANAGING.search(row.question)


@pytest.mark.parametrize(("name", "round_id"), ROUNDS)
def test_a_check_tells_right_from_wrong(name: str, round_id: str, tmp_path: Path) -> None:
    draft, row = the_draft(name), round_of(name, round_id)
    golden = SHIPPED / name / "golden"
    assert judged(draft, row, golden / round_id, tmp_path) == (0, "OK")
    wrongs = sorted(golden.glob(f"{round_id}.wrong*"))
    assert len(wrongs) == len(row.wrongs) >= 2
    for wrong in wrongs:
        code, said = judged(draft, row, wrong, tmp_path)
        assert (code, "OK" in said) == (1, False), wrong.name
    assert judged(draft, row, None, tmp_path) == (1, f"fehlt: {round_id}.json")


@pytest.mark.parametrize(("name", "path"), assets("image"))
def test_a_picture_holds_pixels_only(name: str, path: str) -> None:
    chunks = [chunk for chunk, _ in picture.chunks((SHIPPED / name / path).read_bytes())]
    assert set(chunks) == set(picture.CHUNKS)


@pytest.mark.parametrize(("name", "path"), assets("audio"))
def test_a_sound_is_loud_and_clear(name: str, path: str) -> None:
    wav = (SHIPPED / name / path).read_bytes()
    found = sound.measure(wav)
    assert (found.rate, found.channels, found.width, found.clipped) == (16_000, 1, 2, 0)
    assert [chunk for chunk, _ in sound.chunks(wav)] == list(sound.CHUNKS)
    assert 3 < found.seconds < 20
    assert found.peak_db == pytest.approx(-3, abs=0.2)
    assert -30 < found.mean_db < -10


@pytest.mark.parametrize(("name", "path"), assets("image"))
def test_a_picture_is_legible(name: str, path: str) -> None:
    need_program("tesseract", shutil.which("tesseract"))
    done = subprocess.run(["tesseract", SHIPPED / name / path, "-", "-l", "deu"], capture_output=True,
                          encoding="utf-8", timeout=PLENTY_S)
    if done.returncode:
        need_program("tesseract-ocr-deu", False)
    for secret in the_draft(name).secrets.get(path.removeprefix("workspace/"), ()):
        assert told_in(done.stdout, secret), (secret.name, done.stdout)


def test_the_command_says_equal(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*IDS, "--check"]) == 0
    assert capsys.readouterr().out.splitlines() == [f"{name}: equal" for name in IDS]


@pytest.mark.parametrize(("arguments", "said"), [
    (["gibt_es_nicht"], "no scenario 'gibt_es_nicht'"), (["--wrong"], "--wrong")])
def test_the_command_refuses(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert said in capsys.readouterr().err


def round_of(name: str, round_id: str) -> RoundDraft:
    return next(row for row in the_draft(name).rounds if row.id == round_id)


def keys_of(answer: Any) -> Iterator[str]:
    if isinstance(answer, dict):
        for key, value in answer.items():
            yield key
            yield from keys_of(value)


def files_at(draft: Draft, number: int) -> dict[str, bytes]:
    """The shipped workspace before round `number`, golden answers left out."""
    root = SHIPPED / draft.scenario_id
    found = {path: (root / "workspace" / path).read_bytes() for path in draft.workspace}
    for row in draft.rounds[:number + 1]:
        for update in row.update_ids:
            found |= {c.dst: (root / source_of(update, c)).read_bytes() for c in draft.updates[update]}
    return found


def judged(draft: Draft, row: RoundDraft, answer: Path | None, tmp_path: Path) -> tuple[int, str]:
    """Exit code and output of the round's check on an answer."""
    workspace, root = tmp_path / "mit Leerzeichen", SHIPPED / draft.scenario_id
    shutil.rmtree(workspace, ignore_errors=True)
    for path, content in files_at(draft, draft.rounds.index(row)).items():
        (workspace / path).parent.mkdir(parents=True, exist_ok=True)
        (workspace / path).write_bytes(content)
    if answer is not None:
        shutil.copytree(answer, workspace, dirs_exist_ok=True)
    values = {"workspace": workspace, "scripts": root / "checks", "runs": root / "golden/runs.jsonl",
              "before": tmp_path / "before.txt", "scenario_id": draft.scenario_id}
    stored = next(r for r in json.loads((root / "rounds.json").read_text("utf-8")) if r["id"] == row.id)["eval"]
    if stored["before"]:
        (tmp_path / "before.txt").write_text(_shell(stored["before"], values).stdout, "utf-8")
    done = _shell(stored["command"], values)
    assert not done.stderr
    return done.returncode, done.stdout.strip()


def _shell(command: str, values: dict[str, Any]) -> subprocess.CompletedProcess[str]:
    filled = fill(command, {name: str(value) for name, value in values.items()}, quote=True)
    return subprocess.run(["bash", "-c", filled], capture_output=True, encoding="utf-8", timeout=PLENTY_S)
