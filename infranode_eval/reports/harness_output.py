"""Output of lm-evaluation-harness (results_*.json, samples_*.jsonl) as `Run` records.

What its files look like: specification, lm_eval. Verdicts are the stored ones; outcomes and reasons, which lm-eval does
not keep, come from scoring the stored reply again, and are left unknown where that verdict differs from the stored one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from infranode_eval.reports.archive import MAIN_SUITE, UNKNOWN, Row, Run, is_number, text_or_none
from infranode_eval.serving import was_recovered
from lm_eval_task.errors import DataError
from lm_eval_task.metrics import POLICIES, SCORER_VERSION, aggregate, mean, score_reply
from lm_eval_task.prompt import prompt_fingerprint, prompt_text
from lm_eval_task.records import MATCHES, Reply, Score, Task, read_json_lines, tasks_fingerprint
from lm_eval_task.tools import Toolset


def runs_from_harness(value: Mapping[str, Any], path: str | Path, tools: Toolset) -> list[Run]:
    """The runs in one results file: one per task, the sub-tasks of a group as one run.

    tools: the tools to score stored replies with. Raise DataError if the file holds no task of this benchmark, or if a
    samples file is broken.
    """
    return [_run(value, Path(path), name, names, tools) for name, names in _units(value, path).items()]


def replies_from_harness(value: Mapping[str, Any], path: str | Path, tools: Toolset) -> list[tuple[Run, list[Reply]]]:
    """The same runs, each with the replies of its rows; none where replies were not logged."""
    return [(_run(value, Path(path), name, names, tools),
             [_reply(sample) for leaf in names for sample in _samples(Path(path), leaf)])
            for name, names in _units(value, path).items()]


def verdicts_from_harness(value: Mapping[str, Any], path: str | Path,
                          tools: Toolset) -> list[tuple[Run, list[tuple[Score, Score]]]]:
    """The same runs, each with (verdict that lm-eval stored, verdict of this scorer on the same reply) of its rows.

    Raise DataError also if replies were not logged or were not asked for with these tools.
    """
    found = []
    for name, names in _units(value, path).items():
        run = _run(value, Path(path), name, names, tools)
        if not run.rows:
            raise DataError("holds numbers only; replies are there after lm_eval --log_samples", path)
        if run.hashes["tools"] is None:
            raise DataError("was asked with other tools or another prompt; give its tools with --tools", path)
        pairs = []
        for sample in (s for leaf in names for s in _samples(Path(path), leaf)):
            task = _task(sample["doc"])
            if task is None or not _offered(task, tools):
                raise DataError(f"sample {sample['doc']['task_id']} holds no task that fits these tools", path)
            stored = Score(UNKNOWN, why="stored by lm-eval without an outcome", **_matches(sample))
            pairs.append((stored, score_reply(task, _reply(sample), tools, "prompt")))
        found.append((run, pairs))
    return found


def _units(value: Mapping[str, Any], path: str | Path) -> dict[str, list[str]]:
    """Task or group by name, with the tasks in it."""
    ours = [name for name in value["results"] if name.startswith(MAIN_SUITE)
            and _metrics(_object(value["results"], name)).get("call_match") is not None]
    children = {group: [n for n in inner if isinstance(n, str)]
                for group, inner in _object(value, "group_subtasks").items() if inner and isinstance(inner, list)}
    members = {group: [n for n in _leaves(group, children) if n in ours] for group in children}
    grouped = {name for names in members.values() for name in names}
    units = {name: names for name, names in members.items() if names}
    units |= {name: [name] for name in ours if name not in grouped and name not in members}
    if not units:
        raise DataError(f"is lm-eval output without a task whose name starts with {MAIN_SUITE}", path)
    return units


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


def _metrics(entry: Mapping[str, Any]) -> dict[str, float | None]:
    """{"call_match,none": 1.0, …} by bare name; NaN and "N/A" become None."""
    found: dict[str, float | None] = {}
    for key, number in entry.items():
        name, comma, _ = key.partition(",")
        if comma and not name.endswith("_stderr"):
            found.setdefault(name, float(number) if is_number(number) and 0 <= number <= 1 else None)
    return found


def _run(value: Mapping[str, Any], path: Path, name: str, leaves: Sequence[str], tools: Toolset) -> Run:
    config = _object(_object(value, "configs"), leaves[0])
    samples = [s for leaf in leaves for s in _samples(path, leaf)]
    rows, tasks, notes = _rows(samples, tools)
    counts = [_object(_object(value, "n-samples"), leaf) for leaf in leaves]
    task_count = sum(_count(c, "original") for c in counts) or None
    whole = bool(tasks) and len(tasks) == task_count
    n = len(rows) or sum(_count(c, "effective") for c in counts)
    ours = bool(samples) and _is_our_prompt(samples[0], tools)
    version = _version(config)
    if version != SCORER_VERSION and rows and not any(row.score.outcome == UNKNOWN for row in rows):
        notes = (*notes, f"stored by scorer {version}; scorer {SCORER_VERSION} judged every reply again, to the same "
                         "verdicts")
        version = SCORER_VERSION
    if not samples:
        notes = (*notes, "lm-eval without --log_samples: numbers only, no categories, outcomes or intervals by row")
    return Run(
        path=str(path), harness="lm-eval chat" if value.get("chat_template") else "lm-eval", suite=MAIN_SUITE,
        model=_model(value), backend=str(_object(value, "config").get("model") or "lm-eval"), mode="prompt",
        setup=_setup(config, value), complete=True, scorer_version=version,
        hashes={"tasks": tasks_fingerprint(tasks.values()) if whole else None,
                "tools": tools.fingerprint if ours else None,
                "prompt": prompt_fingerprint("prompt", tools) if ours else None},
        settings={"task": name, **_object(config, "generation_kwargs")}, n=n,
        failed=sum(row.score.failed for row in rows),
        metrics=_stored(value, leaves, counts), answered=_answered(rows), rows=rows, tasks=tasks,
        task_count=task_count, notes=notes, set_name=text_or_none(_object(config, "metadata").get("set")))


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


def _setup(config: Mapping[str, Any], value: Mapping[str, Any]) -> str:
    """S is what the task ships with; other lengths, sampling, shots or a system instruction are custom."""
    sampling = _object(config, "generation_kwargs")
    plain = sampling.get("max_gen_toks") == 160 and not sampling.get("temperature") and not sampling.get("do_sample")
    return "S" if plain and not config.get("num_fewshot") and not value.get("system_instruction") else "custom"


def _version(config: Mapping[str, Any]) -> str:
    metadata = _object(config, "metadata")
    return str(metadata.get("scorer_version") or metadata.get("version") or "?")


# --- samples ----------------------------------------------------------------------------------------------------------

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


def _rows(samples: Sequence[Mapping[str, Any]], tools: Toolset) -> tuple[tuple[Row, ...], dict[str, Task],
                                                                         tuple[str, ...]]:
    rows: list[Row] = []
    tasks: dict[str, Task] = {}
    differing = 0
    for sample in samples:
        doc = sample["doc"]
        task = _task(doc)
        score = _verdict(task, sample, _matches(sample), tools)
        differing += score.outcome == UNKNOWN
        if task is not None:
            tasks[task.task_id] = task
        rows.append(Row(str(doc["task_id"]), str(doc.get("category") or ""), 1, score,
                        recovered=was_recovered(score, _reply(sample), "prompt", tools)))
    notes = (f"{differing} of {len(rows)} stored verdicts differ from scorer {SCORER_VERSION} or cannot be checked: "
             "their outcomes are unknown",) if differing else ()
    return tuple(rows), tasks, notes


def _task(doc: Mapping[str, Any]) -> Task | None:
    try:
        return Task.from_json(json.loads(doc["row"]))
    except (KeyError, TypeError, ValueError, DataError):
        return None


def _verdict(task: Task | None, sample: Mapping[str, Any], stored: Mapping[str, bool], tools: Toolset) -> Score:
    """The stored verdict with the outcome and reason that explain it, where the scorer still agrees with it."""
    if task is not None and _offered(task, tools):
        score = score_reply(task, _reply(sample), tools, "prompt")
        if all(bool(getattr(score, name)) == match for name, match in stored.items()):
            return score
    return Score(UNKNOWN, why="stored by lm-eval without an outcome", **stored)


def _matches(sample: Mapping[str, Any]) -> dict[str, bool]:
    """datum_match of a sample scored before 1.1 is the least that it can be."""
    return {name: bool(sample.get(name, sample.get("request_match") if name == "datum_match" else None))
            for name in MATCHES}


def _offered(task: Task, tools: Toolset) -> bool:
    return all(c.name in tools for alternative in task.alternatives for c in alternative)


def _reply(sample: Mapping[str, Any]) -> Reply:
    """The text that lm-eval scored: the filtered response. It keeps no finish reason."""
    text: Any = sample.get("filtered_resps") or sample.get("resps") or ""
    while isinstance(text, list):
        text = text[0] if text else ""
    return Reply.from_text(text if isinstance(text, str) else "", finish_reason=None)


def _is_our_prompt(sample: Mapping[str, Any], tools: Toolset) -> bool:
    """Did the model get this project's tools and prompt, whatever a chat template put around them?"""
    arguments = _object(_object(sample, "arguments"), "gen_args_0")
    sent, expected = arguments.get("arg_0"), prompt_text(tools, str(sample["doc"].get("question")))
    if isinstance(sent, list):
        sent = sent[0] if len(sent) == 1 else json.dumps(sent)
    if not isinstance(sent, str):
        return False
    return expected in sent or json.dumps(expected)[1:-1] in sent \
        or json.dumps(expected, ensure_ascii=False)[1:-1] in sent


