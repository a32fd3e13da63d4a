"""A chat endpoint on loopback that answers, refuses, breaks and drips as a test says."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


def completion(content: Any = "Hallo.", finish_reason: str | None = "stop", **message: Any) -> dict[str, Any]:
    """The body of a chat completion."""
    return {"id": "x", "model": "stub-1", "usage": {"prompt_tokens": 7, "completion_tokens": 3},
            "choices": [{"index": 0, "message": {"role": "assistant", "content": content, **message},
                         "finish_reason": finish_reason}]}


@dataclass(frozen=True)
class React:
    """One reaction.

    body: a value (sent as JSON) or bytes. raw: the whole response instead. keep: bytes of it that are sent before the
    connection is shut (None: all). drip_s: pause between single bytes. delay_s: before the first byte.
    """

    body: Any = field(default_factory=completion)
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    keep: int | None = None
    drip_s: float = 0.0
    drip_from: int = 0
    delay_s: float = 0.0
    close: bool = False
    raw: bytes | None = None

    def response(self) -> bytes:
        if self.raw is not None:
            return self.raw
        body = self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()
        lines = [f"HTTP/1.1 {self.status} Status", f"Content-Length: {len(body)}", "Content-Type: application/json",
                 *(f"{k}: {v}" for k, v in self.headers.items())]
        return "\r\n".join([*lines, "", ""]).encode() + body


@dataclass(frozen=True)
class Request:
    """One request as it came in."""

    line: str
    headers: Mapping[str, str]
    body: Any
    at: float


class StubEndpoint:
    """reactions: in the order of the requests, the last one for all that follow; or a function of the request."""

    def __init__(self, reactions: Sequence[React] | Callable[[Request], React] = (React(),)) -> None:
        self.requests: list[Request] = []
        self.connections = 0
        self._reactions = reactions
        self._lock = threading.Lock()
        self._open: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> StubEndpoint:
        return self

    def __exit__(self, *exc: object) -> None:
        self._listener.close()
        for sock in self._open:
            sock.close()

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self._open.append(sock)
            threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, sock: socket.socket) -> None:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            with sock, sock.makefile("rb") as stream:
                while (request := _read(stream)) is not None:
                    with self._lock:
                        self.requests.append(request)
                        number = len(self.requests) - 1
                    reaction = (self._reactions(request) if callable(self._reactions)
                                else self._reactions[min(number, len(self._reactions) - 1)])
                    if not _send(sock, reaction):
                        return
        except OSError:
            return


def _read(stream: Any) -> Request | None:
    line = stream.readline().decode().strip()
    if not line:
        return None
    headers = {}
    while (header := stream.readline().decode().strip()):
        name, _, value = header.partition(": ")
        headers[name.lower()] = value
    length = int(headers.get("content-length", 0))
    body = stream.read(length)
    if len(body) < length:   # the client was killed while it sent
        return None
    return Request(line, headers, json.loads(body), time.monotonic())


def _send(sock: socket.socket, reaction: React) -> bool:
    """False: the connection ends here."""
    time.sleep(reaction.delay_s)
    data = reaction.response()
    if reaction.drip_s:
        sock.sendall(data[:reaction.drip_from])
        for byte in data[reaction.drip_from:]:
            sock.sendall(bytes([byte]))
            time.sleep(reaction.drip_s)
    else:
        sock.sendall(data if reaction.keep is None else data[:reaction.keep])
    if reaction.keep is None and not reaction.close:
        return True
    sock.shutdown(socket.SHUT_RDWR)
    return False
