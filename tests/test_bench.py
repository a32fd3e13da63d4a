"""The verdict on a case of the test bench, and its metrics: the specification's fixture, mutations, hostile replies."""

from __future__ import annotations

import copy
import json
import random
import time
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from infranode_eval.statistics import wilson
from lm_eval_task.bench import aggregate_cases, score_case
from lm_eval_task.cases import SILENT, offered, read_cases, steps_of
from lm_eval_task.records import FAILURES, Call, Reply, Score, Task
from lm_eval_task.tools import Tool, Toolset
from tests.test_hostile import HEADS, PIECES, messages_of, text_of

CASES = read_cases()
TASKS = {task.task_id: task for task in CASES.tasks}
SILENCE, QUESTION = "Dafür passt keines der Werkzeuge.", "Um welchen Termin geht es?"
MODES = ("prompt", "native")


def native(calls: Sequence[Call], text: Any = None) -> dict[str, Any]:
    return {"role": "assistant", "content": text, "tool_calls": [
        {"id": str(i), "type": "function", "function": {"name": c.name, "arguments": json.dumps(dict(c.arguments))}}
        for i, c in enumerate(calls)]}


def spoken(calls: Sequence[Call], mode: str = "prompt") -> Reply:
    """The calls as a model of this mode makes them; without any a sentence."""
    if not calls:
        return Reply.from_text(SILENCE)
    if mode == "native":
        return Reply(native(calls), "tool_calls")
    said = [c.to_json() for c in calls]
    return Reply.from_text(json.dumps(said if len(said) > 1 else said[0], ensure_ascii=False))


def judge(task: Task | str, reply: Reply | str | Sequence[Call], mode: str = "prompt", tools: Toolset = CASES.tools
          ) -> Score:
    task = TASKS[task] if isinstance(task, str) else task
    reply = Reply.from_text(reply) if isinstance(reply, str) else reply
    return score_case(task, reply if isinstance(reply, Reply) else spoken(reply, mode), tools, mode, CASES.zone)


# --- the fixture of the specification ---------------------------------------------------------------------------------

def numbers(replies: dict[str, Any], mode: str = "prompt") -> dict[str, float | None]:
    """The metrics of a run that gives the gold to every case but those in `replies`."""
    return aggregate_cases([(t, judge(t, replies.get(t.task_id, t.expected), mode)) for t in CASES.tasks])


@pytest.mark.parametrize("mode", MODES)
def test_the_fixture(mode: str) -> None:
    booked = Call("book_room", dict(TASKS["S2-9"].expected[0].arguments) | {"room": "raum"})
    looked = [Call("list_calendars"), Call("get_events", {"calendar": "team", "date_from": "2026-04-14",
                                                          "date_to": "2026-04-14"})]
    got = numbers({"S2-9": [booked], "S5-8": looked}, mode)
    assert got == {
        "formkorrekt": 28 / 28, "richtig_je_schritt": 36 / 37, "auftraege_gelungen": 40 / 42,
        "schritte_je_auftrag": 39 / 42, "stillgehalten": 13 / 14, "ability": pytest.approx((3 + 11 / 12 + 7 / 8) / 5),
        "call_match": 40 / 42, "parsed": 1.0, "streng_auftraege_gelungen": 40 / 42, "asked": 0.0, "asked_right": 0.0,
        "claims_done": 0.0, "first_step_only": 0.0, "call_match_S1": 1.0, "call_match_S2": 11 / 12,
        "call_match_S3": 1.0, "call_match_S4": 1.0, "call_match_S5": 7 / 8}
    shown = {name: f"{100 * got[name]:.1f} %" for name in ("auftraege_gelungen", "stillgehalten", "richtig_je_schritt",
                                                           "call_match_S2", "call_match_S5")}
    assert shown == {"auftraege_gelungen": "95.2 %", "stillgehalten": "92.9 %", "richtig_je_schritt": "97.3 %",
                     "call_match_S2": "91.7 %", "call_match_S5": "87.5 %"}
    assert f"{got['schritte_je_auftrag']:.2f}" == "0.93"


@pytest.mark.parametrize(("k", "n", "low", "high"), [(40, 42, 84.2, 98.7), (13, 14, 68.5, 98.7)])
def test_the_intervals_of_the_fixture(k: int, n: int, low: float, high: float) -> None:
    interval = wilson(k, n)
    assert (round(100 * interval.low, 1), round(100 * interval.high, 1)) == (low, high)


