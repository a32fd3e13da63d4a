"""Recordings of the API: every response as one JSON line, and a transport that answers from them.

First line: ``{"recording": 1, "level": "live", "base_url": "https://…"}``, which says what was recorded ("live" is the
public API, "server" an API elsewhere, "snapshot" our own model). Every other line:
``{"request", "status", "headers", "date", "body"}`` with path and query behind the base URL, a few headers, the ISO
day, and the decoded JSON body (a string for anything else). Keys are sorted; no request header is ever written.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import urlsplit

from infranode_eval.infranode.client import RECORDED_DATE, utc_day
from infranode_eval.infranode.transport import load_httpx
from lm_eval_task.errors import DataError, UsageError
from lm_eval_task.records import canonical_json, read_json_lines

if TYPE_CHECKING:
    import httpx

FORMAT = 1
LEVELS = ("live", "server", "snapshot")
_KEPT_HEADERS = ("content-type", "retry-after", "ratelimit-limit", "ratelimit-remaining", "cache-control")


@dataclass(frozen=True, slots=True)
class Recorded:
    """One response. `body`: decoded JSON, or the text of anything else."""

    request: str
    status: int
    headers: Mapping[str, str]
    date: str
    body: Any


@dataclass(frozen=True, slots=True)
class Recording:
    """What a file holds: where it was recorded, and the last response to each request."""

    path: Path
    level: str
    base_url: str
    responses: Mapping[str, Recorded]

    def response_to(self, request: str) -> Recorded:
        """Raise DataError that names a request which was not recorded."""
        found = self.responses.get(request)
        if found is None:
            raise DataError(f"holds no response to GET {request}; record it with --record, or use --source", self.path)
        return found

    def transport(self) -> httpx.BaseTransport:
        """An httpx transport that answers from the recording; DataError for a request that is not in it."""
        httpx = load_httpx()
        prefix = urlsplit(self.base_url).path.rstrip("/")
        recording = self

        class Replay(httpx.BaseTransport):
            def handle_request(self, request: httpx.Request) -> httpx.Response:
                found = recording.response_to(_behind(prefix, request))
                text = found.body if isinstance(found.body, str) else canonical_json(found.body)
                return httpx.Response(found.status, headers={**found.headers, RECORDED_DATE: found.date},
                                      content=text.encode("utf-8"), request=request)

        return Replay()


def read_recording(path: str | Path) -> Recording:
    """Read a recording. Raise DataError with file and line for anything that breaks the format."""
    path = Path(path)
    head: dict[str, Any] | None = None
    responses: dict[str, Recorded] = {}
    for number, row in read_json_lines(path):
        if head is None:
            head = _head(row, path, number)
            continue
        try:
            found = Recorded(row["request"], row["status"], row["headers"], row["date"], row["body"])
        except (KeyError, TypeError):
            raise DataError('expected {"request", "status", "headers", "date", "body"}', path, number) from None
        responses[found.request] = found
    if head is None:
        raise DataError("is empty; make a recording with generate.py --record FILE", path)
    return Recording(path, head["level"], head["base_url"], responses)


def _head(row: Any, path: Path, number: int) -> dict[str, Any]:
    if not isinstance(row, dict) or row.get("recording") != FORMAT or row.get("level") not in LEVELS \
            or not isinstance(row.get("base_url"), str):
        raise DataError(f'expected {{"recording": {FORMAT}, "level": {"|".join(LEVELS)}, "base_url": URL}}',
                        path, number)
    return row


class Recorder:
    """Appends responses to a file, each flushed before it is handed on.

    An existing file is continued if it was recorded at the same place; a line that an interruption cut is removed.
    Raises DataError if the file is no recording, UsageError if it comes from elsewhere or cannot be written.
    """

    def __init__(self, path: str | Path, level: str, base_url: str, today: Callable[[], str] = utc_day) -> None:
        self._path, self._today = Path(path), today
        self._prefix = urlsplit(base_url).path.rstrip("/")
        head = {"recording": FORMAT, "level": level, "base_url": _without_user(base_url).rstrip("/")}
        try:
            _remove_cut_line(self._path)
            fresh = not self._path.exists() or self._path.stat().st_size == 0
            if not fresh:
                self._check_same_place(head)
            self._file: IO[str] = self._path.open("a", encoding="utf-8", newline="\n")
        except OSError as error:
            raise UsageError(f"recording {self._path} cannot be written ({error.strerror}); "
                             "choose another file") from None
        if fresh:
            self._write(head)

    def close(self) -> None:
        self._file.close()

    def around(self, inner: httpx.BaseTransport | None = None) -> httpx.BaseTransport:
        """An httpx transport that asks `inner` (the network without one) and records what it answers."""
        httpx = load_httpx()
        inner = httpx.HTTPTransport() if inner is None else inner
        recorder = self

        class Recording(httpx.BaseTransport):
            def handle_request(self, request: httpx.Request) -> httpx.Response:
                response = inner.handle_request(request)
                response.read()
                recorder.add(_behind(recorder._prefix, request), response)
                return response

            def close(self) -> None:
                inner.close()

        return Recording()

    def add(self, request: str, response: httpx.Response) -> None:
        """Write one response, whatever its status."""
        try:
            body = json.loads(response.content)
        except (ValueError, RecursionError):
            body = response.text
        headers = {name: response.headers[name] for name in _KEPT_HEADERS if name in response.headers}
        date = response.headers.get(RECORDED_DATE) or self._today()
        self._write({"request": request, "status": response.status_code, "headers": headers, "date": date,
                     "body": body})

    def _write(self, row: Mapping[str, Any]) -> None:
        self._file.write(canonical_json(row) + "\n")
        self._file.flush()

    def _check_same_place(self, head: Mapping[str, Any]) -> None:
        number, row = next(iter(read_json_lines(self._path)), (1, None))
        if _head(row, self._path, number) != head:
            raise UsageError(f"recording {self._path} was made at {row['base_url']} ({row['level']}), "
                             f"not at {head['base_url']} ({head['level']}); choose another file")


def _behind(prefix: str, request: httpx.Request) -> str:
    """Path and query behind the base URL's path."""
    target = request.url.raw_path.decode("ascii")
    return target[len(prefix):] if target.startswith(prefix) else target


def _without_user(url: str) -> str:
    """The URL without user name and password, should someone put them there."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def _remove_cut_line(path: Path) -> None:
    if not path.exists():
        return
    with path.open("r+b") as file:
        content = file.read()
        if content and not content.endswith(b"\n"):
            file.truncate(content.rfind(b"\n") + 1)
