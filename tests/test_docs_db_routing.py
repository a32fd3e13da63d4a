"""docs/db_routing.md: every requirement has its row, and every module and test that it names is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "docs/db_routing.md").read_text("utf-8")
ROWS = [line for line in TEXT.splitlines() if re.match(r"\| \d", line)]
NAMED = re.compile(r"`([\w/.]+\.py)::(\w+)`")


def test_every_requirement_has_its_row() -> None:
    numbers = [row.split("|")[1].strip() for row in ROWS]
    expected = [str(n) for n in range(1, 75)]
    expected.insert(21, "21a")
    expected.insert(expected.index("34") + 1, "34a")
    assert numbers == expected and all(row.count("|") == 6 for row in ROWS)
    for row in ROWS:
        *_, held, missing, _ = row.split("|")
        assert NAMED.search(held) or missing.strip(), row


@pytest.mark.parametrize(("file", "name"), sorted(set(NAMED.findall(TEXT))))
def test_a_test_that_is_named_exists(file: str, name: str) -> None:
    path = ROOT / (file if "/" in file else f"tests/db_routing/{file}")
    assert f"def {name}(" in path.read_text("utf-8")


@pytest.mark.parametrize("module", sorted({name for row in ROWS for name in re.findall(
    r"`([\w/.]+(?:\.py|/))`", row.split("|")[3])}))
def test_a_module_that_is_named_exists(module: str) -> None:
    assert (ROOT / (module if "/" in module else f"infranode_eval/db_routing/{module}")).exists()
