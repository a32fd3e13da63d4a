"""The oracle as a provider: what a run of the suite will take is counted over its plays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from infranode_eval.budget import Forecast
from infranode_eval.db_routing.policies import Player
from infranode_eval.db_routing.tasks import RoutingTask
from infranode_eval.forecast import Count, Rehearsal, rehearsed
from infranode_eval.providers.protocol import Provider
from lm_eval_task.records import canonical_json

Playing = Callable[[RoutingTask, Provider], Any]


def forecast_of(tasks: Iterable[RoutingTask], play: Playing, tools_json: Sequence[Mapping[str, Any]], count: Count,
                max_tokens: int) -> Forecast:
    """Requests and tokens of plays that go straight to the right database. play: as the suite's."""
    tools_tokens = count(canonical_json(list(tools_json)))
    plays = ((task, Rehearsal(Player("oracle", task), count, tools_tokens)) for task in tasks)
    return rehearsed(plays, play, 2, max_tokens)        # the request for the answer has no tools before its messages
