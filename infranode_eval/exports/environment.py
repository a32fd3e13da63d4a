"""An installable environment package in the `verifiers` convention, with the rows it plays inside.

The package is data and one function; what a rollout does stands in `rollouts`, what it earns in `rewards`.
"""

from __future__ import annotations

import json

from infranode_eval.exports.material import LEARNABLE, Exported, Material, for_training
from infranode_eval.exports.rewards import WEIGHTS
from infranode_eval.generator.output import lines_of
from infranode_eval.results import package_version
from infranode_eval.shipped import DATA

NAME = "infranode-tools-de"
MODULE = "infranode_tools_de"
VERIFIERS = ">=0.3,<0.4"      # the last versions with `load_environment`; as in the extra `rl`


def exported(material: Material) -> Exported:
    """pyproject.toml, README.md and the module with its rows. Needs no optional package to be written."""
    material = for_training(material, LEARNABLE)
    judge = material.in_split("dev") if material.order.split in (None, "all") else ()
    learn = tuple(task for task in material.tasks if task not in judge)
    if not learn:
        learn, judge = judge, ()
    inside = {"__init__.py": (DATA / "exports" / "verifiers" / "__init__.py").read_bytes(),
              "tools.json": _json(material.tools.to_json()), "train.jsonl": lines_of(learn).encode()}
    if judge:
        inside["dev.jsonl"] = lines_of(judge).encode()
    files = {"pyproject.toml": _project().encode(), "README.md": _readme(len(learn), len(judge)).encode(),
             **{f"{MODULE}/{name}": content for name, content in inside.items()}}
    return Exported(files, material, (f"{len(learn)} rows to learn from, {len(judge)} to evaluate on",))


def _json(value: object) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=1) + "\n").encode()


def _project() -> str:
    return f'''[build-system]
requires = ["hatchling>=1.25,<2"]
build-backend = "hatchling.build"

[project]
name = "{NAME}"
version = "{package_version()}"
description = "German tool calling on an offline model of the InfraNode open-data API."
keywords = ["tool-use", "german", "single-turn", "multi-turn", "train", "eval"]
license = "Apache-2.0"
requires-python = ">=3.11"
dependencies = ["verifiers{VERIFIERS}", "infranode-tool-eval"]

[tool.hatch.build.targets.wheel]
packages = ["{MODULE}"]
'''


def _readme(learn: int, judge: int) -> str:
    weights = "\n".join(f"| {name} | {value:+g} |" for name, value in WEIGHTS.items())
    return f"""# {NAME}

German questions about 84 cities, to be answered with one call of twelve tools; {learn} rows to learn from, {judge} to
evaluate on. Install infranode-tool-eval first (from its checkout), then this folder:

    pip install CHECKOUT . && vf-eval {NAME} -a '{{"mode": "native", "turns": 1, "reward": "shaped"}}'

The reward judges the first reply, as the benchmark does, with the benchmark's own scorer. `exact` is 1 for a right
reply and 0 for any other. `shaped`:

| verdict | reward |
| --- | ---: |
{weights}

`nearly` is multiplied by the share of the arguments (or calls) that are right; `wrong` is a wrong tool, a call too
many, a call missing beside one that is wrong, or a call where none is right.
"""
