"""Data files that ship with the package: read, or one line that says which is missing or broken."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from lm_eval_task.errors import DataError

DATA = Path(__file__).resolve().parent / "data"


def read_shipped(name: str) -> Any:
    """The JSON of data/`name`. Raise DataError if it cannot be read or is no JSON."""
    path = DATA / name
    try:
        return json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror}); reinstall the package", path) from None
    except json.JSONDecodeError as error:
        raise DataError(f"is not JSON ({error.msg})", path, error.lineno) from None
