"""Optional packages of the exports: imported when a format needs them, or one line that says what to install."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from lm_eval_task.errors import UsageError

_EXTRAS = {"datasets": "hub", "verifiers": "rl", "inspect_ai": "inspect"}


def load(package: str) -> ModuleType:
    """Raise UsageError, which names the extra to install, where the package is missing."""
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        extra = _EXTRAS[package]
        raise UsageError(f"this needs the package {error.name}; install it with: pip install "
                         f"'infranode-tool-eval[{extra}]' (in a checkout: pip install -e '.[{extra}]')") from None
