"""A model of inspect_ai as a provider: our loop asks in a thread of its own, inspect answers in its event loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from anyio import from_thread
from inspect_ai.model import ChatMessage, Model, ModelOutput

from infranode_eval.inspection.messages import answer_of, chat_message, sent_back, tool_infos
from infranode_eval.providers.failures import failure_of
from infranode_eval.providers.protocol import Answer, Messages, Sampling, Tools
from lm_eval_task.errors import InfraError, ProviderError

# What inspect raises on purpose: a limit of the sample, an operator's stop, a setting that cannot be met.
_MEANT = frozenset(("LimitExceededError", "TerminateSampleError", "TerminateTaskError", "ModelRefusalError",
                    "PrerequisiteError"))


class InspectProvider:
    """Answers the requests of one play; waits and retries are inspect's own.

    seen: told in the event loop what a request holds, before it is sent; may raise, as inspect's limits do.
    output: the last reply, None before the first. Temperature, token budget and seed are those of inspect's task, so
    the sampling of a request tells its tool_choice only.
    """

    deterministic = False
    setup: str | None = None

    def __init__(self, model: Model, seen: Callable[[list[ChatMessage]], None]) -> None:
        self.output: ModelOutput | None = None
        self.asked = 0
        self._model, self._seen = model, seen
        self._told: list[ChatMessage] = []
        self._open: ModelOutput | None = None      # its echo has not come yet

    def ask(self, messages: Messages, tools: Tools | None, sampling: Sampling) -> Answer:
        """To be called in a worker thread of anyio (to_thread.run_sync). Raise a ProviderError as every provider."""
        told = self.conversation(messages)
        self.asked += 1
        self.output = self._open = from_thread.run(self._generate, told, tools, sampling.tool_choice)
        return answer_of(self.output)

    async def _generate(self, told: list[ChatMessage], tools: Tools | None, choice: Any) -> ModelOutput:
        infos = tool_infos(tools)
        self._seen(told)
        try:
            return await self._model.generate(told, infos, choice)
        except Exception as error:
            if type(error).__name__ in _MEANT:
                raise
            raise failure(error) from error

    def conversation(self, messages: Messages) -> list[ChatMessage]:
        """Our messages as inspect's, each converted once; a reply that goes back is the one that inspect gave."""
        for message in messages[len(self._told):]:
            if message["role"] == "assistant" and self._open is not None and not self._open.empty:
                self._told.append(sent_back(self._open.message, message))
                self._open = None
            else:
                self._told.append(chat_message(message))
        return list(self._told)

    def close(self) -> None:
        pass


def failure(error: BaseException) -> ProviderError:
    """What an exception of inspect's model means here: by the HTTP status that it, or its cause, tells.

    Anything without one is a matter of the way to the model (InfraError).
    """
    chain = [one for one in (error, error.__cause__) if one is not None]
    status = next((code for one in chain if isinstance(code := getattr(one, "status_code", None), int)), None)
    body = next((found for one in reversed(chain) if isinstance(found := getattr(one, "body", None), dict)), None)
    said = body or next((text for one in chain if (text := getattr(one, "provider_message", None))), str(error))
    if status is None:
        return InfraError(f"{type(error).__name__}: {' '.join(str(said).split())[:200]}")
    return failure_of(status, {}, said)
