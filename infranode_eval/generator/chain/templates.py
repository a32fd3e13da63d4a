"""Template files: data/chain/templates/<category>.json, read and checked.

A file is {"category": …, "templates": [{…}, …]}. Every fault in one is a DataError that names the file, the template
and the field.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from infranode_eval.chain.tasks import CATEGORIES
from infranode_eval.generator.chain import coherence
from infranode_eval.generator.chain.fields import read_template, short
from infranode_eval.generator.chain.template import Template
from infranode_eval.shipped import DATA
from lm_eval_task.errors import DataError

FOLDER = DATA / "chain" / "templates"


def read_templates(paths: Iterable[Path] | None = None) -> tuple[Template, ...]:
    """The templates of the files (the shipped ones without paths), by category and in the order of the file.

    Raise DataError with file, template and field for anything wrong, and for a name that occurs twice.
    """
    found: dict[str, Template] = {}
    for path in sorted(FOLDER.glob("*.json")) if paths is None else paths:
        for template in _read_file(Path(path)):
            other = found.setdefault(template.name, template)
            if other is not template:
                raise template.problem("template", f"the name stands already in {other.path}; choose another")
    if not found:
        raise DataError("holds no template; expected one file a category", FOLDER)
    return tuple(sorted(found.values(), key=lambda template: CATEGORIES.index(template.category)))


def _read_file(path: Path) -> Iterable[Template]:
    try:
        content = json.loads(path.read_text("utf-8"), object_pairs_hook=_no_doubles)
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror or error}); check the path", path) from None
    except json.JSONDecodeError as error:
        raise DataError(f"is not JSON ({error.msg} in column {error.colno})", path, error.lineno) from None
    except ValueError as error:
        raise DataError(f"is not usable ({error})", path) from None
    if not isinstance(content, dict) or not isinstance(content.get("templates"), list):
        raise DataError('expected {"category": "…", "templates": [{…}, …]}', path)
    category = content.get("category")
    if category not in CATEGORIES:
        raise DataError(f"category: must be one of {', '.join(CATEGORIES)}, found {short(category)}", path)
    for number, row in enumerate(content["templates"], 1):
        template = read_template(row, category, path, number)
        coherence.check(template)
        yield template


def _no_doubles(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    names = [name for name, _ in pairs]
    if len(set(names)) != len(names):
        raise ValueError(f"the key {next(name for name in names if names.count(name) > 1)!r} stands twice in an object")
    return dict(pairs)
