"""The client: pacing, throttling, retries, deadlines, and errors that name the request."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from infranode_eval.infranode.client import Client
from infranode_eval.infranode.snapshot import Snapshot
from infranode_eval.infranode.throttle import Throttle
from lm_eval_task.errors import AuthError, InfraError, RateLimitedError, RefusedRequestError, UsageError

ROOT = Path(__file__).resolve().parents[2]
GOOD = {"data": {"payload": {"temperature_c": 20}}, "meta": {"source_status": "ok"}}


class Time:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.sleeps: list[float] = []

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        self.now += seconds


def client_of(responses: list[httpx.Response] | Callable[[httpx.Request], httpx.Response], when: Time | None = None,
              **settings: object) -> Client:
    queue = list(responses) if isinstance(responses, list) else None
    handler = responses if queue is None else (lambda request: queue.pop(0))
    when = when or Time()
    return Client(transport=httpx.MockTransport(handler), clock=when.clock, sleep=when.sleep,
                  today=lambda: "2026-07-06", **settings)


def error_body(code: str, message: str = "…") -> dict[str, object]:
    return {"error": {"code": code, "message": message, "hint": None}, "meta": {"correlation_id": "x"}}


def test_an_answer_carries_request_body_status_and_day() -> None:
    answer = client_of([httpx.Response(200, json=GOOD)]).get("/cities/koeln/weather")
    assert (answer.request, answer.status, answer.date) == ("/cities/koeln/weather", 200, "2026-07-06")
    assert answer.source_status == "ok"
    assert answer.data == GOOD["data"]


def test_requests_go_below_the_base_url_with_a_user_agent_that_names_project_and_contact() -> None:
    seen: list[httpx.Request] = []

    def handler(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, json=GOOD)

    client_of(handler, base_url="https://example.org/v9/", contact="mail@example.org").get("/compare?cities=bonn,ulm")
    assert str(seen[0].url) == "https://example.org/v9/compare?cities=bonn,ulm"
    assert "infranode-tool-eval" in seen[0].headers["user-agent"]
    assert "mail@example.org" in seen[0].headers["user-agent"]


def test_a_document_lies_at_the_site_root_and_is_no_envelope() -> None:
    asked = []

    def handler(request: httpx.Request) -> httpx.Response:
        asked.append(str(request.url))
        return httpx.Response(200, json={"paths": {}})

    client = client_of(handler, base_url="https://infranode.test:8443/api/v1")
    assert client.document("/openapi.json") == {"paths": {}}
    assert asked == ["https://infranode.test:8443/openapi.json"]


@pytest.mark.parametrize(("response", "error"), [
    (httpx.Response(404, json=error_body("not_found")), RefusedRequestError), (httpx.Response(503), InfraError)])
def test_a_document_that_is_not_there_is_an_error_as_any_other(response: httpx.Response,
                                                               error: type[Exception]) -> None:
    with pytest.raises(error, match="/openapi.json"):
        client_of([response], retries=0).document("/openapi.json")


def test_a_document_that_is_no_json_is_none() -> None:
    assert client_of([httpx.Response(200, text="<html>")]).document("/openapi.json") is None


@pytest.mark.parametrize(("rps", "expected"), [
    (1.0, [1.0, 1.0]),      # the default: one request a second
    (4.0, [0.25, 0.25]),    # a faster rate waits less
    (None, []),             # offline sources are not paced
])
def test_requests_are_paced(rps: float | None, expected: list[float]) -> None:
    when = Time()
    client = client_of(lambda request: httpx.Response(200, json=GOOD), when, rps=rps)
    for _ in range(3):
        client.get("/sources")
    assert when.sleeps == expected


def test_time_that_passed_between_requests_counts_for_the_pace() -> None:
    when = Time()
    client = client_of(lambda request: httpx.Response(200, json=GOOD), when)
    client.get("/sources")
    when.now += 0.6
    client.get("/sources")
    assert when.sleeps == [pytest.approx(0.4)]


@pytest.mark.parametrize(("headers", "wait"), [
    ({"retry-after": "50"}, 50.0),                               # what the API sends
    ({}, 60.0),                                                  # nothing said: the shortest window of the API
    ({"retry-after": "Wed, 01 Jul 2026 10:00:00 GMT"}, 60.0),    # a date is not read, the window is waited for
    ({"retry-after": "99999"}, 600.0),                           # nobody waits a day
])
def test_throttling_waits_as_asked_and_asks_again(headers: dict[str, str], wait: float) -> None:
    when = Time()
    throttled = httpx.Response(429, json=error_body("rate_limited"), headers=headers)
    answer = client_of([throttled, httpx.Response(200, json=GOOD)], when, rps=None).get("/sources")
    assert answer.status == 200
    assert when.sleeps == [wait]


def test_retry_after_on_an_answer_with_data_is_no_throttling() -> None:
    when = Time()
    answer = client_of([httpx.Response(200, json=GOOD, headers={"retry-after": "60"})], when).get("/sources")
    assert answer.source_status == "ok"
    assert when.sleeps == []


def test_throttling_that_lasts_is_reported_with_the_request() -> None:
    client = client_of(lambda request: httpx.Response(429, headers={"retry-after": "7"}), rps=None, retries=2)
    with pytest.raises(RateLimitedError, match="GET /sources: 429") as caught:
        client.get("/sources")
    assert caught.value.retry_after == 7


def test_a_dead_source_is_asked_again_with_growing_pauses_and_then_reported() -> None:
    when = Time()
    client = client_of(lambda request: httpx.Response(503, json=error_body("upstream_unavailable")), when, rps=None)
    with pytest.raises(InfraError, match="GET /cities/bonn/air: 503 upstream_unavailable") as caught:
        client.get("/cities/bonn/air")
    assert caught.value.status == 503
    assert when.sleeps == [2.0, 4.0, 8.0]


def test_a_source_that_comes_back_answers() -> None:
    client = client_of([httpx.Response(503), httpx.Response(200, json=GOOD)], rps=None)
    assert client.get("/cities/bonn/air").source_status == "ok"


@pytest.mark.parametrize(("status", "code", "error"), [
    (404, "not_found", RefusedRequestError),            # unknown city
    (400, "invalid_request", RefusedRequestError),      # missing or unknown parameter
    (422, "unprocessable", RefusedRequestError),        # POI type or EVA that does not exist
    (403, "bot_blocked", AuthError),                    # nothing a retry could change
])
def test_a_refused_request_is_not_repeated_and_names_itself(status: int, code: str, error: type[Exception]) -> None:
    when = Time()
    client = client_of([httpx.Response(status, json=error_body(code, "Unbekannte Stadt 'xyz'."))], when)
    with pytest.raises(error, match=rf"GET /cities/xyz/air: {status} {code} Unbekannte Stadt") as caught:
        client.get("/cities/xyz/air")
    assert caught.value.status == status
    assert when.sleeps == []


@pytest.mark.parametrize("content", [
    b"<html>maintenance</html>",      # a proxy's page with status 200
    b"[1, 2]",                        # JSON, but no envelope
    b'{"meta": {}}',                  # an envelope without data
])
def test_a_body_that_is_no_envelope_is_a_fault(content: bytes) -> None:
    with pytest.raises(InfraError, match="GET /sources: the answer is no"):
        client_of(lambda request: httpx.Response(200, content=content), rps=None, retries=0).get("/sources")


def test_a_connection_fault_is_repeated_and_then_reported() -> None:
    calls: list[int] = []

    def handler(request: httpx.Request) -> httpx.Response:
        calls.append(1)
        raise httpx.ConnectError("refused", request=request)

    with pytest.raises(InfraError, match="GET /sources: ConnectError") as caught:
        client_of(handler, rps=None, retries=2).get("/sources")
    assert len(calls) == 3
    assert caught.value.status is None


def test_an_error_of_the_transport_itself_is_handed_on() -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        raise UsageError("not recorded")

    with pytest.raises(UsageError, match="not recorded"):
        client_of(handler).get("/sources")


@pytest.mark.parametrize(("settings", "message"), [
    ({"base_url": "ftp://example.org"}, "must start with"),
    ({"base_url": "infranode.dev/api/v1"}, "must start with"),
    ({"rps": 0.0}, "greater than 0"),
    ({"rps": float("nan")}, "greater than 0"),
])
def test_settings_that_cannot_be_meant_are_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        client_of([], **settings)


class Drip:
    """A loopback server that sends one piece every 50 ms, for ever; each read succeeds, the whole never ends."""

    def __init__(self, first: bytes, then: bytes) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._stop = threading.Event()
        threading.Thread(target=self._serve, args=(first, then), daemon=True).start()

    def _serve(self, first: bytes, then: bytes) -> None:
        connection, _ = self._listener.accept()
        with connection:
            connection.recv(4096)
            try:
                connection.sendall(first)
                while not self._stop.wait(0.05):
                    connection.sendall(then)
            except OSError:
                return

    def close(self) -> None:
        self._stop.set()
        self._listener.close()


@pytest.mark.parametrize(("first", "then"), [
    (b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n", b" "),    # the body drips
    (b"HTTP/1.1 200 OK\r\n", b"x-more: 1\r\n"),                      # the header drips
    (b"", b""),                                                      # nothing comes at all
])
def test_the_deadline_holds_against_a_dripping_answer(first: bytes, then: bytes) -> None:
    server = Drip(first, then)
    started = time.monotonic()
    try:
        client = Client(server.url, rps=None, deadline_s=0.4, retries=0)
        with pytest.raises(InfraError, match=r"GET /sources: (no complete answer within 0.4 s|ReadTimeout)"):
            client.get("/sources")
        assert time.monotonic() - started < 3
        while any(thread.name == "infranode-request" for thread in threading.enumerate()):
            assert time.monotonic() - started < 5, "the hanging connection is still being read"
            time.sleep(0.02)
    finally:
        server.close()


def test_after_a_missed_deadline_the_client_still_works() -> None:
    answers = iter([0.5, 0.0])

    def handler(request: httpx.Request) -> httpx.Response:
        time.sleep(next(answers))
        return httpx.Response(200, content=json.dumps(GOOD).encode())

    assert client_of(handler, rps=None, deadline_s=0.2).get("/sources").status == 200


def test_the_limit_of_the_api_is_waited_out() -> None:
    when = Time()
    snapshot = Snapshot(throttle=Throttle(when.clock))
    client = Client(rps=None, transport=snapshot.transport(), clock=when.clock, sleep=when.sleep)
    for _ in range(301):     # the limit is 300 a minute, and no time passes but by waiting
        assert client.get("/cities/ulm/weather").status == 200
    assert when.sleeps == [60.0]


def test_without_httpx_one_line_says_what_to_install() -> None:
    code = ("import sys; sys.modules['httpx'] = None\n"
            "from infranode_eval.infranode.client import Client\nfrom lm_eval_task.errors import UsageError\n"
            "try:\n    Client()\nexcept UsageError as error:\n    print(error)\n")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, cwd=ROOT)
    assert "pip install httpx" in done.stdout
    assert done.stderr == ""
