"""Which models play which role: read from a JSON text, checked, opened as providers.

Source: specification, team, T16, T17 and T47.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from infranode_eval.providers import open_provider
from infranode_eval.providers.protocol import Provider, ProviderOptions, Sampling
from infranode_eval.team.agent import MAIN, MEDIA
from infranode_eval.team.scripted import Worker
from infranode_eval.team.staff import Hire
from lm_eval_task.errors import UsageError
from lm_eval_task.tools import Toolset

KEYS = ("llm", "vlm", "omni")
_MAY = {MAIN: MEDIA, "llm": (), "vlm": ("image", "video"), "omni": MEDIA}
_NEEDS = {"vlm": "image", "omni": "audio"}
_PROVIDERS = {"openai": "openai", "openai_compat": "openai", "gemini": "gemini", "anthropic": "anthropic",
              "responses": "responses", "scripted": "scripted"}
_FIELDS = ("provider", "model_id", "api_base", "api_key", "api_key_env", "modalities", "rpm", "max_tokens")
MAX_TOKENS = 4096
ATTACHMENTS = 8         # of a modality that is said to be true, a request
SCRIPTED = "scripted"


@dataclass(frozen=True, slots=True)
class Role:
    """One model. modalities: of media, how many attachments a request may hold. backend: "scripted", or one of
    providers.BACKENDS. rpm: requests a minute of its endpoint, None: as the run says."""

    key: str
    backend: str
    model_id: str
    modalities: Mapping[str, int] = field(default_factory=dict)
    api_base: str | None = None
    api_key: str | None = field(default=None, repr=False)
    rpm: float | None = None
    max_tokens: int = MAX_TOKENS

    def to_json(self) -> dict[str, Any]:
        """What results keep of it: never an address or a key."""
        return {"model_id": self.model_id, "modalities": {"text": True, **self.modalities},
                "max_tokens": self.max_tokens}


@dataclass(frozen=True, slots=True)
class Pool:
    """main: None where the command line says it. roles: by key, without those that are not offered. notes: what was
    taken out of the declaration, one line each."""

    main: Role | None
    roles: Mapping[str, Role]
    notes: tuple[str, ...] = ()

    def led_by(self, model: str | None) -> Pool:
        """With another model as the manager, which perceives what was declared for it."""
        if self.main is None or model is None or model == self.main.model_id:
            return self
        return replace(self, main=replace(self.main, model_id=model))

    def to_json(self) -> dict[str, Any]:
        """What a run's settings keep: the roles, null for a key that is not offered; main where it is declared."""
        main = {} if self.main is None else {MAIN: self.main.to_json()}
        return main | {key: self.roles[key].to_json() if key in self.roles else None for key in KEYS}


SCRIPTED_POOL = Pool(None, {
    "llm": Role("llm", SCRIPTED, "scripted-llm"),
    "vlm": Role("vlm", SCRIPTED, "scripted-vlm", {"image": 8, "video": 2}),
    "omni": Role("omni", SCRIPTED, "scripted-omni", {"image": 8, "audio": 4, "video": 2})})

_EXAMPLE = '{"llm": {"model_id": …, "api_base": …}}'


