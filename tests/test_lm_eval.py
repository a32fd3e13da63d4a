"""The real lm-evaluation-harness loads and runs the suite. Needs lm-eval (see pyproject, extra `harness`)."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from lm_eval_task import bench_harness, harness
from tests.needs import need

lm_eval = need("lm_eval")
FOLDER = Path(harness.__file__).resolve().parent


@pytest.fixture(scope="module")
def manager():
    from lm_eval.tasks import TaskManager
    return TaskManager(include_path=str(FOLDER), include_defaults=False)


def scripted_model(reply_of):
    """An lm-eval model that answers each prompt with reply_of(question)."""
    from lm_eval.api.model import LM

    class Scripted(LM):
        def generate_until(self, requests, disable_tqdm=False):
            return [reply_of(request.args[0].rsplit("\n", 1)[1]) for request in requests]

        def loglikelihood(self, requests, disable_tqdm=False):
            raise NotImplementedError

        def loglikelihood_rolling(self, requests, disable_tqdm=False):
            raise NotImplementedError

    return Scripted()


def evaluate(manager, tasks, reply_of, **kwargs):
    from lm_eval import simple_evaluate
    return simple_evaluate(model=scripted_model(reply_of), tasks=tasks, task_manager=manager, bootstrap_iters=100,
                           **kwargs)


def golds(*sets):
    """A right reply to each question; the same words have the same gold in every set."""
    result = {}
    for doc in (doc for which in sets or ("full", "robust", "abstain") for doc in harness.documents(which)):
        calls = json.loads(doc["row"])["expected"]
        result[doc["question"]] = json.dumps(calls[0] if len(calls) == 1 else calls, ensure_ascii=False) if calls \
            else "Dafür passt keines der Werkzeuge."
    return result


TASKS = ["infranode_tools_de", "infranode_tools_de_full", "infranode_tools_de_robust", "infranode_tools_de_abstain"]


@pytest.mark.parametrize("task", TASKS)
def test_the_yaml_loads_with_all_functions_resolved(manager, task):
    loaded = manager.load([task])["tasks"][task]
    doc = next(iter(loaded.test_docs()))
    assert loaded.doc_to_text(doc).endswith("\n" + doc["question"])
    assert loaded.config.generation_kwargs["until"] == []
    assert loaded.config.generation_kwargs["max_gen_toks"] == 160


@pytest.mark.parametrize("task", TASKS)
def test_shared_metrics_stand_in_every_variant(task):
    shared = (FOLDER / "_infranode_tools_de_yaml").read_text().split("metric_list:\n")[1]
    assert shared in (FOLDER / f"{task}.yaml").read_text()


@pytest.mark.parametrize("task", TASKS)
def test_declared_category_metrics_are_those_of_the_data(manager, task):
    loaded = manager.load([task])["tasks"][task]
    declared = {m["metric"] for m in loaded.config.metric_list if m["metric"].startswith("call_match_")}
    assert declared == {f"call_match_{doc['category']}" for doc in loaded.test_docs()}


@pytest.mark.parametrize("task", TASKS)
def test_oracle_gets_everything(manager, task):
    gold = golds()
    results = evaluate(manager, [task], gold.__getitem__)["results"][task]
    scores = {k.removesuffix(",none"): v for k, v in results.items() if k.endswith(",none") and "stderr" not in k}
    assert [scores.pop(outcome) for outcome in harness.UNREAD] == [0.0] * 4
    assert len(scores) >= 9 + 7
    assert set(scores.values()) == {1.0}


def test_silence_gets_nothing_where_a_call_is_expected(manager):
    out = evaluate(manager, ["infranode_tools_de"], lambda _: "Das weiß ich nicht.")
    results = out["results"]["infranode_tools_de"]
    assert results["call_match,none"] == results["ability,none"] == results["parsed,none"] == 0.0


def test_the_group_averages_its_categories_and_gives_standard_errors(manager):
    gold = golds("core")
    wrong = {doc["question"] for doc in harness.documents("core", "poi_type")}
    out = evaluate(manager, ["infranode_tools_de_categories"], lambda q: "nein" if q in wrong else gold[q])
    assert out["results"]["infranode_tools_de_poi_type"]["call_match,none"] == 0.0
    assert out["results"]["infranode_tools_de_resource_key"]["call_match_stderr,none"] == 0.0
    assert out["groups"]["infranode_tools_de_categories"]["call_match,none"] == pytest.approx(6 / 7)


def test_limit_and_samples(manager):
    gold = golds()
    out = evaluate(manager, ["infranode_tools_de"], gold.__getitem__, limit=5, log_samples=True)
    samples = out["samples"]["infranode_tools_de"]
    assert len(samples) == 5
    assert all(s["call_match"] == 1.0 and json.loads(s["target"]) for s in samples)


def test_chat_template_and_system_instruction_leave_the_question_last(manager):
    from lm_eval import simple_evaluate
    seen = []

    class Chat(type(scripted_model(str))):
        tokenizer_name = "scripted"

        def apply_chat_template(self, chat_history, add_generation_prompt=True):
            seen.append(chat_history)
            return "\n".join(m["content"] for m in chat_history)

        def chat_template(self, chat_template=False):
            return ""

        def generate_until(self, requests, disable_tqdm=False):
            return ["nein"] * len(requests)

    simple_evaluate(model=Chat(), tasks=["infranode_tools_de"], task_manager=manager, limit=2, bootstrap_iters=0,
                    apply_chat_template=True, system_instruction="Antworte knapp.")
    assert [m["role"] for m in seen[0]] == ["system", "user"]
    assert seen[0][1]["content"] == harness.doc_to_text(harness.documents("core")[0])


def run_lm_eval(cwd, include_path, *args):
    env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {"HF_HUB_OFFLINE": "1"}
    return subprocess.run([sys.executable, "-m", "lm_eval", "run", "--include_path", str(include_path), "--model",
                           "dummy", "--tasks", "infranode_tools_de", "--limit", "2", *args], cwd=cwd, env=env,
                          capture_output=True, text=True, timeout=300)


def test_the_command_works_from_any_folder(tmp_path):
    done = run_lm_eval(tmp_path, FOLDER, "--output_path", str(tmp_path / "out"), "--log_samples")
    assert done.returncode == 0, done.stderr[-2000:]
    assert "call_match_resource_key" in done.stdout
    assert list((tmp_path / "out").rglob("samples_infranode_tools_de_*.jsonl"))


# --- the test bench ---------------------------------------------------------------------------------------------------

BENCH = "infranode_bench_de"


def bench_golds():
    """A right reply to each question of the test bench."""
    result = {}
    for doc in bench_harness.documents():
        calls = json.loads(doc["row"])["expected"]
        result[doc["question"]] = json.dumps(calls[0] if len(calls) == 1 else calls, ensure_ascii=False) if calls \
            else "Welche Angabe gilt?"
    return result


def test_the_bench_loads_with_its_own_budget(manager):
    loaded = manager.load([BENCH])["tasks"][BENCH]
    docs = list(loaded.test_docs())
    assert len(docs) == 42
    assert all(loaded.doc_to_text(doc).endswith("\n" + doc["question"]) for doc in docs)
    assert loaded.config.generation_kwargs["until"] == []
    assert loaded.config.generation_kwargs["max_gen_toks"] == 512
    assert {m["metric"] for m in loaded.config.metric_list} == bench_harness.process_results(docs[0], [""]).keys()


def scores_of(manager, reply_of):
    results = evaluate(manager, [BENCH], reply_of)["results"][BENCH]
    return {k.removesuffix(",none"): v for k, v in results.items() if k.endswith(",none") and "stderr" not in k}


def test_the_oracle_gets_every_case_of_the_bench(manager):
    scores = scores_of(manager, bench_golds().__getitem__)
    assert scores.pop("schritte_je_auftrag") == pytest.approx(37 / 42)
    assert (scores.pop("first_step_only"), scores.pop("claims_done"), scores.pop("asked_right")) == (0.0, 0.0, 0.0)
    assert set(scores.values()) == {1.0}
    assert len(scores) == 14


def test_the_fixture_of_the_bench_has_its_numbers_in_lm_eval(manager):
    cases = {doc["task_id"]: doc["question"] for doc in bench_harness.documents()}
    replies = bench_golds()
    replies[cases["S2-9"]] = replies[cases["S2-9"]].replace("besprechung", "raum")
    replies[cases["S5-8"]] = ('[{"name": "list_calendars", "arguments": {}}, {"name": "get_events", "arguments": '
                              '{"calendar": "team", "date_from": "2026-04-14", "date_to": "2026-04-14"}}]')
    scores = scores_of(manager, replies.__getitem__)
    wanted = {"auftraege_gelungen": 40 / 42, "stillgehalten": 13 / 14, "formkorrekt": 28 / 28,
              "richtig_je_schritt": 36 / 37, "schritte_je_auftrag": 39 / 42, "call_match_S2": 11 / 12,
              "call_match_S5": 7 / 8, "call_match_S1": 1.0}
    assert {name: scores[name] for name in wanted} == pytest.approx(wanted)


def copy_of_the_task(folder):
    import shutil
    shutil.copytree(FOLDER, folder / "lm_eval_task", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("tools.json", "tasks.jsonl"):
        shutil.copy(FOLDER.parent / name, folder / "lm_eval_task")
    return folder / "lm_eval_task"


@pytest.mark.parametrize(("damage", "message"), [
    (lambda folder: (folder / "tasks.jsonl").unlink(), "tasks.jsonl: cannot be read"),
    (lambda folder: (folder / "tasks.jsonl").write_text('{"task_id": "a"\n'), "tasks.jsonl:1: is not JSON"),
], ids=["missing", "broken"])
def test_a_missing_or_broken_dataset_is_said_clearly(tmp_path, damage, message):
    folder = copy_of_the_task(tmp_path)
    damage(folder)
    done = run_lm_eval(tmp_path, folder)
    assert done.returncode != 0
    assert message in done.stdout + done.stderr


def test_a_left_over_empty_package_elsewhere_does_not_win(tmp_path):
    (tmp_path / "stale" / "lm_eval_task").mkdir(parents=True)
    code = ("import sys; sys.path.append(sys.argv[1]); import importlib.util as u;"
            "s = u.spec_from_file_location('hooks', sys.argv[2]); m = u.module_from_spec(s); s.loader.exec_module(m);"
            "print(m.process_results.__module__)")
    done = subprocess.run([sys.executable, "-I", "-c", code, str(tmp_path / "stale"), str(FOLDER / "hooks.py")],
                          capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout.strip() == "lm_eval_task.harness", done.stderr


def test_a_foreign_package_of_the_same_name_is_refused(tmp_path):
    (tmp_path / "lm_eval_task").mkdir()
    (tmp_path / "lm_eval_task" / "__init__.py").write_text("")
    code = ("import sys; sys.path.insert(0, sys.argv[1]); import lm_eval_task; import importlib.util as u;"
            "s = u.spec_from_file_location('hooks', sys.argv[2]); m = u.module_from_spec(s); s.loader.exec_module(m)")
    done = subprocess.run([sys.executable, "-I", "-c", code, str(tmp_path), str(FOLDER / "hooks.py")],
                          capture_output=True, text=True, cwd=tmp_path)
    assert "lm_eval_task was loaded from" in done.stderr


def test_a_random_model_runs_through_the_hf_path(tmp_path):
    """The whole path of `lm_eval --model hf` on a model made on the spot; its score is what chance gives: nothing."""
    need("torch")
    need("transformers")
    from tests.tiny_model import make_tiny_model
    make_tiny_model(tmp_path / "model")
    env = os.environ | {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(
        [sys.executable, "-m", "lm_eval", "run", "--include_path", str(FOLDER), "--model", "hf",
         "--model_args", f"pretrained={tmp_path / 'model'},dtype=float32,max_length=16384", "--device", "cpu",
         "--tasks", "infranode_tools_de", "--limit", "2", "--apply_chat_template", "--log_samples",
         "--gen_kwargs", "max_gen_toks=16", "--output_path", str(tmp_path / "out")],
        cwd=tmp_path, env=env, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]
    results = json.loads(next((tmp_path / "out").rglob("results_*.json")).read_text())["results"]
    assert results["infranode_tools_de"]["call_match,none"] == 0.0
