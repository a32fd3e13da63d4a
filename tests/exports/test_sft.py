"""Fine-tuning rows: the benchmark's prompts, the gold as reply, and the libraries that read them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from infranode_eval.exports import sft
from infranode_eval.exports.material import Material
from lm_eval_task.metrics import score_reply
from lm_eval_task.prompt import MODES, messages
from lm_eval_task.records import Call, Reply, Task
from lm_eval_task.tools import Toolset, read_tools
from tests.exports.chat_template import TEMPLATE
from tests.exports.trial_data import maker
from tests.needs import need
from tests.tiny_model import make_tiny_model

TOOLS = read_tools()
Make = Callable[..., Material]
ONE = Task("one", "Wie ist das Wetter in Köln?", (Call("weather", {"slug": "koeln"}),))
TWO = Task("two", "Wetter in Köln, und die Quellen?", (Call("weather", {"slug": "koeln"}), Call("sources")))
NONE = Task("none", "Buch mir ein Zimmer.", ())
ANSWERED = Task("answered", "Buch mir ein Zimmer.", (), extra={"answer": "Buchen kann ich nicht."})


@pytest.fixture
def material(tmp_path: Path) -> Make:
    return maker(tmp_path)


def rows(made: Any) -> list[dict[str, Any]]:
    (content,) = (content for name, content in made.files.items() if name.endswith(".jsonl"))
    return [json.loads(line) for line in content.decode("utf-8").splitlines()]


def test_an_openai_row_has_the_benchmarks_prompt_and_arguments_as_text() -> None:
    row = sft.openai_row(ONE, TOOLS, "native")
    assert row["messages"][:-1] == messages("native", TOOLS, ONE.question)
    assert row["messages"][-1] == {"role": "assistant", "tool_calls": [
        {"id": "call_0", "type": "function", "function": {"name": "weather", "arguments": '{"slug": "koeln"}'}}]}
    assert row["tools"] == TOOLS.to_json() and row["parallel_tool_calls"] is False
    assert sft.openai_row(TWO, TOOLS, "native")["parallel_tool_calls"] is True


def test_a_trl_row_has_arguments_as_objects_and_tools_as_text() -> None:
    row = sft.trl_row(ONE, TOOLS, "native")
    assert row["prompt"] == messages("native", TOOLS, ONE.question)
    assert row["completion"] == [{"role": "assistant", "content": "", "tool_calls": [
        {"type": "function", "function": {"name": "weather", "arguments": {"slug": "koeln"}}}]}]
    assert json.loads(row["tools"]) == TOOLS.to_json()


@pytest.mark.parametrize("row_of", [sft.openai_row, sft.trl_row])
def test_prompted_rows_hold_the_call_as_text_and_no_tools(row_of: Callable[..., Any]) -> None:
    row = row_of(ONE, TOOLS, "prompt")
    said = row["messages"][-1] if "messages" in row else row["completion"][0]
    assert "tools" not in row and json.loads(said["content"]) == ONE.expected[0].to_json()


@pytest.mark.parametrize("row_of", [sft.openai_row, sft.trl_row])
def test_a_refusal_is_learned_only_where_the_row_has_a_sentence(row_of: Callable[..., Any]) -> None:
    assert row_of(NONE, TOOLS, "native") is None
    row = row_of(ANSWERED, TOOLS, "native")
    said = row["messages"][-1] if "messages" in row else row["completion"][0]
    assert said == {"role": "assistant", "content": "Buchen kann ich nicht."}


@pytest.mark.parametrize("mode", MODES)
def test_every_exported_reply_scores_1(material: Make, mode: str) -> None:
    made = sft.exported(material("sft-openai", mode=mode))
    found = rows(made)
    assert len(found) == len(made.material.tasks) > 20
    for task, row in zip(made.material.tasks, found, strict=True):
        assert score_reply(task, Reply(row["messages"][-1], "stop"), TOOLS, mode).call_match, task.task_id


def test_rows_without_a_sentence_are_left_out_and_counted(material: Make) -> None:
    made = sft.exported(material("sft-openai", which="abstain", split="all", contaminate=True))
    assert len(rows(made)) == 2
    assert made.notes == ("5 left out: no call is right, and the row has no sentence to learn",)


def test_openai_takes_every_row(material: Make) -> None:
    need("openai")
    from openai.types import chat
    from pydantic import TypeAdapter

    said = TypeAdapter(list[chat.ChatCompletionMessageParam])
    offered = TypeAdapter(list[chat.ChatCompletionToolParam])
    for row in rows(sft.exported(material("sft-openai"))):
        said.validate_python(row["messages"])
        offered.validate_python(row["tools"])


@pytest.mark.parametrize("form", ["sft-openai", "sft-trl"])
def test_datasets_reads_every_row_as_it_was_written(material: Make, tmp_path: Path, form: str) -> None:
    datasets = need("datasets")
    made = sft.exported(material(form))
    (tmp_path / "train.jsonl").write_bytes(made.files["train.jsonl"])
    read = datasets.load_dataset("json", data_files=str(tmp_path / "train.jsonl"), split="train",
                                 cache_dir=str(tmp_path / "cache"))
    assert list(read) == rows(made)


@pytest.mark.parametrize("mode", MODES)
def test_trl_trains_a_step_on_it(tmp_path: Path, mode: str) -> None:
    trl, datasets, transformers = need("trl"), need("datasets"), need("transformers")
    model = make_tiny_model(tmp_path / "model")
    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    tokenizer.chat_template = TEMPLATE
    row = sft.trl_row(ONE, Toolset.of([TOOLS.by_name["weather"]]), mode)
    settings = trl.SFTConfig(str(tmp_path / "out"), max_steps=1, per_device_train_batch_size=1, max_length=None,
                             report_to=[], save_strategy="no", use_cpu=True, bf16=False, disable_tqdm=True)
    trainer = trl.SFTTrainer(str(model), settings, train_dataset=datasets.Dataset.from_list([row]),
                             processing_class=tokenizer)
    (one,) = trainer.train_dataset
    learned = tokenizer.decode([label for label in one["labels"] if label != -100])
    gold = row["completion"][0].get("tool_calls")
    assert (json.dumps(gold[0]["function"]["arguments"]) if gold else row["completion"][0]["content"]) in learned
    assert "Frage" not in learned and "Werkzeuge" not in learned
    assert trainer.train().training_loss > 0
