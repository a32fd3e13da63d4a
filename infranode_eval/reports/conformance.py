"""Does a file keep a published format? The JSON Schemas that ship with the package, applied to results and tasks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from infranode_eval.reports.archive import read_json, run_from_json
from lm_eval_task.errors import DataError, UsageError
from lm_eval_task.records import read_json_lines, read_tasks

SCHEMAS = Path(__file__).parent.parent / "data"
SHOWN = 10      # problems that are listed; the rest is counted


def check_file(path: str | Path) -> str:
    """Check a result (.json) or a file of tasks (.jsonl); return one line that says what was checked.

    Raise DataError with one line per problem, UsageError if jsonschema is missing or the file is neither.
    """
    path = Path(path)
    if path.suffix == ".jsonl":
        return _check_tasks(path)
    if path.suffix != ".json":
        raise UsageError(f"{path}: expected a result (.json) or a file of tasks (.jsonl)")
    value = read_json(path)
    _raise_if_any(_problems("result.schema.json", [(0, value)], path))
    return f"{path}: a result with {run_from_json(value, path).n} rows keeps the format"


def _check_tasks(path: Path) -> str:
    """A generated file, known by its sets and proofs, keeps the whole schema; any other file only the common fields."""
    rows = list(read_json_lines(path))
    generated = any(isinstance(row, dict) and "verified" in row and "set" in row for _, row in rows)
    if generated:
        _raise_if_any(_problems("task.schema.json", rows, path))
    kept = "the schema of generated tasks" if generated else "the format of own tasks"
    return f"{path}: {len(read_tasks(path))} tasks keep {kept}"


def _problems(schema: str, values: Iterable[tuple[int, Any]], path: Path) -> Iterator[str]:
    validator = _validator(schema)
    for line, value in values:
        for error in sorted(validator.iter_errors(value), key=lambda e: list(map(str, e.absolute_path))):
            where = f"{path}:{line}" if line else str(path)
            at = "/".join(map(str, error.absolute_path)) or "the whole value"
            message = error.message if len(error.message) <= 160 else error.message[:157] + "…"
            yield f"{where}: {at}: {message}"


def _validator(schema: str) -> Any:
    try:
        import jsonschema  # late: reports are read where only the standard library is
    except ModuleNotFoundError:
        raise UsageError("--check needs the package jsonschema: pip install jsonschema") from None
    return jsonschema.Draft202012Validator(read_json(SCHEMAS / schema))


def _raise_if_any(problems: Iterable[str]) -> None:
    found = list(problems)
    if found:
        more = [f"… and {len(found) - SHOWN} more"] if len(found) > SHOWN else []
        raise DataError("\n".join(found[:SHOWN] + more))
