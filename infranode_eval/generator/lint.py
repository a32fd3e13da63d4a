"""Lint: what is wrong with a set of tasks as such, whatever any source answers."""

from __future__ import annotations

import math
import re
import shutil
import subprocess
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from infranode_eval.generator.build import partial_keys
from infranode_eval.generator.leakage import (
    DESCRIPTIONS_BOUND,
    KEY_NAME_BOUND,
    canonical_label,
    label_of,
    shares,
)
from infranode_eval.generator.robust import VARIANTS
from infranode_eval.generator.splits import cities_of, split_of
from infranode_eval.generator.templates import city_forms, phrasings, places
from infranode_eval.retrieval import mask_cities
from infranode_eval.shipped import DATA
from lm_eval_task.records import Task, canonical_json
from lm_eval_task.tools import COMPARE_RESOURCES, POI_TYPES, Toolset

NEAR = 0.95                  # Jaccard similarity of character trigrams, cities masked
NEAR_ACROSS = 0.9            # the same between splits
LEAST_PER_CATEGORY, LEAST_PHRASINGS, LEAST_PAIRS = 8, 6, 30
MOST_UNEVEN = 3.0            # most tasks of a city or key / fewest
DICTIONARY = "de_DE"
_MISSPELT = frozenset(("nfd", "ascii_umlaut", "no_dots", "lower", "speech", "typo_neighbour", "typo_swap", "english",
                       "mixed", "regional"))
