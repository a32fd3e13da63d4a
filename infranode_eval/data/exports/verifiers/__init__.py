"""InfraNode tool calls, German: an environment for reinforcement learning in the `verifiers` convention.

    import verifiers
    env = verifiers.load_environment("infranode-tools-de", mode="native", turns=1, reward="shaped")
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from infranode_eval.exports.rollouts import open_environment

_HERE = Path(__file__).resolve().parent


def load_environment(mode: str = "native", turns: int = 1, reward: str = "shaped", **options: Any) -> Any:
    """The environment over the exported rows: `train.jsonl` to learn from, `dev.jsonl` to evaluate on.

    mode: "native" (tool calls) or "prompt" (tools and calls as text). turns: replies at most; from 2 on calls are
    answered from an offline model of the API. reward: "shaped" or "exact". options: of `verifiers.MultiTurnEnv`.
    """
    return open_environment(_HERE / "train.jsonl", _HERE / "dev.jsonl", _HERE / "tools.json", mode=mode, turns=turns,
                            reward=reward, **options)
