"""One question to one model, for trying it out: what it calls, what it says, how long it took."""

from __future__ import annotations

import json
from collections.abc import Iterator

from infranode_eval.harmless import clean
from infranode_eval.providers.protocol import Adapted, Answer, Provider, TaskReader
from infranode_eval.providers.token_usage import normal_usage
from infranode_eval.run import Plan, provider_of, setup_of
from infranode_eval.suites import Setup, open_suite
from lm_eval_task.errors import UsageError
from lm_eval_task.parse import calls_from_message


def ask(plan: Plan, question: str) -> Iterator[str]:
    """The lines that --ask prints. Raise ProviderError if no answer came, at once: one question is not worth waiting.

    Raise UsageError for a provider that answers tasks only.
    """
    suite = open_suite(plan.suite)
    plan = plan.for_suite(suite)
    setup = setup_of(plan, suite, suite.read_tools(plan.tools)).for_task("", question)
    provider = provider_of(plan, suite, setup.tools)
    if isinstance(provider, TaskReader):
        raise UsageError(f"{plan.model} answers tasks, not questions; choose another model")
    try:
        answer = _answered(provider, setup, question)
    finally:
        provider.close()
    return _lines(answer, setup)


def _answered(provider: Provider, setup: Setup, question: str) -> Answer:
    asked = setup.messages(question)
    while True:
        try:
            return provider.ask(asked, setup.tools_json if setup.mode == "native" else None, setup.sampling)
        except Adapted:
            continue


def _lines(answer: Answer, setup: Setup) -> Iterator[str]:
    reading = calls_from_message(answer.message, setup.tools, setup.mode, answer.finish_reason,
                                 several=setup.scene.several)
    for call in reading.calls or ():
        yield clean(f"call    {call.name} {json.dumps(dict(call.arguments), ensure_ascii=False)}")
    if not reading.calls:
        yield "call    none" + (", one was attempted and cannot be read" if reading.broken else "")
    for line in reading.text.splitlines():
        yield clean(f"text    {line}")
    yield _about(answer, setup.mode)


def _about(answer: Answer, mode: str) -> str:
    counts = (normal_usage(answer.usage) or {}).items()
    facts = [f"{mode} mode", *([] if answer.latency_s is None else [f"{answer.latency_s:.2f} s"]),
             f"finish reason {answer.finish_reason}",
             *(f"{name.replace('_', ' ')} {count}" for name, count in counts if count), *answer.deviations]
    return clean(", ".join(facts))
