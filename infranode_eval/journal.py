"""The journal of a run: every answer on disk the moment it arrives, so that a killed run loses none."""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infranode_eval.providers.conversation import Conversation
from infranode_eval.providers.protocol import Answer
from lm_eval_task.errors import DataError, IncompleteError, UsageError
from lm_eval_task.records import canonical_json, fingerprint

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Entry:
    """One answer with what it answers. key: `request_key`; attempts: how often the request was sent.

    seq: its number in a play of several requests, from 0; None where a play is one request. An entry without an answer
    is a note: what a play read elsewhere (a live API) under the name `key`, so that a resumed one reads the same.
    """

    task_id: str
    repeat: int
    key: str
    answer: Answer | None
    attempts: int = 1
    seq: int | None = None
    note: Any = None

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Entry:
        if "note" in row:
            return cls(row["task_id"], row["repeat"], row["key"], None, 0, None, row["note"])
        return cls(row["task_id"], row["repeat"], row["key"], Answer.from_json(row["answer"]), row.get("attempts", 1),
                   row.get("seq"))

    def to_json(self) -> dict[str, Any]:
        value: dict[str, Any] = {"task_id": self.task_id, "repeat": self.repeat}
        if self.answer is None:
            return value | {"key": self.key, "note": self.note}
        value |= {} if self.seq is None else {"seq": self.seq}
        return value | {"key": self.key, "attempts": self.attempts, "answer": self.answer.to_json()}


def request_key(role: str, messages: Any, tools_hash: str | None, sampling: Mapping[str, Any]) -> str:
    """What makes two requests the same: sha256 over role, messages, tools and sampling."""
    if isinstance(messages, Conversation):   # the same text, each message of it made and hashed once
        return messages.hashed(f"[{canonical_json(role)},[", f"],{canonical_json(tools_hash)},"
                                                             f"{canonical_json(sampling)}]")
    return fingerprint([role, list(messages), tools_hash, sampling])


def journal_path(out: Path) -> Path:
    """FILE.json → FILE.journal.jsonl"""
    return out.with_name(out.name.removesuffix(".json") + ".journal.jsonl")


def json_line(value: Any) -> bytes:
    """One line of JSON in UTF-8; a lone surrogate is written as its escape, which reads back as itself."""
    return (json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n").encode("utf-8", "backslashreplace")


def read_journal(path: Path) -> tuple[dict[str, Any], list[Entry]]:
    """The identity of the run and its answers in recorded order; ({}, []) if the run died before the first line.

    A torn last line (no line end) is dropped. Raise DataError with file and line for anything else that is broken.
    """
    rows: list[Any] = []
    try:
        with path.open("rb") as file:   # line by line: a long run's journal is large
            for number, line in enumerate(file, 1):
                if line.endswith(b"\n"):
                    row = json.loads(line)
                    rows.append(Entry.from_json(row) if number > 1 else _header(row))
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror or error})", path) from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise DataError("is no line of a journal; delete the line, or start anew with --force", path, number) from None
    return (rows[0], rows[1:]) if rows else ({}, [])


def _header(row: Any) -> dict[str, Any]:
    if row["journal"] != FORMAT:
        raise ValueError("another format")
    return dict(row["run"])


class Journal:
    """An open journal, locked against a second run; `append` may be called from many threads."""

    def __init__(self, path: Path, fd: int) -> None:
        self.path = path
        self.appended = False   # by this run
        self._fd = fd
        self._lock = threading.Lock()

    @classmethod
    def open(cls, path: Path, identity: Mapping[str, Any], anew: bool = False) -> Journal:
        """Open for appending, after dropping a torn last line. anew: what the file held is given up.

        Raise UsageError if another run holds it, or if it cannot be written.
        """
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            fd = _open_locked(path)
        except OSError as error:
            raise UsageError(f"{path} cannot be written ({error.strerror or error}); choose another --out") from None
        journal = cls(path, fd)
        os.ftruncate(fd, 0 if anew else _whole_lines(path))
        if os.fstat(fd).st_size == 0:
            journal._write(json_line({"journal": FORMAT, "run": dict(identity)}))
        return journal

    def append(self, entry: Entry) -> None:
        """Hand one answer to the operating system in a single write; a killed process cannot lose it any more.

        Raise IncompleteError if it does not take it (a full disk).
        """
        self._write(json_line(entry.to_json()))
        self.appended = True

    def _write(self, line: bytes) -> None:
        view = memoryview(line)
        with self._lock:
            try:
                while view and self._fd >= 0:   # a thread that outlives its run writes nowhere
                    view = view[os.write(self._fd, view):]
            except OSError as error:
                raise IncompleteError(f"{self.path} cannot be written ({error.strerror or error}); the answers so far "
                                      "are in it, --resume continues") from None

    def close(self, remove: bool = False) -> None:
        """Release the lock; a second close does nothing. remove: the answers are safe elsewhere."""
        with self._lock:
            if self._fd < 0:
                return
            if remove:
                with contextlib.suppress(OSError):
                    self.path.unlink()
            os.close(self._fd)
            self._fd = -1


def _whole_lines(path: Path) -> int:
    """Length in bytes up to the last line end."""
    whole = 0
    with path.open("rb") as file:
        for line in file:
            whole += len(line) if line.endswith(b"\n") else 0
    return whole


def _open_locked(path: Path) -> int:
    """A descriptor whose lock is ours. A journal that its run removed meanwhile is opened again, as a new file."""
    while True:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        if not _locked(fd):
            os.close(fd)
            raise UsageError(f"another run writes {path}; wait for it, or choose another --out")
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(fd), os.stat(path)):
                return fd
        os.close(fd)


def _locked(fd: int) -> bool:
    """Take the lock of the operating system, which a killed run leaves behind for nobody. Windows: no lock."""
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def stored_answers(entries: Iterable[Entry]) -> dict[tuple[str, int], list[Entry]]:
    """The entries of each (task_id, repeat), in recorded order; of a play that was started anew, its last start."""
    stored: dict[tuple[str, int], list[Entry]] = {}
    for entry in entries:
        series = stored.setdefault((entry.task_id, entry.repeat), [])
        if entry.seq == 0:
            series[:] = [earlier for earlier in series if earlier.answer is None]
        series.append(entry)
    return stored
