"""The report as one HTML page that needs nothing else: no network, no file beside it, no script from elsewhere.

Needs jinja2 from the extra [report], which is imported late: no other command needs it. What a browser may do with the
page is forbidden by a content security policy in it, down to the hash of its one script and its one style sheet.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infranode_eval.harmless import clean
from infranode_eval.reports.arms import tables_by_group
from infranode_eval.reports.bench import SUITE
from infranode_eval.reports.chain_page import bodies_of
from infranode_eval.reports.exhibits import Exhibit
from infranode_eval.reports.groups import grouped, names_of
from infranode_eval.reports.panels import differing, panel
from infranode_eval.reports.plays import SUITE as PLAYED
from infranode_eval.reports.sections import Group
from infranode_eval.reports.standings import Standing
from infranode_eval.reports.taskbook import MOST_RUNS, script_json, taskbook
from infranode_eval.reports.team_rows import SUITE as TEAM
from infranode_eval.reports.wordings import case_keys, wordings_by_group
from infranode_eval.reports.words import WORDS, Words
from lm_eval_task.errors import DataError, UsageError
from lm_eval_task.metrics import SCORER_VERSION

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = WORDS.parent


def html_page(exhibits: Sequence[Exhibit], broken: Sequence[str] = (), price_month: str = "?") -> str:
    """The page for these runs. broken: a line for each file that was left out. price_month: when prices were listed.

    Runs under an arm stand in a table beside their base, and nowhere else.
    Equal input gives equal text. Raise UsageError without jinja2.
    """
    environment = _environment()
    words = Words.shipped()
    arms, wordings = (tables(e.summary for e in exhibits) for tables in (tables_by_group, wordings_by_group))
    exhibits = [e for e in exhibits if e.run.arm is None] or exhibits
    standings = grouped(exhibits)
    groups, names = list(standings), names_of(exhibits)
    listed = _listed([s for inside in standings.values() for s in inside])
    numbers = {id(e): i for i, e in enumerate(listed)}
    belongs = {id(s.exhibit): i for i, inside in enumerate(standings.values()) for s in inside}
    book = taskbook(listed, [names[id(e)] for e in listed], [belongs[id(e)] for e in listed],
                    [_plain_title(g) for g in groups])
    style = environment.overlay(autoescape=False, finalize=None).get_template("style.css.j2").render()
    script = "\n".join((TEMPLATES / name).read_text("utf-8") for name in ("plays.js", "team.js", "script.js"))
    panels = [panel(i, group, inside, names, numbers, groups, price_month, words,
                    [*arms.get(group, ()), *wordings.get(group, ())])
              for i, (group, inside) in enumerate(standings.items())]
    suites = _suites(groups)
    data = script_json({**book, "words": words.for_script(bench=suites == ["_bench"])})
    bodies = bodies_of(listed)
    return environment.get_template("page.html.j2").render(
        t=words, style=_markup(style), script=_markup(script), data=_markup(data),
        bodies=_markup(script_json(bodies)) if bodies else "",
        policy=_policy(style, script), groups=panels, broken=broken, counts=_counts(book, exhibits, groups, words),
        title=words.joined(" · ", [words(_TITLES[s][0]) for s in suites]),
        lead=words.joined(" ", [words(_TITLES[s][1]) for s in suites]),
        listed=words({"_bench": "cases", "_team": "team_plays"}.get("".join(suites), "tasks")),
        listed_about=words({"_chain": "tasks_about_play", "_team": "tasks_about_team"}.get("".join(suites),
                                                                                          "tasks_about")),
        split=_split(groups, any(p["ranked"] for p in panels), words),
        limited=_limited(listed, exhibits, words), made=words("made", scorer=SCORER_VERSION))


def page_path(name: str) -> Path:
    """Where a page may be written. Raise UsageError for a name that is none of a page: it may be somebody's data."""
    path = Path(name)
    if path.suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"--html {clean(name)}: expected the name of a page to write, such as report.html")
    return path


