"""A Hugging Face dataset folder: parquet files by split, the tools, and a card that documents them.

One config holds the tasks (splits core, train, dev, test, robust, abstain; extended for rows without a split), another
the tools; beside the project's own tasks two more hold the test bench, in its two wordings, and the tools of that.
`datasets.load_dataset(FOLDER)` reads it from disk; `task_of` and `case_of` make a row a Task again.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from infranode_eval.exports.material import Exported, Material, for_measuring
from infranode_eval.exports.packages import load
from infranode_eval.shipped import DATA
from lm_eval_task.cases import read_cases
from lm_eval_task.records import Task
from lm_eval_task.tools import Tool

# Columns of the tasks, all strings but the margin and the count; JSON text where the shape differs from row to row.
TASK_COLUMNS: Mapping[str, tuple[str, str]] = {
    "task_id": ("string", "readable, and never changes"),
    "set": ("string", "core, extended, robust or abstain"),
    "split": ("string", "train, dev, test or null"),
    "category": ("string", "what is hard about the task"),
    "question": ("string", "what the model is asked, in German"),
    "expected": ("string", 'JSON: the right calls, a list of {"name", "arguments"}; "[]" means that no call is right'),
    "accept": ("string", 'JSON: further answers that are equally right, a list of lists of calls'),
    "expect": ("string", "where no call is right: ask (back) or refuse; else null"),
    "variant": ("string", "robust rows: how the question was changed; else null"),
    "base": ("string", "robust rows: task_id of the row that was changed; else null"),
    "difficulty": ("string", "easy, medium or hard, measured by retrieval; null where it was not measured"),
    "margin": ("float64", "by how much retrieval prefers the gold to the next choice; negative: it does not"),
    "neighbours": ("int64", "how many other choices look similar"),
    "extra": ("string", "JSON: every other key of the row (phrasing, pair, then, datum, verified, …)"),
}
TOOL_COLUMNS: Mapping[str, tuple[str, str]] = {
    "name": ("string", "what a call names"),
    "description": ("string", "what the model reads, in German"),
    "parameters": ("string", "JSON: the JSON Schema of the arguments"),
}
CASE_COLUMNS: Mapping[str, tuple[str, str]] = {
    "task_id": ("string", "readable, and never changes"),
    "category": ("string", "S1 pick a tool, S2 one call, S3 several, S4 nothing fits, S5 a value is missing"),
    "question": ("string", "what the model is asked, in German"),
    "expected": ("string", "JSON: the right calls, a list; [] means that no call is right"),
    "extra": ("string", "JSON: nur, oder, reihenfolge, menge, fehlt, prueft, fallen, as far as the case has them"),
}
ORDER = ("core", "train", "dev", "test", "extended", "robust", "abstain")
WORDINGS = ("original", "paraphrase")
_OWN = ("variant", "base")       # extra keys that have a column of their own


def exported(material: Material) -> Exported:
    """Parquet files and the card. Raise UsageError without the package `datasets`."""
    material = for_measuring(material)
    parts = by_split(material)
    files = {f"data/{name}.parquet": parquet([row_of(task, material) for task in tasks], TASK_COLUMNS)
             for name, tasks in parts.items()}
    files["tools/tools.parquet"] = parquet([tool_row(tool) for tool in material.tools.tools], TOOL_COLUMNS)
    bench = _bench(parts)
    files |= bench
    files["README.md"] = card(parts, material, bool(bench)).encode()
    files["LICENSE"] = _licence()
    counted = ", ".join(f"{name} {len(tasks)}" for name, tasks in parts.items())
    return Exported(files, material, (f"splits: {counted}",))


def _bench(parts: Mapping[str, Any]) -> dict[str, bytes]:
    """The cases of the test bench, a split for each wording, and their tools; none beside tasks of one's own."""
    if "core" not in parts:
        return {}
    found = {name: read_cases(which=name) for name in WORDINGS}
    files = {f"bench/{name}.parquet": parquet([case_row(case) for case in cases.tasks], CASE_COLUMNS)
             for name, cases in found.items()}
    tools = found["original"].tools.tools
    return {**files, "bench_tools/tools.parquet": parquet([tool_row(tool) for tool in tools], TOOL_COLUMNS)}


def case_row(case: Task) -> dict[str, Any]:
    """One row of the bench, a value for each of CASE_COLUMNS."""
    row = case.to_json()
    return {"task_id": case.task_id, "category": case.category, "question": case.question,
            "expected": _text(row["expected"]), "extra": _text(dict(case.extra))}


def case_of(row: Mapping[str, Any]) -> Task:
    """The case that a row was made of. Raise DataError for a row of another dataset."""
    own = {key: row[key] for key in ("task_id", "category", "question")}
    return Task.from_json({**own, "expected": json.loads(row["expected"]), **json.loads(row["extra"])})


def by_split(material: Material) -> dict[str, tuple[Task, ...]]:
    """The tasks by the split of the dataset that they stand in, in `ORDER`, empty ones left out."""
    found: dict[str, list[Task]] = {}
    for task in material.tasks:
        found.setdefault(split_name(task, material.split_of(task)), []).append(task)
    names = [*ORDER, *sorted(found.keys() - set(ORDER))]
    return {name: tuple(found[name]) for name in names if name in found}


def split_name(task: Task, split: str | None) -> str:
    """Sets that measure keep their name; the extended set is known by its splits."""
    if split is not None and task.set in (None, "extended"):
        return split
    return task.set or "tasks"


