"""Output of lm-evaluation-harness (results_*.json, samples_*.jsonl) as `Run` records.

What its files look like: specification, lm_eval. Verdicts are the stored ones; outcomes and reasons, which lm-eval does
not keep, come from scoring the stored reply again, and are left unknown where that verdict differs from the stored one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from infranode_eval.reports.archive import Row, Run, is_number, text_or_none
from infranode_eval.reports.harness_suites import PLAYED, Played, details_of
from infranode_eval.serving import was_recovered
from infranode_eval.suites import Setup
from lm_eval_task.errors import DataError
from lm_eval_task.metrics import POLICIES, SCORER_VERSION, mean
from lm_eval_task.records import MATCHES, Call, Reply, Score, Task, read_json_lines, tasks_fingerprint
from lm_eval_task.tools import Toolset


def runs_from_harness(value: Mapping[str, Any], path: str | Path, tools: Toolset) -> list[Run]:
    """The runs in one results file: one per task, the sub-tasks of a group as one run.

    tools: the tools to score stored replies of the main suite with; the bench has its own. Raise DataError if the file
    holds no task of this benchmark, or if a samples file is broken.
    """
    return [_run(value, Path(path), unit, tools) for unit in _units(value, path)]


def replies_from_harness(value: Mapping[str, Any], path: str | Path, tools: Toolset) -> list[tuple[Run, list[Reply]]]:
    """The same runs, each with the replies of its rows; none where replies were not logged."""
    return [(_run(value, Path(path), unit, tools), [_reply(sample) for sample in _samples_of(Path(path), unit)])
            for unit in _units(value, path)]


def verdicts_from_harness(value: Mapping[str, Any], path: str | Path,
                          tools: Toolset) -> list[tuple[Run, list[tuple[Score, Score]]]]:
    """The same runs, each with (verdict that lm-eval stored, verdict of this scorer on the same reply) of its rows.

    What lm-eval stored is this scorer's verdict where the sample would hold the same. Raise DataError also if replies
    were not logged or were not asked for with these tools.
    """
    found = []
    for unit in _units(value, path):
        run = _run(value, Path(path), unit, tools)
        if not run.rows:
            raise DataError("holds numbers only; replies are there after lm_eval --log_samples", path)
        if run.hashes["tools"] is None:
            hint = "give its tools with --tools" if unit.played.takes_tools else f"{unit.name} has them of its own"
            raise DataError(f"was asked with other tools or another prompt; {hint}", path)
        judged = _judged(_samples_of(Path(path), unit), unit.played, tools)
        strange = next((one for one in judged.verdicts if one.now is None), None)
        if strange is not None:
            raise DataError(f"sample {strange.task_id} holds no task that fits these tools", path)
        found.append((run, [(one.shown, one.now) for one in judged.verdicts]))
    return found


class _Unit(NamedTuple):
    """A task or group by name, with the tasks in it and the suite that they belong to."""

    name: str
    leaves: Sequence[str]
    played: Played


def _units(value: Mapping[str, Any], path: str | Path) -> list[_Unit]:
    units = [unit for played in PLAYED for unit in _units_of(value, played)]
    if not units:
        raise DataError("is lm-eval output without a task whose name starts with "
                        f"{' or '.join(played.prefix for played in PLAYED)}", path)
    return units


def _units_of(value: Mapping[str, Any], played: Played) -> Iterator[_Unit]:
    """Groups, then the tasks that are in none."""
    ours = [name for name in value["results"] if name.startswith(played.prefix)
            and _metrics(_object(value["results"], name)).get("call_match") is not None]
    children = {group: [n for n in inner if isinstance(n, str)]
                for group, inner in _object(value, "group_subtasks").items() if inner and isinstance(inner, list)}
    members = {group: [n for n in _leaves(group, children) if n in ours] for group in children} \
        if played.grouped else {}
    yield from (_Unit(name, names, played) for name, names in members.items() if names)
    grouped = {name for names in members.values() for name in names}
    yield from (_Unit(name, [name], played) for name in ours if name not in grouped and name not in children)


def _object(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """The object under a key; empty if something else stands there, since a foreign file may hold anything."""
    inner = value.get(key)
    return inner if isinstance(inner, dict) else {}


def _leaves(name: str, children: Mapping[str, Sequence[str]]) -> list[str]:
    """The tasks below a group, each once, whatever groups lie between and however they point at each other."""
    leaves: dict[str, None] = {}
    waiting, seen = [name], set()
    while waiting:
        at = waiting.pop(0)
        if at in seen:
            continue
        seen.add(at)
        if at in children:
            waiting += children[at]
        else:
            leaves[at] = None
    return list(leaves)


_MOST = {"schritte_je_auftrag": 1e9}     # a number of calls; all others are shares


def _metrics(entry: Mapping[str, Any]) -> dict[str, float | None]:
    """{"call_match,none": 1.0, …} by bare name; NaN and "N/A" become None."""
    found: dict[str, float | None] = {}
    for key, number in entry.items():
        name, comma, _ = key.partition(",")
        if comma and not name.endswith("_stderr"):
            found.setdefault(name, float(number) if is_number(number) and 0 <= number <= _MOST.get(name, 1)
                             else None)
    return found


def _run(value: Mapping[str, Any], path: Path, unit: _Unit, tools: Toolset) -> Run:
    name, leaves, played = unit
    config = _object(_object(value, "configs"), leaves[0])
    samples = _samples_of(path, unit)
    tasks, setup, verdicts = _judged(samples, played, tools)
    counts = [_object(_object(value, "n-samples"), leaf) for leaf in leaves]
    task_count = sum(_count(c, "original") for c in counts) or None
    whole = bool(tasks) and len(tasks) == task_count
    ours = bool(samples) and _is_our_prompt(samples[0], setup)
    version, notes = _told(verdicts, _version(config))
    metrics = _stored(value, unit, counts)
    return Run(
        path=str(path), harness="lm-eval chat" if value.get("chat_template") else "lm-eval", suite=played.name,
        model=_model(value), backend=str(_object(value, "config").get("model") or "lm-eval"), mode="prompt",
        setup=_setup(config, value, played), complete=True, scorer_version=version,
        hashes={"tasks": tasks_fingerprint(tasks.values()) if whole else None,
                "tools": setup.tools.fingerprint if ours else None,
                "prompt": played.suite.prompt_hash(setup) if ours else None},
        settings={"task": name, **_object(config, "generation_kwargs")},
        n=len(verdicts) or sum(_count(c, "effective") for c in counts),
        failed=sum(one.shown.failed for one in verdicts), metrics=metrics, answered=_answered(verdicts, tasks, played),
        rows=tuple([_row(one, setup, tools) for one in verdicts]), tasks=tasks, task_count=task_count, notes=notes,
        set_name=text_or_none(_object(config, "metadata").get("set")),
        headline=tuple(played.suite.headline(metrics, False) or ()))


def _count(counts: Mapping[str, Any], key: str) -> int:
    number = counts.get(key)
    return int(number) if is_number(number) and number > 0 else 0


def _model(value: Mapping[str, Any]) -> str:
    """What a person would call it: the model argument, a folder by its last part, a GGUF file by its name."""
    config = _object(value, "config")
    arguments = config.get("model_args")
    if isinstance(arguments, str):
        arguments = dict(a.partition("=")[::2] for a in arguments.split(","))
    else:
        arguments = _object(config, "model_args")
    name = str(arguments.get("pretrained") or arguments.get("model") or value.get("model_name") or "?")
    gguf = arguments.get("gguf_file")
    if gguf:
        return str(gguf)
    return Path(name).name if name.startswith((".", "/", "~")) else name


def _setup(config: Mapping[str, Any], value: Mapping[str, Any], played: Played) -> str:
    """The usual one is what the task ships with; other lengths, sampling, shots, a system instruction are custom."""
    sampling = _object(config, "generation_kwargs")
    plain = sampling.get("max_gen_toks") == played.suite.MAX_TOKENS and not sampling.get("temperature") \
        and not sampling.get("do_sample")
    return played.usual if plain and not config.get("num_fewshot") and not value.get("system_instruction") else "custom"


def _version(config: Mapping[str, Any]) -> str:
    metadata = _object(config, "metadata")
    return str(metadata.get("scorer_version") or metadata.get("version") or "?")


# --- samples ----------------------------------------------------------------------------------------------------------

def _samples_of(path: Path, unit: _Unit) -> list[Mapping[str, Any]]:
    return [sample for leaf in unit.leaves for sample in _samples(path, leaf)]


def _samples(path: Path, leaf: str) -> list[Mapping[str, Any]]:
    """The samples of one task, of the first filter; [] if none were logged."""
    stamp = path.name.removeprefix("results_").removesuffix(".json")
    file = path.with_name(f"samples_{leaf}_{stamp}.jsonl")
    if not file.is_file():
        return []
    found = []
    for number, sample in read_json_lines(file):
        if not isinstance(sample, dict) or not isinstance(sample.get("doc"), dict) or "task_id" not in sample["doc"]:
            raise DataError('a sample must hold a "doc" with a "task_id"', file, number)
        if not found or sample.get("filter") == found[0].get("filter"):
            found.append(sample)
    return found


class _Verdict(NamedTuple):
    """One sample judged. shown: what stands in the report; now: by this scorer, None where that cannot be found out."""

    task_id: str
    category: str
    reply: Reply
    shown: Score
    now: Score | None


class _Judged(NamedTuple):
    """The samples of one run: the tasks by id, as far as documents hold them, and a verdict for each sample."""

    tasks: dict[str, Task]
    setup: Setup
    verdicts: list[_Verdict]


def _judged(samples: Sequence[Mapping[str, Any]], played: Played, at_hand: Toolset) -> _Judged:
    tools = played.tools(at_hand)
    found = [_task(sample["doc"], played, tools) for sample in samples]
    tasks = {task.task_id: task for task in found if task is not None}
    setup = played.setup(tools, tasks.values())
    return _Judged(tasks, setup, [_verdict(sample, task, played, setup)
                                  for sample, task in zip(samples, found, strict=True)])


def _verdict(sample: Mapping[str, Any], task: Task | None, played: Played, setup: Setup) -> _Verdict:
    """The stored verdict with the outcome and reason that explain it, where the scorer still agrees with it."""
    doc, reply, shown, now = sample["doc"], _reply(sample), None, None
    if task is not None and _offered(task, setup.tools):
        now = played.verdict(task, reply, setup)
        shown = now if played.agrees(sample, task, now) else None
    return _Verdict(str(doc["task_id"]), str(doc.get("category") or ""), reply, shown or played.stored(sample), now)


def _told(verdicts: Sequence[_Verdict], version: str) -> tuple[str, tuple[str, ...]]:
    """(whose verdicts they are by now, what must be said about them)."""
    if not verdicts:
        return version, ("lm-eval without --log_samples: numbers only, no categories, outcomes or intervals by row",)
    differing = sum(one.shown is not one.now for one in verdicts)
    if differing:
        return version, (f"{differing} of {len(verdicts)} stored verdicts differ from scorer {SCORER_VERSION} or "
                         "cannot be checked: their outcomes are unknown",)
    if version != SCORER_VERSION:
        return SCORER_VERSION, (f"stored by scorer {version}; scorer {SCORER_VERSION} judged every reply again, to the "
                                "same verdicts",)
    return version, ()


def _row(verdict: _Verdict, setup: Setup, at_hand: Toolset) -> Row:
    """at_hand: the tools to read a reply once more with, where they are those of the run."""
    known = at_hand if at_hand.fingerprint == setup.tools.fingerprint else None
    score = verdict.shown
    return Row(verdict.task_id, verdict.category, 1, replace(score, details={}) if score.details else score,
               recovered=was_recovered(score, verdict.reply, "prompt", known), details=details_of(score))


def _task(doc: Mapping[str, Any], played: Played, tools: Toolset) -> Task | None:
    try:
        return played.checked(Task.from_json(json.loads(doc["row"])), tools)
    except (KeyError, TypeError, ValueError, DataError):
        return None


def _offered(task: Task, tools: Toolset) -> bool:
    return all(c.name in tools for alternative in task.alternatives for c in alternative)


def _reply(sample: Mapping[str, Any]) -> Reply:
    """The text that lm-eval scored: the filtered response. It keeps no finish reason."""
    text: Any = sample.get("filtered_resps") or sample.get("resps") or ""
    while isinstance(text, list):
        text = text[0] if text else ""
    return Reply.from_text(text if isinstance(text, str) else "", finish_reason=None)


def _is_our_prompt(sample: Mapping[str, Any], setup: Setup) -> bool:
    """Did the model get this project's tools and prompt, whatever a chat template put around them?"""
    arguments = _object(_object(sample, "arguments"), "gen_args_0")
    doc, sent = sample["doc"], arguments.get("arg_0")
    question = str(doc.get("question"))
    expected = setup.for_task(str(doc["task_id"]), question).messages(question)[0]["content"]
    if isinstance(sent, list):
        sent = sent[0] if len(sent) == 1 else json.dumps(sent)
    if not isinstance(sent, str):
        return False
    return expected in sent or json.dumps(expected)[1:-1] in sent \
        or json.dumps(expected, ensure_ascii=False)[1:-1] in sent


