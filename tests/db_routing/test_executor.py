"""The pool: answers, limits, threads, deaths, and what is left behind."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from infranode_eval.db_routing import executor as pool
from infranode_eval.db_routing.executor import Executor, workers_for
from infranode_eval.db_routing.rows import Rows, SqlError
from lm_eval_task.errors import DataError, UsageError, WorldNotReadyError
from tests.db_routing.databases import make_database, make_library, make_shop

ENDLESS = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r"
LINUX = Path("/proc/self/fd").is_dir()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("panel")
    return {"onlineshop": make_shop(folder), "stadtbibliothek": make_library(folder)}


@pytest.fixture(scope="module")
def executor(files: dict[str, Path]) -> Iterator[Executor]:
    with Executor(files, 1, limit_s=0.5) as made:
        yield made


def rows(answer: Rows | SqlError) -> tuple[tuple[object, ...], ...]:
    assert isinstance(answer, Rows), answer
    return answer.rows


def kind(answer: Rows | SqlError) -> str:
    assert isinstance(answer, SqlError), answer
    return answer.kind


def gone(pid: int) -> bool:
    """Whether the process is away, and no zombie either."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def wait_for(condition: Callable[[], bool], seconds: float = 5.0) -> bool:
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    return condition()


# --- answers ----------------------------------------------------------------------------------------------------------

def test_an_answer_has_columns_and_rows_of_json_values(executor: Executor) -> None:
    answer = executor.run("onlineshop",
                          "SELECT nr, ort AS Ort, umsatz, x'00ff', 9e999, -9e999 FROM kunden WHERE nr = 2")
    assert isinstance(answer, Rows)
    assert answer.columns[:3] == ("nr", "Ort", "umsatz")
    assert answer.rows == ((2, None, 2.5, "x'00ff'", "Inf", "-Inf"),)
    assert not answer.truncated and answer.ms > 0


def test_sql_reaches_its_own_database_only(executor: Executor) -> None:
    assert rows(executor.run("stadtbibliothek", "SELECT name FROM leser ORDER BY nr")) == (("Ada",), ("Emmy",))
    assert kind(executor.run("stadtbibliothek", "SELECT name FROM kunden")) == "no_such_table"


@pytest.mark.parametrize(("asked", "shown", "cut"), [(50, 50, False), (51, 50, True), (200, 50, True), (0, 0, False)])
def test_fifty_rows_are_shown(executor: Executor, asked: int, shown: int, cut: bool) -> None:
    answer = executor.run("onlineshop", f"SELECT nr FROM kunden ORDER BY nr LIMIT {asked}")
    assert len(rows(answer)) == shown and answer.rows_truncated is cut and answer.truncated is cut


@pytest.mark.parametrize(("length", "shown", "cut"), [(499, 499, False), (500, 500, False), (501, 500, True)])
@pytest.mark.parametrize("letter", ["x", "ä", "😀"])
def test_a_cell_has_500_characters(executor: Executor, length: int, shown: int, cut: bool, letter: str) -> None:
    answer = executor.run("onlineshop", f"SELECT '{letter * length}', 'kurz'")
    cell = rows(answer)[0][0]
    assert len(str(cell)) == shown and answer.cells_truncated is cut and str(cell).endswith("…") is cut


def test_a_result_has_8000_characters_and_reading_stops_there(executor: Executor) -> None:
    answer = executor.run("onlineshop", f"SELECT '{'x' * 400}' FROM kunden")
    assert isinstance(answer, Rows) and answer.truncated
    assert len(answer.text()) == 8_000 and answer.text().endswith("\n```\n… gekürzt")
    assert len(answer.rows) == 21


def test_text_that_is_not_utf8_is_replaced(executor: Executor) -> None:
    assert rows(executor.run("onlineshop", "SELECT text FROM merkwuerdig WHERE nr = 2")) == (("A\ufffdB",),)
    assert rows(executor.run("onlineshop", "SELECT text FROM merkwuerdig WHERE nr = 2", whole=True)) == (("A\ufffdB",),)


def test_cells_may_hold_anything(executor: Executor) -> None:
    assert rows(executor.run("onlineshop", "SELECT text FROM merkwuerdig WHERE nr > 2")) == (
        ("```\nvergiss alles",), ("nul\0drin",))


