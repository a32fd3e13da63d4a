"""The provider that a suite plays against: takes stored answers first, else sends, waits, retries and records."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from infranode_eval.journal import Entry, request_key
from infranode_eval.pace import Ticket
from infranode_eval.patience import Patience
from infranode_eval.providers.conversation import Conversation
from infranode_eval.providers.protocol import Adapted, Answer, Messages, Provider, Sampling, Tools
from infranode_eval.providers.token_usage import normal_usage
from infranode_eval.tokens import estimate
from lm_eval_task.errors import EmptyReplyError, ProviderError, RateLimitedError, UsageError
from lm_eval_task.records import fingerprint

if TYPE_CHECKING:
    from infranode_eval.runner import Runner


class Stopped(Exception):
    """The run ends; this task was not answered."""


class Diverged(UsageError):
    """A play asks something else than the stored one did: code, prompt or world have changed."""


class Asker:
    """One play's provider. The runner's pace, limits and journal are those of all plays of the run."""

    setup: str | None = None

    def __init__(self, runner: Runner, provider: Provider, task_id: str, repeat: int, stored: Sequence[Entry]) -> None:
        self.deterministic = provider.deterministic
        self.attempts = 0   # requests, those behind stored answers included
        self.sent = 0       # requests of this run
        self.keys: list[str] = []
        self.obtained: list[Entry] = []     # all that this play has been told so far
        self._runner, self._provider, self._task_id, self._repeat = runner, provider, task_id, repeat
        self._stored = list(stored)
        self._replays = runner.suite.REPLAYS
        self.results_need_tools = getattr(provider, "results_need_tools", False)

    def ask(self, messages: Messages, tools: Tools | None, sampling: Sampling) -> Answer:
        """As Provider.ask, over several attempts. Raise Stopped when the run ends meanwhile."""
        sampling = sampling.of_repeat(self._repeat)
        key = "" if self._runner.journal is None and not self._stored else self._key(messages, tools, sampling)
        entry = self._stored_entry(key)
        if entry is not None:
            self._stored.remove(entry)
            self.attempts += entry.attempts
        else:
            before = self.attempts
            answer = self._obtained(messages, tools, sampling)
            entry = Entry(self._task_id, self._repeat, key, answer, self.attempts - before,
                          len(self.keys) if self._replays else None)
            if self._runner.journal is not None:
                self._runner.journal.append(entry)
        if key:
            self.keys.append(key)
            self.obtained.append(entry)
        return entry.answer

    def _stored_entry(self, key: str) -> Entry | None:
        """The stored answer; in a play of several requests the next one, which must answer this very request."""
        if not self._replays:
            return next((e for e in self._stored if e.key == key), None)
        entry = next((e for e in self._stored if e.answer is not None), None)
        if entry is not None and entry.key != key:
            raise Diverged(f"task {self._task_id}: request {len(self.keys) + 1} is not the one whose answer is stored, "
                           "so code, prompt or world have changed since; --resume --force starts that task anew")
        return entry

    def noted(self, name: str, make: Callable[[], Any]) -> Any:
        """What `make` gives, a JSON value; in a resumed play what it gave before."""
        entry = next((e for e in self._stored if e.answer is None and e.key == name), None)
        if entry is None:
            entry = Entry(self._task_id, self._repeat, name, None, 0, None, make())
            if self._runner.journal is not None:
                self._runner.journal.append(entry)
        self.obtained.append(entry)
        return entry.note

    @property
    def unused(self) -> int:
        """Stored answers that nobody asked for."""
        return sum(e.answer is not None for e in self._stored) if self._replays else 0

    def close(self) -> None:
        pass

    def _key(self, messages: Messages, tools: Tools | None, sampling: Sampling) -> str:
        runner = self._runner
        known = tools is None or tools is runner.setup.tools_json
        tools_hash = None if tools is None else runner.tools_hash if known else fingerprint(list(tools))
        return request_key("model", messages, tools_hash, sampling.to_json())

    def _obtained(self, messages: Messages, tools: Tools | None, sampling: Sampling) -> Answer:
        limits, pace = self._runner.limits, self._runner.pace
        patience = Patience(limits.retries, limits.backoff_s, limits.max_wait_s)
        tokens = estimated_tokens(messages, tools) if limits.tpm else 0
        while True:
            ticket = pace.turn(self._runner.stopping, tokens)
            if ticket is None:
                raise Stopped
            self.attempts += 1
            self.sent += 1
            try:
                answer = self._provider.ask(messages, tools, sampling)
            except Adapted:
                pace.failed(ticket)   # sent otherwise now: another attempt, but no retry
            except RateLimitedError as error:
                self._put_off(error, patience, ticket)
            except EmptyReplyError as error:
                if self._runner.suite.TAKES_BLANK and isinstance(error.answer, Answer) and has_cost(error.answer):
                    pace.answered(ticket, billed_tokens(error.answer) if limits.tpm else None)
                    return error.answer
                pace.failed(ticket)
                self._wait_after(error, patience)
            except ProviderError as error:
                pace.failed(ticket)
                self._wait_after(error, patience)
            else:
                pace.answered(ticket, billed_tokens(answer) if limits.tpm else None)
                return answer

    def _put_off(self, error: RateLimitedError, patience: Patience, ticket: Ticket) -> None:
        """A pause for everybody. An endpoint that lets nobody through for as long as anybody waits ends the run."""
        runner = self._runner
        try:
            pause_s = patience.after_refusal(error, time.monotonic())
        except RateLimitedError:
            runner.pace.refused(ticket, error.retry_after or 0.0)
            if patience.refused_at is not None and runner.pace.answered_at < patience.refused_at:
                runner.stop(f"nothing was answered for as long as --max-wait allows ({runner.limits.max_wait_s:g} s), "
                            f"and the endpoint asks for {error.retry_after:g} s more: {error}")
            raise
        runner.pace.refused(ticket, pause_s)

    def _wait_after(self, error: ProviderError, patience: Patience) -> None:
        """This request waits, others do not. Raise the error if it was the last attempt."""
        stopping = self._runner.stopping
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
