"""Deleting what a play has left."""

import os
import subprocess
import sys

import pytest

from infranode_eval.team.removal import remove


@pytest.fixture
def parent(tmp_path):
    descriptor = os.open(tmp_path, os.O_RDONLY)
    yield descriptor
    os.close(descriptor)


def test_a_folder_goes_with_all_below_it_and_no_link_is_followed(parent, tmp_path):
    (tmp_path / "bleibt").mkdir()
    (tmp_path / "bleibt/x").write_text("x")
    (tmp_path / "weg/a/b/c").mkdir(parents=True)
    for name in ("weg/x", "weg/a/x", "weg/a/b/x"):
        (tmp_path / name).write_text("x")
    (tmp_path / "weg/verweis").symlink_to(tmp_path / "bleibt")
    (tmp_path / "weg/a/verweis").symlink_to("../../bleibt/x")
    os.mkfifo(tmp_path / "weg/a/rohr")
    remove(parent, "weg")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["bleibt", "x"]


@pytest.mark.parametrize("kind", ["file", "link", "nothing"])
def test_a_single_entry_goes_and_an_absent_one_is_gone_already(parent, tmp_path, kind):
    (tmp_path / "bleibt").mkdir()
    if kind == "file":
        (tmp_path / "weg").write_text("x")
    elif kind == "link":
        (tmp_path / "weg").symlink_to("bleibt")
    remove(parent, "weg")
    assert [path.name for path in tmp_path.iterdir()] == ["bleibt"]


_CLOSED = """
import os, sys
os.chdir(sys.argv[1])
if os.geteuid() == 0:
    os.chown(".", 61001, 61001)
    os.setresgid(61001, 61001, 61001)
    os.setresuid(61001, 61001, 61001)
os.makedirs("weg/a/zu/darin")
os.mkdir("weg/nurlesbar")
open("weg/nurlesbar/x", "w").close()
os.chmod("weg/nurlesbar", 0o500)
os.chmod("weg/a/zu", 0)
os.chmod("weg/a", 0)
from infranode_eval.team.removal import remove
remove(os.open(".", os.O_RDONLY), "weg")
print(os.listdir("."))
"""


def test_a_folder_that_its_owner_has_closed_goes_as_well(tmp_path_factory):
    folder = tmp_path_factory.mktemp("zu")
    code = f"import sys; sys.path[:0] = {sys.path!r}\nimport infranode_eval.team.removal\n" + _CLOSED
    done = subprocess.run([sys.executable, "-c", code, str(folder)], capture_output=True, text=True, timeout=20)
    assert (done.stdout, done.returncode) == ("[]\n", 0), done.stderr
