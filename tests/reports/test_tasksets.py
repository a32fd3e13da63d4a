"""Which set of tasks a run was asked, and what is known about its tasks."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from infranode_eval.reports.archive import run_from_json
from infranode_eval.reports.intake import task_sets
from infranode_eval.reports.tasksets import (
    TaskSet,
    asks_the_same,
    case_sets,
    chain_sets,
    cluster_of,
    clusters_of,
    holds_plays,
    known_sets,
    set_of,
)
from infranode_eval.shipped import DATA
from lm_eval_task.errors import DataError
from lm_eval_task.records import Call, Reply, Task, tasks_fingerprint


@pytest.fixture
def run(make_result, answer):
    return run_from_json(make_result(lambda t: Reply.from_text(answer(t))), "r.json")


def test_sets_of_a_file_are_named_once_each(demo_file, demo_tasks, toolset):
    sets = known_sets(toolset, demo_file)
    assert [s.name for s in sets] == ["core"], "core, full and all are the same tasks here: the first name stays"
    assert sets[0].fingerprint == tasks_fingerprint(demo_tasks)


def test_a_file_without_sets_holds_own_tasks(tmp_path, toolset):
    path = tmp_path / "own.jsonl"
    path.write_text('{"task_id": "a", "question": "Hallo?", "expected": []}\n', "utf-8")
    assert [s.name for s in known_sets(toolset, path)] == ["own tasks"]


def retired(task, date):
    return replace(task, extra={**task.extra, "retired": {"date": date, "reason": "gone"}})


def test_old_results_keep_their_tasks_since_retired_rows_stay_in_the_file(tmp_path, demo_tasks, toolset):
    marked = [retired(t, {0: "2026-12-05", 1: "2027-01-02", 2: "2026-12-05"}[i]) if i < 3 else t
              for i, t in enumerate(demo_tasks)]
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps(t.to_json()) + "\n" for t in marked), "utf-8")
    path.with_suffix(".meta.json").write_text(json.dumps({"version": "v+r3-2027-01-02"}), "utf-8")
    assert [(s.name, s.version, len(s.tasks)) for s in known_sets(toolset, path)] == [
        ("core", "v+r3-2027-01-02", 37), ("core", "v+r2-2026-12-05", 38), ("core", "v", 40)]
    assert known_sets(toolset, path)[-1].fingerprint == tasks_fingerprint(demo_tasks)


@pytest.mark.parametrize("meta", [None, "[", "[]", "{}", '{"version": 3}'])
def test_without_a_readable_version_sets_are_known_all_the_same(tmp_path, demo_file, toolset, meta):
    if meta is not None:
        demo_file.with_suffix(".meta.json").write_text(meta, "utf-8")
    assert [(s.name, s.version) for s in known_sets(toolset, demo_file)] == [("core", None)]


@pytest.mark.parametrize("change, same", [
    ({}, True), ({"category": "other"}, True), ({"question": "Anders?"}, False), ({"expected": ()}, False),
    ({"accept": ((Call("sources"),),)}, False), ({"expect": "ask"}, False)])
def test_a_task_is_its_question_and_its_right_answers(demo_tasks, change, same):
    assert asks_the_same(demo_tasks[0], replace(demo_tasks[0], **change)) is same
    assert not asks_the_same(demo_tasks[0], None)


def test_a_run_is_found_by_hash_or_by_its_documents(run, demo_file, demo_tasks, toolset):
    sets = known_sets(toolset, demo_file)
    few = {t.task_id: t for t in demo_tasks[:5]}
    limited = replace(run, hashes={"tasks": None}, tasks=few, task_count=40)
    other_task = replace(demo_tasks[0], question="Anders gefragt?")
    assert set_of(run, sets) is sets[0]
    assert set_of(limited, sets) is sets[0]
    assert set_of(replace(limited, task_count=41), sets) is None, "another set of which these are a part"
    assert set_of(replace(limited, tasks=few | {other_task.task_id: other_task}), sets) is None
    assert set_of(replace(limited, tasks={}), sets) is None, "no hash, no documents: nothing is known"
    assert set_of(replace(run, hashes={"tasks": "0" * 64}), sets) is None


@pytest.mark.parametrize("call, extra, cluster", [
    (Call("get_city_resource", {"slug": "ulm", "resource": "trees"}), {"phrasing": "p1"}, "trees × p1"),
    (Call("pois", {"slug": "ulm", "type": "police"}), {"phrasing": "p2"}, "police × p2"),
    (Call("weather", {"slug": "ulm"}), {"phrasing": "p3"}, "weather × p3"),
    (Call("weather", {"slug": "ulm"}), {}, "t1"),
    (Call("weather", {"slug": "ulm"}), {"base": "t0"}, "t0"),
])
def test_rows_of_one_template_share_a_cluster(call, extra, cluster):
    assert cluster_of(Task("t1", "?", (call,), extra=extra)) == cluster


def test_a_set_knows_the_difficulty_that_stands_beside_its_file(demo_file, toolset):
    assert known_sets(toolset, demo_file)[0].buckets == {}, "no file beside it"
    tasks = {"routing_named-koeln": {"difficulty": {"margin": 1.5, "neighbours": 0, "bucket": "easy"}}}
    demo_file.with_suffix(".meta.json").write_text(json.dumps({"tasks": tasks}), "utf-8")
    assert known_sets(toolset, demo_file)[0].buckets == {"routing_named-koeln": "easy"}


def test_clusters_are_those_of_templates_only(demo_tasks):
    """The core set was written by hand, and of a user's own tasks nothing is known."""
    tasks = {t.task_id: t for t in demo_tasks}
    assert clusters_of(TaskSet("core", "1", tasks)) == clusters_of(TaskSet("own tasks", "1", tasks)) == {}
    found = clusters_of(TaskSet("extended", "1", tasks))
    assert found["resource_key-koeln-charging"] == found["resource_key-bonn-charging"] == "charging × k1"
    assert found["routing_named-koeln"] == "weather × w1"


