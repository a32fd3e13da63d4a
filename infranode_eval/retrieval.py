"""Retrieval over German tool texts: word stems, BM25, the tools as documents, the cities that a question names."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from infranode_eval.shipped import read_shipped
from lm_eval_task.tools import Tool, Toolset

_STOP_TEXT = """
ab aber alle allem allen aller alles als also am an ander andere anderen auch auf aus außer bei beim bin bis bist
bitte da dabei dafür damit danach daran darf das dass davon dazu dein deine deinem deinen deiner dem den denn der
deren des dessen dich die dies diese diesem diesen dieser dieses dir doch dort du durch ein eine einem einen einer
eines einmal er es etwa etwas euch euer für gab ganz geben gerade gern gerne gibt habe haben hat hatte hier hin ich
ihm ihn ihnen ihr ihre ihrem ihren ihrer im in ins ist ja jede jedem jeden jeder jetzt kann kannst können könnt
könnte könnten kein keine keinen mal man mehr mein meine meinem meinen meiner mich mir mit muss möchte möchten nach
nicht noch nun nur ob oder ohne sag sagen schon sehr sei sein seine seinem seinen seiner sich sie sind so soll
sollte somit sondern sowie um und uns unser unsere unter viel viele vielen vom von vor wann war warum was weil
welche welchem welchen welcher welches wem wen wenn wer werden wie wieder wieviel will wir wird wo wohin wollen
wurde wurden würde würden zeig zeige zu zum zur zwischen über stadt städte
"""
STOP_WORDS = frozenset(_STOP_TEXT.split())

_WORD = re.compile(r"[^\W_]+")
_SUFFIXES = ("ern", "em", "en", "er", "es", "e", "n", "s")
_SHORTEST_STEM = 4


def tokens(text: str) -> list[str]:
    """The words of a text in order: lower case, umlauts kept, without stop words, without inflected endings."""
    words = (w.lower() for w in _WORD.findall(text))
    return [_stem(w) for w in words if w not in STOP_WORDS and (len(w) > 1 or w.isdigit())]


def _stem(word: str) -> str:
    """Strip inflectional endings while four letters remain, so that Wetter, Wetters and Wettern meet; numbers stay."""
    stripped = None if word.isdigit() else word
    while stripped:
        word = stripped
        stripped = next((word[:-len(s)] for s in _SUFFIXES
                         if word.endswith(s) and len(word) - len(s) >= _SHORTEST_STEM), None)
    return word


class Bm25:
    """Okapi BM25 over a few hundred short documents.

    documents: text by label. k1, b: saturation and length normalisation (Robertson and Zaragoza 2009, section 3.2);
    the inverse document frequency is ln(1 + (N - n + 0.5) / (n + 0.5)), which is never negative.
    """

    def __init__(self, documents: Mapping[str, str], k1: float = 1.2, b: float = 0.75) -> None:
        counts = {label: Counter(tokens(text)) for label, text in documents.items()}
        lengths = {label: sum(c.values()) for label, c in counts.items()}
        average = sum(lengths.values()) / len(lengths) if any(lengths.values()) else 1.0
        found_in = Counter(word for c in counts.values() for word in c)
        self.labels = tuple(documents)
        self._weights: dict[str, dict[str, float]] = {}
        for label, words in counts.items():
            norm = k1 * (1 - b + b * lengths[label] / average)
            for word, count in words.items():
                idf = math.log(1 + (len(counts) - found_in[word] + 0.5) / (found_in[word] + 0.5))
                self._weights.setdefault(word, {})[label] = idf * count * (k1 + 1) / (count + norm)

    def ranked(self, query: str) -> list[tuple[str, float]]:
        """Every document as (label, score), best first; equal scores in alphabetical order of the labels."""
        scores = dict.fromkeys(self.labels, 0.0)
        for word in tokens(query):
            for label, weight in self._weights.get(word, {}).items():
                scores[label] += weight
        return sorted(scores.items(), key=lambda item: (-item[1], item[0]))


def tool_documents(tools: Toolset) -> dict[str, str]:
    """What the tools say, as one document per choice a caller has.

    Labels: "get_city_resource/<key>", "pois/<type>", "compare/<resource>", else the tool's name. A document holds the
    name of the choice and its description; without `resource` lines, types or lists each tool is one document. Tools
    are told apart by what their descriptions look like, not by name, so that tools under other names work alike.
    """
    keys = key_lines(tools)
    documents: dict[str, str] = {}
    for tool in tools.tools:
        choice, found = choice_parameter(tool), choices(tool)
        if choice is None:
            documents[tool.name] = f"{tool.name}: {tool.description}"
        elif _lines(tool.properties[choice]):
            documents |= {f"{tool.name}/{name}": f"{name}: {text}" for name, text in found.items()}
        else:
            documents |= {f"{tool.name}/{name}": f"{name}: " + " ".join(filter(None, (note or keys.get(name, ""),
                                                                                      tool.description)))
                          for name, note in found.items()}
    return documents


def label_documents(tools: Toolset) -> dict[str, str]:
    """The same labels with nothing but the name of the choice: what a search over names alone could find."""
    return {label: label.rpartition("/")[2].replace("_", " ") for label in tool_documents(tools)}


def key_lines(tools: Toolset) -> dict[str, str]:
    """The text of each key, from the lines "key: text" that describe a parameter with an enum."""
    return next((lines for tool in tools.tools for schema in tool.properties.values() if (lines := _lines(schema))), {})


def choice_parameter(tool: Tool) -> str | None:
    """The parameter whose values are a tool's choices; None for a tool that has none.

    It is described by lines "key: text", or by a list of its values, or it is required and has only an enum.
    """
    for name, schema in tool.properties.items():
        if _lines(schema) or listed(schema.get("description", "")):
            return name
    return next((name for name in tool.required if _bare_enum(tool.properties[name])), None)


def choices(tool: Tool) -> dict[str, str]:
    """The values of the choice parameter with what is said of each; "" where nothing is. Empty without choices."""
    name = choice_parameter(tool)
    schema = tool.properties[name] if name else {}
    return _lines(schema) or listed(schema.get("description", "")) or dict.fromkeys(_bare_enum(schema), "")


def _lines(schema: Mapping[str, Any]) -> dict[str, str]:
    enum = frozenset(v for v in schema.get("enum", ()) if isinstance(v, str))
    pairs = (line.partition(": ") for line in schema.get("description", "").split("\n")[1:]) if enum else ()
    return {key: value for key, colon, value in pairs if colon and key in enum}


def _bare_enum(schema: Mapping[str, Any]) -> list[str]:
    values = [] if schema.get("description") else schema.get("enum", [])
    return [value for value in values if isinstance(value, str)]


_ITEM = r"([a-z][a-z0-9_-]*[a-z0-9])(?: \(([^)]*)\))?"
_LISTED = re.compile(_ITEM)
_LIST = re.compile(rf"{_ITEM}(?:, {_ITEM})*(?: oder | or ){_ITEM}")


def listed(text: str) -> dict[str, str]:
    """value → note of a description that is nothing but "value (note), value oder value"; empty for any other."""
    return {m[1]: m[2] or "" for m in _LISTED.finditer(text) if m[1] not in ("oder", "or")} if _LIST.fullmatch(text) \
        else {}


# --- the cities a question names --------------------------------------------------------------------------------------

_WORDS_TOO = frozenset(("essen", "siegen", "halle"))   # lower-cased they are ordinary German words


def find_slugs(question: str) -> list[str]:
    """The slugs of the cities that a question names, each once, in order of appearance.

    Names, genitives and adjectives of the registry's 84 cities, and the six long names without their addition; the
    longest form at a place wins. A question without any capitalised form is searched again regardless of case.
    """
    exact, folded, slugs = _gazetteer()
    found = [slugs[m[0].lower()] for m in exact.finditer(question)]
    if not found:
        found = [slugs[m[0].lower()] for m in folded.finditer(question) if m[0].lower() not in _WORDS_TOO]
    return list(dict.fromkeys(found))


def mask_cities(question: str) -> str:
    """The question with "{city}" in the place of each city's name, genitive or adjective."""
    return _gazetteer()[0].sub("{city}", question)


