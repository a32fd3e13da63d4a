#!/usr/bin/env python3
"""Time the suite `db_routing` against a stub endpoint: turns with a query, one without, then the finalisation.

usage: python3 bench/db_routing.py [--repeats N] [--dry]

500 questions with 4 queries (6 calls) and with 5 (7 calls) at 32 in flight, and 6 calls at 256, 200 ms latency, the
stub in a process of its own, the panel's cache built. ideal: calls × 0.2 s over the places, from the first request to
the last answer. Writes the table into bench/README.md, --dry prints it only. With --serve the file is the stub itself.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from endpoint import Connection, serve
from endpoint import Stub as Counts
from stage import ROOT, insert, repeated, table

LATENCY_S, QUESTIONS, BOUND = 0.2, 500, 32      # the bound holds at so many in flight
CASES = ((4, BOUND), (5, BOUND), (4, 256))       # queries a question, in flight
HEAD = ("queries", "in flight", "ideal s", "sending s", "at most", "wall s", "CPU ms/call, all processes", "MB",
        "requests", "answered twice")
SQL = "SELECT COUNT(*) FROM bon_kopf WHERE id > 10"


class Prober(Connection):
    """Asks a database as often as the name of the model says, falls silent, and declares one."""

    def request(self, line: bytes, body: bytes) -> None:
        self.results, self.tools = body.count(b'"role":"tool"'), b'"tools"' in body
        self.queries = next((count for count, _ in CASES if b'"model":"stub-%d"' % count in body), 0)
        super().request(line, body)

    def answer(self, content: str, fault: str | None) -> None:
        self.stub.in_flight -= 1
        self.stub.answered[content] += 1
        self.send(200, reply(self.results, self.tools, self.queries))


def reply(results: int, tools: bool, queries: int) -> bytes:
    message: dict[str, Any] = {"role": "assistant", "content": "Das reicht."}
    if not tools:
        message["content"] = json.dumps({"selected_database": "db_02", "sql": SQL})
    elif results < queries:
        arguments = json.dumps({"action": "execute_query", "sql": SQL})
        message = {"role": "assistant", "content": None, "tool_calls": [
            {"id": f"call_{results}x", "type": "function", "function": {"name": "db_02", "arguments": arguments}}]}
    return json.dumps({"id": "stub", "object": "chat.completion", "model": "stub", "choices": [
        {"index": 0, "finish_reason": "stop", "message": message}],
        "usage": {"prompt_tokens": 3000, "completion_tokens": 30, "total_tokens": 3030}}).encode()


def measured(folder: Path, queries: int, in_flight: int, repeats: int) -> Sequence[str]:
    taken, span_s, stats = repeated("db_routing.py", lambda url: [
        sys.executable, str(ROOT / "run_eval.py"), "--suite", "db_routing", "--base-url", url, "--model",
        f"stub-{queries}", "--limit", str(QUESTIONS), "--out", str(folder / "r.json"), "--force", "--concurrency",
        str(in_flight)],
        folder, repeats, LATENCY_S)
    ideal_s = QUESTIONS * (queries + 2) * LATENCY_S / in_flight
    most = f"{1.15 * ideal_s:.2f}" if in_flight == BOUND else "—"
    return (str(queries), str(in_flight), f"{ideal_s:.2f}", f"{span_s:.2f}", most, f"{taken.wall_s:.2f}",
            f"{1000 * taken.cpu_s / stats['requests']:.2f}", f"{taken.memory_mb:.0f}", f"{stats['requests']:,}",
            str(stats["double"]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--dry", action="store_true")
    parser.add_argument("--serve", action="store_true")
    options = parser.parse_args()
    if options.serve:
        asyncio.run(serve(Counts(LATENCY_S), 0, Prober))
        return
    with tempfile.TemporaryDirectory() as folder:
        rows = []
        for queries, in_flight in CASES:
            rows.append(measured(Path(folder), queries, in_flight, options.repeats))
            print(rows[-1], file=sys.stderr, flush=True)
    text = table(HEAD, rows)
    print(text)
    if not options.dry:
        insert(text, "db_routing.py")


if __name__ == "__main__":
    main()