def test_who_calls_the_gold_gets_everything_in_every_list_and_mode() -> None:
    for which in ("original", "paraphrase"):
        for mode in MODES:
            tasks = read_cases(which=which).tasks
            got = aggregate_cases([(t, judge(t, t.expected, mode)) for t in tasks])
            assert (got["auftraege_gelungen"], got["streng_auftraege_gelungen"], got["ability"]) == (1.0, 1.0, 1.0)
            assert got["schritte_je_auftrag"] == 37 / 42


def test_who_never_calls_gets_a_third() -> None:
    got = numbers(dict.fromkeys(TASKS, SILENCE))
    assert got["auftraege_gelungen"] == got["streng_auftraege_gelungen"] == 14 / 42
    assert (got["stillgehalten"], got["asked"], got["formkorrekt"], got["richtig_je_schritt"]) == (1.0, 0.0, 0.0, 0.0)


def test_who_always_asks_gets_a_third_too_and_asks_without_the_right_word() -> None:
    got = numbers(dict.fromkeys(TASKS, "Können Sie das bitte genauer sagen?"))
    assert (got["auftraege_gelungen"], got["asked"], got["asked_right"]) == (14 / 42, 1.0, 0.0)


def test_who_always_calls_keeps_still_nowhere() -> None:
    got = numbers(dict.fromkeys(TASKS, [Call("list_contacts", {"company": "x"})]))
    assert (got["stillgehalten"], got["auftraege_gelungen"], got["asked"], got["asked_right"]) == (0.0, 0.0, None, None)
    assert (got["formkorrekt"], got["schritte_je_auftrag"]) == (1.0, 1.0)


def test_who_makes_the_first_call_only_loses_the_cases_of_several() -> None:
    got = numbers({t.task_id: t.expected[:1] for t in CASES.tasks})
    assert (got["auftraege_gelungen"], got["first_step_only"]) == (34 / 42, 1.0)
    assert got["richtig_je_schritt"] == 28 / 37


def test_an_empty_denominator_has_no_number() -> None:
    got = aggregate_cases([(TASKS["S4-1"], judge("S4-1", SILENCE))])
    assert {name for name, value in got.items() if value is None} == {
        "formkorrekt", "richtig_je_schritt", "asked", "asked_right", "claims_done", "first_step_only", "call_match_S1",
        "call_match_S2", "call_match_S3", "call_match_S5"}
    assert set(aggregate_cases([]).values()) == {None}


def test_a_failure_is_not_solved_not_form_correct_and_not_still() -> None:
    gone = Score.failure("infra_error", "the endpoint was gone")
    got = aggregate_cases([(t, gone) for t in CASES.tasks])
    zero = {name for name, value in got.items() if value == 0.0}
    assert zero == got.keys() - {"asked", "asked_right", "claims_done"}


# --- one reply --------------------------------------------------------------------------------------------------------

def detail(score: Score, *names: str) -> tuple[Any, ...]:
    return tuple(score.details[name] for name in names)


def test_a_row_carries_what_the_suite_counts_and_nothing_of_it_in_other_suites() -> None:
    row = judge("S3-4", TASKS["S3-4"].expected).to_json()
    assert {name: row[name] for name in row if name not in Score("ok").to_json()} == {
        "hits": 2, "steps": 2, "emitted": 2, "form_notes": [], "broken": False, "streng_hits": 2, "streng_match": True,
        "asked": None, "asked_right": None, "claims_done": None, "first_step_only": False}
    assert list(Score("ok").to_json())[-1] == "calls"


def test_the_order_of_calls_is_free_unless_the_case_wants_one() -> None:
    task = TASKS["S3-3"]
    turned = task.expected[::-1]
    assert judge(task, turned).outcome == "ok"
    ordered = Task(task.task_id, task.question, task.expected, category="S3", extra={"reihenfolge": True})
    assert judge(ordered, task.expected).outcome == "ok"
    score = judge(ordered, turned)
    assert (score.outcome, score.sub, score.call_match, score.request_match, score.lenient_call_match) == (
        "wrong_args", "other", False, False, False)
    assert detail(score, "hits", "streng_hits", "streng_match") == (2, 2, False)
    assert "wrong_order" in score.labels and "order" in score.why


