"""The tasks as an environment of the `verifiers` library: the benchmark's prompts, its scorer, and the offline world.

One turn (the default) is the benchmark. With more turns every call is answered from the snapshot, and the model may go
on; the reward judges the first reply all the same. Judged by its last reply, a policy that tries one call after the
other until one fits would be paid like one that knows.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from infranode_eval.exports.packages import load
from infranode_eval.exports.rewards import REWARDS, reward_named
from infranode_eval.exports.world import World, refused
from lm_eval_task.errors import UsageError
from lm_eval_task.metrics import score_reply
from lm_eval_task.parse import calls_from_message
from lm_eval_task.prompt import messages
from lm_eval_task.records import Call, Reply, Score, Task, read_tasks
from lm_eval_task.tools import Toolset, read_tools

_UNREADABLE = '{"error": {"code": "not_sent", "message": "the call cannot be read"}}'    # each call gets its answer
METRICS = ("parsed", "tool_match", "args_match", "request_match")


def open_environment(train: Path, dev: Path | None, tools: Path, *, mode: str = "native", turns: int = 1,
                     reward: str = "shaped", **options: Any) -> Any:
    """A `verifiers.MultiTurnEnv` over the rows of two task files.

    mode: native tool calls or prompted JSON. turns: replies of the model at most. reward: a name of REWARDS; the other
    ones and METRICS are logged with weight 0. options: passed to the library's class. Raise UsageError for an unknown
    mode or reward and for less than one turn, DataError for a broken file.
    """
    if turns < 1:
        raise UsageError(f"turns must be 1 or more, found {turns}")
    reward_named(reward)
    toolset = read_tools(tools)
    learn = dataset(read_tasks(train), toolset, mode)
    judge = dataset(read_tasks(dev), toolset, mode) if dev is not None and dev.is_file() else None
    definitions = [{"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
                   for tool in toolset.tools] if mode == "native" else None
    return _environment_class()(World(toolset), toolset, mode, dataset=learn, eval_dataset=judge,
                                rubric=rubric(toolset, mode, reward), tool_defs=definitions, max_turns=turns, **options)


def dataset(tasks: Sequence[Task], tools: Toolset, mode: str) -> Any:
    """A `datasets.Dataset` of prompt, answer (the gold as JSON text) and info (JSON text that holds the whole row)."""
    rows = [{"prompt": messages(mode, tools, task.question),
             "answer": json.dumps([call.to_json() for call in task.expected], ensure_ascii=False),
             "info": json.dumps({"row": task.to_json()}, ensure_ascii=False)} for task in tasks]
    return load("datasets").Dataset.from_list(rows)


def rubric(tools: Toolset, mode: str, reward: str) -> Any:
    """The chosen reward with weight 1, everything else with weight 0."""
    functions = [*(_reward_function(name, tools, mode) for name in REWARDS),
                 *(_metric_function(name, tools, mode) for name in METRICS), claims_done(tools, mode), refused_calls]
    weights = [float(function.__name__ == reward) for function in functions]
    return load("verifiers").Rubric(funcs=functions, weights=weights)


def verdict(state: Mapping[str, Any], tools: Toolset, mode: str) -> tuple[Task, Score]:
    """The scorer's verdict on the first reply of a rollout; no reply is the failure it was."""
    task = Task.from_json(state["info"]["row"])
    if not state["trajectory"]:
        return task, Score.failure("infra_error", "the rollout ended before a reply")
    return task, score_reply(task, reply_of(state["trajectory"][0]), tools, mode)


def reply_of(step: Mapping[str, Any]) -> Reply:
    """One step of a trajectory as the scorer takes it: the chat message in OpenAI's shape and its finish reason."""
    said = step["completion"][-1]
    message: dict[str, Any] = {"role": "assistant", "content": _plain(said.content)}
    if getattr(said, "reasoning_content", None):
        message["reasoning_content"] = said.reasoning_content
    if said.tool_calls:
        message["tool_calls"] = [{"id": call.id, "type": "function",
                                  "function": {"name": call.name, "arguments": call.arguments}}
                                 for call in said.tool_calls]
    finish = step["response"].message.finish_reason
    return Reply(message, "length" if step["is_truncated"] else finish)


def _plain(content: Any) -> Any:
    """Text, or a list of parts as plain dictionaries."""
    if isinstance(content, list):
        return [part.model_dump() if hasattr(part, "model_dump") else part for part in content]
    return content


# --- rewards and metrics, in the shape that the library calls ---------------------------------------------------------

Judged = Callable[..., float]


def _reward_function(name: str, tools: Toolset, mode: str) -> Judged:
    def judged(state: Mapping[str, Any]) -> float:
        return REWARDS[name](*verdict(state, tools, mode), tools)

    judged.__name__ = name
    return judged


def _metric_function(name: str, tools: Toolset, mode: str) -> Judged:
    def judged(state: Mapping[str, Any]) -> float:
        return float(bool(getattr(verdict(state, tools, mode)[1], name)))

    judged.__name__ = name
    return judged


def claims_done(tools: Toolset, mode: str) -> Judged:
    """Does the reply claim an action that nobody carried out? Such a refusal is right for the benchmark: watch it."""
    def judged(state: Mapping[str, Any]) -> float:
        return float("claims_done" in verdict(state, tools, mode)[1].labels)

    judged.__name__ = "claims_done"
    return judged


def refused_calls(state: Mapping[str, Any]) -> float:
    """How many of the calls that were played the world or the API refused."""
    return float(sum(map(refused, state.get("played", ()))))


# --- the rollout ------------------------------------------------------------------------------------------------------

def _environment_class() -> type:
    """The class is made when it is needed: its base belongs to an optional package."""
    vf = load("verifiers")

    class ToolWorldEnv(vf.MultiTurnEnv):
        """Answers every call from the offline world; a reply without a call ends the rollout."""

        def __init__(self, world: World, tools: Toolset, mode: str, **options: Any) -> None:
            super().__init__(**options)
            self._world, self._tools, self._mode = world, tools, mode

        @vf.stop
        async def no_call_to_play(self, state: Any) -> bool:
            return bool(state["trajectory"]) and not self._calls(state)

        async def env_response(self, messages: Any, state: Any, **_: Any) -> list[dict[str, Any]]:
            made = self._calls(state)
            answers = [self._world.answer(call) for call in made]
            state["played"] = [*state.get("played", ()), *answers]
            ids = [call.id for call in state["trajectory"][-1]["completion"][-1].tool_calls or ()]
            if ids:
                return [{"role": "tool", "tool_call_id": at, "content": text}
                        for at, text in zip_longest(ids, answers[:len(ids)], fillvalue=_UNREADABLE)]
            return [{"role": "user", "content": "\n".join(f"Ergebnis von {call}: {text}"
                                                          for call, text in zip(made, answers, strict=True))}]

        def _calls(self, state: Any) -> tuple[Call, ...]:
            reply = reply_of(state["trajectory"][-1])
            return calls_from_message(reply.message, self._tools, self._mode, reply.finish_reason).calls or ()

    return ToolWorldEnv