def row_of(task: Task, material: Material) -> dict[str, Any]:
    """One row of the dataset, a value for each of TASK_COLUMNS."""
    row = task.to_json()
    measured = material.meta.get("tasks", {}).get(task.task_id, {}).get("difficulty") or {}
    return {"task_id": task.task_id, "set": task.set, "split": material.split_of(task), "category": task.category,
            "question": task.question, "expected": _text(row["expected"]), "accept": _text(row.get("accept", [])),
            "expect": task.expect, **{key: task.extra.get(key) for key in _OWN},
            "difficulty": measured.get("bucket"), "margin": measured.get("margin"),
            "neighbours": measured.get("neighbours"),
            "extra": _text({key: value for key, value in task.extra.items() if key not in _OWN})}


def task_of(row: Mapping[str, Any]) -> Task:
    """The Task that a row was made of, equal to it field by field. Raise DataError for a row of another dataset."""
    own = {key: row[key] for key in ("task_id", "set", "category", "question", "expect", *_OWN)
           if row.get(key) is not None}
    calls = {key: json.loads(row[key]) for key in ("expected", "accept")}
    return Task.from_json({**own, **calls, **json.loads(row["extra"])})


def tool_row(tool: Tool) -> dict[str, str]:
    return {"name": tool.name, "description": tool.description, "parameters": _text(tool.parameters)}


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def parquet(rows: Sequence[Mapping[str, Any]], columns: Mapping[str, tuple[str, str]]) -> bytes:
    """The rows as one parquet file with the types of the columns."""
    datasets = load("datasets")
    datasets.disable_progress_bars()
    features = datasets.Features({name: datasets.Value(dtype) for name, (dtype, _) in columns.items()})
    file = io.BytesIO()
    made = {name: [row[name] for row in rows] for name in columns}
    datasets.Dataset.from_dict(made, features=features).to_parquet(file)
    return file.getvalue()


# --- the card ---------------------------------------------------------------------------------------------------------

def card(parts: Mapping[str, Sequence[Task]], material: Material, bench: bool = False) -> str:
    """README.md: the YAML header that the Hub and `load_dataset` read, then words for people."""
    text = (DATA / "exports" / "dataset_card.md").read_text("utf-8")
    sizes = "\n".join(f"| {name} | {len(tasks)} | {_PURPOSE.get(name, 'your own tasks')} |"
                      for name, tasks in parts.items())
    first = row_of(next(iter(parts.values()))[0], material)
    told = (DATA / "exports" / "bench_card.md").read_text("utf-8") if bench else ""
    return text.format(header=_header(parts, bench), bench=told.format(case_columns=_documented(CASE_COLUMNS)),
                       version=material.meta.get("version", "unknown"), sizes=sizes,
                       task_columns=_documented(TASK_COLUMNS), tool_columns=_documented(TOOL_COLUMNS),
                       example=json.dumps(first, ensure_ascii=False, indent=1))


_PURPOSE = {"core": "measure: the published number", "train": "learn", "dev": "choose between runs",
            "test": "measure what was trained on train", "extended": "see: no split takes rows that mix two",
            "robust": "measure: the same questions, written otherwise", "abstain": "measure: when to call nothing"}


def _documented(columns: Mapping[str, tuple[str, str]]) -> str:
    return "\n".join(f"| `{name}` | {dtype} | {meaning} |" for name, (dtype, meaning) in columns.items())


def _header(parts: Mapping[str, Sequence[Task]], bench: bool) -> str:
    total = sum(map(len, parts.values()))
    size = "n<1K" if total < 1000 else "1K<n<10K"
    lines = ["license: apache-2.0", "language:", "- de", "task_categories:", "- text-generation", "size_categories:",
             f"- {size}", "pretty_name: InfraNode tool calls, German", "tags:", "- tool-calling", "- function-calling",
             "- benchmark", "- german", "configs:", "- config_name: tasks", "  default: true", "  data_files:"]
    lines += [line for name in parts for line in (f"  - split: {name}", f"    path: data/{name}.parquet")]
    lines += ["- config_name: tools", "  data_files:", "  - split: tools", "    path: tools/tools.parquet"]
    if bench:
        lines += ["- config_name: bench", "  data_files:"]
        lines += [line for name in WORDINGS for line in (f"  - split: {name}", f"    path: bench/{name}.parquet")]
        lines += ["- config_name: bench_tools", "  data_files:", "  - split: tools",
                  "    path: bench_tools/tools.parquet"]
    lines += ["dataset_info:", *_info("tasks", TASK_COLUMNS), *_info("tools", TOOL_COLUMNS)]
    lines += [*_info("bench", CASE_COLUMNS), *_info("bench_tools", TOOL_COLUMNS)] if bench else []
    return "\n".join(lines)


def _info(name: str, columns: Mapping[str, tuple[str, str]]) -> Iterable[str]:
    yield from (f"- config_name: {name}", "  features:")
    for column, (dtype, _) in columns.items():
        yield from (f"  - name: {column}", f"    dtype: {dtype}")


def _licence() -> bytes:
    """Apache-2.0 in full, from the checkout or from the installed package's metadata."""
    beside = DATA.parent.parent / "LICENSE"
    if beside.is_file():
        return beside.read_bytes()
    from importlib.metadata import files  # late: only where there is no checkout

    found = next((path for path in files("infranode-tool-eval") or () if path.name == "LICENSE"), None)
    return found.read_binary() if found else b"Apache-2.0, see https://www.apache.org/licenses/LICENSE-2.0\n"