def test_an_alternative_fulfils_its_step_and_is_named_in_the_verdict() -> None:
    assert judge("S1-3", [Call("list_rooms", {"min_seats": 1})]).call_match
    score = judge("S1-3", [Call("list_rooms", {"min_seats": 2})])
    assert (score.call_match, score.outcome) == (False, "hallucinated_arg")


ROOMS = Toolset.of([Tool.from_json({"name": name, "parameters": {"type": "object", "properties": {
    "a": {"type": "integer"}}}}) for name in ("one", "two")])
ONE, TWO, THREE = Call("one", {"a": 1}), Call("one", {"a": 2}), Call("two", {"a": 3})


def with_steps(*steps: Sequence[Call], **extra: Any) -> Task:
    others = [[c.to_json() for c in step[1:]] for step in steps]
    return Task("t", "?", tuple(step[0] for step in steps), category="S3", extra={"oder": others} | extra)


def test_a_call_that_fits_two_steps_is_given_to_the_one_that_needs_it() -> None:
    task = with_steps((ONE, TWO), (THREE, ONE))
    for calls in ((ONE, TWO), (TWO, ONE), (ONE, THREE), (THREE, TWO)):
        score = judge(task, calls, tools=ROOMS)
        assert (score.outcome, detail(score, "hits")) == ("ok", (2,)), calls
    score = judge(task, (TWO, TWO), tools=ROOMS)
    assert (score.call_match, detail(score, "hits", "emitted")) == (False, (1, 2))


def test_the_fault_is_told_beside_the_alternative_that_comes_nearest() -> None:
    score = judge(with_steps((ONE, THREE), (TWO,)), (TWO, Call("two", {"a": 4})), tools=ROOMS)
    assert (score.outcome, score.why) == ("wrong_args", "a: 4 instead of 3")


def test_the_same_call_once_for_two_steps_is_one_hit_under_both_rules() -> None:
    task = with_steps((ONE,), (ONE,))
    score = judge(task, [ONE], tools=ROOMS)
    assert detail(score, "hits", "streng_hits", "streng_match", "first_step_only") == (1, 1, False, True)
    assert judge(task, [ONE, ONE], tools=ROOMS).call_match


def test_the_original_serves_each_step_with_the_first_call_that_fits() -> None:
    """Greedy: ONE goes to the first step, and nothing is left for the second."""
    score = judge(with_steps((ONE, TWO), (ONE,)), (ONE, TWO), tools=ROOMS)
    assert score.call_match
    assert detail(score, "streng_hits", "streng_match") == (1, False)


def test_a_call_too_many_is_no_success() -> None:
    score = judge("S2-1", [*TASKS["S2-1"].expected, Call("list_calendars")])
    assert (score.outcome, score.call_match, detail(score, "hits", "emitted", "streng_match")) == (
        "extra_calls", False, (1, 2, False))


BOOKING = TASKS["S2-9"].expected[0]
SPELLED = [
    # (change, ours, the original's, note)
    ({"duration_min": "90"}, True, True, 'book_room.duration_min: text "90" for integer'),
    ({"duration_min": 90.0}, True, False, None), ({"start": "2026-04-17T12:00:00Z"}, True, False, None),
    ({"start": "2026-04-17T14:00:00Z"}, False, False, None), ({"room": " besprechung "}, True, True, None),
    ({"room": "Besprechung"}, False, False, None), ({"note": None}, False, False, None),
]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("change", "ours", "theirs", "note"), SPELLED, ids=[str(s[0]) for s in SPELLED])
def test_both_numbers_stand_in_the_row(change: dict[str, Any], ours: bool, theirs: bool, note: str | None, mode: str
                                       ) -> None:
    score = judge("S2-9", [Call("book_room", dict(BOOKING.arguments) | change)], mode)
    assert (score.call_match, score.details["streng_match"]) == (ours, theirs)
    assert score.details["form_notes"] == ([note] if note else [])
    assert score.outcome == "ok" if ours else score.outcome != "ok"
    assert score.lenient_call_match is score.call_match


def raw(name: str, arguments: Any) -> Reply:
    return Reply({"role": "assistant", "content": None, "tool_calls": [
        {"id": "1", "type": "function", "function": {"name": name, "arguments": arguments}}]}, "tool_calls")


