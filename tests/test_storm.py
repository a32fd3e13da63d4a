"""Small numbers of what bench/ does with large ones: every fault at once with kill -9, and a rate limit kept to."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[1] / "bench"
sys.path.insert(0, str(BENCH))

from stage import Stub, run_eval, write_tasks  # noqa: E402


@pytest.mark.parametrize("seed", [1, 2])
def test_killed_again_and_again_in_a_storm_of_faults_each_task_is_answered_exactly_once(seed: int) -> None:
    done = subprocess.run([sys.executable, str(BENCH / "storm.py"), "--tasks", "200", "--kills", "3", "--seed",
                           str(seed), "--concurrency", "16"], capture_output=True, text=True, timeout=120)
    found = json.loads(done.stdout)
    assert done.returncode == 0, found
    assert found["answered_rows"] == found["different_tasks"] == found["stub"]["contents_answered"] == 200
    assert found["paid_twice"] <= 3 * 16, "no more than was in flight when it was killed"
    assert sum(found["stub"].get(kind, 0) for kind in ("errors", "resets", "cuts", "hangs", "drips", "slow_heads",
                                                       "empties", "refused_429")) > 0, "there was a storm"


def test_a_rate_limit_costs_one_refusal_a_request_in_flight_and_no_time(tmp_path: Path) -> None:
    """60 tasks, 20 a second: the last 20 may start after two seconds at best."""
    write_tasks(tmp_path / "t.jsonl", 60)
    with Stub("--limit", "20", "--window", "1", "--latency", "0.05") as stub:
        time.sleep(1.02 - time.monotonic() % 1.0)   # the windows of the stub begin with its clock's seconds
        done = subprocess.run(run_eval(stub.url, tmp_path / "t.jsonl", tmp_path / "r.json", "--concurrency", "8",
                                       "--retries", "0"), capture_output=True, text=True, timeout=60)
        stats = stub.stats()
    assert done.returncode == 0, done.stderr
    assert (stats["answered"], stats["double"], stats["early"]) == (60, 0, 0)
    assert stats["most_refused_in_a_pause"] <= 8
    assert stats["span_s"] < 3.0, stats   # one window more would be 3
    pacing = json.loads((tmp_path / "r.json").read_text("utf-8"))["totals"]["pacing"]
    assert pacing["refused"] == stats["refused_429"] and pacing["pauses"] == stats["pauses"]
