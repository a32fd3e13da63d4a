"""The description of the embedded API: at the site root only, and what it lists is what is served."""

from __future__ import annotations

import json
import re

import pytest

from infranode_eval.infranode import facts, openapi
from infranode_eval.infranode.snapshot import Snapshot
from infranode_eval.infranode.throttle import Throttle


@pytest.mark.parametrize("state", facts.states())
def test_every_key_of_the_state_has_a_path_that_is_served(state: str) -> None:
    document = Snapshot(state).respond("GET", "/openapi.json").json()
    keys = {match[1] for path in document["paths"] if (match := re.fullmatch(r"/api/v1/cities/{slug}/(.+)", path))}
    assert keys == {*facts.keys(state), "pois"}
    for key in keys:
        found = Snapshot(state).respond("GET", f"/api/v1/cities/berlin/{key}?type=school").json()
        assert "wurde nicht gefunden" not in json.dumps(found, ensure_ascii=False), key


def test_it_says_that_it_is_a_model_and_gives_no_types_of_pois() -> None:
    document = openapi.document("v1.1.1")
    assert document["x-modelled"] is True and "Modelled" in document["info"]["description"]
    assert "enum" not in json.dumps(document["paths"]["/api/v1/cities/{slug}/pois"])
    [resource] = [p for p in document["paths"]["/api/v1/compare"]["get"]["parameters"] if p["name"] == "resource"]
    assert resource["schema"]["enum"] == list(facts.compare_resources("v1.1.1"))


@pytest.mark.parametrize(("method", "path", "status"), [
    ("GET", "/openapi.json", 200), ("GET", "/openapi.json?x=1", 200), ("POST", "/openapi.json", 405),
    ("HEAD", "/openapi.json", 405), ("GET", "/api/v1/openapi.json", 404), ("GET", "/openapi.yaml", 404)])
def test_it_lies_at_the_site_root(method: str, path: str, status: int) -> None:
    assert Snapshot().respond(method, path).status == status


def test_it_counts_against_no_limit() -> None:
    snapshot = Snapshot(throttle=Throttle(lambda: 1_000_000.0))
    assert {snapshot.respond("GET", "/openapi.json").status for _ in range(400)} == {200}
    assert snapshot.respond("GET", "/api/v1/cities/bonn").status == 200
