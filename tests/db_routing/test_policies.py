"""The scripted policies, each with every counter of its row worked out by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from infranode_eval.db_routing.embeddings import DEFAULT
from infranode_eval.db_routing.naive import drawn
from infranode_eval.db_routing.policies import POLICIES, PROGRAMS, Player, open_embeddings
from infranode_eval.db_routing.scoring import EXTRAS
from infranode_eval.db_routing.tasks import RoutingTask
from infranode_eval.db_routing.tools import toolset
from infranode_eval.providers.protocol import ProviderOptions, Sampling
from infranode_eval.suites import db_routing
from lm_eval_task.errors import UsageError
from tests.db_routing.plays import by_player, by_policy
from tests.db_routing.topics import Topics

# Of the question hafen-003, asked with the order db_02 (laden), db_01 (werkstatt), db_03 (hafen, which is right).
GOLD = "SELECT schiff_name FROM schiff_stamm WHERE schiff_laenge > 50"
SAME: dict[str, Any] = {"declaration_error": None, "over_limit": 0, "recovered_calls": 0, "schema_truncated": 0,
                        "rows_truncated": 0, "parallel_obeyed": True, "stop_reason": "stopped", "history": "native",
                        "condition": "anonymised", "procedure": "agentic", "upstreams": [], "database": "hafen",
                        "bucket": "neighbour_free", "cluster": None}
RIGHT = {"declared": "hafen", "declared_alias": "db_03", "prose_route": "hafen", "route_ok": True}
WITH_SQL = {"sql": GOLD, "sql_set": True, "sql_strict": True, "sql_error": None}
WITHOUT_SQL = {"sql": None, "sql_set": False, "sql_strict": False, "sql_error": "missing"}
SILENT = {"first_probe": None, "probes": [], "switched": False, "declared_unprobed": True, "tool_turns": 1,
          "tool_calls": 0, "api_calls": 2}
COUNTERS: dict[str, dict[str, Any]] = {
    "oracle": {**RIGHT, **WITH_SQL, "first_probe": "hafen", "probes": ["hafen"], "switched": False,
               "declared_unprobed": False, "tool_turns": 3, "tool_calls": 2, "api_calls": 4},
    "first_probe": {"declared": "laden", "declared_alias": "db_02", "prose_route": "laden", "route_ok": False,
                    **WITHOUT_SQL, "first_probe": "laden", "probes": ["laden"], "switched": False,
                    "declared_unprobed": False, "tool_turns": 2, "tool_calls": 1, "api_calls": 3},
    "switcher": {**RIGHT, **WITH_SQL, "first_probe": "laden", "probes": ["laden", "hafen"], "switched": True,
                 "declared_unprobed": False, "tool_turns": 3, "tool_calls": 2, "api_calls": 4},
    "narrator": {"declared": None, "declared_alias": None, "declaration_error": "missing", "prose_route": "hafen",
                 "route_ok": False, **WITHOUT_SQL, "sql_error": "no_declaration", **SILENT, "declared_unprobed": None},
    "never_stops": {**RIGHT, **WITHOUT_SQL, "first_probe": "laden", "probes": ["laden", "werkstatt", "hafen"],
                    "switched": True, "declared_unprobed": False, "tool_turns": 9, "tool_calls": 9, "api_calls": 10,
                    "stop_reason": "max_turns"},
    "parallel_prober": {**RIGHT, **WITH_SQL, "first_probe": None, "probes": ["laden", "werkstatt", "hafen"],
                        "switched": True, "declared_unprobed": False, "tool_turns": 2, "tool_calls": 12,
                        "api_calls": 3, "over_limit": 1, "parallel_obeyed": False},
    "constant": {"declared": "werkstatt", "declared_alias": "db_01", "prose_route": "werkstatt", "route_ok": False,
                 **WITHOUT_SQL, **SILENT},
    **{name: {**RIGHT, **WITHOUT_SQL, **SILENT} for name in ("majority", "tfidf_char", "tfidf_word", "bm25")}}


@pytest.mark.parametrize("mode", ["native", "prompt"])
@pytest.mark.parametrize("name", COUNTERS)
def test_every_counter_of_a_policy(tasks: Mapping[str, RoutingTask], name: str, mode: str) -> None:
    expected = {**SAME, **COUNTERS[name]}
    assert expected.keys() == set(EXTRAS), "the table names every key"
    found = by_policy(tasks["hafen-003"], name, mode)
    assert {key: found.row[key] for key in EXTRAS} == expected


def test_the_table_names_every_policy() -> None:
    assert set(COUNTERS) | {"chance"} == set(POLICIES) == set(PROGRAMS) - {"embeddings"}


@pytest.mark.parametrize("mode", ["native", "prompt"])
def test_the_oracle_is_right_everywhere(tasks: Mapping[str, RoutingTask], mode: str) -> None:
    scores = [(task, by_policy(task, "oracle", mode).score) for task in tasks.values()]
    found = db_routing.aggregate(scores)
    assert [found[name] for name in ("route_ok", "ability", "sql_set", "sql_strict", "parsed")] == [1.0] * 5
    assert {score.outcome for _, score in scores} == {"ok"}


ARMS = ("anonymised", "names", "catalogue", "permuted", "distractors", "paraphrase")


def by_embeddings(name: str | None = None) -> Player:
    own = {} if name is None else {"embedding_model": name}
    return open_embeddings(ProviderOptions("embeddings", toolset(["db_01", "db_02", "db_03"]), own=own), Topics)


@pytest.mark.parametrize("mode", ["native", "prompt"])
def test_the_router_by_embeddings_plays_as_those_by_words(tasks: Mapping[str, RoutingTask], mode: str) -> None:
    found = by_player(tasks["hafen-003"], by_embeddings(), mode)
    assert {key: found.row[key] for key in EXTRAS} == {**SAME, **COUNTERS["tfidf_char"]}
    assert all(by_player(task, by_embeddings(), mode).row["route_ok"] for task in tasks.values())


@pytest.mark.parametrize("condition", ARMS)
def test_the_router_by_embeddings_plays_in_every_arm(tasks: Mapping[str, RoutingTask], condition: str) -> None:
    found = by_player(tasks["laden-001"], by_embeddings(), condition=condition)
    assert (found.row["procedure"], found.row["api_calls"]) == ("single_shot", 1) and found.row["declared"]


@pytest.mark.parametrize(("name", "model"), [(None, DEFAULT), ("organisation/other", "organisation/other")])
def test_the_router_by_embeddings_tells_its_model(name: str | None, model: str) -> None:
    player = by_embeddings(name)
    assert player.settings == {"embedding": {"model": model, "sha256": None, "library": "made up 1.0"}}
    assert model in player.setup and not Player("bm25").settings


def test_chance_is_reckoned_and_not_drawn(tasks: Mapping[str, RoutingTask]) -> None:
    scores = [(task, by_policy(task, "chance").score) for task in tasks.values()]
    declared = [score.details["declared_alias"] for _, score in scores]
    assert declared == [drawn(["db_01", "db_02", "db_03"], 7, task.task_id) for task, _ in scores]
    assert {score.details["chance"] for _, score in scores} == {1 / 3}
    found = db_routing.aggregate(scores)
    for name in ("route_ok", "ability", "route_neighbour_free", "chance"):
        assert found[name] == pytest.approx(1 / 3, abs=1e-12)


def test_no_remote_model_is_believed_that_it_drew(task: RoutingTask) -> None:
    from tests.db_routing.plays import played, said

    final = {"role": "assistant", "content": said("db_01"), "drawn_from": 1}
    assert "chance" not in played(task, ["Fertig.", final]).row


def test_a_program_answers_tasks_only() -> None:
    with pytest.raises(UsageError, match="answers tasks, not questions"):
        Player("oracle").ask([{"role": "user", "content": "?"}], None, Sampling(10))


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("condition", ARMS)
def test_every_policy_plays_in_every_arm(tasks: Mapping[str, RoutingTask], name: str, condition: str) -> None:
    found = by_policy(tasks["laden-001"], name, condition=condition)
    assert (found.row["procedure"], found.row["api_calls"], found.row["tool_turns"]) == ("single_shot", 1, 0)
    if name in ("oracle", "switcher", "parallel_prober"):
        assert found.row["route_ok"] is True
