"""The arms of the main suite: one thing changed about the tools, so that a score under it explains the base's.

An arm is a value with a pure function; what a model was offered can be worked out again from name and seed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from infranode_eval.arms.choosing import foreign, nearest, order
from infranode_eval.arms.descriptions import english, names_only, no_slug_rule, permuted_descriptions
from infranode_eval.arms.naming import anonymous, descriptions_only
from infranode_eval.arms.offer import Offer, Offering
from lm_eval_task.errors import UsageError
from lm_eval_task.prompt import subject_of
from lm_eval_task.tools import Toolset

SEED = 1        # of an arm where none is given
LOOK_FIRST = "Empfehlung: Sieh zuerst mit get_city_overview nach, welche Datenarten es für die Stadt gibt."


@dataclass(frozen=True, slots=True)
class Arm:
    """changes: what differs from the base. falls, stays, rises: what it says if a model solves fewer, as many, more.

    offer: of the tools as they stand and a seed; may raise UsageError for tools that it cannot change.
    """

    name: str
    changes: str
    falls: str
    stays: str
    rises: str
    offer: Callable[[Toolset, int], Offering]


def _overview_first(tools: Toolset, seed: int) -> Offering:
    """The tools as they stand, and a sentence before the rules that recommends looking first."""
    return Offering(Offer(tools, tools, intro=f"{subject_of(tools)} {LOOK_FIRST}"))


ARMS: Mapping[str, Arm] = {arm.name: arm for arm in (
    Arm("order", "the tools in another order for each task",
        "the order of the tools matters", "the order of the tools does not show",
        "the order of the tools matters", order),
    Arm("overview_first", "a sentence recommends to look first",
        "follows the advice and looks first", "the advice does not show", "the advice helps", _overview_first),
    Arm("no_slug_rule", "how a slug is spelled is not explained",
        "reads the rule for slugs", "spells slugs without the rule", "the rule for slugs misleads it", no_slug_rule),
    Arm("anonymous", "tool_01, parameter_1 … instead of names; descriptions and keys stay",
        "goes by the names of tools", "names of tools and parameters do not show", "names of tools mislead it",
        anonymous),
    Arm("descriptions_only", "keys and types are neutral, too: only descriptions mean anything",
        "goes by names", "reads descriptions: they suffice", "names mislead it", descriptions_only),
    Arm("names_only", "names and keys stay, every description is gone",
        "reads descriptions", "goes by names: descriptions do not show", "descriptions mislead it", names_only),
    Arm("permuted_descriptions", "each tool and key under the description of another",
        "believes descriptions", "does not read descriptions", "does not read descriptions", permuted_descriptions),
    Arm("nearest_3", "only the three tools that BM25 finds nearest to the question",
        "misses tools that retrieval leaves out", "fewer tools do not show", "more tools distract it", nearest),
    Arm("foreign_30", "thirty foreign tools among the twelve",
        "foreign tools distract it", "foreign tools do not show", "foreign tools help, which needs a closer look",
        foreign),
    Arm("english", "descriptions in English",
        "German descriptions help it", "the language of descriptions does not show", "English descriptions help it",
        english),
)}


def arm_named(name: str) -> Arm:
    """Raise UsageError, with all names, for one that is none."""
    if name not in ARMS:
        raise UsageError(f"--arm: {name!r} does not exist; expected one of {', '.join(ARMS)} (--arm list says what "
                         "each changes)")
    return ARMS[name]


def arm_lines() -> list[str]:
    """All arms, one a line, with what each changes."""
    wide = max(map(len, ARMS))
    return [f"{arm.name:<{wide}}  {arm.changes}" for arm in ARMS.values()]


def arm_of(settings: Mapping[str, Any]) -> str | None:
    """The arm of a stored run, None for a base; a run with --shuffle-tools is one in another order."""
    name = settings.get("arm")
    if name is None:
        return "order" if settings.get("shuffle_tools") is not None else None
    return str(name)


def offering_of(settings: Mapping[str, Any], tools: Toolset) -> Offering | None:
    """What was offered in a stored run over these tools; None for a base. Raise UsageError for an unknown arm."""
    name = arm_of(settings)
    seed = settings.get("arm_seed", SEED) if "arm" in settings else settings.get("shuffle_tools")
    return None if name is None else arm_named(name).offer(tools, seed if isinstance(seed, int) else SEED)
