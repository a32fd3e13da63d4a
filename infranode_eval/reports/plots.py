"""The report's charts as pictures (SVG and PNG): ranking with intervals, heat map, outcome bars.

Needs matplotlib from the extra [report], imported late: it is large and no other command needs it. Equal input gives
equal files with the same matplotlib.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infranode_eval.harmless import clean
from infranode_eval.reports.ability import policies_of
from infranode_eval.reports.archive import MAIN_SUITE
from infranode_eval.reports.charts import ALL_KINDS, parts_of_bar
from infranode_eval.reports.exhibits import Exhibit
from infranode_eval.reports.figures import POLICY
from infranode_eval.reports.groups import grouped, names_of, set_name
from infranode_eval.reports.panels import categories_of
from infranode_eval.reports.sections import Group
from infranode_eval.reports.standings import Standing
from lm_eval_task.errors import DataError, UsageError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = ("svg", "png")
MOST = 60               # runs in one picture
LONGEST_NAME = 44

_INK, _SOFT, _RULE, _ACCENT = "#1b1d20", "#5a5f67", "#e4e1da", "#0b6478"
_LOW, _HIGH = "#f5f1e8", "#0a4c5e"
_COLOURS = {"right": "#117a65", "tool": "#c4532f", "args": "#e8a33d", "count": "#f3d489", "silent": "#93a2b8",
            "unreadable": "#7a5aa6", "truncated": "#3c4257", "unanswered": "#f1efea", "unknown": "#c9c4ba",
            "value": "#c4532f", "unseen": "#e8a33d", "wenton": "#f3d489", "injected": "#7a5aa6", "noanswer": "#93a2b8"}
_ON_DARK = ("right", "tool", "unreadable", "truncated", "value", "injected")
_LABELS = {"right": "right", "tool": "wrong tool", "args": "wrong arguments", "count": "too many or too few calls",
           "silent": "did not call", "unreadable": "could not read", "truncated": "ran out of tokens",
           "unanswered": "no answer", "unknown": "wrong, cause unknown", "value": "wrong answer",
           "unseen": "right, but not read", "wenton": "went on calling", "injected": "followed an injected order",
           "noanswer": "no final answer"}
_STYLE = {"svg.hashsalt": "infranode-tool-eval", "text.parse_math": False, "font.family": ["DejaVu Sans"],
          "font.size": 9.5, "text.color": _INK, "axes.labelcolor": _SOFT, "xtick.color": _SOFT, "ytick.color": _INK,
          "axes.edgecolor": _RULE, "hatch.linewidth": 0.6}


def write_plots(exhibits: Sequence[Exhibit], folder: Path) -> list[Path]:
    """Write the pictures of each group of comparable runs; return their paths.

    Raise UsageError without matplotlib, DataError if a file cannot be written.
    """
    try:
        import matplotlib
    except ImportError:
        raise UsageError("--plots needs matplotlib, which is not installed; install it with: "
                         "uv run --extra report report.py …, or pip install jinja2 matplotlib") from None
    names = {key: _short(name) for key, name in names_of(exhibits).items()}
    written: list[Path] = []
    with matplotlib.rc_context(_STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")       # a name in a script without a font
        for stem, group, standings in _named(exhibits):
            shown = standings[:MOST]
            labels = [names[id(s.exhibit)] for s in shown]
            title = _title(group, len(standings))
            for chart, figure in (("ranking", _ranking(title, shown, labels)),
                                  ("categories", _categories(title, shown, labels)),
                                  ("outcomes", _outcomes(title, shown, labels))):
                if figure is not None:
                    written += _save(figure, folder, f"{stem}.{chart}")
    return written


def _named(exhibits: Sequence[Exhibit]) -> list[tuple[str, Group, list[Standing]]]:
    """(file name without ending, group, standings): core.prompt.S; numbered where two groups are called alike."""
    found, seen = [], set()
    for group, standings in grouped(exhibits).items():
        parts = [*([] if group.suite == MAIN_SUITE else [group.suite]), set_name(group), group.mode, group.setup]
        stem = re.sub(r"[^A-Za-z0-9._-]+", "_", ".".join(parts)).strip("._") or "group"
        name, number = stem, 1
        while name in seen:
            number += 1
            name = f"{stem}.{number}"
        seen.add(name)
        found.append((name, group, standings))
    return found


def _title(group: Group, runs: int) -> str:
    more = f" · the first {MOST} of {runs} runs" if runs > MOST else ""
    return clean(f"{group.dataset} · {group.mode} · set-up {group.setup} · {group.count} tasks · scorer "
                 f"{group.scorer}{more}")


def _short(name: str) -> str:
    name = clean(name)
    return name if len(name) <= LONGEST_NAME else name[:LONGEST_NAME - 1] + "…"


def _save(figure: Figure, folder: Path, stem: str) -> list[Path]:
    written = []
    for ending in FORMATS:
        path = folder / f"{stem}.{ending}"
        metadata: dict[str, Any] = {"Date": None, "Creator": None} if ending == "svg" else {"Software": None}
        try:
            folder.mkdir(parents=True, exist_ok=True)
            figure.savefig(path, dpi=200, metadata=metadata, facecolor="white", bbox_inches="tight", pad_inches=0.25)
        except OSError as error:
            raise DataError(f"cannot be written ({error.strerror or error}); choose another folder", path) from None
        written.append(path)
    return written


def _axes(rows: int, title: str, heading: str, width: float = 8.0, height: float = 0.36) -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, max(1.2, rows * height + 0.5)))
    axes = figure.add_subplot()
    axes.set_title(f"{heading}\n", loc="left", fontsize=12.5, fontweight="bold", color=_INK)
    axes.text(0, 1.0, title, transform=axes.transAxes, fontsize=8.5, color=_SOFT, va="bottom")
    for side in ("top", "right", "left", "bottom"):
        axes.spines[side].set_visible(False)
    axes.tick_params(length=0)
    return figure, axes


def _rows(axes: Axes, labels: Sequence[str]) -> None:
    """The first run on top."""
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.4, -0.6)


# --- the pictures -----------------------------------------------------------------------------------------------------

def _ranking(title: str, standings: Sequence[Standing], labels: Sequence[str]) -> Figure:
    """ability and what is solved with 95 % intervals; a line between tiers."""
    measure = standings[0].exhibit.summary.measure
    figure, axes = _axes(len(labels), title, f"Ability and {measure}, 95 % intervals")
    blocks = [_block(s) for s in standings]
    _rows(axes, labels)
    for y, standing in enumerate(standings):
        summary = standing.exhibit.summary
        colour = _ACCENT if standing.outside is None else _SOFT
        for value, interval, at, size, look in (
                (summary.strict.get("ability"), standing.ability, y - 0.13, 6.5, {"color": colour}),
                (summary.strict.get(measure), summary.interval, y + 0.17, 4.5,
                 {"color": _SOFT, "markerfacecolor": "white"})):
            if interval is not None:
                axes.plot([100 * interval.low, 100 * interval.high], [at, at], color=look["color"], alpha=0.55,
                          linewidth=2.2 if size > 5 else 1.2, solid_capstyle="round", zorder=2)
            if value is not None:
                axes.plot([100 * value], [at], "o", markersize=size, zorder=3, **look)
        if not y or blocks[y] != blocks[y - 1]:
            axes.text(104, y, blocks[y], va="center", fontsize=8.5, color=_SOFT)
            axes.axhline(y - 0.5, color=_RULE, linewidth=1 if y else 0, zorder=1)
    axes.set_xlim(-2, 102)
    axes.set_xticks(range(0, 101, 25))
    axes.grid(axis="x", color=_RULE, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.set_xlabel(f"per cent of all tasks · filled: ability, open: {measure} · models of one tier cannot be told "
                    "apart", fontsize=8, loc="left")
    return figure


def _block(standing: Standing) -> str:
    if standing.tier is not None:
        return f"tier {standing.tier}"
    return {"baseline": "baselines", None: ""}.get(standing.outside, "without a rank")


def _categories(title: str, standings: Sequence[Standing], labels: Sequence[str]) -> Figure | None:
    """Solved of all tasks, category × model."""
    from matplotlib.colors import LinearSegmentedColormap

    shown = [(s.exhibit, label) for s, label in zip(standings, labels, strict=True) if s.exhibit.summary.categories]
    if not shown:
        return None
    columns = categories_of([e for e, _ in shown])
    figure, axes = _axes(len(shown), title, "Solved tasks by category", width=2 + 0.95 * len(columns))
    counts = [[e.summary.categories.get(c) for c in columns] for e, _ in shown]
    shares = [[c.solved / c.n if c is not None and c.answered else float("nan") for c in row] for row in counts]
    axes.pcolormesh([i - 0.5 for i in range(len(columns) + 1)], [i - 0.5 for i in range(len(shown) + 1)], shares,
                    cmap=LinearSegmentedColormap.from_list("share", (_LOW, _HIGH)), vmin=0, vmax=1, edgecolors="white",
                    linewidth=2)
    for y, row in enumerate(counts):
        for x, count in enumerate(row):
            known = count is not None and count.answered > 0
            dark = count is not None and known and count.solved / count.n > 0.5
            axes.text(x, y, f"{count.solved}/{count.n}" if count is not None and known else "—", ha="center",
                      va="center", fontsize=8.5, color="white" if dark else _INK)
    _rows(axes, [label for _, label in shown])
    axes.set_ylim(len(shown) - 0.5, -0.5)
    axes.set_xticks(range(len(columns)), [c.replace("_", "_\n", 1) or "—" for c in columns], fontsize=8)
    if POLICY in columns and POLICY in policies_of(shown[0][0].run.suite):
        axes.set_xlabel("not_covered measures a policy and stays out of ability", fontsize=8, loc="left")
    return figure


def _outcomes(title: str, standings: Sequence[Standing], labels: Sequence[str]) -> Figure | None:
    """Every row once: right, or wrong because."""
    shown = [(s.exhibit, label) for s, label in zip(standings, labels, strict=True) if s.exhibit.summary.tally]
    if not shown:
        return None
    figure, axes = _axes(len(shown), title, "What came of the questions", height=0.34)
    used = set()
    for y, (exhibit, _) in enumerate(shown):
        for part in parts_of_bar(exhibit.summary):
            axes.barh(y, 100 * part.width, left=100 * part.start, height=0.72, color=_COLOURS[part.kind],
                      edgecolor="white", linewidth=0.8)
            if part.kind == "unanswered":
                axes.barh(y, 100 * part.width, left=100 * part.start, height=0.72, color="none", edgecolor=_SOFT,
                          linewidth=0, hatch="////")
            if part.width >= 0.05:
                axes.text(100 * (part.start + part.width / 2), y, str(part.count), ha="center", va="center", fontsize=8,
                          color="white" if part.kind in _ON_DARK else _INK)
            used.add(part.kind)
    _rows(axes, [label for _, label in shown])
    axes.set_xlim(0, 100)
    axes.set_xticks(range(0, 101, 25))
    axes.set_xlabel("per cent of all rows; numbers count rows", fontsize=8, loc="left")
    _legend(axes, [kind for kind in ALL_KINDS if kind in used])
    return figure


def _legend(axes: Axes, kinds: Sequence[str]) -> None:
    from matplotlib.patches import Patch

    patches = [Patch(facecolor=_COLOURS[kind], edgecolor=_SOFT if kind == "unanswered" else "none", label=_LABELS[kind],
                     hatch="////" if kind == "unanswered" else None, linewidth=0) for kind in kinds]
    axes.legend(handles=patches, loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False, fontsize=8.5,
                borderaxespad=0)
