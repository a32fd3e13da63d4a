"""Workers without a model: they read the paths of their prompt and tell what their session has read and perceived."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from infranode_eval.providers.protocol import Sampling
from infranode_eval.team.account import texts_of
from infranode_eval.team.scripted import UNSEEN, Worker
from tests.team import probe
from tests.team.plays import MEDIA, calls, create, play, run, task_of
from tests.team.test_media import illustrated, png, wav


def wanted(prompt: str, tools: tuple[str, ...] = ("Read",)) -> list[str]:
    from infranode_eval.team.tools import subset

    answer = Worker("llm").ask([{"role": "system", "content": "x /arbeit/nie"}, {"role": "user", "content": prompt}],
                               subset(tools) or None, Sampling(10))
    return [json.loads(entry["function"]["arguments"])["file_path"] for entry in answer.message.get("tool_calls", ())]


@pytest.mark.parametrize("prompt, paths", [
    ("Lies /arbeit/akten/a.txt.", ["/arbeit/akten/a.txt"]), ("(/arbeit/a.txt, /arbeit/b.txt)", ["/arbeit/a.txt",
                                                                                             "/arbeit/b.txt"]),
    ("/arbeit/a.txt und /arbeit/a.txt", ["/arbeit/a.txt"]), ("Lies akten/a.txt", []), ("/arbeit", []),
    ("/arbeit/straße/ä-ö_ü.csv:", ["/arbeit/straße/ä-ö_ü.csv"]), ("„/arbeit/x.txt“", ["/arbeit/x.txt"])])
def test_it_reads_each_path_of_its_prompt_once(prompt: str, paths: list) -> None:
    assert wanted(prompt) == paths


def test_without_the_tool_it_reads_nothing() -> None:
    assert wanted("Lies /arbeit/a.txt", ("Glob",)) == [] == wanted("Lies /arbeit/a.txt", ())


def told(parent: Path, key: str, *prompts: str, facts: bool = True, tools: tuple[str, ...] = ("Read",)) -> list[str]:
    """The worker's answers to prompts in one session."""
    scenario = illustrated(parent)
    if facts:
        probe.write_json(scenario.folder / "golden" / "facts.json", {
            hashlib.sha256(png(1)).hexdigest(): {"modality": "image", "text": "Balken: 12"},
            hashlib.sha256(wav()).hexdigest(): {"modality": "audio", "text": "Ja: 17"}})
    worker = Worker(key).for_task(task_of(scenario))
    script = lambda messages: worker.ask(messages, [{"function": {"name": name}} for name in tools], Sampling(1))  # noqa: E731
    done = play(scenario, [calls(create(key=key, tools=list(tools))), *[calls(run(prompt, **({} if not n else {
        "session_id": "s1"}))) for n, prompt in enumerate(prompts)], "Fertig."], **{key: script}, media=MEDIA)
    return [text.partition("\n\n")[2] for text in done.results[1:]]


def test_it_tells_all_texts_of_its_session_without_line_numbers(tmp_path: Path) -> None:
    first, second = told(tmp_path, "llm", "Lies /arbeit/akten/satzung.txt", "Lies /arbeit/akten/verteiler.txt")
    assert texts_of(first, "/arbeit/akten/satzung.txt")[0].startswith("Satzung über")
    assert "[/arbeit/akten/satzung.txt]" in second and second.endswith("Rechtsamt, Kämmerei, Bauamt")


@pytest.mark.parametrize("key, name, fact", [
    ("vlm", "bild1.png", "Balken: 12"), ("omni", "bild1.png", "Balken: 12"), ("omni", "ton.wav", "Ja: 17"),
    ("llm", "bild1.png", UNSEEN), ("vlm", "ton.wav", UNSEEN), ("llm", "ton.wav", UNSEEN),
    ("vlm", "bild2.png", UNSEEN)])
def test_it_tells_the_facts_of_what_it_received_in_its_own_modality(tmp_path: Path, key: str, name: str,
                                                                   fact: str) -> None:
    path = f"/arbeit/akten/{name}"
    assert told(tmp_path, key, f"Was zeigt {path}?") == [f"[{path}]\n{fact}"]


def test_what_it_may_not_read_is_told_as_the_refusal(tmp_path: Path) -> None:
    assert "verboten" in told(tmp_path, "llm", "Lies /arbeit/register/strassen.csv")[0]


def test_with_nothing_read_it_says_so(tmp_path: Path) -> None:
    assert told(tmp_path, "llm", "Denke nach.") == ["Dazu habe ich nichts gelesen."]
