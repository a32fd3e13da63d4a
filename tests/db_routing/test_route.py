"""The declared database: what is read from a finalisation, what is not, and what fails a question."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from infranode_eval.db_routing.route import (
    DECLARATION_ERRORS,
    NO_FINALISATION,
    Declaration,
    Failure,
    failure_of_error,
    failure_of_reply,
    judge_route,
    prose_route,
    read_declaration,
)
from lm_eval_task.records import FAILURES
from lm_eval_task.tools import Tool, Toolset

ALIASES = tuple(f"db_{number:02}" for number in range(1, 12))
TOOLS = Toolset.of(Tool.from_json({"type": "function", "function": {"name": alias, "description": alias, "parameters": {
    "type": "object", "properties": {"action": {"type": "string"}}, "required": ["action"]}}}) for alias in ALIASES)
SQL = "SELECT COUNT(*) FROM bon_kopf"


def final(database: Any = "db_04", sql: Any = SQL) -> str:
    return json.dumps({"selected_database": database, "sql": sql})


def read(text: str, finish: str | None = "stop") -> Declaration:
    return read_declaration({"role": "assistant", "content": text}, finish, ALIASES, TOOLS)


@pytest.mark.parametrize("text, why", [
    (final(), "the whole text"),
    (f"\n {final()} \n", "blanks around it"),
    (f"```json\n{final()}\n```", "a fence"),
    (f"```\n{final()}\n```", "a fence without a language"),
    (f"Die Frage gehört zum Handel.\n{final()}\nDas war es.", "an object inside prose"),
    (f"Hier:\n```json\n{final()}\n```\nFertig.", "a fence inside prose"),
    (f"<think>db_07? {final('db_07')}</think>{final()}", "closed reasoning is removed first, whatever it says"),
    (f"erst db_07</think>{final()}", "reasoning that the chat template opened"),
    (final(" db_04 "), "trimmed"),
    (final("DB_04"), "ASCII case is free"),
    (final("Db_04\n"), "both"),
    (f"{final()}\n{final()}", "the same value twice is fine"),
    (f"{final()} oder kurz {{\"selected_database\": \"DB_04\"}}", "the same value in another spelling, too"),
    (f"[{final()}]", "a list of one object"),
    ("{'selected_database': 'db_04', 'sql': 'SELECT 1'}", "single quotes: a repair of scoring, rule 6"),
    ('{"selected_database": "db_04", "sql": "SELECT 1",}', "trailing comma: another one"),
    ("{„selected_database“: „db_04“}", "typographic quotes"),
    ('{"sql": "SELECT 1", "selected_database": "db_04", "grund": "Bons"}', "further keys and any order"),
    (f"{final(None)} {final()}", "null declares nothing, the other one counts"),
])
def test_what_is_declared(text, why):
    found = read(text)
    assert (found.alias, found.error) == ("db_04", None), why


@pytest.mark.parametrize("text, finish, error, why", [
    ("Die Antwort steht in db_04.", "stop", "missing", "prose declares nothing"),
    ('{"sql": "SELECT 1"}', "stop", "missing", "no key"),
    ('{"database": "db_04"}', "stop", "missing", "another key"),
    (final(None), "stop", "missing", "null"),
    (final(" "), "stop", "missing", "blank"),
    ('{"antwort": {"selected_database": "db_04"}}', "stop", "missing", "not inside another object"),
    ('{"selected_database": "db_04", "selected_database": "db_05"}', "stop", "missing",
     "a key twice with different values makes the object unreadable"),
    ('{"selected_database": "db_04", "sql": "SELECT "x""}', "stop", "missing", "an object that cannot be read"),
    (final("db_4"), "stop", "invalid_alias", "not the alias"),
    (final("4"), "stop", "invalid_alias", "a number as text"),
    (final("filialhandel"), "stop", "invalid_alias", "a real name"),
    (final("db_12"), "stop", "invalid_alias", "not offered"),
    (final("db_04, db_05"), "stop", "invalid_alias", "two in one text"),
    (final("Datenbank db_04"), "stop", "invalid_alias", "words around it"),
    (final("ｄｂ_04"), "stop", "invalid_alias", "wide letters are no ASCII"),
    (final(4), "stop", "not_a_string", "a number"),
    (final(["db_04"]), "stop", "not_a_string", "a list, even of one"),
    (final({"name": "db_04"}), "stop", "not_a_string", "an object"),
    (final(True), "stop", "not_a_string", "a truth value"),
    (f"{final('db_04')} {final('db_05')}", "stop", "conflicting", "two different ones"),
    (f"{final('db_04')} {final('db_4')}", "stop", "conflicting", "one valid, one not: still two"),
    (f"[{final('db_04')}, {final('db_05')}]", "stop", "conflicting", "a list of two"),
    ('{"selected_database": "db_0', "length", "truncated", "cut inside the value: nothing is completed"),
    ("Ich denke, dass", "max_tokens", "truncated", "another vendor's word for it"),
    ("", "length", "truncated", "the budget went into thoughts"),
    (f"<think>also {final()}", "stop", "truncated", "a reasoning block that never ends is not searched"),
    ("", "stop", "blank", "nothing at all"),
    ("<think>db_04</think>\n", "stop", "blank", "thoughts only"),
    ('{"name": "db_04", "arguments": {"action": "get_schema"}}', "stop", "tool_call", "a call written as JSON"),
    ('<tool_call>{"name": "db_04", "arguments": {"action": "get_schema"}}</tool_call>', "stop", "tool_call",
     "a call in a text format; in the finalisation it is not executed"),
    ('{"name": "answer", "arguments": {"selected_database": "db_04"}}', "stop", "tool_call",
     "the declaration as arguments of a call"),
    ("", "malformed_function_call", "tool_call", "the provider could not read it either"),
])
def test_what_declares_nothing(text, finish, error, why):
    found = read(text, finish)
    assert (found.alias, found.error) == (None, error), why
    assert error in DECLARATION_ERRORS


def test_a_cut_reply_with_a_whole_object_counts():
    assert read(final() + " weil nämlich", "length").alias == "db_04"


@pytest.mark.parametrize("content", [None, "", final()])
def test_a_native_call_in_the_finalisation_is_a_call(content):
    message = {"role": "assistant", "content": content, "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "db_04", "arguments": '{"action": "get_schema"}'}}]}
    found = read_declaration(message, "tool_calls", ALIASES, TOOLS)
    assert (found.alias, found.error) == (None, "tool_call")
    assert found.prose == ("db_04" if content else None), "what the text says stays visible"


def test_other_vendors_shapes():
    anthropic = {"role": "assistant", "content": [{"type": "thinking", "thinking": "db_07"},
                                                  {"type": "text", "text": final()}]}
    gemini = {"parts": [{"text": "db_07", "thought": True}, {"text": final()}]}
    for message in (anthropic, gemini):
        found = read_declaration(message, "stop", ALIASES)
        assert (found.alias, found.prose) == ("db_04", "db_04"), "thoughts are not searched"


@pytest.mark.parametrize("text, sql, error, why", [
    (final(), SQL, None, "as written"),
    (final(sql=f" {SQL}\n"), f" {SQL}\n", None, "untouched: the executor trims"),
    ('{"selected_database": "db_04"}', None, "missing", "no key"),
    (final(sql=None), None, "missing", "null"),
    (final(sql="  "), None, "missing", "blank"),
    (final(sql=["SELECT 1"]), None, "not_a_string", "a list"),
    (f"{final()} {final()}", SQL, None, "the same twice"),
    (f"{final()} {final(sql='SELECT 2')}", None, "conflicting", "one database, two queries: the route still counts"),
    (f"{final(sql=None)} {final()}", SQL, None, "only one says something"),
    ("Prosa: SELECT 1", None, "missing", "never from prose"),
])
def test_sql_of_the_final_object(text, sql, error, why):
    found = read(text)
    assert (found.sql, found.sql_error) == (sql, error), why


@pytest.mark.parametrize("text, alias, why", [
    ("Es ist db_04.", "db_04", "one alias"),
    ("db_04, also DB_04 (db_04)", "db_04", "one distinct alias, however often"),
    ("db_04 oder db_05", None, "two"),
    ("", None, "none"),
    ("db_4 und Datenbank 4", None, "no alias"),
    ("xdb_04, db_041, db_04x, db_04_a", None, "parts of words"),
    ("db_04ü", None, "also of words with umlauts"),
    ("»db_04«-Tabelle, `db_04`", "db_04", "punctuation around it"),
    ("db_12 oder db_04", "db_04", "what is not offered is no alias"),
    ('{"selected_database": "db_04", "sql": "SELECT "x""}', "db_04", "a broken object is text, too"),
])
def test_prose_route(text, alias, why):
    assert prose_route(text, ALIASES) == alias, why


def test_prose_route_of_other_names():
    assert prose_route("db_1 ist es nicht, db_10 auch nicht", ("db_1", "db_10")) is None
    assert prose_route("db_10", ("db_1", "db_10")) == "db_10"
    assert prose_route("Filialhandel!", ("filialhandel", "luftguete")) == "filialhandel", "the arm with real names"
    assert prose_route("öpnv_K", ("öpnv_k",)) is None, "only ASCII letters are free: this is the Kelvin sign"
    assert prose_route("db_04", ()) is None


@pytest.mark.parametrize("text, finish, outcome, sub, route_ok, lenient, why", [
    (final("db_04"), "stop", "ok", None, True, True, "right"),
    (final("db_05"), "stop", "wrong_database", None, False, False, "wrong, and the prose agrees with itself"),
    ("Es ist db_04.", "stop", "no_declaration", "missing", False, True, "lenient: the prose is right"),
    ("Es ist db_05.", "stop", "no_declaration", "missing", False, False, "the prose is wrong, too"),
    ("Keine Ahnung.", "stop", "no_declaration", "missing", False, False, "a probe of the right one inherits nothing"),
    (f"Nicht db_04. {final('db_05')}", "stop", "wrong_database", None, False, False, "two aliases: no prose route"),
    (final("db_4"), "stop", "no_declaration", "invalid_alias", False, False, "db_4 is no alias, in prose neither"),
    ("db_04 ist", "length", "no_declaration", "truncated", False, True, "cut, and still readable as prose"),
])
def test_verdict(text, finish, outcome, sub, route_ok, lenient, why):
    found = judge_route(read(text, finish), "db_04")
    assert (found.outcome, found.sub, found.route_ok, found.lenient) == (outcome, sub, route_ok, lenient), why
    assert found.why


def test_no_finalisation_is_no_declaration():
    assert judge_route(NO_FINALISATION, "db_04")[:4] == ("no_declaration", "missing", False, False)


BLANK: dict[str, Any] = {"role": "assistant", "content": ""}
CALL = {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "db_04", "arguments": "{"}}]}


@pytest.mark.parametrize("message, finish, usage, failure, why", [
    ({"content": final()}, "stop", None, None, "an answer"),
    ({"content": "{"}, "stop", None, None, "bad JSON"),
    ({"content": None, "refusal": "Das mache ich nicht."}, "stop", None, None, "a refusal"),
    ({"content": "Das …"}, "content_filter", None, None, "a content filter with text"),
    (BLANK, "content_filter", {"completion_tokens": 7}, Failure("infra_error", "content_filter"), "without text"),
    (BLANK, "length", {"completion_tokens": 1024}, None, "truncated"),
    (BLANK, "stop", {"completion_tokens": 12}, None, "blank, but the model spoke"),
    (BLANK, "stop", {"output_tokens": 3}, None, "the same in another vendor's words"),
    (BLANK, "stop", {"candidatesTokenCount": 0, "thoughtsTokenCount": 9}, None, "thoughts are completion tokens"),
    (BLANK, "stop", {"completion_tokens": 0}, Failure("empty_reply"), "blank without tokens"),
    (BLANK, "stop", None, Failure("empty_reply"), "no count: nothing says that it spoke"),
    ({"content": " \n"}, None, {"prompt_tokens": 5}, Failure("empty_reply"), "blanks only"),
    (BLANK, "MALFORMED_FUNCTION_CALL", None, None, "the model tried to call"),
    (CALL, "tool_calls", None, None, "an unreadable call is an answer"),
    ({"content": "", "reasoning_content": "hm"}, "stop", None, None, "thoughts without text: it answered"),
])
def test_failure_or_answer(message, finish, usage, failure, why):
    assert failure_of_reply(message, finish, usage) == failure, why
    assert failure is None or failure.outcome in FAILURES


@pytest.mark.parametrize("outcome, answered, failure, why", [
    ("infra_error", 0, Failure("infra_error"), "timeout, 5xx or reset after all retries"),
    ("infra_error", 5, Failure("infra_error"), "one failed call fails the question"),
    ("auth_error", 3, Failure("auth_error"), "a key"),
    ("empty_reply", 2, Failure("empty_reply"), "blank without tokens"),
    ("context_overflow", 0, Failure("context_overflow"), "at the first call: the prompt does not fit"),
    ("context_overflow", 1, None, "after an answered call: the play has filled it"),
])
def test_errors(outcome, answered, failure, why):
    assert failure_of_error(outcome, answered) == failure, why


def test_no_text_makes_it_raise():
    generator = random.Random(11)
    alphabet = ['{"selected_database": ', '"db_04"', "db_05", ",", "}", "[", "```", "<think>", "</think>", "\\", "„",
                "ü", '"sql": "SELECT 1"', "\n", "null", "\ud800", "<tool_call>"]
    for _ in range(500):
        text = "".join(generator.choices(alphabet, k=generator.randint(0, 14)))
        found = read(text, generator.choice(["stop", "length", None]))
        assert (found.alias is None) != (found.error is None)
        assert found.alias is None or found.alias in ALIASES


def test_long_texts_are_read_in_linear_time():
    assert read('{"selected_database": ' * 20_000).error == "missing"
    assert read("db_04 " * 50_000).prose == "db_04"
