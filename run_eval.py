#!/usr/bin/env python3
"""Ask a model every task of a suite and write one results file.

  python3 run_eval.py                                       the bm25 baseline on the core set (no key, no package)
  python3 run_eval.py --base-url http://127.0.0.1:8000/v1 --model NAME [--mode native]
  python3 run_eval.py --backend anthropic --model NAME --mode native --dry-run         tokens, price, one request
  python3 run_eval.py --base-url http://127.0.0.1:8000/v1 --model NAME --ask "Wie ist das Wetter in Köln?"
  python3 run_eval.py --suite bench --base-url http://127.0.0.1:8000/v1 --model NAME     42 cases in five stages
  python3 run_eval.py --suite bench --init DIR              a starter for cases and tools of your own
  python3 run_eval.py --suite chain --base-url http://127.0.0.1:8000/v1 --model NAME     whole tasks, really executed
  python3 run_eval.py --suite team                          a program manages sub-agents that are programs

The key comes from OPENAI_API_KEY (HF_TOKEN for Hugging Face hosts), ANTHROPIC_API_KEY, GEMINI_API_KEY or the variable
that --api-key-env names; proxies from HTTPS_PROXY, HTTP_PROXY and NO_PROXY.
Exit status: 0 complete, 2 usage or data, 3 incomplete (what was answered is stored; --resume continues;
a run without any answer leaves nothing behind).
"""

from __future__ import annotations

import argparse
import math
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).resolve().parent))   # python3 -I leaves the script's folder out

from infranode_eval.terminal import Parser
from lm_eval_task.errors import BenchError, DataError, UsageError

if TYPE_CHECKING:
    from infranode_eval.run import Plan
    from infranode_eval.team.pool import Pool

_KEY_NAMES = {"responses": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY", "gemini": "GEMINI_API_KEY"}
_PROXY_VARIABLES = ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "NO_PROXY",
                    "no_proxy")
_HF_HOSTS = (".huggingface.co", ".huggingface.cloud", ".hf.space")


