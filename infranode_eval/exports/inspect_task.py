"""A task file for inspect_ai, with the rows and the tools that it reads beside it."""

from __future__ import annotations

import json

from infranode_eval.exports.material import Exported, Material, for_measuring
from infranode_eval.generator.output import lines_of
from infranode_eval.shipped import DATA

FILE = "infranode_tools_de.py"


def exported(material: Material) -> Exported:
    """The core set unless the order names another. Needs no optional package to be written."""
    material = for_measuring(material, "core")
    tools = json.dumps(material.tools.to_json(), ensure_ascii=False, indent=1) + "\n"
    files = {FILE: (DATA / "exports" / FILE).read_bytes(), "tasks.jsonl": lines_of(material.tasks).encode(),
             "tools.json": tools.encode()}
    return Exported(files, material)
