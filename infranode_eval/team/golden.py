"""The golden folder of a scenario: facts of its pictures and sounds, answers that pass, and answers that must fail.

No run copies or mounts it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infranode_eval.providers.media import MODALITIES as MODALITIES
from infranode_eval.team.finding import Finding, fault, first_error, read_json
from infranode_eval.team.layout import tree
from infranode_eval.team.shape import ID, TEXT, Field, object_faults, or_null, path_problem
from lm_eval_task.errors import DataError
from lm_eval_task.records import read_json_lines

WHY = "why.json"
_SHA256 = re.compile(r"[0-9a-f]{64}")
_WHY_FIELDS = {"why": Field(TEXT, True),
               "from": Field(or_null(path_problem)), "stale_of": Field(or_null(ID)), "built_on": Field(or_null(ID))}


@dataclass(frozen=True, slots=True)
class Wrong:
    """An answer that must fail. folder holds its files and why.json.

    from_: the decoy file that it believes; stale_of: the update that it ignores; built_on: the round whose wrong answer
    it carries on. Each may be None.
    """

    name: str
    folder: Path
    why: str
    from_: str | None = None
    stale_of: str | None = None
    built_on: str | None = None

    def files(self) -> dict[str, Path]:
        """Relative path in the workspace → file."""
        return {relative: path for relative, path in _files(self.folder).items() if relative != WHY}


def facts(folder: str | Path) -> dict[str, dict[str, str]]:
    """{sha256 of an asset: {"modality", "text"}} of a scenario's folder; {} where it has no facts.json.

    Raise DataError for a file in another form.
    """
    path = Path(folder) / "golden" / "facts.json"
    if not path.exists():
        return {}
    value = read_json(path, _name(path, folder))
    first_error(facts_faults(value, _name(path, folder)))
    return value


def facts_faults(value: Any, file: str) -> Iterator[Finding]:
    if not isinstance(value, dict):
        yield fault(file, "", value, "an object")
        return
    fields = {"modality": Field(lambda v: None if v in MODALITIES else f"one of {', '.join(MODALITIES)}", True),
              "text": Field(TEXT, True)}
    for digest, fact in value.items():
        if not _SHA256.fullmatch(digest):
            yield fault(file, "", digest, "a sha256 as 64 hex digits")
        yield from object_faults(fact, fields, file, digest)


def golden_files(folder: str | Path, round_id: str) -> dict[str, Path]:
    """Relative path in the workspace → file of the answer that passes the round; {} where there is none."""
    return _files(Path(folder) / "golden" / round_id)


def wrongs(folder: str | Path, round_id: str) -> tuple[Wrong, ...]:
    """The answers that must fail the round, by number. Raise DataError for a why.json in another form."""
    numbered = re.compile(re.escape(round_id) + r"\.wrong(\d+)")
    golden = Path(folder) / "golden"
    found = [(int(match[1]), path) for path in (sorted(golden.iterdir()) if golden.is_dir() else ())
             if (match := numbered.fullmatch(path.name)) and path.is_dir()]
    return tuple(_wrong(path, folder) for _, path in sorted(found))


def _wrong(path: Path, folder: str | Path) -> Wrong:
    file = _name(path / WHY, folder)
    value = read_json(path / WHY, file)
    first_error(object_faults(value, _WHY_FIELDS, file))
    return Wrong(path.name, path, value["why"], value.get("from"), value.get("stale_of"), value.get("built_on"))


def recorded_runs(folder: str | Path, order: Sequence[str]) -> Callable[[str], str] | None:
    """The run log of the golden run from golden/runs.jsonl, as a check of the named round reads it; None without one.

    order: ids of all rounds. Raise DataError for a line that is no event of one of them.
    """
    path = Path(folder) / "golden" / "runs.jsonl"
    if not path.is_file():
        return None
    events: list[tuple[int, str]] = []
    try:
        for number, event in read_json_lines(path):
            if not isinstance(event, dict) or event.get("round") not in order:
                raise DataError(f'found no event with the "round" of one of {", ".join(order)}', path, number)
            events.append((order.index(event["round"]), json.dumps(event, ensure_ascii=False) + "\n"))
    except DataError as error:
        raise DataError(Finding.of(error).text, _name(path, folder), error.line) from None
    return lambda round_id: "".join(line for place, line in events if place <= order.index(round_id))


def _files(folder: Path) -> dict[str, Path]:
    return {relative: folder / relative for relative, kind in tree(folder).items() if kind == "file"}


def _name(path: Path, folder: str | Path) -> str:
    return f"{Path(folder).resolve().name}/{path.relative_to(folder).as_posix()}"
