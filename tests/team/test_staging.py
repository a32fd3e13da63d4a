"""What the host itself puts into a workspace."""

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from infranode_eval.team.staging import create
from infranode_eval.team.workspace import Scope, ToolError, Workspace
from lm_eval_task.errors import DataError


@dataclass(frozen=True)
class Change:
    op: str
    src: Path
    dst: str


@pytest.fixture
def scenario(tmp_path):
    folder = tmp_path / "szenario"
    for name, text in (("workspace/akten/satzung.txt", "alt"), ("workspace/aufgaben/lauf.sh", "echo"),
                       ("updates/u1/satzung.txt", "neu"), ("updates/u1/hinweis.txt", "hinweis")):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / "workspace/ausgabe").mkdir()
    (folder / "workspace/aufgaben/lauf.sh").chmod(0o700)
    os.symlink("../akten/satzung.txt", folder / "workspace/aufgaben/verweis")
    os.symlink("/nirgends", folder / "workspace/aufgaben/absolut")
    return folder


@pytest.fixture
def workspace(scenario, tmp_path):
    return Workspace.prepare(scenario / "workspace", tmp_path / "arbeit")


def entries(workspace):
    return [workspace.real, *sorted(workspace.real.rglob("*"))]


def test_a_template_is_copied_with_its_links_and_one_mtime(workspace):
    names = [workspace.relative(path) for path in entries(workspace)]
    assert names == ["", "akten", "akten/satzung.txt", "aufgaben", "aufgaben/absolut", "aufgaben/lauf.sh",
                     "aufgaben/verweis", "ausgabe"]
    assert os.readlink(workspace.real / "aufgaben/verweis") == "../akten/satzung.txt"
    assert os.readlink(workspace.real / "aufgaben/absolut") == "/nirgends"
    assert {os.lstat(path).st_mtime_ns for path in entries(workspace)} == {workspace.now()}


def test_the_modes_of_a_copy_do_not_hang_on_the_machine(workspace):
    modes = {workspace.relative(path): oct(path.stat().st_mode & 0o777) for path in entries(workspace)
             if not path.is_symlink()}
    assert modes == {"": "0o755", "akten": "0o755", "akten/satzung.txt": "0o644", "aufgaben": "0o755",
                     "aufgaben/lauf.sh": "0o755", "ausgabe": "0o755"}


def test_a_pipe_in_a_template_is_refused_by_name(scenario, tmp_path):
    os.mkfifo(scenario / "workspace/rohr")
    with pytest.raises(DataError, match="rohr"):
        Workspace.prepare(scenario / "workspace", tmp_path / "zweites")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_everything_belongs_to_the_sandbox_user(scenario, tmp_path):
    workspace = Workspace.prepare(scenario / "workspace", tmp_path / "zweites", uid=61_001)
    workspace.apply([Change("new", Path("updates/u1/hinweis.txt"), "neu/tief/hinweis.txt")], scenario)
    create(workspace, Scope(("ausgabe",)), workspace.real / "ausgabe/x/y.txt").close()
    assert {(os.lstat(path).st_uid, os.lstat(path).st_gid) for path in entries(workspace)} == {(61_001, 61_001)}


def test_an_update_replaces_and_adds_with_a_later_time(scenario, workspace):
    before = workspace.now()
    changes = [Change("replace", scenario / "updates/u1/satzung.txt", "akten/satzung.txt"),
               Change("new", Path("updates/u1/hinweis.txt"), "aufgaben/neu/hinweis.txt")]
    assert workspace.apply(changes, scenario) == ()
    assert (workspace.real / "akten/satzung.txt").read_text() == "neu"
    assert (workspace.real / "aufgaben/neu/hinweis.txt").read_text() == "hinweis"
    times = {(workspace.real / name).stat().st_mtime_ns for name in ("akten/satzung.txt", "aufgaben/neu/hinweis.txt")}
    assert times == {workspace.now()}
    assert workspace.now() > before


def test_the_time_of_an_update_does_not_hang_on_what_was_written_before(scenario, workspace, tmp_path):
    other = Workspace.prepare(scenario / "workspace", tmp_path / "zweites")
    for _ in range(7):
        other.tick()
    for one in (workspace, other):
        one.apply([], scenario)
    assert workspace.now() == other.now()


