"""Lint of the suite chain: what is wrong with its rows as a set, and with the German of each question.

Source of the rules: specification, chain, sections 4 and 5.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from infranode_eval.chain.declaration import Derivation
from infranode_eval.chain.pointers import Condition, is_number
from infranode_eval.chain.tasks import CATEGORIES
from infranode_eval.generator.chain import holdings
from infranode_eval.generator.chain.draw import told_gold
from infranode_eval.generator.chain.fields import LEAST_PHRASINGS
from infranode_eval.generator.chain.slots import slots_of
from infranode_eval.generator.chain.template import Template
from infranode_eval.generator.lint import Finding, names, similar_pairs, unknown_words, words_of
from infranode_eval.infranode import facts
from infranode_eval.retrieval import mask_cities
from infranode_eval.shipped import DATA, read_shipped
from lm_eval_task.tools import THE_TWELVE, data_file

Row = Mapping[str, Any]
LEAST_CITIES, LEAST_KEYS, LEAST_OF_CATEGORY, LEAST_CONTROL = 40, 20, 15, 30
NEAR = 0.9                  # Jaccard similarity of character trigrams, cities masked

_FOREIGN = re.compile(r"[^ -~äöüÄÖÜßéèáçñóś²³°€µ–…„“₂₃]|[\"<>|\\^~`]|  |^ | $| [,.;:?!]|\.\.\.| - ")
_UNSPACED = re.compile(r"\d(?:kWh?|MW|km|cm|µg|%|€|ct|°)")
# What section 5 bans, and why. A bound is "mindestens", "mehr als", "höchstens" or "weniger als".
_BANNED = tuple((re.compile(pattern, re.IGNORECASE if blind else 0), why) for pattern, blind, why in (
    (r"\b(?:ab|bis(?: zu)?|über|unter|zwischen|oberhalb|unterhalb)(?: von)? \d", True, "a bound of two readings"),
    (r"\b(?:etwa|ungefähr|circa|zirka|ca\.|rund|knapp|grob)(?!\w)", True, "asks for no exact value"),
    (r"\b(?:halb|viertel|dreiviertel) (?:vor |nach )?(?:eins|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf"
     r"|\d+)\b", True, "a time of two readings"),
    (r"\b(?:(?:über)?nächste|kommende|diese|letzte|vorige)[nmrs]? (?:Montag|Dienstag|Mittwoch|Donnerstag|Freitag"
     r"|Samstag|Sonnabend|Sonntag|Woche|Monat)\b", True, "a day of two readings"),
    (r"\b(?:ICE|IC|EC)\b", False, "say Fernzug: long_distance is more than one class of train"),
    (r"\b(?:ungestört|gestört|Störung|nicht abgedeckt|Abdeckung|keine Daten|nicht erreichbar|ausgefallene Quelle"
     r"|falls (?:es|keine|die|sie|nicht)|sofern|Werkzeug|Tool|API|Schnittstelle|Endpunkt|Datenquelle)\b", True,
     "hints at tools, faults or missing data"),
    (r"\b(?:ignorier|Systemnachricht|Systemmeldung|WICHTIG|Anweisung|antworte mit)", True, "a word of the fault texts"),
    (r"\b(?:zähle|nenne|liste)\b[^?.]*\balle\b", True, "asks for a whole list, which may be cut"),
))
# Words that say which unit is meant; the first is how to add it.
_UNITS = {"%": r"Prozent|%|Anteil|Quote|Prozentpunkt", "°C": r"Grad|°C|warm|kalt|Temperatur|wärm|kühl|heiß",
          "K": r"Grad|Kelvin", "kW": r"kW|Kilowatt", "MW": r"MW|Megawatt", "kWh": r"kWh|Kilowattstunde",
          "kWp": r"kWp|Kilowatt", "kWh/kWp": r"kWh|Kilowattstunde", "µg/m³": r"µg|Mikrogramm",
          "cm": r"\bcm\b|Zentimeter",
          "m": r"\bm\b|Meter", "km": r"\bkm\b|Kilometer", "km/h": r"km/h|Stundenkilometer|Kilometer", "min": r"Minute",
          "h": r"Stunde", "s": r"Sekunde", "Tage": r"Tag", "€": r"Euro|€", "ct": r"Cent|\bct\b",
          "EUR/MWh": r"Euro je|Euro pro|€/MWh|EUR/MWh", "€/MWh": r"Euro je|Euro pro|€/MWh", "€/m²": r"Euro|€/m²",
          "km²": r"km²|Quadratkilometer", "ha": r"\bha\b|Hektar", "Einwohner/km²": r"km²|Quadratkilometer"}
_ROUNDED = re.compile(r"Nachkommastelle|Dezimalstelle|gerundet|runde|ganze|Kommastelle|Stelle nach dem Komma|Stellen",
                      re.IGNORECASE)
_BOUNDS = {">=": r"mindestens|wenigstens|nicht weniger als", ">": r"mehr als|\w+er als|\w+ere[rsnm]? als",
           "<=": r"höchstens|maximal|nicht mehr als", "<": r"weniger als|\w+er als|\w+ere[rsnm]? als"}


def findings(rows: Sequence[Row], templates: Sequence[Template]) -> Iterator[Finding]:
    """Every fault but spelling, check by check."""
    by_name = {template.name: template for template in templates}
    core = [row for row in rows if row["set"] == "core"]
    yield from _thin(rows, core)
    yield from _unpaired(rows)
    for row in rows:
        yield from (Finding(check, row["task_id"], text) for check, text in question_problems(row))
    yield from _unphrased(rows, by_name)
    yield from repeated(rows, templates)


# --- the set ----------------------------------------------------------------------------------------------------------

def _thin(rows: Sequence[Row], core: Sequence[Row]) -> Iterator[Finding]:
    """Too few rows, cities, keys; a second seed that misses a task."""
    of_category = Counter(row["category"] for row in core)
    of_set = Counter(row["set"] for row in rows)
    found = {**{category: (of_category[category], LEAST_OF_CATEGORY, "core tasks") for category in CATEGORIES},
             "control": (of_set["control"], LEAST_CONTROL, "tasks"),
             "cities": (len(holdings.cities_of(core)), LEAST_CITIES, "cities"),
             "keys": (len(holdings.keys_of(core)), LEAST_KEYS, "keys")}
    yield from (Finding("thin", name, f"{count} {what}, expected at least {least}")
                for name, (count, least, what) in found.items() if count < least)
    if of_set["reseed"] not in (0, len(core)):
        yield Finding("thin", "reseed", f"{of_set['reseed']} tasks, expected as many as core, {len(core)}")
    ids = Counter(row["task_id"] for row in rows)
    yield from (Finding("id", name, f"stands {count} times") for name, count in ids.items() if count > 1)
    if [row["task_id"] for row in rows] != sorted(row["task_id"] for row in rows):
        yield Finding("id", "the file", "is not sorted by task_id")


def _unpaired(rows: Sequence[Row]) -> Iterator[Finding]:
    by_id = {row["task_id"]: row for row in rows}
    for row in rows:
        other = by_id.get(row["pair"]) if row["pair"] else None
        if row["pair"] and (other is None or other["pair"] != row["task_id"]):
            yield Finding("pair", row["task_id"], f"its twin {row['pair']} does not exist or has another twin")
        if row["set"] == "control" and not row["pair"]:
            yield Finding("pair", row["task_id"], "a control task is a twin")


def _unphrased(rows: Sequence[Row], templates: Mapping[str, Template]) -> Iterator[Finding]:
    """A row whose template is gone or has no such wording."""
    for row in rows:
        template = templates.get(row["template"])
        if template is None:
            yield Finding("template", row["task_id"], f"there is no template {row['template']}")
        elif wording_of(row["question"], template) is None:
            yield Finding("template", row["task_id"], "no wording of its template gives the question; build it again")
    for template in templates.values():
        used = {wording_of(row["question"], template) for row in rows if row["template"] == template.name}
        if len(template.phrasings) < LEAST_PHRASINGS or not used:
            yield Finding("template", template.name, "has fewer than three wordings, or no row")


def wording_of(question: str, template: Template) -> int | None:
    """Which wording of the template the question is."""
    return next((number for number, text in enumerate(template.phrasings) if _pattern(text).fullmatch(question)), None)


@cache
def _pattern(phrasing: str) -> re.Pattern[str]:
    pattern = re.escape(phrasing)
    for slot in slots_of(phrasing):
        pattern = pattern.replace(re.escape(f"{{{slot}}}"), ".+?")
    return re.compile(pattern)


def repeated(rows: Sequence[Row], templates: Sequence[Template]) -> Iterator[Finding]:
    """Questions that stand twice: in this suite, or in the main one."""
    rows = [row for row in rows if row["set"] != "reseed"]       # which asks what core asks
    yield from _near_duplicates(rows, {template.name: template for template in templates})
    yield from _in_main_suite(rows)


def _near_duplicates(rows: Sequence[Row], templates: Mapping[str, Template]) -> Iterator[Finding]:
    """Questions that are nearly the same text, but for the cities and values of one wording."""
    by_text: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_text[mask_cities(row["question"]).lower()].append(row)
    texts = list(by_text)
    for one, other, similarity in similar_pairs(texts, NEAR):
        first, second = by_text[texts[one]][0], by_text[texts[other]][0]
        if _wording(first, templates) != _wording(second, templates):
            yield Finding("near duplicate", f"{first['task_id']}, {second['task_id']}",
                          f"{similarity:.2f} alike: {second['question']}")
    for text, alike in by_text.items():
        if len({_wording(row, templates) for row in alike}) > 1:
            yield Finding("near duplicate", ", ".join(row["task_id"] for row in alike), f"all ask: {text}")


def _wording(row: Row, templates: Mapping[str, Template]) -> tuple[str, int | None]:
    template = templates.get(row["template"])
    return row["template"], wording_of(row["question"], template) if template else None


def _in_main_suite(rows: Sequence[Row]) -> Iterator[Finding]:
    """A question of the main suite, or one that is nearly the same text, cities masked."""
    main = _main_questions()
    texts = {mask_cities(row["question"]).lower(): row for row in rows}
    for text, row in texts.items():
        if text in main:
            yield Finding("main suite", row["task_id"], f"asks what {main[text]} asks")
    both = [*(text for text in main), *(text for text in texts if text not in main)]
    for one, other, similarity in similar_pairs(both, NEAR):
        if one < len(main) <= other:
            yield Finding("main suite", texts[both[other]]["task_id"], f"{similarity:.2f} alike {main[both[one]]}")


@cache
def _main_questions() -> Mapping[str, str]:
    """Masked question → task_id of the main suite's file."""
    from lm_eval_task.records import read_tasks  # late: only this check reads the other file

    return {mask_cities(task.question).lower(): task.task_id for task in read_tasks(data_file("tasks.jsonl"))}


