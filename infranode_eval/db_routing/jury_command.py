"""Ask one model of a jury how confusing each question is; its votes are appended to a file.

    python -m infranode_eval.db_routing jury --base-url U --model M [--limit N] [--resume]

Three distinct models make a jury; until every question has their votes, buckets know of neighbours only. A question
counts as asked when a readable vote of this model on this prompt and panel stands in the file.

Exit codes: 0 every question asked has a line, 2 usage or data, 3 some got no answer: --resume asks for them again.
"""

from __future__ import annotations

import json
import os
import time
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from datetime import datetime, timezone
from itertools import islice
from pathlib import Path

from infranode_eval.db_routing.arms import anonymised
from infranode_eval.db_routing.jury import (
    FIXTURE,
    MODELS,
    VOTES,
    Jury,
    Vote,
    jury_of,
    jury_prompt,
    prompt_sha256,
    read_votes,
    vote_of,
)
from infranode_eval.db_routing.panel_choice import add_panel_flags, chosen_panel
from infranode_eval.db_routing.tasks import RoutingTask, tasks_of
from infranode_eval.patience import Patience
from infranode_eval.providers import BACKENDS, open_provider
from infranode_eval.providers.protocol import Adapted, Answer, Provider, ProviderOptions, Sampling
from infranode_eval.terminal import Parser, complain, show
from lm_eval_task.errors import BenchError, ProviderError, RateLimitedError, RefusedRequestError, UsageError
from lm_eval_task.shapes import parts_of
from lm_eval_task.tools import Toolset

PROG = "jury"
MAX_TOKENS = 1024
_BACKOFF_S, _MAX_WAIT_S = 1.0, 600.0


def main(arguments: Sequence[str] | None = None) -> int:
    try:
        return _vote(_arguments(arguments))
    except BenchError as error:
        complain(PROG, str(error))
        return error.exit_code


def _arguments(arguments: Sequence[str] | None) -> Namespace:
    parser = Parser("python -m infranode_eval.db_routing jury", __doc__)
    parser.add_argument("--base-url", metavar="U", help="with or without /v1; default: the vendor's, for openai none")
    parser.add_argument("--model", metavar="M", required=True, help="as the endpoint names it")
    parser.add_argument("--backend", choices=[name for name in BACKENDS if name != "baseline"], default="openai")
    parser.add_argument("--api-key-env", metavar="NAME", help="environment variable that holds the key; default: none")
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N questions of the panel's order")
    parser.add_argument("--resume", action="store_true", help="ask only where no readable vote of this model stands")
    parser.add_argument("--concurrency", type=int, default=8, metavar="N", help="requests in flight; default: 8")
    parser.add_argument("--retries", type=int, default=4, metavar="N", help="after failures that pass; default: 4")
    parser.add_argument("--timeout", type=float, default=60.0, metavar="S", help="seconds an attempt; default: 60")
    parser.add_argument("--max-tokens", type=int, default=MAX_TOKENS, metavar="N", help=f"default: {MAX_TOKENS}")
    parser.add_argument("--out", type=Path, metavar="FILE", help=f"default: {VOTES} beside the panel")
    add_panel_flags(parser)
    chosen = parser.parse_args(arguments)
    if chosen.model.startswith(FIXTURE):
        raise UsageError(f'models called "{FIXTURE}…" are those of tests, whose votes no release may hold')
    for name, least in (("limit", 1), ("concurrency", 1), ("retries", 0), ("max_tokens", 1), ("timeout", 0.001)):
        if (value := getattr(chosen, name)) is not None and value < least:
            raise UsageError(f"--{name.replace('_', '-')} must be at least {least:g}, found {value:g}")
    return chosen


def _vote(chosen: Namespace) -> int:
    panel, folder = chosen_panel(chosen)
    path = chosen.out or folder / VOTES
    tasks = tasks_of(panel)
    waiting = _waiting(tasks[:chosen.limit], read_votes(path), chosen)
    provider = open_provider(chosen.backend, _options(chosen))
    try:
        failed = _collected(waiting, provider, chosen, path)
    finally:
        provider.close()
    votes = [vote for vote in read_votes(path) if vote.model == chosen.model and _stands(vote, tasks[0])]
    show(_told(chosen.model, votes, jury_of(panel, path)))
    if failed:
        complain(PROG, f"{len(failed)} questions got no answer ({failed[0]}); --resume asks for them again")
    return 3 if failed else 0


