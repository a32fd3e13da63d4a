#!/usr/bin/env python3
"""Time the suite `chain` against a stub endpoint: three replies with a call, results of 8 kB, then an answer.

usage: python3 bench/chain.py [--repeats N] [--dry]

150 tasks at 32 in flight, and 1,024 at 256; 200 ms latency, the stub in a process of its own, the journal flushed at
every reply. ideal: waves × 4 requests × 0.2 s, from the first request to the last answer. Writes the table into
bench/README.md, --dry prints it only. With --serve the file is the stub itself.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from endpoint import Connection, serve
from endpoint import Stub as Counts
from stage import ROOT, insert, repeated, run_eval, table

sys.path.insert(0, str(ROOT))

LATENCY_S, REQUESTS = 0.2, 4
CITIES = ("hamburg", "muenchen", "koeln")      # their charging sites take about 8 kB each
HEAD = ("tasks", "in flight", "ideal s", "sending s", "at most", "CPU ms/request", "MB", "at most", "requests",
        "answered twice")
CASES = ((150, 32, 4.4, None), (1024, 256, 1.15 * 3.2, 120))     # tasks, in flight, most seconds, most MB


class Caller(Connection):
    """Answers by the number of results that a request holds: the next call, or the answer."""

    def request(self, line: bytes, body: bytes) -> None:
        self.results = body.count(b'"role":"tool"')
        super().request(line, body)

    def answer(self, content: str, fault: str | None) -> None:
        self.stub.in_flight -= 1
        self.stub.answered[content] += 1
        self.send(200, reply(self.results))


def reply(results: int) -> bytes:
    if results < len(CITIES):
        arguments = json.dumps({"slug": CITIES[results], "resource": "charging"})
        message: dict[str, Any] = {"role": "assistant", "content": None, "tool_calls": [
            {"id": f"call_{results}x", "type": "function", "function": {"name": "get_city_resource",
                                                                      "arguments": arguments}}]}
    else:
        message = {"role": "assistant", "content": '{"antwort": 7, "einheit": null, "grund": null}'}
    return json.dumps({"id": "stub", "object": "chat.completion", "model": "stub", "choices": [
        {"index": 0, "finish_reason": "tool_calls" if results < len(CITIES) else "stop", "message": message}],
        "usage": {"prompt_tokens": 3000, "completion_tokens": 30, "total_tokens": 3030}}).encode()


def write_tasks(path: Path, count: int) -> None:
    """So many plays of three steps each, in the world s1."""
    from infranode_eval.chain.declaration import Derivation, steps_from_json
    from infranode_eval.chain.derive import bodies_of, execute_plan, value_of
    from infranode_eval.chain.evidence import must_call_of, path_of
    from infranode_eval.chain.worlds import open_world

    plan = [{"id": slug, "call": {"name": "get_city_resource", "arguments": {"slug": slug, "resource": "charging"}}}
            for slug in CITIES]
    derive = {"op": "count", "from": list(CITIES), "at": "/data/payload/stations",
              "where": [["/power_kw", ">=", 150]]}
    world = open_world({"kind": "snapshot", "name": "s1"})
    steps = steps_from_json(plan)
    executed = execute_plan(steps, world.answer)
    answer = {"type": "number", "value": value_of(derive, bodies_of(executed)), "unit": None, "tolerance": 0,
              "accept": []}
    expect = {"answer": answer, "must_call": must_call_of(steps, executed, world, Derivation.from_json(derive)),
              "path": path_of(steps, executed), "must_not": [], "near_misses": {}, "injection": None}
    with path.open("w", encoding="utf-8") as file:
        for number in range(count):
            row = {"task_id": f"t{number:05}", "set": "core", "category": "filter_count", "max_turns": 8,
                   "question": f"Wie viele Ladestandorte ab 150 kW gibt es in den drei Städten? (Frage {number})",
                   "world": {"kind": "snapshot", "name": "s1", "sha256": world.sha256}, "plan": plan,
                   "derive": derive, "faults": [], "gold": [one.to_json() for one in executed], "expect": expect,
                   "expected": [step["call"] for step in plan]}
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


def lines(folder: Path, repeats: int) -> list[Sequence[str]]:
    rows = []
    for tasks, in_flight, most_s, most_mb in CASES:
        write_tasks(folder / "tasks.jsonl", tasks)
        taken, span_s, stats = repeated("chain.py", lambda url, in_flight=in_flight: run_eval(
            url, folder / "tasks.jsonl", folder / "r.json", "--force", "--suite", "chain", "--concurrency",
            str(in_flight)), folder, repeats, LATENCY_S)
        ideal_s = math.ceil(tasks / in_flight) * REQUESTS * LATENCY_S
        rows.append((f"{tasks:,}", str(in_flight), f"{ideal_s:.1f}", f"{span_s:.2f}", f"{most_s:.2f}",
                     f"{1000 * taken.cpu_s / stats['requests']:.2f}", f"{taken.memory_mb:.0f}",
                     str(most_mb or "—"), f"{stats['requests']:,}", str(stats["double"])))
        print(rows[-1], file=sys.stderr, flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--dry", action="store_true")
    parser.add_argument("--serve", action="store_true")
    options = parser.parse_args()
    if options.serve:
        asyncio.run(serve(Counts(LATENCY_S), 0, Caller))
        return
    with tempfile.TemporaryDirectory() as folder:
        text = table(HEAD, lines(Path(folder), options.repeats))
    print(text)
    if not options.dry:
        insert(text, "chain.py")


if __name__ == "__main__":
    main()
