"""The test bench: one order a case in five stages, several calls in one reply where needed, silence where nothing fits.

Cases, matching and metrics are the scorer's (lm_eval_task: cases, bench); here is how they are asked.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from infranode_eval.arms.offer import Offer, Offering
from infranode_eval.statistics import pass_hat_k, wilson
from infranode_eval.suites import (
    ALL_MODES,
    MANY,
    NOTHING,
    Scene,
    Setup,
    Starter,
    Transcript,
    failure_of,
    play_once,
    usual_hashes,
)
from infranode_eval.summary import per_cent
from lm_eval_task import bench_prompt
from lm_eval_task import tools as toolbox
from lm_eval_task.bench import aggregate_cases, score_case
from lm_eval_task.cases import SETS as CHOICES
from lm_eval_task.cases import SUFFIX, offered, read_cases
from lm_eval_task.errors import UsageError
from lm_eval_task.records import Score, Task, fingerprint
from lm_eval_task.tools import Toolset, data_file

MAX_TOKENS = 512
MODE = "prompt"
MODES = ALL_MODES
SETS = CHOICES
OWN_SETS = True
BASELINE = "never_calls"
PROGRAMS = NOTHING
TAKES_ARMS = False
STARTER = Starter("starter", "python3 run_eval.py --suite bench --cases @CASES@ --tools @TOOLS@ --model oracle")
REPLAYS = None
PLAYS_AT_ONCE = MANY
TRANSCRIPTS_BESIDE = TAKES_BLANK = SECOND_PASS = TOOLS_OF_TASKS = False
OWN_ARMS = ()
UNMARKED_MODE = "prompt"
OWN_FLAGS = ()
play = play_once
failure = failure_of


def read_tools(path: str | Path | None = None) -> Toolset:
    """The eleven tools, or those of a file. Raise DataError."""
    return toolbox.read_tools(data_file("bench_tools.json") if path is None else path)


def load(path: str | Path | None, tools: Toolset, which: str) -> tuple[Task, ...]:
    """The cases in file order, with the questions of the set. Raise DataError or UsageError."""
    if which not in SETS:
        raise UsageError(f"suite bench has no set {which!r}; expected one of {', '.join(SETS)}")
    return read_cases(path, tools, which).tasks


def scene(path: str | Path | None, tools: Toolset, own: Mapping[str, Any] = NOTHING) -> Scene:
    """The system text and the offset of the file's head. Raise DataError."""
    cases = read_cases(path, tools)
    return Scene(lambda mode, few, question: bench_prompt.messages(mode, few, question, cases.system),
                 cases.zone or None, several=True, about=cases.about, notes=cases.notes)


def offering(tasks: Sequence[Task], tools: Toolset) -> Offering | None:
    """What `nur` leaves to single cases; a call of any other tool is a call of one that was not offered."""
    narrowed = {task.task_id: Offer(few, few) for task in tasks if (few := offered(task, tools)) is not tools}
    whole = Offer(tools, tools)
    return Offering(whole, lambda task_id, question: narrowed.get(task_id, whole)) if narrowed else None


def score(task: Task, transcript: Transcript, setup: Setup) -> Score:
    """The scorer's verdict on the one reply; it applies `nur` itself."""
    return score_case(task, transcript.answers[-1].reply, setup.tools, setup.mode, setup.scene.zone or "")


def prompt_hash(setup: Setup) -> str:
    """Over the messages with all tools; what single cases narrow stands in the hash of the tasks."""
    rendered = setup.messages("{question}")
    return fingerprint(rendered[0]["content"] if setup.mode == "prompt" else rendered)


def hashes(tasks: Sequence[Task], tools: Toolset, setup: Setup) -> dict[str, str]:
    return usual_hashes(sys.modules[__name__], tasks, tools, setup)


def eligible(tasks: Sequence[Task], setup: Setup) -> Sequence[Task]:
    """All of them."""
    return tasks


def aggregate(pairs: Sequence[tuple[Task, Score]]) -> dict[str, float | None]:
    return aggregate_cases(pairs)


# --- what leads, and what a run prints --------------------------------------------------------------------------------

COUNTS = "auftraege_gelungen"   # the number that counts
STAGES = {"S1": "the right one of few tools", "S2": "one call, exact arguments", "S3": "several calls",
          "S4": "nothing fits", "S5": "a value is missing"}
_CALLED, _SILENT = ("S1", "S2", "S3"), ("S4", "S5")


def forecast(tasks: Sequence[Task], setup: Setup, count: Callable[[str], int]) -> None:
    """One request a task: the prompts tell it."""


def headline(metrics: Mapping[str, float | None], strict: bool) -> dict[str, float | None]:
    """auftraege_gelungen; under the original's rule its number goes first."""
    leading = {"streng": metrics.get(f"streng_{COUNTS}")} if strict else {}
    return {**leading, COUNTS: metrics.get(COUNTS)}


