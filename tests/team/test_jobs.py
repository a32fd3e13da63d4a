"""Background tasks and the gate: ends that are told once, in order, and failures that nobody waits out."""

from __future__ import annotations

import threading
import time

import pytest

from infranode_eval.team.jobs import Gate, Jobs


def nothing() -> None:
    pass


def test_ids_hold_a_letter_and_a_number_of_their_own() -> None:
    jobs = Jobs()
    assert [jobs.start(letter, lambda job: ("", False)).id for letter in "rbw"] == ["r1", "b2", "w3"]


def test_what_is_done_is_delivered_once_in_the_order_of_its_numbers() -> None:
    jobs, release = Jobs(), threading.Event()
    jobs.start("r", lambda job: (str(release.wait(2)), False))
    for number in range(11):
        jobs.start("r", lambda job, number=number: (str(number), number == 3))
    jobs.wait(lambda: len(jobs.ready()) == 11, nothing)
    assert jobs.ready()[:2] == ["r2", "r3"] and jobs.undelivered and not jobs.all_done()
    delivered = jobs.deliver(["r12", "r5", "r3", "r99"])
    assert [(job.id, job.text, job.failed) for job in delivered] == [("r3", "1", False), ("r5", "3", True),
                                                                     ("r12", "10", False)]
    assert jobs.deliver(["r3"]) == []
    release.set()
    jobs.wait(jobs.all_done, nothing)
    assert jobs.deliver(jobs.ready())[0].id == "r1" and not jobs.undelivered


def test_ids_that_were_never_started_are_not_waited_for() -> None:
    jobs = Jobs()
    jobs.start("r", lambda job: (str(job.cancelled.wait(2)), False))
    assert jobs.all_done(["r7"]) and not jobs.all_done(["r1", "r7"])
    jobs.cancel_all()
    assert jobs.join(2)


def test_the_first_failure_of_any_thread_is_raised_to_whoever_waits() -> None:
    jobs = Jobs()
    jobs.start("r", lambda job: (str(job.cancelled.wait(5)), False))

    def fail() -> None:
        raise KeyError("eins")

    jobs.thread(fail).join()
    jobs.fail(ValueError("zwei"))
    began = time.monotonic()
    with pytest.raises(KeyError):
        jobs.wait(jobs.all_done, nothing)
    assert time.monotonic() - began < 1
    jobs.cancel_all()
    assert jobs.join(2)


def test_whoever_waits_looks_around_and_may_give_up() -> None:
    jobs, beats = Jobs(), []

    def beat() -> None:
        beats.append(1)
        if len(beats) == 3:
            raise TimeoutError

    with pytest.raises(TimeoutError):
        jobs.wait(lambda: False, beat)


def test_cancelled_jobs_are_told_and_delivered_no_more() -> None:
    jobs = Jobs()
    job = jobs.start("b", lambda job: (str(job.cancelled.wait(2)), False))
    jobs.cancel_all()
    assert job.cancelled.is_set() and not jobs.undelivered and jobs.join(2)
    assert jobs.deliver(["b1"]) == []


def test_joining_ends_with_its_time() -> None:
    jobs, release = Jobs(), threading.Event()
    jobs.thread(lambda: release.wait(5) and None)
    assert jobs.join(0.1) is False
    release.set()
    assert jobs.join(2) is True


def test_the_gate_lets_in_by_the_order_of_tickets_not_of_threads() -> None:
    gate, inside, lock, now, most = Gate(2), [], threading.Lock(), [0], [0]
    tickets = [gate.ticket() for _ in range(6)]

    def pass_through(number: int) -> None:
        with gate.passed(tickets[number]):
            with lock:
                inside.append(number)
                now[0] += 1
                most[0] = max(most[0], now[0])
            time.sleep(0.03)
            with lock:
                now[0] -= 1

    threads = [threading.Thread(target=pass_through, args=(number,)) for number in reversed(range(6))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(3)
    assert most[0] == 2 and sorted(inside[:2]) == [0, 1] and sorted(inside[2:4]) == [2, 3]


def test_a_place_is_free_again_after_an_error() -> None:
    gate = Gate(1)
    with pytest.raises(ValueError), gate.passed(gate.ticket()):
        raise ValueError
    assert gate.ticket().is_set()
