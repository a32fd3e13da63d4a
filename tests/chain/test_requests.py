"""Requests of calls: as the tools define them, and besides what only the API refuses."""

from __future__ import annotations

from typing import Any

import pytest

from infranode_eval.chain.requests import request_for
from infranode_eval.infranode.snapshot import Snapshot
from lm_eval_task.records import Call


@pytest.mark.parametrize(("name", "arguments", "request_", "why"), [
    ("get_city", {"slug": "Bonn"}, "/cities/bonn/base", "as the tools define it"),
    ("list_cities", {}, "/cities?limit=200", "no argument"),
    ("station_board_departures", {"eva": "8001083"}, "/stations/8001083/departures", "a right number"),
    ("station_board_departures", {"eva": "80002"}, "/stations/80002/departures", "the API says what is wrong"),
    ("station_board_arrivals", {"eva": "Bonn Hbf"}, "/stations/Bonn%20Hbf/arrivals", "a name for a number"),
    ("station_board_arrivals", {"eva": "8/0?1"}, "/stations/8%2F0%3F1/arrivals", "nothing leaves the segment"),
    ("station_board_arrivals", {"eva": ""}, None, "no segment"),
    ("station_board_departures", {"eva": 8001083}, None, "no text"),
    ("transit_departures", {"slug": "bonn", "stop_id": "Markt"}, "/live/bonn/transit/departures?stop_id=Markt",
     "a name for an id"),
    ("transit_departures", {"slug": "Bonn", "stop_id": None}, "/live/bonn/transit/departures", "no id"),
    ("transit_departures", {"slug": "bonn"}, "/live/bonn/transit/departures", "no id either"),
    ("transit_departures", {"slug": "bad bonn", "stop_id": "x"}, None, "the client refuses the slug"),
    ("get_city", {"slug": "frankfurt am main"}, None, "so it does here"),
    ("get_city", {"slug": "a\ud800"}, None, "half a pair is no text"),
    ("station_board_arrivals", {"eva": "\ud800"}, None, "nor here"),
    ("wetter", {"slug": "bonn"}, None, "no such tool"),
    ("compare", {"resource": "weather", "cities": "Ulm, bonn"}, "/compare?resource=weather&cities=bonn,ulm",
     "sorted, lower case, without blanks"),
    ("compare", {"resource": "weather", "cities": "köln"}, "/compare?resource=weather&cities=k%C3%B6ln",
     "letters that no URL holds"),
    ("compare", {"resource": "weather", "cities": "bonn&resource=unemployment"},
     "/compare?resource=weather&cities=bonn%26resource%3Dunemployment", "no further parameter"),
    ("compare", {"resource": "weather", "cities": "bonn\n#ulm%26"},
     "/compare?resource=weather&cities=bonn%0A%23ulm%2526", "no line, no fragment, no code of one's own"),
    ("compare", {"resource": "a&cities=b", "cities": "bonn"}, "/compare?resource=a%26cities%3Db&cities=bonn",
     "nor by the resource"),
    ("get_city_resource", {"slug": "bonn", "resource": ".."}, None, "no step up"),
    ("get_city_resource", {"slug": "..", "resource": "weather"}, None, "nor here"),
    ("get_city_resource", {"slug": "bonn", "resource": "../../x"}, "/cities/bonn/..%2F..%2Fx", "one segment"),
    ("station_board_departures", {"eva": "."}, None, "no step at all"),
    ("transit_departures", {"slug": "..", "stop_id": "1"}, None, "nor of a stop"),
])
def test_request(name: str, arguments: dict[str, Any], request_: str | None, why: str) -> None:
    assert request_for(Call(name, arguments)) == request_, why


@pytest.mark.parametrize(("name", "arguments", "status", "message"), [
    ("station_board_departures", {"eva": "80002"}, 422,
     "Ungueltige EVA-Nummer '80002': erwartet eine 6-8-stellige Zahl."),
    ("station_board_departures", {"eva": "Bonn Hbf"}, 422,
     "Ungueltige EVA-Nummer 'Bonn Hbf': erwartet eine 6-8-stellige Zahl."),
    ("transit_departures", {"slug": "bonn", "stop_id": "Markt"}, 400, "Ungueltige oder fehlende stop_id."),
    ("transit_departures", {"slug": "bonn"}, 400, "Ungueltige oder fehlende stop_id."),
])
def test_the_api_says_what_is_wrong(name: str, arguments: dict[str, Any], status: int, message: str) -> None:
    request = request_for(Call(name, arguments))
    found = Snapshot().respond("GET", f"/api/v1{request}")
    assert (found.status, found.json()["error"]["message"]) == (status, message)
