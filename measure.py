#!/usr/bin/env python3
"""What a run will need: prompt size, context, tokens and cost, prompt and native mode side by side.

Usage:
  python3 measure.py                                   core set, tokens estimated
  python3 measure.py --set full --tokenizer PATH       tokens counted with a tokenizer.json, a model folder or a .gguf
  python3 measure.py --price-in 0.4 --price-out 1.6    cost of a full run, prices per million tokens
  python3 measure.py --model gpt-4.1-mini --cached 0.1 prices from the dated table, or overridden one by one
  python3 measure.py --tasks FILE --tools FILE --json
  python3 measure.py --suite bench [--cases FILE --tools FILE]
  python3 measure.py --suite chain [--max-result-chars N]      requests, and the context that a model needs

Exit status: 0, or 2 for wrong usage or data.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))   # python3 -I leaves the script's folder out

from infranode_eval.budget import (
    Measurement,
    cost_of,
    gold_tokens,
    measurement_section,
    price_of,
    prompt_of,
    read_prices,
)
from infranode_eval.providers.protocol import Sampling
from infranode_eval.suites import MAIN, SUITES, Setup, Suite, open_suite
from infranode_eval.tables import FORMATS, render
from infranode_eval.terminal import Parser, complain, show
from infranode_eval.tokens import ESTIMATE, load_counter
from lm_eval_task.errors import BenchError, DataError, UsageError
from lm_eval_task.records import Task
from lm_eval_task.tools import Toolset, data_file

OWN_FILES = {MAIN: "tasks.jsonl", "bench": "bench_cases.jsonl", "chain": "chain/tasks.jsonl"}


def parser() -> argparse.ArgumentParser:
    described = Parser("measure.py", __doc__)
    described.add_argument("--suite", default=MAIN, choices=SUITES)
    described.add_argument("--set", metavar="S", help="core (default), extended, robust, abstain, full or all; bench: "
                                                      "original (default), paraphrase, all; chain: full "
                                                      "(default), core, control, reseed")
    described.add_argument("--tasks", "--cases", metavar="FILE", help="default: the suite's own (tasks.jsonl)")
    described.add_argument("--tools", metavar="FILE", help="default: the suite's own (tools.json)")
    described.add_argument("--tokenizer", metavar="PATH", help="count tokens instead of estimating them")
    described.add_argument("--max-tokens", type=int, metavar="N", help="longest reply; default: 160, bench: 512, "
                                                                    "chain: 1024")
    described.add_argument("--max-result-chars", type=int, metavar="N", help="chain: as in run_eval.py")
    described.add_argument("--model", metavar="NAME", help="take prices from the table, which nobody checked for you")
    described.add_argument("--price-in", type=float, metavar="P", help="per million input tokens")
    described.add_argument("--price-out", type=float, metavar="P", help="per million output tokens")
    described.add_argument("--cached", type=float, metavar="P", help="per million input tokens read from the cache")
    described.add_argument("--format", choices=FORMATS, default="text")
    described.add_argument("--json", action="store_true", help="numbers for a program")
    return described


def main(arguments: Sequence[str] | None = None) -> int:
    try:
        options = parser().parse_args(arguments)
        found, notes = measure(options)
    except BenchError as error:
        complain("measure.py", str(error))
        return error.exit_code
    if options.json:
        show(json.dumps({**found.to_json(), "notes": notes}, ensure_ascii=False, indent=1) + "\n")
    else:
        show(render([measurement_section(found, notes)], options.format))
    return 0


def measure(options: argparse.Namespace) -> tuple[Measurement, list[str]]:
    """The numbers, and what must be said about their prices."""
    if options.max_tokens is not None and options.max_tokens < 1:
        raise UsageError("--max-tokens: expected a number from 1 on")
    table = read_prices()
    price = price_of(table, options.model, options.price_in, options.price_out, options.cached)
    suite = open_suite(options.suite)
    which, max_tokens = options.set or suite.SETS[0], options.max_tokens or suite.MAX_TOKENS
    tools = suite.read_tools(options.tools)
    if options.suite == MAIN and options.tasks is None and not data_file("tasks.jsonl").is_file():
        raise DataError("is not there; build it with python3 generate.py, or name a file with --tasks",
                        data_file("tasks.jsonl"))
    tasks = suite.load(options.tasks, tools, which)
    own = {} if options.max_result_chars is None else {"max_result_chars": options.max_result_chars}
    for name in own.keys() - set(suite.OWN_FLAGS):
        raise UsageError(f"--{name.replace('_', '-')}: suite {options.suite} takes no such flag")
    counter = load_counter(options.tokenizer) if options.tokenizer else ESTIMATE
    setups = {mode: setup_of(mode, suite, tools, options.tasks, max_tokens, own) for mode in suite.MODES}
    prompts = tuple(prompt_of(mode, tools, tasks, counter.count, max_tokens, setup.before_question)
                    for mode, setup in setups.items())
    forecasts = {mode: found for mode, setup in setups.items()
                 if (found := suite.forecast(tasks, setup, counter.count)) is not None}
    gold = gold_tokens(tasks, counter.count)
    costs = tuple(cost_of(p, price, gold, max_tokens) for p in prompts) if price else ()
    notes = [f"prices of {options.model}: list of {table.as_of}, {table.currency}, unverified here; check them before "
             "you pay"] if options.model else []
    notes += fewer_tools(suite, tasks, tools)
    name = f"{options.tasks or OWN_FILES.get(options.suite, options.suite)}, set {which}"
    return Measurement(name, counter.source, max_tokens, gold, prompts, price, costs, forecasts), notes


def setup_of(mode: str, suite: Suite, tools: Toolset, path: str | None, max_tokens: int,
             own: Mapping[str, Any]) -> Setup:
    """What precedes the questions, and how plays of several requests go on."""
    return Setup.of(mode, tools, Sampling(max_tokens), None, suite.scene(path, tools, own))


def fewer_tools(suite: Suite, tasks: Sequence[Task], tools: Toolset) -> list[str]:
    """A note where single tasks are offered fewer tools than are counted for each."""
    offering = suite.offering(tasks, tools)
    narrowed = sum(offering.for_task(t.task_id, t.question) is not offering.whole for t in tasks) if offering else 0
    return [f"{narrowed} of the tasks are offered fewer tools, and take less than is counted here"] if narrowed else []


if __name__ == "__main__":
    sys.exit(main())
