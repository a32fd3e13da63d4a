"""3,000 random calls of the file tools on random trees: nothing outside of the scope is read or written.

Each tree has hidden files with a secret of their own, links of every kind, a pipe, and a "Bash" that swaps files and
folders of the scope for links between two calls. Seeded: a failure names the tree and the call.
"""

import collections
import hashlib
import os
import random
import stat
import threading
import time
import unicodedata
from pathlib import Path

import pytest

from infranode_eval.team.agent import Agent
from infranode_eval.team.files import edit, glob_, read, write
from infranode_eval.team.workspace import Forbidden, Scope, ToolError, Workspace, reachable

TREES, CALLS = 60, 50
FOLDERS = ("akten", "akten-alt", "akten/tief", "aufgaben", "ausgabe", "ausgabe/grüße", "bilder", "archiv",
           "archiv/akten")
NAMES = ("satzung.txt", "größe.txt", "bild.png", "x", "..x", "-rf", "a b", "ak*en", "[1].txt")
PNG = b"\x89PNG\r\n\x1a\n\0"
TARGETS = ("/etc/passwd", "/arbeit/akten/satzung.txt", "..", "../..", "../../draussen", "../akten", "../archiv/x", ".",
           "../aufgaben/satzung.txt", "satzung.txt", "l0", "l1/x", "../../arbeit/akten", "nirgends",
           "x/../../akten/satzung.txt")
STARTS = ("/arbeit", "/arbeit", "/arbeit", "/arbeit", "", "/", "arbeit", "/arbeit/..", "//arbeit", "/arbeit2",
          "/proc/self/cwd", "/proc/self/root/arbeit")
PARTS = (*NAMES, *(f"l{number}" for number in range(8)), "m0", "m1", "rohr", "..", ".", "", "neu", "akten", "draussen",
         "\0", "\ud800", "\udcff", "n" * 300, "~", "%2e%2e", "．．", "a\nb", "\u202e")
JUNK = (None, 0, -1, True, 1.5, 10 ** 400, float("nan"), [], {}, ["/arbeit"], "", "\0", "\ud800", "x" * 100_000,
        b"/arbeit", "/" * 9_999, "/arbeit/" + "../" * 500)
PARAMETERS = ("file_path", "offset", "limit", "content", "old_string", "new_string", "replace_all", "pattern",
              "path", 7)
TOOLS = {"Read": read, "Write": write, "Edit": edit, "Glob": glob_}


class Tree:
    """A workspace whose every file holds a secret of its own, beside a folder that is none of its business."""

    def __init__(self, base, seed):
        self.random = random.Random(seed)
        self.base, self.secrets, self.unnamed = base, {}, []
        self.root = base / "arbeit"
        for folder in (*(self.root / f for f in FOLDERS), base / "draussen", base / "arbeit2"):
            folder.mkdir(parents=True)
            for name in self.random.sample(NAMES, 3):
                self._put(folder / name)
            self._put(folder / f"nie-genannt-{self.random.getrandbits(60):x}.txt")
        grants = (*FOLDERS, "akten/satzung.txt", "neu/x")
        self.scope = Scope(tuple(self.random.sample(grants, self.random.choice((0, 1, 2, 2, 3)))))
        self.workspace = Workspace(self.root)
        for number in range(8):
            self._link(self.root / self.random.choice(FOLDERS) / f"l{number}")
        os.mkfifo(self.root / self.random.choice(FOLDERS) / "rohr")

    def _put(self, path):
        secret = f"geheim{self.random.getrandbits(80):020x}"
        path.write_bytes((PNG if path.suffix == ".png" else b"") + f"{secret}\ngeheim\n".encode())
        self.secrets[path] = secret
        if path.name.startswith("nie-genannt"):
            self.unnamed.append(path)

    def _link(self, path):
        real = (str(self.base / "draussen"), str(self.root / "akten/satzung.txt"))
        target = self.random.choice((*TARGETS, *real, path.name))
        if not os.path.lexists(path):
            os.symlink(target, path)

    def covers(self, path):
        return path.is_relative_to(self.root) and self.scope.covers(path.relative_to(self.root).as_posix())

    def outside(self, deep=False):
        """Everything that lies outside of the scope: its type, where it leads, when it was changed; deep: its hash."""
        found = {}
        for folder, folders, names in os.walk(self.base):
            for path in (f"{folder}/{name}" for name in (*folders, *names)):
                if self.covers(Path(path)):
                    continue
                status = os.lstat(path)
                plain = stat.S_ISREG(status.st_mode)
                found[path] = (status.st_mode, os.readlink(path) if os.path.islink(path) else "",
                               (status.st_mtime_ns, status.st_ctime_ns) if plain else 0,
                               hashlib.sha256(Path(path).read_bytes()).hexdigest() if plain and deep else "")
        return found

    def bash(self):
        """What a command of the agent can do inside its scope."""
        places = [self.root / name for name, _ in reachable(self.workspace, self.scope)]
        places += [p.parent for p in places if self.covers(p.parent)]
        if not places:
            return
        place = self.random.choice(places)
        if self.random.random() < 0.3 and place.is_file():
            place.write_bytes(b"geheim, aber meins\n")
        elif not os.path.lexists(spare := place.with_name(f"m{self.random.randint(0, 5)}")) and self.covers(spare):
            place.rename(spare)
            self._link(place)

    def path(self):
        inside = [name for name, _ in reachable(self.workspace, self.scope)]
        if inside and self.random.random() < 0.3:
            return f"/arbeit/{self.random.choice(inside)}"
        names = [self.random.choice(PARTS) for _ in range(self.random.randint(0, 3))]
        start = self.random.choice((*STARTS, os.fspath(self.root)))
        folder = self.random.choice((*FOLDERS, *self.scope.grants, *self.scope.grants, *self.scope.grants, ""))
        path = "/".join((start, folder, *names))
        form = self.random.random()
        return unicodedata.normalize("NFD", path) if form < 0.1 else path.upper() if form < 0.13 else path

    def call(self):
        name = self.random.choice(tuple(TOOLS))
        text = self.random.choice(("geheim", "geheim\n", "meins", "neu", "x" * 5_000, "\0", "ü"))
        arguments = {
            "Read": {"file_path": self.path(), "offset": self.random.choice((None, 1, 2)), "limit": None},
            "Write": {"file_path": self.path(), "content": text},
            "Edit": {"file_path": self.path(), "old_string": text[:2], "new_string": "neu", "replace_all": True},
            "Glob": {"pattern": self.random.choice(("**", "*", "**/*.txt", "../**", "{akten,archiv}/*", "[a-z]*/**",
                                                    self.path(), self.path()[1:])), "path": self.path()}}[name]
        if name == "Glob" and self.random.random() < 0.5:
            del arguments["path"]
        if self.random.random() < 0.15:
            arguments[self.random.choice((*arguments, "fremd"))] = self.random.choice(JUNK)
        if self.random.random() < 0.02:
            arguments = self.random.choice(JUNK)
        return name, arguments


