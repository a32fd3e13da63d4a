"""Text files of the panel: JSON, JSON lines and word lists, read with the file's name in every complaint."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lm_eval_task.errors import DataError


def read_text(path: Path) -> str:
    """Raise DataError if the file is missing or is no UTF-8."""
    try:
        return path.read_text("utf-8")
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror})", path) from None
    except UnicodeDecodeError:
        raise DataError("is not UTF-8", path) from None


def read_json(path: Path) -> Any:
    """Raise DataError with the line if the file is no JSON."""
    try:
        return json.loads(read_text(path))
    except json.JSONDecodeError as error:
        raise DataError(f"is not JSON ({error.msg})", path, error.lineno) from None


def read_lines(path: Path) -> Iterator[tuple[int, Any]]:
    """(number, value) of each line of JSON; blank lines are skipped."""
    for number, line in enumerate(read_text(path).splitlines(), 1):
        if line.strip():
            try:
                yield number, json.loads(line)
            except json.JSONDecodeError as error:
                raise DataError(f"is not JSON ({error.msg})", path, number) from None


def read_words(path: Path) -> list[str]:
    """The words of a list: divided by blanks, "#" begins a remark."""
    return [word for line in read_text(path).splitlines() for word in line.partition("#")[0].split()]


def json_lines(rows: list[Any]) -> str:
    """One value a line, as every data file of the project has it."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
