"""What a reader must know before believing a number of the suite team: what was off, what was cut, what never happened.

Pure. Failures and incomplete runs are told for all suites alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from infranode_eval.reports.archive import Run
from infranode_eval.reports.team_rows import Managed

_LIMITS = {"turn_limit": "messages of the main agent in one round", "token_limit": "its context"}


def team_caveats(run: Run) -> list[str]:
    """The lines for one run of the suite."""
    plays = [row.details["managed"] for row in run.rows if "managed" in row.details]
    return [*_off(run), *_cut(plays), *_alone(plays), *_estimated(run)]


def _off(run: Run) -> Iterator[str]:
    sandbox, workflow = run.settings.get("sandbox"), run.settings.get("workflow")
    if sandbox != "bwrap":
        yield f"sandbox {sandbox}: round checks ran without a wall, and no agent had Bash; install bubblewrap"
    if workflow == "off":
        yield ("no agent had Workflow, since no script engine was installed: uv run --extra team …, or "
               "pip install quickjs-ng")


def _cut(plays: list[Managed]) -> Iterator[str]:
    rounds = [one for play in plays for one in play.rounds]
    found = Counter(one.reason for one in rounds if one.reason is not None)
    if found:
        kinds = ", ".join(f"{count} {name}" for name, count in found.most_common())
        limits = "; ".join(f"{name}: {text}" for name, text in _LIMITS.items() if name in found)
        yield (f"{sum(found.values())} of {len(rounds)} rounds ended before their time ({kinds})"
               + (f"; {limits}, see settings.limits" if limits else ""))


def _alone(plays: list[Managed]) -> Iterator[str]:
    alone = sum(not play.play.subagents for play in plays)
    if alone:
        yield (f"in {alone} of {len(plays)} plays no sub-agent was created, so that all four factors are 0 there, "
               "however many rounds are passed")


def _estimated(run: Run) -> Iterator[str]:
    rows = sum("tokens_estimated" in row.score.labels for row in run.rows)
    if rows and not run.baseline:
        yield (f"in {rows} rows the endpoint told no token counts, so the limit of the context was held against an "
               "estimate")