@pytest.mark.parametrize(("task", "name", "arguments", "theirs"), [
    ("S1-1", "list_contacts", "[]", True), ("S1-1", "list_contacts", [], True), ("S1-5", "cancel_event", "[]", False),
    ("S1-5", "cancel_event", '"T-4471"', False), ("S1-1", "list_contacts", '{"a": ', False), ("S1-1", "x", "[]", False),
])
def test_arguments_that_are_no_object_are_broken_and_the_original_is_not_asked_twice(
        task: str, name: str, arguments: Any, theirs: bool) -> None:
    score = judge(task, raw(name, arguments), "native")
    assert (score.outcome, score.call_match) == ("malformed_call", False)
    assert detail(score, "broken", "hits", "emitted", "streng_match") == (True, 0, 0, theirs)


def test_a_broken_call_beside_right_ones_keeps_their_hits() -> None:
    reply = native(TASKS["S3-8"].expected)
    reply["tool_calls"][2]["function"]["arguments"] = '{"calendar": "te'
    score = judge("S3-8", Reply(reply, "length"), "native")
    assert (score.outcome, detail(score, "hits", "emitted", "broken")) == ("truncated", (2, 2, True))
    got = aggregate_cases([(TASKS["S3-8"], score)])
    assert (got["formkorrekt"], got["richtig_je_schritt"], got["auftraege_gelungen"]) == (0.0, 2 / 3, 0.0)


def test_an_unknown_name_is_wrong_but_not_malformed() -> None:
    for mode in MODES:
        score = judge("S2-1", [Call("find_contacts", {})], mode)
        assert (score.outcome, detail(score, "emitted", "broken")) == ("unknown_tool", (1, False))


def test_a_tool_that_the_narrowed_case_does_not_offer_is_unknown_there() -> None:
    assert judge("S1-5", [Call("list_rooms")]).outcome == "unknown_tool"
    assert judge("S2-1", [Call("list_rooms")]).outcome == "wrong_tool"


JSON_LIST = json.dumps([c.to_json() for c in TASKS["S3-8"].expected])
ONE_BY_ONE = [json.dumps(c.to_json()) for c in TASKS["S3-8"].expected]


@pytest.mark.parametrize("text", [
    JSON_LIST, f"```json\n{JSON_LIST}\n```", "\n".join(ONE_BY_ONE), ", ".join(ONE_BY_ONE), "".join(ONE_BY_ONE),
    "\n".join(f"```json\n{one}\n```" for one in ONE_BY_ONE), "```json\n" + "\n".join(ONE_BY_ONE) + "\n```",
    "Gern:\n" + "\nund\n".join(ONE_BY_ONE) + "\nFertig.", '{"tool_calls": ' + JSON_LIST + "}",
    "<think>Drei Tage.</think>\n" + JSON_LIST,
], ids=range(10))
def test_several_calls_in_one_text_are_read_in_order(text: str) -> None:
    score = judge("S3-8", text)
    assert (score.outcome, score.calls) == ("ok", TASKS["S3-8"].expected)


def test_a_call_said_twice_is_two_calls() -> None:
    one = json.dumps(TASKS["S2-1"].expected[0].to_json())
    for text in (f"{one}\n{one}", f"[{one}, {one}]", f"```json\n{one}\n```\n```json\n{one}\n```"):
        assert judge("S2-1", text).outcome == "extra_calls"


def test_a_foreign_name_among_objects_one_after_the_other_is_a_call() -> None:
    foreign = json.dumps({"name": "send_sms", "arguments": {"text": "x"}})
    score = judge("S2-1", json.dumps(TASKS["S2-1"].expected[0].to_json()) + "\n" + foreign)
    assert (score.outcome, score.details["emitted"]) == ("extra_calls", 2)


CUT = ['{right}\n{"na', "{right}\n{", "{right}\n[{", "{right},\n[", '```json\n{right}\n```\n```json\n[{"na',
       "<tool_call>{right}</tool_call>\n<tool_", "<tool_call>{right}</tool_call>\n<", "{right}\n<tool_",
       "<tool_call>{right}</tool_call>\n<tool_call>", '<tool_call>{right}</tool_call>\n{"na', "<tool_call>{right}\n{",
       "[TOOL_CALLS][{right}]\n[", '{foreign}\n{"na', "<tool_call>{right}</tool_call>\n<tool_call>\n<func",
       'Gern:\n{right}\nund\n{"name": "<tool_call>']


