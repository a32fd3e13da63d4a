"""A polite client of the InfraNode REST API: paced, patient with throttling, and bound to a deadline per request."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from infranode_eval.infranode.transport import load_httpx
from lm_eval_task.errors import AuthError, InfraError, ProviderError, RateLimitedError, RefusedRequestError, UsageError

if TYPE_CHECKING:
    import httpx

BASE_URL = "https://infranode.dev/api/v1"
CONTACT = "via the project's issue tracker"
RECORDED_DATE = "x-recorded-date"     # set by a replay: the day on which the answer was really given
_DEFAULT_WAIT_S = 60.0                # the API's shortest window, for a 429 that does not say how long
_LONGEST_WAIT_S = 600.0


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer with status 200. `request`: path and query behind the base URL; `body`: the decoded envelope.

    `date`: ISO day (UTC) on which the answer was given.
    """

    request: str
    status: int
    body: Mapping[str, Any]
    date: str
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def data(self) -> Any:
        return self.body.get("data")

    @property
    def meta(self) -> Mapping[str, Any]:
        meta = self.body.get("meta")
        return meta if isinstance(meta, dict) else {}

    @property
    def source_status(self) -> str | None:
        """None where the API gives none: /cities, /cities/{slug}, /sources, /compare."""
        return self.meta.get("source_status")


def utc_day() -> str:
    """Today in UTC as ISO date."""
    return datetime.now(timezone.utc).date().isoformat()


class Client:
    """Asks one request after the other; use it from one thread.

    rps: requests a second, None = no pacing (offline sources). deadline_s: wall-clock limit of one attempt, headers
    and a slowly dripping body included. retries: further attempts after 429, 5xx and connection faults.
    `transport`, `clock`, `sleep` and `today` are for offline sources and tests.
    Raises UsageError for a bad base URL or rate, or if httpx is not installed.
    """

    def __init__(self, base_url: str = BASE_URL, *, rps: float | None = 1.0, deadline_s: float = 30.0,
                 retries: int = 3, contact: str = CONTACT, transport: httpx.BaseTransport | None = None,
                 clock: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep,
                 today: Callable[[], str] = utc_day) -> None:
        if not base_url.startswith(("http://", "https://")):
            raise UsageError(f"base URL {base_url!r} must start with http:// or https://")
        if rps is not None and not rps > 0:
            raise UsageError(f"rps must be greater than 0, found {rps:g}")
        self.base_url = base_url.rstrip("/")
        self._interval = 0.0 if rps is None else 1.0 / rps
        self._deadline_s, self._retries = deadline_s, retries
        self._user_agent = f"infranode-tool-eval/1.0 (benchmark of German tool calling; contact: {contact})"
        self._transport, self._clock, self._sleep, self._today = transport, clock, sleep, today
        self._next_start: float | None = None
        self._http = self._connect()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def get(self, request: str) -> Answer:
        """Answer of GET base URL + `request` ("/cities/koeln/weather").

        Raises RefusedRequestError for 400, 404, 405, 422 (the call is wrong), AuthError for 401 and 403,
        RateLimitedError for a 429 that outlasts all retries, InfraError for 5xx (status is set), a connection fault,
        a missed deadline or a body that is not the API's envelope. Every message names the request.
        """
        return self._patiently(lambda: self._once(request))

    def document(self, path: str) -> Any:
        """The JSON value at `path` of the site root ("/openapi.json"), None for no JSON; errors as of `get`."""
        root = "{0.scheme}://{0.netloc}".format(urlsplit(self.base_url))
        return self._patiently(lambda: _decoded(self._fetched(path, root)))

    def _patiently(self, attempted: Callable[[], Any]) -> Any:
        for attempt in range(self._retries + 1):
            try:
                return attempted()
            except (RateLimitedError, InfraError) as error:
                if attempt == self._retries:
                    raise
                self._sleep(_wait(error, attempt))
        raise AssertionError("unreachable: the last attempt returns or raises")

    def _fetched(self, request: str, root: str) -> httpx.Response:
        """One attempt. Raises what `get` raises for anything but status 200."""
        self._pace()
        response = self._send(request, root)
        if response.status_code != 200:
            raise _failure(request, response)
        return response

    def _once(self, request: str) -> Answer:
        response = self._fetched(request, self.base_url)
        body = _decoded(response)
        if not isinstance(body, dict) or "data" not in body:
            raise InfraError(f'GET {request}: the answer is no {{"data", "meta"}} envelope', status=200, sub="envelope")
        return Answer(request, 200, body, response.headers.get(RECORDED_DATE) or self._today(), dict(response.headers))

    def _pace(self) -> None:
        now = self._clock()
        if self._next_start is not None and now < self._next_start:
            self._sleep(self._next_start - now)
            now = self._next_start
        self._next_start = now + self._interval

    def _send(self, request: str, root: str) -> httpx.Response:
        """One attempt in a thread of its own: httpx times out single reads, but not a body or header that drips."""
        outcome: list[Any] = []
        http = self._http

        def work() -> None:
            try:
                outcome.append(http.get(root + request))
            except Exception as error:     # carried over to the asking thread, which raises it
                outcome.append(error)

        thread = threading.Thread(target=work, daemon=True, name="infranode-request")
        thread.start()
        thread.join(self._deadline_s)
        if thread.is_alive():
            self._reconnect()
            raise InfraError(f"GET {request}: no complete answer within {self._deadline_s:g} s", sub="deadline")
        found = outcome[0]
        if isinstance(found, load_httpx().HTTPError):
            raise InfraError(f"GET {request}: {type(found).__name__} ({found}); check network and base URL",
                             sub="connection") from None
        if isinstance(found, Exception):
            raise found
        return found

    def _connect(self) -> httpx.Client:
        httpx = load_httpx()
        return httpx.Client(transport=self._transport, timeout=self._deadline_s, follow_redirects=False,
                            headers={"user-agent": self._user_agent, "accept": "application/json"})

    def _reconnect(self) -> None:
        """Leave a hanging connection behind; closing it ends the thread that still reads from it."""
        hanging, self._http = self._http, self._connect()
        if self._transport is None:
            threading.Thread(target=hanging.close, daemon=True, name="infranode-close").start()


