"""A scenario: what main is asked round by round, in which workspace, and how each round is decided."""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from infranode_eval.shipped import DATA
from infranode_eval.team.finding import ERROR, Finding, fault, first_error, read_json
from infranode_eval.team.golden import Wrong as Wrong
from infranode_eval.team.golden import facts as facts
from infranode_eval.team.golden import golden_files as golden_files
from infranode_eval.team.golden import wrongs as wrongs
from infranode_eval.team.layout import layout_faults, tree
from infranode_eval.team.shape import (
    DEFAULT_TIMEOUT_S,
    ID,
    PLACEHOLDER,
    manifest_faults,
    path_problem,
    reference_faults,
    rounds_faults,
)
from lm_eval_task.errors import DataError
from lm_eval_task.records import fingerprint

MANIFEST, COLLECTION = "manifest.json", "tests.json"


@dataclass(frozen=True, slots=True)
class FileChange:
    """op: "new" or "replace". src: the real file. dst: relative to the workspace."""

    op: str
    src: Path
    dst: str


@dataclass(frozen=True, slots=True)
class Check:
    """The command that decides a round, with its placeholders. before: a command in main's sandbox, or None."""

    command: str
    expect_exit: int = 0
    stdout_contains: str | None = None
    stdout_matches: str | None = None
    timeout_s: float = DEFAULT_TIMEOUT_S
    before: str | None = None

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Check:
        """Of an object in the right form (shape.py)."""
        return cls(**value)

    def passes(self, exit_code: int | None, stdout: str, timed_out: bool, matched: bool | None = None) -> bool:
        """The verdict on what the command did: pure, so that a stored transcript gives it again.

        matched: was stdout_matches found in the output? It stands in the transcript beside the output, since only a
        process of its own can look for it in time (round_check.py).
        """
        return (not timed_out and exit_code == self.expect_exit
                and (self.stdout_contains is None or self.stdout_contains in stdout)
                and (self.stdout_matches is None or matched is True))


@dataclass(frozen=True, slots=True)
class Round:
    """update_ids are laid in before the question, in this order."""

    id: str
    question: str
    update_ids: tuple[str, ...]
    covers: tuple[str, ...]
    tags: tuple[str, ...]
    check: Check
    feedback_correct: str
    feedback_incorrect: str

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Round:
        """Of an object in the right form (shape.py)."""
        return cls(row["id"], row["question"], *(tuple(row.get(key, ())) for key in ("update_ids", "covers", "tags")),
                   Check.from_json(row["eval"]), row["feedback"]["correct"], row["feedback"]["incorrect"])


@dataclass(frozen=True, slots=True)
class Scenario:
    """accessible, delegable, decoys: paths relative to the workspace. template, scripts: the real folders."""

    folder: Path
    scenario_id: str
    title: str
    domain: str
    version: int
    needs: tuple[str, ...]
    accessible: tuple[str, ...]
    delegable: tuple[str, ...]
    decoys: tuple[str, ...]
    updates: Mapping[str, tuple[FileChange, ...]] = field(hash=False)
    rounds: tuple[Round, ...]
    template: Path
    scripts: Path
    rounds_file: str = "rounds.json"

    @classmethod
    def from_json(cls, folder: Path, manifest: Mapping[str, Any], rounds: Iterable[Mapping[str, Any]]) -> Scenario:
        """Of two values in the right form (shape.py)."""
        updates = {name: tuple(FileChange(row["op"], folder / row["src"], row["dst"]) for row in update["files"])
                   for name, update in manifest.get("updates", {}).items()}
        lists = (tuple(manifest.get(key, ())) for key in ("needs", "accessible", "delegable", "decoys"))
        return cls(folder, manifest["scenario_id"], manifest.get("title", manifest["scenario_id"]), manifest["domain"],
                   manifest.get("version", 1), *lists, updates, tuple(map(Round.from_json, rounds)),
                   folder / manifest["workspace_template"], folder / manifest["scripts"], manifest["rounds"])

    def round(self, round_id: str) -> Round:
        return next(row for row in self.rounds if row.id == round_id)

    def name_of(self, path: Path) -> str:
        """How a message names a file of the scenario."""
        return f"{self.scenario_id}/{path.relative_to(self.folder).as_posix()}"


@dataclass(frozen=True, slots=True)
class Declared:
    """Manifest and rounds as they stand in their files, with all that is wrong with their form."""

    folder: Path
    manifest: Any
    rounds: Any
    found: tuple[Finding, ...]

    @property
    def sound(self) -> bool:
        return all(finding.severity != ERROR for finding in self.found)

    def scenario(self) -> Scenario:
        return Scenario.from_json(self.folder, self.manifest, self.rounds)