def test_the_bench_s_sets_are_known_by_their_hash() -> None:
    names = {known.name: known for known in case_sets()}
    assert list(names) == ["original", "paraphrase", "all"]
    assert [len(known.tasks) for known in names.values()] == [42, 42, 84]
    assert all(known.suite == "bench" and known.version == "bench-2026-12" for known in names.values())
    assert not asks_the_same(names["original"].tasks["S2-9"], names["paraphrase"].tasks["S2-9"])


def test_other_alternatives_make_another_case() -> None:
    case = case_sets()[0].tasks["S1-3"]
    assert asks_the_same(case, replace(case)) and not asks_the_same(case, replace(case, extra={}))


def test_cases_without_a_second_wording_are_one_set(tmp_path) -> None:
    path = tmp_path / "own.jsonl"
    path.write_text('{"id": "S4-1", "stufe": "S4", "frage": "Danke, das war alles.", "erwartet": []}\n', "utf-8")
    assert [known.name for known in case_sets(path)] == ["own"], "the set all would be the same cases once more"


def test_own_cases_are_called_as_their_results_are(tmp_path) -> None:
    path = tmp_path / "own.jsonl"
    path.write_text('{"id": "S4-1", "stufe": "S4", "frage": "Danke, das war alles.", "frage2": "Mehr ist es nicht.", '
                    '"erwartet": []}\n', "utf-8")
    assert [known.name for known in case_sets(path)] == ["own", "own.paraphrase", "own.all"]


def test_a_broken_file_of_cases_is_refused(tmp_path) -> None:
    path = tmp_path / "own.jsonl"
    path.write_text('{"id": "S4-1", "stufe": "S9", "frage": "?", "erwartet": []}\n', "utf-8")
    with pytest.raises(DataError, match='"stufe" must be one of'):
        case_sets(path)


# --- tasks of the suite chain -----------------------------------------------------------------------------------------

@pytest.fixture
def own_plays(tmp_path):
    """own_plays(*sets): a user's own file with the shipped rows of these sets."""
    shipped = DATA / "chain" / "tasks.jsonl"

    def write(*sets):
        path = tmp_path / "samen.jsonl"
        lines = shipped.read_text("utf-8").splitlines(keepends=True)
        path.write_text("".join(line for line in lines if json.loads(line)["set"] in sets), "utf-8")
        return path

    return write


def test_the_shipped_plays_are_known_by_their_sets_and_worlds(toolset) -> None:
    found = {known.name: known for known in chain_sets(toolset)}
    assert {"full", "core", "control", "reseed"} == found.keys()
    assert len(found["full"].tasks) == len(found["core"].tasks) + len(found["control"].tasks)
    assert found["core"].world == found["full"].world != found["reseed"].world
    assert all(known.suite == "chain" for known in found.values())
    assert len(set(clusters_of(found["core"]).values())) < len(found["core"].tasks), "templates make several tasks"


@pytest.mark.parametrize("sets, names", [
    (("core", "control"), {"samen", "samen.core", "samen.control"}), (("core",), {"samen"}),
    (("reseed",), {"samen.reseed"})])
def test_plays_of_ones_own_are_called_after_their_file(own_plays, toolset, sets, names) -> None:
    path = own_plays(*sets)
    assert holds_plays(path) and {known.name for known in chain_sets(toolset, path)} == names
    assert {known.name for known in task_sets(toolset, [str(path)], print)} >= names


def test_other_files_hold_no_plays(demo_file, tmp_path, toolset, own_plays) -> None:
    broken = tmp_path / "broken.jsonl"
    broken.write_text("[1]\n", "utf-8")
    assert not any(map(holds_plays, (demo_file, broken, tmp_path / "missing.jsonl")))
    path = own_plays("core")
    path.write_text(path.read_text("utf-8").replace('"must_call"', '"may_call"'), "utf-8")
    with pytest.raises(DataError, match="samen.jsonl:1: .*must_call"):
        chain_sets(toolset, path)
