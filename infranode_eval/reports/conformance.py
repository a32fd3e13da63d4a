"""Does a file keep a published format? The JSON Schemas that ship with the package, and the reader of cases."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from infranode_eval.beside import read_transcripts
from infranode_eval.reports.archive import read_json, run_from_json
from infranode_eval.reports.tasksets import chain_sets, holds_plays
from infranode_eval.reports.team_rows import SUITE as TEAM
from lm_eval_task.cases import looks_like_cases, read_cases
from lm_eval_task.errors import DataError, UsageError
from lm_eval_task.records import FAILURES, read_json_lines, read_tasks
from lm_eval_task.tools import read_tools

SCHEMAS = Path(__file__).parent.parent / "data"
SHOWN = 10      # problems that are listed; the rest is counted


def check_file(path: str | Path, tools: str | Path | None = None) -> str:
    """Check a result (.json) or a file of tasks or cases (.jsonl); return one line that says what was checked.

    tools: of cases of one's own. What may be an oversight in them follows as further lines.
    Raise DataError with one line per problem, UsageError if jsonschema is missing or the file is neither.
    """
    path = Path(path)
    if path.suffix == ".jsonl":
        if holds_plays(path):
            return _check_plays(path, tools)
        return _check_cases(path, tools) if looks_like_cases(path) else _check_tasks(path)
    if path.suffix != ".json":
        raise UsageError(f"{path}: expected a result (.json) or a file of tasks (.jsonl)")
    value = read_json(path)
    _raise_if_any(_problems("result.schema.json", [(0, value)], path))
    kept = f"{path}: a result with {run_from_json(value, path).n} rows keeps the format"
    return f"{kept}, its {_check_transcripts(value, path)} transcripts as well" if "transcripts" in value else kept


def _check_transcripts(value: Mapping[str, Any], path: Path) -> int:
    """The file beside a result: the one that belongs to it, and a play for each row that was answered."""
    found = read_transcripts(path, value["transcripts"])
    told = path.with_name(value["transcripts"]["file"])
    part = "course" if value["suite"] == TEAM else "transcript"
    _raise_if_any(_problems("result.schema.json", enumerate(found.values(), 1), told, part))
    rows = [(row["task_id"], row["repeat"]) for row in value["rows"] if row["outcome"] not in FAILURES]
    missing = [task for task, repeat in rows if (task, repeat) not in found]
    if missing or len(found) != value["transcripts"]["n"]:
        raise DataError(f"holds no play for the row {missing[0]}" if missing else
                        f"holds {len(found)} plays, {value['transcripts']['n']} expected", told)
    return len(found)


def _check_plays(path: Path, tools: str | Path | None) -> str:
    """Tasks of the suite chain, each set as the suite reads it."""
    ids = {key for known in chain_sets(read_tools(tools), path) for key in known.tasks}
    return f"{path}: {len(ids)} tasks keep the format of the suite chain"


def _check_cases(path: Path, tools: str | Path | None) -> str:
    """The cases of the test bench, each against the tools; without a file of tools the project's own."""
    cases = read_cases(path, None if tools is None else read_tools(tools))
    kept = f"{path}: {len(cases.tasks)} cases keep the format of cases and fit {len(cases.tools.tools)} tools"
    return "\n".join([kept, *(f"note: {note}" for note in cases.notes)])


def _check_tasks(path: Path) -> str:
    """A generated file, known by its sets and proofs, keeps the whole schema; any other file only the common fields."""
    rows = list(read_json_lines(path))
    generated = any(isinstance(row, dict) and "verified" in row and "set" in row for _, row in rows)
    if generated:
        _raise_if_any(_problems("task.schema.json", rows, path))
    kept = "the schema of generated tasks" if generated else "the format of own tasks"
    return f"{path}: {len(read_tasks(path))} tasks keep {kept}"


def _problems(schema: str, values: Iterable[tuple[int, Any]], path: Path, part: str | None = None) -> Iterator[str]:
    """part: one of the definitions in the schema, instead of the whole."""
    validator = _validator(schema, part)
    for line, value in values:
        for error in sorted(validator.iter_errors(value), key=lambda e: list(map(str, e.absolute_path))):
            where = f"{path}:{line}" if line else str(path)
            at = "/".join(map(str, error.absolute_path)) or "the whole value"
            message = error.message if len(error.message) <= 160 else error.message[:157] + "…"
            yield f"{where}: {at}: {message}"


def _validator(schema: str, part: str | None) -> Any:
    try:
        import jsonschema  # late: reports are read where only the standard library is
    except ModuleNotFoundError:
        raise UsageError("--check needs the package jsonschema: pip install jsonschema") from None
    whole = read_json(SCHEMAS / schema)
    return jsonschema.Draft202012Validator(
        whole if part is None else {"$defs": whole["$defs"], "$ref": f"#/$defs/{part}"})


def _raise_if_any(problems: Iterable[str]) -> None:
    found = list(problems)
    if found:
        more = [f"… and {len(found) - SHOWN} more"] if len(found) > SHOWN else []
        raise DataError("\n".join(found[:SHOWN] + more))