BLOCKED = (
    ("file", ("aufgaben/hinweis.txt",), "the manager wrote the target"),
    ("link", ("aufgaben/hinweis.txt",), "a link stands there; what it leads to stays"),
    ("folder", ("aufgaben/hinweis.txt",), "a folder with a file stands there"),
    ("parent link", (), "the folder above was swapped for a link out of the workspace"),
    ("parent file", (), "the folder above was swapped for a file"),
    ("parent gone", (), "the folder above was deleted"),
)


@pytest.mark.parametrize(("kind", "collided", "why"), BLOCKED)
def test_an_update_wins_against_whatever_stands_at_its_target(scenario, workspace, tmp_path, kind, collided, why):
    outside = tmp_path / "draussen"
    outside.mkdir()
    (outside / "hinweis.txt").write_text("unversehrt")
    folder, target = workspace.real / "aufgaben", workspace.real / "aufgaben/hinweis.txt"
    if kind.startswith("parent"):
        folder.rename(workspace.real / "weg")
    if kind == "file":
        target.write_text("vom Manager")
    elif kind == "link":
        target.symlink_to(outside / "hinweis.txt")
    elif kind == "folder":
        (target / "darin").mkdir(parents=True)
        (target / "darin/x").write_text("x")
    elif kind == "parent link":
        folder.symlink_to(outside)
    elif kind == "parent file":
        folder.write_text("x")
    changes = [Change("new", Path("updates/u1/hinweis.txt"), "aufgaben/hinweis.txt")]
    assert workspace.apply(changes, scenario) == collided, why
    assert target.read_text() == "hinweis"
    assert not target.is_symlink()
    assert (outside / "hinweis.txt").read_text() == "unversehrt"


def test_a_replaced_file_that_is_gone_is_no_collision(scenario, workspace):
    (workspace.real / "akten/satzung.txt").unlink()
    assert workspace.apply([Change("replace", Path("updates/u1/satzung.txt"), "akten/satzung.txt")], scenario) == ()
    assert (workspace.real / "akten/satzung.txt").read_text() == "neu"


@pytest.mark.parametrize("target", ["../x", "/x", "a/../../x", ""])
def test_no_update_leaves_the_workspace(scenario, workspace, target):
    with pytest.raises(ValueError):
        workspace.apply([Change("new", Path("updates/u1/hinweis.txt"), target)], scenario)


CREATED = (
    ("ausgabe/x.txt", True, "in a granted folder"), ("ausgabe/a/b/c.txt", True, "with new folders"),
    ("einzeln/x.txt", False, "a granted file whose folder is missing: the folder is not granted"),
    ("akten/satzung.txt", False, "there already"), ("akten/satzung.txt/x", False, "below a file"),
    ("ausgabe/" + "n" * 300, False, "a name too long for the file system"),
    ("ausgabe/" + "n" * 300 + "/x", False, "a folder's name too long"),
    ("ausgabe/" + "t/" * 70 + "x", False, "deeper than a listing goes"),
)


@pytest.mark.parametrize(("name", "works", "why"), CREATED)
def test_a_file_is_created_with_the_folders_that_may_be_made(workspace, name, works, why):
    scope = Scope(("ausgabe", "einzeln/x.txt", "akten"))
    before = entries(workspace)
    if works:
        create(workspace, scope, workspace.real / name).close()
        assert (workspace.real / name).is_file(), why
        return
    with pytest.raises(ToolError):
        create(workspace, scope, workspace.real / name)
    assert entries(workspace) == before, why


def test_nothing_is_created_behind_a_folder_that_became_a_link(workspace, tmp_path):
    (tmp_path / "draussen").mkdir()
    (workspace.real / "ausgabe").rename(workspace.real / "weg")
    (workspace.real / "ausgabe").symlink_to(tmp_path / "draussen")
    with pytest.raises(ToolError):
        create(workspace, Scope(("ausgabe",)), workspace.real / "ausgabe/x/y")
    assert list((tmp_path / "draussen").iterdir()) == []
