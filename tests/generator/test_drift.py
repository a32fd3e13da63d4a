"""Drift: which answers take a row out of use, which only change it, and which say nothing at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infranode_eval.generator.drift import Drift, by_subject, drift_of
from infranode_eval.generator.verify import shape
from infranode_eval.generator.watch import watch_json, watch_markdown
from infranode_eval.infranode import facts
from infranode_eval.infranode.client import Answer, Client
from infranode_eval.infranode.snapshot import Snapshot
from lm_eval_task.dataset import load_tasks
from lm_eval_task.errors import AuthError, IncompleteError, InfraError, RateLimitedError, RefusedRequestError
from lm_eval_task.records import Call, Task
from lm_eval_task.tools import read_tools

TOOLS = read_tools()
WEATHER = Call("weather", {"slug": "bonn"})
PARKING = Call("get_city_resource", {"slug": "bonn", "resource": "parking"})
STATIONS = Call("get_city_resource", {"slug": "bonn", "resource": "stations"})
OVERVIEW = Call("get_city_overview", {"slug": "bonn"})
COMPARE = Call("compare", {"resource": "air", "cities": "bonn,ulm"})
BOARD = Call("station_board_departures", {"eva": "8000044"})
PAYLOAD = {"payload": {"a": 1}}
GONE = RefusedRequestError("x", status=404, sub="not_found")
DEAD = InfraError("x", status=503, sub="upstream_unavailable")


def answer(data: Any, status: str | None = "ok", **meta: Any) -> Answer:
    head = {"source_status": status} if status else {}
    return Answer("/x", 200, {"data": data, "meta": {**head, **meta}}, "2026-12-05")


def proof(data: Any, status: str | None = "ok") -> dict[str, Any]:
    return {"level": "snapshot", "request": "/x", "status": 200, "source_status": status, "date": "2026-07-06",
            "shape": shape(data)}


def task(name: str, call: Call, was: Any = PAYLOAD, status: str | None = "ok", category: str = "resource_key",
         accept: tuple[tuple[Call, ...], ...] = (), **extra: Any) -> Task:
    return Task(name, "Wie ist es dort?", (call,), accept, category, "core", None,
                {"verified": proof(was, status), **extra})


@dataclass
class Api:
    """Answers by request, refuses the rest; an exception in place of an answer is raised."""

    answers: Mapping[str, Answer | Exception]
    asked: list[str] = field(default_factory=list)

    def __call__(self, request: str) -> Answer:
        self.asked.append(request)
        found = self.answers.get(request, GONE)
        if isinstance(found, Exception):
            raise found
        return found


def watch(*tasks: Task, api: Mapping[str, Answer | Exception], remembered: Callable[[str], Any] | None = None) -> Drift:
    good = {f"/cities/c{i}/weather": answer(PAYLOAD) for i in range(9)}
    padding = [task(f"good-{i}", Call("weather", {"slug": f"c{i}"})) for i in range(9)]     # so that the source is up
    return drift_of([*tasks, *padding], Api({**good, **api}), lambda path: None, TOOLS, lambda done, total: None,
                    remembered)


def row(city: str, status: str = "ok", data: Any = None) -> dict[str, Any]:
    return {"city": city, "source_status": status, "data": data}


OVERVIEW_NOW = {"data_types": [{"type": "parking", "available": True}]}
ROWS = [row("bonn", data={}), row("ulm", data={})]
FAILED = {"highlights": {"air": {"source_status": "error"}}}

CASES: list[tuple[Task, Answer | Exception, str | None, str, str]] = [
    (task("t", WEATHER), answer({"payload": {"a": 2}}), None, "", "another value is what values are for"),
    (task("t", WEATHER), GONE, "moved", "wrong call: 404 not_found", "the key or city is gone"),
    (task("t", WEATHER), answer(None, "no_data"), "moved", "source_status no_data", "the question has no answer"),
    (task("t", WEATHER), answer(None, "disabled"), "moved", "source_status disabled", "switched off"),
    (task("t", PARKING), answer(None, "not_covered", covered_cities=["ulm"]), "moved", "source_status not_covered",
     "no longer covered"),
    (task("t", PARKING, None, "not_covered", "not_covered"), answer(PAYLOAD), "moved",
     "source_status ok instead of not_covered", "covered now, so the trap is none"),
    (task("t", PARKING, None, "not_covered", "not_covered"), answer(None, "not_covered", covered_cities=["ulm"]), None,
     "", "still not covered"),
    (task("t", WEATHER), answer({"payload": {"b": 2}}), "changed", "another shape", "a field has another name"),
    (task("t", WEATHER), DEAD, "unknown", "HTTP 503 upstream_unavailable", "a dead upstream proves nothing"),
    (task("t", WEATHER), InfraError("x", sub="deadline"), "unknown", "no answer (deadline)", "a timeout is no answer"),
    (task("t", WEATHER), RateLimitedError("x"), "unknown", "HTTP 429", "throttled beyond patience"),
    (task("t", WEATHER), InfraError("x", status=200, sub="envelope"), "unknown", "HTTP 200 envelope",
     "a page of something in between"),
    (task("t", BOARD, None, "no_data"), answer(PAYLOAD), None, "", "a board that is full again has not changed"),
    (task("t", BOARD), answer(None, "no_data"), None, "", "no train at night"),
    (task("t", COMPARE, ROWS, None), answer([row("bonn", "error"), row("ulm", data={})], None), "unknown",
     "compare: row error", "one city's upstream failed just now"),
    (task("t", COMPARE, ROWS, None), answer([row("ulm", "error"), row("kiel", data={})], None), "moved",
     "compare: a city has no row",
     "a city is left out"),
    (task("t", OVERVIEW), answer(OVERVIEW_NOW | FAILED), "unknown",
     "overview: no highlight is ok", "the highlights' upstreams failed just now"),
    (task("t", OVERVIEW), answer({"data_types": []} | FAILED), "moved", "overview: no catalogue",
     "no catalogue, and a dead highlight does not explain that"),
    (task("t", OVERVIEW, phrasing="availability-2"), answer({"data_types": [{"type": "x"}]} | FAILED), "moved",
     "overview: no catalogue entry", "the topic is gone from the catalogue"),
    (task("t", STATIONS, then=[BOARD.to_json()]), answer({"payload": {"stations": [{"eva": "8098160"}]}}), "moved",
     "the station list lacks the station", "a step whose number is nowhere to be found"),
    (task("t", Call("weather", {"slug": "Bad Ort"})), GONE, "moved", "wrong call: the client refuses it", "no request"),
]


@pytest.mark.parametrize(("asked", "reply", "grade", "reason", "why"), CASES, ids=[case[-1] for case in CASES])
def test_what_an_answer_does_to_a_row(asked: Task, reply: Answer | Exception, grade: str | None, reason: str,
                                      why: str) -> None:
    request = {"weather": "/cities/bonn/weather", "get_city_overview": "/cities/bonn/overview",
               "compare": "/compare?resource=air&cities=bonn,ulm",
               "station_board_departures": "/stations/8000044/departures"}.get(
                   asked.expected[0].name, f"/cities/bonn/{asked.expected[0].arguments.get('resource')}")
    board = {} if asked.expected[0] == BOARD else {"/stations/8000044/departures": answer(PAYLOAD)}
    found = watch(asked, api={request: reply, **board}).findings
    assert [(f.task_id, f.grade) for f in found] == ([("t", grade)] if grade else [])
    assert all(f.reason.startswith(reason) for f in found)


def test_a_finding_holds_what_was_and_what_is() -> None:
    [gone] = watch(task("t", PARKING), api={}).of("moved")
    assert (gone.subject, gone.request, gone.before, gone.now) == (
        "parking", "/cities/bonn/parking", f"200 ok {shape(PAYLOAD)}", "404 not_found")
    [empty] = watch(task("t", WEATHER), api={"/cities/bonn/weather": answer(None, "no_data")}).of("moved")
    assert empty.now == f"200 no_data {shape(None)}"


def test_a_changed_shape_names_its_fields_where_somebody_remembers_them() -> None:
    asked, now = task("t", WEATHER), {"/cities/bonn/weather": answer({"payload": {"b": 1}, "geo": None})}
    [named] = watch(asked, api=now, remembered=lambda request: PAYLOAD).of("changed")
    assert named.reason == "+geo, +payload.b, −payload.a"
    [unnamed] = watch(asked, api=now, remembered=lambda request: {"payload": {"c": 1}}).of("changed")
    assert unnamed.reason == "another shape", "what is remembered is not what the proof was made from"


@pytest.mark.parametrize(("reply", "unverified", "reason"), [
    (GONE, (), "accept 0: wrong call: 404 not_found"),
    (answer(None, "disabled"), (), "accept 0: source_status disabled"),
    (answer(None, "disabled"), (0,), None),       # switched off since ever
    (GONE, (0,), "accept 0: wrong call: 404 not_found"),
    (DEAD, (), None),
])
def test_an_accepted_answer_that_is_gone_changes_a_row_but_does_not_move_it(
        reply: Answer | Exception, unverified: tuple[int, ...], reason: str | None) -> None:
    asked = task("t", WEATHER, accept=((PARKING,),), accept_unverified=list(unverified))
    found = watch(asked, api={"/cities/bonn/weather": answer(PAYLOAD), "/cities/bonn/parking": reply}).findings
    assert [(f.grade, f.reason) for f in found] == ([("changed", reason)] if reason else [])


def test_one_wrong_call_of_two_moves_a_row_even_where_the_other_is_silent() -> None:
    two = Task("t", "Frage?", (WEATHER, PARKING), (), "two_calls", "core", None,
               {"verified": [proof(PAYLOAD), proof(PAYLOAD)]})
    assert [f.grade for f in watch(two, api={"/cities/bonn/weather": DEAD}).findings] == ["moved"]
    alive = {"/cities/bonn/weather": DEAD, "/cities/bonn/parking": answer(PAYLOAD)}
    assert [f.grade for f in watch(two, api=alive).findings] == ["unknown"]


def test_a_row_without_a_gold_call_is_never_moved() -> None:
    refusal = Task("t", "Frage?", (), (), "abroad", "abstain", "refuse", {})
    assert watch(refusal, api={}).findings == ()


MARK = {"date": "2026-12-01", "reason": "source_status no_data"}


@pytest.mark.parametrize(("replies", "back"), [
    ({"/cities/bonn/weather": answer(PAYLOAD)}, ["t"]),
    ({"/cities/bonn/weather": answer(None, "no_data")}, []),
    ({"/cities/bonn/weather": DEAD}, []),
])
def test_a_retired_row_that_holds_again_is_told_and_nothing_else_of_it(
        replies: Mapping[str, Answer | Exception], back: list[str]) -> None:
    drift = watch(task("t", WEATHER, retired=MARK), api=replies)
    assert [f.task_id for f in drift.of("back")] == back
    assert (drift.checked, drift.retired) == (9, 1)
    assert all(f.grade == "back" for f in drift.findings)
    assert all("retired on 2026-12-01: source_status no_data" in f.reason for f in drift.findings)


def test_of_a_retired_pair_both_sides_must_hold_again() -> None:
    twins = (task("a", WEATHER, retired=MARK, pair="b"), task("b", PARKING, retired=MARK, pair="a"))
    one = {"/cities/bonn/weather": answer(PAYLOAD)}
    assert watch(*twins, api=one).of("back") == []
    both = {**one, "/cities/bonn/parking": answer(PAYLOAD)}
    assert [f.task_id for f in watch(*twins, api=both).of("back")] == ["a", "b"]


def json_of(*names: str) -> st.SearchStrategy[Any]:
    """Any JSON, built from these names."""
    leaves = st.one_of(st.none(), st.booleans(), st.integers(), st.sampled_from(["ok", "error", "bonn", "\x1b[2J", ""]))
    return st.recursive(leaves, lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(names), inner, max_size=4)), max_leaves=12)


JSON = json_of("payload", "stations", "eva", "evas", "data", "city", "source_status", "highlights", "data_types",
               "type", "covered_cities", "water", "slug", "coverage")
PATHS = st.dictionaries(st.sampled_from(["/cities/{slug}/x\x1b", "/cities/{slug}/care", "/x/compare", "/pois"]),
                        json_of("get", "parameters", "schema", "enum", "$ref", "name"))
EVERY_KIND = [
    task("weather", WEATHER), task("board", BOARD), task("compare", COMPARE, ROWS, None), task("broad", OVERVIEW),
    task("topic", OVERVIEW, phrasing="availability-2"), task("river", PARKING, phrasing="water-level-1"),
    task("stations", STATIONS, then=[BOARD.to_json()]), task("off", PARKING, None, "not_covered", "not_covered"),
    task("cities", Call("list_cities")), task("accept", WEATHER, accept=((PARKING,), (COMPARE,)))]


@given(data=JSON, meta=JSON, document=st.one_of(JSON, st.fixed_dictionaries({"paths": PATHS})))
@settings(max_examples=300, deadline=None)
def test_whatever_the_api_turns_into_the_watch_goes_on_and_its_report_is_harmless(data: Any, meta: Any,
                                                                                  document: Any) -> None:
    reply = Answer("/x", 200, {"data": data, "meta": meta}, "2026-12-05")
    drift = drift_of(EVERY_KIND, lambda request: reply, lambda path: document, TOOLS, lambda done, total: None)
    head = {"file": "t", "version": None, "source": {"level": "server"}}
    assert "\x1b" not in watch_markdown(drift, head) + "".join(f.reason for f in drift.findings)
    watch_json(drift, head)


# --- a source that is down --------------------------------------------------------------------------------------------

def many(count: int) -> list[Task]:
    return [task(f"t{i}", Call("weather", {"slug": f"c{i}"})) for i in range(count)]


def asked_of(tasks: list[Task], reply: Callable[[int], Answer | Exception]) -> tuple[Callable[[], Drift], Api]:
    api = Api({f"/cities/c{i}/weather": reply(i) for i in range(len(tasks))})
    return (lambda: drift_of(tasks, api, lambda path: None, TOOLS, lambda done, total: None)), api


@pytest.mark.parametrize(("silent", "fails"), [(10, False), (11, True)])
def test_where_more_than_half_stay_silent_the_source_is_down(silent: int, fails: bool) -> None:
    run, _ = asked_of(many(20), lambda i: DEAD if i < silent else answer(PAYLOAD))
    if fails:
        with pytest.raises(IncompleteError, match="11 of 20 rows got no answer"):
            run()
    else:
        assert len(run().of("unknown")) == silent


@pytest.mark.parametrize(("error", "asked"), [(InfraError("x", sub="connection"), 5), (DEAD, 50),
                                              (AuthError("x", status=403), 1)])
def test_a_source_that_says_nothing_is_not_asked_to_the_end(error: Exception, asked: int) -> None:
    run, api = asked_of(many(200), lambda i: error)
    with pytest.raises(type(error)):
        run()
    assert len(api.asked) == asked


def test_single_timeouts_are_borne() -> None:
    run, _ = asked_of(many(60), lambda i: InfraError("x", sub="deadline") if i % 5 else answer(PAYLOAD))
    with pytest.raises(IncompleteError):       # four in a row, time and again: asked to the end, and too many
        run()
    run, api = asked_of(many(60), lambda i: answer(PAYLOAD) if i % 3 else InfraError("x", sub="deadline"))
    assert len(run().of("unknown")) == 20
    assert len(api.asked) == 62, "60, the registry, and an overview since nothing describes the API"


# --- the shipped tasks against the embedded API -----------------------------------------------------------------------

def shipped_against(state: str) -> Drift:
    client = Client(rps=None, retries=0, transport=Snapshot(state).transport(), today=lambda: "2026-12-05")
    return drift_of(load_tasks(TOOLS, "all"), client.get, client.document, TOOLS, lambda done, total: None)


def test_the_state_that_the_tasks_were_checked_against_has_not_moved() -> None:
    drift = shipped_against("v1.1.1")
    assert drift.findings == ()
    assert not any(change.is_change for change in drift.changes)


def moved_by_the_facts(state: str) -> set[str]:
    """The rows whose key is gone or whose city changed sides, read off the facts and not off any answer."""
    return {t.task_id for t in load_tasks(TOOLS, "all") for call in t.expected if call.name == "get_city_resource"
            if call.arguments["resource"] not in facts.keys(state)
            or facts.is_covered(state, call.arguments["resource"], call.arguments["slug"])
            != (t.category != "not_covered")}


def test_august_changed_what_the_facts_say() -> None:
    drift = shipped_against("august-2026")
    assert drift.of("unknown") == []
    assert {f.task_id for f in drift.of("moved")} == moved_by_the_facts("august-2026")
    assert {f.reason for f in drift.of("changed") if f.subject == "health"} == {"another shape"}, "without icu_capacity"
    changes = {change.name: change for change in drift.changes}
    assert changes["resource keys"].removed == ("icu-live",)
    assert len(changes["resource keys"].added) == 15
    assert changes["cities of tree-cadastre"].added == ("hamburg", "kiel")


def test_july_had_fewer_keys_resources_and_cities() -> None:
    """Six compare resources and three keys came on 4 to 6 July, and five keys gained cities."""
    drift = shipped_against("july-1")
    by_key = {f.task_id for f in drift.of("moved") if f.request.startswith("/cities") and "/overview" not in f.request}
    assert by_key == moved_by_the_facts("july-1") != set()
    changes = {change.name: change for change in drift.changes}
    missing = {"charging-status", "civil-protection-warnings", "office-wait-times"}
    assert set(changes["resource keys"].removed) == missing
    for found in drift.of("moved"):
        asks_for_missing = found.subject in missing and "/cities/" in found.request
        assert asks_for_missing == (found.reason == "wrong call: 404 not_found"), found
        assert found.request.startswith("/compare") == (found.reason == "wrong call: 400 invalid_request"), found
    keys = {f.subject for f in drift.of("moved") if f.reason == "source_status not_covered"}
    assert keys <= {name.removeprefix("cities of ") for name in changes}
    assert len(drift.of("moved")) > 70


def test_findings_are_grouped_by_what_they_ask_for() -> None:
    drift = watch(task("a", WEATHER), task("b", WEATHER), task("c", PARKING), api={})
    assert [(key, len(inside)) for key, inside in by_subject(drift.of("moved")).items()] == [
        (("weather", "wrong call: 404 not_found"), 2), (("parking", "wrong call: 404 not_found"), 1)]