def _decoded(response: httpx.Response) -> Any:
    try:
        return json.loads(response.content)
    except (ValueError, RecursionError):
        return None


def _failure(request: str, response: httpx.Response) -> ProviderError:
    """The error for a status other than 200. Throttling is known by status 429 only: Retry-After stands on 200 too."""
    status = response.status_code
    body = _decoded(response)
    problem = body.get("error") if isinstance(body, dict) else None
    problem = problem if isinstance(problem, dict) else {}
    said = " ".join(str(problem[k]) for k in ("code", "message") if problem.get(k)) or "no error body"
    text = f"GET {request}: {status} {said}"
    if status == 429:
        return RateLimitedError(f"{text}; lower --rps or try later", retry_after=_retry_after(response))
    if status in (401, 403):
        return AuthError(f"{text}; the API needs no key, so something in between refuses", status=status)
    if 400 <= status < 500:
        return RefusedRequestError(f"{text}; the call itself is wrong", status=status, sub=problem.get("code"))
    return InfraError(f"{text}; try again later", status=status, sub=problem.get("code"))


def _retry_after(response: httpx.Response) -> float | None:
    """Seconds, None where the header is absent or a date."""
    try:
        return max(0.0, float(response.headers.get("retry-after", "")))
    except ValueError:
        return None


def _wait(error: ProviderError, attempt: int) -> float:
    """Seconds before the next attempt: what a 429 asks for, else 2, 4, 8, …"""
    if isinstance(error, RateLimitedError):
        return min(_DEFAULT_WAIT_S if error.retry_after is None else error.retry_after, _LONGEST_WAIT_S)
    return 2.0 * 2 ** attempt