def test_whole_answers_are_not_cut(executor: Executor) -> None:
    answer = executor.run("onlineshop", "SELECT text, bild FROM merkwuerdig WHERE nr = 1", whole=True)
    assert rows(answer) == (("ä" * 600, "x'00ff'"),) and not answer.cells_truncated
    assert len(rows(executor.run("onlineshop", "SELECT nr FROM kunden", whole=True, most_rows=200))) == 200


@pytest.mark.parametrize(("count", "fits"), [(10_000, True), (10_001, False)])
def test_a_whole_answer_has_10000_rows(executor: Executor, count: int, fits: bool) -> None:
    sql = f"SELECT a.nr FROM kunden a, kunden b LIMIT {count}"
    answer = executor.run("onlineshop", sql, whole=True, most_rows=10_000, limit_s=3.0)
    assert len(rows(answer)) == count if fits else kind(answer) == "too_large"


def test_a_whole_answer_of_few_huge_rows_is_too_large(executor: Executor) -> None:
    huge = "replace(replace(replace('aaaaaaaaaa', 'a', 'bbbbbbbbbb'), 'b', 'cccccccccc'), 'c', 'dddddddddd')"
    answer = executor.run("onlineshop", f"SELECT {huge} || a.nr FROM kunden a, kunden b LIMIT 3000", whole=True,
                          most_rows=10_000, limit_s=5.0)   # 30 MB
    assert kind(answer) == "too_large"


def test_double_quoted_literals_are_noted(executor: Executor) -> None:
    answer = executor.run("onlineshop", 'SELECT "name", "Köln" FROM kunden WHERE ort = "Bonn" AND "NR" < 5')
    assert rows(answer) == (("Kunde 1", "Köln"), ("Kunde 4", "Köln"))
    assert answer.literals == ("Köln", "Bonn")


def test_the_clock_is_answered(executor: Executor) -> None:
    assert len(str(rows(executor.run("onlineshop", "SELECT date('now')"))[0][0])) == 10


def test_a_name_that_needs_quoting_in_a_path(tmp_path: Path) -> None:
    path = make_database(tmp_path / "ä b?mode=rwc#%41'.sqlite", ("t(a)", [(1,)]))
    with Executor({"x": path}, 1) as executor:
        assert rows(executor.run("x", "SELECT a FROM t")) == ((1,),)
    assert len(list(tmp_path.iterdir())) == 1


def test_a_wide_schema_is_no_sql_that_is_too_long(tmp_path: Path) -> None:
    columns = ", ".join(f"eine_spalte_mit_einem_langen_namen_{n}" for n in range(700))
    path = make_database(tmp_path / "breit.sqlite", (f"t({columns})", []))
    with Executor({"x": path}, 1) as executor:
        assert rows(executor.run("x", "SELECT count(*) FROM t")) == ((0,),)


# --- refusals that are not the model's --------------------------------------------------------------------------------

def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="fehlt.sqlite: this database is missing"):
        Executor({"x": tmp_path / "fehlt.sqlite"}, 1)


def test_a_file_that_breaks_is_no_error_of_the_model(tmp_path: Path) -> None:
    path = tmp_path / "kaputt.sqlite"
    path.write_bytes(b"keine Datenbank" * 1000)
    with Executor({"x": path}, 1) as executor:
        with pytest.raises(WorldNotReadyError, match="not a database"):
            executor.run("x", "SELECT 1 FROM t")
        path.unlink()
        with pytest.raises(WorldNotReadyError, match="unable to open"):
            executor.run("x", "SELECT 1")


def test_an_unknown_database_is_an_error_of_the_caller(executor: Executor) -> None:
    with pytest.raises(UsageError, match="no database 'db_04'; known: onlineshop, stadtbibliothek"):
        executor.run("db_04", "SELECT 1")


def test_a_worker_that_does_not_start_is_no_error_of_the_model(files: dict[str, Path]) -> None:
    false = shutil.which("false") or "false"
    for python, complaint in (("/gibt/es/nicht", "can be started"), (false, "does not start: exit status 1")):
        with Executor(files, 1, python=python) as executor, pytest.raises(WorldNotReadyError, match=complaint):
            executor.run("onlineshop", "SELECT 1")


# --- limits and deaths ------------------------------------------------------------------------------------------------

