"""A run without sending: how many requests, how many tokens, what price, and one request as it would be sent."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from infranode_eval.budget import Forecast, Price, cost_of, gold_tokens, price_of, prompt_of, read_prices
from infranode_eval.destination import Claim, Taken, claim
from infranode_eval.providers.protocol import Answer, Messages, Preview, Provider, Remote, Sampling, Tools
from infranode_eval.run import Plan, Prepared, chosen_tasks, prepared, told_by
from infranode_eval.suites import MAIN
from infranode_eval.tokens import ESTIMATE
from lm_eval_task.dataset import retired_in
from lm_eval_task.records import Task


class _Seen(Exception):
    """The first request of a task was seen; nothing more is needed."""


class _Witness:
    """A provider that sends nothing and keeps the first request."""

    deterministic = False
    setup: str | None = None

    def __init__(self) -> None:
        self.request: tuple[Messages, Tools | None, Sampling] | None = None

    def ask(self, messages: Messages, tools: Tools | None, sampling: Sampling) -> Answer:
        self.request = (messages, tools, sampling)
        raise _Seen

    def as_role(self, name: str, cancelled: threading.Event) -> Provider:
        """Whoever else is asked is a witness, too."""
        return self

    def close(self) -> None:
        pass


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """What a run would do. asked: the tasks to send, once for each repeat. taken: why the run would not begin.

    retired: rows of the set that are out of use, since the API no longer answers them.
    """

    ready: Prepared
    asked: Sequence[Task]
    preview: Preview | None
    price: Price | None
    price_source: str
    taken: str | None = None
    retired: int = 0


def rehearse(plan: Plan, price_in: float | None = None, price_out: float | None = None) -> Rehearsal:
    """Raise UsageError or DataError as the run itself would, but not for a result that stands in its way."""
    ready = prepared(plan)
    plan = ready.plan
    taken = None
    try:
        claimed = claim(ready.out, ready.description, deterministic=ready.provider.deterministic, resume=plan.resume,
                        force=plan.force, told=told_by(ready.suite))
    except Taken as error:
        claimed, taken = Claim(ready.out, {}), str(error)
    chosen, repeats = chosen_tasks(ready.tasks, plan, claimed)
    asked = [task for repeat in range(1, repeats + 1) for task in chosen
             if (task.task_id, repeat) not in claimed.stored]
    table = read_prices()
    listed = plan.model if plan.model in table.prices else None
    price = price_of(table, listed, price_in, price_out, None)
    source = "as given" if price_in is not None and price_out is not None else \
        f"list price of {table.as_of} in {table.currency}, unchecked: --price-in and --price-out override"
    retired = retired_in(plan.which, plan.tasks) if plan.suite == MAIN else 0
    return Rehearsal(ready, asked, _preview(ready, asked), price, source, taken, retired)


def _preview(ready: Prepared, asked: Sequence[Task]) -> Preview | None:
    """The first request of the first task; None where nothing would go over a network."""
    if not asked or not isinstance(ready.provider, Remote):
        return None
    witness = _Witness()
    with contextlib.suppress(_Seen):
        ready.suite.play(asked[0], witness, ready.setup.for_task(asked[0].task_id, asked[0].question))
    return ready.provider.preview(*witness.request) if witness.request else None


def rehearsal_lines(rehearsal: Rehearsal) -> Iterator[str]:
    """What --dry-run prints."""
    ready, asked = rehearsal.ready, rehearsal.asked
    yield (f"dry run, nothing is sent: {ready.description.model} ({ready.description.backend}, {ready.setup.mode}), "
           f"suite {ready.description.suite}, set {ready.description.set}"
           + (f", arm {arm}" if (arm := ready.description.settings.get("arm")) else ""))
    what = "plays" if ready.suite.REPLAYS else "requests"
    yield f"{what:<15}{len(asked):>12,}   one a task at least, without retries; {ready.out}"
    if ready.setup.scene.about:
        yield ready.setup.scene.about
    if rehearsal.retired:
        yield f"retired rows   {rehearsal.retired:>12,}   of the set are left out (\"retired\" in the file says why)"
    if rehearsal.taken is not None:
        yield f"note: {rehearsal.taken}"
    if not asked:
        return
    if (forecast := ready.suite.forecast(asked, ready.setup, ESTIMATE.count)) is not None:
        yield from _forecast_lines(rehearsal, forecast)
    else:
        yield from _prompt_lines(rehearsal)
    if rehearsal.preview is not None:
        yield ""
        yield f"POST {rehearsal.preview.url}"
        yield from (f"{name}: {value}" for name, value in rehearsal.preview.headers.items())
        yield ""
        yield json.dumps(rehearsal.preview.body, ensure_ascii=False, indent=1)


def _forecast_lines(rehearsal: Rehearsal, forecast: Forecast) -> Iterator[str]:
    """Plays of several requests: what they take if they follow the golds."""
    suite = rehearsal.ready.plan.suite
    yield f"requests       {forecast.requests:>12,}   if each follows its gold; detours need more"
    yield f"input tokens   {forecast.input_tokens:>12,}   an estimate (measure.py --suite {suite} --tokenizer counts)"
    yield f"of them        {forecast.cached:>12,}   repeat the request before, which a cache of prompts makes cheaper"
    yield f"output tokens  {forecast.output_tokens:>12,}   for the golds; at most {forecast.most_output:,}"
    yield f"context        {forecast.context:>12,}   tokens that the model must hold, longest request and reply"
    if (price := rehearsal.price) is not None:
        cost = forecast.cost(price)
        cached = f"{cost.lowest:.4f} with cached repeats, " if price.cached is not None else ""
        yield (f"price          {cost.uncached:>12.4f}   for the golds; {cached}at most {cost.highest:.4f}; "
               f"{price.price_in:g} in, {price.price_out:g} out per million ({rehearsal.price_source})")


def _prompt_lines(rehearsal: Rehearsal) -> Iterator[str]:
    """One request a task: what the prompts take."""
    ready, asked = rehearsal.ready, rehearsal.asked
    max_tokens = ready.setup.sampling.max_tokens
    prompt = prompt_of(ready.setup.mode, ready.setup.tools, asked, ESTIMATE.count, max_tokens,
                       ready.setup.before_question)
    gold = gold_tokens(asked, ESTIMATE.count)
    suite = "" if ready.plan.suite == MAIN else f" --suite {ready.plan.suite}"
    yield f"input tokens   {prompt.total.tokens:>12,}   an estimate (measure.py{suite} --tokenizer counts)"
    yield f"output tokens  {gold:>12,}   for the expected calls; at most {len(asked) * max_tokens:,}"
    if (price := rehearsal.price) is not None:
        cost = cost_of(prompt, price, gold, max_tokens)
        yield (f"price          {cost.uncached:>12.4f}   for the expected calls; at most {cost.highest:.4f}; "
               f"{price.price_in:g} in, {price.price_out:g} out per million ({rehearsal.price_source})")
