"""Is a scenario fit to be run, and do its checks tell right answers from wrong ones: all findings of one folder."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from infranode_eval.team.check_rounds import rehearse
from infranode_eval.team.finding import ERROR, WARNING, Finding, Findings, fault, read_json
from infranode_eval.team.golden import MODALITIES, Wrong, facts, golden_files, recorded_runs, wrongs
from infranode_eval.team.kinds import kind_of
from infranode_eval.team.layout import entry_faults, layout_faults, tree
from infranode_eval.team.sandbox import Sandbox
from infranode_eval.team.scenario import Scenario, collection_ids, read_declared
from infranode_eval.team.shape import LIST, OBJECT, STRING, Field, covers, object_faults
from infranode_eval.team.slots import Slots
from lm_eval_task.errors import DataError

RunsOf = Callable[[str], str]       # round id → the run log that its check may read, JSON lines
_OWN_FILES = ("facts.json", "lint.json", "play.json", "runs.jsonl", "tools.json")


def check_collection(folder: str | Path, strict: bool = False, sandbox: Sandbox | None = None) -> Findings:
    """The findings of every scenario that tests.json names. Raise DataError for a tests.json that names none."""
    each = [check_scenario(Path(folder) / name, strict, sandbox) for name in collection_ids(folder)]
    return Findings.of((f for found in each for f in (*found.errors, *found.warnings)), strict)


def check_scenario(folder: str | Path, strict: bool = False, sandbox: Sandbox | None = None,
                   runs_of: RunsOf | None = None) -> Findings:
    """All that is wrong with a scenario, in four steps: the form of its JSON, its files, golden answers, checks run.

    A step is taken if the one before found no error. strict: warnings count in the exit code. Without a sandbox
    no check is run, which is a warning. runs_of: the run log of a golden run; without it golden/runs.jsonl, else "".
    """
    declared = read_declared(folder)
    if not declared.sound:
        return Findings.of(declared.found, strict)
    scenario = declared.scenario()
    found = list(declared.found)
    for step in (layout_faults, golden_faults, lambda one: _tried(one, sandbox, runs_of)):
        if all(finding.severity != ERROR for finding in found):
            found += step(scenario)
    return Findings.of(found, strict)


def _tried(scenario: Scenario, sandbox: Sandbox | None, runs_of: RunsOf | None) -> Iterator[Finding]:
    if sandbox is None:
        yield Finding(WARNING, f"{scenario.scenario_id}/{scenario.rounds_file}", "",
                      "no check was run, expected a sandbox to try the golden and the wrong answers in")
        return
    runs_of = runs_of or recorded_runs(scenario.folder, [row.id for row in scenario.rounds]) or (lambda round_id: "")
    with Slots().take() as slot:
        yield from rehearse(scenario, sandbox, slot, runs_of)


def golden_faults(scenario: Scenario) -> Iterator[Finding]:
    """What is wrong with the golden folder, as far as it shows without running a check."""
    golden, name = scenario.folder / "golden", f"{scenario.scenario_id}/golden"
    if golden.is_symlink() or not golden.is_dir():
        yield Finding(ERROR, name, "", "is missing, expected a folder with an answer for each round")
        return
    irregular = [relative for relative, kind in tree(golden).items() if kind not in ("file", "folder")]
    unfit = ([Finding(ERROR, f"{name}/{relative}", "", "found no regular file, expected one") for relative in irregular]
             or list(entry_faults(scenario, golden)))
    yield from unfit
    if unfit:
        return
    yield from _name_faults(scenario, golden)
    yield from _fact_faults(scenario)
    for row in scenario.rounds:
        files = golden_files(scenario.folder, row.id)
        if not files:
            yield Finding(ERROR, f"{name}/{row.id}", "", "is missing, expected the files that pass the round")
        yield from _answer_faults(scenario, f"{name}/{row.id}", files)
        yield from _wrong_faults(scenario, row.id)
    yield from _json_faults(scenario, "lint.json", _lint_faults)
    yield from _json_faults(scenario, "play.json", _play_faults)
    try:
        recorded_runs(scenario.folder, [row.id for row in scenario.rounds])
    except DataError as error:
        yield Finding.of(error)


def _name_faults(scenario: Scenario, golden: Path) -> Iterator[Finding]:
    ids = "|".join(re.escape(row.id) for row in scenario.rounds)
    known = re.compile(rf"({ids})(\.wrong[1-9][0-9]*)?")
    for path in sorted(golden.iterdir()):
        if not (known.fullmatch(path.name) if path.is_dir() else path.name in _OWN_FILES):
            yield fault(scenario.name_of(golden), "", path.name,
                        f"folders <round> and <round>.wrong<number>, or {', '.join(_OWN_FILES)}")


def _answer_faults(scenario: Scenario, name: str, files: dict[str, Path]) -> Iterator[Finding]:
    for relative in files:
        if not any(covers(grant, relative) for grant in (*scenario.accessible, *scenario.delegable)):
            yield fault(name, "", relative, "a file within accessible or delegable: no agent can write it elsewhere")


def _wrong_faults(scenario: Scenario, round_id: str) -> Iterator[Finding]:
    try:
        found = wrongs(scenario.folder, round_id)
    except DataError as error:
        yield Finding.of(error)
        return
    if not found:
        yield Finding(WARNING, f"{scenario.scenario_id}/golden/{round_id}.wrong1", "",
                      "is missing, expected at least one answer that must fail")
    for wrong in found:
        name = f"{scenario.scenario_id}/golden/{wrong.name}"
        if not wrong.files():
            yield Finding(ERROR, name, "", "holds no answer, expected the files that must fail the round")
        yield from _answer_faults(scenario, name, wrong.files())
        yield from _why_faults(scenario, round_id, wrong, f"{name}/why.json")


def _why_faults(scenario: Scenario, round_id: str, wrong: Wrong, file: str) -> Iterator[Finding]:
    ids = [row.id for row in scenario.rounds]
    earlier = ids[:ids.index(round_id)]
    laid_in = [name for row in scenario.rounds[:len(earlier) + 1] for name in row.update_ids]
    if wrong.from_ is not None and not _decoy_file(scenario, wrong.from_):
        yield fault(file, "from", wrong.from_, "a file below one of the decoys")
    if wrong.stale_of is not None and wrong.stale_of not in laid_in:
        yield fault(file, "stale_of", wrong.stale_of, f"an update that is laid in by then ({', '.join(laid_in)})")
    if wrong.built_on is not None and wrong.built_on not in earlier:
        yield fault(file, "built_on", wrong.built_on, f"an earlier round ({', '.join(earlier)})")


def _decoy_file(scenario: Scenario, path: str) -> bool:
    laid_in = any(change.dst == path for changes in scenario.updates.values() for change in changes)
    return any(covers(decoy, path) for decoy in scenario.decoys) and (
        laid_in or (scenario.template / path).is_file())


def _fact_faults(scenario: Scenario) -> Iterator[Finding]:
    try:
        known = facts(scenario.folder)
    except DataError as error:
        yield Finding.of(error)
        return
    assets = {path: path.read_bytes() for top in (scenario.template, scenario.folder / "updates")
              for path in (top / relative for relative, kind in tree(top).items() if kind == "file")}
    digests = {path: hashlib.sha256(data).hexdigest() for path, data in assets.items()}
    for digest in known:
        if digest not in digests.values():
            yield fault(f"{scenario.scenario_id}/golden/facts.json", "", digest,
                        "the sha256 of a file of workspace or updates")
    for path, data in assets.items():
        if kind_of(data).modality in MODALITIES and digests[path] not in known:
            yield Finding(WARNING, scenario.name_of(path), "",
                          "has no entry in golden/facts.json, expected one for each picture and sound")


def _json_faults(scenario: Scenario, name: str,
                 form: Callable[[Scenario, Any, str], Iterator[Finding]]) -> Iterator[Finding]:
    """What is wrong with a golden file that may be absent. form: what is wrong with its value."""
    path, file = scenario.folder / "golden" / name, f"{scenario.scenario_id}/golden/{name}"
    if not path.exists():
        return
    try:
        value = read_json(path, file)
    except DataError as error:
        yield Finding.of(error)
        return
    yield from form(scenario, value, file)


def _lint_faults(scenario: Scenario, value: Any, file: str) -> Iterator[Finding]:
    """The form of lint.json: {round: {"only_in_session": [texts]}}."""
    ids = [row.id for row in scenario.rounds]
    yield from object_faults(value, {name: Field(OBJECT) for name in ids}, file)
    texts = Field(lambda v: LIST(v) or next(filter(None, map(STRING, v)), None), True)
    for name, entry in value.items() if isinstance(value, dict) else ():
        if name in ids:
            yield from object_faults(entry, {"only_in_session": texts}, file, name)


def _play_faults(scenario: Scenario, value: Any, file: str) -> Iterator[Finding]:
    """The form of play.json: [{"round", "answers": [{"calls": [{"name", "arguments"}]} | {"text"}]}]."""
    if expected := LIST(value):
        yield fault(file, "", value, expected)
        return
    ids = [row.id for row in scenario.rounds]
    known = Field(lambda v: None if v in ids else f"one of {', '.join(ids)}", True)
    for place, row in enumerate(value):
        yield from object_faults(row, {"round": known, "answers": Field(LIST, True)}, file, f"[{place}]")
        answers = row.get("answers") if isinstance(row, dict) else None
        for number, answer in enumerate(answers if isinstance(answers, list) else ()):
            yield from _play_answer_faults(answer, file, f"[{place}].answers[{number}]")


def _play_answer_faults(answer: Any, file: str, key: str) -> Iterator[Finding]:
    if isinstance(answer, dict) and "text" in answer:
        yield from object_faults(answer, {"text": Field(STRING, True)}, file, key)
        return
    yield from object_faults(answer, {"calls": Field(LIST, True)}, file, key)
    calls = answer.get("calls") if isinstance(answer, dict) else None
    for place, call in enumerate(calls if isinstance(calls, list) else ()):
        fields = {"name": Field(STRING, True), "arguments": Field(OBJECT, True)}
        yield from object_faults(call, fields, file, f"{key}.calls[{place}]")
