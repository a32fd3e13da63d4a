"""`python -m infranode_eval.team pack`: a folder that fits together, the same bytes twice, and nothing else."""

from __future__ import annotations

import json
import shutil
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

import run_eval
from infranode_eval.beside import read_transcripts
from infranode_eval.budget import read_prices
from infranode_eval.results import result_bytes
from infranode_eval.team.__main__ import main
from infranode_eval.team.packing import NOTICE, pack_of, write_pack
from infranode_eval.totals import Tariff, Totals, list_price
from lm_eval_task.errors import DataError, UsageError
from tests.needs import need, need_program

PRICED = next(iter(read_prices().prices))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a program, with the totals and the price of a model that never was."""
    need_program("bwrap", shutil.which("bwrap"))
    folder = tmp_path_factory.mktemp("pack")
    path = folder / "koeder.json"
    assert run_eval.main(["--suite", "team", "--backend", "baseline", "--model", "koeder", "--task", "recht_satzung",
                          "--out", str(path)]) == 0
    value = json.loads(path.read_text("utf-8"))
    [stored] = read_transcripts(path, value["transcripts"]).values()
    usage = {"prompt_tokens": 1000, "completion_tokens": 10}
    for reply in stored["team"]["replies"]:
        reply["usage"] = usage
    count = len(stored["team"]["replies"])
    value["rows"][0]["usage"] = {"input_tokens": 1000 * count, "output_tokens": 10 * count, "cached_tokens": None,
                                 "reasoning_tokens": None}
    totals, table = Totals(), read_prices()
    totals.add(value["rows"][0])
    value |= {"model": PRICED, "backend": "openai",
              "totals": totals.to_json(Tariff(table.prices[PRICED], table.currency, list_price(table)))}
    return write(path, value, stored)


def write(path: Path, value: dict[str, Any], stored: dict[str, Any]) -> Path:
    line = json.dumps(stored, ensure_ascii=False).encode() + b"\n"
    value["transcripts"]["sha256"] = sha256(line).hexdigest()
    path.with_name(value["transcripts"]["file"]).write_bytes(line)
    path.write_bytes(result_bytes(value))
    return path


def changed(run: Path, tmp_path: Path, change) -> Path:
    value = json.loads(run.read_text("utf-8"))
    [stored] = read_transcripts(run, value["transcripts"]).values()
    change(value, stored)
    return write(tmp_path / "r.json", value, stored)


def test_the_pack_holds_result_transcripts_scripts_and_report(run) -> None:
    need("quickjs")          # without it no manager has Workflow
    files = pack_of(run)
    assert set(files) == {"result.json", "result.transcripts.jsonl", "report.md", "workflows/recht_satzung.w2.js"}
    assert b"defineAgent" in files["workflows/recht_satzung.w2.js"]
    report = files["report.md"].decode()
    assert report.startswith(NOTICE) and "not that they are honest" in report and "Management of sub" in report
    assert str(run.parent) not in report, "no path of this machine"


def test_packed_twice_are_the_same_bytes_and_the_same_folder_is_no_error(run, tmp_path, capsys) -> None:
    assert pack_of(run) == pack_of(run)
    out = tmp_path / "submissions" / "vendor-model"
    assert main(["pack", "-r", str(run), "-o", str(out)]) == 0
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    assert main(["pack", "-r", str(run), "-o", str(out)]) == 0
    assert before == {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    assert [path.name for path in out.parent.iterdir()] == ["vendor-model"], "nothing half-made is left"
    said = capsys.readouterr().out
    assert "packed" in said and "holds this very pack" in said and "not that they are honest" in said


def test_a_pack_can_be_packed_again(run, tmp_path) -> None:
    write_pack(tmp_path / "one", pack_of(run))
    assert pack_of(tmp_path / "one" / "result.json") == pack_of(run)


def test_a_folder_with_something_else_stays_as_it_is(run, tmp_path, capsys) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("mine")
    assert main(["pack", "-r", str(run), "-o", str(tmp_path / "out")]) == 2
    assert "exists and holds something else" in capsys.readouterr().err
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["mine.txt"]
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="exists"):
        write_pack(tmp_path / "file", {})


def test_an_unchanged_copy_is_accepted(run, tmp_path) -> None:
    """So that what is refused below is refused for what was changed."""
    assert pack_of(changed(run, tmp_path, lambda value, stored: None))["result.json"] == pack_of(run)["result.json"]


def _row(change):
    return lambda value, stored: change(value["rows"][0])


@pytest.mark.parametrize(("change", "words"), [
    (lambda v, t: v["metrics"].update(sms=0.9), "metrics says sms 0.9, its transcripts give 0[.]"),
    (lambda v, t: v["metrics"].update(maf=3), "metrics says maf 3, its transcripts give 0"),
    (lambda v, t: v["metrics"].update(subagents=None), "metrics says subagents None"),
    (lambda v, t: v["metrics"].update(bonus=1), "metrics says bonus 1, its transcripts give nothing"),
    (lambda v, t: v["answered"].update(tcr=1.0), "answered says tcr 1.0"),
    (lambda v, t: v["headline"].update(sms=1.0), "headline says sms 1.0"),
    (lambda v, t: v["totals"].update(input_tokens=1), "totals says input_tokens 1, its rows give"),
    (lambda v, t: v["totals"]["cost"].update(amount=0.000001), "totals says cost 1e-06, its tokens cost"),
    (lambda v, t: v["counts"].update(n=2), "counts"),
    (_row(lambda r: r["team"]["rounds"][2].update(passed=True)), "not what its transcripts give"),
    (_row(lambda r: r.update(outcome="solved")), "row recht_satzung says solved, its transcript gives partial"),
    (_row(lambda r: r["team"]["values"].update(wpp=0.5)), "not what its transcripts give"),
    (_row(lambda r: r["team"]["subagents"][0].update(files=7)), "not what its transcripts give"),
    (_row(lambda r: r["usage"].update(input_tokens=7)), "usage is not what its transcript gives"),
    (_row(lambda r: r.update(latency_s=0.5)), "latency_s is not what its transcript gives"),
    (lambda v, t: t["team"]["rounds"][2].update(exit=0, stdout="OK"), "not what its transcripts give"),
    (lambda v, t: t["team"]["subagents"].pop(), "not what its transcripts give"),
    (lambda v, t: v.update(suite="chain"), "is no result of suite team"),
    (lambda v, t: v["hashes"].update(tasks="9" * 64), "was asked other tasks"),
    (lambda v, t: v.update(scorer_version="0.9"), "was judged by scorer 0.9"),
])
def test_a_number_that_was_changed_is_refused_in_one_line(run, tmp_path, capsys, change, words) -> None:
    path = changed(run, tmp_path, change)
    with pytest.raises(DataError, match=words):
        pack_of(path)
    assert main(["pack", "-r", str(path), "-o", str(tmp_path / "out")]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and not (tmp_path / "out").exists()


def test_transcripts_that_are_not_there_are_told(run, tmp_path) -> None:
    (tmp_path / "r.json").write_bytes(run.read_bytes())
    with pytest.raises(DataError, match="holds the transcripts of r.json"):
        pack_of(tmp_path / "r.json")


def test_a_script_gets_a_name_that_stays_in_the_folder(run, tmp_path) -> None:
    need("quickjs")
    path = changed(run, tmp_path, lambda v, t: t["team"]["workflows"][0].update(task_id="../../../etc/x"))
    assert "workflows/recht_satzung..._.._.._etc_x.js" in pack_of(path)
