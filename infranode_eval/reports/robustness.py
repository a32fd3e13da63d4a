"""What other wordings of the same question cost a run: each variant beside the original, and what chance alone flips.

Pure: the rows of one run over the robust set in, numbers out. A failure is not solved. Every variant is paired with the
row of the variant `original` of the same base in the same run, which repeats the base's question word for word.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from infranode_eval.reports.archive import Row
from infranode_eval.reports.paired import Paired, pair
from infranode_eval.reports.tasksets import cluster_of
from infranode_eval.statistics import holm
from lm_eval_task.records import Task

ORIGINAL = "original"
WORDINGS = ("nfd", "ascii_umlaut", "no_dots", "lower", "typo_neighbour", "typo_swap", "no_punctuation", "speech",
            "inflected", "official_name", "regional", "register", "easy", "mixed")
LANGUAGES = ("english",)                        # an axis of its own: no other wording of a German question
PUBLIC = ("paraphrase", "reframed")             # told apart from what a model may know by heart
ENOUGH = 10                                     # pairs that a variant needs to be named the worst

Base = tuple[str, str]                          # (base, variant)


@dataclass(frozen=True, slots=True)
class Effect:
    """One variant beside the original. adjusted: its p value after Holm's correction over all variants of the run."""

    variant: str
    paired: Paired
    adjusted: float


@dataclass(frozen=True, slots=True)
class Robustness:
    """A run over the robust set.

    originals: share of the repeats in which the original is right, by base. answered: (solved, answered) of the same;
    a failure tells nothing about noise. effects: in the order of the variants. linked: bases with an original and at
    least one variant in German. consistent: share of them for which the original and all those variants are right,
    mean over the repeats. chances: of each such base the share for its original, and its number of variants. repeats:
    rows per task.
    """

    originals: Mapping[str, float]
    answered: Mapping[str, tuple[int, int]]
    effects: tuple[Effect, ...]
    linked: int
    consistent: float | None
    chances: tuple[tuple[float, int], ...]
    repeats: int

    def block(self, names: Collection[str]) -> tuple[Effect, ...]:
        return tuple(e for e in self.effects if e.variant in names)

    @property
    def wordings(self) -> tuple[Effect, ...]:
        """All but the other language and those of the contamination block; unknown variants are among them."""
        return tuple(e for e in self.effects if e.variant not in (*LANGUAGES, *PUBLIC))

    @property
    def original(self) -> float | None:
        """call_match of the originals."""
        return _mean(list(self.originals.values()))

    @property
    def mean(self) -> float | None:
        """Unweighted mean of call_match over the German variants."""
        return _mean([e.paired.second / e.paired.n for e in self.effects if e.variant not in LANGUAGES])

    @property
    def worst(self) -> Effect | None:
        """The wording that costs most, among those with ENOUGH pairs if there are any; None if none costs anything."""
        among = [e for e in self.wordings if e.paired.n >= ENOUGH] or list(self.wordings)
        found = max(among, key=lambda e: e.paired.drop.estimate, default=None)
        return found if found is not None and found.paired.drop.estimate > 0 else None

    def expected(self, flips: float) -> float | None:
        """The consistency of a run that wording does not touch, whose verdicts flip with this share, 0–1."""
        return _mean([share * (1 - flips) ** count for share, count in self.chances])


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def robustness_of(rows: Sequence[Row], tasks: Mapping[str, Task], core: Collection[str] = ()) -> Robustness | None:
    """None without a pair. tasks: those of the run by id, as far as they are known.

    core: ids of the core tasks, which stand alone; others share a cluster by template.
    """
    solved: dict[Base, dict[int, bool]] = {}
    clusters: dict[str, Hashable] = {}
    answered: dict[str, tuple[int, int]] = {}
    for row in rows:
        place = place_of(row.task_id, tasks.get(row.task_id))
        if place is not None:
            solved.setdefault(place, {})[row.repeat] = bool(row.score.call_match)
            clusters.setdefault(place[0], _cluster(place[0], tasks.get(row.task_id), core))
            if place[1] == ORIGINAL and not row.score.failed:
                right, n = answered.get(place[0], (0, 0))
                answered[place[0]] = (right + bool(row.score.call_match), n + 1)
    originals = {base: verdicts for (base, variant), verdicts in solved.items() if variant == ORIGINAL}
    repeats = max(map(len, solved.values()), default=1)
    paired: dict[str, Paired] = {}
    for variant in _ordered(variant for _, variant in solved):
        bases = [base for base in originals if (base, variant) in solved]
        if bases:
            paired[variant] = pair([_share(originals[b]) for b in bases], [_share(solved[b, variant]) for b in bases],
                                   [clusters[b] for b in bases], repeats)
    if not paired:
        return None
    adjusted = holm([p.p for p in paired.values()])
    effects = tuple(Effect(*item, p) for item, p in zip(paired.items(), adjusted, strict=True))
    linked = _linked(solved, originals)
    return Robustness(
        {base: _share(verdicts) for base, verdicts in originals.items()}, answered, effects, len(linked),
        _mean([_all_right([originals[base], *others]) for base, others in linked.items()]),
        tuple((_share(originals[base]), len(others)) for base, others in linked.items()),
        repeats)