# --- one question -----------------------------------------------------------------------------------------------------

def question_problems(row: Row) -> Iterator[tuple[str, str]]:
    """(check, what is wrong) of one question."""
    question = row["question"]
    yield from _typography(question)
    for pattern, why in _BANNED:
        found = pattern.search(question)
        if found is not None:
            yield "words", f"{found[0]!r} ({why}): {question}"
    for name in _technical_names():
        if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", question):
            yield "names", f"{name!r} is the name of a tool or key: {question}"
    yield from _unsaid(row)
    if told_gold(question, row["expect"]["answer"]) is not None:
        yield "gold", f"the question holds its answer: {question}"


def _typography(question: str) -> Iterator[tuple[str, str]]:
    composed = unicodedata.normalize("NFC", question)
    if composed != question:
        yield "characters", "is not in Unicode's composed form (NFC)"
    for pattern, why in ((_FOREIGN, ""), (_UNSPACED, " (a blank belongs between number and unit)")):
        found = pattern.search(composed)
        if found is not None:
            yield "characters", f"{found[0]!r} at {found.start()}{why}: {question}"
    if not re.search(r"[.?!]$", composed):
        yield "characters", f"has no mark at its end: {question}"


@cache
def _technical_names() -> tuple[str, ...]:
    """Names of tools, keys and payloads' groups that are no German words."""
    return tuple(sorted(THE_TWELVE | set(facts.keys(facts.DEFAULT_STATE)) | {"long_distance", "source_status"}))


