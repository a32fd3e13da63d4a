"""The authors' view of templates: what they yield, and every refusal with its reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from infranode_eval.generator.chain import check

CALL = {"name": "get_city_resource", "arguments": {"slug": "{slug}", "resource": "charging"}}
COUNT = {"op": "count", "from": "a", "at": "/data/payload/stations", "where": [["/power_kw", ">=", "{kw}"]]}
ROW: dict[str, Any] = {
    "template": "power", "phrasings": [f"{word} {{in_city}} mindestens {{kw}} kW?" for word in ("Was", "Wie", "Wo")],
    "cities": ["dresden", "ulm"], "vary": {"kw": [5000, 50]}, "tasks": 1, "plan": [{"id": "a", "call": CALL}],
    "derive": COUNT, "near": {"ohne Filter": {**COUNT, "where": []}}, "answer": {"type": "number"}}


def written(tmp_path: Path, *rows: dict[str, Any]) -> str:
    path = tmp_path / "filter_count.json"
    path.write_text(json.dumps({"category": "filter_count", "templates": list(rows)}), "utf-8")
    return str(path)


def test_tasks_answers_near_misses_and_refusals_are_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check.main([written(tmp_path, ROW)]) == 0
    out = capsys.readouterr().out
    for wanted in ("== filter_count/power: 1 of 1 tasks, 0 twins, 1 candidates refused", "filter_count-dresden-power",
                   "Was in Dresden mindestens 50 kW?", "(number)", "near: ohne Filter = ",
                   'must_call: {"req": "/cities/dresden/charging"}',
                   "refused dresden, kw=5.000: count is 0, below 2"):
        assert wanted in out, out


def test_what_the_lint_says_of_the_wording_stands_below(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check.main([written(tmp_path, ROW | {"phrasings": [f"{word} {{in_city}} etwa {{kw}} kW?" for word in "ABC"]})])
    out = capsys.readouterr().out
    assert "words: filter_count-dresden-power: 'etwa'" in out and "bound: filter_count-dresden-power: >= 50" in out


def test_a_template_that_runs_out_is_an_exit_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check.main([written(tmp_path, ROW | {"vary": {"kw": [5000]}})]) == 1
    assert "MISSING: 0 of 1 tasks" in capsys.readouterr().out
    assert check.main([written(tmp_path, ROW | {"vary": {"kw": [5000]}}), "--worlds", "2"]) == 1
    assert "RUNS OUT in s1, s2" in capsys.readouterr().out
    assert check.main([written(tmp_path, ROW), "--worlds", "2"]) == 0


def test_only_one_template_and_all_refusals(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    many = ROW | {"template": "many", "vary": {"kw": [*range(5000, 5020), 50]}}
    path = written(tmp_path, ROW, many)
    assert check.main([path, "--template", "many"]) == 0
    short = capsys.readouterr().out
    assert "filter_count/power" not in short and "… 20 in all: 20 × count is 0, below 2" in short
    check.main([path, "--template", "many", "--all-refusals"])
    assert capsys.readouterr().out.count("refused dresden") == 20


def test_a_broken_file_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check.main([written(tmp_path, ROW | {"tasks": "two"})]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and "filter_count.json: template power: tasks: " in err
