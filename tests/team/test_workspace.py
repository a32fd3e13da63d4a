"""What an agent names, where it lies, and whether it may be touched."""

import os
import socket
import threading

import pytest

from infranode_eval.team.workspace import (
    Forbidden,
    Scope,
    ToolError,
    Workspace,
    locate,
    open_folder,
    open_regular,
    reachable,
)

SECRET = "streng geheim"
FILES = {"a/x": "x", "a/sub/z": "z", "h/y": SECRET, "c/d/w": "w", "c/e": SECRET, "ab": SECRET}


@pytest.fixture
def workspace(tmp_path):
    """a and c/d are granted; h is hidden, and so is all of c but c/d."""
    root = tmp_path / "arbeit"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    (tmp_path / "outside").write_text(SECRET)
    for name, target in (("a/ok", "sub/z"), ("a/okdir", "sub"), ("a/over", "../c/d/w"), ("a/abs", "/etc/passwd"),
                         ("a/home", str(root / "a/x")), ("a/virtual", "/arbeit/a/x"), ("a/hid", "../h"),
                         ("a/hidfile", "../h/y"), ("a/out", "../../outside"), ("a/back", "../../arbeit/a/x"),
                         ("a/loop", "loop"), ("a/dangling", "nirgends"), ("a/chain", "hid"), ("h/in", "../a/x")):
        os.symlink(target, root / name)
    return Workspace(root)


SCOPE = Scope(("a", "c/d"))
ALLOWED = (
    ("/arbeit/a/x", "a/x", "a granted file"),
    ("/arbeit/a", "a", "the grant itself"),
    ("/arbeit//a/./x", "a/x", "empty names and dots mean nothing"),
    ("/arbeit/a/x/", "a/x", "a slash at the end neither"),
    ("/arbeit/c/d/w", "c/d/w", "a grant below a hidden folder"),
    ("/arbeit/a/neu/tief", "a/neu/tief", "what does not exist yet"),
    ("/arbeit/a/sub/../x", "a/x", "`..` inside the scope"),
    ("/arbeit/h/../a/x", "a/x", "where the path ends decides, as realpath does"),
    ("/arbeit/a/ok", "a/sub/z", "a relative link to a granted file"),
    ("/arbeit/a/okdir/z", "a/sub/z", "a relative link to a granted folder"),
    ("/arbeit/a/okdir/../x", "a/x", "`..` is taken from where the link leads"),
    ("/arbeit/a/over", "c/d/w", "a link from one grant into another"),
    ("/arbeit/a/dangling", "a/nirgends", "a link to nothing, in the scope"),
)
REFUSED = (
    ("/arbeit/h/y", "a hidden file"),
    ("/arbeit/h/gibtsnicht", "a hidden file that does not exist counts all the same"),
    ("/arbeit/h", "a hidden folder"),
    ("/arbeit/ab", "a name that only begins like a grant"),
    ("/arbeit/A/x", "another case is another name"),
    ("/arbeit/c/e", "a neighbour of a grant"),
    ("/etc/passwd", "outside of the root"),
    ("/arbeitx/a", "a root that only begins like ours"),
    ("/", "the root of the machine"),
    ("/../arbeit/a/x", "above the root of the machine"),
    ("/arbeit/a/../../x", "`..` above the root"),
    ("/arbeit/../arbeit/a/x", "above the root and back"),
    ("/arbeit/a/abs", "an absolute link"),
    ("/arbeit/a/home", "an absolute link, even to a granted file by its real path"),
    ("/arbeit/a/virtual", "an absolute link, even to a granted file as agents see it"),
    ("/arbeit/a/hid/y", "a folder link to what is hidden"),
    ("/arbeit/a/hid/nix", "the same, to nothing"),
    ("/arbeit/a/hidfile", "a link to a hidden file"),
    ("/arbeit/a/chain/y", "a link to a link to what is hidden"),
    ("/arbeit/a/out", "a link out of the workspace"),
    ("/arbeit/a/back", "a link out of the workspace and back"),
    ("/arbeit/h/in", "a link that lies hidden is not followed, though it leads back"),
)
ERRORS = (
    ("a/x", "not absolute"), ("", "nothing"), ("../etc/passwd", "not absolute, though it climbs"),
    ("/arbeit", "the root itself is shown but not readable"), ("/arbeit/c", "a folder above a grant, likewise"),
    ("/arbeit/a/\0", "NUL"), ("/arbeit/a/\ud800", "half a surrogate pair"), ("/arbeit/h/\udcff", "a raw byte"),
    ("/arbeit/a/" + "x" * 5_000, "too long"), ("/arbeit/a/loop", "a link to itself"),
)


@pytest.mark.parametrize(("path", "relative", "why"), ALLOWED)
def test_a_path_in_the_scope_leads_to_its_real_place(workspace, path, relative, why):
    assert locate(workspace, SCOPE, path) == workspace.real / relative, why


@pytest.mark.parametrize(("path", "why"), REFUSED)
def test_a_path_outside_of_the_scope_is_refused_and_names_what_was_asked_for(workspace, path, why):
    with pytest.raises(Forbidden) as caught:
        locate(workspace, SCOPE, path)
    assert caught.value.path == path, why
    assert str(caught.value).startswith(f"verboten: {path} ")


@pytest.mark.parametrize(("path", "why"), ERRORS)
def test_a_text_that_is_no_usable_path_is_an_error_that_counts_nothing(workspace, path, why):
    with pytest.raises(ToolError) as caught:
        locate(workspace, SCOPE, path)
    assert not isinstance(caught.value, Forbidden), why
    assert str(caught.value).startswith("Fehler: ")


