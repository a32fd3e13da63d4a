"""One request of a play with all that can come of it: an answer, blank replies before it, or a refusal that is noted.

What is noted goes into the journal, so that a resumed play does not ask again for what was refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from infranode_eval.db_routing.route import failure_of_reply
from infranode_eval.journal import request_key
from infranode_eval.providers.protocol import Answer, Messages, Noting, Provider, Sampling, Tools
from lm_eval_task.errors import ContextOverflowError, EmptyReplyError, RefusedRequestError
from lm_eval_task.records import fingerprint

OVERFLOW, HISTORY, RESULT = "overflow", "history", "result"      # what a note's name begins with
BLANK_REPLIES = 3       # so many in a row are a failure


@dataclass(frozen=True, slots=True)
class Asked:
    """answer: None where the context could not hold the request. blanks: replies before it that held nothing at all.

    attempts: how often it was sent.
    """

    request_sha256: str
    answer: Answer | None
    attempts: int = 1
    blanks: tuple[Answer, ...] = ()


class Asking:
    """The provider of one play. refused: (why, request) of each refusal that the play went round."""

    def __init__(self, provider: Provider, sampling: Sampling) -> None:
        self._provider, self._sampling = provider, sampling
        self._hashes: dict[int, str] = {}
        self.refused: list[tuple[str, str]] = []

    @property
    def timed(self) -> bool:
        """Does time count? A program's run stores none, so that it gives the same bytes again."""
        return not self._provider.deterministic

    @property
    def needs_text(self) -> bool:
        """Is the API known to refuse results of tools in a request without tools?"""
        return bool(getattr(self._provider, "results_need_tools", False))

    def ask(self, messages: Messages, tools: Tools | None, first: bool = False) -> Asked:
        """Raise what the provider raises; a context overflow that is not that of the first request is noted.

        Raise EmptyReplyError for replies that stay blank.
        """
        sha = self._key(messages, tools)
        if self.known(f"{OVERFLOW} {sha}"):
            self._refuse(OVERFLOW, sha)
            raise ContextOverflowError("the context could not hold this request before")
        if self.known(f"{HISTORY} {sha}"):
            self._refuse(HISTORY, sha)
            raise RefusedRequestError("this request was refused before", status=400)
        blanks: list[Answer] = []
        before = getattr(self._provider, "attempts", None)
        while len(blanks) < BLANK_REPLIES:
            answer = self._answer(messages, tools, sha, noting=not first and not blanks)
            failure = failure_of_reply(answer.message, answer.finish_reason, answer.usage)
            if failure is None:
                sent = len(blanks) + 1 if before is None else self._provider.attempts - before  # type: ignore[attr-defined]
                return Asked(sha, answer, sent, tuple(blanks))
            if failure.sub is not None:
                raise RefusedRequestError("the provider's content filter left no reply", sub=failure.sub)
            blanks.append(answer)
        raise EmptyReplyError(f"{BLANK_REPLIES} replies in a row were blank")

    def _answer(self, messages: Messages, tools: Tools | None, sha: str, noting: bool) -> Answer:
        try:
            return self._provider.ask(messages, tools, self._sampling)
        except ContextOverflowError:
            if noting:
                self.note(f"{OVERFLOW} {sha}", True)
                self._refuse(OVERFLOW, sha)
            raise

    def note_history(self, messages: Messages) -> None:
        """The request was refused for the tools' results in it."""
        sha = self._key(messages, None)
        if (HISTORY, sha) not in self.refused:
            self.note(f"{HISTORY} {sha}", True)
            self._refuse(HISTORY, sha)

    def _refuse(self, why: str, sha: str) -> None:
        self.refused.append((why, sha))

    def _key(self, messages: Messages, tools: Tools | None) -> str:
        """As the journal names the request of a first repeat."""
        if tools is not None and id(tools) not in self._hashes:
            self._hashes[id(tools)] = fingerprint(list(tools))
        return request_key("model", messages, None if tools is None else self._hashes[id(tools)],
                           self._sampling.to_json())

    def known(self, name: str) -> Any:
        """What an earlier part of this play has noted; None for nothing."""
        return self._provider.recalled(name) if isinstance(self._provider, Noting) else None

    def note(self, name: str, value: Mapping[str, Any] | bool) -> None:
        if isinstance(self._provider, Noting):
            self._provider.noted(name, lambda: value)
