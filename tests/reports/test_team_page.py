"""Plays of the suite team as values for the page: the clock, lanes, messages; nothing that strangers wrote acts."""

from __future__ import annotations

import json
import random
from html import unescape
from typing import Any

import pytest

from infranode_eval.reports.archive import Row, run_from_json
from infranode_eval.reports.effort import Effort
from infranode_eval.reports.exhibits import Exhibit
from infranode_eval.reports.figures import summarise
from infranode_eval.reports.page import html_page
from infranode_eval.reports.taskbook import script_json
from infranode_eval.reports.team_page import SHORT, Texts, course_values, row_values
from tests.needs import need
from tests.reports.team_runs import agent, failed, result, row

EVIL = "</script><script>alert(1)</script><img src=https://example.org/x onerror=alert(2)>\u202e"
LONG = "Satzung " * 60 + EVIL


def event(kind: str, run: str, name: str, session: str, round_: str) -> dict[str, str]:
    return {"event": kind, "run": run, "subagent": name, "session": session, "round": round_}


def said(text: str, *calls: tuple[str, dict[str, Any]], number: int = 0) -> dict[str, Any]:
    made = [{"id": f"c{number}_{n}", "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
            for n, (name, given) in enumerate(calls)]
    return {"role": "assistant", "content": text, **({"tool_calls": made} if made else {})}


def transcript(name: str = "leser", evil: str = EVIL) -> dict[str, Any]:
    """Two rounds: two runs at once, one of which never ends; then nothing."""
    prompt = {"role": "user", "content": f"Lesen Sie {evil}"}
    media = {"role": "user", "content": [{"type": "text", "text": "Inhalt:"}, {
        "type": "media", "sha256": "a" * 64, "mime": "image/png", "bytes": 1234, "path": f"/arbeit/{evil}.png"}]}
    session = {"id": "s1", "subagent": name, "messages": [
        {"role": "system", "content": "Du bist …"}, prompt, said("", ("Read", {"file_path": "/arbeit/x"})),
        {"role": "tool", "tool_call_id": "c0_0", "name": "Read", "content": LONG}, media, said(evil)]}
    main = [{"role": "system", "content": "Du leitest …"}, {"role": "user", "content": f"Frage 1 {evil}"},
            said("", ("RunSubagent", {"subagent": name, "prompt": evil})),
            {"role": "tool", "tool_call_id": "c0_0", "name": "RunSubagent", "content": f"session_id: s1\n\n{evil}"},
            said("fertig"), {"role": "user", "content": "Frage 2"},
            said("", ("Read", {"file_path": "/arbeit/geheim"}), number=1),
            {"role": "tool", "tool_call_id": "c1_0", "name": "Read", "content": "verboten: /arbeit/geheim"},
            said("aus")]
    events = [event("start", "run1", name, "s1", "r1"), event("start", "w1.1", "zweiter", "w1.1", "r1"),
              event("end", "run1", name, "s1", "r1")]
    rounds = [{"id": f"r{n}", "first": first, "reason": None, "exit": 0, "timed_out": False, "stdout": "OK"}
              for n, first in ((1, 1), (2, 5))]
    replies = [{"finish_reason": "stop", "usage": None, "latency_s": None, "model": None} for _ in range(4)]
    return {"messages": main, "team": {
        "sessions": [session], "events": events, "rounds": rounds, "subagents": [agent(name), agent("zweiter")],
        "workflows": [{"task_id": "w1", "script": f"return {json.dumps(evil)}", "log": [evil], "result": "null"}],
        "refusals": [], "invocations": {}, "usage": {}, "labels": [], "estimated": False, "replayed": 0, "live": 4,
        "replies": replies}}


def test_every_event_takes_a_tick_and_every_round_two_at_least() -> None:
    play = course_values(transcript(), Texts())
    assert [(one["id"], one["from"], one["to"]) for one in play["rounds"]] == [("r1", 0, 4), ("r2", 4, 6)]
    assert [(one["id"], one["from"], one["to"], one["ended"]) for one in play["runs"]] == [
        ("run1", 1, 3, True), ("w1.1", 2, 6, False)], "a run that never ended reaches to the end"
    assert play["ticks"] == 6


def test_messages_stand_in_the_round_and_the_run_that_they_belong_to() -> None:
    play = course_values(transcript(), Texts())
    first, second = play["rounds"]
    assert [one["role"] for one in first["messages"]] == ["user", "main", "tool", "main"]
    assert second["messages"][2]["bad"] == "refused" and first["messages"][1]["calls"][0][0] == "RunSubagent"
    assert [one["role"] for one in play["runs"][0]["messages"]] == ["user", "main", "tool", "user", "main"]
    assert play["runs"][1]["messages"] == [], "nothing is stored of it"


def test_media_are_named_and_never_embedded() -> None:
    texts = Texts()
    play = course_values(transcript(evil="bild"), texts)
    [medium] = [one for message in play["runs"][0]["messages"] for one in message.get("media", ())]
    assert medium == ["/arbeit/bild.png", "image/png", 1234]
    assert "data:" not in json.dumps([play, texts.bodies])


def test_a_long_text_stands_once_under_its_hash() -> None:
    texts = Texts()
    one, other = course_values(transcript(), texts), course_values(transcript(), texts)
    key, size, begin = one["runs"][0]["messages"][2]["text"]
    assert texts.bodies[key] == LONG and size == len(LONG) and len(begin) <= SHORT
    assert one == other and list(texts.bodies.values()).count(LONG) == 1


@pytest.mark.parametrize(("change", "why"), [
    (lambda t: t.pop("team"), "no team"), (lambda t: t["team"].pop("events"), "no clock"),
    (lambda t: t["team"]["events"].append({"event": "start"}), "half an event"),
    (lambda t: t["team"]["events"].append(event("start", "r", "x", "s", "r9")), "a round that is none"),
    (lambda t: t["team"].update(rounds=5), "a number"), (lambda t: t.update(messages=[]), "no messages"),
    (lambda t: t["team"]["replies"].pop(), "a reply too few")])
def test_a_transcript_of_another_form_is_no_play(change, why) -> None:
    value = transcript()
    change(value)
    assert course_values(value, Texts()) is None
    assert course_values(None, Texts()) is None


def mutated(value: Any, draw: random.Random) -> Any:
    """The value with something else in one of its places."""
    if isinstance(value, dict) and value and draw.random() < 0.9:
        key = draw.choice(list(value))
        return {**value, key: mutated(value[key], draw)}
    if isinstance(value, list) and value and draw.random() < 0.9:
        place = draw.randrange(len(value))
        return [*value[:place], mutated(value[place], draw), *value[place + 1:]]
    return draw.choice([None, 5, -1, True, "x", "\ud800", [], {}, [None], [{}], 1e999])


def test_no_transcript_breaks_the_page() -> None:
    draw, whole = random.Random(7), 0
    for _ in range(1500):
        play = course_values(mutated(mutated(transcript(), draw), draw), Texts())
        script_json({"play": play})
        whole += play is not None
    assert 0 < whole < 1500, "some are plays all the same, some are none"


def test_a_failure_has_no_rounds_and_no_agents() -> None:
    assert row_values(Row.of_team(failed("recht")), None) == {
        "team": {"rounds": [], "agents": [], "refusals": [], "play": None}}


def exhibit(model: str, rows, change=lambda run: run, **more: Any) -> Exhibit:
    run = run_from_json(result(model, rows, **more), f"{model}.json")
    texts = Texts()
    courses = tuple(course_values(None if one["team"] is None else transcript(), texts) for one in rows)
    return Exhibit(summarise(run), run, Effort(), None, {}, (), texts.bodies, courses)


def page(*exhibits: Exhibit) -> str:
    need("jinja2")
    return html_page(exhibits)


def test_nothing_that_strangers_wrote_ends_a_script_or_becomes_markup() -> None:
    text = page(exhibit(EVIL, [row("recht", "+-+", [agent(EVIL)], [f"{EVIL.replace(' ', '_')} Read /x r1"])], cost=1.0))
    body = text.partition("<body>")[2]
    assert "<script>alert" not in text and "<img" not in text and "\u202e" not in text
    assert body.count("</script>") == 3, "the values, the texts, the page's own"
    assert EVIL[:20] in unescape(body)


def test_the_page_shows_score_heat_front_and_what_differs() -> None:
    text = page(exhibit("a", [row("recht", "+++", [agent()]), row("pegel", "++-", [agent()])], cost=2.0),
                exhibit("b", [row("recht", "+--", [agent()]), failed("pegel")], cost=0.5, sandbox="none"),
                exhibit("c", [row("recht", "+--", [agent()])], backend="baseline"))
    assert 'class="managed"' in text and "NOT MADE ALIKE: sandbox differs" in text
    assert 'data-task="recht"' in text and '<td class="h10" data-run="0" data-task="recht">' in text
    assert text.count('class="point on"') == 2 and "2 scenarios separate few models" in text
    assert "Managing a team of sub-agents" in text and "without the plays that failed" in text
    assert "Rounds that are not passed" in text


def test_no_price_no_chart() -> None:
    text = page(exhibit("a", [row("recht", "+++", [agent()])]))
    assert 'class="point' not in text and "No run of this group has a known price" in text
    assert "One scenario separates hardly any models" in text


def test_equal_runs_give_equal_pages() -> None:
    runs = [exhibit("a", [row("recht", "+-+", [agent()])], cost=1.0)]
    assert page(*runs) == page(*runs)


def test_values_may_stand_in_a_script() -> None:
    play = course_values(transcript(), Texts())
    assert "</script" not in script_json({"play": play})
