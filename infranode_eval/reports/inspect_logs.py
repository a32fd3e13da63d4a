"""Results as logs of inspect_ai, for `inspect view`: a log for each run, a sample for each row, all that was said.

Needs inspect_ai from the extra [inspect], which is imported late: no other view needs it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from hashlib import sha256
from importlib.metadata import version
from math import sqrt
from pathlib import Path
from statistics import fmean, variance
from typing import TYPE_CHECKING, Any

from infranode_eval.arms import offering_of
from infranode_eval.providers.protocol import Sampling
from infranode_eval.reports.archive import MAIN_SUITE, Run, is_harness_output, read_json, run_from_json
from infranode_eval.reports.harness_output import replies_from_harness
from infranode_eval.reports.intake import tools_of
from infranode_eval.reports.tasksets import TaskSet, set_of
from infranode_eval.results import package_version
from infranode_eval.runner import message_in
from infranode_eval.suites import MAIN, SUITES, Setup, Suite, open_suite
from lm_eval_task.errors import BenchError, DataError, UsageError
from lm_eval_task.records import FAILURES, Task
from lm_eval_task.tools import Toolset

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog, EvalResults, EvalSample, EvalSpec
    from inspect_ai.model import ModelUsage

Row = Mapping[str, Any]
UNKNOWN = "(the question stands in a file of tasks that is not known here; name it with --tasks)"


@dataclass(frozen=True, slots=True)
class Source:
    """What a log is made of. rows: as stored. bodies: results of tools by their sha256. told: the file's other keys.

    tasks: by id, as far as they are known. setup: with the run's tools, None where they are not known. as_asked: its
    prompt is the one that was sent.
    """

    run: Run
    rows: Sequence[Row]
    tasks: Mapping[str, Task]
    setup: Setup | None
    as_asked: bool
    bodies: Mapping[str, str]
    told: Mapping[str, Any]


# --- files ------------------------------------------------------------------------------------------------------------

def log_paths(files: Sequence[Path], folder: Path) -> dict[Path, Path]:
    """Where the logs of each file begin to be written: the path without a run's mark.

    Raise UsageError without inspect_ai, for a place that is taken, and for two files of one name.
    """
    try:
        import inspect_ai  # noqa: F401  late: slow, and an extra
    except ImportError:
        raise UsageError("--inspect-log needs inspect_ai, which is not installed; install it with: "
                         "uv run --extra inspect report.py …, or pip install inspect_ai") from None
    paths: dict[Path, Path] = {}
    for file in files:
        path = folder / f"{_name(file)}.eval"
        if path in paths.values():
            twin = next(other for other, taken in paths.items() if taken == path)
            raise UsageError(f"{twin} and {file} would both become {path}; give each a folder of its own")
        if path.exists():
            raise UsageError(f"{path} exists, and a log is never overwritten; delete it or name another folder")
        paths[file] = path
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file; --inspect-log names a folder")
    return paths


def _name(file: Path) -> str:
    """The file's own name; before it that of its folder, where that tells the suite, the arms, or lm-eval's model."""
    folder = file.resolve().parent.name
    return f"{folder}.{file.stem}" if folder in (*SUITES, "arms") or file.stem.startswith("results_") else file.stem


def write_logs(file: Path, path: Path, tools: Toolset, sets: Sequence[TaskSet],
               cases: Sequence[str] = ()) -> list[Path]:
    """Write the runs of a file, the first to `path`, others beside it. cases: files of bench cases of one's own.

    Raise DataError for a broken file, UsageError if a log cannot be written.
    """
    from inspect_ai.log import write_eval_log

    written = []
    for number, source in enumerate(sources_of(file, tools, sets, cases)):
        place = path if number == 0 else path.with_name(f"{path.stem}.{number + 1}.eval")
        if place.exists():
            raise UsageError(f"{place} exists, and a log is never overwritten; delete it or name another folder")
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            write_eval_log(log_of(source), str(place))
        except OSError as error:
            raise UsageError(f"{place} cannot be written ({error.strerror or error})") from None
        written.append(place)
    return written


def sources_of(file: Path, tools: Toolset, sets: Sequence[TaskSet], cases: Sequence[str] = ()) -> Iterator[Source]:
    """The runs of a file, lm-eval's too. Raise DataError for a broken one."""
    value = read_json(file)
    if is_harness_output(value):
        for run, replies in replies_from_harness(value, file, tools):
            rows = [{"task_id": row.task_id, "category": row.category, "repeat": row.repeat, **row.score.to_json(),
                     "reply": reply.message, "finish_reason": reply.finish_reason}
                    for row, reply in zip(run.rows, replies, strict=False)]
            yield _source(run, rows, {}, {}, tools, sets, cases)
        return
    run = run_from_json(value, file, tools)
    rows = [{**raw, "category": row.category, "repeat": row.repeat}
            for raw, row in zip(value["rows"], run.rows, strict=True)]
    yield _source(run, rows, value.get("bodies") or {}, value, tools, sets, cases)