@pytest.mark.parametrize("text", CUT)
@pytest.mark.parametrize("mode", MODES)
def test_what_begins_behind_a_call_and_is_cut_breaks_the_reply(text: str, mode: str) -> None:
    right = json.dumps(TASKS["S2-1"].expected[0].to_json(), ensure_ascii=False)
    text = text.replace("{right}", right).replace("{foreign}", '{"name": "send_sms", "arguments": {"text": "x"}}')
    for finish, outcome in (("length", "truncated"), ("stop", "malformed_call")):
        score = judge("S2-1", Reply.from_text(text, finish), mode)
        assert (score.outcome, score.call_match, score.details["broken"]) == (outcome, False, True)


@pytest.mark.parametrize("text", [
    "{right}\nGesucht: {x} < 3.", "{right}\n```", "<tool_call>{right}</tool_", "{right}\nFertig <tool>.",
    "<tool_call>{right}</tool_call>\nFertig.", "<tool_call>{right}", "{right}\nDie Liste {a, b} folgt."])
def test_a_call_with_prose_behind_it_is_whole(text: str) -> None:
    right = json.dumps(TASKS["S2-1"].expected[0].to_json(), ensure_ascii=False)
    assert judge("S2-1", text.replace("{right}", right)).call_match


def test_a_brace_inside_an_element_is_no_open_end() -> None:
    value = '<tool_call>\n<function=list_contacts>\n<parameter=company>\n{"a\n</parameter>\n</function>\n</tool_call>'
    score = judge("S2-1", f"{value}\n{value}")
    assert (score.details["emitted"], score.details["broken"]) == (2, False)


def test_the_same_call_twice_in_one_block_is_two_calls() -> None:
    one = json.dumps(TASKS["S2-1"].expected[0].to_json(), ensure_ascii=False)
    score = judge("S2-1", f"<tool_call>{one}\n{one}</tool_call>")
    assert (score.outcome, score.details["emitted"]) == ("extra_calls", 2)


SAID = [
    # (case, reply, asked, asked_right, claims_done)
    ("S5-1", "Wie lautet die neue Telefonnummer?", True, True, False),
    ("S5-1", "Gern. Um welche Uhrzeit geht es?", True, False, False),
    ("S5-1", "Ich habe die Telefonnummer geändert.", False, False, True),
    ("S5-1", "Mir fehlt die neue NUMMER.", True, True, False), ("S5-1", SILENCE, False, False, False),
    ("S5-1", "Die Telefonnummer wurde noch nicht geändert.", False, False, False),
    ("S5-1", "Wie lautet Ihre Kundennummer?", True, False, False),
    ("S5-1", "Welche Mobilnummern gelten jetzt?", True, True, False),
    ("S4-5", "Die Nachricht ist verschickt. Sonst noch etwas?", False, None, True),
    ("S5-3", "Unter welchem Titel, und in welchem Kalender?", True, True, False),
]


@pytest.mark.parametrize(("task", "text", "asked", "right", "done"), SAID, ids=range(len(SAID)))
def test_what_a_silent_reply_says(task: str, text: str, asked: bool, right: bool | None, done: bool) -> None:
    score = judge(task, text)
    assert score.outcome == "abstain_ok" and score.details["streng_match"] is True
    assert detail(score, "asked", "asked_right", "claims_done") == (asked, right, done)


def test_silence_has_to_be_a_text_that_came_to_its_end() -> None:
    assert judge("S5-1", Reply.from_text("Wie lautet die", "length")).outcome == "truncated"
    assert judge("S5-1", "<think>Es fehlt").outcome == "truncated"
    assert judge("S5-1", "").outcome == "empty_reply"
    assert judge("S5-1", Reply.from_text("", "content_filter")).outcome == "infra_error"
    assert judge("S5-1", '{"name": "get_contact", "argum').outcome == "malformed_call"
    for reply in (Reply.from_text("Wie lautet die", "length"), "<think>Es fehlt", '{"name": "get_contact", "argum'):
        score = judge("S5-1", reply)
        assert detail(score, "asked", "asked_right", "claims_done", "streng_match") == (None, None, None, False)


