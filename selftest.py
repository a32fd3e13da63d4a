"""Prove the scorer on the tasks themselves: every gold scores 1, every mutation 0, every equivalence 1.

usage: selftest.py [--all] [--tasks FILE | --cases FILE] [--tools FILE]

Needs no network, no installed package and no lm-eval. Checks the core tasks, with --all every row of the file, and the
cases of the suite bench; with --tasks or --cases those of a file of your own only. With --all the suite chain is proved
as well: its programs play every task, and every answer near a gold is judged.
Prints how many replies of each kind were judged. Stops at the first surprise: task id, expected and actual calls,
exit status 1. Exit status 2 for a file that cannot be used.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))   # python3 -I leaves the script's folder out

from infranode_eval.arms import ARMS, SEED
from infranode_eval.bench_variants import BenchVariant, failures, successes
from infranode_eval.chain.proofs import solved, violations
from infranode_eval.chain.tasks import ChainTask
from infranode_eval.chain.variants import AnswerVariant, answered, answers
from infranode_eval.equivalences import ABSTAINED, RIGHT, equivalences
from infranode_eval.mutations import Variant, mutations
from infranode_eval.providers import open_provider
from infranode_eval.providers.protocol import ProviderOptions, Sampling, TaskReader
from infranode_eval.suites import Scene, Setup, bench, chain, single
from infranode_eval.terminal import Parser
from lm_eval_task.bench import score_case
from lm_eval_task.cases import Cases, looks_like_cases, read_cases
from lm_eval_task.dataset import load_tasks
from lm_eval_task.datum import carriers, label_of
from lm_eval_task.errors import BenchError, UsageError
from lm_eval_task.metrics import score_reply
from lm_eval_task.prompt import MODES, messages
from lm_eval_task.records import Call, Reply, Score, Task
from lm_eval_task.tools import Toolset, read_tools

NEVER_RIGHT = ("never_calls", "constant", "first_tool")   # on the core tasks, which all expect another call


class Surprise(Exception):
    """The scorer's verdict is not the one that the specification asks for."""


# On the project's own cases, in both modes: how many of the 42 each baseline of the suite bench solves.
BENCH_BASELINES = {"oracle": 42, "never_calls": 14, "asks_always": 14, "always_calls": 0, "first_step_only": 34}


def main(arguments: Sequence[str] | None = None) -> int:
    try:
        options = _parser().parse_args(arguments)
        if options.tasks and options.cases:
            raise UsageError("--tasks and --cases exclude each other; check one file at a time")
        counts, lines, what = Counter[str](), list[str](), list[str]()
        if not options.cases:
            _prove_tasks(options, counts, lines, what)
        if not options.tasks:
            _prove_cases(options, counts, lines, what)
        if options.all and not options.tasks and not options.cases:
            prove_plays(counts, lines, what)
    except Surprise as surprise:
        print(surprise, file=sys.stderr)
        return 1
    except BenchError as error:
        print(f"selftest: {error}", file=sys.stderr)
        return error.exit_code
    for kind, number in sorted(counts.items()):
        print(f"{number:8,}  {kind}")
    print(*lines, sep="\n")
    print(f"{sum(counts.values()):8,}  replies to {' and '.join(what)}, each with the verdict it must have")
    return 0


def _prove_tasks(options: argparse.Namespace, counts: Counter[str], lines: list[str], what: list[str]) -> None:
    """The main suite."""
    tools = read_tools(options.tools)
    if options.tasks and looks_like_cases(options.tasks):
        raise UsageError(f"{options.tasks} looks like cases of the test bench: name it with --cases")
    tasks = load_tasks(tools, "all" if options.all else "core", options.tasks)
    counts.update(kind for task in tasks for kind in checked(task, tools))
    lines += [baseline_line(name, mode, tasks, tools) for name in ("oracle", *NEVER_RIGHT) for mode in MODES]
    lines += [line for name in ARMS if (line := arm_line(name, tasks, tools))]
    what.append(f"{len(tasks)} tasks")


