"""Cache markers: where they stand, that nothing else differs, and what is said where they were paid for in vain."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import run_eval
from infranode_eval.db_routing.data import CACHE, cache_folder
from infranode_eval.db_routing.opening import finalisation
from infranode_eval.db_routing.scoring import spending_of
from infranode_eval.providers.protocol import CACHES
from lm_eval_task.records import canonical_json
from tests.db_routing.tiny_panel import write_panel
from tests.stub_endpoint import React, Request, StubEndpoint, vendor_body

MARK = {"type": "ephemeral"}


@pytest.fixture(autouse=True)
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(CACHE, str(tmp_path / "cache"))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
    write_panel(tmp_path / "panel", cache_folder())


def prober(request: Request, **usage: float) -> React:
    """Looks at one schema after another, three in all, and declares the first."""
    body = request.body
    if "tools" not in body:
        told = vendor_body("anthropic", '{"selected_database": "db_01"}')
        return React(told | {"usage": told["usage"] | usage})
    turn = sum(message["role"] == "assistant" for message in body["messages"])
    if turn == 3:
        return React(vendor_body("anthropic", "Fertig."))
    return React(vendor_body("anthropic", None, (f"db_0{turn + 1}", {"action": "get_schema"}), "Hm."))


def ran(*flags: str, status: int = 0, **usage: float) -> list[dict[str, Any]]:
    """The bodies of a run over two questions."""
    with StubEndpoint(lambda request: prober(request, **usage)) as endpoint:
        assert run_eval.main(["--suite", "db_routing", "--base-url", endpoint.url, "--model", "m", "--tasks", "panel",
                              "--backend", "anthropic", "--out", "r.json", "--concurrency", "1", "--limit", "2",
                              "--force", *flags]) == status
    return [request.body for request in endpoint.requests]


def marks(value: Any, place: str = "") -> list[str]:
    """Where markers stand in a body, as paths."""
    if isinstance(value, Mapping):
        found = [place] if value.get("cache_control") == MARK else []
        return found + [one for key, inner in value.items() for one in marks(inner, f"{place}/{key}")]
    return [one for number, inner in enumerate(value) for one in marks(inner, f"{place}/{number}")] if isinstance(
        value, list) else []


def canonical(body: Any) -> str:
    """Without markers; a text and a single block of text are the same to the API."""
    return canonical_json(_unmarked(body | {"system": [{"type": "text", "text": body["system"]}] if isinstance(
        body["system"], str) else body["system"]}))


def _unmarked(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _unmarked(inner) for key, inner in value.items() if key != "cache_control"}
    return [_unmarked(inner) for inner in value] if isinstance(value, list) else value


@pytest.fixture
def captured() -> dict[str, list[dict[str, Any]]]:
    return {cache: ran("--cache", cache) for cache in CACHES}


def test_where_markers_stand(captured: dict[str, list[dict[str, Any]]]) -> None:
    assert not any(map(marks, captured["off"])) and not any(map(marks, ran())), "off by default"
    for cache in ("prefix", "moving"):
        bodies = captured[cache]
        assert len(bodies) == 2 * 5
        for number, body in enumerate(bodies):
            if number % 5 == 4:
                assert body["messages"][-1]["content"][-1]["text"].endswith(finalisation()) and "tools" not in body
                assert marks(body) == [], "nobody would read what a finalisation writes"
                continue
            last = len(body["messages"]) - 1
            block = len(body["messages"][last]["content"]) - 1
            moving = [f"/messages/{last}/content/{block}"] if cache == "moving" else []
            assert sorted(marks(body)) == sorted(["/system/0", *moving])
            assert body["messages"][last]["role"] == "user"


@pytest.mark.parametrize("cache", ["prefix", "moving"])
def test_bodies_are_those_without_a_cache_but_for_the_markers(
        captured: dict[str, list[dict[str, Any]]], cache: str) -> None:
    assert captured[cache] != captured["off"]
    assert [*map(canonical, captured[cache])] == [*map(canonical, captured["off"])]


@pytest.mark.parametrize("place", ["system", "message"])
def test_one_character_under_a_marker_makes_the_check_fail(
        captured: dict[str, list[dict[str, Any]]], place: str) -> None:
    bodies = json.loads(json.dumps(captured["moving"]))
    body = bodies[1]
    block = body["system"][0] if place == "system" else body["messages"][-1]["content"][-1]
    assert block["cache_control"] == MARK
    key = "text" if place == "system" else "content"
    block[key] = block[key][:-1] + "~"
    off = [*map(canonical, captured["off"])]
    assert [a == b for a, b in zip(map(canonical, bodies), off, strict=True)] == [n != 1 for n in range(10)]


def test_it_is_recorded(captured: dict[str, list[dict[str, Any]]]) -> None:
    assert json.loads(Path("r.json").read_text("utf-8"))["settings"]["cache"] == "moving"


@pytest.mark.parametrize(("flags", "told"), [
    (("--backend", "openai", "--cache", "prefix"), "backend openai takes no markers"),
    (("--backend", "baseline", "--model", "oracle", "--cache", "moving"), "takes no --cache"),
    (("--cache", "moving", "--mode", "prompt"), "needs --mode native"),
    (("--cache", "moving", "--arm", "names"), "goes with tools"),
    (("--suite", "chain", "--cache", "off"), "takes no --cache")])
def test_markers_that_could_not_be_set_are_refused(
        flags: tuple[str, ...], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    base = () if "baseline" in flags else ("--base-url", "http://127.0.0.1:9")
    panel = () if "chain" in flags else ("--tasks", "panel")
    assert run_eval.main(["--suite", "db_routing", "--backend", "anthropic", "--model", "m", *base, *panel, "--out",
                          "r.json", *flags]) == 2
    assert told in capsys.readouterr().err


def test_what_a_finalisation_writes_into_a_cache_is_counted_and_told(capsys: pytest.CaptureFixture[str]) -> None:
    ran("--cache", "moving")
    assert "Cache" not in capsys.readouterr().out
    ran("--cache", "moving", cache_creation_input_tokens=40, cost=0.5)
    rows = json.loads(Path("r.json").read_text("utf-8"))["rows"]
    assert [(row["final_cache_write"], row["cache_write"]) for row in rows] == [(40, 40)] * 2
    assert "billed" not in rows[0], "the provider has told the cost of one call out of five"
    assert "Warnung: Abschlüsse schrieben 80 Tokens in einen Cache, die niemand liest" in capsys.readouterr().out


@pytest.mark.parametrize(("usages", "told"), [
    ([{"cost": 0.5}, {"cost": 0.25}], {"billed": 0.75}), ([{"cost": 0.5}, {}], {}), ([None, None], {}),
    ([{"input_tokens": 1, "output_tokens": 1, "cache_creation_input_tokens": 9}, {"cost": 0.5}], {"cache_write": 9})])
def test_what_a_row_tells_of_money(usages: list[dict[str, Any] | None], told: dict[str, Any]) -> None:
    calls = [{"kind": kind, "usage": usage} for kind, usage in zip(("tool", "final"), usages, strict=True)]
    assert spending_of(calls) == told