# --- numbers ----------------------------------------------------------------------------------------------------------

def _answered(rows: Sequence[Row]) -> dict[str, float | None]:
    return aggregate([(r.category, r.score) for r in rows if not r.score.failed]) if rows else {}


def _stored(value: Mapping[str, Any], leaves: Sequence[str], counts: Sequence[Mapping[str, int]]
            ) -> dict[str, float | None]:
    """lm-eval's own numbers; those of several sub-tasks weighted by their size, ability unweighted by category."""
    parts = [(_metrics(_object(value["results"], leaf)), _count(count, "effective"))
             for leaf, count in zip(leaves, counts, strict=True)]
    if len(parts) == 1:
        return parts[0][0]
    total = sum(n for _, n in parts)
    merged: dict[str, float | None] = {
        name: sum((metrics.get(name) or 0.0) * n for metrics, n in parts) / total if total else None
        for name in (*MATCHES, "tool_choice") if any(name in metrics for metrics, _ in parts)}
    categories = {_category(value, leaf): metrics.get("call_match")
                  for leaf, (metrics, _) in zip(leaves, parts, strict=True)}
    merged["ability"] = mean(v for c, v in categories.items() if c not in POLICIES and v is not None)
    return merged | {f"call_match_{category}": v for category, v in categories.items()}


def _category(value: Mapping[str, Any], leaf: str) -> str:
    metadata = _object(_object(_object(value, "configs"), leaf), "metadata")
    return str(metadata.get("category") or leaf.removeprefix(MAIN_SUITE + "_"))
