"""How often one request is tried again, and how long it waits."""

from __future__ import annotations

import pytest

from infranode_eval.patience import Patience
from lm_eval_task.errors import AuthError, EmptyReplyError, InfraError, ProviderError, RateLimitedError


def patience(retries: int = 3, max_wait_s: float = 100.0) -> Patience:
    return Patience(retries, 0.5, max_wait_s, uniform=lambda low, high: (low + high) / 2)


def test_waits_double_up_to_half_a_minute() -> None:
    tried = patience(9)
    assert [tried.after_failure(InfraError("x")) for _ in range(9)] == [0.5, 1, 2, 4, 8, 16, 30, 30, 30]


@pytest.mark.parametrize(("retries", "error"), [(0, InfraError("x")), (3, AuthError("x"))])
def test_the_last_failure_is_the_error_itself(retries: int, error: ProviderError) -> None:
    with pytest.raises(ProviderError) as caught:
        patience(retries).after_failure(error)
    assert caught.value is error


def test_a_wait_that_is_asked_for_uses_up_no_retry() -> None:
    tried = patience(1)
    assert [tried.after_refusal(RateLimitedError("x", retry_after=20), now) for now in (0.0, 20.0, 40.0)] == [20] * 3
    assert tried.after_failure(EmptyReplyError("x")) == 0.5


def test_one_that_keeps_saying_soon_is_believed_once() -> None:
    tried = patience()
    assert [tried.after_refusal(RateLimitedError("x", retry_after=0), 0.0) for _ in range(7)] == [
        0, 0.5, 1, 2, 4, 8, 10]


def test_without_a_word_how_long_it_is_a_retry() -> None:
    tried = patience(1)
    assert tried.after_refusal(RateLimitedError("x"), 0.0) == 0.5
    with pytest.raises(RateLimitedError):
        tried.after_refusal(RateLimitedError("x"), 1.0)


@pytest.mark.parametrize(("waits", "reason"), [([(101.0, 0.0)], "at once"),
                                               ([(60.0, 0.0), (60.0, 60.0)], "counted from the first refusal")])
def test_nobody_waits_longer_than_the_limit(waits: list[tuple[float, float]], reason: str) -> None:
    tried = patience()
    *before, (last, now) = waits
    for retry_after, at in before:
        tried.after_refusal(RateLimitedError("x", retry_after=retry_after), at)
    with pytest.raises(RateLimitedError):
        tried.after_refusal(RateLimitedError("x", retry_after=last), now)
