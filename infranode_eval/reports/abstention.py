"""Does a run call, ask back or refuse where it should? Gold by what was done, in one run over the abstention set.

Pure: rows in, numbers out. A reply with calls has called; a text that asks back has asked; any other readable text has
refused. What `expect` says moves this matrix only, never call_match: there every reply without a call is alike.
A town outside the registry measures a policy: nobody can know the registry from the tools, so calling, looking it up
and refusing all make sense. It stands among the categories and in no class.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from infranode_eval.reports.ability import ability_interval
from infranode_eval.reports.archive import UNKNOWN, Row
from infranode_eval.reports.tasksets import cluster_of
from infranode_eval.statistics import Interval, clustered_proportion, wilson
from lm_eval_task.records import Score, Task

GOLDS = ("call", "ask", "refuse")
DONE = ("call", "ask", "refuse", "unreadable", "failure")
CATEGORIES = {"abroad": "refuse", "city_outside": "refuse", "no_such_data": "refuse", "action": "refuse",
              "city_missing": "ask", "type_missing": "ask", "call_control": "call"}
POLICY = "city_outside"


@dataclass(frozen=True, slots=True)
class Line:
    """Rows of one gold class or one category: by what was done, and how many are right."""

    gold: str
    done: Mapping[str, int]
    right: int

    @property
    def n(self) -> int:
        return sum(self.done.values())


@dataclass(frozen=True, slots=True)
class Abstention:
    """A run over the abstention set. classes: a line for each of GOLDS that occurs; categories: in the order of rows.

    shares: share right of each class with its interval. balanced: their unweighted mean, None where a class is missing.
    drawn: rows are not independent, so intervals come from drawing clusters.
    """

    classes: Mapping[str, Line]
    categories: Mapping[str, Line]
    shares: Mapping[str, Interval]
    balanced: Interval | None
    drawn: bool


def abstention_of(rows: Sequence[Row], tasks: Mapping[str, Task]) -> Abstention | None:
    """None without rows of a known gold, or where verdicts are stored without their outcomes.

    tasks: those of the run by id, as far as they are known; a category of CATEGORIES tells the gold without them.
    """
    known = [(row, gold) for row in rows if (gold := gold_of(row, tasks.get(row.task_id))) is not None]
    if not known or any(row.score.outcome == UNKNOWN for row, _ in known):
        return None
    categories = _lines(known, [row.category for row, _ in known])
    known = [(row, gold) for row, gold in known if row.category != POLICY]
    verdicts = [is_right(gold, row.score) for row, gold in known]
    clusters = [_cluster(row, tasks.get(row.task_id)) for row, _ in known]
    drawn = len(set(clusters)) < len(clusters)
    golds = [gold for _, gold in known]
    shares = {gold: _share([i for i, g in enumerate(golds) if g == gold], verdicts, clusters)
              for gold in GOLDS if gold in golds}
    classes = _lines(known, golds)
    balanced = ability_interval([float(v) for v in verdicts], golds, clusters if drawn else None) \
        if len(shares) == len(GOLDS) else None
    return Abstention({gold: classes[gold] for gold in shares}, categories, shares, balanced, drawn)


def gold_of(row: Row, task: Task | None) -> str | None:
    """One of GOLDS; None where neither the task nor its category tells."""
    if task is None:
        return CATEGORIES.get(row.category)
    return "call" if task.expected else task.expect or "refuse"


def done_of(score: Score) -> str:
    """One of DONE."""
    if score.failed:
        return "failure"
    if score.calls:
        return "call"
    if score.outcome in ("malformed_call", "truncated") or score.why.startswith("a thought, but neither"):
        return "unreadable"
    return "ask" if "asks" in score.labels else "refuse"


def is_right(gold: str, score: Score) -> bool:
    """call: the right call; ask: asked without calling; refuse: a readable text without a call, or what is accepted."""
    return done_of(score) == "ask" if gold == "ask" else bool(score.call_match)


def _cluster(row: Row, task: Task | None) -> str:
    return row.task_id if task is None else cluster_of(task)


def _share(places: Iterable[int], verdicts: Sequence[bool], clusters: Sequence[str]) -> Interval:
    """Wilson's where every row stands alone."""
    places = list(places)
    right, together = [verdicts[i] for i in places], [clusters[i] for i in places]
    if len(set(together)) == len(together):
        return wilson(sum(right), len(right))
    return clustered_proportion(together, right)


def _lines(known: Sequence[tuple[Row, str]], keys: Sequence[str]) -> dict[str, Line]:
    """A line for each key, in the order in which they occur; keys: what each row belongs to."""
    found: dict[str, Line] = {}
    for key in dict.fromkeys(keys):
        inside = [known[i] for i, k in enumerate(keys) if k == key]
        done = Counter(done_of(row.score) for row, _ in inside)
        found[key] = Line(inside[0][1], {name: done[name] for name in DONE},
                          sum(is_right(gold, row.score) for row, gold in inside))
    return found


# --- what a fixed policy gets -----------------------------------------------------------------------------------------

@dataclass(frozen=True, slots=True)
class Policy:
    """Share right in each class by definition, and the stored baselines that keep to it.

    An upper limit for one that always calls: it need not find the right call.
    """

    name: str
    right: Mapping[str, float]
    baselines: tuple[str, ...] = ()

    @property
    def balanced(self) -> float:
        return sum(self.right.values()) / len(self.right)


POLICIES = (Policy("always calls, at best", {"call": 1.0, "ask": 0.0, "refuse": 0.0}, ("first_tool", "constant")),
            Policy("never calls, never asks", {"call": 0.0, "ask": 0.0, "refuse": 1.0}, ("never_calls",)),
            Policy("always asks back", {"call": 0.0, "ask": 1.0, "refuse": 1.0}))
