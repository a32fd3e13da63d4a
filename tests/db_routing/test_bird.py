"""A folder in BIRD's layout: read in spite of its oddities, played and scored as the embedded panel is."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import run_eval
from infranode_eval.db_routing.bird import Bird, BirdPanel, bird_panel
from infranode_eval.db_routing.bird_files import Asked
from infranode_eval.db_routing.bird_hardness import NONE, graded
from infranode_eval.db_routing.rows import Rows
from infranode_eval.db_routing.tasks import tasks_of
from infranode_eval.db_routing.world import World
from lm_eval_task.errors import DataError
from tests.db_routing.bird_folder import MARKER, PARAGRAPHS, write_folder
from tests.stub_endpoint import React, Request, StubEndpoint, vendor_body

SCHEMA = Path(__file__).parents[2] / "infranode_eval/data/result.schema.json"
HAS_SKLEARN = importlib.util.find_spec("sklearn") is not None


@pytest.fixture(autouse=True)
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "none")


@pytest.fixture
def bird(tmp_path: Path) -> Bird:
    folder = write_folder(tmp_path / "folder")
    return Bird(folder, folder / "descriptions.json", NONE, tmp_path / "results")


def read(bird: Bird) -> BirdPanel:
    bird_panel.cache_clear()
    return bird_panel(bird)


def test_a_folder_is_a_panel(bird: Bird) -> None:
    panel = read(bird).panel
    tasks = tasks_of(panel)
    assert sorted(task.task_id for task in tasks) == ["dev-10", "dev-11", "dev-12", "dev-13", "dev-14", "train-0",
                                                      "train-1"], "the train split has no ids: its rows are counted"
    assert [task.task_id for task in tasks] == list(panel.order) != sorted(panel.order)
    assert sorted(panel.aliases) == ["db_01", "db_02", "db_03"] and list(panel.aliases.values()) != sorted(
        panel.databases), "aliases are not in the alphabet's order"
    assert {task.bucket for task in tasks} == {"—"} == {task.category for task in tasks}
    one = next(task for task in tasks if task.task_id == "dev-14")
    assert (one.database, one.gold_ordered, one.cluster) == ("toxicology", True, None)
    assert one.expected[0].arguments == {"database": "toxicology"}
    assert read(bird).panel.sha256 == panel.sha256


def test_what_is_left_out_or_allowed_is_told(bird: Bird) -> None:
    notes = list(read(bird).notes)
    assert notes == ["left out, for want of a paragraph: unloved",
                     "paragraphs of databases that the folder lacks: nowhere",
                     "allowed in the paragraph of financial, though names in a schema: client"]
    paragraphs = PARAGRAPHS | {"financial": "Financial matters of people."}
    bird.descriptions.write_text(json.dumps(paragraphs), "utf-8")
    assert "real names stand in so many questions and paragraphs, as words: financial 1" in list(read(bird).notes)


def test_odd_names_values_and_literals_are_read(bird: Bird) -> None:
    panel = read(bird).panel
    world = World({name: one.path for name, one in panel.databases.items()})
    try:
        assert world.table_names("financial").text == "```\nclient\norder\n```"
        assert "A4 share (%)" in world.table("financial", "Client").text
        texts = world.run("toxicology", "SELECT label FROM molecule ORDER BY molecule_id")
        assert isinstance(texts, Rows) and texts.rows == (("+",), ("caf�",), ("-",))
        for task in tasks_of(panel):
            verdict = world.verdict(task.database, task.gold_sql, task.database, task.gold_sql, task.gold_ordered)
            assert verdict.sql_strict, task.gold_sql
        assert world.run("financial", 'SELECT COUNT(*) FROM "order" WHERE k_symbol = "UVER"').literals == ("UVER",)
    finally:
        world.close()


# --- what is broken is told with file and layout ----------------------------------------------------------------------

def _without(name: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).unlink()


def _as(name: str, text: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_text(text, "utf-8")


SQLITE = "dev_databases/financial/financial.sqlite"
ABOUT = "dev_databases/toxicology/database_description"


@pytest.mark.parametrize(("broken", "file", "told"), [
    (lambda folder: [(folder / f"{split}.json").unlink() for split in ("dev", "train")], "folder", "neither dev.json"),
    (_without("dev_tables.json"), "dev_tables.json", "cannot be read"),
    (_as("dev.json", "[{"), "dev.json", "is not JSON"),
    (_as("dev.json", "{}"), "dev.json", "must be a list"),
    (_as("dev.json", '[{"db_id": "financial", "question": "?"}]'), "dev.json", "question 0: db_id, question and SQL"),
    (_as("dev.json", '[{"db_id": "x", "question": "?", "SQL": "SELECT 1"}]'), "dev.json", "x is not in dev_tables"),
    (_as("train_tables.json", '[{"db_id": "movie_platform"}]'), "train_tables.json", "entry 0"),
    (_without(SQLITE), SQLITE, "this database is missing"),
    (_as(SQLITE, "version https://git-lfs"), SQLITE, "is no SQLite database"),
    (lambda folder: (folder / ABOUT).rename(folder / "gone"), ABOUT, "this folder is missing")])
def test_a_broken_part_is_told_with_file_and_layout(
        bird: Bird, broken: Callable[[Path], object], file: str, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    broken(bird.folder)
    bird_panel.cache_clear()
    assert run_eval.main(flags(bird, "--backend", "baseline", "--model", "oracle")) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert file in line and told in line and "<split>_databases/<db>/<db>.sqlite" in line


@pytest.mark.parametrize(("paragraphs", "told"), [
    ({"financial": "Money."}, "1 databases of folder have a paragraph, expected 2 to 40"),
    ({"financial": ""}, "expected an object"), (["financial"], "expected an object"),
    (PARAGRAPHS | {"financial": "Each has a client_id."}, "holds client_id as a schema spells it")])
def test_paragraphs_that_cannot_be_used(bird: Bird, paragraphs: Any, told: str) -> None:
    bird.descriptions.write_text(json.dumps(paragraphs), "utf-8")
    with pytest.raises(DataError, match=told):
        read(bird)


def test_forty_databases_are_the_most(bird: Bird) -> None:
    names = [f"d{number}" for number in range(41)]
    tables = json.loads((bird.folder / "dev_tables.json").read_text("utf-8"))
    tables += [tables[2] | {"db_id": name} for name in names]
    (bird.folder / "dev_tables.json").write_text(json.dumps(tables), "utf-8")
    for name in names:
        home = bird.folder / "dev_databases" / name
        (home / "database_description").mkdir(parents=True)
        (home / f"{name}.sqlite").write_bytes((bird.folder / "dev_databases/unloved/unloved.sqlite").read_bytes())
    for count, fits in ((38, True), (39, False)):
        bird.descriptions.write_text(json.dumps(
            {name: text for name, text in PARAGRAPHS.items() if name in ("financial", "toxicology")}
            | dict.fromkeys(names[:count], "A club.")), "utf-8")
        if fits:
            assert len(read(bird).panel.databases) == 40
        else:
            with pytest.raises(DataError, match="41 databases"):
                read(bird)


# --- runs -------------------------------------------------------------------------------------------------------------

def flags(bird: Bird, *more: str) -> list[str]:
    return ["--suite", "db_routing", "--bird", str(bird.folder), "--descriptions", str(bird.descriptions),
            "--signal", "none", "--out", "r.json", *more]


def test_the_oracle_is_right(bird: Bird, capsys: pytest.CaptureFixture[str]) -> None:
    bird_panel.cache_clear()
    assert run_eval.main(flags(bird, "--backend", "baseline", "--model", "oracle")) == 0
    found = json.loads(Path("r.json").read_text("utf-8"))
    assert found["metrics"]["route_ok"] == found["metrics"]["sql_strict"] == 1.0 and found["metrics"]["ability"] is None
    assert {row["bucket"] for row in found["rows"]} == {"—"} and not [m for m in found["metrics"] if "—" in m]
    facts = found["settings"]["bird"]
    assert (facts["databases"], facts["questions"], facts["train"], facts["left_out"]) == (3, 7, 2, ["unloved"])
    jsonschema.validate(found, json.loads(SCHEMA.read_text("utf-8")))
    assert str(bird.folder) not in Path("r.json").read_text("utf-8")
    told = capsys.readouterr()
    assert "allowed in the paragraph of financial" in told.err and "hard_strict" not in told.out


def prober(request: Request) -> React:
    """Looks at everything, and then declares."""
    if "tools" not in request.body:
        return React(vendor_body("openai", '{"selected_database": "db_01", "sql": "SELECT 1"}'))
    turn = sum(message["role"] == "assistant" for message in request.body["messages"])
    if turn == 3:
        return React(vendor_body("openai", "Fertig."))
    call = {"action": "execute_query", "sql": "SELECT * FROM client JOIN gone"} if turn == 2 else {
        "action": "get_schema"}
    return React(vendor_body("openai", None, (f"db_0{turn + 1}", call)))


def test_no_evidence_no_name_and_no_path_is_sent(bird: Bird) -> None:
    bird_panel.cache_clear()
    with StubEndpoint(prober) as endpoint:
        assert run_eval.main(flags(bird, "--backend", "openai", "--base-url", endpoint.url, "--model", "m")) == 0
    assert len(endpoint.requests) == 7 * 5
    sent = json.dumps([request.body for request in endpoint.requests], ensure_ascii=False)
    assert "How many ratings are there?" in sent and PARAGRAPHS["financial"] in sent
    for number in (*range(6), 100, 101):
        assert MARKER.format(number) in (bird.folder / "dev.json").read_text("utf-8") + (
            bird.folder / "train.json").read_text("utf-8-sig")
        assert MARKER.format(number) not in sent
    folded = sent.casefold()
    assert not [name for name in PARAGRAPHS if name in folded] and str(bird.folder).casefold() not in folded
    kept = Path("r.json").read_text("utf-8") + Path("r.transcripts.jsonl").read_text("utf-8")
    assert "EVIDENCE" not in kept


def test_a_changed_folder_is_another_run(bird: Bird, capsys: pytest.CaptureFixture[str]) -> None:
    def run(*more: str) -> int:
        bird_panel.cache_clear()
        with StubEndpoint(prober) as endpoint:
            return run_eval.main(flags(bird, "--backend", "openai", "--base-url", endpoint.url, "--model", "m",
                                       "--concurrency", "1", *more))

    assert run("--limit", "2") == 0 and run("--limit", "3", "--resume") == 0
    bird.descriptions.write_text(json.dumps(PARAGRAPHS | {"toxicology": "Poisons."}), "utf-8")
    assert run("--limit", "4", "--resume") == 2
    assert "hash of panel" in capsys.readouterr().err


@pytest.mark.parametrize(("more", "told"), [
    (["--bird", "folder"], "needs --descriptions"), (["--descriptions", "d.json"], "--descriptions goes with --bird"),
    (["--signal", "char"], "--signal goes with --bird"),
    (["--embedding-model", "x"], "goes with --model embeddings or --signal embeddings"),
    (["--suite", "single", "--model", "embeddings", "--embedding-model", "x"], "takes no --embedding-model"),
    (["--bird", "folder", "--descriptions", "d.json", "--tasks", "panel"], "leave one out"),
    (["--suite", "single", "--bird", "folder"], "takes no --bird")])
def test_flags_that_do_not_fit_together(more: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_eval.main(["--suite", "db_routing", "--model", "bm25", "--out", "r.json", *more]) == 2
    assert told in capsys.readouterr().err


@pytest.mark.parametrize(("content", "told"), [
    (None, "cannot be read"), ("{", "is not JSON"), ("[]", ""), ('{"bank": " "}', ""), ('{"bank": 1}', "")])
def test_a_file_of_paragraphs_that_cannot_be_used_says_what_it_should_hold(bird: Bird, content: str | None,
                                                                           told: str) -> None:
    bird.descriptions.unlink()
    if content is not None:
        bird.descriptions.write_text(content, "utf-8")
    bird_panel.cache_clear()
    with pytest.raises(DataError, match=rf"{told}.*expected an object: name of a database") as caught:
        bird_panel(bird)
    assert "descriptions.json" in str(caught.value) and "<split>" not in str(caught.value)


# --- hardness ---------------------------------------------------------------------------------------------------------

@pytest.fixture
def questions() -> Iterator[list[Asked]]:
    """Six loans in one database and six in another, all alike, and six stars far away."""
    texts = [(database, f"Which loan was granted to borrower {word}") for database in ("bank", "shop")
             for word in ("alpha", "beta", "gamma", "delta", "kappa", "omega")]
    texts += [("sky", f"How bright does star {word} shine")
              for word in ("vega", "rigel", "spica", "deneb", "mizar", "alkor")]
    yield [Asked(f"dev-{n}", "dev", database, text, "SELECT 1", None) for n, (database, text) in enumerate(texts)]


@pytest.mark.skipif(not HAS_SKLEARN, reason="needs the extra [panel]")
def test_neighbours_are_counted_once_and_kept_beside_the_results(
        questions: list[Asked], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = graded(questions, "char", tmp_path)
    assert first.foreign is not None and first.missing is None and first.told["library"].startswith("scikit-learn")
    assert first.foreign["dev-0"][0] == 6 and first.foreign["dev-12"][0] == 0
    (kept,) = tmp_path.glob("bird-*.hardness.json")
    monkeypatch.setitem(sys.modules, "sklearn", None)
    assert graded(questions, "char", tmp_path) == first, "from the file"
    renamed = [replace(one, question=one.question.replace("loan", "car")) for one in questions]
    assert graded(renamed, "char", tmp_path).foreign is None, "another question is another file"
    kept.write_text("{", "utf-8")
    assert graded(questions, "char", tmp_path).foreign is None, "a broken file is counted anew"


@pytest.mark.skipif(not HAS_SKLEARN, reason="needs the extra [panel]")
def test_names_of_databases_change_no_count(questions: list[Asked], tmp_path: Path) -> None:
    named = [replace(one, database=one.database[::-1]) for one in questions]
    assert graded(named, "char", tmp_path).foreign == graded(questions, "char", tmp_path).foreign


def test_without_scikit_learn_there_are_no_buckets_and_it_is_told(
        bird: Bird, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn", None)
    found = read(replace(bird, signal="char"))
    assert {row["hardness"]["bucket"] for row in found.panel.questions} == {"—"}
    assert any(note.startswith("no buckets: hardness needs scikit-learn") for note in found.notes)
    assert not list(bird.beside.glob("*")), "nothing was counted, so nothing is kept"


@pytest.mark.skipif(not HAS_SKLEARN, reason="needs the extra [panel]")
def test_with_scikit_learn_every_question_has_a_bucket(bird: Bird) -> None:
    found = read(replace(bird, signal="char"))
    assert {task.bucket for task in tasks_of(found.panel)} <= {"neighbour_free", "neighbour_hard"}
    assert found.panel.manifest["hardness"]["signal"] == "char_wb_3_5" and found.panel.manifest["hardness"]["pool"] == 7
