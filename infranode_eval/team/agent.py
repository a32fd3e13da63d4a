"""Who acts in a workspace, and what one of its tool calls gives."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from infranode_eval.providers.media import MODALITIES
from infranode_eval.team.workspace import Scope

MAIN = "main"
MEDIA = MODALITIES


@dataclass(slots=True)
class Agent:
    """The manager, or one sub-agent over all its sessions.

    key: "main", "llm", "vlm" or "omni". modalities: of media, how many attachments a request may hold; text is always
    perceived. tools: the names it may call. known: virtual path → sha256 of the content that it last read or wrote.
    keys_for: modality → the pool keys that perceive it, for what it is told in the place of an attachment.
    """

    name: str
    key: str
    scope: Scope
    modalities: Mapping[str, int] = field(default_factory=dict)
    tools: tuple[str, ...] = ()
    known: dict[str, str] = field(default_factory=dict)
    keys_for: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Attachment:
    """A picture, sound or film that follows a result. path: as the agents see it; modality: one of MEDIA."""

    path: str
    mime: str
    modality: str
    data: bytes = field(repr=False)

    @cached_property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()


@dataclass(frozen=True, slots=True)
class Result:
    """What a tool call gives. touched: the virtual path of a successful Read, Write or Edit. refused: the path of a
    forbidden access, which counts as one."""

    text: str
    error: bool = False
    touched: str | None = None
    attachment: Attachment | None = None
    refused: str | None = None