def _prove_cases(options: argparse.Namespace, counts: Counter[str], lines: list[str], what: list[str]) -> None:
    """The suite bench; --tools belongs to the file that is checked."""
    cases = read_cases(options.cases, bench.read_tools(options.tools if options.cases else None))
    counts.update(kind for task in cases.tasks for kind in checked_case(task, cases))
    wanted = {"oracle": len(cases.tasks)} if options.cases else BENCH_BASELINES
    scene = bench.scene(options.cases, cases.tools)
    lines += [bench_line(name, mode, right, cases, scene) for name, right in wanted.items() for mode in MODES]
    what.append(f"{len(cases.tasks)} cases")


def _parser() -> argparse.ArgumentParser:
    parser = Parser("selftest.py", __doc__)
    parser.add_argument("--all", action="store_true", help="every row of the file, not only the core tasks, and the "
                                                           "suite chain")
    parser.add_argument("--tasks", metavar="FILE", help="another tasks.jsonl")
    parser.add_argument("--cases", metavar="FILE", help="cases of your own for the suite bench")
    parser.add_argument("--tools", metavar="FILE", help="the tools of that file")
    return parser


def checked(task: Task, tools: Toolset) -> Iterator[str]:
    """Judge every variant of the task's gold and yield its kind. Raise Surprise for a verdict it must not have."""
    for variant in equivalences(task, tools):
        check(task, variant, score_reply(task, variant.reply, tools, variant.mode), must_score=True)
        yield f"score 1: {variant.kind}"
    for variant in mutations(task, tools):
        check(task, variant, score_reply(task, variant.reply, tools, variant.mode), must_score=False)
        yield f"score 0: {variant.kind}"


def check(task: Task, variant: Variant, score: Score, must_score: bool) -> None:
    """Raise Surprise unless the score has the value, the outcome and the sub-code that the variant asks for.

    What scores contains the datum; anything else only if the table of carriers lets its calls contain it.
    """
    as_it_should = (bool(score.call_match) is must_score
                    and (must_score or not score.datum_match or score.request_match or may_contain(task, variant))
                    and (score.datum_match or not must_score)
                    and score.outcome in variant.outcomes
                    and variant.sub in (None, score.sub)
                    and (must_score or score.outcome not in RIGHT | ABSTAINED))
    if not as_it_should:
        wanted = " or ".join(sorted(variant.outcomes)) + (f"/{variant.sub}" if variant.sub else "")
        got = score.outcome + (f"/{score.sub}" if score.sub else "")
        actual = ", ".join(map(str, variant.calls)) or str(dict(variant.reply.message))
        raise Surprise(f"surprise in {task.task_id} ({variant.kind}, {variant.mode} mode): "
                       f"scored {int(bool(score.call_match))} as {got} with datum_match "
                       f"{int(bool(score.datum_match))}, must score {int(must_score)} as {wanted}\n"
                       f"  expected: {_shown(task.expected)}\n  actual:   {actual}")


def may_contain(task: Task, variant: Variant) -> bool:
    """Could the answers to the variant's calls contain what the task asks for, by the table of carriers alone?

    No more calls than expected; either one of them may follow the look-up, or each datum stands in the table for one
    of them, and every place of the gold is named by one of them.
    """
    labels = {label_of(call) for call in variant.calls}
    if not labels or len(variant.calls) > max(map(len, task.alternatives)) or task.category == "not_covered":
        return False
    if any(call.to_json() in task.extra.get("then", ()) for call in variant.calls):
        return True
    named = {place for call in variant.calls for place in _places(call)}
    return (all(carriers().labels.get(name, frozenset()) & labels for name in task.extra.get("datum", ["none"]))
            and (bool(labels & {"list_cities", "sources"})
                 or all(place in named for call in task.expected for place in _places(call))))


def _places(call: Call) -> Iterator[str]:
    """Cities, station numbers and stop ids among the arguments, in lower case."""
    for name in ("slug", "cities", "eva", "stop_id"):
        value = call.arguments.get(name)
        yield from (part.strip().lower() for part in value.split(",")) if isinstance(value, str) else ()


def _shown(calls: Sequence[Call] | None) -> str:
    return ", ".join(map(str, calls or ())) or "no call"


