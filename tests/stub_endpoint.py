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


# --- the same in the words of other vendors ---------------------------------------------------------------------------

Called = tuple[str, dict[str, Any]]
VENDORS = ("openai", "anthropic", "gemini", "responses")


def vendor_body(vendor: str, text: str | None = None, call: Called | None = None, thought: str | None = None,
                **more: Any) -> dict[str, Any]:
    """A successful body of a vendor with a thought, a text and a call, in this order, as far as they are given."""
    made = {"openai": _openai, "anthropic": _anthropic, "gemini": _gemini, "responses": _responses}[vendor]
    return made(text, call, thought) | more


def _openai(text: str | None, call: Called | None, thought: str | None) -> dict[str, Any]:
    message: dict[str, Any] = {"reasoning_content": thought} if thought else {}
    if call:
        message["tool_calls"] = [{"id": "c1", "type": "function",
                                  "function": {"name": call[0], "arguments": json.dumps(call[1])}}]
    return completion(text, "tool_calls" if call else "stop", **message)


def _anthropic(text: str | None, call: Called | None, thought: str | None) -> dict[str, Any]:
    blocks: list[dict[str, Any]] = [{"type": "thinking", "thinking": thought, "signature": "s"}] if thought else []
    blocks += [{"type": "text", "text": text}] if text is not None else []
    blocks += [{"type": "tool_use", "id": "toolu_1", "name": call[0], "input": call[1]}] if call else []
    return {"id": "msg_1", "type": "message", "role": "assistant", "model": "stub-1", "content": blocks,
            "stop_reason": "tool_use" if call else "end_turn", "stop_sequence": None,
            "usage": {"input_tokens": 2, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 0,
                      "output_tokens": 3}}


def _gemini(text: str | None, call: Called | None, thought: str | None) -> dict[str, Any]:
    parts: list[dict[str, Any]] = [{"text": thought, "thought": True}] if thought else []
    parts += [{"text": text}] if text is not None else []
    parts += [{"functionCall": {"name": call[0], "args": call[1]}, "thoughtSignature": "c2ln"}] if call else []
    return {"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}],
            "usageMetadata": {"promptTokenCount": 7, "cachedContentTokenCount": 5, "candidatesTokenCount": 2,
                              "thoughtsTokenCount": 1, "totalTokenCount": 10}, "modelVersion": "stub-1"}


def _responses(text: str | None, call: Called | None, thought: str | None) -> dict[str, Any]:
    output: list[dict[str, Any]] = [{"type": "reasoning", "id": "rs_1", "summary": [
        {"type": "summary_text", "text": thought}]}] if thought else []
    output += [{"type": "message", "id": "m_1", "role": "assistant", "status": "completed", "content": [
        {"type": "output_text", "text": text, "annotations": []}]}] if text is not None else []
    output += [{"type": "function_call", "id": "fc_1", "call_id": "c1", "name": call[0], "status": "completed",
                "arguments": json.dumps(call[1])}] if call else []
    return {"id": "resp_1", "object": "response", "status": "completed", "model": "stub-1", "error": None,
            "incomplete_details": None, "output": output,
            "usage": {"input_tokens": 7, "input_tokens_details": {"cached_tokens": 5}, "output_tokens": 3,
                      "output_tokens_details": {"reasoning_tokens": 1}, "total_tokens": 10}}


def event_stream(*events: Any, done: bool = True) -> bytes:
    """Server-sent events of JSON values, with [DONE] at the end."""
    data = [json.dumps(event) for event in events] + (["[DONE]"] if done else [])
    return "".join(f"data: {text}\n\n" for text in data).encode()


def chunk(finish_reason: str | None = None, **delta: Any) -> dict[str, Any]:
    """One piece of a streamed chat completion."""
    return {"id": "x", "model": "stub-1", "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]}


SSE = {"Content-Type": "text/event-stream"}


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
        headers = {"Content-Length": len(body), "Content-Type": "application/json", **self.headers}
        lines = [f"HTTP/1.1 {self.status} Status", *(f"{k}: {v}" for k, v in headers.items())]
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


class StubProxy:
    """An HTTP proxy on loopback that leads every host to one address. status: its answer to CONNECT.

    heads: what clients sent to the proxy itself, up to the blank line.
    """

    def __init__(self, host: str, port: int, status: int = 200) -> None:
        self.heads: list[str] = []
        self._target, self._status = (host, port), status
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> StubProxy:
        return self

    def __exit__(self, *exc: object) -> None:
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        data = b""
        while b"\r\n\r\n" not in data:
            data += client.recv(65536)
        head, _, rest = data.partition(b"\r\n\r\n")
        self.heads.append(head.decode())
        connect = head.startswith(b"CONNECT ")
        if connect and self._status != 200:
            client.sendall(f"HTTP/1.1 {self._status} No\r\nContent-Length: 0\r\n\r\n".encode())
            client.close()
            return
        server = socket.create_connection(self._target)
        if connect:
            client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        else:
            server.sendall(head + b"\r\n\r\n" + rest)
        threading.Thread(target=_pass_on, args=(server, client), daemon=True).start()
        _pass_on(client, server)


def _pass_on(source: socket.socket, sink: socket.socket) -> None:
    try:
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        return
