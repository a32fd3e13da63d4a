"""The rows of a run while it lasts: as lines of a nameless file once they are many, so that they fill no memory."""

from __future__ import annotations

import json
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from lm_eval_task.errors import IncompleteError
from lm_eval_task.records import Score, Task

IN_MEMORY = 8 << 20     # bytes


class Kept(NamedTuple):
    """What stays of a row in memory. place: where its line begins; score: without its calls and reasons.

    transcript: where that of the play begins, if it goes into a file of its own.
    """

    place: int
    task: Task
    score: Score
    transcript: int | None = None


class Shelf:
    """Takes lines in the order in which tasks end; safe to call from many threads.

    folder: where the file goes once it is one; a system without room for it raises IncompleteError.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._file = tempfile.SpooledTemporaryFile(max_size=IN_MEMORY, dir=folder)   # noqa: SIM115
        self._lock = threading.Lock()
        self._end = 0

    def __del__(self) -> None:
        self._file.close()   # with the last rows that read from it

    def put(self, line: bytes) -> int:
        """Store one line without its end; return its place."""
        with self._lock:
            place = self._end
            try:
                self._file.seek(place)
                self._file.write(line + b"\n")
            except OSError as error:
                raise IncompleteError(f"no room for the rows of the run ({error.strerror or error}); the answers so "
                                      "far are in the journal, --resume continues") from None
            self._end += len(line) + 1
        return place

    def line(self, place: int) -> bytes:
        with self._lock:
            self._file.seek(place)
            return self._file.readline()[:-1]


class ShelvedRows(Sequence[Mapping[str, Any]]):
    """The rows of a result, read from the shelf whenever somebody looks at one."""

    def __init__(self, shelf: Shelf, places: Sequence[int]) -> None:
        self._shelf, self._places = shelf, places

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return ShelvedRows(self._shelf, self._places[index])
        return json.loads(self._shelf.line(self._places[index]))

    def lines(self) -> Iterator[bytes]:
        """Each row as it is stored."""
        return map(self._shelf.line, self._places)


class ShelvedTexts(Mapping[str, str]):
    """Texts by name, read from the shelf whenever somebody looks at one."""

    def __init__(self, shelf: Shelf, places: Mapping[str, int]) -> None:
        self._shelf, self._places = shelf, places

    def __len__(self) -> int:
        return len(self._places)

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __getitem__(self, name: str) -> str:
        return json.loads(self.line(name))

    def line(self, name: str) -> bytes:
        """The text as JSON, as it is stored."""
        return self._shelf.line(self._places[name])
