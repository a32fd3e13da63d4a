"""The file of --models: which models run one after another, each line as flags."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lm_eval_task.errors import DataError

# Keys of a JSON line: flags of the command without their dashes, "_" for "-".
KEYS = ("model", "backend", "base_url", "mode", "api_key_env", "header", "extra_body", "tool_choice",
        "parallel_tool_calls", "tag", "out", "max_tokens", "temperature", "timeout", "concurrency", "rpm", "retries",
        "tpm", "max_wait", "seed", "shuffle_tools", "arm", "arm_seed", "price_in", "price_out")


def flags_of_lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    """(line number, flags) for each model: a name, or an object with "model" and other keys; # starts a comment.

    Raise DataError with file and line for anything else, and for a file without a model.
    """
    try:
        lines = path.read_text("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"cannot be read ({getattr(error, 'strerror', None) or error})", path) from None
    found = [(number, text) for number, line in enumerate(lines, 1)
             if (text := line.strip()) and not text.startswith("#")]
    if not found:
        raise DataError("names no model; expected one name, or one JSON object, a line", path)
    for number, text in found:
        if text.startswith("["):
            raise DataError("is a list; expected a name or a JSON object a line", path, number)
        yield number, _flags(text, path, number) if text.startswith("{") else [f"--model={text}"]


def _flags(text: str, path: Path, number: int) -> list[str]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"is no JSON object ({error})", path, number) from None
    if not isinstance(value.get("model"), str) or not value["model"]:
        raise DataError('has no "model"', path, number)
    unknown = sorted(value.keys() - set(KEYS))
    if unknown:
        raise DataError(f"unknown key {unknown[0]!r}; expected {', '.join(KEYS)}", path, number)
    return [f"--{key.replace('_', '-')}={_text(item)}" for key, given in value.items() if given is not None
            for item in (given if isinstance(given, list) else [given])]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
