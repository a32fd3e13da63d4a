"""Holdings: which cities and keys golds stand on."""

from __future__ import annotations

from typing import Any

import pytest

from infranode_eval.generator.chain.holdings import cities_of, counts, keys_of


def row(*requests: str, **fields: Any) -> dict[str, Any]:
    return {"set": "core", "category": "join", "gold": [{"request": request} for request in requests], **fields}


@pytest.mark.parametrize(("request_", "cities", "keys"), [
    ("/cities/bonn/parking", {"bonn"}, {"parking"}),
    ("/cities/bonn/base", {"bonn"}, {"base"}),
    ("/cities/bonn/pois?type=school", {"bonn"}, {"pois"}),
    ("/compare?resource=weather&cities=bonn,koeln", {"bonn", "koeln"}, {"weather"}),
    ("/stations/8001083/departures", {"bonn"}, {"station-departures"}),
    ("/stations/8001083/arrivals", {"bonn"}, {"station-arrivals"}),
    ("/stations/1234567/arrivals", set(), {"station-arrivals"}),
    ("/live/bonn/transit/departures?stop_id=de:1:2", {"bonn"}, {"transit-departures"}),
    ("/cities/giessen/tourism", set(), {"tourism"}),
    ("/cities?limit=200", set(), set()),
])
def test_what_a_request_stands_on(request_: str, cities: set[str], keys: set[str]) -> None:
    assert cities_of([row(request_)]) == cities and keys_of([row(request_)]) == keys


def test_rows_are_counted_by_set_and_category() -> None:
    found = counts([row(), row(), row(category="stop"), row(set="control")])
    assert found == {"control": {"all": 1, "join": 1}, "core": {"all": 3, "join": 2, "stop": 1}}