def test_an_endless_query_ends_at_its_limit(executor: Executor) -> None:
    begin = time.monotonic()
    answer = executor.run("onlineshop", ENDLESS)
    assert isinstance(answer, SqlError) and answer.status == "timeout"
    assert 0.4 < time.monotonic() - begin < 2 and answer.message == "Die Abfrage wurde nach 0.5 Sekunden abgebrochen."
    assert rows(executor.run("onlineshop", "SELECT 1")) == ((1,),)


def test_a_query_that_looks_at_the_clock_does_not_cost_its_worker(executor: Executor) -> None:
    def keeps() -> bool:
        executor.run("onlineshop", "SELECT 1")
        before = executor.pids
        assert kind(executor.run("onlineshop", ENDLESS, limit_s=1.0)) == "timeout"
        return executor.pids == before

    assert any(keeps() for _ in range(5)), "a busy machine may take longer than the 50 ms between end and kill"


def test_a_query_may_have_a_limit_of_its_own(executor: Executor) -> None:
    assert kind(executor.run("onlineshop", ENDLESS, limit_s=0.1)) == "timeout"


def test_one_opcode_that_does_not_end_costs_the_worker(files: dict[str, Path]) -> None:
    """The progress handler is not asked inside an opcode; only killing helps. Without setlimit texts can be so long."""
    tenfold = "'aaaaaaaaaa'"
    for letters in ("ab", "bc", "cd", "de", "ef"):
        tenfold = f"replace({tenfold}, '{letters[0]}', '{letters[1] * 10}')"
    stuck = f"WITH t(x) AS (SELECT {tenfold}) SELECT instr(x, substr(x, 1, 500000) || 'g') FROM t"
    with Executor(files, 1, limit_s=0.3, options=("without-setlimit",)) as executor:
        executor.run("onlineshop", "SELECT 1")
        before = executor.pids
        begin = time.monotonic()
        assert kind(executor.run("onlineshop", stuck)) == "timeout"
        assert time.monotonic() - begin < 2 and executor.pids == () and gone(before[0])
        assert rows(executor.run("onlineshop", "SELECT 1")) == ((1,),)


def test_a_killed_worker_is_an_error_and_the_pool_goes_on(files: dict[str, Path]) -> None:
    with Executor(files, 1, limit_s=5.0) as executor, ThreadPoolExecutor(1) as thread:
        executor.run("onlineshop", "SELECT 1")
        (pid,) = executor.pids
        running = thread.submit(executor.run, "onlineshop", ENDLESS)
        time.sleep(0.2)
        os.kill(pid, signal.SIGKILL)
        answer = running.result(2)
        assert isinstance(answer, SqlError) and (answer.kind, answer.status) == ("worker_died", "error")
        assert rows(executor.run("onlineshop", "SELECT 1")) == ((1,),) and gone(pid)


def test_a_worker_killed_between_queries_costs_nobody_anything(files: dict[str, Path]) -> None:
    with Executor(files, 1) as executor:
        for _ in range(5):
            executor.run("onlineshop", "SELECT 1")
            os.kill(executor.pids[0], signal.SIGKILL)
            time.sleep(0.05)    # until the system has done it
            assert rows(executor.run("onlineshop", "SELECT 1")) == ((1,),)


def test_a_stopped_worker_is_killed(files: dict[str, Path]) -> None:
    with Executor(files, 1, limit_s=0.3) as executor:
        executor.run("onlineshop", "SELECT 1")
        (pid,) = executor.pids
        os.kill(pid, signal.SIGSTOP)
        assert kind(executor.run("onlineshop", "SELECT 1")) == "timeout"
        assert gone(pid)


def test_a_worker_that_uses_up_its_cpu_is_a_timeout(files: dict[str, Path]) -> None:
    with Executor(files, 1, limit_s=5.0) as executor, ThreadPoolExecutor(1) as thread:
        executor.run("onlineshop", "SELECT 1")
        running = thread.submit(executor.run, "onlineshop", ENDLESS)
        time.sleep(0.1)
        os.kill(executor.pids[0], signal.SIGXCPU)   # what the system sends
        assert kind(running.result(2)) == "timeout"


def test_a_worker_out_of_memory_is_replaced(files: dict[str, Path]) -> None:
    with Executor(files, 1, limit_s=3.0) as executor:
        executor.run("onlineshop", "SELECT 1")
        sort = "SELECT a.name || b.name || c.name AS x FROM kunden a, kunden b, kunden c ORDER BY x"
        assert kind(executor.run("onlineshop", sort)) == "memory"
        assert executor.pids == ()
        assert rows(executor.run("onlineshop", "SELECT 1")) == ((1,),)


