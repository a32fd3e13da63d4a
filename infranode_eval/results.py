"""The results file: its rows and numbers, its name, reading and atomic writing (specification: design, formats)."""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from infranode_eval.beside import Hashed, transcripts_path
from infranode_eval.journal import Entry
from infranode_eval.providers.protocol import Answer
from infranode_eval.shelf import ShelvedRows, ShelvedTexts
from infranode_eval.suites import MAIN
from lm_eval_task.errors import DataError, UsageError
from lm_eval_task.records import FAILURES, Score, Task

FORMAT = 1
HARNESS = "run_eval"

Pairs = Sequence[tuple[Task, Score]]
Metrics = Mapping[str, "float | None"]


_ASKED_FOR = ("seed", "shuffle_tools", "arm", "arm_seed", "tool_choice", "parallel_tool_calls",
              "extra_body", "zone", "max_result_chars", "world", "condition",
              "pool", "sandbox", "workflow", "limits", "embedding")     # identity where sent


@dataclass(frozen=True, slots=True)
class Description:
    """What a run is: everything in the file that stands above its numbers.

    hashes: sha256 of "tasks", "tools", "prompt". settings: sampling, limits and endpoint, as stored.
    """

    suite: str
    set: str
    model: str
    backend: str
    mode: str
    setup: str | None
    hashes: Mapping[str, str]
    settings: Mapping[str, Any]

    def identity(self) -> dict[str, Any]:
        """What must be equal for two runs to share answers (specification: the direct runner, --resume)."""
        sampling = {k: self.settings.get(k) for k in ("temperature", "max_tokens")}
        sampling |= {k: self.settings[k] for k in _ASKED_FOR if self.settings.get(k) is not None}
        return {"suite": self.suite, "set": self.set, "model": self.model, "backend": self.backend, "mode": self.mode,
                **{f"hash of {k}": v for k, v in self.hashes.items()}, **sampling}

    @classmethod
    def of_result(cls, result: Mapping[str, Any]) -> Description:
        """Raise KeyError for a file that is no result."""
        return cls(result["suite"], result["set"], result["model"], result["backend"], result["mode"],
                   result["setup"], result["hashes"], result["settings"])


def results_path(model: str, suite: str = MAIN, which: str = "core", mode: str = "prompt", tag: str | None = None,
                 own: str | None = None, arm: str | None = None, usual: str = "core",
                 condition: str | None = None, unmarked: str = "prompt") -> Path:
    """results/<model>[.<set>][.native][.<tag>].json; another suite than the main one has a folder of its own.

    own: the name of the user's tasks, which stands in the place of the set. arm: runs under one lie together, as
    results/arms/<model>[.<set>][.native].<arm>[.<tag>].json. usual, unmarked: the set and the mode that are not named.
    condition: an arm of a suite's own, which has no folder.
    """
    tasks = [_file_name(own)] if own else [which] if which != usual else []
    marks = [_file_name(model), *tasks, *([mode] if mode != unmarked else []),
             *([_file_name(arm or condition)] if arm or condition else []),
             *([_file_name(tag)] if tag else [])]
    folder = Path("results") if suite == MAIN else Path("results") / suite
    return (folder / "arms" if arm else folder) / f"{'.'.join(marks)}.json"


def _file_name(text: str) -> str:
    name = re.sub(r"[^A-Za-z0-9._-]", "_", text.replace("/", "__"))
    return f"_{name}" if name.startswith(".") else name


def now_utc() -> str:
    """This second as YYYY-MM-DDThh:mm:ssZ."""
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def package_version() -> str:
    """The version in the checkout's pyproject.toml, else that of the installed package; "unknown" without either."""
    with contextlib.suppress(OSError):
        project = (Path(__file__).resolve().parents[1] / "pyproject.toml").read_text("utf-8")
        if found := re.search(r'^name = "infranode-tool-eval"\nversion = "([^"\n]+)"$', project, re.MULTILINE):
            return found[1]
    from importlib.metadata import PackageNotFoundError, version  # late: slow, and rarely needed

    with contextlib.suppress(PackageNotFoundError):
        return version("infranode-tool-eval")
    return "unknown"


def result_bytes(result: Mapping[str, Any]) -> bytes:
    """The file's content: one line a key, one line a row. Lone surrogates become escapes, infinities text."""
    return b"".join(_pieces(result))