def read_pool(text: str, source: str, environ: Mapping[str, str], on_command_line: bool = False) -> Pool:
    """The pool of a JSON text. source: how messages name it. environ: where keys are looked up.

    Raise UsageError, naming role, field, found and expected, for anything that cannot be meant, and for a key on the
    command line, where everybody on the machine can read it.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        hint = f"; a file is written @{text}" if text.endswith(".json") else ""
        raise UsageError(f"{source} is no JSON ({error}); expected an object like {_EXAMPLE}{hint}") from None
    if not isinstance(value, dict) or not set(value) <= {MAIN, *KEYS}:
        raise UsageError(f"{source}: expected an object with the keys main, llm, vlm and omni, found "
                         f"{', '.join(map(str, value)) if isinstance(value, dict) else type(value).__name__}")
    notes: list[str] = []
    roles = {key: _role(key, value[key], f"{source}: {key}", environ, on_command_line, notes)
             for key in (MAIN, *KEYS) if value.get(key) is not None}
    if not set(roles) - {MAIN}:
        raise UsageError(f"{source} offers no model to the manager; name llm, vlm or omni")
    return Pool(roles.pop(MAIN, None), roles, tuple(notes))


def _role(key: str, value: Any, where: str, environ: Mapping[str, str], on_command_line: bool,
          notes: list[str]) -> Role:
    if not isinstance(value, dict):
        raise UsageError(f"{where} must be an object or null, found {type(value).__name__}")
    if unknown := sorted(set(value) - set(_FIELDS)):
        raise UsageError(f"{where}: unknown field {unknown[0]!r}; expected {', '.join(_FIELDS)}")
    if on_command_line and value.get("api_key") is not None:
        raise UsageError(f"{where}: api_key on the command line can be read by everybody on the machine; put it into "
                         "an environment variable and name that in api_key_env, or the JSON into a file (@FILE)")
    backend = _PROVIDERS.get(_text(value, "provider", where) or "openai")
    if backend is None:
        raise UsageError(f"{where}: provider {value['provider']!r}; expected one of {', '.join(_PROVIDERS)}")
    model_id = _text(value, "model_id", where)
    if not model_id:
        raise UsageError(f"{where}: model_id is missing; expected the name of the model at its endpoint")
    name = _text(value, "api_key_env", where)
    if name and not environ.get(name, "").strip():
        raise UsageError(f"{where}: the environment variable {name} (api_key_env) is not set")
    api_key = environ[name].strip() if name else _text(value, "api_key", where)
    modalities = _modalities(key, value.get("modalities"), where, notes)
    return Role(key, backend, model_id, modalities, _text(value, "api_base", where), api_key,
                _number(value, "rpm", where), int(_number(value, "max_tokens", where) or MAX_TOKENS))


def _text(value: Mapping[str, Any], name: str, where: str) -> str | None:
    found = value.get(name)
    if found is not None and not isinstance(found, str):
        raise UsageError(f"{where}: {name} must be a text, found {type(found).__name__}")
    return found or None


def _number(value: Mapping[str, Any], name: str, where: str) -> float | None:
    found = value.get(name)
    if found is None:
        return None
    if isinstance(found, bool) or not isinstance(found, (int, float)) or not 1 <= found <= 1e9:
        raise UsageError(f"{where}: {name} must be a number from 1, found {found!r}")
    return found


def _modalities(key: str, value: Any, where: str, notes: list[str]) -> dict[str, int]:
    """What the key may have of what is declared, with how many attachments; text is always there."""
    value = {"text": True} if value is None else value
    if not isinstance(value, dict):
        raise UsageError(f"{where}: modalities must be an object, found {type(value).__name__}")
    found: dict[str, int] = {}
    for name, count in value.items():
        if name not in ("text", *MEDIA):
            raise UsageError(f"{where}: modality {name!r}; expected text, {', '.join(MEDIA)}")
        if not isinstance(count, (bool, int)) or count < 0:
            raise UsageError(f"{where}: modalities.{name} must be true, false or a number of attachments a request, "
                             f"found {count!r}")
        if name == "text" or not count:
            continue
        if name not in _MAY[key]:
            notes.append(f"{where}: {name} is none of the modalities of {key}, and was left out")
            continue
        found[name] = ATTACHMENTS if count is True else count
    if (needed := _NEEDS.get(key)) is not None and needed not in found:
        raise UsageError(f"{where}: modalities lack {needed}, which a model of this key must perceive; declare it, or "
                         f"set {key} to null")
    return found


def open_roles(pool: Pool, tools: Toolset, timeout_s: float, environ: Mapping[str, str]) -> dict[str, Provider]:
    """A provider for each key. Raise UsageError for one that cannot be opened, or does not take what it should see."""
    providers = {key: _opened(role, tools, timeout_s, environ) for key, role in pool.roles.items()}
    for key, role in pool.roles.items():
        if hasattr(providers[key], "address"):
            providers[key].rpm = role.rpm       # type: ignore[attr-defined]
    return providers


def share_paces(providers: Iterable[Any]) -> None:
    """Those who share an address keep to the slowest rpm that one of them has."""
    placed = [provider for provider in providers if getattr(provider, "address", None) is not None]
    slowest: dict[Any, float] = {}
    for provider in placed:
        if provider.rpm is not None:
            slowest[provider.address] = min(provider.rpm, slowest.get(provider.address, provider.rpm))
    for provider in placed:
        provider.rpm = slowest.get(provider.address)


def _opened(role: Role, tools: Toolset, timeout_s: float, environ: Mapping[str, str]) -> Provider:
    if role.backend == SCRIPTED:
        return Worker(role.key)
    try:
        provider = open_provider(role.backend, ProviderOptions(
            role.model_id, tools, role.api_base, role.api_key, timeout_s, environ=environ, parallel=None))
    except UsageError as error:
        told = str(error).replace(f"--backend {role.backend}", "its provider").replace("--base-url", "api_base")
        raise UsageError(f"role {role.key}: {told}") from None
    check_perceives(role, provider)
    return provider


def check_perceives(role: Role, provider: Provider) -> None:
    """Raise UsageError where an API takes no attachments of a declared modality."""
    perceives = getattr(provider, "perceives", frozenset(MEDIA))
    if blind := [name for name in role.modalities if name not in perceives]:
        raise UsageError(f"role {role.key}: the API {role.backend} takes no {blind[0]}; declare what it takes, or "
                         "choose another provider")


def hire(voice: Provider, role: Mapping[str, Any], sampling: Sampling) -> Hire:
    """What a play works with. role: as a run's settings keep it; {} for a manager that perceives text alone."""
    modalities = {name: count for name, count in role.get("modalities", {}).items() if name in MEDIA}
    tokens = sampling if "max_tokens" not in role else replace(sampling, max_tokens=role["max_tokens"])
    return Hire(voice, tokens, modalities)
