"""The watch report: what people read and what programs read say the same."""

from __future__ import annotations

import json

from infranode_eval.generator.drift import Drift, Finding
from infranode_eval.generator.surroundings import Change
from infranode_eval.generator.watch import watch_json, watch_markdown

HEAD = {"file": "tasks.jsonl", "version": "core-2026-12", "source": {"level": "live", "base_url": "https://x/api/v1"}}
FINDINGS = (
    Finding("icu", "core", "moved", "icu-live", "/cities/bonn/icu-live", "wrong call: 404 not_found", "200 ok aaa",
            "404 not_found"),
    *(Finding(f"h{i}", "extended", "changed", "health", f"/cities/c{i}/health", "−icu_capacity", "200 ok a", "200 ok b")
      for i in range(5)),
    Finding("w", "core", "unknown", "weather", "/cities/ulm/weather", "no answer (deadline)", "200 ok a", ""),
    Finding("r", "core", "back", "air", "/cities/ulm/air", "retired on 2026-08-01: x|y", "200 ok a", "200 ok a"),
)
CHANGES = (Change("resource keys", "/openapi.json", 67, 81, ("care", "childcare"), ("icu-live",)),
           Change("types of pois", "not said by /openapi.json", 6),
           Change("cities", "/cities", 84, 184, tuple(f"stadt-{i}" for i in range(100))))
DRIFT = Drift("2026-12-05", 20, 1, FINDINGS, CHANGES)


def test_the_report_for_people(golden) -> None:
    golden("watch.md", watch_markdown(DRIFT, HEAD))


def test_the_report_for_programs_holds_every_finding() -> None:
    value = json.loads(watch_json(DRIFT, HEAD))
    assert value["counts"] == {"moved": 1, "changed": 5, "unknown": 1, "back": 1}
    assert (value["checked"], value["retired"], value["day"], value["version"]) == (20, 1, "2026-12-05", "core-2026-12")
    assert len(value["findings"]) == 8 and value["findings"][0]["now"] == "404 not_found"
    assert value["changes"][0]["removed"] == ["icu-live"] and value["changes"][1]["now"] is None


def test_a_quiet_api_makes_a_short_report() -> None:
    text = watch_markdown(Drift("2026-12-05", 20, 0, (), CHANGES[:1]), HEAD)
    assert "20 rows in use: 20 as they were" in text
    assert "Moved" not in text and "No answer" not in text and "Changed" not in text


def test_our_own_model_is_never_taken_for_the_api() -> None:
    for level, said in (("snapshot", "says nothing about the live API"), ("recording", "not the API of today"),
                        ("server", "not the public one"), ("live", "the public API")):
        assert said in watch_markdown(DRIFT, HEAD | {"source": {"level": level}})
