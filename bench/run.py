#!/usr/bin/env python3
"""Time run_eval.py against a stub endpoint beside lm-eval and inspect_ai, and write the table into bench/README.md.

usage: python3 bench/run.py [--repeats N] [--large N] [--lm-eval PYTHON] [--inspect PYTHON] [--quick] [--dry]

PYTHON is the interpreter of an environment that holds the package; without it the harness is left out. Every harness
sends the same prompts (about 12 KB each) to the same stub: 200 ms latency, 64 in flight. Medians of N repeats (default
5; of the large runs of the others, one). --quick leaves out 5,000 tasks and more, --dry prints the table only.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from stage import ROOT, Stub, Taken, insert, run_eval, timed, write_tasks

sys.path.insert(0, str(ROOT))

from lm_eval_task.prompt import prompt_text
from lm_eval_task.tools import read_tools

IN_FLIGHT, LATENCY_S = 64, 0.2

LM_EVAL_TASK = """\
task: stub
dataset_path: json
dataset_kwargs:
  data_files:
    test: {file}
test_split: test
output_type: generate_until
doc_to_text: "{{{{prompt}}}}"
doc_to_target: ok
generation_kwargs:
  until: []
  max_gen_toks: 160
  temperature: 0.0
metric_list:
  - metric: exact_match
"""

INSPECT_TASK = """\
from inspect_ai import Task, task
from inspect_ai.dataset import FieldSpec, json_dataset
from inspect_ai.scorer import includes
from inspect_ai.solver import generate


@task
def stub():
    rows = json_dataset({file!r}, FieldSpec(input="prompt", target="target"))
    return Task(rows, solver=generate(), scorer=includes())
"""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the table. sending: the ideal time between the first and the last request over the real one."""

    harness: str
    tasks: int
    repeats: int
    taken: Taken
    sending: float
    requests: int
    answered: int


Command = Callable[[str, Path, int], Sequence[str]]     # url, folder, number of tasks


def ours(url: str, folder: Path, count: int) -> Sequence[str]:
    return run_eval(url, folder / f"t{count}.jsonl", folder / "r.json", "--force", "--concurrency", str(IN_FLIGHT))


def lm_eval(python: str) -> Command:
    def command(url: str, folder: Path, count: int) -> Sequence[str]:
        (folder / "stub.yaml").write_text(LM_EVAL_TASK.format(file=folder / f"p{count}.jsonl"), "utf-8")
        arguments = f"model=stub,base_url={url}/chat/completions,num_concurrent={IN_FLIGHT},max_retries=4"
        return [python, "-m", "lm_eval", "--model", "local-chat-completions", "--model_args", arguments, "--tasks",
                "stub", "--include_path", str(folder), "--apply_chat_template", "--output_path", str(folder / "lm"),
                "--log_samples"]
    return command


def inspect_ai(python: str) -> Command:
    def command(url: str, folder: Path, count: int) -> Sequence[str]:
        (folder / "stub.py").write_text(INSPECT_TASK.format(file=str(folder / f"p{count}.jsonl")), "utf-8")
        return [python, "-m", "inspect_ai", "eval", "stub.py", "--model", "openai-api/stub/stub",
                "--model-base-url", url, "--max-connections", str(IN_FLIGHT), "--max-samples", str(IN_FLIGHT),
                "--max-tokens", "160", "--temperature", "0", "--display", "none", "--log-dir", str(folder / "inspect")]
    return command


def write_prompts(folder: Path, count: int) -> None:
    """The same tasks for the others: the whole prompt as text."""
    tools = read_tools()
    with (folder / f"p{count}.jsonl").open("w", encoding="utf-8") as file:
        for line in (folder / f"t{count}.jsonl").open(encoding="utf-8"):
            text = prompt_text(tools, json.loads(line)["question"])
            file.write(json.dumps({"prompt": text, "target": "weather"}, ensure_ascii=False) + "\n")


