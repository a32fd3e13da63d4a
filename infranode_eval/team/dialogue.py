"""A conversation of one agent with its model: what is said, which attachments still stand in it, what is asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from infranode_eval.providers.conversation import Conversation
from infranode_eval.providers.media import Media, media_in
from infranode_eval.providers.protocol import Answer, Provider, Sampling
from infranode_eval.providers.team import Keyed
from infranode_eval.team.agent import Attachment, Result
from infranode_eval.team.tools import offered, subset
from infranode_eval.team.wording import say, unforged
from infranode_eval.tool_turn import ToolTurn, tool_turn


@dataclass(frozen=True, slots=True)
class Heard:
    """A reply, the key of its request ("" where nothing is stored) and what is in it."""

    answer: Answer
    key: str
    turn: ToolTurn


class Dialogue:
    """One conversation. caps: modality → how many attachments a request may hold.

    messages: as they are sent; said: all that was ever said, with every attachment. perceived: modality → attachments
    that stood in a request.
    """

    def __init__(self, voice: Provider, tools: Sequence[str], sampling: Sampling,
                 opening: Sequence[Mapping[str, Any]], caps: Mapping[str, int], session: str = "") -> None:
        """tools: their names. session: its id, so that two with the same words keep their own answers."""
        self._voice, self._sampling, self._session = voice, sampling, session
        self._keyed = voice if isinstance(voice, Keyed) else None       # asked once: it takes its time
        self._tools, self._tools_json = offered(frozenset(tools)), subset(tools) or None
        self._caps = caps
        self.messages = Conversation(opening)
        self.said: list[Mapping[str, Any]] = list(opening)
        self.perceived: Counter[str] = Counter()
        self._asked_upto = 0
        self._replies = 0
        self._taken: set[str] = set()

    def take_perceived(self) -> Counter[str]:
        """What was perceived since the last time this was asked."""
        taken, self.perceived = self.perceived, Counter()
        return taken

    def tell(self, text: str) -> None:
        """A message of the user."""
        self._append({"role": "user", "content": text})

    def ask(self) -> Heard:
        """Lets ProviderError through; the reply is part of the conversation then."""
        for message in self.messages[self._asked_upto:]:
            self.perceived.update(media.modality for media in media_in(message))
        self._asked_upto = len(self.messages)
        if self._keyed is not None:
            entry = self._keyed.asked(self.messages, self._tools_json, self._sampling, self._session)
            answer, key = entry.answer, entry.key
            assert answer is not None, "what was asked has an answer"
        else:
            answer, key = self._voice.ask(self.messages, self._tools_json, self._sampling), ""
        turn = tool_turn(answer, self._tools, self._replies, self._taken)
        self._replies += 1
        self._append(turn.echo)
        return Heard(answer, key, turn)

    def answer(self, turn: ToolTurn, results: Sequence[Result]) -> None:
        """The results of the calls of a turn, and behind them what the agent perceives of them."""
        in_text = all(one.id is None for one in turn.calls)     # then results are a message of the user
        for message in turn.messages([unforged(one.text) if in_text else one.text for one in results]):
            self._append(message)
        attachments = [result.attachment for result in results if result.attachment is not None]
        if attachments:
            self._append({"role": "user", "content": [part for one in attachments for part in _shown(one)]})
            self._keep_caps({one.modality for one in attachments})

    def _append(self, message: Mapping[str, Any]) -> None:
        self.messages.append(message)
        self.said.append(message)

    def _keep_caps(self, modalities: set[str]) -> None:
        """The newest attachments stay; of older ones a line of text tells. Without one too many nothing changes."""
        all_media = [media for message in self.messages for media in media_in(message)]
        dropped: set[int] = set()
        for modality in modalities:
            here = [media for media in all_media if media.modality == modality]
            dropped |= {id(media) for media in here[:max(0, len(here) - self._caps.get(modality, 0))]}
        if dropped:
            self.messages = Conversation([self._without(message, dropped) for message in self.messages])

    def _without(self, message: Mapping[str, Any], dropped: set[int]) -> Mapping[str, Any]:
        if not any(id(media) in dropped for media in media_in(message)):
            return message
        return {**message, "content": [self._told(part) if id(part) in dropped else part
                                       for part in message["content"]]}

    def _told(self, media: Media) -> dict[str, Any]:
        cap = self._caps.get(media.modality, 0)
        return {"type": "text", "text": say("media_dropped", path=media["path"], mime=media["mime"], cap=cap)}


def _shown(one: Attachment) -> list[dict[str, Any]]:
    return [{"type": "text", "text": say("media_of", path=one.path)},
            Media(one.sha256, one.mime, one.path, one.data)]
