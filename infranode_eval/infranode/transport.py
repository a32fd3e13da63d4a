"""httpx, imported when the first request needs it: everything that only reads data files runs without it."""

from __future__ import annotations

from typing import Any

from lm_eval_task.errors import UsageError


def load_httpx() -> Any:
    """The module. Raise UsageError that says what to install if it is missing."""
    try:
        import httpx
    except ImportError:
        raise UsageError("talking to InfraNode, also to the embedded one, needs httpx, which is not installed; "
                         "run: uv run generate.py … or pip install httpx") from None
    return httpx