def measured(name: str, command: Command, folder: Path, count: int, repeats: int) -> Line:
    """The medians of several runs, each against a stub of its own."""
    taken, spans = [], []
    for _ in range(repeats):
        with Stub("--latency", str(LATENCY_S)) as stub:
            environ = {"STUB_API_KEY": "none", "OPENAI_API_KEY": "none", "HF_HUB_OFFLINE": "1"}
            taken.append(timed(command(stub.url, folder, count), folder, environ, folder / f"{name}.log"))
            stats = stub.stats()
        if taken[-1].status:
            raise SystemExit(f"{name}: exit status {taken[-1].status}\n{(folder / f'{name}.log').read_text()[-2000:]}")
        spans.append(stats["span_s"])
    middle = Taken(0, *(statistics.median(getattr(t, f) for t in taken) for f in ("wall_s", "cpu_s", "memory_mb")))
    ideal_s = (count - 1) // IN_FLIGHT * LATENCY_S      # all but the first 64 wait for a place
    sending = ideal_s / statistics.median(spans)
    return Line(name, count, repeats, middle, sending, stats["requests"], stats["answered"])


def lines(options: argparse.Namespace, folder: Path) -> Iterator[Line]:
    others = [(name, make(python)) for name, make, python in
              (("lm-eval", lm_eval, options.lm_eval), ("inspect_ai", inspect_ai, options.inspect)) if python]
    for count in (91,) if options.quick else (91, 5000):
        write_tasks(folder / f"t{count}.jsonl", count)
        yield measured("run_eval.py", ours, folder, count, options.repeats)
        if others:
            write_prompts(folder, count)
        for name, command in others:
            yield measured(name, command, folder, count, options.repeats if count < 1000 else 1)
    if options.large and not options.quick:
        write_tasks(folder / f"t{options.large}.jsonl", options.large)
        yield measured("run_eval.py", ours, folder, options.large, 1)


def table(found: Sequence[Line], about: Sequence[str]) -> str:
    head = ("harness", "tasks", "runs", "wall s", "CPU s", "CPU ms/task", "MB", "sending", "requests", "answered")
    rows = [(one.harness, f"{one.tasks:,}", str(one.repeats), f"{one.taken.wall_s:.2f}", f"{one.taken.cpu_s:.2f}",
             f"{1000 * one.taken.cpu_s / one.tasks:.2f}", f"{one.taken.memory_mb:.0f}", f"{one.sending:.3f}",
             f"{one.requests:,}", f"{one.answered:,}") for one in found]
    marked = ["| " + " | ".join(row) + " |" for row in (head, ("---", *("---:",) * (len(head) - 1)), *rows)]
    return "\n".join([*marked, "", *about])


def about(options: argparse.Namespace) -> list[str]:
    """Where the numbers come from: processor, Python, versions."""
    info = Path("/proc/cpuinfo")
    lines_of = info.read_text().splitlines() if info.exists() else []
    model = next((line.partition(": ")[2] for line in lines_of if line.startswith("model name")), platform.processor())
    cores = sum(line.startswith("processor") for line in lines_of)
    versions = [f"{name} {_version(python, package)}" for name, package, python in
                (("lm-eval", "lm_eval", options.lm_eval), ("inspect_ai", "inspect_ai", options.inspect)) if python]
    return [", ".join([f"{cores} × {model}", f"Python {platform.python_version()}", *versions]) + ". Medians. "
            "*sending*: the ideal time from the first request to the last (tasks / 64 × 0.2 s) over the measured one."]


def _version(python: str, package: str) -> str:
    code = f"import importlib.metadata as m; print(m.version('{package}'))"
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--large", type=int, default=0, help="one more run of ours, e.g. 100000 tasks (5 minutes)")
    parser.add_argument("--lm-eval", metavar="PYTHON")
    parser.add_argument("--inspect", metavar="PYTHON")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--dry", action="store_true")
    options = parser.parse_args()
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for line in lines(options, Path(folder)):
            found.append(line)
            print(line, file=sys.stderr, flush=True)
    text = table(found, about(options))
    print(text)
    if not options.dry:
        insert(text, "run.py")


if __name__ == "__main__":
    main()