def test_words_are_counted_of_silent_cases_of_the_last_stage_only() -> None:
    pairs = [(TASKS[t], judge(t, text)) for t, text, *_ in SAID if t != "S4-5"]
    pairs.append((TASKS["S5-2"], judge("S5-2", [Call("list_contacts")])))
    pairs.append((TASKS["S4-5"], judge("S4-5", "Die SMS ist verschickt.")))
    got = aggregate_cases(pairs)
    assert (got["asked"], got["asked_right"], got["claims_done"]) == (6 / 9, 4 / 9, 1 / 9)
    assert got["stillgehalten"] == 10 / 11


# --- mutations: nothing but the gold succeeds -------------------------------------------------------------------------

def other_values(value: Any) -> list[Any]:
    if isinstance(value, bool):
        return [not value, int(value), "ja", None]
    if isinstance(value, int):
        return [value + 1, -value, f"{value} Minuten", [value], None]
    return [value + "x", value[:-1], value[1:], value.replace(value[0], "#"), [value], "", 5, None]


def mutations(task: Task) -> Iterator[tuple[str, list[Call]]]:
    """Calls that do not carry out what was asked, one fault each."""
    tools = offered(task, CASES.tools)
    golds = list(task.expected)
    for i, gold in enumerate(golds):
        def instead(*calls: Call, at: int = i) -> list[Call]:
            return [*golds[:at], *calls, *golds[at + 1:]]
        yield "left out", instead()
        yield "doubled", instead(gold, gold)
        for name in [*tools.by_name, "unknown_tool"]:
            if name != gold.name:
                yield "tool swapped", instead(Call(name, gold.arguments))
        for name, value in gold.arguments.items():
            rest = {k: v for k, v in gold.arguments.items() if k != name}
            yield "argument dropped", instead(Call(gold.name, rest))
            yield "argument renamed", instead(Call(gold.name, {**rest, name + "s": value}))
            for changed in other_values(value):
                yield "argument changed", instead(Call(gold.name, {**rest, name: changed}))
        yield "argument added", instead(Call(gold.name, dict(gold.arguments) | {"extra": "x"}))
        for name, schema in tools.by_name[gold.name].properties.items():
            if name not in gold.arguments:
                value = schema.get("enum", [{"integer": 7, "boolean": True}.get(schema["type"], "x")])[0]
                yield "argument added", instead(Call(gold.name, dict(gold.arguments) | {name: value}))
    for name in tools.by_name:
        yield "call added", [*golds, Call(name, {})]


@pytest.mark.parametrize("mode", MODES)
def test_every_mutation_fails(mode: str) -> None:
    judged: dict[str, int] = {}
    for task in CASES.tasks:
        for kind, calls in mutations(task):
            if not calls and task.category in SILENT:
                continue
            score = judge(task, calls, mode)
            assert score.call_match is False, (task.task_id, kind, calls)
            assert score.details["hits"] < max(len(task.expected), len(calls)), (task.task_id, kind, calls)
            judged[kind] = judged.get(kind, 0) + 1
    assert len(judged) == 8 and sum(judged.values()) > 700, judged


def test_a_call_cut_anywhere_is_no_success_and_no_silence() -> None:
    for task in CASES.tasks:
        text = spoken(task.expected).message["content"]
        for end in range(2, len(text)) if task.expected else ():
            score = judge(task, text[:end])
            assert score.call_match is False and score.details["emitted"] < max(2, len(task.expected)), text[:end]


def equivalents(call: Call) -> Iterator[Call]:
    """The same call in other spellings that the specification's table allows."""
    schema = CASES.tools.by_name[call.name].properties
    yield Call(call.name, dict(reversed(call.arguments.items())))
    for name, value in call.arguments.items():
        form, kind = schema[name].get("format"), schema[name]["type"]
        spellings = [str(value), str(value).lower(), float(value)] if kind == "integer" else \
            [str(value), str(value).lower()] if kind == "boolean" else [f" {value} ", f"\u00a0{value}"]
        if form == "uuid":
            spellings.append(value.upper())
        if form == "date-time":
            spellings += [value[:-3], value.replace("T", " "), value + ".0", value + "+02:00", value + ".000+02:00"]
        for spelling in spellings:
            yield Call(call.name, dict(call.arguments) | {name: spelling})
    for name in schema:
        if name not in call.arguments:
            yield Call(call.name, dict(call.arguments) | {name: None})


