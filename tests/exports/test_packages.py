"""A format whose package is missing says in one line what to install."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from infranode_eval.exports.packages import load
from tests.exports.trial_data import dataset

ROOT = Path(__file__).resolve().parents[2]
HUB = "import generate; sys.exit(generate.main(['--export', 'hf', '--out', 'a', '--tasks', 'data/tasks.jsonl']))"
RL = ("from pathlib import Path; from infranode_eval.exports.rollouts import rubric; "
      "from lm_eval_task.errors import UsageError\n"
      "try:\n    rubric(None, 'native', 'exact')\n"
      "except UsageError as error:\n    print(error, file=sys.stderr); sys.exit(2)")


@pytest.mark.parametrize(("package", "code", "extra"), [("datasets", HUB, "hub"), ("verifiers", RL, "rl")])
def test_a_missing_package_is_one_line_that_names_the_extra(
        tmp_path: Path, package: str, code: str, extra: str) -> None:
    dataset(tmp_path / "data")
    done = subprocess.run([sys.executable, "-c", f"import sys; sys.modules[{package!r}] = None; "
                           f"sys.path.insert(0, {str(ROOT)!r})\n{code}"], capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert f"pip install 'infranode-tool-eval[{extra}]'" in done.stderr and done.stderr.count("\n") == 1
    assert not (tmp_path / "a").exists()


def test_a_package_that_is_there_is_handed_over() -> None:
    assert load("json").dumps([]) == "[]"