def baseline_line(name: str, mode: str, tasks: Sequence[Task], tools: Toolset) -> str:
    """Run a baseline over the tasks. Raise Surprise if the oracle misses one, or another is right on a core task."""
    right = 0
    with_provider = open_provider("baseline", ProviderOptions(model=name, tools=tools))
    for task in tasks:
        provider = with_provider.for_task(task) if name == "oracle" else with_provider
        answer = provider.ask(messages(mode, tools, task.question), tools.to_json() if mode == "native" else None,
                              Sampling(max_tokens=160))
        score = score_reply(task, Reply(answer.message, answer.finish_reason), tools, mode)
        solved = bool(score.call_match)
        right += solved
        if solved is not (name == "oracle") and (name == "oracle" or task.set == "core"):
            raise Surprise(f"surprise in {task.task_id}: baseline {name} scored {int(solved)} ({mode} mode)\n"
                           f"  expected: {_shown(task.expected)}\n  actual:   {_shown(score.calls)}")
    return f"{right:8,}  of {len(tasks):,} right: baseline {name}, {mode} mode"


def arm_line(name: str, tasks: Sequence[Task], tools: Toolset) -> str | None:
    """Replay the golds of the core tasks under an arm, in its own names. None for tools that the arm cannot change.

    Raise Surprise if a gold is not right although the arm offers its tools, or if silence is right.
    """
    try:
        offering = ARMS[name].offer(tools, SEED)
    except UsageError:
        return None
    asked = [t for t in tasks if t.set == "core" and t.expected] or [t for t in tasks if t.expected]
    setups = [Setup.of(mode, tools, Sampling(max_tokens=160), offering) for mode in MODES]
    right = sum(_right_under(name, task, setup) for setup in setups for task in asked) // len(MODES)
    return f"{right:8,}  of {len(asked):,} right: baseline oracle under arm {name}, both modes"


def _right_under(name: str, task: Task, run: Setup) -> bool:
    """Is the gold right under the arm? Raise Surprise where it is not although it is offered, or where silence is."""
    setup = run.for_task(task.task_id, task.question)
    offered = setup.offer.offered_task(task) if setup.offer else task
    for program, wanted in (("never_calls", False), ("oracle", bool(offered.expected))):
        provider = open_provider("baseline", ProviderOptions(model=program, tools=setup.tools))
        transcript = single.play(task, provider.for_task(offered) if program == "oracle" else provider, setup)
        score = single.score(task, transcript, run)
        if bool(score.call_match) is not wanted:
            raise Surprise(f"surprise in {task.task_id}: {program} under arm {name} scored {int(not wanted)} "
                           f"({run.mode} mode)\n  expected: {_shown(task.expected)}\n  actual:   {_shown(score.calls)}")
    return bool(offered.expected)


# --- the suite bench --------------------------------------------------------------------------------------------------

def checked_case(task: Task, cases: Cases) -> Iterator[str]:
    """Judge every variant of a case and yield its kind. Raise Surprise for a verdict it must not have."""
    for variant in successes(task, cases.tools, cases.zone):
        check_case(task, variant, _judged(task, variant, cases), must_succeed=True)
        yield f"bench, score 1: {variant.kind}"
    for variant in failures(task, cases.tools, cases.zone):
        check_case(task, variant, _judged(task, variant, cases), must_succeed=False)
        yield f"bench, score 0: {variant.kind}"


def _judged(task: Task, variant: BenchVariant, cases: Cases) -> Score:
    return score_case(task, variant.reply, cases.tools, variant.mode, cases.zone)


def check_case(task: Task, variant: BenchVariant, score: Score, must_succeed: bool) -> None:
    """Raise Surprise unless the case succeeds or fails as it must, also under the original's rule."""
    strict = bool(score.details.get("streng_match"))
    if bool(score.call_match) is must_succeed and variant.strict in (None, strict):
        return
    actual = ", ".join(map(str, variant.calls)) or str(dict(variant.reply.message))
    raise Surprise(f"surprise in {task.task_id} ({variant.kind}, {variant.mode} mode): scored "
                   f"{int(bool(score.call_match))} as {score.outcome}, must score {int(must_succeed)}; under the "
                   f"original's rule {int(strict)}{'' if variant.strict in (None, strict) else ', the other is right'}"
                   f"\n  expected: {_shown(task.expected)}\n  actual:   {actual}")


