"""What one key answers for one city under a profile: data or the reason why there is none."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from infranode_eval.infranode import facts
from infranode_eval.infranode.envelope import CACHED, attribution, record, source_name
from infranode_eval.infranode.facts import City, Key
from infranode_eval.infranode.payloads import catalogue, places, rail, society
from infranode_eval.infranode.world import Row, World
from lm_eval_task.errors import UsageError

PROFILES = ("default", "bare", "dead")
_SWITCHED_OFF = frozenset(("hospitals-atlas", "icu-live"))


@dataclass(frozen=True, slots=True)
class Outcome:
    """source_status (`error` where the upstream is dead), data, and further meta fields."""

    source_status: str
    data: Any = None
    extras: Row = field(default_factory=dict)
    source: str = ""


@dataclass(frozen=True, slots=True)
class Resources:
    """All keys of a world under a profile.

    default: everything that production serves has data. bare: no upstreams, stores and credentials, as recorded.
    dead: credentials are set, upstreams are not reachable.
    """

    world: World
    profile: str

    @classmethod
    def of(cls, world: World, profile: str) -> Resources:
        """Raise UsageError for an unknown profile."""
        if profile not in PROFILES:
            raise UsageError(f"unknown profile {profile!r}: expected one of {', '.join(PROFILES)}")
        return cls(world, profile)

    def key(self, name: str) -> Key | None:
        """A key that the world's state serves, `pois` included."""
        found = facts.all_keys().get(name)
        return found if found and self.world.state in found.states else None

    def hindrance(self, key: Key, city: City | None) -> Outcome | None:
        """Why there can be no data: coverage first, then switches, then what the profile lacks; None if nothing."""
        if city and not facts.is_covered(self.world.state, key.key, city.slug):
            slugs = list(facts.covered(self.world.state, key.key) or ())
            return Outcome("not_covered", extras={"covered_cities": slugs})
        if key.key in _SWITCHED_OFF:
            return Outcome("disabled")
        if self.profile == "default":
            return None
        if key.bare == "dead" or self.profile == "dead" and key.bare == "disabled":
            return Outcome("error", source=source_name(key, city))
        return Outcome(key.bare or "no_data")

    def city_data(self, name: str, city: City) -> Outcome:
        """The answer of any key except overview and pois."""
        key = facts.all_keys()[name]
        hindrance = self.hindrance(key, city)
        if hindrance and not (name == "demographics" and self.profile != "default"):
            return hindrance
        if name == "demographics" and hindrance:
            return self._fallback_demographics(key, city)
        shaped = {"transit": self._transit, "public-tenders": self._tenders, "council-papers": self._papers,
                  "health": self._health, "events": self._events}.get(name)
        return shaped(key, city) if shaped else self._single(key, city)

    def _single(self, key: Key, city: City) -> Outcome:
        payload = catalogue.payload(self.world, key.key, city)
        extras = dict(CACHED) if key.cached and key.key != "demographics" else {}
        if payload is None:
            return Outcome("no_data", extras=extras)
        return Outcome("ok", record(self.world, key, city, payload), extras)

    def _fallback_demographics(self, key: Key, city: City) -> Outcome:
        data = record(self.world, key, city, society.registry_demographics(self.world, city), source="wikidata",
                      text="Wikidata (Einwohnerzahl)")
        return Outcome("ok", data, {"fallback": "wikidata"})

    def _transit(self, key: Key, city: City) -> Outcome:
        rows = [record(self.world, key, city, row) for row in rail.transit(self.world, city)]
        return Outcome("ok", rows, dict(CACHED))

    def _tenders(self, key: Key, city: City) -> Outcome:
        return Outcome("ok", {**places.public_tenders(self.world, city), **attribution(key.source)})

    def _papers(self, key: Key, city: City) -> Outcome:
        return Outcome("ok", {**places.council_papers(self.world, city), **attribution(key.source)})

    def _health(self, key: Key, city: City) -> Outcome:
        data: Row = {"hospital": record(self.world, key, city, places.health(self.world, city))}
        if self.world.state != "august-2026":
            data["icu_capacity"] = None
        return Outcome("ok", data, dict(CACHED))

    def _events(self, key: Key, city: City) -> Outcome:
        found = self._single(key, city)
        if found.source_status != "ok":
            return found
        return Outcome("ok", found.data, {**found.extras, "records": [found.data]})

    def pois(self, city: City, poi_type: str) -> Outcome:
        """Places of one type, after the toggle was passed and the type was checked."""
        key = facts.all_keys()["pois"]
        return Outcome("ok", record(self.world, key, city, places.osm_places(self.world, city, poi_type)), dict(CACHED))

    def board(self, eva: str, arrivals: bool) -> Outcome:
        """The board of one EVA number: the record belongs to no city, its city_slug is the number."""
        key = facts.all_keys()["station-arrivals" if arrivals else "station-departures"]
        hindrance = self.hindrance(key, None)
        if hindrance:
            return hindrance
        payload = rail.station_board(self.world, eva, arrivals)
        if payload is None:
            return Outcome("no_data", extras=dict(CACHED))
        return Outcome("ok", record(self.world, key, None, payload, place=eva), dict(CACHED))

    def stop_board(self, city: City, stop_id: str) -> Outcome:
        """Realtime departures at a stop; the extras hold what every answer under /live carries."""
        key = facts.all_keys()["transit"]
        payload = rail.transit_departures(self.world, city, stop_id)
        live: Row = {"as_of": None, "refresh_seconds": 45}
        if payload is None:
            return Outcome("no_data", extras=live)
        live["as_of"] = self.world.utc()
        if self.world.state == "august-2026":
            live.update(raw_updates_total=payload["departure_count"], filtered_out=0)
        return Outcome("ok", record(self.world, key, city, payload, source="gtfs_rt", kind="transit_departures"), live)
