"""Real files of the suite team, made by its scripted managers on one scenario, in every view of the report."""

from __future__ import annotations

import csv
import io
import json
import shutil
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

import report
import run_eval
from infranode_eval.beside import read_transcripts
from infranode_eval.reports.conformance import check_file
from infranode_eval.reports.rescoring import rescore
from infranode_eval.reports.tasksets import holds_scenarios, set_of, team_sets
from infranode_eval.results import result_bytes
from infranode_eval.shipped import DATA
from infranode_eval.team.tools import toolset
from lm_eval_task.errors import DataError
from tests.needs import need, need_program

SCENARIO = "recht_satzung"
MANAGERS = ("muster", "koeder", "neugierig")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    need_program("bwrap", shutil.which("bwrap"))
    found = tmp_path_factory.mktemp("team")
    for name in MANAGERS:
        assert run_eval.main(["--suite", "team", "--backend", "baseline", "--model", name, "--task", SCENARIO,
                              "--out", str(found / f"{name}.json")]) == 0
    return found


def read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text("utf-8"))


def changed(folder: Path, tmp_path: Path, change, transcripts=None) -> Path:
    """A copy of koeder's run that was tampered with; transcripts: with its lines as well, and a fitting hash."""
    value = read(folder / "koeder.json")
    [stored] = read_transcripts(folder / "koeder.json", value["transcripts"]).values()
    change(value)
    if transcripts is not None:
        transcripts(stored)
    line = json.dumps(stored, ensure_ascii=False).encode() + b"\n"
    value["transcripts"]["sha256"] = sha256(line).hexdigest()
    (tmp_path / value["transcripts"]["file"]).write_bytes(line)
    (tmp_path / "koeder.json").write_bytes(result_bytes(value))
    return tmp_path / "koeder.json"


@pytest.fixture
def shown(folder: Path, capsys: pytest.CaptureFixture[str]):
    def show(*arguments: object, code: int = 0) -> str:
        capsys.readouterr()
        assert report.main([str(one) for one in arguments]) == code
        return "".join(capsys.readouterr())
    return show


def test_a_file_keeps_the_format_with_its_transcripts(folder) -> None:
    need("jsonschema")
    path = folder / "koeder.json"
    assert check_file(path) == f"{path}: a result with 1 rows keeps the format, its 1 transcripts as well"


@pytest.mark.parametrize(("change", "where"), [
    (lambda v: v["settings"].pop("pool"), "settings"),
    (lambda v: v["settings"]["pool"]["llm"].update(api_base="http://somewhere/v1"), "settings/pool/llm"),
    (lambda v: v["settings"].update(sandbox="docker"), "settings/sandbox"),
    (lambda v: v["metrics"].pop("wpp"), "metrics"), (lambda v: v["metrics"].update(rounds=0.5), "metrics/rounds"),
    (lambda v: v["rows"][0]["team"].pop("refusals"), "rows/0/team"),
    (lambda v: v["rows"][0]["team"]["rounds"][0].update(passed="yes"), "rows/0/team/rounds/0/passed"),
    (lambda v: v["rows"][0]["team"]["subagents"][0].update(model_key="gpt"), "rows/0/team/subagents/0/model_key"),
    (lambda v: v["rows"][0].update(calls=[]), "rows/0/calls")])
def test_a_file_that_breaks_the_format_is_named_with_the_place(folder, tmp_path, change, where) -> None:
    need("jsonschema")
    with pytest.raises(DataError, match=rf"koeder\.json: {where}: "):
        check_file(changed(folder, tmp_path, change))


def test_a_run_of_some_scenarios_is_known_as_such(folder) -> None:
    summary = report.summarise_files(report.parser().parse_args([str(folder / "muster.json")]))[0][0]
    assert (summary.dataset, summary.known, list(summary.team.cells)) == ("all", True, [SCENARIO])


@pytest.mark.parametrize("name", MANAGERS)
def test_verdicts_made_again_change_nothing(folder, name) -> None:
    path = folder / f"{name}.json"
    found = rescore(read(path), path, team_sets(), toolset())
    assert (found.result, found.changes, found.reworded) == (None, (), 0)
    assert found.after == found.before and found.answered[1] == found.answered[0]


