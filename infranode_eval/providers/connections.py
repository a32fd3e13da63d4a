"""Keep-alive HTTP connections to one endpoint, one a request in flight, each request under one total deadline."""

from __future__ import annotations

import http.client
import select
import socket
import ssl
import time
from collections.abc import Mapping
from typing import NamedTuple

from infranode_eval.providers.deadline import Watchdog
from infranode_eval.providers.proxies import Proxy
from lm_eval_task.errors import InfraError


class Response(NamedTuple):
    """A whole HTTP response. latency_s: from sending to the last byte, without opening the connection."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes
    latency_s: float


class Connections:
    """POST requests to one host. Standard library only: http.client in threads is what costs least there.

    timeout_s: total seconds for one request: connecting, sending, headers and body (name resolution is the system's).
    proxy: http requests are handed to it whole, https goes through a tunnel that it opens.
    """

    def __init__(self, scheme: str, host: str, port: int, timeout_s: float, proxy: Proxy | None = None) -> None:
        self._address = (host, port)
        self._proxy = proxy
        self._timeout_s = timeout_s
        self._context = ssl.create_default_context() if scheme == "https" else None
        self._idle: list[http.client.HTTPConnection] = []    # the last one used is taken first
        self._watchdog = Watchdog()
        self._closed = False

    def post(self, path: str, body: bytes, headers: Mapping[str, str]) -> Response:
        """Raise InfraError (sub "unreachable", "timeout" or "connection") if no whole response arrived in time."""
        deadline = time.monotonic() + self._timeout_s
        connection = self._connection(deadline)
        try:
            response = self._posted(connection, path, body, headers, deadline)
        except BaseException:       # whatever of the response is still to come must not meet the next request
            connection.close()
            raise
        self._give_back(connection)
        return response

    def _posted(self, connection: http.client.HTTPConnection, path: str, body: bytes, headers: Mapping[str, str],
                deadline: float) -> Response:
        if self._proxy is not None and self._context is None:
            path, headers = f"http://{self._authority}{path}", {**headers, **self._proxy.headers}
        with self._watchdog.over(connection.sock, deadline) as guard:
            try:
                self._greet(connection)
                started = time.monotonic()
                connection.request("POST", path, body, headers)
                response = connection.getresponse()
                data = response.read()
                return Response(response.status, response.headers, data, time.monotonic() - started)
            except (OSError, http.client.HTTPException, ValueError) as error:
                connection.close()
                if guard.fired and not self._closed:
                    raise InfraError(f"no whole response within {self._timeout_s:g} s", sub="timeout") from None
                sub = "unreachable" if isinstance(error, ssl.SSLCertVerificationError) else "connection"
                raise InfraError(f"the connection broke: {_reason(error)}", sub=sub) from None

    @property
    def _authority(self) -> str:
        host, port = self._address
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def close(self) -> None:
        """Abort what is in flight, and close what waits for a next request."""
        self._closed = True
        self._watchdog.abort()
        while self._idle:
            self._idle.pop().close()

    def _give_back(self, connection: http.client.HTTPConnection) -> None:
        if connection.sock is None or self._closed:
            connection.close()
        else:
            self._idle.append(connection)

    def _connection(self, deadline: float) -> http.client.HTTPConnection:
        """A connection with an open socket: one that waits unless the endpoint has closed it, else a new one."""
        while self._idle:
            try:
                connection = self._idle.pop()
            except IndexError:      # another thread took it
                break
            if not _readable(connection.sock):      # between requests only an end is readable
                return connection
            connection.close()
        connection = self._new_connection()
        connection.sock = self._open_socket(deadline)
        return connection

    def _new_connection(self) -> http.client.HTTPConnection:
        host, port = self._address
        if self._context is None:
            return http.client.HTTPConnection(host, port)
        return http.client.HTTPSConnection(host, port, context=self._context)

    def _open_socket(self, deadline: float) -> socket.socket:
        """A socket to the endpoint, or to the proxy before it; TLS is prepared, its handshake still to come."""
        host, port = self._address
        if self._proxy is None:
            sock = self._connected(host, port, deadline)
        else:
            sock = self._connected(self._proxy.host, self._proxy.port, deadline)
        if self._context is None:
            return sock
        if self._proxy is not None:
            self._open_tunnel(sock, deadline)
        return self._context.wrap_socket(sock, server_hostname=host, do_handshake_on_connect=False)

    def _connected(self, host: str, port: int, deadline: float) -> socket.socket:
        """Try each address of the host until one accepts or the deadline is over."""
        problem: Exception = OSError("it has no address")
        try:
            for family, kind, protocol, _, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
                sock = socket.socket(family, kind, protocol)
                try:
                    sock.settimeout(max(0.001, deadline - time.monotonic()))
                    sock.connect(address)
                    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    sock.settimeout(None)   # from here on the watchdog keeps the time
                    return sock
                except OSError as error:
                    problem = error
                    sock.close()
        except (OSError, UnicodeError) as error:   # UnicodeError: a host name that IDNA refuses
            problem = error
        raise InfraError(f"{host}:{port} cannot be reached: {_reason(problem)}", sub="unreachable") from None

    def _open_tunnel(self, sock: socket.socket, deadline: float) -> None:
        """Have the proxy connect to the endpoint (RFC 9110, 9.3.6); from then on it only passes bytes on."""
        lines = [f"CONNECT {self._authority} HTTP/1.1", f"Host: {self._authority}",
                 *(f"{name}: {value}" for name, value in self._proxy.headers.items()), "", ""]
        shown = f"the proxy {self._proxy.host}:{self._proxy.port}"
        with self._watchdog.over(sock, deadline) as guard:
            try:
                sock.sendall("\r\n".join(lines).encode("ascii"))
                response = http.client.HTTPResponse(sock, method="CONNECT")
                response.begin()
                status = response.status
            except (OSError, http.client.HTTPException, ValueError) as error:
                sock.close()
                if guard.fired and not self._closed:
                    raise InfraError(f"no tunnel from {shown} within {self._timeout_s:g} s", sub="timeout") from None
                raise InfraError(f"{shown} gave no tunnel: {_reason(error)}", sub="connection") from None
        if status != 200:
            sock.close()
            raise InfraError(f"{shown} refused a tunnel to {self._authority} with HTTP {status}", sub="unreachable")

    def _greet(self, connection: http.client.HTTPConnection) -> None:
        """The TLS handshake of a fresh connection; a certificate that does not fit ends here."""
        if isinstance(connection.sock, ssl.SSLSocket) and connection.sock.version() is None:
            connection.sock.do_handshake()


def _readable(sock: socket.socket) -> bool:
    if hasattr(select, "poll"):
        poll = select.poll()
        poll.register(sock, select.POLLIN)
        return bool(poll.poll(0))
    return bool(select.select([sock], [], [], 0)[0])


def _reason(error: Exception) -> str:
    if isinstance(error, http.client.IncompleteRead):
        return f"the body ended after {len(error.partial)} bytes"
    if isinstance(error, TimeoutError):
        return "no answer to the attempt to connect in time"
    if isinstance(error, http.client.BadStatusLine) and not isinstance(error, http.client.RemoteDisconnected):
        return "what came is no HTTP response"
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
