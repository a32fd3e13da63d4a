"""The backends by name, each imported when it is asked for."""

from __future__ import annotations

from importlib import import_module

from infranode_eval.providers.protocol import Provider, ProviderOptions
from lm_eval_task.errors import UsageError

_WIRES = {"openai": "openai_chat", "responses": "responses", "anthropic": "anthropic", "gemini": "gemini"}
BACKENDS = (*_WIRES, "baseline")


def open_provider(backend: str, options: ProviderOptions) -> Provider:
    """The provider of a backend. Raise UsageError for an unknown backend, or options that it cannot work with."""
    if backend not in BACKENDS:
        raise UsageError(f"backend {backend!r} does not exist; expected one of {', '.join(BACKENDS)}")
    if backend == "baseline":
        return import_module(f"{__name__}.baselines").open_provider(options)
    return import_module(f"{__name__}.endpoint").Endpoint(import_module(f"{__name__}.{_WIRES[backend]}"), options)
