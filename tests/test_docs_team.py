"""The guide to the suite team: its numbers are those of the stored results and of the scenarios that ship."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from infranode_eval.team.layout import tree
from infranode_eval.team.limits import Limits
from infranode_eval.team.manner import MANNERS
from infranode_eval.team.metrics import FACTORS
from infranode_eval.team.scenario import read_collection, scenarios_fingerprint
from infranode_eval.team.tools import MAIN_TOOLS

ROOT = Path(__file__).resolve().parent.parent
GUIDES = {name: (ROOT / "docs" / name).read_text("utf-8") for name in ("team.md", "team.de.md")}
SCENARIOS = read_collection()


def stored(name: str) -> dict[str, Any]:
    return json.loads((ROOT / "results" / "team" / f"{name}.json").read_text("utf-8"))


def rows(guide: str, tag: str) -> list[list[str]]:
    """The cells of the table between two marks, without its head."""
    text = GUIDES[guide].split(f"<!-- {tag} -->")[1].split(f"<!-- /{tag} -->")[0]
    lines = [line for line in text.splitlines() if line.startswith("| ")][1:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if not line.startswith("| ---")]


@pytest.mark.parametrize("guide", GUIDES)
def test_programs_get_what_the_table_says(guide: str) -> None:
    assert [row[0].strip("`") for row in rows(guide, "managers")] == list(MANNERS)
    for name, *cells in rows(guide, "managers"):
        metrics = stored(name.strip("`"))["metrics"]
        shares = [f"{100 * metrics[key]:.1f}" for key in ("sms", "tcr", *FACTORS)]
        counts = [f"{metrics['rounds_passed']}/{metrics['rounds']}", str(metrics["subagents"]), str(metrics["maf"])]
        assert [cell.replace(",", ".") for cell in cells] == [*shares, *counts], name


@pytest.mark.parametrize("guide", GUIDES)
def test_the_scenarios_are_as_it_says(guide: str) -> None:
    for scenario, row in zip(SCENARIOS, rows(guide, "scenarios"), strict=True):
        files = sum(kind == "file" for kind in tree(scenario.template).values())
        size = sum(path.stat().st_size for path in scenario.folder.rglob("*") if path.is_file())
        assert row == [f"`{scenario.scenario_id}`", scenario.title, str(len(scenario.rounds)), str(files),
                       str(round(size / 1000))]
        assert size < 1_000_000


def test_there_are_as_many_rounds_as_the_suite_promises() -> None:
    assert len(SCENARIOS) == 5 and sum(len(scenario.rounds) for scenario in SCENARIOS) >= 27


@pytest.mark.parametrize("name", MANNERS)
def test_stored_results_are_those_of_the_scenarios_that_ship(name: str) -> None:
    """A text that was changed asks for `run_eval.py --suite team --model NAME`, which writes the file again."""
    assert stored(name)["hashes"]["tasks"] == scenarios_fingerprint(SCENARIOS)


@pytest.mark.parametrize("guide", GUIDES)
def test_it_names_every_tool_and_every_manager(guide: str) -> None:
    assert all(re.search(rf"\b{tool}\b", GUIDES[guide]) for tool in MAIN_TOOLS)
    assert all(f"`{name}`" in GUIDES[guide] for name in MANNERS)


def test_the_limits_are_those_of_a_run() -> None:
    limits = Limits()
    for text in (f"{limits.turns} messages a round", f"{limits.context:,} tokens", f"{limits.runs} runs",
                 f"{limits.worker_turns} messages a run", f"{limits.subagents} sub-agents"):
        assert text in GUIDES["team.md"], text
