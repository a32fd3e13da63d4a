"""How often and how long one request is tried again."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from lm_eval_task.errors import ProviderError, RateLimitedError

LONGEST_BACKOFF_S = 30.0
LONGEST_FLOOR_S = 10.0


@dataclass(slots=True)
class Patience:
    """The count of one request.

    retries: after failures that may pass. backoff_s: the wait before the first of them, doubled each time, jittered.
    max_wait_s: the longest it lets itself be put off by an endpoint that says how long to wait.
    """

    retries: int
    backoff_s: float
    max_wait_s: float
    failures: int = 0
    refusals: int = 0
    refused_at: float | None = None
    uniform: Callable[[float, float], float] = random.uniform

    def after_failure(self, error: ProviderError) -> float:
        """Seconds to wait before the next attempt. Raise the error itself if there is none."""
        if not error.retryable or self.failures >= self.retries:
            raise error
        wait_s = min(LONGEST_BACKOFF_S, self.backoff_s * 2 ** self.failures) * self.uniform(0.5, 1.5)
        self.failures += 1
        return wait_s

    def after_refusal(self, error: RateLimitedError, now: float) -> float:
        """Seconds that nobody should send, after a 429: as long as it says, which is a pause and no retry.

        One that keeps saying "soon" is believed once; without a Retry-After it is a failure that may pass. now:
        monotonic seconds. Raise the error itself if the wait would be too long.
        """
        if error.retry_after is None:
            return self.after_failure(error)
        floor_s = min(LONGEST_FLOOR_S, self.backoff_s * 2 ** (self.refusals - 1)) if self.refusals else 0.0
        pause_s = max(error.retry_after, floor_s)
        self.refusals += 1
        self.refused_at = now if self.refused_at is None else self.refused_at
        if now - self.refused_at + pause_s > self.max_wait_s:
            raise error
        return pause_s
