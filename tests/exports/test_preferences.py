"""Preference pairs: stored wrong replies as they were received, failures and right ones left out."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from infranode_eval.exports import preferences, sft
from infranode_eval.exports.material import Material, for_training
from lm_eval_task.errors import DataError
from lm_eval_task.metrics import score_reply
from lm_eval_task.prompt import messages, prompt_fingerprint
from lm_eval_task.records import Call, Reply, Score, Task
from lm_eval_task.tools import Toolset, read_tools
from tests.conftest import result_json
from tests.exports.chat_template import TEMPLATE
from tests.exports.trial_data import maker
from tests.needs import need
from tests.tiny_model import make_tiny_model

TOOLS = read_tools()
Make = Callable[..., Material]
WRONG = ' {"name": "get_city", "arguments": {"slug": "Köln"}} \n'


@pytest.fixture
def material(tmp_path: Path) -> Make:
    return maker(tmp_path)


def native_call(arguments: str) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": [
        {"id": "x", "type": "function", "function": {"name": "get_city", "arguments": arguments}}]}


@pytest.fixture
def stored(tmp_path: Path, material: Make) -> Callable[..., str]:
    """stored(replier, **header): the path of a results file over the rows of the split train."""
    def write(replier: Callable[[Task], Reply | Score], name: str = "r", **header: Any) -> str:
        tasks = for_training(material("dpo")).tasks
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(result_json(tasks, replier, TOOLS, set="extended", **header)), "utf-8")
        return str(path)

    return write


def pairs(material: Make, *files: str, **more: Any) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    made = preferences.exported(material("dpo", results=files, **more))
    return [json.loads(line) for line in made.files["train.jsonl"].decode().splitlines()], made.notes


def test_a_pair_is_the_prompt_the_gold_and_the_reply_as_received(material: Make, stored: Callable[..., str]) -> None:
    rows, notes = pairs(material, stored(lambda task: Reply.from_text(WRONG)))
    tasks = for_training(material("dpo")).tasks
    assert [row["task_id"] for row in rows] == [task.task_id for task in tasks]
    for row, task in zip(rows, tasks, strict=True):
        assert row["prompt"] == messages("prompt", TOOLS, task.question)
        assert row["rejected"] == [{"role": "assistant", "content": WRONG}]
        assert score_reply(task, Reply(row["chosen"][0], "stop"), TOOLS).call_match
        assert not score_reply(task, Reply(row["rejected"][0], "stop"), TOOLS).call_match
        assert row["source"] in ("demo: wrong_tool", "demo: wrong_args", "demo: missing_calls")
    assert notes == (f"{len(tasks)} pairs from 1 files",)


def test_the_same_reply_of_two_runs_is_one_pair(material: Make, stored: Callable[..., str]) -> None:
    files = [stored(lambda task: Reply.from_text(WRONG), name) for name in "ab"]
    rows, notes = pairs(material, *files)
    n = len(for_training(material("dpo")).tasks)
    assert len(rows) == n and f"{n} left out: the same reply to the same task" in notes


def only_first(material: Make, odd: Reply | Score) -> Callable[[Task], Reply | Score]:
    first = for_training(material("dpo")).tasks[0]
    return lambda task: odd if task.task_id == first.task_id else Reply.from_text(WRONG)


@pytest.mark.parametrize(("odd", "reason"), [
    (Score.failure("infra_error", "no answer"), "failures, not replies"),
    (Reply.from_text('{"name": "get_city", "argu', "length"), "replies that the budget cut"),
])
def test_what_is_no_wrong_reply_is_left_out_and_counted(
        material: Make, stored: Callable[..., str], odd: Reply | Score, reason: str) -> None:
    rows, notes = pairs(material, stored(only_first(material, odd)))
    assert len(rows) == len(for_training(material("dpo")).tasks) - 1 and f"1 left out: {reason}" in notes


def test_a_right_reply_is_no_pair(material: Make, stored: Callable[..., str], answer: Callable[[Task], str]) -> None:
    first = for_training(material("dpo")).tasks[0]
    rows, _ = pairs(material, stored(only_first(material, Reply.from_text(answer(first)))))
    assert first.task_id not in {row["task_id"] for row in rows}


def test_native_pairs_hold_tool_calls_and_the_tools(material: Make, stored: Callable[..., str]) -> None:
    path = stored(lambda task: Reply(native_call('{"slug": "x"}'), "tool_calls"), mode="native")
    rows, _ = pairs(material, path, mode="native")
    assert rows[0]["rejected"] == [{"role": "assistant", "content": "", "tool_calls": [
        {"type": "function", "function": {"name": "get_city", "arguments": {"slug": "x"}}}]}]
    assert json.loads(rows[0]["tools"]) == TOOLS.to_json()


def test_native_calls_with_unreadable_arguments_have_no_place_in_a_chat_template(
        material: Make, stored: Callable[..., str]) -> None:
    path = stored(only_first(material, Reply(native_call('{"slug": '), "tool_calls")), mode="native")
    _, notes = pairs(material, path, mode="native")
    assert "1 left out: replies without a text or a readable tool call" in notes


@pytest.mark.parametrize(("right", "stored_as"), [(True, False), (False, True)])
def test_a_reply_must_have_been_wrong_and_be_wrong_today(
        material: Make, stored: Callable[..., str], answer: Callable[[Task], str], right: bool, stored_as: bool
        ) -> None:
    first = for_training(material("dpo")).tasks[0]
    path = Path(stored(only_first(material, Reply.from_text(answer(first) if right else WRONG))))
    result = json.loads(path.read_text("utf-8"))
    result["rows"][0]["call_match"] = stored_as
    path.write_text(json.dumps(result), "utf-8")
    rows, notes = pairs(material, str(path))
    assert first.task_id not in {row["task_id"] for row in rows}
    assert ("1 left out: replies that the task as it is now takes for right" in notes) == right


HASHES = {"tools": TOOLS.fingerprint, "prompt": prompt_fingerprint("prompt", TOOLS)}


@pytest.mark.parametrize("header", [
    {"mode": "native"}, {"hashes": {**HASHES, "tools": "x"}}, {"hashes": {**HASHES, "prompt": "x"}},
    {"settings": {"arm": "english"}}, {"settings": {"shuffle_tools": 1}}])
def test_a_run_whose_model_saw_another_prompt_gives_none(
        material: Make, stored: Callable[..., str], header: dict[str, Any]) -> None:
    with pytest.raises(DataError, match="no wrong reply to any of the .* chosen tasks in 1 result files"):
        pairs(material, stored(lambda task: Reply.from_text(WRONG), **header))


@pytest.mark.parametrize("mode", ["prompt", "native"])
def test_trl_trains_a_step_on_it(tmp_path: Path, mode: str) -> None:
    trl, datasets, transformers = need("trl"), need("datasets"), need("transformers")
    task = Task("one", "Wie ist das Wetter in Köln?", (Call("weather", {"slug": "koeln"}),))
    wrong = Reply.from_text(WRONG) if mode == "prompt" else Reply(native_call('{"slug": "x"}'), "tool_calls")
    row = preferences.pair(task, preferences.rejected_message(wrong), Toolset.of([TOOLS.by_name["weather"]]), mode)
    (tmp_path / "train.jsonl").write_bytes(sft.lines([row]))
    read = datasets.load_dataset("json", data_files=str(tmp_path / "train.jsonl"), split="train",
                                 cache_dir=str(tmp_path / "cache"))
    model = make_tiny_model(tmp_path / "model")
    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    tokenizer.chat_template = TEMPLATE
    settings = trl.DPOConfig(str(tmp_path / "out"), max_steps=1, per_device_train_batch_size=1, max_length=None,
                             report_to=[], save_strategy="no", use_cpu=True, bf16=False, disable_tqdm=True)
    trainer = trl.DPOTrainer(str(model), args=settings, train_dataset=read, processing_class=tokenizer)
    (one,) = trainer.train_dataset
    assert "get_city" in tokenizer.decode(one["rejected_ids"])
    assert "weather" in tokenizer.decode(one["chosen_ids"]) and "get_city" not in tokenizer.decode(one["chosen_ids"])
    assert trainer.train().training_loss > 0
