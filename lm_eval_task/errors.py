"""The failures of the project, one small tree; each message is one line that says what, where, expected, what to do.

    BenchError
    ├── UsageError          a flag or an argument that cannot be meant            exit 2
    ├── DataError           a file that breaks its format (path:line)             exit 2
    ├── IncompleteError     a run that ended without all answers                  exit 3
    └── ProviderError       no answer was obtained; `outcome` names the failure   stored in the row
        ├── InfraError          timeout, reset, 5xx, broken body                  retried
        ├── RateLimitedError    429; `retry_after` in seconds or None             waited for
        ├── EmptyReplyError     text, calls and reasoning all blank               retried
        ├── AuthError           401, 403                                          not retried
        ├── ContextOverflowError  the prompt does not fit the model               not retried
        ├── WorldNotReadyError    a play's world gives no answer                  not retried
        └── RefusedRequestError   any other 4xx                                   not retried
"""

from __future__ import annotations


class BenchError(Exception):
    """Anything the commands report in one line. `exit_code` is the process's exit status."""

    exit_code = 2


class UsageError(BenchError):
    """The command line asks for something that does not exist or does not fit together."""


class DataError(BenchError):
    """A data file breaks its format.

    `str()` is ``path:line: message`` with the parts that are known.
    """

    def __init__(self, message: str, path: object = None, line: int | None = None) -> None:
        where = "" if path is None else f"{path}: " if line is None else f"{path}:{line}: "
        super().__init__(where + message)
        self.path, self.line = path, line


class IncompleteError(BenchError):
    """A run ended without an answer for every task; what was answered is stored."""

    exit_code = 3


class ProviderError(BenchError):
    """No answer was obtained. `outcome` is the failure's label in the row (specification: scoring, Outcomes)."""

    exit_code = 3
    outcome = "infra_error"
    retryable = False

    def __init__(self, message: str, *, status: int | None = None, sub: str | None = None) -> None:
        super().__init__(message)
        self.status, self.sub = status, sub


class InfraError(ProviderError):
    """The endpoint or the way to it failed; trying again may help."""

    retryable = True


class RateLimitedError(ProviderError):
    """The endpoint asks to wait. `retry_after` in seconds, None if it did not say."""

    retryable = True

    def __init__(self, message: str, *, retry_after: float | None = None, status: int | None = 429) -> None:
        super().__init__(message, status=status)
        self.retry_after = retry_after


class EmptyReplyError(ProviderError):
    """The endpoint answered with nothing at all: never counted as a deliberate silence.

    answer: what came, for a suite that counts a blank reply which has cost tokens as an answer.
    """

    outcome = "empty_reply"
    retryable = True
    answer: object = None


class AuthError(ProviderError):
    """The key is missing, wrong or not allowed to use the model."""

    outcome = "auth_error"


class ContextOverflowError(ProviderError):
    """The prompt is longer than the model's context."""

    outcome = "context_overflow"


class WorldNotReadyError(ProviderError):
    """The world of a play does not answer, so that no reply can be judged; the model has nothing to do with it."""

    outcome = "not_run"


class RefusedRequestError(ProviderError):
    """The endpoint understood the request and refuses it for good (400, 404, 422)."""
