"""Splits: which rows may be trained on, so that a test row's key, wording and city were never seen in training.

A phrasing belongs to one split for good, decided by sha256 and by who uses it: what the core set or the robustness set
asks is test. Eight keys and fourteen cities are held out. A row on a held-out city whose phrasing is train or dev has
no split: it would teach the city in the one and the phrasing in the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache

from infranode_eval.generator.deal import shuffled
from infranode_eval.generator.templates import Phrasing, city_forms, core_rows, natural, phrasings
from infranode_eval.infranode import facts
from lm_eval_task.records import Task

SPLITS = ("train", "dev", "test")
HELD_KEYS, HELD_CITIES = 8, 14
_SEED = 1                        # the splits are part of the dataset's version, not of a build's seed
_SWITCHED_OFF = frozenset(("icu-live", "hospitals-atlas", "webcams"))    # too few tasks to hold one back
_DEV_SHARE, _TEST_SHARE = 8, 4   # of a family's phrasings: one in eight is dev, at least one in four is test


@cache
def held_out_keys() -> frozenset[str]:
    """The keys that occur in test alone."""
    named = ("base", "overview", "weather", "air-uba")
    keys = [key for key in facts.keys(facts.DEFAULT_STATE) if key not in _SWITCHED_OFF and key not in named]
    return frozenset(shuffled(keys, _SEED, "held-out keys")[:HELD_KEYS])


@cache
def held_out_cities() -> frozenset[str]:
    """The slugs of the cities that occur in test alone."""
    return frozenset(shuffled(city_forms(), _SEED, "held-out cities")[:HELD_CITIES])


@cache
def phrasing_splits() -> Mapping[str, str]:
    """The split of each phrasing by its id."""
    from infranode_eval.generator.robust import written  # late: it needs phrasings, too

    core = {row["task_id"]: row["phrasing"] for row in core_rows()}
    tested = set(core.values()) | {row.phrasing for row in written() if row.phrasing is not None}
    families: dict[str, list[str]] = {}
    for name in phrasings():
        families.setdefault(natural(name)[0], []).append(name)
    found: dict[str, str] = {}
    for family, names in families.items():
        found |= _split_family(family, names, tested)
    return found


def _split_family(family: str, names: Iterable[str], tested: Iterable[str]) -> dict[str, str]:
    """Test: what is asked in public or about a held-out key, and at least one in four; one in eight is dev."""
    order = shuffled(names, _SEED, family)
    forced = [name for name in order if name in tested or _asks_held_key(phrasings()[name])]
    free = [name for name in order if name not in forced]
    more = max(0, -(-len(order) // _TEST_SHARE) - len(forced))
    dev = -(-len(order) // _DEV_SHARE)
    test, rest = forced + free[:more], free[more:]
    return {**dict.fromkeys(test, "test"), **dict.fromkeys(rest[:dev], "dev"), **dict.fromkeys(rest[dev:], "train")}


def _asks_held_key(phrasing: Phrasing) -> bool:
    asked = {call["arguments"].get("resource") for call in phrasing.calls} | {phrasing.topic}
    return bool(asked & held_out_keys())


def split_of(task: Task) -> str | None:
    """The split of a core or extended row; None where it belongs to none (see the module)."""
    split = phrasing_splits()[task.extra["phrasing"]]
    return split if split == "test" or not cities_of(task) & held_out_cities() else None


def cities_of(task: Task) -> frozenset[str]:
    """The slugs in the gold calls of a task."""
    named = (call.arguments.get("cities") or call.arguments.get("slug") or "" for call in task.expected)
    return frozenset(slug for text in named for slug in text.split(",") if slug)


def allowed_cities(phrasing: Phrasing, cities: Iterable[str]) -> tuple[str, ...]:
    """The cities among `cities` that a further task of the phrasing may use.

    Train and dev leave the held-out cities alone; test takes them first, and the others where none of them fits.
    """
    cities = tuple(cities)
    held = tuple(slug for slug in cities if slug in held_out_cities())
    if phrasing_splits()[phrasing.id] == "test":
        return held or cities
    return tuple(slug for slug in cities if slug not in held)
