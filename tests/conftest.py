"""What tests share: golden files (rewritten with `pytest --update-golden`), and results made by the scorer."""

from __future__ import annotations

import gc
import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lm_eval_task.metrics import SCORER_VERSION, aggregate, score_reply
from lm_eval_task.prompt import prompt_fingerprint
from lm_eval_task.records import Call, Reply, Score, Task, tasks_fingerprint
from lm_eval_task.tools import Toolset, read_tools

GOLDEN = Path(__file__).parent / "golden"


def pytest_configure() -> None:
    """A shell's background job ignores SIGINT, and so would every process that a test starts and interrupts."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish() -> None:
    """What was collected lives to the end; the search for garbage need not go through it with every test."""
    gc.collect()
    gc.freeze()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite the files in tests/golden/")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """golden(name, text): `text` equals tests/golden/NAME; with --update-golden the file is written instead."""

    def compare(name: str, text: str) -> None:
        path = GOLDEN / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode("utf-8"))
            return
        assert path.is_file(), f"{path.name} does not exist yet; write it with pytest --update-golden and read it"
        assert text == path.read_bytes().decode("utf-8"), "run pytest --update-golden if the change is meant"

    return compare


# --- results to report on: every number in them comes from the scorer -------------------------------------------------

_CITIES = (("koeln", "Köln"), ("muenchen", "München"), ("nuernberg", "Nürnberg"), ("duesseldorf", "Düsseldorf"),
           ("bonn", "Bonn"), ("kiel", "Kiel"), ("ulm", "Ulm"), ("trier", "Trier"))
_KEYS = (("charging", "Ladesäulen", "k1"), ("tourism", "Übernachtungen", "k2"), ("tree-cadastre", "Straßenbäume", "k3"),
         ("parking", "freie Parkplätze", "k4"))


def _tasks() -> tuple[Task, ...]:
    """40 tasks in three categories."""
    tasks = []
    for slug, city in _CITIES[:4]:
        tasks.append(Task(f"routing_named-{slug}", f"Wie ist das Wetter in {city}?", (Call("weather", {"slug": slug}),),
                          category="routing_named", set="core", extra={"phrasing": "w1"}))
    for number, (key, noun, phrasing) in enumerate(_KEYS * 8):
        slug, city = _CITIES[number // 4]
        tasks.append(Task(f"resource_key-{slug}-{key}", f"Wie viele {noun} hat {city}?",
                          (Call("get_city_resource", {"slug": slug, "resource": key}),), category="resource_key",
                          set="core", extra={"phrasing": phrasing}))
    for slug, city in _CITIES[4:]:
        tasks.append(Task(f"not_covered-{slug}", f"Welche Baudenkmäler gibt es in {city}?",
                          (Call("get_city_resource", {"slug": slug, "resource": "heritage"}),),
                          category="not_covered", set="core", extra={"phrasing": "n1"}))
    return tuple(tasks)


@pytest.fixture(scope="session")
def toolset() -> Toolset:
    return read_tools()


@pytest.fixture(scope="session")
def demo_tasks() -> tuple[Task, ...]:
    return _tasks()


@pytest.fixture
def demo_file(tmp_path: Path) -> Path:
    """The tasks as a file for --tasks."""
    path = tmp_path / "demo-tasks.jsonl"
    path.write_text("".join(json.dumps(t.to_json(), ensure_ascii=False) + "\n" for t in _tasks()), "utf-8")
    return path


@pytest.fixture(scope="session")
def answer() -> Callable[[Task], str]:
    """answer(task): the right reply as text."""

    def text(task: Task) -> str:
        calls = [c.to_json() for c in task.expected]
        return json.dumps(calls[0] if len(calls) == 1 else calls, ensure_ascii=False)

    return text


Replier = Callable[[Task], Reply | Score]


def result_json(tasks: tuple[Task, ...], replier: Replier, toolset: Toolset, *, repeats: int = 1,
                **header: Any) -> dict[str, Any]:
    """A result in the project's format: replies (or failures) of `replier`, scored by the scorer."""
    mode = header.get("mode", "prompt")
    rows, pairs = [], []
    for repeat in range(1, repeats + 1):
        for task in tasks:
            given = replier(task)
            score = given if isinstance(given, Score) else score_reply(task, given, toolset, mode)
            reply = None if isinstance(given, Score) else dict(given.message)
            rows.append({"task_id": task.task_id, "category": task.category, "repeat": repeat, **score.to_json(),
                         "reply": reply, "finish_reason": None if reply is None else given.finish_reason, "usage": None,
                         "latency_s": None, "attempts": 1, "error": None})
            pairs.append((task.category, score))
    failed = sum(score.failed for _, score in pairs)
    return {"format": 1, "suite": "single", "set": "core", "harness": "run_eval", "model": "demo",
            "backend": "openai", "mode": mode, "setup": "S",
            "complete": not failed, "scorer_version": SCORER_VERSION,
            "hashes": {"tasks": tasks_fingerprint(tasks), "tools": toolset.fingerprint,
                       "prompt": prompt_fingerprint(mode, toolset)},
            "settings": {"max_tokens": 160, "temperature": 0},
            "counts": {"n": len(rows), "scored": len(rows) - failed, "failed": failed},
            "metrics": aggregate(pairs), "answered": aggregate([p for p in pairs if not p[1].failed]),
            "rows": rows} | header


@pytest.fixture
def make_result(demo_tasks: tuple[Task, ...], toolset: Toolset) -> Callable[..., dict[str, Any]]:
    """make_result(replier, tasks=…, repeats=…, **header): a result over the demo tasks."""

    def make(replier: Replier, tasks: tuple[Task, ...] = demo_tasks, **options: Any) -> dict[str, Any]:
        return result_json(tasks, replier, toolset, **options)

    return make