def _waiting(tasks: Sequence[RoutingTask], votes: Sequence[Vote], chosen: Namespace) -> list[RoutingTask]:
    """The questions to ask. Raise UsageError where the model has voted and --resume is not given."""
    given = {vote.task_id for vote in votes
             if vote.model == chosen.model and vote.vote is not None and _stands(vote, tasks[0])}
    if given and not chosen.resume:
        raise UsageError(f"{chosen.model} has voted on {len(given)} questions; --resume asks for the rest")
    return [task for task in tasks if task.task_id not in given]


def _stands(vote: Vote, task: RoutingTask) -> bool:
    """Was it given to this prompt over this panel?"""
    return (vote.prompt_sha256, vote.panel_sha256) == (prompt_sha256(), task.panel.sha256)


def _options(chosen: Namespace) -> ProviderOptions:
    """Raise UsageError for a named variable that is empty."""
    key = os.environ.get(chosen.api_key_env, "").strip() if chosen.api_key_env else None
    if chosen.api_key_env and not key:
        raise UsageError(f"the environment variable {chosen.api_key_env} (--api-key-env) is not set")
    return ProviderOptions(chosen.model, Toolset.of(()), chosen.base_url, key, chosen.timeout)


# --- asking -----------------------------------------------------------------------------------------------------------

def _collected(tasks: Sequence[RoutingTask], provider: Provider, chosen: Namespace, path: Path) -> list[str]:
    """Append each vote as it comes; why questions got none. Raise what every request would be refused for."""
    failed: list[str] = []
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file, ThreadPoolExecutor(chosen.concurrency) as pool:
        for future in _finished(pool, tasks, lambda task: _vote_on(task, provider, chosen), chosen.concurrency):
            try:
                file.write(json.dumps(future.result().to_json(), ensure_ascii=False) + "\n")
                file.flush()
            except ProviderError as error:
                if not error.retryable:
                    raise
                failed.append(str(error))
    return failed


def _finished(pool: ThreadPoolExecutor, tasks: Sequence[RoutingTask], ask: Callable[[RoutingTask], Vote],
              most: int) -> Iterator[Future[Vote]]:
    """As they come; no more wait in the pool than it can ask, so that whoever stops listening stops it."""
    rest = iter(tasks)
    open_ = {pool.submit(ask, task) for task in islice(rest, most)}
    while open_:
        done, open_ = wait(open_, return_when=FIRST_COMPLETED)
        for future in done:
            yield future
            open_ |= {pool.submit(ask, task) for task in islice(rest, 1)}


def _vote_on(task: RoutingTask, provider: Provider, chosen: Namespace) -> Vote:
    """A reply that says neither is no vote, and so is one that a content filter keeps back."""
    offered = anonymised(task)
    asked = jury_prompt(offered.catalogue, task.question, len(offered.entries))
    try:
        message = _answer(provider, asked, chosen).message
    except RefusedRequestError as error:
        if error.sub != "content_filter":
            raise
        message = {"role": "assistant", "content": ""}
    now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return Vote(task.task_id, chosen.model, vote_of(message), parts_of(message).text, prompt_sha256(),
                task.panel.sha256, now)


def _answer(provider: Provider, asked: Sequence[dict[str, str]], chosen: Namespace) -> Answer:
    patience, sampling = Patience(chosen.retries, _BACKOFF_S, _MAX_WAIT_S), Sampling(chosen.max_tokens)
    while True:
        try:
            return provider.ask(asked, None, sampling)
        except Adapted:
            continue
        except RateLimitedError as error:
            pause_s = patience.after_refusal(error, time.monotonic())
        except ProviderError as error:
            pause_s = patience.after_failure(error)
        time.sleep(pause_s)


def _told(model: str, votes: Sequence[Vote], jury: Jury) -> str:
    """What this model has said so far, and whether the jury is complete."""
    said = {vote.task_id: vote.vote for vote in reversed(votes) if vote.vote is not None}
    unreadable = {vote.task_id for vote in votes} - said.keys()
    lines = [f"{model}: {len(said)} votes, {sum(said.values())} of them confusing, {len(unreadable)} unreadable"]
    if jury.complete:
        lines.append(f"the jury is complete: {', '.join(jury.models)}")
    else:
        lines.append(f"the jury is not complete: {jury.missing} questions lack the votes of {MODELS} distinct models")
    return "".join(f"{line}\n" for line in lines)
