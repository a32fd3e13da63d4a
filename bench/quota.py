#!/usr/bin/env python3
"""Run against an endpoint with a quota: how close to the ideal time, how many requests in vain?

usage: python3 bench/quota.py [--tasks N] [--limit N] [--window S] [--concurrency C] [--repeats N]

The defaults are 1,000 tasks against 200 requests per 10 s: the last 200 cannot start before 40 s. Prints one line a
run; exit status 1 if one takes more than 110 % of the ideal, has more refusals in a pause than requests in flight, or
sends within a pause.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from stage import Stub, run_eval, timed, write_tasks


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("tasks", 1000), ("limit", 200), ("window", 10), ("concurrency", 64), ("repeats", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    ideal_s = (options.tasks - 1) // options.limit * options.window
    good = True
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_tasks(folder / "t.jsonl", options.tasks)
        for _ in range(options.repeats):
            with Stub("--limit", str(options.limit), "--window", str(options.window)) as stub:
                time.sleep(options.window - time.monotonic() % options.window)   # a window begins
                taken = timed(run_eval(stub.url, folder / "t.jsonl", folder / "r.json", "--force", "--concurrency",
                                       str(options.concurrency), "--retries", "0"), folder)
                stats = stub.stats()
            good &= (taken.status == 0 and taken.wall_s <= 1.1 * ideal_s and stats["early"] == 0
                     and stats["most_refused_in_a_pause"] <= options.concurrency and stats["double"] == 0)
            print(f"{taken.wall_s:.2f} s of ideally {ideal_s} s ({100 * taken.wall_s / ideal_s:.1f} %), "
                  f"{stats['refused_429']} refused in {stats['pauses']} pauses (at most "
                  f"{stats['most_refused_in_a_pause']} in one), {stats['early']} early, {taken.cpu_s:.2f} CPU s",
                  flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
