"""Requests are counted in fixed windows, as the API counts them."""

from __future__ import annotations

import pytest

from infranode_eval.infranode.snapshot import Snapshot
from infranode_eval.infranode.throttle import Throttle

CITY = "/api/v1/cities/bonn"


class Clock:
    """Seconds that move only when told."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def test_the_request_after_the_300th_in_a_minute_is_refused_until_the_window_ends():
    clock = Clock()
    snapshot = Snapshot(throttle=Throttle(clock))
    answers = [snapshot.respond("GET", CITY) for _ in range(300)]
    assert {answer.status for answer in answers} == {200}
    assert answers[-1].headers["ratelimit-remaining"] == "0"
    clock.now += 10
    refused = snapshot.respond("GET", CITY)
    assert refused.status == 429
    assert refused.json()["error"]["code"] == "rate_limited"
    assert refused.headers["retry-after"] == "50"
    clock.now += float(refused.headers["retry-after"])
    assert snapshot.respond("GET", CITY).status == 200


def test_an_hour_has_a_window_of_its_own():
    clock = Clock()
    throttle = Throttle(clock, per_minute=10, per_hour=25)
    allowed = 0
    for _ in range(5):
        allowed += sum(throttle.count("default").allowed for _ in range(10))
        clock.now += 60
    assert allowed == 25
    assert throttle.count("default").retry_after == 3600 - 300
    clock.now += 3300
    assert throttle.count("default").allowed


@pytest.mark.parametrize("target", ["/api/v1/compare?resource=air&cities=bonn", "/api/v1/sources?limit=200"])
def test_compare_and_sources_have_counters_of_their_own(target):
    snapshot = Snapshot(throttle=Throttle(Clock(), per_minute=1))
    assert [snapshot.respond("GET", CITY).status for _ in range(2)] == [200, 429]
    assert [snapshot.respond("GET", target).status for _ in range(2)] == [200, 429]


def test_retry_after_stands_on_answers_that_were_not_refused_too():
    answer = Snapshot().respond("GET", CITY)
    assert (answer.status, answer.headers["retry-after"]) == (200, "60")


def test_throttling_is_off_unless_asked_for():
    snapshot = Snapshot()
    assert {snapshot.respond("GET", CITY).status for _ in range(400)} == {200}


def test_true_counts_with_the_real_clock():
    snapshot = Snapshot(throttle=True)
    assert [snapshot.respond("GET", CITY).status for _ in range(301)][-1] == 429
