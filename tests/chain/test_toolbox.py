"""The tool layer: what it refuses itself, what goes to the world, and what a result looks like."""

from __future__ import annotations

import json
from typing import Any

import pytest

from infranode_eval.chain.declaration import Fault
from infranode_eval.chain.responses import Response
from infranode_eval.chain.toolbox import LONGEST_LIST, MAX_RESULT_CHARS, Toolbox, result_text, shown, unreadable
from infranode_eval.chain.worlds import Session, open_world
from lm_eval_task.records import Call
from lm_eval_task.tools import Tool, Toolset, read_tools

TOOLS = read_tools()
NO_REQUEST = "Die Argumente ergeben keine Anfrage."
WORLD = open_world({"kind": "snapshot", "name": "s1"})


class Counting:
    """A world that keeps what it is asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def get(self, request: str) -> Response:
        self.asked.append(request)
        return WORLD.answer(request)


def execute(name: str, arguments: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    world = Counting()
    done = Toolbox(world, TOOLS).execute(Call(name, arguments))
    return json.loads(done.text), world.asked


@pytest.mark.parametrize(("name", "arguments", "code", "message"), [
    ("wetter", {}, "unknown_tool", "Es gibt kein Werkzeug 'wetter'."),
    ("weather", {}, "invalid_arguments", "Der Parameter 'slug' fehlt."),
    ("weather", {"slug": None}, "invalid_arguments", "Der Parameter 'slug' fehlt."),
    ("weather", {"slug": 5}, "invalid_arguments", "Der Parameter 'slug' hat den falschen Typ; erwartet wird: Text."),
    ("transit_departures", {"slug": "bonn", "stop_id": 5}, "invalid_arguments",
     "Der Parameter 'stop_id' hat den falschen Typ; erwartet wird: Text oder null."),
    ("weather", {"slug": "bonn", "datum": "heute"}, "invalid_arguments", "Den Parameter 'datum' gibt es nicht."),
    ("list_cities", {"limit": 3}, "invalid_arguments", "Den Parameter 'limit' gibt es nicht."),
    ("weather", {"slug": "bad homburg"}, "invalid_arguments",
     "'bad homburg' ist kein gültiges Stadtkürzel: Leerzeichen und die Zeichen / @ : \\ ? # sind nicht erlaubt."),
    ("weather", {"slug": ""}, "invalid_arguments", "'' ist kein gültiges Stadtkürzel: Leerzeichen und die Zeichen"),
    ("weather", {"slug": ".."}, "invalid_arguments", "'..' ist kein gültiges Stadtkürzel"),
    ("get_city_resource", {"slug": "bonn", "resource": ".."}, "invalid_arguments", NO_REQUEST),
    ("get_city_resource", {"slug": "bonn", "resource": ""}, "invalid_arguments", NO_REQUEST),
    ("station_board_departures", {"eva": ""}, "invalid_arguments", NO_REQUEST),
    ("x" * 500, {}, "unknown_tool", f"Es gibt kein Werkzeug '{'x' * 79}…'."),
])
def test_what_the_tool_layer_refuses_itself(name: str, arguments: dict[str, Any], code: str, message: str) -> None:
    body, asked = execute(name, arguments)
    assert asked == [] and body.keys() == {"error"} and body["error"].keys() == {"code", "message", "hint"}
    assert body["error"]["code"] == code
    assert body["error"]["message"].startswith(message)
    assert body["error"]["hint"]


@pytest.mark.parametrize(("name", "arguments", "request_", "why"), [
    ("weather", {"slug": "KOELN"}, "/cities/koeln/weather", "ASCII case is free"),
    ("weather", {"slug": "köln"}, "/cities/k%c3%b6ln/weather", "the API has a hint for umlauts"),
    ("get_city_resource", {"slug": "bonn", "resource": "wetter"}, "/cities/bonn/wetter", "the API says 404"),
    ("pois", {"slug": "bonn", "type": "museum"}, "/cities/bonn/pois?type=museum", "the API says 422"),
    ("station_board_departures", {"eva": "80002"}, "/stations/80002/departures", "the API says 422"),
    ("transit_departures", {"slug": "bonn", "stop_id": None}, "/live/bonn/transit/departures", "the API says 400"),
    ("compare", {"resource": "parking", "cities": "bonn,ulm"}, "/compare?resource=parking&cities=bonn,ulm",
     "the API says 400 and names the eight"),
])
def test_everything_else_goes_to_the_world(name: str, arguments: dict[str, Any], request_: str, why: str) -> None:
    body, asked = execute(name, arguments)
    assert asked == [request_], why
    assert body == WORLD.answer(request_).body


def test_the_budget_is_of_calls_not_of_turns() -> None:
    world = Counting()
    box = Toolbox(world, TOOLS, most_calls=2)
    codes = [json.loads(box.execute(Call("wetter" if i == 0 else "weather", {"slug": "bonn"})).text).get("error", {})
             .get("code") for i in range(4)]
    assert codes == ["unknown_tool", None, "budget", "budget"], "a refused call counts, a call beyond is not executed"
    assert world.asked == ["/cities/bonn/weather"]


def test_an_unreadable_call_is_told_what_is_expected() -> None:
    done = unreadable("c1")
    assert (done.call, done.call_id, done.request, done.response) == (None, "c1", None, None)
    assert json.loads(done.text)["error"]["code"] == "unreadable_call"


def test_tools_of_ones_own_cause_no_request() -> None:
    own = Toolset.of([Tool.from_json({"type": "function", "function": {
        "name": "room", "description": "", "parameters": {"type": "object", "properties": {"slug": {}}}}})])
    for value in (5, "a", ["a"], None):
        done = Toolbox(Session(WORLD), own).execute(Call("room", {"slug": value}))
        assert json.loads(done.text)["error"]["code"] == "invalid_arguments"


# --- results ----------------------------------------------------------------------------------------------------------

def response(body: dict[str, Any], request: str = "/cities/bonn/x") -> Response:
    return Response(request, 200, body)


LISTS: list[tuple[str, dict[str, Any], str, int | None, str]] = [
    # (what, body, request, entries shown (None: as it is), why)
    ("a list in the payload", {"data": {"payload": {"rows": list(range(51))}}, "meta": {"a": 1}}, "/cities/bonn/x",
     50, "as the API's own tool layer does"),
    ("just short enough", {"data": {"payload": {"rows": list(range(50))}}, "meta": {}}, "/cities/bonn/x", None,
     "fifty are whole"),
    ("data as a list", {"data": list(range(60)), "meta": {}}, "/live/bonn/transit/departures", 50, "records of stops"),
    ("the list of cities", {"data": list(range(84)), "meta": {}}, "/cities?limit=200", None, "whole"),
    ("the sources", {"data": list(range(84)), "meta": {}}, "/sources?limit=200", None, "whole"),
    ("an overview", {"data": {"payload": {"rows": list(range(84))}}}, "/cities/bonn/overview", None, "whole"),
    ("no data", {"data": None, "meta": {"source_status": "no_data"}}, "/cities/bonn/x", None, "nothing to cut"),
    ("an error", {"error": {"code": "not_found"}}, "/cities/bonn/x", None, "nothing to cut"),
]


@pytest.mark.parametrize(("what", "body", "request_", "entries", "why"), LISTS, ids=[case[0] for case in LISTS])
def test_long_lists_are_cut_and_say_so(what: str, body: dict[str, Any], request_: str, entries: int | None,
                                       why: str) -> None:
    given = response(body, request_)
    text = result_text(given)
    if entries is None:
        assert text is given.text, why
        return
    found = json.loads(text)
    data = found["data"]
    rows = data if isinstance(data, list) else data["payload"]["rows"]
    total = len(body["data"] if isinstance(body["data"], list) else body["data"]["payload"]["rows"])
    assert rows == list(range(entries)) and entries == LONGEST_LIST
    assert found["meta"]["pagination"] == {"total": total, "returned": 50, "limit": 50, "offset": 0, "truncated": True}
    assert {**found["meta"], **body["meta"]} == found["meta"], "what was there stays"
    assert given.body == body, "the world's own body is not changed"


def test_every_list_of_a_payload_is_cut_and_the_longest_is_counted() -> None:
    found = json.loads(result_text(response({"data": {"payload": {
        "a": list(range(70)), "b": list(range(55)), "c": [1], "n": 125}}, "meta": {}})))
    assert [len(found["data"]["payload"][name]) for name in "abc"] == [50, 50, 1]
    assert found["data"]["payload"]["n"] == 125 and found["meta"]["pagination"]["total"] == 70


@pytest.mark.parametrize(("text", "most", "expected"), [
    ("abcdef", 6, "abcdef"),
    ("abcdef", 4, "abcd…[gekürzt: 4 von 6 Zeichen]"),
    ("äöü", 1, "ä…[gekürzt: 1 von 3 Zeichen]"),
])
def test_a_result_beyond_the_limit_is_cut_visibly(text: str, most: int, expected: str) -> None:
    assert shown(text, most) == expected


@pytest.mark.parametrize("request_", ["/cities?limit=200", "/cities/koeln/overview", "/cities/berlin/overview"])
def test_the_longest_answers_fit_by_default(request_: str) -> None:
    assert len(WORLD.answer(request_).text) <= MAX_RESULT_CHARS


def test_a_result_is_compact_and_keeps_umlauts() -> None:
    text = result_text(WORLD.answer("/cities/koeln/tourism"))
    assert ": " not in text.replace('": "', "") and "\\u00" not in text and "\n" not in text


def test_a_fault_shows_in_the_result() -> None:
    session = Session(WORLD, [Fault("/cities/bonn/weather", 503, "dwd", times=1)])
    box = Toolbox(session, TOOLS)
    first, second = (box.execute(Call("weather", {"slug": "bonn"})) for _ in range(2))
    assert (first.status, second.status) == (503, 200)
    assert "error" in json.loads(first.text) and "data" in json.loads(second.text)
    assert not first.response.answered and second.response.answered
