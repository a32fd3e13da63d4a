from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from infranode_eval.team.round_check import found_in
from infranode_eval.team.scenario import (
    Check,
    facts,
    fill,
    golden_files,
    read_collection,
    read_scenario,
    scenarios_fingerprint,
    wrongs,
)
from lm_eval_task.errors import DataError
from tests.team.probe import MANIFEST, write, write_collection, write_json, write_probe


def test_a_good_scenario_is_read_with_all_its_parts(tmp_path: Path) -> None:
    scenario = read_scenario(write_probe(tmp_path))
    assert (scenario.scenario_id, scenario.domain, scenario.version) == ("probe_klein", "law", 1)
    assert scenario.accessible == ("aufgaben", "ausgabe", "entwurf") and scenario.decoys == ("archiv", "altes")
    assert [change.op for change in scenario.updates["u1"]] == ["replace", "new"]
    assert scenario.updates["u1"][0].src.is_file() and scenario.updates["u1"][0].dst == "akten/satzung.txt"
    assert [row.id for row in scenario.rounds] == ["r1", "r2"] and scenario.round("r2").update_ids == ("u1",)
    assert scenario.rounds[0].check.stdout_contains == "OK" and scenario.rounds[0].feedback_correct.endswith("reich.")


def test_only_what_is_required_is_required(tmp_path: Path) -> None:
    folder = write_probe(tmp_path)
    write_json(folder / "manifest.json", {key: MANIFEST[key] for key in (
        "scenario_id", "domain", "workspace_template", "scripts", "rounds", "accessible")})
    row = {"id": "r1", "type": "exec_check", "question": "Was?", "eval": {"command": "true"},
           "feedback": {"correct": "ja", "incorrect": "nein"}}
    write_json(folder / "rounds.json", [row])
    scenario = read_scenario(folder)
    assert (scenario.title, scenario.version, scenario.updates, scenario.needs) == ("probe_klein", 1, {}, ())
    assert scenario.rounds[0].check == Check("true", 0, None, None, 20, None)


def test_the_first_fault_names_file_key_found_and_expected(tmp_path: Path) -> None:
    folder = write_probe(tmp_path)
    write_json(folder / "manifest.json", {**MANIFEST, "version": True})
    with pytest.raises(DataError) as caught:
        read_scenario(folder)
    assert str(caught.value) == "probe_klein/manifest.json: version: found true, expected a whole number from 1"


PASS_RULE = [
    (Check("c"), 0, "", False, True, "exit 0 is expected"),
    (Check("c"), 1, "OK", False, False, "another exit code"),
    (Check("c", expect_exit=3), 3, "", False, True, "exit 3 is expected"),
    (Check("c", expect_exit=3), 0, "", False, False, "exit 3 is expected, 0 is not good enough"),
    (Check("c", stdout_contains="OK"), 0, "alles OK\n", False, True, "the text stands in it"),
    (Check("c", stdout_contains="OK"), 0, "ok", False, False, "the text does not stand in it"),
    (Check("c", stdout_matches=r"^Frist \d+$"), 0, "Frist 14", False, True, "the pattern is found"),
    (Check("c", stdout_matches=r"(F+)+$"), 0, "F" * 40 + "x", False, False, "the pattern takes too long"),
    (Check("c", stdout_matches=r"\d{3}"), 0, "Frist 14", False, False, "the pattern is not found"),
    (Check("c", stdout_contains="OK", stdout_matches="x"), 0, "OK", False, False, "both are demanded"),
    (Check("c"), 0, "OK", True, False, "a timeout fails whatever else it did"),
    (Check("c"), None, "", True, False, "killed"),
]


@pytest.mark.parametrize(("check", "exit_code", "stdout", "timed_out", "passed", "why"), PASS_RULE)
def test_a_round_is_passed_by_exit_code_and_output(
        check: Check, exit_code: int | None, stdout: str, timed_out: bool, passed: bool, why: str) -> None:
    matched = None if check.stdout_matches is None else found_in(stdout, check.stdout_matches)
    assert check.passes(exit_code, stdout, timed_out, matched) is passed, why


def test_a_pattern_that_nobody_has_looked_for_is_not_found() -> None:
    assert not Check("c", stdout_matches="a").passes(0, "a", False)


FILLED = [
    ("nach ${workspace}/a.json", {"workspace": "/arbeit"}, False, "nach /arbeit/a.json", "plain in a question"),
    ("cat ${workspace}/a", {"workspace": "/x y"}, True, "cat '/x y'/a", "a blank is quoted in a command"),
    ("cat ${workspace}/a", {"workspace": "/x y"}, False, "cat /x y/a", "and nowhere else"),
    ("${a}${b}", {"a": "${b}", "b": "2"}, False, "${b}2", "what is filled in is not filled again"),
    ("$HOME $(ls) $${a}", {"a": "1"}, False, "$HOME $(ls) $1", "other dollars stay"),
]


