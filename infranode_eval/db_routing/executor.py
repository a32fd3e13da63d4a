"""The pool of worker processes that runs SQL which a model wrote.

Source: specification, db_routing, section 6. Threads share few workers; a query that does not end costs its worker.
"""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from infranode_eval.db_routing.rows import MOST_ROWS, Rows, SqlError
from infranode_eval.db_routing.sql_errors import folded_name, is_broken, rebuilt, refusal, timeout
from infranode_eval.db_routing.statement import statements
from infranode_eval.db_routing.worker_process import WorkerDiedError, WorkerProcess
from lm_eval_task.errors import DataError, UsageError, WorldNotReadyError

QUERIES_A_WORKER = 1_000    # then a fresh one takes over
_THREADS_A_WORKER = 4
_CLOSED = "the pool for SQL was closed"


def workers_for(threads: int) -> int:
    """How many workers serve so many threads: one per four, at least one, at most the cores."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:   # not on every system
        cores = os.cpu_count() or 1
    return max(1, min(cores, -(-threads // _THREADS_A_WORKER)))


class Executor:
    """Runs queries in worker processes; any number of threads may ask at once.

    databases: name → SQLite file, which must not change any more. limit_s: seconds of wall clock a query may take.
    python: interpreter of the workers. options: for the workers (see worker.main).
    Workers start when they are needed and end with `close`, with the process, or with its death.
    Raise DataError for a file that is not there, UsageError on a system without POSIX processes.
    """

    def __init__(self, databases: Mapping[str, Path], workers: int, *, limit_s: float = 2.0,
                 python: str = sys.executable, options: Sequence[str] = ()) -> None:
        if os.name != "posix":
            raise UsageError("the worker processes for SQL need Linux or macOS")
        self._paths = {name: Path(path).resolve() for name, path in databases.items()}
        for path in self._paths.values():
            if not path.is_file():
                raise DataError("this database is missing", path)
        self._hidden = tuple(folded_name(name) for name in self._paths)
        self._limit_s = limit_s
        self._seats = tuple(_Seat(python, options) for _ in range(max(1, workers)))
        self._free: queue.LifoQueue[_Seat] = queue.LifoQueue()   # the last used first: the others need not start
        for seat in self._seats:
            self._free.put(seat)
        self._end = weakref.finalize(self, _close, self._seats, self._free)  # also at the end of the interpreter

    def __enter__(self) -> Executor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def pids(self) -> tuple[int, ...]:
        """The worker processes that run now."""
        return tuple(pid for seat in self._seats if (pid := seat.pid) is not None)

    def close(self) -> None:
        """End all workers; queries that run or wait raise WorldNotReadyError. Twice does no harm."""
        self._end()

    def run(self, database: str, sql: object, *, most_rows: int = MOST_ROWS, whole: bool = False,
            limit_s: float | None = None) -> Rows | SqlError:
        """The rows of one SELECT on one database, or why there are none.

        most_rows: more are cut off and marked. whole: nothing is cut, more rows (or 20 million characters) are an
        error `too_large`. limit_s: instead of the pool's. Waiting for a free worker does not count.
        Raise WorldNotReadyError where the answer would not speak of the SQL: the pool is closed, a worker does not
        start, the file cannot be read. Raise UsageError for a database that was not given.
        """
        if database not in self._paths:
            raise UsageError(f"there is no database {database!r}; known: {', '.join(sorted(self._paths))}")
        refused = refusal(sql)
        if refused is not None:
            return refused
        limit_s = self._limit_s if limit_s is None else limit_s
        request = {"path": str(self._paths[database]), "sql": statements(str(sql))[0], "most_rows": most_rows,
                   "whole": whole, "limit_s": limit_s - min(0.05, limit_s / 10)}   # ends by itself before it is killed
        seat = self._free.get()
        begin = time.monotonic()
        try:
            answer = seat.ask(request, limit_s)
        except TimeoutError:
            return timeout(limit_s, _since(begin))
        except WorkerDiedError as died:
            if died.code == -signal.SIGXCPU:
                return timeout(limit_s, _since(begin))
            return SqlError("worker_died", "Die Abfrage hat den Prozess beendet, der sie ausführte.", "error",
                            _since(begin))
        finally:
            self._free.put(seat)
        return self._outcome(answer, str(sql), limit_s)

    def _outcome(self, answer: Mapping[str, Any], sql: str, limit_s: float) -> Rows | SqlError:
        if "error" not in answer:
            return Rows(tuple(answer["columns"]), tuple(map(tuple, answer["rows"])), answer["rows_truncated"],
                        answer["cells_truncated"], tuple(answer["literals"]), answer["ms"])
        if answer["message"] == "interrupted":
            return timeout(limit_s, answer["ms"])
        if is_broken(answer["message"]):
            raise WorldNotReadyError(f"a database cannot be read: {answer['message']}")
        return rebuilt(answer["error"], answer["message"], sql, self._hidden, answer["ms"])


class _Seat:
    """A place for one worker, which one thread at a time may use; the worker comes and goes."""

    def __init__(self, python: str, options: Sequence[str]) -> None:
        self._python, self._options = python, options
        self._using = threading.Lock()      # held while a query runs
        self._changing = threading.Lock()   # held while the worker comes or goes
        self._worker: WorkerProcess | None = None
        self._shut = False

    @property
    def pid(self) -> int | None:
        worker = self._worker
        return None if worker is None else worker.pid

    def ask(self, request: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """An answer of the worker. Raise TimeoutError or WorkerDiedError, after the worker is gone."""
        with self._using:
            try:
                answer = self._answer(request, seconds)
            except BaseException:           # also Ctrl-C: the answer would come to the next query
                self._leave()
                if self._shut:
                    raise WorldNotReadyError(_CLOSED) from None
                raise
            if answer.get("error") == "MemoryError":
                self._leave()
            return answer

    def _answer(self, request: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        try:
            return self._ready().ask(request, seconds)
        except WorkerDiedError as died:
            if died.asked:
                raise
        return self._ready().ask(request, seconds)      # it was dead before it got the query

    def shut(self) -> None:
        """End the worker for good, also in the middle of a query."""
        with self._changing:
            self._shut = True
            if self._worker is not None:
                self._worker.kill()
        if self._using.acquire(timeout=1):  # the pipes are closed by who uses them, or here
            self._leave()
            self._using.release()

    def _ready(self) -> WorkerProcess:
        """A worker that lives and is not worn out."""
        worker = self._worker
        if worker is not None and (worker.asked >= QUERIES_A_WORKER or not worker.alive):
            self._leave()
        with self._changing:
            if self._shut:
                raise WorldNotReadyError(_CLOSED)
            if self._worker is None:
                self._worker = WorkerProcess(self._python, self._options)
            return self._worker

    def _leave(self) -> None:
        with self._changing:
            if self._worker is not None:
                self._worker.end()
                self._worker = None


def _close(seats: Sequence[_Seat], free: queue.LifoQueue[_Seat]) -> None:
    for seat in seats:
        seat.shut()
    for seat in seats:      # who still waits takes one, finds it shut, and gives it back
        free.put(seat)


def _since(begin: float) -> float:
    return round((time.monotonic() - begin) * 1000, 3)