_FORBIDDEN = re.compile(r"[^ -~äöüÄÖÜßéèáçñóś²³°€–…]|  |^ | $| [,.;:?!]")


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault: the check that found it, the rows it is about, and what is wrong."""

    check: str
    where: str
    text: str

    def __str__(self) -> str:
        return f"{self.check}: {self.where}: {self.text}"


def findings(tasks: Sequence[Task], tools: Toolset) -> Iterator[Finding]:
    """Every fault but spelling, check by check."""
    main = [task for task in tasks if task.set in ("core", "extended")]
    yield from _duplicates(tasks)
    yield from _near_duplicates(tasks)
    yield from _unbalanced(main)
    yield from _unseen(main, tools)
    yield from _leaking(main, tools)
    yield from _characters(tasks)
    yield from _shared_phrasings(tasks)
    yield from _thin_variants([task for task in tasks if task.set == "robust"])


# --- the same question twice ------------------------------------------------------------------------------------------

def _duplicates(tasks: Iterable[Task]) -> Iterator[Finding]:
    """The same text twice; a robust row may repeat its base (variant original), nothing else may."""
    seen: dict[str, Task] = {}
    for task in tasks:
        if task.extra.get("variant") == "original":
            continue
        other = seen.setdefault(unicodedata.normalize("NFC", task.question), task)
        if other is not task and "nfd" not in (task.extra.get("variant"), other.extra.get("variant")):
            yield Finding("duplicate", f"{task.task_id}, {other.task_id}", task.question)


def _near_duplicates(tasks: Iterable[Task]) -> Iterator[Finding]:
    """Questions that are nearly the same text but mean another tool or key; declared twins are meant to be."""
    by_text: dict[str, dict[str, Task]] = defaultdict(dict)
    for task in tasks:
        by_text[mask_cities(task.question).lower()].setdefault(_meaning(task), task)
    texts = list(by_text)
    for text, golds in by_text.items():
        for one, other in combinations(golds.values(), 2):
            if not _are_twins(one, other):
                yield Finding("near duplicate", f"{one.task_id}, {other.task_id}", f"both ask: {text}")
    for first, second, similarity in similar_pairs(texts, NEAR):
        for one in by_text[texts[first]].values():
            for other in by_text[texts[second]].values():
                if _meaning(one) != _meaning(other) and not _are_twins(one, other):
                    yield Finding("near duplicate", f"{one.task_id}, {other.task_id}",
                                  f"{similarity:.2f} alike, but another gold")


def _meaning(task: Task) -> str:
    """What a task asks for, whatever the city: labels and further arguments of its gold."""
    rest = [{k: v for k, v in call.arguments.items() if k in ("eva", "stop_id")} for call in task.expected]
    return canonical_json([sorted(label_of(call) for call in task.expected), rest, task.extra.get("then", [])]) \
        if task.expected else f"none {task.expect}"


def _are_twins(one: Task, other: Task) -> bool:
    return one.extra.get("twin") == other.task_id or other.extra.get("twin") == one.task_id


def trigrams(text: str) -> frozenset[str]:
    """The character trigrams of a text with a blank at both ends."""
    padded = f" {text} "
    return frozenset(padded[i:i + 3] for i in range(len(padded) - 2))


def similar_pairs(texts: Sequence[str], least: float) -> Iterator[tuple[int, int, float]]:
    """(i, j, Jaccard) of all pairs from `least` on, without comparing them all.

    Two sets that alike share one of the rarest (1 - least) of their elements (prefix filter: Chaudhuri, Ganti,
    Kaushik 2006), so only texts that meet there are compared.
    """
    grams = [trigrams(text) for text in texts]
    frequency = Counter(gram for found in grams for gram in found)
    at: dict[str, list[int]] = defaultdict(list)
    for place, found in enumerate(grams):
        ordered = sorted(found, key=lambda gram: (frequency[gram], gram))
        prefix = ordered[:len(ordered) - math.ceil(least * len(ordered)) + 1]
        met = dict.fromkeys(other for gram in prefix for other in at[gram])
        for other in met:
            common = len(found & grams[other])
            similarity = common / (len(found) + len(grams[other]) - common)
            if similarity >= least:
                yield other, place, similarity
        for gram in prefix:
            at[gram].append(place)


# --- what is asked, and how often -------------------------------------------------------------------------------------

def _unbalanced(tasks: Sequence[Task]) -> Iterator[Finding]:
    categories = Counter(task.category for task in tasks)
    yield from (Finding("unbalanced", name, f"{count} tasks, expected at least {LEAST_PER_CATEGORY}")
                for name, count in categories.items() if count < LEAST_PER_CATEGORY)
    cities = Counter(slug for task in tasks for slug in cities_of(task))
    yield from _uneven("cities", {slug: cities[slug] for slug in city_forms()})
    keys = Counter(call.arguments["resource"] for task in tasks if task.category == "resource_key"
                   for call in task.expected if "resource" in call.arguments)
    yield from _uneven("keys", {key: count for key, count in keys.items() if key not in partial_keys()})
    worded = Counter(phrasing.key for phrasing in phrasings().values() if phrasing.category == "resource_key")
    yield from (Finding("unbalanced", str(key), f"{count} phrasings, expected at least {LEAST_PHRASINGS}")
                for key, count in worded.items() if count < LEAST_PHRASINGS)


def _uneven(what: str, counts: Mapping[str, int]) -> Iterator[Finding]:
    if not counts:
        return
    most, fewest = max(counts, key=counts.__getitem__), min(counts, key=counts.__getitem__)
    if counts[most] > MOST_UNEVEN * counts[fewest]:
        yield Finding("unbalanced", what, f"{most} {counts[most]} times, {fewest} {counts[fewest]} times; expected at "
                                          f"most {MOST_UNEVEN:g} times as often")


def _unseen(tasks: Sequence[Task], tools: Toolset) -> Iterator[Finding]:
    """Tools, keys, types and resources that no task asks for; a key with a tool of its own counts as that tool."""
    labels = {label_of(call) for task in tasks for call in task.expected}
    tool = tools.get("get_city_resource")
    keys = tool.properties["resource"].get("enum", ()) if tool else ()
    wanted = {canonical_label(f"get_city_resource/{key}") for key in keys} | {f"pois/{kind}" for kind in POI_TYPES} \
        | {f"compare/{name}" for name in COMPARE_RESOURCES} \
        | {tool.name for tool in tools.tools if tool.name not in ("get_city_resource", "pois", "compare")}
    yield from (Finding("unseen", label, "no core or extended task asks for it") for label in sorted(wanted - labels))


def _leaking(tasks: Sequence[Task], tools: Toolset) -> Iterator[Finding]:
    for name, categories in shares(tasks, tools).items():
        for category, row in categories.items():
            if row["key_name"] > KEY_NAME_BOUND:
                yield Finding("leaking", f"{name} {category}", f"{row['key_name']:.0%} solved by the name of the key "
                                                               f"alone, expected at most {KEY_NAME_BOUND:.0%}")
            if category == "resource_key" and row["descriptions"] > DESCRIPTIONS_BOUND:
                yield Finding("leaking", f"{name} {category}", f"{row['descriptions']:.0%} solved by BM25 over the "
                                                               f"tool texts, expected at most {DESCRIPTIONS_BOUND:.0%}")


def _shared_phrasings(tasks: Iterable[Task]) -> Iterator[Finding]:
    """A phrasing in two splits, or wordings of two splits that are nearly the same once cities are masked.

    Robust and abstain are test. Of two test sets nothing is asked: a variant may be like its base.
    """
    splits: dict[str, dict[str, str]] = defaultdict(dict)
    phrased: dict[str, dict[str, str]] = defaultdict(dict)
    for task in tasks:
        split = split_of(task) if task.set in ("core", "extended") else "test"
        if split is not None:
            splits[mask_cities(task.question).lower()].setdefault(split, task.task_id)
            phrased[str(task.extra.get("phrasing", task.task_id))].setdefault(split, task.task_id)
    for wording, found in (*phrased.items(), *splits.items()):
        if len(found) > 1:
            yield Finding("split", ", ".join(found.values()), f"{wording} stands in {' and '.join(sorted(found))}")
    texts = list(splits)
    for one, other, similarity in similar_pairs(texts, NEAR_ACROSS):
        first, second = splits[texts[one]], splits[texts[other]]
        if set(first) != set(second):
            yield Finding("split", ", ".join((*first.values(), *second.values())),
                          f"{similarity:.2f} alike across {' and '.join(sorted({*first, *second}))}")


def _thin_variants(tasks: Iterable[Task]) -> Iterator[Finding]:
    counts = Counter(str(task.extra["variant"]) for task in tasks)
    yield from (Finding("thin", variant, f"{counts[variant]} pairs, expected at least {LEAST_PAIRS}")
                for variant in VARIANTS if counts[variant] < LEAST_PAIRS)


# --- letters and words ------------------------------------------------------------------------------------------------

def _characters(tasks: Iterable[Task]) -> Iterator[Finding]:
    for task in tasks:
        composed = unicodedata.normalize("NFC", task.question)
        if composed != task.question and task.extra.get("variant") != "nfd":
            yield Finding("characters", task.task_id, "is not in Unicode's composed form (NFC)")
        found = _FORBIDDEN.search(composed)
        if found is not None:
            yield Finding("characters", task.task_id, f"{found[0]!r} at {found.start()}: {task.question}")


def has_speller() -> bool:
    """Is hunspell there, with its German dictionary?"""
    if shutil.which("hunspell") is None:
        return False
    return subprocess.run(["hunspell", "-d", DICTIONARY, "-l"], input=b"", capture_output=True).returncode == 0


def misspelt(tasks: Sequence[Task]) -> Iterator[Finding]:
    """Words that neither the German dictionary nor data/words.txt knows; needs hunspell.

    In the variants with typing errors the other way round: a spoilt word that is a word would be another question.
    """
    known = set((DATA / "words.txt").read_text("utf-8").split()) | names()
    spelt = [task for task in tasks if task.extra.get("variant") not in _MISSPELT]
    unknown = unknown_words({word for task in spelt for word in words_of(task.question)} - known)
    for task in spelt:
        for word in words_of(task.question):
            if word in unknown:
                yield Finding("spelling", task.task_id, f"{word!r} in: {task.question}")
    bases = {task.task_id: task for task in tasks}
    spoilt = {task.task_id: sorted({*words_of(task.question)} - {*words_of(bases[str(task.extra["base"])].question)})
              for task in tasks if task.extra.get("variant") in ("typo_neighbour", "typo_swap", "no_dots")
              and task.extra["base"] in bases}
    unknown = unknown_words({word for words in spoilt.values() for word in words})
    for task_id, words in spoilt.items():
        for word in words:
            if word not in unknown:
                yield Finding("spelling", task_id, f"{word!r} is a word, so the variant asks something else")


def names() -> set[str]:
    """The words of city, station and stop names, in every form that a question may use."""
    forms = [form for city in city_forms().values() for form in (city.name, city.genitive, city.adjective) if form]
    named = [place.name for kind in ("two_step", "board", "stops") for place in places(kind)]
    return {word for text in (*forms, *named) for word in words_of(text)}


def words_of(text: str) -> list[str]:
    return re.findall(r"[^\W\d_]+(?:['’][^\W\d_]+)?", unicodedata.normalize("NFC", text))


def unknown_words(words: Iterable[str]) -> set[str]:
    done = subprocess.run(["hunspell", "-d", DICTIONARY, "-i", "utf-8", "-l"], input="\n".join(sorted(words)).encode(),
                          capture_output=True, check=True)
    return set(done.stdout.decode("utf-8").split())