@lru_cache(maxsize=1)
def _gazetteer() -> tuple[re.Pattern[str], re.Pattern[str], dict[str, str]]:
    """The forms as a case-sensitive and a case-blind pattern, and form (lower case) → slug."""
    cities = read_shipped("city_forms.json")["cities"]
    slugs: dict[str, str] = {}
    full: list[str] = []
    short: list[str] = []
    for slug, forms in cities.items():
        for form in filter(None, (forms["name"], forms["genitive"], forms["adjective"])):
            slugs[form.lower()] = slug
            full.append(form)
        for form in _short_forms(forms["name"]):
            slugs.setdefault(form.lower(), slug)
            short.append(form)
    # "Frankfurt (Oder)" and "Halle/Westfalen" are other towns, so a short form takes no addition behind it.
    alternatives = [(f, re.escape(f)) for f in full]
    alternatives += [(f, re.escape(f) + ("" if _ends_addition(f) else r"(?!\s*[(/]|\s+an der Oder)")) for f in short]
    alternatives.sort(key=lambda item: (-len(item[0]), item[0]))
    pattern = rf"(?<![\w-])(?:{'|'.join(p for _, p in alternatives)})(?!\w)"
    return re.compile(pattern), re.compile(pattern, re.IGNORECASE), slugs


_ADDITION = re.compile(r"(\w+) (?:(?:am|im|an der) (\w+)|\((\w+)\))")


def _short_forms(name: str) -> list[str]:
    """"Frankfurt am Main" → "Frankfurt", "Frankfurt/Main", "Frankfurt (Main)"; nothing for a name without addition."""
    match = _ADDITION.fullmatch(name)
    if match is None:
        return []
    short, place = match[1], match[2] or match[3]
    return [short, f"{short}s", f"{short}er", f"{short}/{place}", f"{short} ({place})", f"{short} an der {place}"]


def _ends_addition(form: str) -> bool:
    return not form.isalpha()
