"""Chat messages that only grow: what is made of one message, its JSON or its hash, is made once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar, overload

from lm_eval_task.records import canonical_json

Message = Mapping[str, Any]
Made = TypeVar("Made")


class Conversation(Sequence[Message]):
    """The messages of one play, used by one thread. A message must not change once it is in."""

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self._messages = list(messages)
        self._made: dict[str, list[Any]] = {}
        self._hash = hashlib.sha256()
        self._hashed = 0

    def append(self, message: Message) -> None:
        self._messages.append(message)

    @overload
    def __getitem__(self, index: int) -> Message: ...

    @overload
    def __getitem__(self, index: slice) -> list[Message]: ...

    def __getitem__(self, index: int | slice) -> Message | list[Message]:
        return self._messages[index]

    def __len__(self) -> int:
        return len(self._messages)

    def __iter__(self) -> Iterator[Message]:
        return iter(self._messages)

    def made(self, what: str, make: Callable[[Message], Made]) -> list[Made]:
        """What `make` gives for each message, in order; `what` names the kind of thing, and has one `make`."""
        known = self._made.setdefault(what, [])
        known += map(make, self._messages[len(known):])
        return known

    def hashed(self, before: str, after: str) -> str:
        """sha256 hex over `before`, the messages' canonical JSON with commas between them, and `after`.

        `before` must be the same in every call.
        """
        if not self._hashed:
            self._hash.update(before.encode("utf-8", "surrogatepass"))
        for message in self._messages[self._hashed:]:
            text = canonical_json(message)
            self._hash.update((f",{text}" if self._hashed else text).encode("utf-8", "surrogatepass"))
            self._hashed += 1
        whole = self._hash.copy()
        whole.update(after.encode("utf-8", "surrogatepass"))
        return whole.hexdigest()
