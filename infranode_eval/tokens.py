"""How many tokens a text has: by a tokenizer's own count, or by an estimate that says it is one."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lm_eval_task.errors import DataError, UsageError

CHARACTERS_PER_TOKEN = 3.3      # German text mixed with JSON; real tokenizers lie between about 2.5 and 4


@dataclass(frozen=True, slots=True)
class TokenCounter:
    """`count` texts; `source` says in words where the number comes from."""

    count: Callable[[str], int]
    source: str
    estimated: bool


def estimate(text: str) -> int:
    return math.ceil(len(text) / CHARACTERS_PER_TOKEN)


ESTIMATE = TokenCounter(estimate, f"an estimate, characters / {CHARACTERS_PER_TOKEN}; --tokenizer counts", True)


def load_counter(path: str | Path) -> TokenCounter:
    """The counter of a tokenizer.json, of a folder in Hugging Face's form, or of a GGUF file.

    Special tokens that a model adds are not counted. Raise DataError if there is no such tokenizer, UsageError if the
    package that reads it is missing.
    """
    path = Path(path)
    if not path.exists():
        raise DataError("does not exist; expected a tokenizer.json, a folder that holds one, or a .gguf file", path)
    file = path / "tokenizer.json" if path.is_dir() else path
    try:
        count = _of_file(file) if file.is_file() and file.suffix == ".json" else _of_model(path)
    except ModuleNotFoundError as error:
        raise UsageError(f"--tokenizer {path} needs the package {error.name}: pip install {error.name}") from None
    return TokenCounter(count, f"counted with {path.name}", False)


def _of_file(file: Path) -> Callable[[str], int]:
    import tokenizers  # late: most people measure without one

    try:
        tokenizer = tokenizers.Tokenizer.from_file(str(file))
    except Exception as error:  # the library raises bare Exception for a broken file
        raise DataError(f"is no tokenizer that the package tokenizers can read ({error})", file) from None
    return lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)


def _of_model(path: Path) -> Callable[[str], int]:
    import transformers  # late: seconds to import, and most people measure without it

    gguf: dict[str, Any] = {} if path.is_dir() else {"gguf_file": path.name}
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(path if path.is_dir() else path.parent,
                                                               local_files_only=True, **gguf)
    except ImportError as error:
        raise UsageError(f"--tokenizer {path}: {_first_line(error)}") from None
    except (OSError, ValueError, KeyError) as error:
        raise DataError(f"holds no tokenizer that transformers can read ({_first_line(error)})", path) from None
    return lambda text: len(tokenizer.encode(text, add_special_tokens=False))


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).split("\n")[0]
