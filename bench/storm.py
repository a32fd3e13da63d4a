#!/usr/bin/env python3
"""Run against an endpoint with every fault at once, killed again and again: is each task answered exactly once?

usage: python3 bench/storm.py [--tasks N] [--kills K] [--seed S] [--concurrency C]

The stub answers 2 % with status 500, resets 1 %, cuts 1 % of the bodies, hangs, drips bodies and headers, sends empty
replies, and refuses what exceeds a rate limit. run_eval.py is killed with SIGKILL at K random moments (seeded) and each
time resumed. Prints what was found as JSON; exit status 1 if a task was lost, is there twice, or was paid for twice
beyond the requests in flight at a kill (by the stub's own count).
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from stage import Stub, run_eval, write_tasks

FAULTS = ("--errors", "0.02", "--resets", "0.01", "--cuts", "0.01", "--hangs", "0.005", "--drips", "0.005",
          "--slow-heads", "0.005", "--empties", "0.005")


def storm(folder: Path, tasks: int, kills: int, seed: int, concurrency: int) -> dict[str, Any]:
    """What the results file and the stub say after the last run."""
    draw = random.Random(seed)
    write_tasks(folder / "t.jsonl", tasks)
    out = folder / "r.json"
    limit = max(20, tasks // 8)     # requests a second: pauses, but no long ones
    with Stub("--latency", "0.05", "--limit", str(limit), "--window", "1", "--seed", str(seed), *FAULTS) as stub:
        command = run_eval(stub.url, folder / "t.jsonl", out, "--resume", "--concurrency", str(concurrency),
                           "--timeout", "1.5", "--retries", "6")
        moments = []
        for _ in range(kills):
            moments.append(round(draw.uniform(0.2, 2.0), 3))
            _killed(command, moments[-1])
        torn = sum(not path.read_bytes().endswith(b"\n") for path in folder.glob("*.journal.jsonl"))
        last = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        stats = stub.stats()
    result = json.loads(out.read_text("utf-8"))
    ids = [row["task_id"] for row in result["rows"] if row["call_match"] is not None]
    return {"tasks": tasks, "killed_after_s": moments, "torn_journals": torn, "status": last.returncode,
            "complaint": last.stderr, "answered_rows": len(ids), "different_tasks": len(set(ids)),
            "paid_twice": stats["double"], "allowed_twice": kills * concurrency, "stub": stats}


def _killed(command: list[str], after_s: float) -> None:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(after_s)
    process.kill()
    process.wait()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=2000)
    parser.add_argument("--kills", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--concurrency", type=int, default=32)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = storm(Path(folder), options.tasks, options.kills, options.seed, options.concurrency)
    print(json.dumps(found, indent=1))
    good = (found["status"] == 0 and found["answered_rows"] == found["different_tasks"] == options.tasks
            and found["stub"]["contents_answered"] == options.tasks and found["paid_twice"] <= found["allowed_twice"])
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
