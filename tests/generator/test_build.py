"""Candidates: reproducible, linked in pairs, and complete before any source is asked."""

from __future__ import annotations

from collections import Counter
from hashlib import sha256

import pytest

from infranode_eval.generator.build import candidates, partial_keys, servable_keys
from infranode_eval.generator.templates import core_rows
from infranode_eval.infranode import facts


def test_the_same_seed_gives_the_same_candidates() -> None:
    assert candidates(5) == candidates(5)


def test_another_seed_moves_the_extended_set_only() -> None:
    one, two = candidates(1), candidates(2)
    assert [c.task for c in one if c.task.set == "core"] == [c.task for c in two if c.task.set == "core"]
    assert [c.task for c in one if c.task.set != "core"] != [c.task for c in two if c.task.set != "core"]


QUOTAS = {"not_covered": 80, "poi_type": 138, "compare_multi": 120, "routing_named": 84, "routing_broad": 61,
          "availability": 40, "two_calls": 56, "two_step": 32, "routing_rest": 68, "source_off": 24}


@pytest.mark.parametrize("seed", [0, 1, 2, 12345])
def test_every_seed_fills_the_quotas_without_doubles(seed: int) -> None:
    found = candidates(seed)
    for name, values in (("id", [c.task.task_id for c in found]), ("question", [c.task.question for c in found])):
        assert [v for v, n in Counter(values).items() if n > 1] == [], name
    counts = Counter(c.task.category for c in found if c.task.set == "extended")
    assert counts.pop("resource_key") >= 1330, "keys of few cities run out of free ones, depending on the deal"
    assert counts.pop("slug_resolution") >= 80, "some phrasings fit one city only"
    assert counts == QUOTAS


def test_a_further_wave_renames_nothing_and_changes_nothing() -> None:
    """The ids and questions of the first wave were published; only then the second was added."""
    first = [c.task.question for c in candidates(1)][:851]
    assert len(set(first)) == 851 and {c.phrasing.wave for c in candidates(1)[:851]} == {1}
    assert sha256("\n".join(sorted(first)).encode()).hexdigest()[:16] == "a92b40c0394deb67"


def test_pairs_are_mutual_and_share_the_phrasing() -> None:
    by_id = {c.task.task_id: c for c in candidates(1)}
    for candidate in by_id.values():
        if "pair" in candidate.task.extra:
            twin = by_id[candidate.task.extra["pair"]]
            assert twin.task.extra["pair"] == candidate.task.task_id
            assert twin.phrasing == candidate.phrasing
            assert {twin.task.category, candidate.task.category} == {"not_covered", "resource_key"}


def test_no_slot_is_left_open() -> None:
    for candidate in candidates(1):
        calls = [call for alternative in candidate.task.alternatives for call in alternative]
        assert "{" not in candidate.task.question + "".join(str(value) for c in calls for value in c.arguments.values())


def test_sixty_keys_are_served_and_eleven_of_them_in_part() -> None:
    assert len(servable_keys()) == 60
    assert len(partial_keys()) == 11
    assert set(partial_keys()) <= set(servable_keys())


def test_a_two_step_station_brings_every_number_of_its_station() -> None:
    for candidate in candidates(1):
        if candidate.task.category == "two_step" and "then" in candidate.task.extra:
            evas = [call["arguments"]["eva"] for call in candidate.task.extra["then"]]
            assert tuple(evas) == facts.station_of(evas[0]).evas
            assert {call["name"] for call in candidate.task.extra["then"]} == {
                f"station_board_{candidate.phrasing.board}"}


def test_the_core_is_the_list_in_the_data_file() -> None:
    core = [c.task.task_id for c in candidates(9) if c.task.set == "core"]
    assert core == [row["task_id"] for row in core_rows()]
