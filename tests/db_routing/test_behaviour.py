"""Probes, first probe, switches and turns, counted by hand over written transcripts."""

from __future__ import annotations

from typing import Any

import pytest

from infranode_eval.db_routing.behaviour import (
    EXCLUDED,
    REACHING,
    STATUSES,
    FirstProbe,
    Switching,
    Touched,
    behaviour_of,
    declared_unprobed,
    first_probe,
    first_probe_right,
    mean_tool_turns,
    status_of,
    switching,
    touched_by_bucket,
)

ALIASES = {"db_01": "luft", "db_02": "shop", "db_03": "filiale"}
MEANING = {"+": "ok", "!": "error", "?": "invalid", "^": "over_limit"}


def call(text: str) -> dict[str, Any]:
    """"1+" reached db_01, "1!" reached it with an error, "1?" invalid, "1^" over the limit, "x" an unknown tool."""
    status = "unknown_tool" if text[0] == "x" else MEANING[text[1]]
    action = {"s": "get_schema", "t": "get_table_schema"}.get(text[2:3], "execute_query")
    return {"id": "c", "alias": "foo" if text[0] == "x" else f"db_0{text[0]}", "action": action, "arguments": {},
            "reached": status in REACHING, "status": status, "truncated": text.endswith("…"), "rows": None, "ms": 1.0}


def play(*turns: str) -> list[dict[str, Any]]:
    """Tool turns, each with its calls, and the finalisation."""
    made = [{"kind": "tool", "turn": number, "recovered": False, "tool_calls": [call(one) for one in turn.split()]}
            for number, turn in enumerate(turns, 1)]
    return [*made, {"kind": "final", "turn": len(turns) + 1, "recovered": False, "tool_calls": []}]


def seen(*turns: str, declared: str | None = "luft") -> Any:
    return behaviour_of(play(*turns), ALIASES, declared)


@pytest.mark.parametrize("turns, probes, first, switched, why", [
    (("1+", ""), ("luft",), "luft", False, "one database"),
    (("1+", "1+", "2+", "1+", ""), ("luft", "shop"), "luft", True, "distinct ones, by their first touch"),
    (("1!", ""), ("luft",), "luft", False, "a SQL error counts: the database was reached"),
    (("x", "2+"), ("shop",), "shop", False, "an unknown tool does not"),
    (("1?", "2+"), ("shop",), "shop", False, "invalid arguments do not"),
    (("2+ 1^",), ("shop",), "shop", False, "a call over the limit does not"),
    (("1+ 1+", ""), ("luft",), "luft", False, "two calls to one database are one database"),
    (("1+ 2+", ""), ("luft", "shop"), None, True, "a first probing turn that touches two has no first probe"),
    (("1? 2+", ""), ("shop",), "shop", False, "only what reached a database counts for that"),
    (("x", "1+ 3+", "2+"), ("luft", "filiale", "shop"), None, True, "also if turns without a probe came before"),
    (("2+", "1+ 3+"), ("shop", "luft", "filiale"), "shop", True, "later turns may touch several"),
    (("",), (), None, False, "no probe at all"),
    ((), (), None, False, "no tool turn: the context was full at once"),
])
def test_probes(turns, probes, first, switched, why):
    found = seen(*turns)
    assert (found.probes, found.first_probe, found.switched) == (probes, first, switched), why


@pytest.mark.parametrize("turns, declared, expected, why", [
    (("1+",), "luft", False, "declared what it probed"),
    (("1+",), "shop", True, "declared another one"),
    (("",), "luft", True, "declared without a look"),
    (("1?",), "luft", True, "a call that reached nothing is no look"),
    (("1+",), None, None, "declared nothing"),
])
def test_declared_unprobed(turns, declared, expected, why):
    assert seen(*turns, declared=declared).declared_unprobed is expected, why


@pytest.mark.parametrize("turns, counts, why", [
    (("",), (1, 0, 2, 0, True), "stops at once: that turn counts, and the finalisation is a call"),
    (("1+",) * 9, (9, 9, 10, 0, True), "the budget: nine turns and the finalisation"),
    (("1+ 2+",), (1, 2, 2, 0, False), "two calls in one turn"),
    (("1+ " * 11 + "2^",), (1, 12, 2, 1, False), "the twelfth call of a turn is over the limit"),
    (("x", "1?"), (2, 2, 3, 0, True), "calls that reach nothing are calls"),
])
def test_counts(turns, counts, why):
    found = seen(*turns)
    assert (found.tool_turns, found.tool_calls, found.api_calls, found.over_limit, found.parallel_obeyed) == counts, why
    assert found.api_calls == found.tool_turns + 1, "exactly one finalisation"


def test_recovered_calls_are_those_of_recovered_turns():
    calls = play("1+", "2+ 3+")
    calls[1]["recovered"] = True
    assert behaviour_of(calls, ALIASES, None).recovered_calls == 2