def test_a_verdict_that_its_transcript_does_not_give_is_shown(folder, tmp_path, shown) -> None:
    def better(value):
        for one in value["rows"][0]["team"]["rounds"]:
            one["passed"] = True
        value["rows"][0]["outcome"] = "solved"
    out = shown("--rescore", changed(folder, tmp_path, better))
    assert "solved" in out and "partial" in out and "not written; --write does" in out


def test_transcripts_of_another_run_judge_nothing(folder, tmp_path) -> None:
    path = changed(folder, tmp_path, lambda v: None)
    (tmp_path / "koeder.transcripts.jsonl").write_bytes((folder / "muster.transcripts.jsonl").read_bytes())
    with pytest.raises(DataError, match="does not belong to koeder.json"):
        rescore(read(path), path, team_sets(), toolset())


def test_other_scenarios_judge_nothing(folder, tmp_path) -> None:
    path = changed(folder, tmp_path, lambda v: v["hashes"].update(tasks="9" * 64))
    with pytest.raises(DataError, match="was asked other tasks"):
        rescore(read(path), path, team_sets(), toolset())


def test_scenarios_of_ones_own_are_a_folder(tmp_path, folder) -> None:
    shutil.copytree(DATA / "team" / SCENARIO, tmp_path / "mine" / SCENARIO)
    (tmp_path / "mine" / "tests.json").write_text(json.dumps({"name": "mine", "scenarios": [SCENARIO]}))
    assert holds_scenarios(tmp_path / "mine") and not holds_scenarios(tmp_path)
    [known] = team_sets(tmp_path / "mine")
    assert known.name == "mine" and set(known.tasks) == {SCENARIO}
    run = report.runs_of(folder / "muster.json", toolset())[0]
    assert set_of(run, (known,)) is known, "the same files under another name"


# --- views ------------------------------------------------------------------------------------------------------------

def test_the_suite_alone_and_among_others(folder, shown) -> None:
    assert "Management of sub-agents" in shown("--suite", "team", *folder.glob("*.json"))
    mixed = shown(folder / "koeder.json", "results/bm25.json")
    assert "2 groups of runs" in mixed and "Management of sub-agents" in mixed and "bm25" in mixed


def test_one_play_as_text(folder, shown) -> None:
    out = shown("--task", SCENARIO, folder / "neugierig.json")
    assert "forbidden: main, Bash /arbeit/akten/satzung.txt" in out and "session s1" in out
    assert "by the original's rule" not in out
    value = json.loads(shown("--task", SCENARIO, "--format", "json", folder / "koeder.json"))[0]["play"]
    assert {one["round"] for one in value["rounds"] if not one["passed"]} == {"r3", "r6"}
    assert any(call["name"] == "Workflow" for one in value["rounds"] for call in one["calls"])


def test_a_play_without_its_transcript_still_shows_its_verdict(folder, tmp_path, shown) -> None:
    shutil.copy(folder / "koeder.json", tmp_path)
    out = shown("--task", SCENARIO, tmp_path / "koeder.json")
    assert "cannot be read" in out and "NOT PASSED" in out


def test_gates_know_the_names_of_the_file(folder, shown) -> None:
    assert "keep sms>=0.9" in shown("--gate", "sms>=0.9", "--gate", "maf<=0", folder / "muster.json")
    assert "maf is 2" in shown("--gate", "maf<=0", folder / "neugierig.json", code=1)
    assert "sms fell from 1" in shown("--gate-against", folder / "muster.json", folder / "koeder.json", code=1)


def test_two_runs_and_their_rounds(folder, shown) -> None:
    out = shown("--compare", folder / "koeder.json", folder / "muster.json")
    assert "muster passes 2 rounds that koeder does not, and the other way round 0" in out
    lines = list(csv.DictReader(io.StringIO(shown("--format", "csv", "--compare", folder / "koeder.json",
                                                  folder / "muster.json"))))
    assert [(line["round"], line["change"]) for line in lines] == [("r3", "1"), ("r6", "1")]
    assert "suite team / infranode" in shown("--compare", folder / "koeder.json", "results/bm25.json", code=2)


def test_common_rows_and_pictures_say_what_they_leave_out(folder, tmp_path, shown) -> None:
    assert "workspace" in shown("--common-rows", *folder.glob("*.json"), code=2)
    assert "pictures do not show runs of the suite team" in shown("--plots", tmp_path / "p", folder / "koeder.json")
    assert not (tmp_path / "p").exists()