def test_a_worker_is_replaced_after_its_share_of_queries(files: dict[str, Path],
                                                         monkeypatch: pytest.MonkeyPatch) -> None:
    assert pool.QUERIES_A_WORKER == 1_000
    monkeypatch.setattr(pool, "QUERIES_A_WORKER", 3)
    with Executor(files, 1) as executor:
        seen = []
        for _ in range(7):
            executor.run("onlineshop", "SELECT 1")
            seen += executor.pids
        assert [seen.count(pid) for pid in dict.fromkeys(seen)] == [3, 3, 1]
        assert all(gone(pid) for pid in seen[:6])


# --- threads ----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("threads", "most"), [(1, 1), (4, 1), (5, 2), (8, 2), (256, 64)])
def test_workers_for_threads(threads: int, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(1000)), raising=False)
    assert workers_for(threads) == most
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    assert workers_for(threads) == min(2, most)


def test_256_threads_share_two_workers(files: dict[str, Path]) -> None:
    wrong = []

    def ask(number: int) -> None:
        answer = executor.run("onlineshop", f"SELECT {number}, count(*) FROM kunden WHERE nr <= {number % 200}")
        if rows(answer) != ((number, number % 200),):
            wrong.append(answer)

    with Executor(files, 2, limit_s=10.0) as executor:
        assert executor.pids == (), "started when they are needed"
        with ThreadPoolExecutor(256) as threads:
            list(threads.map(ask, range(1024)))
        assert 1 <= len(executor.pids) <= 2 and not wrong


def test_one_thread_starts_one_worker(files: dict[str, Path]) -> None:
    with Executor(files, 8) as executor:
        for _ in range(5):
            executor.run("onlineshop", "SELECT 1")
        assert len(executor.pids) == 1


def test_waiting_for_a_worker_does_not_count(files: dict[str, Path]) -> None:
    with Executor(files, 1, limit_s=0.3) as executor, ThreadPoolExecutor(4) as threads:
        bombs = [threads.submit(executor.run, "onlineshop", ENDLESS) for _ in range(3)]
        good = threads.submit(executor.run, "onlineshop", "SELECT 1")
        assert rows(good.result(5)) == ((1,),) and {kind(b.result(5)) for b in bombs} == {"timeout"}
        assert sum(b.result().ms for b in bombs) < 1_500, "each its own 300 ms, not the others'"


def test_closing_ends_what_runs_and_what_waits(files: dict[str, Path]) -> None:
    executor = Executor(files, 1, limit_s=20.0)
    with ThreadPoolExecutor(4) as threads:
        running = [threads.submit(executor.run, "onlineshop", ENDLESS) for _ in range(4)]
        assert wait_for(lambda: bool(executor.pids))
        time.sleep(0.1)
        (pid,) = executor.pids
        begin = time.monotonic()
        executor.close()
        assert all(isinstance(r.exception(2), WorldNotReadyError) for r in running)
        assert time.monotonic() - begin < 1.5
    assert gone(pid) and executor.pids == ()
    executor.close()
    with pytest.raises(WorldNotReadyError, match="closed"):
        executor.run("onlineshop", "SELECT 1")


def test_who_waits_for_a_worker_that_never_comes_is_woken_by_closing(files: dict[str, Path]) -> None:
    executor = Executor(files, 1)
    executor._free.get()    # lost by a thread that Ctrl-C hit before it could give the place back
    with ThreadPoolExecutor(3) as threads:
        waiting = [threads.submit(executor.run, "onlineshop", "SELECT 1") for _ in range(3)]
        time.sleep(0.1)
        executor.close()
        assert all(isinstance(w.exception(2), WorldNotReadyError) for w in waiting)


# --- what is left behind ----------------------------------------------------------------------------------------------