def play(base, seed, outcomes):
    tree = Tree(base, seed)
    agent = Agent("feind", "vlm", tree.scope, modalities={"image": 4})
    before, contents = tree.outside(), tree.outside(deep=True)
    hidden = [secret.encode() for path, secret in tree.secrets.items() if not tree.covers(path)]
    unnamed = [path.name for path in tree.unnamed if not tree.covers(path)]
    known = []
    for number in range(CALLS):
        if tree.random.random() < 0.25:
            tree.bash()
        name, arguments = tree.call()
        if known and name != "Glob" and isinstance(arguments, dict) and tree.random.random() < 0.5:
            arguments["file_path"] = tree.random.choice(known)
        at = f"tree {seed}, call {number}: {name} {str(arguments)[:300]!r}"
        started = time.perf_counter()
        try:
            result = TOOLS[name](agent, tree.workspace, arguments)
            shown = result.text.encode() + (result.attachment.data if result.attachment else b"")
            known += [result.touched] if result.touched else []
            outcomes[name, "works"] += 1
        except ToolError as error:
            shown = str(error).encode()
            outcomes[name, "refused" if isinstance(error, Forbidden) else "error"] += 1
        assert time.perf_counter() - started < 3, at
        assert not any(secret in shown for secret in hidden), at
        assert not any(secret.encode() in shown for secret in unnamed), at
        assert os.fsencode(base) not in shown or os.fspath(base) in str(arguments), at
        assert tree.outside() == before, at
    assert tree.outside(deep=True) == contents, seed


def test_nothing_outside_of_the_scope_is_read_or_written(tmp_path):
    outcomes = collections.Counter()
    failed = []

    def play_all():
        try:
            for seed in range(TREES):
                (tmp_path / str(seed)).mkdir()
                play(tmp_path / str(seed), seed, outcomes)
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=play_all, daemon=True)     # a call that waits for a pipe would never come back
    thread.start()
    thread.join(120)
    if failed:
        raise failed[0]
    assert not thread.is_alive()
    assert sum(outcomes.values()) == TREES * CALLS
    for name in TOOLS:
        for outcome in ("works", "refused", "error"):
            assert outcomes[name, outcome] >= 20, f"too few calls that end so: {name}, {outcome}: {outcomes}"


@pytest.mark.parametrize("tool", TOOLS.values())
def test_any_single_argument_of_any_type_is_an_error_at_most(tmp_path, tool):
    tree = Tree(tmp_path, 1)
    agent = Agent("feind", "llm", Scope(("akten",)))
    for name in PARAMETERS:
        for value in (*JUNK, object(), set()):
            complete = {"Read": {"file_path": "/arbeit/akten/x"}, "Glob": {"pattern": "*"},
                        "Write": {"file_path": "/arbeit/akten/x", "content": "x"},
                        "Edit": {"file_path": "/arbeit/akten/x", "old_string": "a", "new_string": "b"}}
            for arguments in ({name: value}, {**next(v for k, v in complete.items() if TOOLS[k] is tool), name: value}):
                try:
                    tool(agent, tree.workspace, arguments).text.encode()
                except ToolError as error:
                    str(error).encode()
