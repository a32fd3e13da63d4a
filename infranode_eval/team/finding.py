"""What is wrong with a scenario: one finding a line, with the file, the key, what was found and what is expected."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infranode_eval.harmless import clean
from lm_eval_task.errors import DataError

ERROR, WARNING = "error", "warning"
_SHOWN = 120                # characters of a found value in a message
_MAX_JSON = 20_000_000      # bytes of a file


@dataclass(frozen=True, slots=True)
class Finding:
    """severity: ERROR (it cannot run, or its verdicts mean nothing) or WARNING.

    file: as `<scenario folder>/<file>`; key: the place in it, like `updates.u1.files[0].op`, "" for the whole file.
    """

    severity: str
    file: str
    key: str
    text: str

    @classmethod
    def of(cls, error: DataError) -> Finding:
        """A file that could not be read, as an error of the whole file."""
        text = str(error).removeprefix(f"{error.path}:")
        text = text.removeprefix(f"{error.line}:") if error.line else text
        return cls(ERROR, str(error.path), f"line {error.line}" if error.line else "", text.strip())

    def __str__(self) -> str:
        """One line, whatever stood in the file."""
        where = f"{self.file}: {self.key}" if self.key else self.file
        return clean(f"{where}: {self.text}".encode("utf-8", "backslashreplace").decode("utf-8"))

    def failure(self) -> DataError:
        return DataError(f"{self.key}: {self.text}" if self.key else self.text, self.file)


@dataclass(frozen=True, slots=True)
class Findings:
    """All that a check found, in the order of the files. strict: warnings count."""

    errors: tuple[Finding, ...] = ()
    warnings: tuple[Finding, ...] = ()
    strict: bool = False

    @classmethod
    def of(cls, found: Iterable[Finding], strict: bool = False) -> Findings:
        """Each finding once."""
        each = tuple(dict.fromkeys(found))
        return cls(tuple(f for f in each if f.severity == ERROR), tuple(f for f in each if f.severity == WARNING),
                   strict)

    @property
    def exit_code(self) -> int:
        """0, 1 for warnings where they count, 2 for errors (specification: team, section 4)."""
        return 2 if self.errors else 1 if self.warnings and self.strict else 0


def fault(file: str, key: str, found: Any, expected: str, severity: str = ERROR) -> Finding:
    """The usual sentence: found as JSON."""
    return Finding(severity, file, key, f"found {shown(found)}, expected {expected}")


def first_error(found: Iterable[Finding]) -> None:
    """Raise the first error among the findings as DataError."""
    for finding in found:
        if finding.severity == ERROR:
            raise finding.failure()


def shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


def read_json(path: Path, file: str) -> Any:
    """The value of a JSON file. file: how a message names it.

    Raise DataError for a missing file, one of more than 20 MB, bad UTF-8, bad JSON, a key that stands twice in one
    object, NaN and Infinity, and a text that holds NUL or half a character.
    """
    if os.path.lexists(path) and not os.path.isfile(path):
        raise DataError("is no regular file, expected a JSON file", file)
    try:
        if (size := path.stat().st_size) > _MAX_JSON:
            raise DataError(f"has {size} bytes, expected at most {_MAX_JSON}", file)
        text = path.read_bytes().decode("utf-8")
        value = json.loads(text, object_pairs_hook=_object, parse_constant=_no_number)
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror or error}), expected a JSON file", file) from None
    except UnicodeDecodeError as error:
        raise DataError(f"is not UTF-8 (byte {error.start}), expected a JSON file in UTF-8", file) from None
    except json.JSONDecodeError as error:
        raise DataError(f"is not JSON ({error.msg}), expected one JSON value", file, error.lineno) from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"is not JSON ({error}), expected one JSON value", file) from None
    try:
        broken = _broken_text(value)
    except RecursionError:
        raise DataError("is nested too deep, expected one JSON value", file) from None
    if broken:
        raise DataError(f"found the text {shown(broken)}, expected text without NUL and half characters", file)
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f'the key "{twice}" stands twice in one object')
    return made


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


def _broken_text(value: Any) -> str | None:
    if isinstance(value, str):
        return value if "\0" in value or any("\ud800" <= sign <= "\udfff" for sign in value) else None
    parts = [*value, *value.values()] if isinstance(value, dict) else value if isinstance(value, list) else ()
    return next(filter(None, map(_broken_text, parts)), None)
