"""The wheel holds all that an installed copy needs: task files, data, YAML; and finds its own dataset."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The wheel's content in a folder of its own, as pip would lay it down."""
    uv = shutil.which("uv")
    if uv is None:
        if "lm_eval" in os.environ.get("INFRANODE_REQUIRE", ""):
            pytest.fail("CI must have uv")
        pytest.skip("building a wheel needs uv")
    folder = tmp_path_factory.mktemp("wheel")
    done = subprocess.run([uv, "build", "--wheel", "--out-dir", str(folder), str(ROOT)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-1500:]
    wheel, = folder.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(folder / "site")
    return folder / "site"


def test_data_files_lie_inside_the_packages(installed):
    for name in ("lm_eval_task/tools.json", "lm_eval_task/tasks.jsonl", "lm_eval_task/infranode_tools_de.yaml",
                 "lm_eval_task/_infranode_tools_de_yaml", "lm_eval_task/infranode_bench_de.yaml",
                 "lm_eval_task/bench_cases.jsonl", "lm_eval_task/bench_tools.json", "lm_eval_task/bench_system.txt",
                 "lm_eval_task/categories/infranode_tools_de_poi_type.yaml",
                 "infranode_eval/data/snapshot_facts.json", "infranode_eval/data/phrasings/tools.json",
                 "infranode_eval/data/result.schema.json",
                 "infranode_eval/data/starter/faelle.jsonl", "infranode_eval/data/page/page.html.j2",
                 "infranode_eval/data/page/words.json", "infranode_eval/data/exports/dataset_card.md",
                 "infranode_eval/data/exports/verifiers/__init__.py"):
        assert (installed / name).is_file(), name


def test_nothing_else_comes_along(installed):
    tops = {path.name for path in installed.iterdir()}
    assert {t for t in tops if not t.endswith(".dist-info")} == {"lm_eval_task", "infranode_eval"}


def run(installed, *arguments, cwd):
    done = subprocess.run([sys.executable, *arguments], cwd=cwd, capture_output=True, text=True,
                          env=os.environ | {"PYTHONPATH": str(installed)})
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_an_installed_copy_names_its_folder_and_reads_its_own_dataset(installed, tmp_path):
    assert Path(run(installed, "-m", "lm_eval_task", cwd=tmp_path)) == installed.resolve() / "lm_eval_task"
    code = "from lm_eval_task.harness import documents; print(len(documents('core')), len(documents('full')))"
    counts = json.loads((ROOT / "tasks.meta.json").read_text("utf-8"))["counts"]
    assert run(installed, "-c", code, cwd=tmp_path) == f"91 {91 + counts['extended']['all']}"


@pytest.mark.parametrize("command", ["run", "report", "selftest", "measure", "generate"])
def test_the_console_command_has_every_script(installed, tmp_path, command):
    assert run(installed, "-m", "infranode_eval.console", command, "--help", cwd=tmp_path).startswith("usage:")


def test_the_console_command_runs_the_main_job(installed, tmp_path):
    out = run(installed, "-m", "infranode_eval.console", "run", "--out", str(tmp_path / "bm25.json"), cwd=tmp_path)
    assert "set core: n 91, scored 91" in out
    assert (tmp_path / "bm25.json").is_file()


def test_an_unknown_console_command_is_one_line(installed, tmp_path):
    done = subprocess.run([sys.executable, "-m", "infranode_eval.console", "fly"], cwd=tmp_path, text=True,
                          capture_output=True, env=os.environ | {"PYTHONPATH": str(installed)})
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