def parser() -> argparse.ArgumentParser:
    p = Parser("run_eval.py", __doc__)
    p.add_argument("--suite", default="single", help="single, the main suite and default; bench: 42 cases, silence "
                                                     "as a right answer among them; chain: several steps, executed; "
                                                     "db_routing: one of eleven databases; team: managing sub-agents")
    p.add_argument("--backend", metavar="B", help="openai (any /v1/chat/completions), responses, anthropic, gemini or "
                                                  "baseline; default: openai with --base-url, else baseline")
    p.add_argument("--base-url", metavar="U", help="with or without /v1; default: the vendor's, for openai none")
    p.add_argument("--model", metavar="M", help="as the endpoint names it, or a baseline: bm25 (default), keyword, "
                                                "majority, first_tool, constant, never_calls (default of bench), "
                                                "asks_always, always_calls, first_step_only, oracle; chain has its "
                                                "own: one_call_then_guess (default), planner, direct, looker, "
                                                "never_calls, null_always, random_walker, prose_only, "
                                                "obeys_injection, never_stops, copier, eager; team: muster (default), "
                                                "uebervergabe, falsche_modalitaet, koeder, veraltet, allein, neugierig")
    p.add_argument("--mode", choices=("prompt", "native"), help="tools in the text, or as tools=; default: "
                                                             "prompt; chain, db_routing, team: native")
    p.add_argument("--models", type=Path, metavar="FILE", help="several, one after another: a name a line, or a JSON "
                                                               "object with model and other flags (base_url …)")
    p.add_argument("--tasks", "--cases", type=Path, metavar="FILE", help="default: the suite's own (tasks.jsonl); "
                                                                             "team: a folder with tests.json")
    p.add_argument("--tools", type=Path, metavar="FILE", help="default: the suite's own (tools.json)")
    p.add_argument("--set", dest="which", metavar="S",
                   help="core (default), extended, robust, abstain or all; bench: original (default), paraphrase, "
                        "all; chain: full (default), core, control, reseed")
    p.add_argument("--streng", action="store_true", help="bench: the original's rule leads; both are always stored")
    p.add_argument("--init", type=Path, metavar="DIR",
                   help="bench, team: write a starter for cases or scenarios of your own")
    p.add_argument("--out", type=Path, metavar="FILE", help="default: results/<model>[.<set>][.native][.<tag>].json, "
                                                          "with --tasks FILE its name without ending as the set; "
                                                          "with --arm results/arms/<model>….<arm>[.<tag>].json; "
                                                          "another suite: results/<suite>/…")
    p.add_argument("--tag", metavar="T", help="a mark in the default file name")
    p.add_argument("--concurrency", type=_whole(1), default=8, metavar="N", help="requests in flight; default: 8")
    p.add_argument("--rpm", type=_limit, metavar="N", help="requests a minute, evenly spaced; default: no limit")
    p.add_argument("--tpm", type=_limit, metavar="N", help="tokens a minute, estimated, then as billed")
    p.add_argument("--max-wait", type=_above_zero, default=3600.0, metavar="S",
                   help="how long a request may be put off by rate limits; default: 3600")
    p.add_argument("--timeout", type=_above_zero, default=60.0, metavar="S", help="seconds an attempt; default: 60")
    p.add_argument("--retries", type=_whole(0), default=4, metavar="N", help="after failures that pass; default: 4")
    p.add_argument("--max-tokens", type=_whole(1), metavar="N", help="default: 160, bench: 512, chain: 1024, "
                                                                           "team: 4096")
    p.add_argument("--max-result-chars", type=_whole(1), metavar="N",
                   help="chain: how much of a tool's result the model sees, for small contexts; default: 24000")
    p.add_argument("--bird", type=Path, metavar="DIR", help="db_routing: a folder in BIRD's layout, not the panel")
    p.add_argument("--descriptions", type=Path, metavar="FILE",
                   help="db_routing: with --bird, a JSON object: database to the paragraph that describes it")
    p.add_argument("--signal", choices=("char", "embeddings", "none"), help="db_routing: with --bird, what makes "
                   "questions neighbours; default: char, which needs scikit-learn once; none: no buckets")
    p.add_argument("--embedding-model", metavar="NAME", help="db_routing: what --model embeddings and --signal "
                   "embeddings use, a hub name or a folder; default: paraphrase-multilingual-MiniLM-L12-v2")
    p.add_argument("--cache", choices=("off", "prefix", "moving"), help="db_routing, backend anthropic: cache markers "
                   "behind tools and rules, moving: at the last message, too; default: off")
    p.add_argument("--model-json", metavar="JSON|@FILE", help="team: the models behind main, llm, vlm and omni; "
                   "default: $TEAM_MODEL_JSON, else workers that are programs")
    p.add_argument("--sandbox", choices=("bwrap", "none"), help="team: where commands run; none: checks have no "
                   "wall, agents no Bash; default: bwrap")
    p.add_argument("--task", metavar="ID,ID", help="team: only these scenarios")
    p.add_argument("--temperature", type=_temperature, default=0.0, metavar="T", help="default: 0")
    p.add_argument("--seed", type=_whole(0), metavar="N", help="sent to the endpoint; each repeat gets the next one")
    p.add_argument("--shuffle-tools", type=_whole(0), metavar="SEED", help="the tools in another order for each task, "
                                                                          "as --arm order --arm-seed SEED")
    p.add_argument("--arm", metavar="NAME", help="one thing about the tools changed, to explain the score without it; "
                                                 "--arm list names them all")
    p.add_argument("--arm-seed", type=_whole(0), default=1, metavar="N", help="of what an arm draws; default: 1")
    p.add_argument("--tool-choice", choices=("auto", "required", "none"), default="auto",
                   help="native mode; default: auto")
    p.add_argument("--parallel-tool-calls", choices=("auto", "off", "on", "unset"), default="auto",
                   help="native mode, where the API has a switch: several calls in a reply; default: auto, off unless "
                        "a task needs them")
    p.add_argument("--extra-body", type=_json_object, default={}, metavar="JSON",
                   help="merged into every request, e.g. a reasoning switch; null takes a key out")
    p.add_argument("--header", type=_header, action="append", default=[], metavar="'NAME: VALUE'",
                   help="sent with every request; may be repeated, values are stored nowhere")
    p.add_argument("--limit", type=_whole(1), metavar="N", help="only the first N tasks")
    p.add_argument("--per-category", type=_whole(1), metavar="N", help="only N tasks of each category, drawn by the "
                                                                       "hash of their ids")
    p.add_argument("--repeats", type=_whole(1), default=1, metavar="K", help="ask each task K times; default: 1")
    p.add_argument("--stop-after-errors", type=_whole(1), metavar="N", help="end after N failed tasks in a row")
    p.add_argument("--api-key-env", metavar="NAME", help="environment variable that holds the key")
    p.add_argument("--resume", action="store_true", help="send only what has no answer yet")
    p.add_argument("--force", action="store_true", help="start anew over an existing file; with --resume: go on "
                                                        "although settings differ (recorded)")
    p.add_argument("--dry-run", action="store_true", help="send nothing: show requests, tokens, price, one request")
    p.add_argument("--price-in", type=_price, metavar="P", help="per million tokens, instead of the list")
    p.add_argument("--price-out", type=_price, metavar="P", help="per million tokens, instead of the list")
    p.add_argument("--ask", metavar="TEXT", help="one question instead of the tasks: print the reply, write nothing")
    return p


