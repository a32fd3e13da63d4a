"""The suites as tasks of inspect_ai: its models answer, our loop asks and our scorers judge.

    inspect eval infranode_eval/inspect_bridge.py@infranode_chain --model openai/gpt-4.1-mini
    inspect eval infranode_eval/inspect_bridge.py@infranode_single --model … -T set=abstain -T mode=native
    inspect eval infranode_eval/inspect_bridge.py@infranode_bench --model … -T tasks=$PWD/my.jsonl -T tools=$PWD/my.json

Needs the extra [inspect].
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1]))   # inspect loads this file by its path

try:
    from anyio import CapacityLimiter, to_thread
    from inspect_ai import Task, task
    from inspect_ai._util.error import PrerequisiteError  # inspect prints it as one line
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import GenerateConfig, get_model
    from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, mean, metric, scorer, stderr
    from inspect_ai.solver import Generate, Solver, TaskState, solver
except ImportError as missing:
    raise ImportError("inspect_ai is not installed; install it with: uv sync --extra inspect, or "
                      "pip install 'infranode-tool-eval[inspect]'") from missing

from infranode_eval.fold import row_of
from infranode_eval.inspection.playing import cut_short, play, ready
from infranode_eval.inspection.provider import InspectProvider
from infranode_eval.inspection.verdicts import facts_of, score_of, target_of, verdict_from
from infranode_eval.run import parallel_of
from lm_eval_task.errors import BenchError
from lm_eval_task.metrics import SCORER_VERSION
from lm_eval_task.records import FAILURES

ROW = "infranode_row"       # where a sample's store keeps what was made of it


@task
def infranode_single(set: str = "core", mode: str = "prompt", tasks: str | None = None,
                     tools: str | None = None) -> Task:
    """One question, one reply. set: core, extended, robust, abstain, full or all. tasks, tools: files of one's own."""
    return _task(call_match, suite="single", which=set, mode=mode, tasks=tasks, tools=tools)


@task
def infranode_bench(set: str = "original", mode: str = "prompt", tasks: str | None = None,
                    tools: str | None = None) -> Task:
    """42 orders in five stages. set: original, paraphrase or all."""
    return _task(call_match, suite="bench", which=set, mode=mode, tasks=tasks, tools=tools)


@task
def infranode_chain(set: str = "full", mode: str = "native", tasks: str | None = None, tools: str | None = None,
                    max_result_chars: int | None = None) -> Task:
    """Several steps, really executed. set: full, core, control or reseed. max_result_chars: seen of a tool's result."""
    return _task(task_success, suite="chain", which=set, mode=mode, tasks=tasks, tools=tools,
                 max_result_chars=max_result_chars)


def _task(judge: Callable[[dict[str, Any]], Scorer], **order: Any) -> Task:
    """order: what `ready` takes."""
    try:
        this = ready(**order)
    except BenchError as error:
        raise PrerequisiteError(str(error)) from None
    rows, sampling = tuple(this.tasks.values()), this.setup.sampling
    samples = [Sample(id=row.task_id, input=row.question, target=target_of(row), metadata=facts_of(row))
               for row in rows]
    config = GenerateConfig(temperature=sampling.temperature, max_tokens=sampling.max_tokens,
                            parallel_tool_calls=parallel_of("auto", rows) if order["mode"] == "native" else None)
    return Task(dataset=MemoryDataset(samples, name=f"{order['suite']} {order['which']}"), solver=our_loop(order),
                scorer=judge(order), metrics=[mean(), stderr(), suite_numbers(order)], config=config,
                version=SCORER_VERSION, metadata={**order, "hashes": this.hashes})


@solver
def our_loop(order: dict[str, Any]) -> Solver:
    """Plays a task in a thread of its own; its requests come back to inspect's event loop, which asks the model."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        this, asked, model = ready(**order), [], get_model()

        def asks() -> InspectProvider:
            asked.append(InspectProvider(model, partial(setattr, state, "messages")))
            return asked[-1]

        played = await to_thread.run_sync(      # a limiter of its own: a play must not wait for other plays
            play, this, this.tasks[str(state.sample_id)], state.epoch, asks, limiter=CapacityLimiter(1))
        state.store.set(ROW, row_of(played, deterministic=False))
        state.output = asked[-1].output or state.output
        if played.transcript:
            state.messages = asked[-1].conversation(played.transcript.messages)
        return state

    return solve


@metric(scores="unreduced")
def suite_numbers(order: dict[str, Any]) -> Metric:
    """The suite's own numbers over all rows, as in a results file. failed: how many rows are without an answer."""

    def numbers(scores: list[SampleScore]) -> dict[str, float]:
        this = ready(**order)
        rows = [one.score.metadata or {} for one in scores]
        metrics = this.suite.aggregate([(this.tasks[row["task_id"]], verdict_from(row)) for row in rows])
        known = {name: float(value) for name, value in metrics.items() if value is not None}
        return {**known, "failed": float(sum(row["outcome"] in FAILURES for row in rows))}

    return numbers


@scorer(metrics=[mean(), stderr()])
def call_match(order: dict[str, Any]) -> Scorer:
    """Of one reply. 1: the calls are right (or none was, and none was made)."""
    return _judge(order)


@scorer(metrics=[mean(), stderr()])
def task_success(order: dict[str, Any]) -> Scorer:
    """Of a whole play. 1: the answer is right, its data were read, and nothing forbidden was done."""
    return _judge(order)


def _judge(order: dict[str, Any]) -> Scorer:
    async def score(state: TaskState, target: Target) -> Score:
        row = state.store.get(ROW)
        if row is None:
            this = ready(**order)
            row = row_of(cut_short(this, this.tasks[str(state.sample_id)], state.epoch), deterministic=False)
        return score_of(row)

    return score
