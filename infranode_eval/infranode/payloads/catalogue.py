"""Which builder makes the payload of which key."""

from __future__ import annotations

from infranode_eval.infranode.facts import City
from infranode_eval.infranode.payloads import energy, environment, mobility, places, rail, society
from infranode_eval.infranode.world import Row, World

_BUILDERS = {**environment.BUILDERS, **mobility.BUILDERS, **rail.BUILDERS, **society.BUILDERS, **energy.BUILDERS,
             **places.BUILDERS}
_PAGED = frozenset(("charging", "energy", "events", "transit", "pois", *places.OSM_KEYS))


def payload(world: World, key: str, city: City) -> Row | None:
    """The payload of a key for a city, without `kind`; None where the source has nothing for it (no_data).

    The keys transit, pois, public-tenders and council-papers have shapes of their own and are no keys here.
    """
    if key in society.SERIES_KEYS:
        return society.series(key, world, city)
    if key in places.OSM_KEYS:
        return places.osm_places(world, city, key)
    builder = _BUILDERS.get(key)
    return builder(world, city) if builder else None


def paged(key: str) -> bool:
    """Whether an answer carries meta.pagination (list types, from 6 July)."""
    return key in _PAGED
