"""Rows out of memory: what was put there comes back, in any order, from many threads, beyond what memory may hold."""

from __future__ import annotations

import json
import threading
from pathlib import Path

from infranode_eval.shelf import IN_MEMORY, Shelf, ShelvedRows


def test_rows_come_back_in_the_order_that_is_asked_for(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    places = [shelf.put(json.dumps({"n": n, "text": "ü" * n}).encode()) for n in range(5)]
    rows = ShelvedRows(shelf, places[::-1])
    assert [row["n"] for row in rows] == [4, 3, 2, 1, 0] and len(rows) == 5
    assert rows[-1] == {"n": 0, "text": ""} and [row["n"] for row in rows[1:3]] == [3, 2]
    assert [json.loads(line)["n"] for line in rows.lines()] == [4, 3, 2, 1, 0]


def test_many_threads_and_more_than_memory_may_hold(tmp_path: Path) -> None:
    shelf, places, lock = Shelf(tmp_path), {}, threading.Lock()
    size = IN_MEMORY // 400

    def work(first: int) -> None:
        for n in range(first, 500, 5):
            place = shelf.put(b"%06d" % n + b"x" * size)
            assert shelf.line(place)[:6] == b"%06d" % n
            with lock:
                places[n] = place

    threads = [threading.Thread(target=work, args=(i,)) for i in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [int(shelf.line(places[n])[:6]) for n in range(500)] == list(range(500))
    assert list(tmp_path.iterdir()) == [], "the file has no name, so that a killed run leaves none"
