"""The shapes around payloads: records, problems, answers and the HTTP response made from them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from infranode_eval.infranode import facts
from infranode_eval.infranode.facts import City, Key
from infranode_eval.infranode.world import Row, World

CACHED = {"cache_status": "HIT"}


@dataclass(frozen=True, slots=True)
class Problem:
    """The body of an error: code, message, hint."""

    code: str
    message: str
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What a route decides, before headers. `limited` names the counter that throttling uses, None for none."""

    status: int
    data: Any = None
    meta: Row = field(default_factory=dict)
    problem: Problem | None = None
    limited: str | None = "default"
    headers: Mapping[str, str] = field(default_factory=dict)
    plain: Row | None = None


@dataclass(frozen=True, slots=True)
class Response:
    """One HTTP response: status, headers in lower case, body as UTF-8 JSON (empty for 304)."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """The decoded body; None where there is none."""
        return json.loads(self.body) if self.body else None


def refuse(status: int, code: str, message: str, hint: str | None = None, limited: str | None = "default") -> Answer:
    """An error answer."""
    return Answer(status, problem=Problem(code, message, hint), limited=limited)


def compact(value: Any) -> str:
    """JSON without blanks, as the API sends it."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def sha256_hex(value: Any) -> str:
    """sha256 hex over canonical JSON."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _origin(name: str) -> tuple[str, str, str, str, bool]:
    """Source name, licence, tier, attribution, modified: as recorded, else from the row of /sources."""
    recorded = facts.raw()["record_sources"].get(name)
    if recorded:
        return tuple(recorded)
    row = facts.source(name)
    if row is None:
        return name, "unknown", "C", name, False
    return row.source, row.license, "A" if row.license in facts.raw()["licenses"] else "C", row.attribution, False


def attribution(name: str) -> Row:
    """{"license_id", "license_tier", "attribution"} of a source."""
    _, license_id, tier, text, modified = _origin(name)
    url = facts.raw()["licenses"].get(license_id)
    return {"license_id": license_id, "license_tier": tier,
            "attribution": {"text": text, "license_url": url, "modified": modified}}


def source_name(key: Key, city: City | None) -> str:
    """The upstream behind a key, which for some keys differs from city to city."""
    by_city = facts.raw()["city_sources"].get(key.key, {})
    return by_city.get(city.slug, key.source) if city else key.source


def record(world: World, key: Key, city: City | None, payload: Row, *, place: str = "", geo: bool | None = None,
           source: str | None = None, kind: str | None = None, text: str | None = None) -> Row:
    """One canonical record. `place` is the city_slug of a record without a city (an EVA number)."""
    upstream = source or source_name(key, city)
    origin = attribution(upstream)
    with_geo = key.geo if geo is None else geo
    full = {"kind": kind or key.kind, **payload}
    observed = None if key.observed_min is None else world.utc(-key.observed_min)
    slug = city.slug if city else place
    name = _origin(upstream)[0]
    return {
        "city_slug": slug, "geo": {"lat": city.lat, "lon": city.lon} if city and with_geo else None,
        "observed_at": observed, "retrieved_at": world.utc()[:-1] + ".000000Z", "source": name,
        "license_id": origin["license_id"], "license_tier": origin["license_tier"], "schema_version": 1,
        "ags": city.ags if city else None, "wikidata_qid": city.qid if city else None,
        "attribution": {**origin["attribution"], "text": text} if text else origin["attribution"], "payload": full,
        "content_hash": sha256_hex([slug, full]), "record_id": sha256_hex([name, slug, full["kind"], observed]),
    }


def city_entry(city: City) -> Row:
    """A city as /cities and /cities/{slug} give it."""
    return {"slug": city.slug, "name_de": city.name, "state": city.state, "ags": city.ags,
            "is_state_capital": city.is_state_capital, "qid": city.qid, "osm_relation": city.osm_relation,
            "geo": {"lat": city.lat, "lon": city.lon}, "population": city.population, "dwd_station_ids": [],
            "gtfs_stop_ref": None, "coverage": city.coverage}


def body_of(answer: Answer, correlation_id: str, now_utc: str) -> str:
    """The text of the body; `now_utc` is the time for meta.generated_at of errors."""
    if answer.plain is not None:
        return compact(answer.plain)
    if answer.problem is not None:
        problem = answer.problem
        return compact({"error": {"code": problem.code, "message": problem.message, "hint": problem.hint},
                        "meta": {"correlation_id": correlation_id, "generated_at": now_utc}})
    return compact({"data": answer.data, "meta": {"correlation_id": correlation_id, **answer.meta}})


def etag_of(answer: Answer) -> str:
    """A hash of the body without its correlation id, in quotes."""
    text = compact([answer.plain, answer.data, answer.meta])
    return f'"{hashlib.sha256(text.encode()).hexdigest()[:32]}"'
