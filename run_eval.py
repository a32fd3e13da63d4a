#!/usr/bin/env python3
"""Ask a model every task of a suite and write one results file.

  python3 run_eval.py                                       the bm25 baseline on the core set (no key, no package)
  python3 run_eval.py --base-url http://127.0.0.1:8000/v1 --model NAME [--mode native]
  python3 run_eval.py --backend baseline --model oracle

The key comes from OPENAI_API_KEY (HF_TOKEN for Hugging Face hosts) or the variable that --api-key-env names.
Exit status: 0 complete, 2 usage or data, 3 incomplete (what was answered is stored; --resume continues).
"""

from __future__ import annotations

import argparse
import math
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).resolve().parent))   # python3 -I leaves the script's folder out

from infranode_eval.terminal import Parser
from lm_eval_task.errors import BenchError, UsageError

if TYPE_CHECKING:
    from infranode_eval.run import Plan

_HF_HOSTS = (".huggingface.co", ".huggingface.cloud", ".hf.space")


def parser() -> argparse.ArgumentParser:
    p = Parser("run_eval.py", __doc__)
    p.add_argument("--suite", default="single", help="default: single, the main suite")
    p.add_argument("--backend", help="openai (any /v1/chat/completions) or baseline; default: openai with --base-url")
    p.add_argument("--base-url", metavar="U", help="with or without /v1")
    p.add_argument("--model", metavar="M", help="as the endpoint names it, or a baseline: bm25 (default), keyword, "
                                                "majority, first_tool, constant, never_calls, oracle")
    p.add_argument("--mode", choices=("prompt", "native"), help="tools in the text, or as tools=; default: prompt")
    p.add_argument("--tasks", "--cases", type=Path, metavar="FILE", help="default: the project's tasks.jsonl")
    p.add_argument("--tools", type=Path, metavar="FILE", help="default: the project's tools.json")
    p.add_argument("--set", dest="which", default="core", metavar="S",
                   help="core, extended, robust, abstain or all; default: core")
    p.add_argument("--out", type=Path, metavar="FILE", help="default: results/<model>[.<set>][.native][.<tag>].json")
    p.add_argument("--tag", metavar="T", help="a mark in the default file name")
    p.add_argument("--concurrency", type=_whole(1), default=8, metavar="N", help="requests in flight; default: 8")
    p.add_argument("--rpm", type=_above_zero, metavar="N", help="requests a minute, evenly spaced; default: no limit")
    p.add_argument("--timeout", type=_above_zero, default=60.0, metavar="S", help="seconds an attempt; default: 60")
    p.add_argument("--retries", type=_whole(0), default=4, metavar="N", help="after failures that pass; default: 4")
    p.add_argument("--max-tokens", type=_whole(1), metavar="N", help="default: 160")
    p.add_argument("--temperature", type=_temperature, default=0.0, metavar="T", help="default: 0")
    p.add_argument("--limit", type=_whole(1), metavar="N", help="only the first N tasks")
    p.add_argument("--repeats", type=_whole(1), default=1, metavar="K", help="ask each task K times; default: 1")
    p.add_argument("--stop-after-errors", type=_whole(1), metavar="N", help="end after N failed tasks in a row")
    p.add_argument("--api-key-env", metavar="NAME", help="environment variable that holds the key")
    p.add_argument("--resume", action="store_true", help="send only what has no answer yet")
    p.add_argument("--force", action="store_true", help="start anew over an existing file; with --resume: go on "
                                                        "although settings differ (recorded)")
    return p


def _whole(least: int) -> Callable[[str], int]:
    def whole(text: str) -> int:
        if not text.isascii() or not text.isdigit() or len(text) > 9 or int(text) < least:
            raise argparse.ArgumentTypeError(f"expected a whole number from {least}, found {text!r}")
        return int(text)
    return whole


def _above_zero(text: str) -> float:
    return _number(text, lambda x: 0 < x <= 1e6, "a number above 0")


def _temperature(text: str) -> float:
    return _number(text, lambda x: 0 <= x <= 2, "a number from 0 to 2")


def _number(text: str, fits: Callable[[float], bool], what: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not fits(value):
        raise argparse.ArgumentTypeError(f"expected {what}, found {text!r}")
    return value


def plan_of(args: argparse.Namespace, environ: Mapping[str, str]) -> Plan:
    """The plan behind the flags. Raise UsageError for flags that do not fit together."""
    from infranode_eval.run import Plan
    from infranode_eval.runner import Limits

    backend = args.backend or ("openai" if args.base_url else "baseline")
    if not args.model and backend != "baseline":
        raise UsageError(f"--backend {backend} needs --model NAME")
    if backend == "baseline" and args.base_url:
        raise UsageError("--backend baseline takes no --base-url")
    limits = Limits(args.concurrency, args.rpm, args.retries, args.stop_after_errors)
    return Plan(args.suite, backend, args.model or "bm25", args.which, args.mode, args.base_url,
                None if backend == "baseline" else api_key(args.api_key_env, args.base_url, environ),
                args.tasks, args.tools, args.out, args.tag, args.max_tokens, args.temperature, args.timeout, limits,
                args.limit, args.repeats, args.resume, args.force)


def api_key(name: str | None, base_url: str | None, environ: Mapping[str, str]) -> str | None:
    """The key for an endpoint; Hugging Face's token goes to Hugging Face alone. None: no key is set.

    Raise UsageError for a named variable that is empty, or a key that no HTTP header can carry.
    """
    if name is None:
        try:
            host = f".{urlsplit(base_url or '').hostname or ''}"
        except ValueError as error:
            raise UsageError(f"--base-url is no URL ({error}); expected http://host:port/v1") from None
        name = "HF_TOKEN" if host.endswith(_HF_HOSTS) else "OPENAI_API_KEY"
    elif not environ.get(name, "").strip():
        raise UsageError(f"the environment variable {name} (--api-key-env) is not set")
    key = environ.get(name, "").strip()
    if key and not (key.isascii() and key.isprintable() and " " not in key):
        raise UsageError(f"the key in {name} holds blanks or characters that no HTTP header can carry")
    return key or None


def run(argv: Sequence[str]) -> int:
    args = parser().parse_args(argv)
    plan = plan_of(args, os.environ)
    # Imported here so that --help and wrong flags answer at once.
    from infranode_eval.progress import ProgressLine
    from infranode_eval.run import execute
    from infranode_eval.summary import summary_lines

    line = ProgressLine(sys.stderr)
    try:
        out, result = execute(plan, line.show)
    finally:
        line.clear()
    print(*summary_lines(result), sep="\n", flush=True)
    if result["complete"]:
        print(f"\n{out}", flush=True)
        return 0
    failed, n = result["counts"]["failed"], result["counts"]["n"]
    print(f"run_eval.py: incomplete: {failed} of {n} tasks have no answer"
          f"{'; stopped: ' + result['stopped'] if result['stopped'] else ''}; {out} has the rest, --resume continues",
          file=sys.stderr)
    return 3


def main(argv: Sequence[str] | None = None) -> int:
    signal.signal(signal.SIGTERM, _interrupt)
    for stream in (sys.stdout, sys.stderr):   # a terminal without umlauts gets escapes, not a traceback
        stream.reconfigure(errors="backslashreplace")
    try:
        return run(sys.argv[1:] if argv is None else argv)
    except BrokenPipeError:   # whoever read the table has seen enough; the file is written
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except BenchError as error:
        print(f"run_eval.py: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("run_eval.py: interrupted; what a journal holds, --resume takes up again", file=sys.stderr)
        return 3


def _interrupt(signum: int, frame: object) -> NoReturn:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