def test_cuts_by_what_was_cut():
    found = seen("1+s…", "1+t…", "1+q…", "1+q", "2+s")
    assert (found.schema_truncated, found.rows_truncated) == (2, 1)


def test_statuses_that_reach():
    assert [s in REACHING for s in STATUSES] == [True, True, False, False, False]


def test_row_keys():
    assert seen("1+ 2+").to_json() == {
        "probes": ["luft", "shop"], "first_probe": None, "switched": True, "declared_unprobed": False, "tool_turns": 1,
        "tool_calls": 2, "api_calls": 2, "over_limit": 0, "parallel_obeyed": False, "recovered_calls": 0,
        "schema_truncated": 0, "rows_truncated": 0}


# --- over rows --------------------------------------------------------------------------------------------------------

def row(probes: str, declared: str | None, bucket: str = "hard", outcome: str = "", turns: str = "", gold: str = "A",
        calls: int | None = None) -> dict[str, Any]:
    """Databases are letters; the right one is A. turns "": one database a turn; "p": all in the first turn."""
    first = probes[:1] or None
    if turns == "p" and len(probes) > 1:
        first = None
    return {"probes": list(probes), "declared": declared, "database": gold, "bucket": bucket, "first_probe": first,
            "switched": len(probes) > 1, "outcome": outcome or ("ok" if declared == gold else "wrong_database"),
            "declared_unprobed": None if declared is None else declared not in probes,
            "tool_turns": 1 if turns == "p" else len(probes) + 1, "tool_calls": len(probes) if calls is None else calls}


ROWS = [
    row("A", "A"),                          # straight
    row("BA", "A"),                         # gained
    row("BA", "B"),                         # missed, gold in between
    row("BAC", "C"),                        # missed, gold in between
    row("BC", "C"),                         # missed
    row("AB", "A", "easy"),                 # stayed
    row("AB", "B", "easy"),                 # lost
    row("BA", None),                        # missed without a declaration, gold in between
    row("BA", "A", turns="p"),              # gained, in parallel: no first probe
    row("", "A", "easy"),                   # declared without a look
    row("", None, "easy"),                  # neither
    row("BA", None, outcome="infra_error"),     # no answer: in none of the counts
]


def test_switching_matrix():
    found = switching(ROWS)
    assert found == Switching(stayed=1, lost=1, gained=2, missed=4, between=3)
    assert (found.n, found.net, found.ratio) == (8, 1, 2.0)
    assert switching([]) == Switching(0, 0, 0, 0) and switching([]).ratio is None


@pytest.mark.parametrize("probes, declared, between, why", [
    ("BA", "B", 1, "A stood between: B, A, back to B"),
    ("BAC", "C", 1, "and was passed by"),
    ("BA", None, 1, "found, and nothing declared"),
    ("BC", "C", 0, "never seen"),
    ("BC", "A", 0, "declared unprobed, and right: gained"),
    ("AB", "B", 0, "the first was right: lost, not missed"),
])
def test_right_database_in_between(probes, declared, between, why):
    assert switching([row(probes, declared)]).between == between, why


def test_first_probe_beside_the_declaration():
    """Left out: parallel, no probe, failure. Same: rows 1, 3, 6; first right: 1, 6, 7; declared right: 1, 2, 6."""
    assert first_probe(ROWS) == FirstProbe(n=8, same=3, first_right=3, declared_right=3)


def test_first_probe_decides():
    """Over all eleven answered rows: 1, 6 and 7 begin with A; the parallel one with B; no probe is wrong."""
    assert first_probe_right(ROWS) == (3, 11)


def test_touched_by_bucket():
    """hard: 1 2 2 3 2 2 2 (seven rows, six above one); easy: 2 2 0 0."""
    assert touched_by_bucket(ROWS) == {"hard": Touched(7, 2.0, 6), "easy": Touched(4, 1.0, 2)}
    assert touched_by_bucket([]) == {}


def test_declared_without_a_look():
    """Nine rows declare; one of them had not probed what it declared."""
    assert declared_unprobed(ROWS) == (1, 9)


def test_mean_tool_turns():
    """2 3 3 4 3 3 3 3 1 1 1 over eleven answered rows."""
    assert mean_tool_turns(ROWS) == pytest.approx(27 / 11)
    assert mean_tool_turns([ROWS[-1]]) is None


@pytest.mark.parametrize("rows, status, why", [
    ([row("", "A", calls=0)] * 20, EXCLUDED, "twenty rows and no call: it never used its tools"),
    ([row("", "A", calls=0)] * 19, None, "too few to decide"),
    ([row("", "A", calls=0)] * 19 + [row("", None, outcome="infra_error", calls=0)], None, "failures are no rows"),
    ([row("", "A", calls=0)] * 500 + [row("A", "A")], None, "one call is enough"),
    ([row("", "A", calls=0)] * 20 + [row("", "A", calls=1)], None, "even one that reached nothing"),
    ([], None, "no row"),
])
def test_runs_without_tool_calls_are_excluded(rows, status, why):
    assert status_of(rows) == status, why
