"""The tree of failures: labels, exit codes, messages of one line."""

from __future__ import annotations

import pytest

from lm_eval_task import errors
from lm_eval_task.records import FAILURES

KINDS = [
    # (class, exit code, outcome in a row, tried again)
    (errors.UsageError, 2, None, None), (errors.DataError, 2, None, None), (errors.IncompleteError, 3, None, None),
    (errors.InfraError, 3, "infra_error", True), (errors.RateLimitedError, 3, "infra_error", True),
    (errors.EmptyReplyError, 3, "empty_reply", True), (errors.AuthError, 3, "auth_error", False),
    (errors.ContextOverflowError, 3, "context_overflow", False), (errors.RefusedRequestError, 3, "infra_error", False),
]


@pytest.mark.parametrize(("kind", "code", "outcome", "again"), KINDS, ids=[k[0].__name__ for k in KINDS])
def test_kind(kind: type[errors.BenchError], code: int, outcome: str | None, again: bool | None) -> None:
    error = kind("what happened")
    assert isinstance(error, errors.BenchError) and error.exit_code == code and str(error) == "what happened"
    if outcome is None:
        assert not isinstance(error, errors.ProviderError)
    else:
        assert isinstance(error, errors.ProviderError)
        assert error.outcome == outcome in FAILURES
        assert error.retryable is again


@pytest.mark.parametrize("kind", [k[0] for k in KINDS], ids=[k[0].__name__ for k in KINDS])
def test_the_tree_is_drawn_in_the_module(kind: type) -> None:
    assert kind.__name__ in str(errors.__doc__)


def test_data_errors_say_where() -> None:
    assert str(errors.DataError("is broken")) == "is broken"
    assert str(errors.DataError("is broken", "a.json")) == "a.json: is broken"
    error = errors.DataError("is broken", "a.jsonl", 7)
    assert (str(error), error.path, error.line) == ("a.jsonl:7: is broken", "a.jsonl", 7)


def test_what_an_endpoint_said_is_kept() -> None:
    assert errors.RateLimitedError("wait", retry_after=2.5).retry_after == 2.5
    assert errors.RateLimitedError("wait").status == 429
    assert (errors.InfraError("x", status=503).status, errors.InfraError("x", sub="timeout").sub) == (503, "timeout")