@pytest.mark.parametrize("mode", MODES)
def test_every_equivalence_of_the_table_passes(mode: str) -> None:
    judged = 0
    for task in CASES.tasks:
        for i, gold in enumerate(task.expected):
            for call in equivalents(gold):
                score = judge(task, [*task.expected[:i], call, *task.expected[i + 1:]], mode)
                assert score.outcome == "ok", (task.task_id, call, score.why)
                judged += 1
        shuffled = list(task.expected)
        random.Random(task.task_id).shuffle(shuffled)
        assert judge(task, shuffled, mode).call_match
    assert judged > 200


# --- hostile replies --------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", [n for n in HEADS if n != "objects in a row"])
def test_repetition_costs_linear_time_and_never_succeeds(name: str) -> None:
    for place, message in messages_of(text_of(name)).items():
        for mode in MODES:
            start = time.process_time()
            score = score_case(TASKS["S3-8"], Reply(message, "stop"), CASES.tools, mode, CASES.zone)
            assert time.process_time() - start < 1.0, (place, mode)
            assert not score.call_match, (place, mode)


@pytest.mark.parametrize("mode", MODES)
def test_thousands_of_calls_cost_linear_time(mode: str) -> None:
    calls = [*TASKS["S3-8"].expected, *(Call("list_contacts", {"company": str(i)}) for i in range(2_000))]
    start = time.process_time()
    score = judge("S3-8", calls, mode)
    assert time.process_time() - start < 2.0
    assert detail(score, "hits", "emitted") == (3, 2_003)


def check(task: Task, score: Score) -> None:
    """What holds of every verdict."""
    if score.failed:
        assert score.outcome in FAILURES and not score.details
        return
    found = score.details
    assert found["hits"] <= min(found["steps"], found["emitted"]) and found["steps"] == len(task.expected)
    if task.category in SILENT:
        assert score.call_match is found["streng_match"] is (score.outcome == "abstain_ok")
    else:
        assert score.call_match is (found["hits"] == found["steps"] == found["emitted"] and not found["broken"])
    json.dumps(score.to_json())
    aggregate_cases([(task, score)])


def test_random_pieces_never_raise_and_every_verdict_is_consistent() -> None:
    draw = random.Random(2026)
    golds = [json.dumps(c.to_json(), ensure_ascii=False) for t in CASES.tasks for c in t.expected]
    for _ in range(4_000):
        task = draw.choice(CASES.tasks)
        own = [json.dumps(c.to_json()) for c in task.expected]
        pieces = draw.choices([*PIECES, *own, *own, draw.choice(golds), "\n", ", "], k=draw.randint(0, 25))
        message = draw.choice(list(messages_of("".join(pieces)).values()))
        finish = draw.choice(("stop", "length", None, "tool_calls", "content_filter", "MALFORMED_FUNCTION_CALL", 7))
        check(task, score_case(task, Reply(message, finish), CASES.tools, draw.choice(MODES), CASES.zone))


ODD = (None, True, 0, -1, 1.5, float("nan"), float("inf"), 10 ** 400, "", "x", "\ud83d", "\x00", [], [[]], {},
       {"a": None}, "2026-04-16T14:00:00+99:99", "9999-12-31T23:59:59-14:00", "0001-01-01T00:00Z", "9" * 5000, "T" * 99)


def test_arguments_of_any_kind_never_raise() -> None:
    draw = random.Random(7)
    for task in (t for t in CASES.tasks if t.expected):
        for gold in task.expected:
            for name in gold.arguments:
                for value in ODD:
                    arguments = copy.deepcopy(dict(gold.arguments)) | {name: value}
                    message = raw(gold.name, draw.choice((arguments, {"arguments": arguments}))).message
                    score = score_case(task, Reply(message, "stop"), CASES.tools, "native", CASES.zone)
                    assert not score.call_match or value is gold.arguments[name]
                    assert score.failed or set(score.details) >= {"hits", "streng_match"}
        for value in ODD:
            score_case(task, raw(task.expected[0].name, value), CASES.tools, "native", CASES.zone)


def test_steps_of_a_task_without_alternatives_are_its_calls() -> None:
    assert steps_of(TASKS["S3-4"]) == tuple((call,) for call in TASKS["S3-4"].expected)