def _source(run: Run, rows: Sequence[Row], bodies: Mapping[str, str], told: Mapping[str, Any], tools: Toolset,
            sets: Sequence[TaskSet], cases: Sequence[str]) -> Source:
    name, known = MAIN if run.suite == MAIN_SUITE else run.suite, set_of(run, sets)
    if name not in SUITES:
        raise DataError(f"is a run of suite {run.suite}, which has no log here", run.path)
    suite, tasks = open_suite(name), known.tasks if known else run.tasks
    return Source(run, rows, tasks, *_setup(run, suite, tools_of(run, tools), tasks, cases), bodies,
                  {key: inner for key, inner in told.items() if key not in ("rows", "bodies")})


def _setup(run: Run, suite: Suite, tools: Toolset, tasks: Mapping[str, Task],
           cases: Sequence[str]) -> tuple[Setup | None, bool]:
    """The one whose prompt has the run's hash, else any; files of a user's own have a system text of their own."""
    if run.hashes.get("tools") != tools.fingerprint:
        return None, False
    found, own = None, {key: run.settings[key] for key in suite.OWN_FLAGS if key in run.settings}
    for path in (None, *cases):
        try:
            offering = offering_of(run.settings, tools) or suite.offering(tuple(tasks.values()), tools)
            found = Setup.of(run.mode, tools, Sampling(1), offering, suite.scene(path, tools, own))
            if run.hashes.get("prompt") in (None, suite.prompt_hash(found)):
                return found, True
        except BenchError:
            continue
    return found, False


# --- a log ------------------------------------------------------------------------------------------------------------

def log_of(source: Source) -> EvalLog:
    """The whole log. A run that stored no times has been made when its file was."""
    from inspect_ai.log import EvalLog, EvalStats

    began, ended = (str(source.told.get(key) or "") for key in ("started", "finished"))
    made = began or datetime.fromtimestamp(int(Path(source.run.path).stat().st_mtime), timezone.utc).isoformat()
    clock = datetime.fromisoformat(made.replace("Z", "+00:00"))
    samples = [_sample(source, row, clock) for row in source.rows]
    return EvalLog(version=2, status="cancelled" if source.told.get("stopped") else "success",
                   eval=_spec(source, made), results=_results(source, samples), samples=samples,
                   stats=EvalStats(started_at=began, completed_at=ended, model_usage=_summed(samples)))


def model_name(run: Run) -> str:
    """As inspect names models: who is asked, then for what."""
    return f"{run.backend}/{run.model}"


def _spec(source: Source, created: str) -> EvalSpec:
    from inspect_ai.log import EvalConfig, EvalDataset, EvalSpec
    from inspect_ai.model import GenerateConfig

    from infranode_eval.inspection.verdicts import harmless

    run, settings = source.run, source.run.settings
    ids = list(dict.fromkeys(row["task_id"] for row in source.rows))
    mark = _mark(run.path, run.hashes, created)
    suite = _suite_name(run)
    about = {"results_file": Path(run.path).name, "harness": run.harness, "suite": suite, "set": run.set_name,
             "mode": run.mode, "setup": run.setup, "complete": run.complete, "stopped": source.told.get("stopped"),
             "hashes": dict(run.hashes), "settings": dict(settings), "world": dict(run.world), "notes": list(run.notes)}
    return EvalSpec(
        eval_id=mark, run_id=mark, task_id=mark, created=created, task=f"infranode_{suite}",
        task_version=run.scorer_version, tags=[Path(run.path).stem],
        task_args={"set": run.set_name, "mode": run.mode, **({"arm": run.arm} if run.arm else {})},
        dataset=EvalDataset(name=f"{suite} {run.set_name or ''}".strip(), samples=len(ids), sample_ids=ids),
        model=model_name(run), model_base_url=settings.get("base_url"),
        model_generate_config=GenerateConfig(temperature=settings.get("temperature"),
                                             max_tokens=settings.get("max_tokens"), seed=settings.get("seed")),
        config=EvalConfig(epochs=max((row["repeat"] for row in source.rows), default=1)),
        packages={"inspect_ai": version("inspect_ai"),
                  "infranode-tool-eval": str(source.told.get("version") or package_version())},
        metadata=harmless({key: value for key, value in about.items() if value not in (None, {}, [])}))