def read_declared(folder: str | Path) -> Declared:
    """Read both files and look at their form; nothing is raised, a file that cannot be read is a finding."""
    folder = Path(folder).resolve()
    file = f"{folder.name}/{MANIFEST}"
    manifest, found = _read(folder / MANIFEST, file)
    rounds = None
    if not found:
        found += manifest_faults(manifest, file)
        name = manifest.get("rounds") if isinstance(manifest, dict) else None
        if path_problem(name) is None:
            rounds, unreadable = _read(folder / name, f"{folder.name}/{name}")
            found += unreadable or list(rounds_faults(rounds, f"{folder.name}/{name}"))
    if all(finding.severity != ERROR for finding in found):
        files = (file, f"{folder.name}/{manifest['rounds']}")
        found += reference_faults(manifest, rounds, files, folder.name)
    return Declared(folder, manifest, rounds, tuple(found))


def _read(path: Path, file: str) -> tuple[Any, list[Finding]]:
    try:
        return read_json(path, file), []
    except DataError as error:
        return None, [Finding.of(error)]


def read_scenario(folder: str | Path) -> Scenario:
    """The scenario of a folder. Raise DataError, naming file, key, found and expected, for the first fault.

    Golden answers are not asked for: a run does without them. Neither are commands run (check.py does both).
    """
    declared = read_declared(folder)
    first_error(declared.found)
    scenario = declared.scenario()
    first_error(layout_faults(scenario))
    return scenario


def collection_ids(folder: str | Path) -> tuple[str, ...]:
    """The scenario ids of a folder's tests.json, in its order; keys other than "scenarios" are free.

    Raise DataError for a file that is no such list.
    """
    path = Path(folder) / COLLECTION
    if not path.exists():
        alone = "; this is one scenario: name the folder around it" if (path.parent / MANIFEST).is_file() else ""
        raise DataError(f"is missing, expected a folder of scenarios with a {COLLECTION} that lists them{alone}",
                        str(path))
    value = read_json(path, str(path))
    if not isinstance(value, dict):
        raise fault(str(path), "", value, 'an object with "scenarios"').failure()
    ids = value.get("scenarios")
    if not isinstance(ids, list) or not ids:
        raise fault(str(path), "scenarios", ids, "a list of at least one scenario id").failure()
    for place, name in enumerate(ids):
        if (expected := ID(name)) or (expected := "each id once" if name in ids[:place] else None):
            raise fault(str(path), f"scenarios[{place}]", name, expected).failure()
    return tuple(ids)


def shipped_folder() -> Path:
    return DATA / "team"


def read_collection(folder: str | Path | None = None) -> tuple[Scenario, ...]:
    """The scenarios of a folder with tests.json, in its order; without one the package's own.

    Raise DataError for the first fault of tests.json or of a scenario.
    """
    folder = shipped_folder() if folder is None else Path(folder)
    return tuple(read_scenario(folder / name) for name in collection_ids(folder))


def fill(text: str, values: Mapping[str, str], quote: bool) -> str:
    """Put values in the place of ${…}; quote: as one word of a shell. Raise DataError for one without a value."""
    def value(found: re.Match[str]) -> str:
        if found[1] not in values:
            known = ", ".join(f"${{{name}}}" for name in values)
            raise DataError(f"found the placeholder {found[0]}, expected one of {known}")
        return shlex.quote(values[found[1]]) if quote else values[found[1]]
    return PLACEHOLDER.sub(value, text)


def scenarios_fingerprint(scenarios: Iterable[Scenario]) -> str:
    """`hashes.tasks` of a result: over the sorted list [path, sha256 of content] of all that a run sees or runs.

    Paths begin with the scenario id. Golden answers do not enter (specification: team, section 4).
    """
    return fingerprint(sorted(entry for scenario in scenarios for entry in _contents(scenario)))


def _contents(scenario: Scenario) -> Iterator[list[str]]:
    for name in (MANIFEST, scenario.rounds_file):
        yield [f"{scenario.scenario_id}/{name}", _sha256((scenario.folder / name).read_bytes())]
    for top in (scenario.template, scenario.folder / "updates", scenario.scripts):
        for relative, kind in tree(top).items():
            path = top / relative
            if kind == "file":
                yield [scenario.name_of(path), _sha256(path.read_bytes())]
            elif kind == "link":
                yield [scenario.name_of(path), _sha256(b"link to " + str(path.readlink()).encode())]


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
