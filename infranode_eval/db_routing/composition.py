"""What a database's intents are made of: kinds, levels, literals in every phrasing, paraphrases that differ.

Source of the rules: specification, db_routing_panel, sections 4 and 5; db_routing, requirement 70.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from infranode_eval.db_routing.alike import likeness
from infranode_eval.db_routing.bench import Bench
from infranode_eval.db_routing.folding import folded, words
from infranode_eval.db_routing.gates import Finding
from infranode_eval.db_routing.intents import PHRASINGS, Filter, Intent
from infranode_eval.db_routing.sqlgen import joined
from infranode_eval.db_routing.wordlists import MONTHS

INTENTS = 46
LEAST = {"count": 14, "sum or avg": 10, "group": 8, "top-n": 6, "list": 4, "join of three": 4, "NULL or negation": 3}
LEVELS = {"common": 12, "paired": 20, "own": 14}
SLACK = 2                       # a level may miss its number by so many
MOST_LIKE_QUESTION = 0.75       # trigram cosine of the paraphrase to the question
_NUMBERS = ("null", "eins", "zwei", "drei", "vier", "fuenf", "sechs", "sieben", "acht", "neun", "zehn", "elf", "zwoelf")
_ENGLISH_OR_TABLE = re.compile(r"\b(?:Anzahl von|bitte|Datens[aä]tze?n?|Einträge mit|Status\b|Tabelle|Spalte)", re.I)


def kinds(intent: Intent, bench: Bench) -> set[str]:
    """Which of the wanted kinds an intent is."""
    tables = 1 + len(joined(intent, bench.sources.schemas[intent.database]))
    found = {"count": intent.aggregate.startswith("count"), "sum or avg": intent.aggregate in ("sum", "avg"),
             "group": bool(intent.group), "top-n": intent.limit is not None, "list": intent.aggregate == "none",
             "join of three": tables >= 3,
             "NULL or negation": any(c.operator in ("is", "!=") for c in intent.where)}
    return {kind for kind, holds in found.items() if holds}


def mix(bench: Bench) -> Iterator[Finding]:
    """Each database has enough intents of each kind, and about the right number of each level."""
    for database, intents in bench.sources.intents.items():
        found = Counter(kind for intent in intents for kind in kinds(intent, bench))
        if len(intents) < INTENTS:
            yield Finding(database, f"{len(intents)} intents, expected at least {INTENTS}")
        yield from (Finding(database, f"{found[kind]} intents of the kind {kind}, expected at least {least}")
                    for kind, least in LEAST.items() if found[kind] < least)
        levels = Counter(intent.level for intent in intents)
        if bench.register.databases[database].cluster:
            yield from (Finding(database, f"{levels[level]} intents of level {level}, expected {wanted} ± {SLACK}")
                        for level, wanted in LEVELS.items() if abs(levels[level] - wanted) > SLACK)


def levels(bench: Bench) -> Iterator[Finding]:
    """The level of each intent is what its concepts say."""
    for intent in bench.intents:
        sisters = bench.register.sisters(intent.database)
        concepts = bench.sources.concepts(intent)
        alone = [c for c in concepts if all(bench.register.lacking(sister, [c]) for sister in sisters)]
        if intent.level == "own" and not alone:
            yield Finding(intent.name, f"is no own intent: a sister knows each of {', '.join(concepts)}")
        if intent.level == "paired" and alone:
            yield Finding(intent.name, f"is no paired intent: no sister knows {', '.join(alone)}")
        if intent.level == "common":
            yield from _twinless(intent, bench)


def _twinless(intent: Intent, bench: Bench) -> Iterator[Finding]:
    """What a common intent lacks: a twin in a sister, of the same frame, that one concept separates."""
    sister = (intent.twin or "").rpartition("-")[0]
    twin = next((i for i in bench.sources.known.get(sister, ()) if i.name == intent.twin), None)
    if sister not in bench.register.sisters(intent.database) or twin is None:
        yield Finding(intent.name, f'names no twin in a sister that has intents, found "{intent.twin}"')
        return
    lacking = bench.register.lacking(sister, bench.sources.concepts(intent))
    if twin.frame != intent.frame:
        yield Finding(intent.name, f"has the frame {intent.frame}, its twin {twin.name} {twin.frame}")
    if len(lacking) != 1:
        yield Finding(intent.name, f"is separated from {sister} by {', '.join(lacking) or 'nothing'}, not by one")


def literals(bench: Bench) -> Iterator[Finding]:
    """Names, dates and numbers of the filters stand in every phrasing."""
    for intent in bench.intents:
        schema = bench.sources.schemas[intent.database]
        for condition in intent.where:
            column = schema.columns.get(condition.expression.column or "")
            is_closed = column is not None and column.type == "TEXT" and not column.open and not _is_when(condition)
            for phrasing in PHRASINGS:
                text = intent.phrasings[phrasing]
                for value in () if is_closed else condition.literals:
                    if not _stands(value, text, condition):
                        yield Finding(intent.name, f'{phrasing} does not say "{value}": {text}')


def _is_when(condition: Filter) -> bool:
    """A date or a time of day."""
    return condition.operator in ("month", "year") or all(
        re.match(r"\d{4}-\d\d|\d\d:\d\d$", str(value)) for value in condition.literals or ("",))


def _stands(value: str | int | float, text: str, condition: Filter) -> bool:
    said = folded(text)
    if isinstance(value, int | float):
        return value == 0 or _number_stands(value, said)    # nothing is said in many ways: ohne, ausverkauft, reduziert
    date = re.fullmatch(r"(\d{4})(?:-(\d\d))?(?:-(\d\d))?", value)
    if date:
        return _date_stands(date, said, condition)
    time = re.fullmatch(r"(\d\d):(\d\d)", value)
    if time:
        hour = int(time[1])
        by_digits = re.search(rf"\b0?{hour}(?:[.:]{time[2]})?\b", said)
        return time[0] in said or bool(by_digits) or _number_stands(hour, said)
    return all(any(found.startswith(word) for found in words(text)) for word in words(value.strip("%")))


def _number_stands(value: int | float, said: str) -> bool:
    spelled = str(value).removesuffix(".0").replace(".", ",")
    grouped = f"{value:,}".replace(",", ".")
    by_word = isinstance(value, int) and 0 <= value < len(_NUMBERS) and (
        re.search(rf"\b{_NUMBERS[value]}", said) or (value == 1 and re.search(r"\bein(?:e[nrms]?|mal)?\b", said)))
    by_digits = re.search(rf"(?<![\d.]){re.escape(spelled)}(?!\d)", said)
    return bool(by_digits) or (value >= 1000 and grouped in said) or bool(by_word)


def _date_stands(date: re.Match[str], said: str, condition: Filter) -> bool:
    """Year, month by name or number, and day; a bound may be said as the month or year next to it."""
    year, month, day = date.groups()
    if year not in said and condition.operator not in ("<", ">", "<=", ">=", "between"):
        return False
    if condition.operator in ("<", ">", "<=", ">=", "between"):
        return bool(re.search(r"\d{4}", said))
    if month is None:
        return True
    named = MONTHS[int(month) - 1] in said or re.search(rf"\b0?{int(month)}[./]\s?{year}", said)
    return bool(named) and (day is None or bool(re.search(rf"\b0?{int(day)}\.", said)))


def paraphrases(bench: Bench) -> Iterator[Finding]:
    """c is no near copy of a; every phrasing is a sentence without what German reviewers reject."""
    for intent in bench.intents:
        cosine = likeness(intent.phrasings["a"], intent.phrasings["c"])
        if cosine >= MOST_LIKE_QUESTION:
            yield Finding(intent.name, f"c is {cosine:.2f} like a: {intent.phrasings['c']}")
        for phrasing in PHRASINGS:
            text = intent.phrasings[phrasing]
            found = _ENGLISH_OR_TABLE.search(text)
            if found:
                yield Finding(intent.name, f'{phrasing} says "{found[0]}": {text}')
            if text[-1] not in "?.":
                yield Finding(intent.name, f"{phrasing} has no mark at its end: {text}")


def questions_with_decoys(decoys: Mapping[str, Sequence[str]]) -> float:
    """The share of intents with at least one decoy. decoys: by intent."""
    return sum(bool(found) for found in decoys.values()) / max(1, len(decoys))


CHECKS: Mapping[str, Callable[[Bench], Iterator[Finding]]] = {
    "mix": mix, "levels": levels, "literals": literals, "paraphrases": paraphrases}
