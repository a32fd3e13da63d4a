#!/usr/bin/env python3
"""How many replies a second the reader and the scorer judge, on one core, for kinds of replies that models really send.

usage: python3 bench/scoring.py [--seconds S] [--json]

Prints replies per second: the typical mixture, then each kind alone. Standard library only.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from lm_eval_task.metrics import score_reply
from lm_eval_task.records import Call, Reply, Task
from lm_eval_task.tools import read_tools

GOLD = Call("get_city_resource", {"slug": "koeln", "resource": "unemployment"})
RIGHT = '{"name": "get_city_resource", "arguments": {"slug": "koeln", "resource": "unemployment"}}'
NATIVE = {"role": "assistant", "content": None, "tool_calls": [
    {"id": "call_1", "type": "function", "function": {
        "name": "get_city_resource", "arguments": '{"slug": "koeln", "resource": "unemployment"}'}}]}

# kind -> (mode, message, share of the typical mixture in per cent)
KINDS: dict[str, tuple[str, dict[str, object], int]] = {
    "right, bare JSON": ("prompt", {"role": "assistant", "content": RIGHT}, 45),
    "right, native call": ("native", NATIVE, 20),
    "right, fenced": ("prompt", {"role": "assistant", "content": f"```json\n{RIGHT}\n```"}, 10),
    "wrong argument": ("prompt", {"role": "assistant", "content": RIGHT.replace("koeln", "köln")}, 8),
    "wrong tool": ("prompt", {"role": "assistant", "content":
                              '{"name": "weather", "arguments": {"slug": "koeln"}}'}, 7),
    "prose around a call": ("prompt", {"role": "assistant", "content":
                                       f"Gern, der passende Aufruf lautet: {RIGHT} – damit geht es."}, 3),
    "Hermes tag": ("prompt", {"role": "assistant", "content": f"<tool_call>\n{RIGHT}\n</tool_call>"}, 2),
    "thought before the call": ("prompt", {"role": "assistant", "content":
                                           f"<think>{'Es geht um Arbeitslose in Köln. ' * 8}</think>\n{RIGHT}"}, 2),
    "a sentence": ("prompt", {"role": "assistant", "content": "Dafür habe ich leider kein passendes Werkzeug."}, 2),
    "broken JSON": ("prompt", {"role": "assistant", "content": RIGHT[:-20]}, 1),
    "Qwen3-Coder XML": ("prompt", {"role": "assistant", "content":
                                   "<tool_call>\n<function=get_city_resource>\n<parameter=slug>\nkoeln\n</parameter>\n"
                                   "<parameter=resource>\nunemployment\n</parameter>\n</function>\n</tool_call>"}, 0),
    "DeepSeek V3": ("prompt", {"role": "assistant", "content":
                               "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_city_resource\n"
                               '```json\n{"slug": "koeln", "resource": "unemployment"}\n```<｜tool▁call▁end｜>'
                               "<｜tool▁calls▁end｜>"}, 0),
    "GPT-OSS harmony": ("native", {"role": "assistant", "content":
                                   "<|channel|>analysis<|message|>Arbeitslose.<|end|><|start|>assistant<|channel|>"
                                   "commentary to=functions.get_city_resource <|constrain|>json<|message|>"
                                   '{"slug": "koeln", "resource": "unemployment"}<|call|>'}, 0),
    "pythonic": ("prompt", {"role": "assistant", "content":
                            '[get_city_resource(slug="koeln", resource="unemployment")]'}, 0),
    "Gemma 4": ("prompt", {"role": "assistant", "content":
                           '<|tool_call>call:get_city_resource{slug:<|"|>koeln<|"|>,resource:<|"|>unemployment<|"|>}'
                           "<tool_call|>"}, 0),
}


def rate(judge: Callable[[], None], replies: int, seconds: float) -> float:
    """Replies per second: the best of five rounds, each of `seconds` / 5 or longer."""
    best = 0.0
    for _ in range(5):
        done, start = 0, time.perf_counter()
        while (spent := time.perf_counter() - start) < seconds / 5:
            judge()
            done += replies
        best = max(best, done / spent)
    return best


def measure(seconds: float) -> dict[str, float]:
    tools = read_tools()
    task = Task("bench", "Wie hoch ist die Arbeitslosenquote in Köln?", (GOLD,),
                extra={"datum": ["unemployment.values.arbeitslosenquote"]})
    replies = {kind: (mode, Reply(message, "stop")) for kind, (mode, message, _) in KINDS.items()}
    mixture = [replies[kind] for kind, (_, _, share) in KINDS.items() for _ in range(share)]

    def judge(chosen: list[tuple[str, Reply]]) -> Callable[[], None]:
        def run() -> None:
            for mode, reply in chosen:
                score_reply(task, reply, tools, mode)
        return run

    return {"typical mixture": rate(judge(mixture), len(mixture), seconds)} | {
        kind: rate(judge([reply] * 20), 20, seconds / 3) for kind, reply in replies.items()}


def cpu_name() -> str:
    """The processor as the system names it."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3.0, help="for the mixture; a third of it for each kind")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rates = measure(options.seconds)
    if options.json:
        print(json.dumps({"cpu": cpu_name(), "python": platform.python_version(), "replies_per_second": rates}))
        return 0
    print(f"{cpu_name()}, Python {platform.python_version()}, one core")
    for kind, value in rates.items():
        print(f"{value:10,.0f}  {kind}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