def _unsaid(row: Row) -> Iterator[tuple[str, str]]:
    """Unit, rounding and bounds that the answer needs and the question does not name."""
    question, answer = row["question"], row["expect"]["answer"]
    unit = answer.get("unit")
    if unit is not None and not re.search(_UNITS.get(unit, re.escape(unit)), question):
        yield "unit", f"the answer is in {unit}, which the question does not say: {question}"
    if answer.get("tolerance") and not _ROUNDED.search(question):
        yield "rounding", f"does not say how to round: {question}"
    for leaf in Derivation.from_json(row["derive"]).leaves():
        for condition in leaf.source.where if leaf.source else ():
            words = _BOUNDS.get(condition.op)
            if words and is_number(condition.value) and not _moot(leaf, condition) \
                    and not re.search(words, question, re.IGNORECASE):
                yield "bound", f"{condition.op} {condition.value:g} is not said ({words.split('|')[0]}): {question}"


def _moot(leaf: Derivation, condition: Condition) -> bool:
    """A lower bound changes no greatest value, an upper one no smallest: such a condition only guards the gold."""
    extreme = {"max": ">", "argmax": ">", "min": "<", "argmin": "<"}.get(leaf.op)
    field = leaf.by if leaf.op.startswith("arg") else leaf.source.field if leaf.source else None
    return extreme is not None and condition.op.startswith(extreme) and condition.pointer == field


