"""The datasheet: its numbers are those of the data, and stale ones fail."""

from __future__ import annotations

import json
import re

import pytest

from infranode_eval.generator.datasheet import BLOCKS, filled
from lm_eval_task.dataset import load_tasks
from lm_eval_task.errors import DataError
from lm_eval_task.tools import data_file, read_tools

TASKS = load_tasks(read_tools(), "all")
META = json.loads(data_file("tasks.meta.json").read_text("utf-8"))
SHEET = data_file("DATASET.md").read_text("utf-8")


def test_the_numbers_in_the_datasheet_are_current() -> None:
    assert filled(SHEET, TASKS, META) == SHEET, "run: python generate.py --datasheet"


def test_every_block_that_can_be_counted_stands_in_the_sheet_once() -> None:
    assert sorted(re.findall(r"<!-- numbers: (\w+) -->", SHEET)) == sorted(BLOCKS)


def test_a_changed_row_changes_the_sheet() -> None:
    assert filled(SHEET, TASKS[1:], META) != SHEET


def test_an_unknown_block_is_named() -> None:
    with pytest.raises(DataError, match="'colours'"):
        filled("<!-- numbers: colours -->\n<!-- /numbers -->", TASKS, META)


def test_the_counts_add_up() -> None:
    table = BLOCKS["sets"](TASKS, META)
    counted = {line.split("|")[1].strip(): int(line.split("|")[2]) for line in table.splitlines()[4:]}
    assert counted.pop("all") == sum(counted.values()) == len(TASKS)


def test_the_sheet_speaks_of_every_part_of_a_datasheet() -> None:
    for part in ("Motivation", "Composition", "Collection", "Verification", "Known limits", "Uses", "Distribution"):
        assert re.search(rf"^## {part}", SHEET, re.MULTILINE), part