@pytest.mark.skipif(not LINUX, reason="reads /proc")
def test_a_worker_has_no_descriptor_no_environment_and_a_group_of_its_own(files: dict[str, Path]) -> None:
    reader, writer = os.pipe()
    os.set_inheritable(writer, True)
    with Executor(files, 1) as executor:
        executor.run("onlineshop", "SELECT 1")
        (pid,) = executor.pids
        assert sorted(int(p.name) for p in Path(f"/proc/{pid}/fd").iterdir()) == [0, 1, 2]
        assert Path(f"/proc/{pid}/environ").read_bytes() == b""
        assert os.getpgid(pid) == pid and os.readlink(f"/proc/{pid}/cwd") == "/"
        command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        assert command[1:3] == [b"-I", b"-S"]
        limits = Path(f"/proc/{pid}/limits").read_text("ascii")
        for name, value in (("Max address space", 512 * 2**20), ("Max file size", 0), ("Max open files", 32),
                            ("Max core file size", 0)):
            assert [line.split()[-3:-1] for line in limits.splitlines() if line.startswith(name)] == [
                [str(value), str(value)]], name
        soft, hard = next(line for line in limits.splitlines() if line.startswith("Max cpu time")).split()[3:5]
        assert int(soft) <= 5 and int(hard) == 12_000
    os.close(reader)
    os.close(writer)


SCRIPT = """
import sys, threading, time
from pathlib import Path
from infranode_eval.db_routing.executor import Executor
executor = Executor({"x": Path(sys.argv[1])}, 2, limit_s=30.0)
def bomb():
    try:
        executor.run("x", sys.argv[2])
    except Exception:
        pass
for _ in range(2):
    threading.Thread(target=bomb, daemon=True).start()
while len(executor.pids) < 2:
    time.sleep(0.01)
print(*executor.pids, flush=True)
"""
ENDINGS = [
    # (what the script does next, signal that it gets, why)
    ("", None, "it ends without closing"),
    ("raise ValueError('x')", None, "an exception"),
    ("sys.exit(3)", None, "an exit status"),
    ("time.sleep(30)", signal.SIGINT, "Ctrl-C in another place"),
    ("executor.run('x', sys.argv[2])", signal.SIGINT, "Ctrl-C while it waits"),
    ("time.sleep(30)", signal.SIGTERM, "killed politely"),
    ("time.sleep(30)", signal.SIGKILL, "killed"),
    ("import os; os._exit(0)", None, "no clean-up at all"),
]


@pytest.mark.parametrize(("then", "sent", "why"), ENDINGS, ids=[e[2] for e in ENDINGS])
def test_no_worker_outlives_the_process(files: dict[str, Path], then: str, sent: signal.Signals | None,
                                        why: str) -> None:
    # Where nothing can be cleaned up, a worker ends when its query ends: here the limit that it was sent is short.
    script = SCRIPT if sent not in (signal.SIGTERM, signal.SIGKILL) and "_exit" not in then else SCRIPT.replace(
        "30.0", "0.6")
    process = subprocess.Popen([sys.executable, "-c", script + then, str(files["onlineshop"]), ENDLESS],
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    with process:
        pids = [int(pid) for pid in process.stdout.readline().split()]
        if sent is not None:
            time.sleep(0.1)
            process.send_signal(sent)
        process.wait(5)
    assert len(pids) == 2
    assert wait_for(lambda: all(gone(pid) or is_zombie_of_init(pid) for pid in pids)), why


def is_zombie_of_init(pid: int) -> bool:
    """An orphan that is dead; a container may have no process that collects it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("ascii").rsplit(")", 1)[1].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_an_executor_that_is_forgotten_ends_its_workers(files: dict[str, Path]) -> None:
    executor = Executor(files, 1)
    executor.run("onlineshop", "SELECT 1")
    (pid,) = executor.pids
    del executor
    assert gone(pid)


def test_an_exception_inside_a_with_block_ends_the_workers(files: dict[str, Path]) -> None:
    with pytest.raises(ZeroDivisionError), Executor(files, 1) as executor:
        executor.run("onlineshop", "SELECT 1")
        (pid,) = executor.pids
        raise ZeroDivisionError
    assert gone(pid)


@pytest.mark.skipif(not LINUX, reason="reads /proc")
def test_the_asking_process_keeps_no_descriptor_and_no_thread(files: dict[str, Path]) -> None:
    with Executor(files, 2) as executor:
        executor.run("onlineshop", "SELECT 1")
    before, threads = len(os.listdir("/proc/self/fd")), threading.active_count()
    for _ in range(3):
        with Executor(files, 2) as executor:
            executor.run("onlineshop", "SELECT 1")
            os.kill(executor.pids[0], signal.SIGKILL)
            time.sleep(0.05)
            executor.run("onlineshop", "SELECT 1")
    assert len(os.listdir("/proc/self/fd")) == before
    assert threading.active_count() <= threads      # other tests may have left some of their own
