"""What a verdict is worth in reinforcement learning: exact, or shaped so that guessing a tool does not pay.

Pure. `exact` is the benchmark's own number. `shaped` adds a little for a call that is nearly right and takes away for
one that is not, by `WEIGHTS`; docs/exports.md has the reasons and what policies without understanding earn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from lm_eval_task.errors import UsageError
from lm_eval_task.match import arguments_equal, calls_equal, pairing
from lm_eval_task.records import Call, Score, Task
from lm_eval_task.tools import Toolset

# What a reply earns in the shaped reward. A wrong call costs more than silence, or a policy that always calls the most
# frequent tool would be paid for it; silence earns nothing where a call is right, and everything where none is.
WEIGHTS: Mapping[str, float] = MappingProxyType({
    "right": 1.0,           # call_match, a right refusal included
    "nearly": 0.1,          # × the share of the gold that is right, where the tools are right and some of the rest
    "silent": 0.0,          # no call, or none that can be read, where a call is right; also a failure (empty reply)
    "wrong": -0.25,         # a wrong tool, a call too many, one missing beside a wrong one, any where none is right
})

Reward = Callable[[Task, Score, Toolset], float]


def exact(task: Task, score: Score, tools: Toolset) -> float:
    """1 for call_match, else 0; a failure is 0."""
    return float(bool(score.call_match))


def shaped(task: Task, score: Score, tools: Toolset) -> float:
    """Between -0.25 and 1 by `WEIGHTS`; at most 0.1 without call_match, and never positive where no call is right.

    score: the verdict of `score_reply` on a reply to `task`, with its calls.
    """
    if score.call_match:
        return WEIGHTS["right"]
    if not score.calls:
        return WEIGHTS["silent"]
    if not score.tool_match or score.outcome not in _NEARLY:
        return WEIGHTS["wrong"]
    shares = [_right_share(score.calls, expected, tools) for expected in task.alternatives]
    best = max((share for share in shares if share is not None), default=None)
    return WEIGHTS["wrong"] if best is None else WEIGHTS["nearly"] * best


# Faults of a reply that calls the right tools and no other; a call too many is never nearly right.
_NEARLY = frozenset(("wrong_args", "missing_args", "hallucinated_arg", "type_error", "missing_calls"))


def _right_share(calls: Sequence[Call], expected: Sequence[Call], tools: Toolset) -> float | None:
    """How much of one alternative of the gold the calls hold, 0 to below 1.

    One call beside one: the arguments that are right, of all that either has. Several: the calls that are right, of
    those expected. None where a call is missing and another one is wrong: that is near to nothing.
    """
    if len(calls) == len(expected) == 1:
        return _argument_share(calls[0], expected[0], tools)
    partners = pairing(lambda a, e: calls_equal(tools, calls[a], expected[e]), len(calls), len(expected))
    if len(calls) != len(expected) and None in partners:
        return None
    return sum(partner is not None for partner in partners) / max(len(expected), 1)


def _argument_share(call: Call, expected: Call, tools: Toolset) -> float:
    names = {*call.arguments, *expected.arguments}
    if call.name != expected.name or not names:
        return 0.0
    tool = tools.by_name[expected.name]
    both = names & call.arguments.keys() & expected.arguments.keys()
    right = sum(arguments_equal(tool, {n: call.arguments[n]}, {n: expected.arguments[n]}) for n in both)
    return right / len(names)


REWARDS: Mapping[str, Reward] = MappingProxyType({"exact": exact, "shaped": shaped})


def reward_named(name: str) -> Reward:
    """Raise UsageError for a name that is no reward."""
    if name not in REWARDS:
        raise UsageError(f"reward {name!r} does not exist; expected one of {', '.join(REWARDS)}")
    return REWARDS[name]
