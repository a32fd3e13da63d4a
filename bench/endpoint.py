#!/usr/bin/env python3
"""A stub of /v1/chat/completions on loopback that is slow, strict or broken on purpose, and counts what it gets.

usage: python3 bench/endpoint.py [--port N] [--latency S] [--limit N --window S] [--errors P] [--resets P] [--cuts P]
                                 [--hangs P] [--drips P] [--slow-heads P] [--empties P] [--seed N]

Prints its base URL. Rates are shares of requests (0.02 = 2 %), drawn by a seed over the request's content and how often
it has been seen: a retry of the same request draws again. GET /stats gives counts as JSON, POST /reset clears them:
requests, answered, by kind of fault, contents answered more than once (double), refusals in the worst pause, requests
inside a pause that a 429 asked for (early: 0.1 s after it or later, so that they were not under way). Drips send a body
byte by byte, slow heads the headers; empties answer with nothing. One thread, raw asyncio protocol, standard library
only, so that it costs the client little.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import math
import signal
import time
from collections import Counter
from dataclasses import dataclass, field

REPLY = '{"name": "weather", "arguments": {"slug": "koeln"}}'
BODY = json.dumps({"id": "stub", "object": "chat.completion", "model": "stub", "choices": [
    {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": REPLY}}],
    "usage": {"prompt_tokens": 3000, "completion_tokens": 30, "total_tokens": 3030}}).encode()
EMPTY = BODY.replace(json.dumps(REPLY).encode(), b'""')
UNDER_WAY_S = 0.1
FAULTS = ("errors", "resets", "cuts", "hangs", "drips", "slow_heads", "empties")


@dataclass(slots=True)
class Stub:
    """Settings and counts; one for all connections."""

    latency_s: float = 0.2
    limit: int = 0              # requests per window, 0: none
    window_s: float = 10.0
    rates: dict[str, float] = field(default_factory=dict)
    seed: int = 1
    counts: Counter[str] = field(default_factory=Counter)
    seen: Counter[str] = field(default_factory=Counter)       # content -> requests
    answered: Counter[str] = field(default_factory=Counter)   # content -> whole answers
    first: float = 0.0
    last: float = 0.0
    in_flight: int = 0
    most_in_flight: int = 0
    window: int = -1
    used: int = 0
    refused_here: int = 0       # in the present window
    most_refused: int = 0       # in one window
    pause_began: float = 0.0
    paused_until: float = 0.0

    def refused(self, now: float) -> float | None:
        """Seconds to wait if the request comes beyond the limit of its window; None if it is let through."""
        if not self.limit:
            return None
        window = int(now // self.window_s)
        if window != self.window:
            self.window, self.used, self.refused_here = window, 0, 0
        self.used += 1
        if self.used <= self.limit:
            return None
        if self.refused_here == 0:
            self.counts["pauses"] += 1
            self.pause_began = now
        self.refused_here += 1
        self.counts["early"] += now > self.pause_began + UNDER_WAY_S
        self.most_refused = max(self.most_refused, self.refused_here)
        self.paused_until = max(self.paused_until, (window + 1) * self.window_s)
        return self.paused_until - now

    def fault(self, content: str) -> str | None:
        """The fault of this request: a draw from seed, content and how often the content came."""
        digest = hashlib.sha256(f"{self.seed}|{content}|{self.seen[content]}".encode()).digest()
        draw = int.from_bytes(digest[:7], "big") / 2**56
        for name in FAULTS:
            draw -= self.rates.get(name, 0.0)
            if draw < 0:
                return name
        return None

    def stats(self) -> dict[str, float]:
        return {**self.counts, "contents": len(self.seen), "contents_answered": len(self.answered),
                "answered": sum(self.answered.values()), "double": sum(n - 1 for n in self.answered.values()),
                "most_in_flight": self.most_in_flight, "most_refused_in_a_pause": self.most_refused,
                "span_s": round(self.last - self.first, 4)}

    def clear(self) -> None:
        for counter in (self.counts, self.seen, self.answered):
            counter.clear()
        self.first = self.last = 0.0
        self.most_in_flight, self.window, self.used, self.paused_until = 0, -1, 0, 0.0
        self.refused_here = self.most_refused = 0


class Connection(asyncio.Protocol):
    """One keep-alive connection; requests come one after the other."""

    def __init__(self, stub: Stub) -> None:
        self.stub, self.buffer = stub, b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.stub.counts["connections"] += 1

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        head_end = self.buffer.find(b"\r\n\r\n")
        if head_end < 0:
            return
        head = self.buffer[:head_end].lower()
        length = 0
        if (at := head.find(b"content-length:")) >= 0:
            length = int(head[at + 15:].split(b"\r\n", 1)[0])
        end = head_end + 4 + length
        if len(self.buffer) < end:
            return
        line, body = self.buffer.split(b"\r\n", 1)[0], self.buffer[head_end + 4:end]
        self.buffer = self.buffer[end:]
        self.request(line, body)

    def request(self, line: bytes, body: bytes) -> None:
        stub = self.stub
        if line.startswith(b"GET /stats"):
            self.send(200, json.dumps(stub.stats()).encode())
            return
        if line.startswith(b"POST /reset"):
            stub.clear()
            self.send(200, b"{}")
            return
        now = time.monotonic()
        stub.first = stub.first or now
        stub.last = now
        stub.counts["requests"] += 1
        content = hashlib.sha256(body).hexdigest()
        wait_s = stub.refused(now)
        if wait_s is not None:
            stub.counts["refused_429"] += 1
            after = f"retry-after: {math.ceil(wait_s * 1000) / 1000:.3f}\r\n"
            self.send(429, b'{"error": {"message": "slow down"}}', after)
            return
        stub.seen[content] += 1
        stub.in_flight += 1
        stub.most_in_flight = max(stub.most_in_flight, stub.in_flight)
        asyncio.get_running_loop().call_later(stub.latency_s, self.answer, content, stub.fault(content))

    def answer(self, content: str, fault: str | None) -> None:
        stub = self.stub
        stub.in_flight -= 1
        if self.transport.is_closing():
            stub.counts["gone"] += 1
            return
        if fault is not None:
            stub.counts[fault] += 1
        if fault == "hangs":
            return
        if fault == "resets":
            self.transport.abort()
        elif fault == "errors":
            self.send(500, b'{"error": {"message": "internal"}}')
        elif fault == "cuts":
            self.send(200, BODY[:len(BODY) // 2])
        elif fault == "drips":
            self.transport.write(_head(200, len(BODY), ""))
            self.drip(BODY)
        elif fault == "slow_heads":
            self.drip(_head(200, len(BODY), "") + BODY)
        elif fault == "empties":
            self.send(200, EMPTY)
        else:
            stub.answered[content] += 1
            self.send(200, BODY)

    def drip(self, data: bytes, at: int = 0) -> None:
        if at < len(data) and not self.transport.is_closing():
            self.transport.write(data[at:at + 1])
            asyncio.get_running_loop().call_later(0.5, self.drip, data, at + 1)

    def send(self, status: int, body: bytes, headers: str = "") -> None:
        self.transport.write(_head(status, len(body), headers) + body)


def _head(status: int, length: int, headers: str) -> bytes:
    return (f"HTTP/1.1 {status} X\r\ncontent-type: application/json\r\n"
            f"content-length: {length}\r\n{headers}\r\n").encode()


async def serve(stub: Stub, port: int, connection: type[Connection] = Connection) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: connection(stub), "127.0.0.1", port, backlog=1024)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    done = asyncio.Event()
    for kind in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(kind, done.set)
    await done.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--latency", type=float, default=0.2, help="seconds; default 0.2")
    parser.add_argument("--limit", type=int, default=0, help="requests per window; default: no limit")
    parser.add_argument("--window", type=float, default=10.0, help="seconds; default 10")
    parser.add_argument("--seed", type=int, default=1)
    for name in FAULTS:
        parser.add_argument(f"--{name.replace('_', '-')}", type=float, default=0.0, help="share of requests")
    options = parser.parse_args()
    rates = {name: getattr(options, name) for name in FAULTS}
    asyncio.run(serve(Stub(options.latency, options.limit, options.window, rates, options.seed), options.port))


if __name__ == "__main__":
    main()