def _whole(least: int) -> Callable[[str], int]:
    def whole(text: str) -> int:
        if not text.isascii() or not text.isdigit() or len(text) > 9 or int(text) < least:
            raise argparse.ArgumentTypeError(f"expected a whole number from {least}, found {text!r}")
        return int(text)
    return whole


def _above_zero(text: str) -> float:
    return _number(text, lambda x: 0 < x <= 1e6, "a number above 0")


def _limit(text: str) -> float:
    return _number(text, lambda x: 0 < x <= 1e12, "a number above 0")


def _temperature(text: str) -> float:
    return _number(text, lambda x: 0 <= x <= 2, "a number from 0 to 2")


def _price(text: str) -> float:
    return _number(text, lambda x: 0 <= x < 1e9, "a number from 0")


def _header(text: str) -> tuple[str, str]:
    """Never quotes the value: it may be a key."""
    name, colon, value = text.partition(":")
    name, value = name.strip(), value.strip()
    if not colon or not name or not all(c.isascii() and (c.isalnum() or c in "-_.!#$%&'*+^`|~") for c in name):
        raise argparse.ArgumentTypeError("expected 'Name: value'")
    if name.lower() in ("content-length", "transfer-encoding", "connection"):
        raise argparse.ArgumentTypeError(f"{name} belongs to the connection and cannot be set")
    if not (value.isascii() and value.isprintable()):
        raise argparse.ArgumentTypeError(f"the value of {name} holds characters that no HTTP header can carry")
    return name, value


# Parts of a request that are the test itself, or have a flag of their own under which they are recorded.
_FLAGS_OF = {"model": "--model", "messages": "--tasks", "input": "--tasks", "contents": "--tasks", "system": "--tasks",
             "systemInstruction": "--tasks", "instructions": "--tasks", "tools": "--tools",
             "temperature": "--temperature", "max_tokens": "--max-tokens", "max_completion_tokens": "--max-tokens",
             "max_output_tokens": "--max-tokens", "maxOutputTokens": "--max-tokens", "tool_choice": "--tool-choice",
             "toolConfig": "--tool-choice", "parallel_tool_calls": "--parallel-tool-calls", "seed": "--seed"}


def _json_object(text: str) -> dict[str, Any]:
    import json  # late: --help does without

    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError("expected a JSON object, e.g. '{\"reasoning_effort\": \"low\"}'")
    config = value.get("generationConfig")
    taken = [k for k in (*value, *(config if isinstance(config, dict) else ())) if k in _FLAGS_OF]
    if taken:
        raise argparse.ArgumentTypeError(f"{taken[0]} is set by {_FLAGS_OF[taken[0]]}")
    return value


