"""Shows what templates of the suite chain yield, for those who write them.

    python -m infranode_eval.generator.chain.check [FILE …] [--world-seed SEED] [--template NAME] [--all-refusals]
    python -m infranode_eval.generator.chain.check [FILE …] --worlds 20      which templates run out in s1 … s20?

Without files: every file in data/chain/templates. Exit codes: 0 each template yields its tasks, 1 one does not,
2 a file breaks its format.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from infranode_eval.chain.worlds import open_world
from infranode_eval.generator.chain import lint
from infranode_eval.generator.chain.build import Builder
from infranode_eval.generator.chain.draw import Drawn, draw
from infranode_eval.generator.chain.template import Template
from infranode_eval.generator.chain.templates import read_templates
from infranode_eval.generator.lint import Finding, has_speller
from infranode_eval.infranode import facts
from infranode_eval.terminal import Parser
from lm_eval_task.errors import BenchError
from lm_eval_task.tools import read_tools

_SHOWN = 12         # refusals a template, unless all are asked for


def main(arguments: Sequence[str] | None = None) -> int:
    chosen = _arguments(arguments)
    try:
        templates = [template for template in read_templates([Path(name) for name in chosen.files] or None)
                     if chosen.template in (None, template.name)]
        if chosen.worlds:
            return _in_worlds(templates, [f"s{number}" for number in range(1, chosen.worlds + 1)])
        builder, short, rows = _builder(chosen.world_seed), 0, []
        for template in templates:
            drawn = draw([template], builder)
            short += bool(drawn.short)
            rows += drawn.rows
            print("\n".join(report(template, drawn, chosen.all_refusals)))
        print(*_language(rows, templates), sep="\n")
    except BenchError as error:
        print(f"check: {error}", file=sys.stderr)
        return error.exit_code
    return 1 if short else 0


def _language(rows: Sequence[Mapping[str, Any]], templates: Sequence[Template]) -> Iterator[Finding]:
    """What the lint says of the questions: wording, spelling, doubles."""
    for row in rows:
        yield from (Finding(check, row["task_id"], text) for check, text in lint.question_problems(row))
    yield from lint.repeated(rows, templates)
    if has_speller():
        yield from lint.misspelt(lint.texts_of(rows, templates))


def _builder(seed: str) -> Builder:
    return Builder(open_world({"kind": "snapshot", "name": seed}), read_tools())


def _in_worlds(templates: Sequence[Template], seeds: Sequence[str]) -> int:
    """One line for each template that runs out somewhere, with the worlds and how many candidates are refused."""
    short: dict[str, list[str]] = {template.name: [] for template in templates}
    refused: Counter[str] = Counter()
    for seed in seeds:
        builder = _builder(seed)
        for template in templates:
            drawn = draw([template], builder)
            refused[template.name] += len(drawn.refusals)
            if drawn.short:
                short[template.name].append(seed)
    for template in templates:
        print(f"{template.category}/{template.name}: {refused[template.name] / len(seeds):.1f} candidates refused a "
              f"world" + (f"; RUNS OUT in {', '.join(short[template.name])}" if short[template.name] else ""))
    return 1 if any(short.values()) else 0


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = Parser("python -m infranode_eval.generator.chain.check", "Show what templates of the suite chain yield.")
    parser.add_argument("files", nargs="*", metavar="FILE", help="default: every file in data/chain/templates")
    parser.add_argument("--world-seed", default=facts.DEFAULT_SEED, metavar="SEED", help="default: s1")
    parser.add_argument("--template", metavar="NAME", help="only this one")
    parser.add_argument("--worlds", type=int, default=0, metavar="N", help="only say which run out in s1 … sN")
    parser.add_argument("--all-refusals", action="store_true", help=f"not only the first {_SHOWN} of a template")
    return parser.parse_args(arguments)


def report(template: Template, drawn: Drawn, all_refusals: bool = False) -> Iterator[str]:
    """The lines about one template: its rows, then what was refused."""
    rows = [row for row in drawn.rows if row["set"] == "core"]
    missing = "" if template.name not in drawn.short else f"  MISSING: {drawn.short[template.name]}"
    yield f"== {template.category}/{template.name}: {len(rows)} of {template.tasks} tasks, " \
          f"{len(drawn.rows) - len(rows)} twins, {len(drawn.refusals)} candidates refused{missing}"
    for row in drawn.rows:
        yield from _row_lines(row)
    reasons = Counter(refusal.reason for refusal in drawn.refusals)
    for refusal in drawn.refusals if all_refusals else drawn.refusals[:_SHOWN]:
        yield f"  refused {refusal.candidate}: {refusal.reason}"
    if len(drawn.refusals) > _SHOWN and not all_refusals:
        yield f"  … {len(drawn.refusals)} in all: " + "; ".join(
            f"{count} × {reason}" for reason, count in reasons.most_common(5))
    yield ""


def _row_lines(row: Mapping[str, Any]) -> Iterator[str]:
    expect = row["expect"]
    yield f"  {row['task_id']}"
    yield f"    {row['question']}"
    yield f"    = {_answer(expect['answer'])}"
    for step in row["gold"]:
        arguments = ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}"
                              for name, value in step["call"]["arguments"].items())
        yield f"    {step['id']}: {step['call']['name']}({arguments}) → {step['status']} {step['source_status'] or ''}"
    if expect["near_misses"]:
        yield "    near: " + "; ".join(f"{name} = {json.dumps(value, ensure_ascii=False)}"
                                       for name, value in expect["near_misses"].items())
    yield f"    must_call: {json.dumps(expect['must_call'], ensure_ascii=False)}"
    if row["faults"]:
        yield f"    faults: {json.dumps(row['faults'], ensure_ascii=False)}"
    if expect["injection"]:
        yield f"    injection: {json.dumps(expect['injection'], ensure_ascii=False)}"


def _answer(answer: Mapping[str, Any]) -> str:
    rest = {name: value for name, value in answer.items()
            if name not in ("type", "value") and value not in (None, [], {}, 0)}
    more = "".join(f", {name} {json.dumps(value, ensure_ascii=False)}" for name, value in rest.items())
    return f"{json.dumps(answer['value'], ensure_ascii=False)} ({answer['type']}{more[:200]})"


if __name__ == "__main__":
    sys.exit(main())
