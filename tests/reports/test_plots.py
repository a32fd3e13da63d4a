"""Pictures of the report: one of each kind and format for each group, the same bytes again, whatever names hold."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from infranode_eval.reports.archive import run_from_json
from infranode_eval.reports.effort import Effort
from infranode_eval.reports.exhibits import Exhibit
from infranode_eval.reports.figures import summarise
from infranode_eval.reports.plots import write_plots
from lm_eval_task.errors import DataError
from lm_eval_task.records import Reply, Score
from tests.needs import need

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
def exhibit(make_result, toolset) -> Callable[..., Exhibit]:
    need("matplotlib")

    def make(replier, **header) -> Exhibit:
        run = run_from_json(make_result(replier, **header), "a.json", toolset)
        return Exhibit(summarise(run, (), toolset), run, Effort())

    return make


@pytest.fixture
def runs(exhibit, answer) -> list[Exhibit]:
    return [exhibit(lambda t: Reply.from_text(answer(t)), model="good $x_1$ <b>"),
            exhibit(lambda t: Score.failure("infra_error", "x") if "ulm" in t.task_id else Reply.from_text("?"),
                    model="漢字\u202e" + "x" * 90),
            exhibit(lambda t: Reply.from_text(answer(t)), model="good", mode="native", setup="N")]


def test_each_group_has_three_pictures_in_two_formats(runs, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        written = write_plots(runs, tmp_path / "new" / "folder")
    assert sorted(p.name for p in written) == sorted(
        f"{group}.{chart}.{ending}" for group in ("core.native.N", "core.prompt.S")
        for chart in ("ranking", "categories", "outcomes") for ending in ("svg", "png"))
    for path in written:
        if path.suffix == ".svg":
            assert ElementTree.parse(path).getroot().tag == "{http://www.w3.org/2000/svg}svg"
        else:
            assert path.read_bytes().startswith(b"\x89PNG")


def test_equal_input_gives_equal_bytes(runs, tmp_path: Path) -> None:
    first, second = (write_plots(runs, tmp_path / name) for name in ("a", "b"))
    assert [p.read_bytes() for p in first] == [p.read_bytes() for p in second]


def test_groups_of_one_name_do_not_overwrite_each_other(exhibit, answer, tmp_path: Path) -> None:
    runs = [exhibit(lambda t: Reply.from_text(answer(t)), scorer_version=v) for v in ("1.0", "0.9")]
    assert len({p.name for p in write_plots(runs, tmp_path)}) == 12


def test_a_folder_that_cannot_be_written_is_named(runs, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="file"):
        write_plots(runs, tmp_path / "file")


def test_without_matplotlib_one_line_says_what_to_install() -> None:
    code = ("import sys; sys.modules['matplotlib'] = None\n"
            "from pathlib import Path\n"
            "from infranode_eval.reports.plots import write_plots\n"
            "try: write_plots([], Path('x'))\n"
            "except Exception as error: print(type(error).__name__, error)")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.startswith("UsageError --plots needs matplotlib") and not done.stderr
