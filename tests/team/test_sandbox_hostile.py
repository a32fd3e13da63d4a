"""Commands that try to get out of the sandbox, or to take the host down: none does, as root and as an ordinary user.

After each of them: nothing hidden was shown or changed, nothing runs on, the call came back in time, and the host still
starts processes.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import socket
import subprocess
import threading
import time
from pathlib import Path

import pytest

from infranode_eval.team import room, sandbox
from infranode_eval.team.sandbox import Mount, Outcome, Sandbox, open_sandbox
from lm_eval_task.errors import WorldNotReadyError
from tests.needs import need_program
from tests.team.both_users import a_place, for_both_users

LIMIT_S, MARK = 1.0, f"93.125{os.getpid()}"       # MARK: how long what is left would sleep, which also finds it again


@pytest.fixture(scope="module")
def box() -> Sandbox:
    need_program("bwrap", shutil.which("bwrap"))
    return open_sandbox()


def python(code: str) -> str:
    return "python3 -I - <<'ENDE'\n" + code + "\nENDE"


def called(code: str) -> str:
    """Python in which `c` is the C library."""
    return python(f"import ctypes\nc = ctypes.CDLL(None)\n{code}")


def tried(code: str) -> str:
    """Python that prints why the system refused."""
    return python(f"import fcntl, os, socket, stat\ntry: {code}\nexcept OSError as error: print(error)")


# name, command, a text that must be in the output ("" for none). {real}: the real workspace, {port}: of a listener.
HOSTILE = [
    # too much
    ("fork bomb", ":(){ :|:& };:; sleep 9", ""),
    ("fork bomb in Python", python("import os\nwhile True:\n try: os.fork()\n except OSError: pass"), ""),
    ("threads without end", python("import threading, time\nn = 0\ntry:\n while n < 5000:\n  threading.Thread("
                                   "target=time.sleep, args=(9,), daemon=True).start(); n += 1\nexcept RuntimeError:\n"
                                   " print('VOLL', n < 200, flush=True)\nimport os; os._exit(0)"), "VOLL True"),
    ("memory in one process", python("x = []\nwhile True: x.append(bytearray(10**8))"), ""),
    ("memory in many processes", "for i in 1 2 3 4 5 6; do python3 -c 'x = bytearray(10**8); import time; "
     "time.sleep(9)' & done; wait", ""),
    ("memory in /dev/shm", "for i in 1 2 3; do head -c 9000000 /dev/zero > /dev/shm/$i; done; cat /dev/shm/* | wc -c",
     "4194304"),
    ("memory in the root", "head -c 1000 /dev/zero > /x; mkdir /y; mkdir /usr/y; head -c 9 /dev/zero > /arbeit/z",
     "Read-only file system"),
    ("one large file", "head -c 90000000 /dev/zero > akten/gross; stat -c %s akten/gross", "20000000"),
    ("many files", "i=0; while :; do i=$((i+1)); head -c 9000000 /dev/zero > akten/f$i; done", ""),
    ("deleted files that stay open", python("import os\ntry:\n while True:\n  f = open('/arbeit/akten/f', 'wb'); "
                                            "os.unlink('/arbeit/akten/f'); f.write(b'x' * 10**6); "
                                            "globals().setdefault('k', []).append(f)\nexcept OSError as e: print(e)"),
     "Too many open files"),
    ("many empty files", "mkdir akten/v && cd akten/v && " + python("i = 0\nwhile True:\n open(str(i), 'w').close(); "
                                                                    "i += 1"), ""),
    ("folders in folders", python("import os\nos.chdir('/arbeit/akten')\nfor i in range(300):\n os.mkdir('d' * 200); "
                                  "os.chdir('d' * 200)"), ""),
    ("endless output", "while :; do echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; done", "aaaa"),
    ("output without a line", "cat /dev/zero", "\0"),
    ("endless output in the background", "(while :; do echo aaaaaaaaaaaaaaaaaaaaa; done) & sleep 9", "aaaa"),
    ("a busy loop", "while :; do :; done", ""),
    ("raised limits", "ulimit -u unlimited; ulimit -v unlimited; ulimit -f unlimited; ulimit -u 5000; ulimit -n 9999",
     "cannot modify limit"),
    ("priority", python("import os\ntry: os.nice(-5)\nexcept OSError as e: print(e)"), "not permitted"),
    # what survives
    ("kill -9 -1", "kill -9 -1; echo da", ""),
    ("kill everybody by number", "for p in $(seq 1 400); do kill -9 $p 2>/dev/null; done", ""),
    ("kill the outermost", "kill -9 1; kill -STOP 1; kill -9 $PPID; echo da", ""),
    ("a daemon", python(f"import os\nif os.fork() == 0:\n os.setsid()\n if os.fork() == 0: os.execlp('sleep', 'sleep', "
                        f"'{MARK}')\n os._exit(0)"), ""),
    ("ignored signals", f"trap '' TERM HUP INT QUIT PIPE; sleep {MARK} & sleep {MARK}", ""),
    ("a stopped process", "kill -STOP $$; echo da", ""),
    ("a daemon that writes on", "(sleep 0.2; while :; do echo GEHEIM >> akten/x; sleep 0.1; done) & disown; "
     f"sleep {MARK} & echo fertig", "fertig"),
    ("a daemon that writes at once", "while :; do echo GEHEIM > akten/y; rm akten/y; done & echo fertig", "fertig"),
    # out of the wall
    ("the root of another process", "cat /proc/1/root{real}/geheim/x; ls /proc/*/root/; cat /proc/self/root/etc/passwd",
     "No such file"),
    ("the working folder of another process", "cat /proc/1/cwd/geheim/x; cat /proc/*/cwd/../geheim/x", "No such file"),
    ("descriptors left open", "ls -l /proc/self/fd; for f in /proc/1/fd/*; do cat $f/../geheim/x; done", "No"),
    ("the real path", "cat {real}/geheim/x; ls {real}/..", "No such file"),
    ("climbing", "cat ../geheim/x ../../geheim/x akten/../geheim/x; cd akten && cat ../geheim/x", "No such file"),
    ("a link to what is hidden", "ln -s ../geheim akten/l; cat akten/l/x; ln -s {real}/geheim akten/m; cat akten/m/x",
     "No such file"),
    ("a hard link to a program", "ln /usr/bin/bash akten/b; ln /etc/passwd akten/p", "fail"),
    ("mount", called("print(c.mount(b'none', b'/tmp', b'tmpfs', 0, None))"), "-1"),
    ("remount", called("print(c.mount(None, b'/', None, 32, None), c.mount(None, b'/arbeit', None, 32, None))"),
     "-1 -1"),
    ("unmount", called("print(c.umount2(b'/arbeit/akten', 2), c.umount2(b'/proc', 2))"), "-1 -1"),
    ("unshare", called("r = c.unshare(0x10000000 | 0x20000)\n"
                       "print('R', r or c.mount(b'none', b'/tmp', b'tmpfs', 0, None))"), "R -1"),
    ("chroot", tried("os.chroot('/tmp')"), "not permitted"),
    ("a device", tried("os.mknod('/tmp/d', 0o600 | stat.S_IFBLK, os.makedev(254, 0))"), "not permitted"),
    ("another user", tried("os.setuid(0)"), "not permitted|Invalid argument"),
    ("another group", tried("os.setgroups([0])"), "not permitted"),
    ("a program with set-uid", "cp /usr/bin/bash /tmp/b; chmod 4755 /tmp/b; /tmp/b -p -c 'id -u'", "1000"),
    ("debugging the outermost", called("print(c.ptrace(16, 1, 0, 0))"), ""),
    ("memory of the outermost", "head -c 10 /proc/1/mem; cat /proc/kcore /proc/kmsg /dev/mem /dev/sda /dev/vda", "No"),
    ("kernel settings", "echo 1 > /proc/sys/kernel/panic; echo c > /proc/sysrq-trigger; "
     "echo 0 > /proc/sys/vm/drop_caches", "denied|Read-only|No such|not permitted"),
    ("handles of files", called("print(c.open_by_handle_at(-100, ctypes.create_string_buffer(136), 0))"), "-1"),
    ("the terminal", tried("fcntl.ioctl(open('/dev/tty'), 0x5412, b'x')"), "No such device"),
    # into the net
    ("the loopback of the host", "exec 3<>/dev/tcp/127.0.0.1/{port} && echo GEHEIM", "refused|unreachable"),
    ("the net", "exec 3<>/dev/tcp/1.1.1.1/80 && echo GEHEIM", "unreachable"),
    ("a name", python("import socket\ntry: socket.getaddrinfo('example.org', 80); print('GEHEIM')\nexcept OSError: "
                      "print('kein Netz')"), "kein Netz"),
    ("an abstract socket of the host", tried("socket.socket(socket.AF_UNIX).connect('\\0infranode-test-{port}')"),
     "refused"),
    ("a raw socket", tried("socket.socket(socket.AF_INET, socket.SOCK_RAW, 1).sendto(b'x', ('127.0.0.1', 0))"),
     "not permitted"),
    # programs of the sandbox
    ("a changed program", "cp akten/x /usr/bin/cat; rm /usr/bin/ls; mv /usr/bin /usr/b; chmod 0 /usr/bin/cat",
     "Read-only"),
    ("a library put before the others", "echo x > akten/l.so; LD_PRELOAD=/arbeit/akten/l.so cat akten/x", "offen"),
    ("the ready sign of the wall", "printf '.\\n'; echo '1 2' >&0; echo fertig", "fertig"),
]


@pytest.mark.parametrize(("command", "expected"), [row[1:] for row in HOSTILE], ids=[row[0] for row in HOSTILE])
@for_both_users
def test_no_escape(box: Sandbox, command: str, expected: str) -> None:
    limits = room.MEMORY, room.WRITTEN, room.ENTRIES
    room.MEMORY, room.WRITTEN, room.ENTRIES = 300_000_000, 40_000_000, 3_000
    try:
        with a_place() as place, socket.create_server(("127.0.0.1", 0)) as listener, \
                socket.socket(socket.AF_UNIX) as hidden:
            port = str(listener.getsockname()[1])
            hidden.bind(f"\0infranode-test-{port}")      # another run of these tests has another one
            hidden.listen()
            text = command.replace("{real}", str(place.real)).replace("{port}", port)
            began = time.monotonic()
            mount = Mount(place.real / "akten", "/arbeit/akten", True)
            ended = box.run(text, [mount], LIMIT_S, slot=place.slot)
            took = time.monotonic() - began
            held(ended, expected, took, place.real)
            again = box.run("cat akten/x", [mount], 5, slot=place.slot)
            assert again.exit == 0, f"the next command runs: {again}"
            subprocess.run(["rm", "-rf", place.top], check=True, timeout=20)
    finally:
        room.MEMORY, room.WRITTEN, room.ENTRIES = limits


def held(ended: Outcome, expected: str, took: float, real: Path) -> None:
    assert took < LIMIT_S + 1.5, "the call came back"
    assert "GEHEIM" not in ended.output and "root:" not in ended.output, ended.output[:500]
    assert len(ended.output) <= sandbox.CAP
    assert re.search(expected, ended.output), ended
    assert (real / "geheim" / "x").read_text() == "GEHEIMNIS\n"
    assert "GEHEIM" not in (real / "akten" / "x").read_text(), "nothing went on after the end"
    assert sorted(os.listdir(real)) == ["akten", "geheim"]
    left = sorted((real / "akten").iterdir())
    time.sleep(0.02)
    assert sorted((real / "akten").iterdir()) == left, "nothing writes on"
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                assert MARK.encode() not in (entry / "cmdline").read_bytes().split(b"\0"), "something is left"
            except OSError:
                continue


def test_the_table_is_long_enough() -> None:
    assert len(HOSTILE) >= 25 and len({row[0] for row in HOSTILE}) == len(HOSTILE)


@for_both_users
def test_a_fork_bomb_beside_it_may_keep_a_command_from_starting_but_not_for_long(box: Sandbox) -> None:
    """One scenario's sandboxes share a user, and so its limit."""
    with a_place() as place:
        bomb = threading.Thread(target=lambda: box.run(":(){ :|:& };:; sleep 9", [], 1, slot=place.slot))
        bomb.start()
        time.sleep(0.5)
        began = time.monotonic()
        with contextlib.suppress(WorldNotReadyError):
            box.run("echo da", [], 5, slot=place.slot)
        assert time.monotonic() - began < 5
        bomb.join(5)
        assert not bomb.is_alive()
        assert box.run("echo da", [], 5, slot=place.slot).output == "da\n"
    assert subprocess.run(["sh", "-c", "exit 0"], timeout=5, check=False).returncode == 0
