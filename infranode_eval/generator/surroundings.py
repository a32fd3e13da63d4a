"""What the API offers as a whole beside what the tools and facts of the project say: keys, cities, types, coverage."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from infranode_eval.infranode import facts
from lm_eval_task.errors import BenchError
from lm_eval_task.tools import COMPARE_RESOURCES, POI_TYPES, Toolset

OPENAPI = "/openapi.json"
CITIES, CATALOGUE = "/cities?limit=200", "/cities/berlin/overview"
_RESOURCE = re.compile(r"(?:/api/v1)?/cities/\{\w+\}/([a-z0-9-]+)")
_ASKED = re.compile(r"/cities/[^/]+/([a-z0-9-]+)")
_NO_ENUM = "not said by /openapi.json"


@dataclass(frozen=True, slots=True)
class Change:
    """A set of names, before and now. source: where the API says so, or why it is not known (then now is None)."""

    name: str
    source: str
    before: int
    now: int | None = None
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    @property
    def is_change(self) -> bool:
        return bool(self.added or self.removed)


def changes_of(answer_to: Callable[[str], Any], replies: Callable[[], Mapping[str, Any]],
               document: Callable[[str], Any], tools: Toolset) -> tuple[Change, ...]:
    """Resource keys, compare resources, types of pois and cities, whether they changed or not; then the keys whose
    list of covered cities changed, as far as any answer tells.

    answer_to, replies: the answers to requests. document: the JSON value at a path of the site root; whatever it
    raises, the overview's catalogue names the keys instead.
    """
    described = _described(document)
    paths = described.get("paths") if isinstance(described, dict) else None
    paths = paths if isinstance(paths, dict) else {}
    found = [_keys(paths, answer_to, tools),
             _enum("compare resources", COMPARE_RESOURCES, paths, described, "/compare", "resource"),
             _enum("types of pois", POI_TYPES, paths, described, "/pois", "type")]
    return (*found, *_cities(answer_to), *_coverage(replies()))


def _described(document: Callable[[str], Any]) -> Any:
    """None where the API does not describe itself, or a recording does not hold it."""
    try:
        return document(OPENAPI)
    except BenchError:
        return None


def _change(name: str, source: str, before: Iterable[str], now: Iterable[str]) -> Change:
    old, new = set(before), set(now)
    return Change(name, source, len(old), len(new), tuple(sorted(new - old)), tuple(sorted(old - new)))


def _keys(paths: Mapping[str, Any], answer_to: Callable[[str], Any], tools: Toolset) -> Change:
    """Against the enum of get_city_resource, which holds every key but pois."""
    tool = tools.get("get_city_resource")
    enum = tool.properties.get("resource", {}).get("enum", ()) if tool else ()
    now = {match[1] for path in paths if (match := _RESOURCE.fullmatch(path))}
    source = OPENAPI
    if not now:
        now, source = {str(row.get("type")) for row in _catalogue(_data(answer_to, CATALOGUE))}, CATALOGUE
        now |= {"overview"} if now else set()     # the catalogue leaves itself out
    if not now:
        return Change("resource keys", f"neither {OPENAPI} nor {CATALOGUE} says so", len(enum))
    return _change("resource keys", source, enum, now - {"pois"})


def _catalogue(data: Any) -> list[Mapping[str, Any]]:
    rows = data.get("data_types") if isinstance(data, dict) else None
    return [row for row in rows if isinstance(row, dict) and row.get("type")] if isinstance(rows, list) else []


def _data(answer_to: Callable[[str], Any], request: str) -> Any:
    """The data of an answer, None where there is none."""
    try:
        return getattr(answer_to(request), "data", None)
    except BenchError:
        return None


# --- enums of the description -----------------------------------------------------------------------------------------

def _enum(name: str, before: Iterable[str], paths: Mapping[str, Any], described: Any, end: str,
          parameter: str) -> Change:
    """The enum of a query parameter of the path that ends so, if the description has one."""
    for path, item in paths.items():
        operation = item.get("get") if isinstance(item, dict) and path.endswith(end) else None
        rows = operation.get("parameters") if isinstance(operation, dict) else None
        for row in rows if isinstance(rows, list) else ():
            row = _resolved(row, described)
            values = _resolved(row.get("schema"), described).get("enum")
            if row.get("name") == parameter and isinstance(values, list):
                return _change(name, OPENAPI, before, map(str, values))
    return Change(name, _NO_ENUM, len(set(before)))


def _resolved(node: Any, described: Any) -> Mapping[str, Any]:
    """The object itself, or what its "$ref" points to; empty for anything else."""
    reference = node.get("$ref") if isinstance(node, dict) else None
    if isinstance(reference, str) and reference.startswith("#/"):
        node = described
        for part in reference[2:].split("/"):
            node = node.get(part) if isinstance(node, dict) else None
    return node if isinstance(node, dict) else {}


# --- cities -----------------------------------------------------------------------------------------------------------

def _cities(answer_to: Callable[[str], Any]) -> list[Change]:
    """Slugs of the registry, new ones with their coverage, and the cities whose coverage changed."""
    known = {city.slug: city.coverage for city in facts.cities()}
    data = _data(answer_to, CITIES)
    rows = [row for row in data if isinstance(row, dict) and row.get("slug")] if isinstance(data, list) else []
    if not rows:
        return [Change("cities", f"{CITIES} did not answer", len(known))]
    now = {str(row["slug"]): str(row.get("coverage") or "coverage unknown") for row in rows}
    slugs = _change("cities", CITIES, known, now)
    added = tuple(f"{slug} ({now[slug]})" for slug in slugs.added)
    moved = tuple(f"{slug}: {known[slug]} → {now[slug]}" for slug in sorted(known.keys() & now.keys())
                  if known[slug] != now[slug])
    found = [Change("cities", CITIES, slugs.before, slugs.now, added, slugs.removed)]
    return found + ([Change("coverage of cities", CITIES, len(known), len(now), moved)] if moved else [])


def _coverage(replies: Mapping[str, Any]) -> list[Change]:
    """Keys whose covered_cities, seen in any answer, are not those of the facts (state v1.1.1)."""
    found = []
    for key, (request, slugs) in sorted(_covered(replies).items()):
        before = facts.covered(facts.DEFAULT_STATE, key)
        if key in facts.keys(facts.DEFAULT_STATE):
            change = _change(f"cities of {key}", request, before or [city.slug for city in facts.cities()], slugs)
            found += [change] if change.is_change else []
    return found


def _covered(replies: Mapping[str, Any]) -> dict[str, tuple[str, list[str]]]:
    """{key: (the request that told, slugs)} from not_covered answers and from catalogues."""
    found: dict[str, tuple[str, list[str]]] = {}
    for request, reply in replies.items():
        match = _ASKED.fullmatch(request)
        rows = [(str(row["type"]), row.get("covered_cities")) for row in _catalogue(reply.data)]
        rows += [(match[1], reply.meta.get("covered_cities"))] if match else []
        for key, slugs in rows:
            if isinstance(slugs, list) and slugs and key not in found:
                found[key] = request, [str(slug) for slug in slugs]
    return found
