"""HTTPS: a certificate is checked before anything is sent, and deadlines hold inside TLS."""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from infranode_eval.providers.connections import Connections
from lm_eval_task.errors import InfraError

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


class TlsEndpoint:
    """Answers each request with OK, or accepts and never greets (silent)."""

    def __init__(self, certificate: Path, key: Path, silent: bool = False) -> None:
        self.received = b""
        self.connections = 0
        self._silent = silent
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(certificate, key)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            sock, _ = self._listener.accept()
            self.connections += 1
            self._open.append(sock)
            if not self._silent:
                threading.Thread(target=self._answer, args=(sock,), daemon=True).start()

    def _answer(self, sock: socket.socket) -> None:
        try:
            with self._context.wrap_socket(sock, server_side=True) as tls:
                while data := tls.recv(65536):
                    self.received += data
                    if data.endswith(b"ende"):
                        tls.sendall(OK)
        except OSError:
            return


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Path]]:
    """A certificate for 127.0.0.1 that nobody trusts by default."""
    if shutil.which("openssl") is None:
        pytest.skip("needs the openssl command to make a certificate")
    folder = tmp_path_factory.mktemp("tls")
    files = folder / "cert.pem", folder / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=stub",
                    "-addext", "subjectAltName=IP:127.0.0.1", "-out", files[0], "-keyout", files[1]],
                   check=True, capture_output=True)
    yield files


def test_a_trusted_endpoint_is_asked_over_one_connection(certificate: tuple[Path, Path],
                                                         monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    endpoint = TlsEndpoint(*certificate)
    connections = Connections("https", "127.0.0.1", endpoint.port, 5)
    for _ in range(3):
        assert connections.post("/x", b"ende", {}).body == b"{}"
    assert endpoint.connections == 1
    assert f"Host: 127.0.0.1:{endpoint.port}".encode() in endpoint.received


def test_nothing_is_sent_to_an_endpoint_without_a_valid_certificate(certificate: tuple[Path, Path]) -> None:
    endpoint = TlsEndpoint(*certificate)
    with pytest.raises(InfraError, match="certificate verify failed") as caught:
        Connections("https", "127.0.0.1", endpoint.port, 5).post("/x", b"geheim ende", {})
    assert caught.value.sub == "unreachable"
    assert endpoint.received == b""


def test_a_handshake_that_never_comes_ends_at_the_deadline(certificate: tuple[Path, Path]) -> None:
    endpoint = TlsEndpoint(*certificate, silent=True)
    started = time.monotonic()
    with pytest.raises(InfraError) as caught:
        Connections("https", "127.0.0.1", endpoint.port, 0.3).post("/x", b"ende", {})
    assert caught.value.sub == "timeout" and time.monotonic() - started < 2


def test_closing_aborts_what_is_in_flight(certificate: tuple[Path, Path]) -> None:
    endpoint = TlsEndpoint(*certificate, silent=True)
    connections = Connections("https", "127.0.0.1", endpoint.port, 30)
    threading.Timer(0.2, connections.close).start()
    started = time.monotonic()
    with pytest.raises(InfraError) as caught:
        connections.post("/x", b"ende", {})
    assert caught.value.sub == "connection" and time.monotonic() - started < 5