@pytest.mark.parametrize("path", ["/arbeit", "/arbeit/c", "/arbeit/h/.."])
def test_a_search_may_start_above_the_grants(workspace, path):
    assert locate(workspace, SCOPE, path, parents=True) in (workspace.real, workspace.real / "c")


def test_no_scope_sees_nothing(workspace):
    with pytest.raises(Forbidden):
        locate(workspace, Scope(()), "/arbeit/a/x")
    assert list(reachable(workspace, Scope(()))) == []


@pytest.mark.parametrize("grant", ["", "/a", "a/", "a//b", ".", "a/../h", ".."])
def test_nobody_is_granted_the_root_or_a_path_that_climbs(grant):
    with pytest.raises(ValueError):
        Scope((grant,))


def test_a_scope_covers_what_lies_below_and_knows_the_folders_above():
    scope = Scope(("a", "c/d/e"))
    assert [scope.covers(path) for path in ("a", "a/b", "ab", "", "c", "c/d/e/f")] == [True, True, False, False, False,
                                                                                      True]
    assert scope.parents() == {"", "c", "c/d"}


def test_a_real_path_is_shown_as_agents_see_it(workspace):
    assert workspace.virtual(workspace.real / "a/x") == "/arbeit/a/x"
    assert workspace.virtual(workspace.real) == "/arbeit"
    assert workspace.virtual(workspace.real / os.fsdecode(b"a/\xff")) == "/arbeit/a/�"
    with pytest.raises(ValueError):
        workspace.virtual(workspace.real.parent)


@pytest.mark.parametrize("kind", ["fifo", "socket", "folder", "absent", "below a file", "device"])
def test_only_a_regular_file_is_opened_and_nothing_waits(workspace, kind):
    place = workspace.real / "a/special"
    if kind == "fifo":
        os.mkfifo(place)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as server:
            folder = os.open(place.parent, os.O_RDONLY)
            server.bind(f"/proc/self/fd/{folder}/special")
            os.close(folder)
    elif kind == "folder":
        place.mkdir()
    elif kind == "below a file":
        place = workspace.real / "a/x/special"
    elif kind == "device":
        try:
            os.mknod(place, 0o600 | 0o020000, os.makedev(1, 5))     # /dev/zero
        except OSError:
            pytest.skip("no right to make a device here")
    raised = []

    def open_both_ways():
        for write in (False, True):
            try:
                open_regular(workspace, place, write)
            except Exception as error:
                raised.append(type(error))

    thread = threading.Thread(target=open_both_ways, daemon=True)
    thread.start()
    thread.join(3)
    assert raised == [ToolError, ToolError]


@pytest.mark.parametrize(("name", "why"), [("a/sub", "the folder above"), ("a/sub/z", "the file itself")])
def test_what_became_a_link_after_it_was_located_is_refused(workspace, name, why):
    real = locate(workspace, SCOPE, "/arbeit/a/sub/z")
    (workspace.real / "h/z").write_text(SECRET)
    (workspace.real / name).rename(workspace.real / "a/moved")
    os.symlink("../h" if name == "a/sub" else "../../h/z", workspace.real / name)
    for write in (False, True):
        with pytest.raises(Forbidden):
            open_regular(workspace, real, write)
    if name == "a/sub":
        with pytest.raises(ToolError):
            open_folder(workspace, workspace.real / "a/sub")


def test_a_folder_that_is_swapped_for_a_link_all_the_time_never_shows_what_is_hidden(workspace):
    folder, spare = workspace.real / "a/sub", workspace.real / "a/spare"
    (workspace.real / "h/z").write_text(SECRET)
    os.symlink("../h", workspace.real / "a/swap")
    stop = threading.Event()

    def swap():
        while not stop.is_set():
            folder.rename(spare)
            (workspace.real / "a/swap").rename(folder)
            folder.rename(workspace.real / "a/swap")
            spare.rename(folder)

    swapper = threading.Thread(target=swap)
    swapper.start()
    seen, refused = set(), 0
    try:
        for _ in range(1_200):
            try:
                with open_regular(workspace, locate(workspace, SCOPE, "/arbeit/a/sub/z")) as file:
                    seen.add(file.read())
            except ToolError:
                refused += 1
            seen.update(name for name, _ in reachable(workspace, SCOPE, "a/sub") if "h" in name.split("/"))
    finally:
        stop.set()
        swapper.join()
    assert seen <= {b"z"}
    assert refused


def test_the_files_of_a_scope_are_counted_once_and_links_are_not_followed(workspace):
    os.mkfifo(workspace.real / "a/fifo")
    assert sorted(name for name, _ in reachable(workspace, SCOPE)) == ["a/sub/z", "a/x", "c/d/w"]
    overlapping = Scope(("a", "a/sub", "a/x", "a/okdir", "fehlt"))
    assert [name for name, _ in reachable(workspace, overlapping)] == ["a/sub/z", "a/x"]
    assert [name for name, _ in reachable(workspace, SCOPE, "a/sub")] == ["a/sub/z"]
    assert [name for name, _ in reachable(workspace, SCOPE, "c")] == ["c/d/w"]
    assert list(reachable(workspace, SCOPE, "h")) == []


def test_very_deep_folders_end_a_listing_without_an_error(workspace):
    here = os.open(workspace.real / "a", os.O_RDONLY)
    for _ in range(1_200):
        os.mkdir("t", dir_fd=here)
        inner = os.open("t", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)
    assert [name for name, _ in reachable(workspace, SCOPE, "a")] == ["a/sub/z", "a/x"]
    workspace.remove()
    assert not workspace.real.exists()