def place_of(task_id: str, task: Task | None) -> Base | None:
    """(base, variant) as the row of the task says; else as its id does: robust-<variant>-<base>."""
    base, variant = (task.extra.get("base"), task.extra.get("variant")) if task else (None, None)
    if isinstance(base, str) and isinstance(variant, str):
        return base, variant
    start, _, rest = task_id.partition("-")
    variant, _, base = rest.partition("-")
    return (base, variant) if start == "robust" and base else None


def _cluster(base: str, task: Task | None, core: Collection[str]) -> Hashable:
    return base if task is None or base in core or not task.extra.get("phrasing") else cluster_of(task)


def _ordered(variants: Iterable[str]) -> list[str]:
    """Known ones in their order, others behind them by name."""
    order = {name: place for place, name in enumerate((*WORDINGS, *LANGUAGES, *PUBLIC))}
    return sorted({v for v in variants if v != ORIGINAL}, key=lambda v: (order.get(v, len(order)), v))


def _share(verdicts: Mapping[int, bool]) -> float:
    return sum(verdicts.values()) / len(verdicts)


def _linked(solved: Mapping[Base, Mapping[int, bool]],
            originals: Mapping[str, Mapping[int, bool]]) -> dict[str, list[Mapping[int, bool]]]:
    """The verdicts on the German variants of each base that has any, by base."""
    found: dict[str, list[Mapping[int, bool]]] = {}
    for (base, variant), verdicts in solved.items():
        if base in originals and variant != ORIGINAL and variant not in LANGUAGES:
            found.setdefault(base, []).append(verdicts)
    return found


def _all_right(columns: Sequence[Mapping[int, bool]]) -> float:
    """Share of the repeats in which every row is right; a repeat that lacks a row counts for nothing."""
    repeats = set.intersection(*(set(verdicts) for verdicts in columns))
    return sum(all(verdicts[r] for verdicts in columns) for r in repeats) / len(repeats) if repeats else 0.0


# --- the noise floor --------------------------------------------------------------------------------------------------

@dataclass(frozen=True, slots=True)
class Noise:
    """How many verdicts flip between two runs of identical wording. rate: 0–1 over n originals. source: where from."""

    rate: float
    n: int
    source: str


def noise_of(run: Robustness, others: Mapping[str, Robustness]) -> Noise | None:
    """From the repeats of the run, else from other runs of the same model under the same set-up; None without either.

    others: by the name of their file.
    """
    if run.repeats > 1:
        return _noise([run], f"{run.repeats} repeats of this run")
    return _noise([run, *others.values()], f"this run and {', '.join(others)}")


def _noise(runs: Sequence[Robustness], source: str) -> Noise | None:
    counts: dict[str, list[int]] = {}
    for run in runs:
        for base, (solved, n) in run.answered.items():
            cell = counts.setdefault(base, [0, 0])
            cell[0], cell[1] = cell[0] + solved, cell[1] + n
    # Of two of a base's n answered rows drawn without replacement: the chance that their verdicts differ.
    flips = [2 * solved * (n - solved) / (n * (n - 1)) for solved, n in counts.values() if n > 1]
    return Noise(math.fsum(flips) / len(flips), len(flips), source) if flips else None