# --- spelling ---------------------------------------------------------------------------------------------------------

def misspelt(texts: Mapping[str, str]) -> Iterator[Finding]:
    """Words that no German dictionary knows, in texts by id; needs hunspell.

    Names of cities, stations and stops are known, and so are data/words.txt and data/chain/words.txt.
    """
    known = own_words() | set((DATA / "words.txt").read_text("utf-8").split()) | names() | _place_words()
    words = {name: dict.fromkeys(words_of(text)) for name, text in texts.items()}
    unknown = unknown_words({word for found in words.values() for word in found} - known)
    for name, found in words.items():
        yield from (Finding("spelling", name, repr(word)) for word in found if word in unknown)


def texts_of(rows: Sequence[Row], templates: Sequence[Template]) -> dict[str, str]:
    """What people read: questions, wordings that no row uses in this world, values of slots, names of near misses."""
    texts = {row["task_id"]: row["question"] for row in rows}
    for template in templates:
        wordings = [re.sub(r"{\w+}", "…", text) for text in template.phrasings]
        values = [choice.text for choices in template.vary.values() for choice in choices]
        control = template.control.near if template.control and template.control.near else {}
        texts[f"template {template.name}"] = "\n".join((*wordings, *values, *template.near, *template.same, *control))
    return texts


def own_words() -> set[str]:
    """data/chain/words.txt: words of this suite that the dictionary lacks."""
    return set((DATA / "chain" / "words.txt").read_text("utf-8").split())


@cache
def _place_words() -> frozenset[str]:
    """The words of all names that a pick may bring into a question: stations, and the invented names of the rules."""
    lists = read_shipped("snapshot_rules.json")["lists"]
    named = [station.name for city in facts.cities() for station in facts.stations(city.slug)]
    return frozenset(word for text in (*named, *_texts(lists)) for word in words_of(text))


def _texts(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)
