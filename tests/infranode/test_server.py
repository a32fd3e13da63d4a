"""The snapshot as a real server on loopback."""

from __future__ import annotations

import http.client
import json
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from infranode_eval.infranode.server import HOST, LoopbackServer
from infranode_eval.infranode.snapshot import Snapshot, main
from lm_eval_task.errors import UsageError

ROOT = Path(__file__).resolve().parents[2]
WEATHER = "/api/v1/cities/koeln/weather"


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    with LoopbackServer(Snapshot()) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def connect(server: LoopbackServer) -> http.client.HTTPConnection:
    return http.client.HTTPConnection(HOST, server.server_address[1], timeout=5)


def ask(connection: http.client.HTTPConnection, method: str, path: str, body: bytes | None = None,
        headers: dict | None = None) -> tuple[int, bytes]:
    connection.request(method, path, body, headers or {})
    response = connection.getresponse()
    return response.status, response.read()


def test_it_answers_what_the_process_answers(server):
    status, body = ask(connect(server), "GET", WEATHER)
    assert status == 200
    assert body == Snapshot().respond("GET", WEATHER).body


def test_one_connection_serves_many_requests_whatever_they_carry(server):
    connection = connect(server)
    assert ask(connection, "GET", WEATHER)[0] == 200
    opened = connection.sock
    etag = Snapshot().respond("GET", WEATHER).headers["etag"]
    assert ask(connection, "GET", WEATHER, headers={"If-None-Match": etag}) == (304, b"")
    assert ask(connection, "POST", WEATHER, b'{"a": 1}')[0] == 405
    assert ask(connection, "HEAD", WEATHER) == (405, b"")
    assert ask(connection, "GET", "/cities")[0] == 404
    assert ask(connection, "GET", WEATHER)[0] == 200
    assert connection.sock is opened


def test_clients_are_served_side_by_side(server):
    targets = [f"/api/v1/cities/{slug}/base" for slug in ("bonn", "koeln", "ulm", "trier")] * 10
    with ThreadPoolExecutor(8) as pool:
        bodies = list(pool.map(lambda target: ask(connect(server), "GET", target)[1], targets))
    assert [json.loads(body)["data"]["city_slug"] for body in bodies] == ["bonn", "koeln", "ulm", "trier"] * 10


def test_it_listens_on_loopback_only(server):
    assert server.server_address[0] == "127.0.0.1"


def test_a_busy_port_is_one_line_and_exit_2(server, capsys):
    port = server.server_address[1]
    assert main(["--port", str(port)], announce=lambda text: pytest.fail("must not serve")) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert f"port {port}" in error
    assert "--port" in error


@pytest.mark.parametrize("port", [70_000, -1])
def test_a_port_that_does_not_exist_is_a_usage_error(port):
    with pytest.raises(UsageError, match=f"port {port}"):
        LoopbackServer(Snapshot(), port)


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_the_command_prints_its_url_serves_and_ends_cleanly(stop):
    command = [sys.executable, "-m", "infranode_eval.infranode.snapshot", "--port", "0", "--state", "august-2026"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT)
    try:
        url = process.stdout.readline().strip()
        found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/api/v1", url)
        assert found, url
        connection = http.client.HTTPConnection(HOST, int(found[1]), timeout=5)
        assert ask(connection, "GET", "/api/v1/cities/M%C3%BCnchen")[0] == 200
        process.send_signal(stop)
        _, errors = process.communicate(timeout=10)
        assert (process.returncode, errors) == (0, "")
    finally:
        process.kill()


def test_a_client_that_goes_away_leaves_no_traceback(server, capfd):
    raw = socket.create_connection((HOST, server.server_address[1]))
    raw.sendall(b"GET /api/v1/cities HTTP/1.1\r\nHost: x\r\n")
    raw.close()
    assert ask(connect(server), "GET", WEATHER)[0] == 200
    assert "Traceback" not in capfd.readouterr().err