def bench_line(name: str, mode: str, wanted: int, cases: Cases, scene: Scene) -> str:
    """Play a baseline as the suite does. Raise Surprise unless it solves as many cases as it must."""
    setup = Setup.of(mode, cases.tools, Sampling(bench.MAX_TOKENS), bench.offering(cases.tasks, cases.tools), scene)
    solved = [task.task_id for task in cases.tasks if _solves(name, task, setup)]
    if len(solved) != wanted:
        raise Surprise(f"surprise: baseline {name} solves {len(solved)} of {len(cases.tasks)} cases ({mode} mode), "
                       f"must solve {wanted}: {', '.join(solved) or 'none'}")
    return f"{len(solved):8,}  of {len(cases.tasks):,} right: bench, baseline {name}, {mode} mode"


def _solves(name: str, task: Task, run: Setup) -> bool:
    setup = run.for_task(task.task_id, task.question)
    provider = open_provider("baseline", ProviderOptions(model=name, tools=setup.tools))
    asked = provider.for_task(task) if isinstance(provider, TaskReader) else provider
    return bool(bench.score(task, bench.play(task, asked, setup), run).call_match)


# --- the suite chain --------------------------------------------------------------------------------------------------

def prove_plays(counts: Counter[str], lines: list[str], what: list[str]) -> None:
    """The suite chain: its programs in both modes, and answers near the golds. Raise Surprise."""
    tools = chain.read_tools(None)
    worlds = [chain.load(None, tools, which) for which in ("full", "reseed")]
    setups = [Setup.of(mode, tools, Sampling(chain.MAX_TOKENS), None, chain.scene(None, tools)) for mode in MODES]
    for name in chain.PROGRAMS:
        lines += [program_line(name, world, setup) for setup in setups for world in worlds]
    counts.update(kind for world in worlds for task in world for kind in checked_play(task, setups[-1]))
    what.append(f"{sum(map(len, worlds))} tasks of the suite chain")


def program_line(name: str, tasks: Sequence[ChainTask], setup: Setup) -> str:
    """Play a program of the suite chain. Raise Surprise if it solves what it must lose, or loses what it must solve."""
    program = chain.PROGRAMS[name](ProviderOptions(name, setup.tools))
    scored = [(task, chain.score(task, chain.play(task, program.for_task(task), setup), setup)) for task in tasks]
    surprise = next(violations(name, scored), None)
    if surprise is not None:
        raise Surprise(f"surprise: chain, program {name} ({setup.mode} mode) {surprise}")
    world = tasks[0].world["name"]
    return (f"{len(solved(scored)):8,}  of {len(tasks):,} right: chain, program {name}, {setup.mode} mode, "
            f"world {world}")


def checked_play(task: ChainTask, setup: Setup) -> Iterator[str]:
    """Judge the play of the plan with other answers, and cut before its data were read; yield the kinds.

    Raise Surprise for a verdict it must not have.
    """
    program = chain.PROGRAMS["planner"](ProviderOptions("planner", setup.tools))
    whole = chain.play(task, program.for_task(task), setup)
    read = chain.score(task, whole, setup).details["evidence_turn"]
    right = AnswerVariant("", whole.answers[-1].message["content"], True)
    plays = [(variant, answered(whole.course, variant.text)) for variant in answers(task)]
    plays += [(AnswerVariant("cut before the data were read", right.text, False), answered(whole.course, right.text, n))
              for n in range(read)]
    for variant, course in plays:
        score = chain.score(task, replace(whole, course=course), setup)
        if score.details["task_success"] is not variant.right:
            raise Surprise(f"surprise in {task.task_id} ({variant.kind}, {setup.mode} mode): scored "
                           f"{int(score.details['task_success'])} as {score.outcome}, must score {int(variant.right)}\n"
                           f"  expected: {dict(task.expectation['answer'])}\n  actual:   {variant.text}")
        yield f"chain, score {int(variant.right)}: {variant.kind.partition(':')[0]}"


if __name__ == "__main__":
    sys.exit(main())
