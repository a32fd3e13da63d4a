"""The embedded API answers like every recorded response: status, source_status, error code, headers, keys."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from infranode_eval.infranode.envelope import Response
from infranode_eval.infranode.snapshot import Snapshot
from infranode_eval.infranode.throttle import Throttle
from tests.infranode.contract_shape import read_fixture, rows_of_folder, shape

RECORDED = Path(__file__).resolve().parents[3] / "shared" / "infranode" / "recorded"
ROWS = {row["name"]: row for row in read_fixture()}
_ENABLED_FEED = "recorded with the realtime feed switched on"
_WARM_CACHE = "recorded from a cache filled by hand, so that an ok answer exists"

# Which profile a recording belongs to; the rest is the bare server.
PROFILES = {
    **{name: ("default", _WARM_CACHE) for name in ROWS if name.startswith(("ok_shape__", "no_data__"))},
    "stations_no_data__koeln": ("default", _WARM_CACHE),
    "live_transit_bad_stop_id_400": ("default", _ENABLED_FEED),
    "live_transit_missing_stop_id_400": ("default", _ENABLED_FEED),
    "live_transit_trip_stop_id_400": ("default", _ENABLED_FEED),
    "live_transit_no_data": ("default", _ENABLED_FEED),
    "dead_upstream_503__station_board_with_credentials": ("dead", "credentials set, upstream unreachable"),
}

# Recordings that no profile can repeat as they are, in any state: fields of the row that differ, and why.
EVERYWHERE = {
    "stations_no_data__koeln": ({"source_status": "ok", "data": "object", "keys": None},
                                "the cache held an empty catalogue; the facts know Köln's stations"),
}

# Differences between 1 July and v1.1.1 (6 July): what is expected instead, and why. `keys` names changed paths only.
SINCE_V1_1_1 = {
    "compare_demographics_400_in_july1": (
        {"status": 200, "code": None, "data": "list", "keys": None, "headers": None},
        "six more resources can be compared since 4 July"),
    "not_covered__koeln__bike-counts": (
        {"status": 503, "source_status": None, "code": "upstream_unavailable", "data": "absent", "keys": None,
         "headers": None}, "bike-counts covers Köln since 6 July, and the bare server has no upstream"),
    "ok_shape__playgrounds": ({"keys": {"meta", "meta.pagination"}}, "list types carry meta.pagination since 6 July"),
    "ok_shape__pois": ({"keys": {"meta", "meta.pagination"}}, "list types carry meta.pagination since 6 July"),
    "ok_shape__overview": ({"keys": {"data.data_types[]"}},
                           "the catalogue lists parking and office-wait-times, which Berlin is not covered by"),
    "overview_berlin": ({"keys": {"data.data_types[]"}},
                        "the catalogue lists parking and office-wait-times, which Berlin is not covered by"),
}


def answer_to(row: dict, state: str) -> Response:
    """Send the recorded request to a snapshot that is in the situation in which it was recorded."""
    profile = PROFILES.get(row["name"], ("bare", ""))[0]
    spent = {"rate_limit_last_200_before_429": 299, "rate_limit_429": 300, "rate_limit_compare_same_budget": 300}
    throttle = Throttle(lambda: 1_000_000.0) if row["name"] in spent else False
    snapshot = Snapshot(state, profile, throttle=throttle)
    for _ in range(spent.get(row["name"], 0)):
        snapshot.respond("GET", "/api/v1/cities/hamburg")
    headers = dict(row["request_headers"])
    if "If-None-Match" in headers:      # our body has another hash than the recorded one
        headers["If-None-Match"] = snapshot.respond("GET", row["path"]).headers["etag"]
    return snapshot.respond(row["method"], row["path"], headers)


def answer_shape(row: dict, state: str) -> dict:
    found = answer_to(row, state)
    return shape(found.status, dict(found.headers), found.json())


def list_paths(keys: dict) -> set[str]:
    return {path for path in keys if "[]" in path}


def changed_paths(expected: dict, actual: dict) -> set[str]:
    """Paths whose key sets differ. Entries of a list that is empty on one side say nothing: emptiness is a value."""
    one_sided = {path for path in list_paths(expected) ^ list_paths(actual)
                 if not (path in expected and path == "data[]")}
    return {path for path in {*expected, *actual} - one_sided if expected.get(path) != actual.get(path)}


def differences(row: dict, actual: dict) -> dict:
    found = {field: actual[field] for field in ("status", "source_status", "code", "data", "headers")
             if actual[field] != row[field]}
    paths = changed_paths(row["keys"], actual["keys"])
    return {**found, "keys": paths} if paths else found


def unexplained(found: dict, allowed: dict) -> dict:
    """What is left of the differences; None in `allowed` permits any value, else it must be the stated one."""
    return {field: value for field, value in found.items()
            if field not in allowed or allowed[field] is not None and allowed[field] != value}


@pytest.mark.parametrize("name", sorted(ROWS))
def test_the_state_of_1_july_answers_like_the_recording(name):
    allowed, _ = EVERYWHERE.get(name, ({}, ""))
    assert unexplained(differences(ROWS[name], answer_shape(ROWS[name], "july-1")), allowed) == {}


@pytest.mark.parametrize("name", sorted(ROWS))
def test_v1_1_1_differs_from_the_recording_only_where_the_release_changed_it(name):
    allowed, _ = SINCE_V1_1_1.get(name, EVERYWHERE.get(name, ({}, "")))
    assert unexplained(differences(ROWS[name], answer_shape(ROWS[name], "v1.1.1")), allowed) == {}


@pytest.mark.parametrize("name", sorted(SINCE_V1_1_1))
def test_every_allowed_difference_really_occurs(name):
    allowed, _ = SINCE_V1_1_1[name]
    assert set(differences(ROWS[name], answer_shape(ROWS[name], "v1.1.1"))) >= set(allowed)


def test_there_is_a_row_for_each_of_the_133_recordings():
    assert len(ROWS) == 133


@pytest.mark.skipif(not RECORDED.is_dir(), reason="the folder of recordings lies outside the project")
def test_the_fixture_is_what_the_recordings_say():
    assert rows_of_folder(RECORDED) == list(ROWS.values())


@pytest.mark.skipif(not RECORDED.is_dir(), reason="the folder of recordings lies outside the project")
@pytest.mark.parametrize("name", sorted(name for name, row in ROWS.items() if row["code"]))
def test_errors_carry_the_recorded_message_and_hint(name):
    recorded = json.loads((RECORDED / f"{name}.json").read_text("utf-8"))["body"]["error"]
    assert answer_to(ROWS[name], "july-1").json()["error"] == recorded


@pytest.mark.parametrize(("name", "field", "value"), [
    ("berlin__base", "status", 200),
    ("berlin__parking", "source_status", "ok"),
    ("pois_invalid_type_422", "code", "not_found"),
    ("etag_304", "headers", []),
])
def test_a_wrong_answer_would_be_noticed(name, field, value):
    actual = {**answer_shape(ROWS[name], "july-1"), field: value}
    assert field in differences(ROWS[name], actual)


def test_a_missing_key_would_be_noticed():
    row = ROWS["ok_shape__weather"]
    actual = json.loads(json.dumps(answer_shape(row, "july-1")))
    actual["keys"]["data.payload"] = ["kind"]
    assert differences(row, actual) == {"keys": {"data.payload"}}