def summary(result: Mapping[str, Any]) -> Iterator[str]:
    """The five numbers with their intervals, those of the leading rule first, then each stage as k/n.

    Repeats of one case, and its two wordings, are no independent rows: with them the numbers have no interval; repeats
    have pass^k instead.
    """
    rows = list(result["rows"])
    repeats = max(Counter(row["task_id"] for row in rows).values(), default=1)
    together = repeats > 1 or result.get("set") == "all"
    metrics, failed = result["metrics"], result["counts"]["failed"]
    lines = {name: _share(rows, lambda row, key=key: bool(row.get(key)), together) + _all_repeats(rows, key, repeats)
             for name, key in ((COUNTS, "call_match"), ("streng", "streng_match"))}
    yield from (f"{name:<24}{lines.pop(name)}" for name in (*result["headline"], *lines) if name in lines)
    for name, stages, key in (("formkorrekt", _CALLED, _well_formed), ("stillgehalten", _SILENT, _kept_still)):
        yield f"{name:<24}{_share([row for row in rows if row['category'] in stages], key, together)}"
    yield f"{'richtig_je_schritt':<24}{_steps(rows, metrics, failed)}"
    yield f"{'schritte_je_auftrag':<24}{_plain(metrics['schritte_je_auftrag'])}"
    if failed:
        yield f"{'answered only':<24}{COUNTS} {per_cent(result['answered'][COUNTS])}"
    yield ""
    yield from _stages(rows, together)


def _stages(rows: Sequence[Mapping[str, Any]], together: bool) -> Iterator[str]:
    """Each stage with what is told of it beside its successes."""
    for stage, meaning in STAGES.items():
        among = [row for row in rows if row["category"] == stage]
        if among:
            yield (f"{stage + ' ' + meaning:<32}{_count(among, 'call_match')}/{len(among)}"
                   f"{_rows_of(among, together)}{_beside(stage, among)}")


def _beside(stage: str, among: Sequence[Mapping[str, Any]]) -> str:
    if stage == "S3":
        return f"   first_step_only {_count(among, 'first_step_only')}"
    if stage == "S5":
        silent = f"   of {_count(among, 'call_match')} silent: "
        return silent + ", ".join(f"{name} {_count(among, name)}" for name in ("asked", "asked_right", "claims_done"))
    return ""


def _count(rows: Sequence[Mapping[str, Any]], key: str) -> int:
    return sum(bool(row.get(key)) for row in rows)


def _well_formed(row: Mapping[str, Any]) -> bool:
    return bool(row.get("emitted")) and not row.get("broken")


def _kept_still(row: Mapping[str, Any]) -> bool:
    return row["outcome"] == "abstain_ok"


def _share(rows: Sequence[Mapping[str, Any]], holds: Callable[[Mapping[str, Any]], bool], together: bool) -> str:
    """As "40/42 = 95.2 % [84.2, 98.7]"; rows that stand or fall together as "20/24 rows of 8 cases = 83.3 %"."""
    if not rows:
        return "—"
    k = sum(map(holds, rows))
    share = f"{k}/{len(rows)}{_rows_of(rows, together)} = {per_cent(k / len(rows))} %"
    if together:
        return share
    interval = wilson(k, len(rows))
    return f"{share} [{per_cent(interval.low)}, {per_cent(interval.high)}]"


def _rows_of(rows: Sequence[Mapping[str, Any]], together: bool) -> str:
    cases = {str(row["task_id"]).removesuffix(SUFFIX) for row in rows}
    return f" rows of {len(cases)} cases" if together else ""


def _all_repeats(rows: Sequence[Mapping[str, Any]], key: str, repeats: int) -> str:
    """As ", pass^3 75.0 %": the share of the cases of which every repeat succeeds."""
    if repeats < 2:
        return ""
    asked, solved = Counter(row["task_id"] for row in rows), Counter(r["task_id"] for r in rows if r.get(key))
    chances = [pass_hat_k(solved[case], n, repeats) for case, n in asked.items() if n == repeats]
    return f", pass^{repeats} {per_cent(sum(chances) / len(chances))} %"


def _steps(rows: Sequence[Mapping[str, Any]], metrics: Mapping[str, float | None], failed: int) -> str:
    """Steps of one case hang together, so they have no interval; a failed row does not say how many it had."""
    share = f"{per_cent(metrics['richtig_je_schritt'])} %"
    among = [row for row in rows if row["category"] in _CALLED]
    if failed or not among:
        return share if among else "—"
    return f"{sum(row['hits'] for row in among)}/{sum(row['steps'] for row in among)} = {share}"


def _plain(value: float | None) -> str:
    return "—" if value is None else f"{value:.2f}"