# --- numbers ----------------------------------------------------------------------------------------------------------

def _answered(verdicts: Sequence[_Verdict], tasks: Mapping[str, Task], played: Played) -> dict[str, float | None]:
    pairs = [(_task_of(one, tasks), one.shown) for one in verdicts if not one.shown.failed]
    return played.suite.aggregate(pairs) if verdicts else {}


def _task_of(verdict: _Verdict, tasks: Mapping[str, Task]) -> Task:
    """The task under the document's category; one that is not known is as long as its stored verdict says."""
    task = tasks.get(verdict.task_id) or Task(verdict.task_id, "", (Call("?"),) * verdict.shown.details.get("steps", 0))
    return replace(task, category=verdict.category)


def _stored(value: Mapping[str, Any], unit: _Unit, counts: Sequence[Mapping[str, int]]) -> dict[str, float | None]:
    """lm-eval's own numbers; those of several sub-tasks weighted by their size, ability unweighted by category."""
    leaves = unit.leaves
    parts = [(_metrics(_object(value["results"], leaf)), _count(count, "effective"))
             for leaf, count in zip(leaves, counts, strict=True)]
    if len(parts) == 1:
        return parts[0][0]
    total = sum(n for _, n in parts)
    merged: dict[str, float | None] = {
        name: sum((metrics.get(name) or 0.0) * n for metrics, n in parts) / total if total else None
        for name in (*MATCHES, "tool_choice") if any(name in metrics for metrics, _ in parts)}
    categories = {_category(value, leaf, unit.played): metrics.get("call_match")
                  for leaf, (metrics, _) in zip(leaves, parts, strict=True)}
    merged["ability"] = mean(v for c, v in categories.items() if c not in POLICIES and v is not None)
    return merged | {f"call_match_{category}": v for category, v in categories.items()}


def _category(value: Mapping[str, Any], leaf: str, played: Played) -> str:
    metadata = _object(_object(_object(value, "configs"), leaf), "metadata")
    return str(metadata.get("category") or leaf.removeprefix(played.prefix + "_"))
