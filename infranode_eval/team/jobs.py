"""What runs beside the manager: each job in a thread of its own, its end told once, in the order of its number."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

AT_ONCE = 8     # runs of sub-agents in one scenario; further ones start in order


@dataclass(eq=False, slots=True)
class Job:
    """One background task. id: a letter and its number; run: of a sub-agent, in the log of runs; text, failed: what
    came of it, once it is done."""

    id: str
    number: int
    run: str = ""
    cancelled: threading.Event = field(default_factory=threading.Event)
    done: bool = False
    text: str = ""
    failed: bool = False


class Gate:
    """Lets so many through at once, in the order in which they took a ticket."""

    def __init__(self, places: int) -> None:
        self._free = places
        self._queue: deque[threading.Event] = deque()
        self._lock = threading.Lock()

    def ticket(self) -> threading.Event:
        """A place in the queue, to be handed to `passed`: threads are not started in the order in which they run."""
        ticket = threading.Event()
        with self._lock:
            if self._free:
                self._free -= 1
                ticket.set()
            else:
                self._queue.append(ticket)
        return ticket

    @contextmanager
    def passed(self, ticket: threading.Event) -> Iterator[None]:
        """Wait until it is the ticket's turn; the place is free again behind the block."""
        ticket.wait()
        try:
            yield
        finally:
            self._leave()

    def _leave(self) -> None:
        with self._lock:
            if self._queue:
                self._queue.popleft().set()
            else:
                self._free += 1


class Jobs:
    """All background tasks of a play. Its owner, the manager's thread, delivers and cancels; jobs only end."""

    def __init__(self) -> None:
        self._bell = threading.Condition()
        self._count = 0
        self._open: dict[str, Job] = {}     # started and not delivered
        self._threads: list[threading.Thread] = []
        self.crash: BaseException | None = None
        self.over = threading.Event()       # set where nothing that runs is needed any more

    @property
    def undelivered(self) -> bool:
        return bool(self._open)

    def start(self, letter: str, work: Callable[[Job], tuple[str, bool]], run: str = "") -> Job:
        """Run `work` in a thread; what it gives is (text, failed)."""
        self._count += 1
        job = Job(f"{letter}{self._count}", self._count, run)
        self._open[job.id] = job
        self.thread(lambda: self._finish(job, *work(job)))
        return job

    def thread(self, work: Callable[[], None]) -> threading.Thread:
        """A daemon thread; whatever it raises ends the play."""
        def guarded() -> None:
            try:
                work()
            except BaseException as error:
                self.fail(error)

        thread = threading.Thread(target=guarded, daemon=True)
        with self._bell:
            self._threads = [*(one for one in self._threads if one.is_alive()), thread]
        thread.start()
        return thread

    def fail(self, error: BaseException) -> None:
        """The first failure in any thread is the play's."""
        with self._bell:
            self.crash = self.crash or error
            self.over.set()
            self._bell.notify_all()

    def _finish(self, job: Job, text: str, failed: bool) -> None:
        job.text, job.failed, job.done = text, failed, True
        self.ring()

    def ring(self) -> None:
        """Something has ended: whoever waits looks again."""
        with self._bell:
            self._bell.notify_all()

    def ready(self) -> list[str]:
        """The ids of jobs that are done and not delivered, by number."""
        return [job.id for job in self._open.values() if job.done]

    def wait(self, enough: Callable[[], bool], beat: Callable[[], None]) -> None:
        """Wait until `enough`; `beat` is called five times a second and may raise. Raise a thread's failure."""
        while True:
            with self._bell:
                self.check()
                if enough():
                    return
                self._bell.wait(0.2)
            beat()

    def check(self) -> None:
        """Raise the first failure of any thread."""
        if self.crash is not None:
            raise self.crash

    def all_done(self, ids: Iterable[str] | None = None) -> bool:
        """Of these, or of all that are undelivered. An id that was never started is not waited for."""
        wanted = self._open if ids is None else [name for name in ids if name in self._open]
        return all(self._open[name].done for name in wanted)

    def deliver(self, ids: Sequence[str]) -> list[Job]:
        """Take jobs out, in the order of their numbers."""
        return sorted((self._open.pop(name) for name in ids if name in self._open), key=lambda job: job.number)

    def cancel_all(self) -> None:
        """Nobody waits for them any more."""
        for job in self._open.values():
            job.cancelled.set()
        self._open.clear()

    def join(self, seconds: float) -> bool:
        """Wait for all threads, so many seconds together; did all end?"""
        until = time.monotonic() + seconds
        for thread in tuple(self._threads):
            thread.join(max(0.0, until - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)