@pytest.mark.parametrize(("text", "values", "quote", "filled", "why"), FILLED)
def test_placeholders_are_filled(text: str, values: dict[str, str], quote: bool, filled: str, why: str) -> None:
    assert fill(text, values, quote) == filled, why


def test_a_placeholder_without_a_value_is_told() -> None:
    with pytest.raises(DataError, match=r"found the placeholder \$\{home\}, expected one of \$\{workspace\}"):
        fill("${home}", {"workspace": "/arbeit"}, quote=False)


def test_a_collection_may_hold_keys_of_its_own(tmp_path: Path) -> None:
    assert [scenario.scenario_id for scenario in read_collection(write_collection(tmp_path))] == ["probe_klein"]


@pytest.mark.parametrize(("value", "message"), [
    ([], 'found [], expected an object with "scenarios"'),
    ({"name": "x"}, "scenarios: found null, expected a list of at least one scenario id"),
    ({"scenarios": []}, "scenarios: found [], expected a list of at least one scenario id"),
    ({"scenarios": ["../x"]}, 'scenarios[0]: found "../x", expected a name of A-Z a-z 0-9 _ -'),
    ({"scenarios": ["probe_klein", "probe_klein"]}, 'scenarios[1]: found "probe_klein", expected each id once'),
    ({"scenarios": ["fehlt"]}, "fehlt/manifest.json: cannot be read (No such file or directory), expected a JSON file"),
])
def test_a_broken_collection_is_refused(tmp_path: Path, value: object, message: str) -> None:
    write_json(write_collection(tmp_path) / "tests.json", value)
    with pytest.raises(DataError) as caught:
        read_collection(tmp_path)
    assert str(caught.value).endswith(message)


def test_a_folder_that_is_no_collection_is_refused_and_a_scenario_alone_is_recognised(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="tests.json: is missing, expected a folder of scenarios with .* lists them$"):
        read_collection(tmp_path / "fehlt")
    with pytest.raises(DataError, match="this is one scenario: name the folder around it$"):
        read_collection(write_probe(tmp_path))


def test_golden_answers_are_found_by_round(tmp_path: Path) -> None:
    folder = write_probe(tmp_path)
    assert list(golden_files(folder, "r1")) == ["ausgabe/r1.json"] and golden_files(folder, "r9") == {}
    found = wrongs(folder, "r2")
    assert [(w.name, w.from_, w.stale_of, w.built_on) for w in found] == [
        ("r2.wrong1", None, "u1", None), ("r2.wrong2", None, None, "r1")]
    assert list(found[0].files()) == ["ausgabe/r2.json"], "why.json is no answer"


def test_wrong_answers_are_ordered_by_number(tmp_path: Path) -> None:
    folder = write_probe(tmp_path)
    for number in (10, 3):
        write_json(folder / "golden" / f"r1.wrong{number}" / "why.json", {"why": "falsch"})
    assert [wrong.name for wrong in wrongs(folder, "r1")] == ["r1.wrong1", "r1.wrong2", "r1.wrong3", "r1.wrong10"]


def test_facts_are_read_by_the_hash_of_their_asset(tmp_path: Path) -> None:
    folder = write_probe(tmp_path)
    known = {"a" * 64: {"modality": "image", "text": "14. September"}}
    write_json(folder / "golden" / "facts.json", known)
    assert facts(folder) == known
    (folder / "golden" / "facts.json").unlink()
    assert facts(folder) == {}


def test_the_fingerprint_is_the_documented_one(tmp_path: Path) -> None:
    folder = write_probe(tmp_path)
    names = ["manifest.json", "rounds.json", *(path.relative_to(folder).as_posix() for top in (
        "workspace", "updates", "checks") for path in (folder / top).rglob("*") if path.is_file())]
    contents = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names}
    entries = sorted([f"probe_klein/{name}", digest] for name, digest in contents.items())
    text = json.dumps(entries, separators=(",", ":"), ensure_ascii=False)
    assert scenarios_fingerprint([read_scenario(folder)]) == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(("file", "counts"), [
    ("workspace/akten/satzung.txt", True), ("updates/u1/satzung.txt", True), ("checks/check.py", True),
    ("workspace/akten/neu.txt", True), ("golden/r1/ausgabe/r1.json", False), ("golden/facts.json", False)])
def test_only_what_a_run_sees_moves_the_fingerprint(tmp_path: Path, file: str, counts: bool) -> None:
    folder = write_probe(tmp_path)
    before = scenarios_fingerprint([read_scenario(folder)])
    write(folder / file, "{}")
    assert (scenarios_fingerprint([read_scenario(folder)]) != before) is counts
