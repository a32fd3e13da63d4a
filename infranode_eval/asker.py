"""The provider that a suite plays against: takes stored answers first, else sends, waits, retries and records."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from infranode_eval.journal import Entry, request_key
from infranode_eval.pace import Either, Pace, Ticket
from infranode_eval.patience import Patience
from infranode_eval.providers.conversation import Conversation
from infranode_eval.providers.protocol import Adapted, Answer, Messages, Provider, Sampling, Tools
from infranode_eval.providers.token_usage import normal_usage
from infranode_eval.suites import IN_ORDER
from infranode_eval.tokens import estimate
from lm_eval_task.errors import EmptyReplyError, ProviderError, RateLimitedError, UsageError

if TYPE_CHECKING:
    from infranode_eval.runner import Runner


class Stopped(Exception):
    """The run ends; this task was not answered."""


class Diverged(UsageError):
    """A play asks something else than the stored one did: code, prompt or world have changed."""


class Book:
    """What one play has asked and been told, by all its roles; safe to use from many threads."""

    def __init__(self, task_id: str, repeat: int, stored: Sequence[Entry], order: str | None) -> None:
        self.task_id, self.repeat, self.order = task_id, repeat, order
        self.attempts = 0   # requests, those behind stored answers included
        self.sent = 0       # requests of this run
        self.replayed = 0   # answers that were stored
        self.keys: list[str] = []
        self.obtained: list[Entry] = []     # all that this play has been told so far
        self.lock = threading.RLock()
        self._stored = list(stored)

    @property
    def started_with_answers(self) -> bool:
        return bool(self._stored)

    @property
    def unused(self) -> int:
        """Stored answers that nobody asked for."""
        return sum(e.answer is not None for e in self._stored) if self.order else 0

    def take(self, key: str) -> Entry | None:
        """The stored answer to a request, which is given once; where answers come in order the next one must be it.

        Raise Diverged where it is another's.
        """
        with self.lock:
            if self.order == IN_ORDER:
                entry = next((e for e in self._stored if e.answer is not None), None)
                if entry is not None and entry.key != key:
                    raise Diverged(f"task {self.task_id}: request {len(self.keys) + 1} is not the one whose answer is "
                                   "stored, so code, prompt or world have changed since; --resume --force starts that "
                                   "task anew")
            else:
                entry = next((e for e in self._stored if e.answer is not None and e.key == key), None)
            if entry is not None:
                self._stored.remove(entry)
                self.attempts += entry.attempts
                self.replayed += 1
            return entry

    def note(self, name: str) -> Entry | None:
        """What was noted under a name."""
        with self.lock:     # other roles take answers out meanwhile
            return next((e for e in self._stored if e.answer is None and e.key == name), None)

    def tell(self, entry: Entry, key: str) -> None:
        """Keep what the play was told."""
        with self.lock:
            if key:
                self.keys.append(key)
                self.obtained.append(entry)

    def attempt(self) -> None:
        with self.lock:
            self.attempts += 1
            self.sent += 1

    def settle(self) -> None:
        """The play is over as it was stored: all its answers count as used."""
        with self.lock:
            for entry in self._stored:
                self.attempts += entry.attempts
            self._stored.clear()


class Asker:
    """One play's provider, or one of its roles. The runner's paces, limits and journal are those of all plays."""

    setup: str | None = None

    def __init__(self, runner: Runner, provider: Provider, task_id: str, repeat: int, stored: Sequence[Entry]) -> None:
        self._begin(runner, provider, Book(task_id, repeat, stored, runner.suite.REPLAYS), "model", runner.stopping)

    def _begin(self, runner: Runner, provider: Provider, book: Book, role: str,
               stopping: threading.Event | Either) -> None:
        self.deterministic = provider.deterministic
        self.results_need_tools = getattr(provider, "results_need_tools", False)
        self.book = book
        self._runner, self._provider, self._role, self._stopping = runner, provider, role, stopping

    def as_role(self, name: str, cancelled: threading.Event) -> Asker:
        """The provider of a role, in the same book. cancelled: set where the play needs no more answers."""
        role = Asker.__new__(Asker)
        provider = self._provider.roles[name]  # type: ignore[attr-defined]
        role._begin(self._runner, provider, self.book, name, Either(self._runner.stopping, cancelled))
        return role

    def ask(self, messages: Messages, tools: Tools | None, sampling: Sampling) -> Answer:
        """As Provider.ask, over several attempts. Raise Stopped when the run ends meanwhile."""
        return self.asked(messages, tools, sampling).answer  # type: ignore[return-value]

    def asked(self, messages: Messages, tools: Tools | None, sampling: Sampling, session: str = "") -> Entry:
        """As `ask`, with the key of the request. session: which of several conversations of a role asks, so that two
        with the same words get their own stored answers."""
        book = self.book
        sampling = sampling.of_repeat(book.repeat)
        storing = self._runner.journal is not None or book.started_with_answers or book.replayed
        key = self._key(messages, tools, sampling, session) if storing else ""
        entry = book.take(key) if key else None
        if entry is None:
            answer, attempts = self._obtained(messages, tools, sampling)
            entry = Entry(book.task_id, book.repeat, key, answer, attempts,
                          len(book.keys) if book.order == IN_ORDER else None)
            if self._runner.journal is not None:
                self._runner.journal.append(entry)
        book.tell(entry, key)
        return entry

    def noted(self, name: str, make: Callable[[], Any]) -> Any:
        """What `make` gives, a JSON value; in a resumed play what it gave before."""
        book = self.book
        entry = book.note(name)
        if entry is None:
            entry = Entry(book.task_id, book.repeat, name, None, 0, None, make())
            if self._runner.journal is not None:
                self._runner.journal.append(entry)
        book.obtained.append(entry)
        return entry.note

    def recalled(self, name: str) -> Any:
        """What an earlier part of this play has noted; None for nothing."""
        entry = self.book.note(name)
        if entry is None:
            return None
        self.book.obtained.append(entry)
        return entry.note

    @property
    def attempts(self) -> int:
        """Requests of this play so far, those behind stored answers included."""
        return self.book.attempts

    def settle(self) -> None:
        """The play is over as it was stored: all its answers count as used."""
        self.book.settle()

    @property
    def stopped(self) -> bool:
        """Does the run end, or is this role no longer needed?"""
        return self._stopping.is_set()

    @property
    def paused_s(self) -> float:
        """How long the endpoints of the run have asked everybody to wait, in seconds."""
        return self._runner.paces.paused_s

    def close(self) -> None:
        pass

    def _key(self, messages: Messages, tools: Tools | None, sampling: Sampling, session: str) -> str:
        tools_hash = None if tools is None else self._runner.tools_hash(tools)
        return request_key(f"{self._role} {session}".rstrip(), messages, tools_hash, sampling.to_json())

    def _obtained(self, messages: Messages, tools: Tools | None, sampling: Sampling) -> tuple[Answer, int]:
        """The answer, and how often the request was sent for it."""
        limits, pace, attempts = self._runner.limits, self._runner.paces.of(self._provider), 0
        patience = Patience(limits.retries, limits.backoff_s, limits.max_wait_s)
        tokens = estimated_tokens(messages, tools) if limits.tpm else 0
        while True:
            ticket = pace.turn(self._stopping, tokens)
            if ticket is None:
                raise Stopped
            attempts += 1
            self.book.attempt()
            try:
                answer = self._provider.ask(messages, tools, sampling)
            except Adapted:
                pace.failed(ticket)   # sent otherwise now: another attempt, but no retry
            except RateLimitedError as error:
                self._put_off(error, patience, ticket, pace)
            except EmptyReplyError as error:
                if self._runner.suite.TAKES_BLANK and isinstance(error.answer, Answer) and has_cost(error.answer):
                    pace.answered(ticket, billed_tokens(error.answer) if limits.tpm else None)
                    return error.answer, attempts
                pace.failed(ticket)
                self._wait_after(error, patience)
            except ProviderError as error:
                pace.failed(ticket)
                self._wait_after(error, patience)
            else:
                pace.answered(ticket, billed_tokens(answer) if limits.tpm else None)
                return answer, attempts

    def _put_off(self, error: RateLimitedError, patience: Patience, ticket: Ticket, pace: Pace) -> None:
        """A pause for everybody. An endpoint that lets nobody through for as long as anybody waits ends the run."""
        runner = self._runner
        try:
            pause_s = patience.after_refusal(error, time.monotonic())
        except RateLimitedError:
            pace.refused(ticket, error.retry_after or 0.0)
            if patience.refused_at is not None and pace.answered_at < patience.refused_at:
                runner.stop(f"nothing was answered for as long as --max-wait allows ({runner.limits.max_wait_s:g} s), "
                            f"and the endpoint asks for {error.retry_after:g} s more: {error}")
            raise
        pace.refused(ticket, pause_s)

    def _wait_after(self, error: ProviderError, patience: Patience) -> None:
        """This request waits, others do not. Raise the error if it was the last attempt."""
        stopping = self._stopping
        if stopping.is_set() and error.retryable:
            raise Stopped from None
        if stopping.wait(patience.after_failure(error)):
            raise Stopped from None


def estimated_tokens(messages: Messages, tools: Tools | None) -> int:
    """What a request may cost of a token limit, by the length of its text; the pace learns how far that is off."""
    told = messages if isinstance(messages, Conversation) else Conversation(messages)
    return sum(told.made("tokens", lambda message: estimate(str(message)))) + (estimate(str(tools)) if tools else 0)


def has_cost(answer: Answer) -> bool:
    """Were tokens billed for the reply itself?"""
    usage = normal_usage(answer.usage)
    return bool(usage and usage["output_tokens"])


def billed_tokens(answer: Answer) -> int | None:
    """Input and output together; None where the endpoint does not say."""
    usage = normal_usage(answer.usage)
    if not usage or usage["input_tokens"] is None:
        return None
    return usage["input_tokens"] + (usage["output_tokens"] or 0)