def _suite_name(run: Run) -> str:
    return MAIN if run.suite == MAIN_SUITE else run.suite


def _results(source: Source, samples: Sequence[EvalSample]) -> EvalResults:
    """The verdict's mean and its error over the tasks, and the numbers of the file: those of the suite."""
    from inspect_ai.log import EvalMetric, EvalResults, EvalScore

    name = _number(source)
    values: dict[str, list[float]] = {}
    for sample in samples:
        values.setdefault(str(sample.id), []).append(float(sample.scores[name].value))
    means = [fmean(repeats) for repeats in values.values()]
    spread = {"mean": fmean(means) if means else 0.0,
              "stderr": sqrt(variance(means) / len(means)) if len(means) > 1 else 0.0}
    numbers = {key: value for key, value in source.run.metrics.items() if value is not None}
    numbers["failed"] = source.run.failed
    scores = [EvalScore(name=name, scorer=name, reducer=reducer, scored_samples=len(samples), unscored_samples=0,
                        metrics={key: EvalMetric(name=key, value=value) for key, value in metrics.items()})
              for reducer, metrics in (("mean", spread), (None, numbers))]
    return EvalResults(total_samples=len(samples), completed_samples=len(samples) - source.run.failed, scores=scores)


def _number(source: Source) -> str:
    from infranode_eval.inspection.verdicts import number_of

    return number_of(source.rows[0]) if source.rows else "call_match"


def _summed(samples: Sequence[EvalSample]) -> dict[str, ModelUsage]:
    total: dict[str, ModelUsage] = {}
    for sample in samples:
        for model, usage in sample.model_usage.items():
            total[model] = total[model] + usage if model in total else usage
    return total


# --- a sample ---------------------------------------------------------------------------------------------------------

def _sample(source: Source, row: Row, began: datetime) -> EvalSample:
    from inspect_ai.log import EvalError, EvalSample, condense_sample

    from infranode_eval.inspection.conversations import conversation_of
    from infranode_eval.inspection.events import events_of, output_of, verdict_event
    from infranode_eval.inspection.messages import tool_infos, usage_of
    from infranode_eval.inspection.verdicts import facts_of, harmless, number_of, score_of, target_of

    run, task, setup = source.run, source.tasks.get(row["task_id"]), source.setup
    usage, model, seconds, score = usage_of(row.get("usage")), model_name(run), row.get("latency_s"), score_of(row)
    told = conversation_of(row, task, setup, source.as_asked, source.bodies)
    target = harmless(target_of(task)) if task else ""
    offered = tool_infos(setup.for_task(task.task_id, task.question).tools_json) \
        if task and setup and run.mode == "native" else []
    why = f"{row['outcome']}: {message_in(row.get('error') or '') or row.get('why') or ''}"
    shown = dict.fromkeys(("message", "traceback", "traceback_ansi"), harmless(why))     # a viewer shows the last
    error = EvalError(**shown) if row["outcome"] in FAILURES else None
    mark = _mark(run.path, row["task_id"], row["repeat"])
    events = [*events_of(told, row, model, offered, began, mark),
              *verdict_event(score, target, error, began, seconds, mark)]
    return condense_sample(EvalSample(
        id=row["task_id"], epoch=row["repeat"], input=harmless(task.question) if task else UNKNOWN, target=target,
        messages=told, events=events, uuid=mark, total_time=seconds, working_time=seconds, error=error,
        output=output_of(told[-1] if told and told[-1].role == "assistant" else None, model, row),
        scores={number_of(row): score}, model_usage={model: usage} if usage else {},
        metadata=harmless(facts_of(task)) if task else {"category": row["category"]}))


def _mark(*parts: Any) -> str:
    """An id that does not change."""
    return sha256(" ".join(map(str, parts)).encode("utf-8", "surrogatepass")).hexdigest()[:22]
