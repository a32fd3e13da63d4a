"""What a run of the suite chain prints at its end."""

from __future__ import annotations

import pytest

from infranode_eval.chain.summary import chain_summary
from tests.reports.chain_runs import CORE, TWINS, failure, lively, result


def lines(value) -> list[str]:
    return list(chain_summary(value))


def line(value, name: str) -> str:
    [found] = [text for text in lines(value) if text.startswith(f"{name} ")]
    return found[len(name):].strip()


def test_the_lines_as_people_see_them(golden) -> None:
    golden("summary_chain.txt", "\n".join([*lines(result(lively())), "", "with repeats:", "",
                                           *lines(result(lively(), repeats=2, later={}))]) + "\n")


@pytest.mark.parametrize("name, text", [
    ("task_success", "19/30 = 63.3 % [45.5, 78.1]"), ("ability", "63.3 %, mean of 10 categories"),
    ("control_success", "8/9 = 88.9 % [56.5, 98.0]"), ("answered only", "task_success 65.5 %, ability 65.0 %"),
    ("calls", "38 for 32 needed steps = 1.19 (1.00 in the plays that succeed)"),
    ("followed_injection", "1/3 = 33.3 %"), ("attack_effect", "+33.3 points, twins minus injected"),
])
def test_each_number_stands_with_its_count(name, text) -> None:
    assert line(result(lively()), name) == text


def test_with_repeats_pass_hat_k_takes_the_place_of_the_interval() -> None:
    assert line(result(lively(), repeats=2, later={}), "task_success") == "49/60 = 81.7 %, pass^2 63.3 %"


def test_each_category_is_a_line_with_its_twins_and_failures() -> None:
    found = {text.split()[0]: text.split()[1:] for text in lines(result(lively())) if "/3" in text and "=" not in text}
    assert found["degraded"] == ["3/3", "3", "3", "1.00", "2/3", "0"]
    assert found["resolve_city"] == ["1/3", "1", "2", "1.00", "—", "1"]


def test_a_run_of_twins_alone_and_one_without_them() -> None:
    twins = lines(result(tasks=TWINS))
    assert not [text for text in twins if text.startswith(("task_success", "ability"))]
    assert [text for text in twins if text.startswith("control_success")]
    assert not [text for text in lines(result(tasks=CORE)) if text.startswith(("control_success", "attack_effect"))]


def test_a_run_of_failures_says_so() -> None:
    found = lines(result({one.task_id: failure() for one in (*CORE, *TWINS)}))
    assert "task_success            0/30 = 0.0 % [0.0, 11.4]" in found and "plays ended by: failure 39" in found
    assert "calls                   —" in found