def _pieces(result: Mapping[str, Any]) -> Iterator[bytes]:
    """The content bit by bit: a long run's rows are never all in memory."""
    head = [f' {json_text(key)}: {json_text(value)}' for key, value in result.items() if key not in ("rows", "bodies")]
    yield ("{\n" + ",\n".join([*head, ""])).encode("utf-8", "backslashreplace")
    if "bodies" in result:
        yield from _body_pieces(result["bodies"])
    yield b' "rows": [\n'
    rows = result["rows"]
    for number, line in enumerate(rows.lines() if isinstance(rows, ShelvedRows) else map(line_of, rows)):
        yield (b",\n  " if number else b"  ") + line
    yield b"\n ]\n}\n"


def _body_pieces(bodies: Mapping[str, str]) -> Iterator[bytes]:
    """One body a line, sorted by its sha256."""
    yield b' "bodies": {\n'
    for number, key in enumerate(sorted(bodies)):
        line = bodies.line(key) if isinstance(bodies, ShelvedTexts) else json_text(bodies[key]).encode()
        yield (b",\n  " if number else b"  ") + f'"{key}": '.encode() + line
    yield b"\n },\n"


def line_of(row: Mapping[str, Any]) -> bytes:
    """One row as it stands in a file; a lone surrogate becomes its escape."""
    return json_text(row).encode("utf-8", "backslashreplace")


def json_text(value: Any) -> str:
    """JSON on one line; what JSON has no word for becomes text."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except ValueError:
        return json.dumps(storable(value), ensure_ascii=False)


def storable(value: Any) -> Any:
    """JSON has no word for NaN and infinity; a model's 1e999 is kept as text."""
    if isinstance(value, Mapping):
        return {k: storable(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [storable(v) for v in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def write_result(path: Path, result: Mapping[str, Any], advice: str = "choose another --out") -> None:
    """Replace the file in one step; a reader sees the old one or the new one.

    Raise UsageError, which ends in the advice, if that is refused.
    """
    if isinstance(result.get("transcripts"), ShelvedRows):
        lines = Hashed(result["transcripts"].lines())
        beside = transcripts_path(path)
        _replace(beside, lines, advice)
        result = {**result, "transcripts": {"file": beside.name, "sha256": lines.sha256, "n": lines.count}}
    _replace(path, _pieces(result), advice)


def _replace(path: Path, pieces: Iterable[bytes], advice: str) -> None:
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with part.open("wb") as file:
            file.writelines(pieces)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            part.unlink()
        raise UsageError(f"{path} cannot be written ({error.strerror or error}); {advice}") from None


def check_writable(path: Path) -> None:
    """Raise UsageError now if `write_result` would fail at the end of a long run."""
    if path.is_dir():
        raise UsageError(f"{path} is a folder; --out names a file")
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.touch()
        part.unlink()
    except OSError as error:
        raise UsageError(f"{path} cannot be written ({error.strerror or error}); choose another --out") from None


def read_result(path: Path) -> dict[str, Any]:
    """Raise DataError if the file is no results file of this format."""
    try:
        result = json.loads(path.read_bytes())
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror or error})", path) from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"is no results file ({error}); choose another name, or delete it", path) from None
    try:
        if result["format"] != FORMAT or not isinstance(result["rows"], list):
            raise KeyError
        Description.of_result(result)
    except (KeyError, TypeError):
        raise DataError(f'is no results file of format {FORMAT}; choose another name, or delete it', path) from None
    return result


def entries_of(result: Mapping[str, Any],
               told: Callable[[Mapping[str, Any]], tuple[Sequence[Answer], Mapping[str, Any]]] | None = None,
               ) -> list[Entry]:
    """The answers of the scored rows, as a journal would hold them; rows that do not know their requests give none.

    told: the answers of a row that stands for several requests, in order, and what it read elsewhere by name; None
    where a row is one request.
    """
    entries: list[Entry] = []
    for row in result["rows"]:
        keys = row.get("keys", ())
        if row["outcome"] in FAILURES or not keys:
            continue
        if told is not None:
            answers, notes = told(row)
            entries += [Entry(row["task_id"], row["repeat"], name, None, 0, None, note)
                        for name, note in notes.items()]
            entries += [Entry(row["task_id"], row["repeat"], key, answer, row["attempts"] if seq == 0 else 0, seq)
                        for seq, (key, answer) in enumerate(zip(keys, answers, strict=True))]
        elif len(keys) == 1:
            entries.append(Entry(row["task_id"], row["repeat"], keys[0], _answer_of(row), row["attempts"]))
    return entries


def _answer_of(row: Mapping[str, Any]) -> Answer:
    """Rows of older files hold the counts as received under `usage`."""
    return Answer(row["reply"], row["finish_reason"], row.get("usage_raw", row["usage"]), row["latency_s"],
                  row["served_model"], row.get("finish_reason_raw"), tuple(row.get("deviations", ())),
                  row.get("served_by"))