def _number(text: str, fits: Callable[[float], bool], what: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not fits(value):
        raise argparse.ArgumentTypeError(f"expected {what}, found {text!r}")
    return value


_OWN_FLAGS = ("max_result_chars", "bird", "descriptions", "signal", "embedding_model", "cache",
              "sandbox", "task")     # of some suite only


def plan_of(args: argparse.Namespace, environ: Mapping[str, str]) -> Plan:
    """The plan behind the flags. Raise UsageError for flags that do not fit together."""
    from infranode_eval.run import Plan
    from infranode_eval.runner import Limits

    if args.embedding_model is not None and "embeddings" not in (args.model, args.signal):
        raise UsageError("--embedding-model goes with --model embeddings or --signal embeddings")
    own = {name: value for name in _OWN_FLAGS if (value := getattr(args, name)) is not None}
    pool = pool_of(args, environ)
    backend, model, base_url, key = main_of(pool, args) or endpoint_of(args, environ)
    if pool is not None:
        own["pool"] = pool.led_by(model)
    tokens = args.max_tokens or (pool.main.max_tokens if pool is not None and pool.main is not None else None)
    limits = Limits(args.concurrency, args.rpm, args.retries, args.stop_after_errors, max_wait_s=args.max_wait,
                    tpm=args.tpm)
    return Plan(args.suite, backend, model, args.which, args.mode, base_url, key, args.tasks,
                args.tools, args.out, args.tag, tokens, args.temperature, args.timeout, limits, args.limit,
                args.repeats, args.resume, args.force, tuple(args.header), args.extra_body, args.tool_choice,
                args.parallel_tool_calls, {name: environ[name] for name in _PROXY_VARIABLES if name in environ},
                args.seed, args.shuffle_tools, args.price_in, args.price_out, args.arm, args.arm_seed,
                args.streng, own, args.per_category)


def endpoint_of(args: argparse.Namespace, environ: Mapping[str, str]) -> tuple[str, str | None, str | None, str | None]:
    """(backend, model, base URL, key) as the flags say them. Raise UsageError for flags that do not fit together."""
    backend = args.backend or ("openai" if args.base_url else "baseline")
    if not args.model and backend != "baseline":
        raise UsageError(f"--backend {backend} needs --model NAME")
    if backend == "baseline" and args.base_url:
        raise UsageError("--backend baseline takes no --base-url")
    key = None if backend == "baseline" else api_key(args.api_key_env, args.base_url, environ, backend)
    if key is None and not args.base_url and not args.dry_run and not args.header and backend in _KEY_NAMES:
        raise UsageError(f"--backend {backend} needs a key in {_KEY_NAMES[backend]}, or in what --api-key-env names")
    return backend, args.model, args.base_url, key


def pool_of(args: argparse.Namespace, environ: Mapping[str, str]) -> Pool | None:
    """The models of a team: of --model-json, else of the environment. Raise UsageError for a text that is no pool."""
    text = args.model_json
    if text is None and args.suite == "team":
        text = environ.get("TEAM_MODEL_JSON") or None
    if text is None:
        return None
    if args.suite != "team":
        raise UsageError(f"suite {args.suite} takes no --model-json; leave it out")
    from infranode_eval.team.pool import read_pool  # late: only this suite has a pool

    source = "--model-json" if args.model_json is not None else "TEAM_MODEL_JSON"
    if not text.startswith("@"):
        return read_pool(text, source, environ, on_command_line=args.model_json is not None)
    path = Path(text[1:])
    try:
        return read_pool(path.read_text("utf-8-sig"), str(path), environ)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{source}: {path} cannot be read ({getattr(error, 'strerror', None) or error})") from None


def main_of(pool: Pool | None, args: argparse.Namespace) -> tuple[str, str | None, str | None, str | None] | None:
    """The manager as the pool declares it, in the form of `endpoint_of`; None where the flags name it, or nobody."""
    main = pool.main if pool is not None else None
    if main is None or args.model or args.backend or args.base_url:
        return None
    return "baseline" if main.backend == "scripted" else main.backend, main.model_id, main.api_base, main.api_key


def api_key(name: str | None, base_url: str | None, environ: Mapping[str, str],
            backend: str = "openai") -> str | None:
    """The key for an endpoint; Hugging Face's token goes to Hugging Face alone. None: no key is set.

    Raise UsageError for a named variable that is empty, or a key that no HTTP header can carry.
    """
    if name is None:
        try:
            host = f".{urlsplit(base_url or '').hostname or ''}"
        except ValueError as error:
            raise UsageError(f"--base-url is no URL ({error}); expected http://host:port/v1") from None
        name = "HF_TOKEN" if host.endswith(_HF_HOSTS) else _KEY_NAMES.get(backend, "OPENAI_API_KEY")
    elif not environ.get(name, "").strip():
        raise UsageError(f"the environment variable {name} (--api-key-env) is not set")
    key = environ.get(name, "").strip()
    if key and not (key.isascii() and key.isprintable() and " " not in key):
        raise UsageError(f"the key in {name} holds blanks or characters that no HTTP header can carry")
    return key or None


def run(argv: Sequence[str]) -> int:
    args = parser().parse_args(argv)
    if args.arm == "list":
        from infranode_eval.arms import arm_lines  # late: an ordinary run needs no list
        from infranode_eval.suites import open_suite

        print(*(open_suite(args.suite).OWN_ARMS or arm_lines()), sep="\n", flush=True)
        return 0
    check_together(args)
    if args.init is not None:
        return write_starter(args.suite, args.init)
    if args.models is not None:
        return run_lineup(args.models, argv)
    return run_one(args)[0]


def run_one(args: argparse.Namespace) -> tuple[int, bool]:
    """The exit status of one model, and whether the user ended its run."""
    plan = plan_of(args, os.environ)
    if args.ask is not None:
        from infranode_eval.question import ask
        print(*ask(plan, args.ask), sep="\n", flush=True)
        return 0, False
    if args.dry_run:
        from infranode_eval.rehearsal import rehearsal_lines, rehearse
        rehearsal = rehearse(plan, args.price_in, args.price_out)
        tell(rehearsal.ready.setup.scene.notes)
        print(*rehearsal_lines(rehearsal), sep="\n", flush=True)
        return 0, False
    return play(plan)


def tell(notes: Sequence[str]) -> None:
    """What may be an oversight in the user's file, before anything else is printed."""
    for note in notes:
        print(f"run_eval.py: note: {note}", file=sys.stderr)


def check_together(args: argparse.Namespace) -> None:
    """Raise UsageError for flags that exclude or need each other."""
    if args.models is not None and (args.model or args.out):
        raise UsageError(f"--models names the models, and each has a file of its own: leave out "
                         f"{'--model' if args.model else '--out'}")
    if args.ask is not None and (args.models is not None or args.dry_run):
        raise UsageError(f"--ask and {'--dry-run' if args.dry_run else '--models'} exclude each other")
    for name in ("ask", "models", "dry_run"):
        if args.init is not None and getattr(args, name):
            raise UsageError(f"--init and --{name.replace('_', '-')} exclude each other")
    if (args.price_in is None) != (args.price_out is None):
        raise UsageError("--price-in and --price-out go together, both per million tokens")


def write_starter(suite: str, folder: Path) -> int:
    """Raise UsageError for a suite without a starter and for a folder that is not empty."""
    from infranode_eval.starter import start_in

    print(*start_in(folder, suite), sep="\n", flush=True)
    return 0


def run_lineup(path: Path, argv: Sequence[str]) -> int:
    """Each model of the file with its own result; a failing one does not keep the next from running.

    Every line is checked before the first request. Raise DataError for a broken one.
    """
    status = 0
    for args in _lineup(path, _without_models(argv)):
        try:
            code, interrupted = run_one(args)
        except BenchError as error:
            print(f"run_eval.py: {args.model}: {error}", file=sys.stderr)
            code, interrupted = error.exit_code, False
        status = max(status, code)
        if interrupted:
            break
    return status


def _lineup(path: Path, rest: Sequence[str]) -> list[argparse.Namespace]:
    """The flags of each line; its own go before those of the command line."""
    from infranode_eval.lineup import flags_of_lines

    found = []
    for number, flags in flags_of_lines(path):
        try:
            args = parser().parse_args([*rest, *flags])
            plan_of(args, os.environ)
        except UsageError as error:
            raise DataError(str(error), path, number) from None
        found.append(args)
    return found


def _without_models(argv: Sequence[str]) -> list[str]:
    rest = list(argv)
    while "--models" in rest:
        at = rest.index("--models")
        del rest[at:at + 2]
    return [flag for flag in rest if not flag.startswith("--models=")]


def play(plan: Plan) -> tuple[int, bool]:
    """Play one plan and print its numbers; as run_one."""
    # Imported here so that --help and wrong flags answer at once.
    from infranode_eval.progress import ProgressLine
    from infranode_eval.run import execute, source_of
    from infranode_eval.runner import message_in
    from infranode_eval.suites import open_suite
    from infranode_eval.summary import summary_lines

    suite = open_suite(plan.suite)
    source = source_of(plan, suite)
    tools = suite.read_tools(plan.tools or (source if suite.TOOLS_OF_TASKS else None))
    scene = suite.scene(source, tools, plan.own)
    tell(scene.notes)
    line = ProgressLine(sys.stderr)
    try:
        out, result = execute(plan, line.show)
    finally:
        line.clear()
    if not result["counts"]["scored"]:
        reason = result["stopped"] or message_in(result["rows"][0]["error"] or "")
        print(f"run_eval.py: no task was answered, so nothing was written: {reason}", file=sys.stderr)
        return 3, result["stopped"] == "interrupted"
    print(*summary_lines(result, None if plan.arm else tools, suite.summary, scene.about), sep="\n", flush=True)
    if result["complete"]:
        print(f"\n{out}", flush=True)
        return 0, False
    failed, n = result["counts"]["failed"], result["counts"]["n"]
    print(f"run_eval.py: incomplete: {failed} of {n} tasks have no answer"
          f"{'; stopped: ' + result['stopped'] if result['stopped'] else ''}; {out} has the rest, --resume continues",
          file=sys.stderr)
    return 3, result["stopped"] == "interrupted"


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
