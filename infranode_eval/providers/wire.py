"""What a vendor's API needs to be told and how it answers: the shape of a module that speaks one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol
from urllib.parse import urlsplit

from infranode_eval.providers.protocol import OFF, Messages, Sampling, Tools
from lm_eval_task.errors import UsageError

PORTS = {"http": 80, "https": 443}
_VERSION = re.compile(r"/v\d+(?:alpha|beta)?\d*(?:/|\Z)")


@dataclass(frozen=True, slots=True)
class Asked:
    """One request before it takes a vendor's form. without: what the endpoint was found to refuse (adaptation.py).

    tool_choice: of this request: what the sampling says of it, else what the options say. cache: one of
    protocol.CACHES.
    """

    model: str
    messages: Messages
    tools: Tools | None
    sampling: Sampling
    tool_choice: str = "auto"
    parallel: bool | None = False
    without: frozenset[str] = frozenset()
    cache: str = OFF


@dataclass(frozen=True, slots=True)
class Read:
    """What a response body says. finish_reason: as the vendor names it; explained: what the vendor adds to it."""

    message: Mapping[str, Any]
    finish_reason: str | None
    usage: Any
    model: Any
    explained: str | None = None


class Piece(NamedTuple):
    """A chat message in a vendor's words: whose turn it belongs to, and its items or parts."""

    role: str
    values: Sequence[Any]


def messages_json(pieces: Iterable[tuple[str, str]], turn: str | None) -> str:
    """The list of messages as JSON text. pieces: (role, the values as JSON with commas between them, "" for none).

    turn: None, all values in one list; else neighbours of one role become one turn, with its values under that key.
    """
    if turn is None:
        return f"[{','.join(text for _, text in pieces if text)}]"
    turns: list[tuple[str, list[str]]] = []
    for role, text in pieces:
        if turns and turns[-1][0] == role:
            turns[-1][1].extend([text] if text else [])
        elif text:
            turns.append((role, [text]))
    return "[" + ",".join(f'{{"role":"{role}","{turn}":[{",".join(texts)}]}}' for role, texts in turns) + "]"


class Wire(Protocol):
    """One vendor's API, as a module."""

    NAME: str
    DEFAULT_URL: str | None          # the vendor's own address; None: --base-url must be given
    PERCEIVES: frozenset[str]        # the modalities that it takes beside text
    PARALLEL_SWITCH: bool            # can it be told to make one call at most?
    TAKES_SEED: bool                 # does it know a seed of the sampler?
    RESULTS_NEED_TOOLS: bool         # are results of tools refused in a request without tools?
    CACHE_MARK: Mapping[str, Any] | None    # beside the last block that a cache is to keep; None: takes no markers
    ADAPTS: frozenset[str]           # names in adaptation.py
    HEADERS: Mapping[str, str]       # sent with every request beside the key
    FINISH_REASONS: Mapping[str, str]   # the vendor's words → OpenAI's; others are kept
    MESSAGES: str                    # where a body holds the messages
    TURN: str | None                 # where a turn holds its parts; None: messages stand in a flat list

    def url_of(self, base_url: str, model: str) -> str: ...

    def key_headers(self, api_key: str) -> dict[str, str]: ...

    def body_of(self, asked: Asked) -> dict[str, Any]:
        """Everything but the messages, which `Endpoint` puts in under `MESSAGES`."""
        ...

    def piece_of(self, message: Mapping[str, Any]) -> Piece | None:
        """What one chat message is in the vendor's words; None for one that stands elsewhere in the body."""
        ...

    def joined(self, values: Sequence[Mapping[str, Any]], done: bool) -> dict[str, Any]:
        """The body that the events of a stream add up to. Raise InfraError for a stream without its end."""
        ...

    def read(self, body: Mapping[str, Any]) -> Read:
        """Raise a ProviderError for a body without an answer."""
        ...


def full_url(base_url: str, version: str, resource: str) -> str:
    """The URL of a resource ("/chat/completions") from a base URL with or without a version segment (or the resource).

    Raise UsageError for anything that is no plain http(s) URL.
    """
    try:
        parts = urlsplit(base_url.strip())
        port = parts.port
    except ValueError as error:
        raise UsageError(f"--base-url is no URL ({error}); expected http://host:port/v1") from None
    if parts.scheme not in PORTS or not parts.hostname or not (parts.path + parts.query).isascii():
        raise UsageError("--base-url must look like http://host:port/v1 or https://host/v1")
    if parts.username is not None or parts.password is not None:
        raise UsageError("--base-url must hold no user or password; put the key into an environment variable")
    path = parts.path.rstrip("/")
    if not path.endswith(resource):
        path += resource if _VERSION.search(path) else f"/{version}{resource}"
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}{f':{port}' if port else ''}{path}{f'?{parts.query}' if parts.query else ''}"


def text_of(content: Any) -> str:
    """The text of a chat message's content: a string, or blocks of text."""
    if isinstance(content, list):
        return "".join(b["text"] for b in content if isinstance(b, dict) and isinstance(b.get("text"), str))
    return content if isinstance(content, str) else ""


def object_or(value: Any) -> dict[str, Any]:
    """An object as it is; {} for anything else."""
    return value if isinstance(value, dict) else {}
