"""The suites that lm-eval plays: how their tasks are named, and what its samples keep of a verdict.

Everything else about a suite, its questions and its scorer included, is what run_eval.py plays it with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from infranode_eval.providers.protocol import Answer, Sampling
from infranode_eval.reports import bench
from infranode_eval.reports.archive import DETAILS, MAIN_SUITE, UNKNOWN, is_number
from infranode_eval.suites import MAIN, Setup, Suite, Transcript, open_suite
from lm_eval_task.bench_harness import numbers_of
from lm_eval_task.cases import row_of, task_of
from lm_eval_task.records import MATCHES, Reply, Score, Task
from lm_eval_task.tools import Toolset

Sample = Mapping[str, Any]
WHY = "stored by lm-eval without an outcome"


@dataclass(frozen=True, slots=True)
class Played:
    """A suite as lm-eval plays it.

    prefix: how the names of its tasks begin. name, usual: the suite and its usual set-up, as reports call them.
    opens: the name of its module. takes_tools: it is asked with the tools at hand, not always with its own. grouped:
    the sub-tasks of a group are one run. checked: (task of a document, tools) → the task; raises DataError. stored:
    the verdict in a sample. agrees: would the sample hold this verdict?
    """

    prefix: str
    name: str
    usual: str
    opens: str
    takes_tools: bool
    grouped: bool
    checked: Callable[[Task, Toolset], Task]
    stored: Callable[[Sample], Score]
    agrees: Callable[[Sample, Task, Score], bool]

    @property
    def suite(self) -> Suite:
        return open_suite(self.opens)

    def tools(self, at_hand: Toolset) -> Toolset:
        """Those that lm-eval asks with. Raise DataError where the suite's own are broken."""
        return at_hand if self.takes_tools else self.suite.read_tools(None)

    def setup(self, tools: Toolset, tasks: Iterable[Task]) -> Setup:
        """What the tasks are asked with, in prompted mode. Raise DataError."""
        suite = self.suite
        return Setup.of("prompt", tools, Sampling(suite.MAX_TOKENS), suite.offering(tuple(tasks), tools),
                        suite.scene(None, tools))

    def verdict(self, task: Task, reply: Reply, setup: Setup) -> Score:
        """This scorer's, on the text that lm-eval scored."""
        return self.suite.score(task, Transcript((), (Answer(reply.message, reply.finish_reason),)), setup)


# --- the main suite ---------------------------------------------------------------------------------------------------

def _unchecked(task: Task, tools: Toolset) -> Task:
    return task


def _matches(sample: Sample) -> dict[str, bool]:
    """datum_match of a sample scored before 1.1 is the least that it can be."""
    return {name: bool(sample.get(name, sample.get("request_match") if name == "datum_match" else None))
            for name in MATCHES}


def _stored_matches(sample: Sample) -> Score:
    return Score(UNKNOWN, why=WHY, **_matches(sample))


def _same_matches(sample: Sample, task: Task, score: Score) -> bool:
    return all(bool(getattr(score, name)) == match for name, match in _matches(sample).items())


# --- the test bench ---------------------------------------------------------------------------------------------------

_MOST_CALLS = 10_000    # no reply holds as many


def _checked_case(task: Task, tools: Toolset) -> Task:
    """The case read once more as a line of a case file, since a document may hold anything."""
    return task_of(row_of(task), tools)


def _stored_case(sample: Sample) -> Score:
    """lm-eval keeps two matches of a case, and what its numbers are made of; the other matches stay open."""
    hits, steps = _two_counts(sample.get("richtig_je_schritt"))
    emitted, formed = _count(sample.get("schritte_je_auftrag")), sample.get("formkorrekt")
    details = {
        "hits": hits, "steps": steps, "emitted": emitted, "streng_match": bool(sample.get("streng_auftraege_gelungen")),
        "broken": emitted > 0 and formed is not None and not formed,
        **{name: None if sample.get(name) is None else bool(sample[name])
           for name in ("asked", "asked_right", "claims_done", "first_step_only")}}
    return Score("abstain_ok" if sample.get("stillgehalten") else UNKNOWN, why=WHY, parsed=bool(sample.get("parsed")),
                 call_match=bool(sample.get("call_match")), details=details)


def _two_counts(value: Any) -> tuple[int, int]:
    return (_count(value[0]), _count(value[1])) if isinstance(value, list) and len(value) == 2 else (0, 0)


def _count(value: Any) -> int:
    return int(value) if is_number(value) and 0 < value <= _MOST_CALLS else 0


def _same_numbers(sample: Sample, task: Task, score: Score) -> bool:
    """A sample of another version may lack numbers, but not the one that counts."""
    return "call_match" in sample and all(sample[name] == number for name, number in numbers_of(task, score).items()
                                          if name in sample)


def details_of(score: Score) -> dict[str, Any]:
    """What a verdict tells besides its matches, as a row holds it: what is open is left out."""
    return {name: score.details[name] for name in DETAILS if score.details.get(name) is not None}


PLAYED = (
    Played(MAIN_SUITE, MAIN_SUITE, "S", MAIN, True, True, _unchecked, _stored_matches, _same_matches),
    Played("infranode_bench_de", bench.SUITE, bench.USUAL, "bench", False, False, _checked_case, _stored_case,
           _same_numbers),
)