def write_page(path: Path, page: str) -> None:
    """Raise DataError if it cannot be written."""
    try:
        path.write_bytes(page.encode("utf-8"))
    except OSError as error:
        raise DataError(f"cannot be written ({error.strerror or error}); choose another place", path) from None


def _environment() -> Environment:
    try:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
    except ImportError:
        raise UsageError("--html needs jinja2, which is not installed; install it with: "
                         "uv run --extra report report.py …, or pip install jinja2 matplotlib") from None
    return Environment(loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined,
                       finalize=_harmless)


def _harmless(value: Any) -> Any:
    """Every text that is no markup of our own, on its way into the page: invisible characters are spelled out."""
    return clean(value) if isinstance(value, str) and not hasattr(value, "__html__") else value


def _markup(text: str) -> Any:
    from markupsafe import Markup

    return Markup(text)     # our own files, and JSON that `script_json` made safe


def _policy(style: str, script: str) -> str:
    """Nothing may be requested or sent; only this script runs and only this style sheet holds."""
    return (f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data:; "
            "base-uri 'none'; form-action 'none'")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")


# --- what is shown ----------------------------------------------------------------------------------------------------

def _listed(standings: Sequence[Standing]) -> list[Exhibit]:
    """The runs whose rows the list of tasks holds: all of them, or the best where they are too many."""
    with_rows = [s.exhibit for s in standings if s.exhibit.run.rows]
    if len(with_rows) <= MOST_RUNS:
        return with_rows
    best = sorted(with_rows, key=lambda e: -(e.summary.strict.get("ability") or 0.0))[:MOST_RUNS]
    kept = {id(e) for e in best}
    return [e for e in with_rows if id(e) in kept]


def _limited(listed: Sequence[Exhibit], exhibits: Sequence[Exhibit], words: Words) -> str:
    every = sum(e.summary.tally is not None for e in exhibits)
    return words("tasks_limited", shown=len(listed), all=every) if len(listed) < every else ""


_TITLES = {"": ("title", "lead"), "_bench": ("title_bench", "lead_bench"), "_chain": ("title_chain", "lead_chain"),
           "_team": ("title_team", "lead_team")}


def _suites(groups: Sequence[Group]) -> list[str]:
    """"" for the main suite and its like, "_bench", "_chain", "_team" for those, as far as they are on the page."""
    own = {SUITE: "_bench", PLAYED: "_chain", TEAM: "_team"}
    shown = [own.get(g.suite, "") for g in groups]
    return [name for name in ("", *own.values()) if name in shown] or [""]


def _split(groups: Sequence[Group], ranked: bool, words: Words) -> str:
    """Why there are several groups; empty for one."""
    if len(groups) < 2:
        return ""
    what = words.joined(", ", [words(f"field_{f}") for f in differing(groups)])
    return words("split", what=what) if ranked else words("split_unranked", what=what)


def _counts(book: dict[str, Any], exhibits: Sequence[Exhibit], groups: Sequence[Group], words: Words) -> str:
    """Runs, tasks, cases and groups; a case in two wordings is one case."""
    main = [g for g in groups if g.suite != SUITE]
    in_main = [groups[run["group"]].suite != SUITE for run in book["runs"]]
    tasks = len({row["task"] for row in book["rows"] if in_main[row["run"]]}) or max((g.count for g in main), default=0)
    cases = {key for e in exhibits for key in case_keys(e.summary)}
    parts = [words("n_runs", n=len(exhibits))]
    parts += [words("n_tasks", n=tasks)] if main or not groups else []
    parts += [words("n_cases", n=len(cases))] if cases else []
    parts += [words("n_groups", n=len(groups))] if len(groups) > 1 else []
    return words.joined(" · ", parts)


def _plain_title(group: Group) -> str:
    """A group's name in the filters, in the words of the files."""
    parts = [group.dataset, group.mode, group.setup, f"n={group.count}"]
    return clean(" · ".join(parts))
