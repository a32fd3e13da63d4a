"""One run from its plan to its results file."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from infranode_eval.arms import SEED, arm_named, offering_of
from infranode_eval.beside import read_transcripts
from infranode_eval.destination import Claim, Told, claim
from infranode_eval.fold import Fold
from infranode_eval.journal import Journal
from infranode_eval.providers import open_provider
from infranode_eval.providers.masking import MASK, Mask
from infranode_eval.providers.protocol import OFF, Provider, ProviderOptions, Recorded, Remote, Sampling
from infranode_eval.results import Description, now_utc, results_path, write_result
from infranode_eval.runner import Limits, Progress, Runner
from infranode_eval.shelf import Shelf
from infranode_eval.suites import Setup, Sourced, Staffing, Suite, open_suite
from infranode_eval.totals import Tariff, list_price
from lm_eval_task.errors import UsageError
from lm_eval_task.records import Task, canonical_json, fingerprint
from lm_eval_task.tools import Toolset


@dataclass(frozen=True, slots=True)
class Plan:
    """What the command line asks for; None where the suite or the name of the model decides.

    headers, extra_body, tool_choice, environ: as in ProviderOptions. parallel: "off", "on", "unset" or "auto", which is
    off where every task can be answered with one call. shuffle: seed of each task's own order of tools, which is the
    arm "order". price_in, price_out: per million tokens. strict: the suite's stricter rule leads. own: flags that
    only some suite takes, by name. per_category: so many tasks of each category, the same ones for everybody.
    """

    suite: str
    backend: str
    model: str | None = None
    which: str | None = None
    mode: str | None = None
    base_url: str | None = None
    api_key: str | None = None
    tasks: Path | None = None
    tools: Path | None = None
    out: Path | None = None
    tag: str | None = None
    max_tokens: int | None = None
    temperature: float = 0.0
    timeout_s: float = 60.0
    limits: Limits = Limits()
    limit: int | None = None
    repeats: int = 1
    resume: bool = False
    force: bool = False
    headers: tuple[tuple[str, str], ...] = ()
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    tool_choice: str = "auto"
    parallel: str = "auto"
    environ: Mapping[str, str] = field(default_factory=dict)
    seed: int | None = None
    shuffle: int | None = None
    price_in: float | None = None
    price_out: float | None = None
    arm: str | None = None
    arm_seed: int = SEED
    strict: bool = False
    own: Mapping[str, Any] = field(default_factory=dict)
    per_category: int | None = None

    def for_suite(self, suite: Suite) -> Plan:
        """The plan with the suite's own baseline and set where none is named. Raise UsageError for what it lacks."""
        if suite.OWN_ARMS and self.arm is not None:
            if self.arm not in suite.OWN_ARMS:
                raise UsageError(f"suite {self.suite} has no arm {self.arm!r}; expected one of "
                                 f"{', '.join(suite.OWN_ARMS)}")
            return replace(self, arm=None, own={**self.own, "condition": self.arm}).for_suite(suite)
        if not suite.TAKES_ARMS and (self.arm is not None or self.shuffle is not None):
            raise UsageError(f"suite {self.suite} has no arms; leave out "
                             f"{'--arm' if self.arm is not None else '--shuffle-tools'}")
        if self.strict and suite.headline({}, True) is None:
            raise UsageError(f"suite {self.suite} has one rule only; leave out --streng, or add --suite bench")
        for name in self.own.keys() - set(suite.OWN_FLAGS):
            raise UsageError(f"suite {self.suite} takes no --{name.replace('_', '-')}; leave it out")
        return replace(self, model=self.model or suite.BASELINE, which=self.which or suite.SETS[0])


@dataclass(frozen=True, slots=True)
class Prepared:
    """A plan with everything that it names opened and checked; nothing has been sent yet."""

    plan: Plan
    suite: Suite
    setup: Setup
    tasks: Sequence[Task]
    provider: Provider
    description: Description
    out: Path


def prepared(plan: Plan) -> Prepared:
    """Raise UsageError or DataError for a plan that cannot be played."""
    suite = open_suite(plan.suite)
    plan = plan.for_suite(suite)
    source = source_of(plan, suite)
    tools = suite.read_tools(plan.tools or (source if suite.TOOLS_OF_TASKS else None))
    tasks = suite.load(source, tools, plan.which)
    setup = setup_of(plan, suite, tools, tasks)
    tasks = suite.eligible(tasks, setup)
    provider = provider_of(plan, suite, setup.tools, tasks)
    out = plan.out or results_path(plan.model, plan.suite, plan.which, setup.mode, plan.tag, own_name(plan, suite),
                                   _arm_mark(plan), suite.SETS[0], plan.own.get("condition"), suite.UNMARKED_MODE)
    return Prepared(plan, suite, setup, tasks, provider, _description(plan, suite, setup, tasks, provider, tools), out)


def source_of(plan: Plan, suite: Suite) -> Any:
    """What a suite reads its tasks from: the file of --tasks, what its own flags name, or None for its own."""
    if not isinstance(suite, Sourced):
        return plan.tasks
    folder = (plan.out or results_path("", plan.suite)).parent
    return suite.source(plan.tasks, plan.own, folder)


def own_name(plan: Plan, suite: Suite) -> str | None:
    """What results call a user's own tasks: the stem of the file, and the set where such files have several."""
    source = source_of(plan, suite)
    if source is None:
        return None
    return source.stem + (f".{plan.which}" if suite.OWN_SETS and plan.which != suite.SETS[0] else "")


def _arm_mark(plan: Plan) -> str | None:
    """The arm in a file's name, with its seed where that is not the usual one."""
    return plan.arm and plan.arm + ("" if plan.arm_seed == SEED else f"-{plan.arm_seed}")


def setup_of(plan: Plan, suite: Suite, tools: Toolset, tasks: Sequence[Task] = ()) -> Setup:
    """Raise UsageError for settings that the mode has no place for, and for an arm that these tools cannot have."""
    mode = plan.mode or suite.MODE
    if mode not in suite.MODES:
        raise UsageError(f"suite {plan.suite} plays in {' or '.join(suite.MODES)} mode; leave out --mode {mode}")
    if mode != "native" and plan.tool_choice != "auto":
        raise UsageError(f"--tool-choice {plan.tool_choice} needs --mode native; in {mode} mode no tools are sent")
    if mode != "native" and plan.own.get("cache", OFF) != OFF:
        raise UsageError(f"--cache {plan.own['cache']} needs --mode native; in {mode} mode no tools are sent")
    sampling = Sampling(plan.max_tokens or suite.MAX_TOKENS, plan.temperature, plan.seed)
    offering = offering_of(_settings_of_arm(plan), tools) or suite.offering(tasks, tools)
    return Setup.of(mode, tools, sampling, offering, suite.scene(source_of(plan, suite), tools, plan.own))


def _settings_of_arm(plan: Plan) -> dict[str, Any]:
    """As stored, from which anybody can work out what was offered. Raise UsageError for an arm that does not exist."""
    if plan.shuffle is not None:
        if plan.arm is not None:
            raise UsageError("--shuffle-tools is --arm order under its old name: leave one of the two out")
        return {"shuffle_tools": plan.shuffle}
    if plan.arm is None and plan.arm_seed != SEED:
        raise UsageError("--arm-seed goes with --arm NAME")
    return {} if plan.arm is None else {"arm": arm_named(plan.arm).name, "arm_seed": plan.arm_seed}


def provider_of(plan: Plan, suite: Suite, tools: Toolset, tasks: Sequence[Task] = ()) -> Provider:
    """Raise UsageError for a backend that does not exist or cannot work with the plan, and for an unknown program."""
    options = ProviderOptions(
        plan.model, tools, plan.base_url, plan.api_key, plan.timeout_s, plan.headers, plan.extra_body,
        plan.tool_choice, parallel_of(plan.parallel, tasks), plan.environ, plan.own.get("cache", OFF),
        plan.own)
    if plan.backend == "baseline" and options.cache != OFF:
        raise UsageError("--backend baseline takes no --cache")
    own = suite.PROGRAMS if plan.backend == "baseline" else {}
    if own and plan.model not in own:
        raise UsageError(f"suite {plan.suite} has no program {plan.model!r}; expected one of {', '.join(own)}")
    provider = own[plan.model](options) if own else open_provider(plan.backend, options)
    if isinstance(suite, Staffing):
        provider = suite.staffed(provider, plan.own, options)
    if plan.seed is not None and not (isinstance(provider, Remote) and provider.takes_seed):
        raise UsageError(f"--seed: backend {plan.backend} takes no seed; leave it out")
    return provider


def parallel_of(choice: str, tasks: Sequence[Task]) -> bool | None:
    """May a reply hold several calls? "auto": no, unless some task cannot be answered with one."""
    if choice == "auto":
        return any(task.wants_several for task in tasks) if tasks else None
    return {"off": False, "on": True, "unset": None}[choice]


def execute(plan: Plan, show: Callable[[Progress], None] | None = None) -> tuple[Path, dict[str, Any]]:
    """Play the plan, write the results file, and return its path and content.

    Raise UsageError or DataError before the first request; what fails later stands in the rows. An interrupted
    deterministic run writes nothing: it costs nothing to repeat. Nor does a run without any answer, which has
    nothing to keep: what stood there stays as it is.
    """
    ready = prepared(plan)
    plan, suite, setup, provider = ready.plan, ready.suite, ready.setup, ready.provider
    description, out = ready.description, ready.out
    claimed = claim(out, description, deterministic=provider.deterministic, resume=plan.resume, force=plan.force,
                    told=told_by(suite))
    if claimed.forced:
        description = replace(description, settings={**description.settings, "forced": list(claimed.forced)})
    chosen, repeats = chosen_tasks(ready.tasks, plan, claimed)
    fold = Fold(description, setup.sampling, provider.deterministic, Shelf(out.parent), suite.aggregate,
                lambda metrics: suite.headline(metrics, plan.strict), suite.TRANSCRIPTS_BESIDE)
    if provider.deterministic:
        runner = Runner(suite, setup, provider, plan.limits, keep=fold.keep)
        result = fold.result(runner.run(chosen, repeats, show), runner.stop_reason)
        if result["stopped"] is None:
            write_result(out, result)
        return out, result
    kept_journal = bool(claimed.stored) and claimed.journal.exists()   # asked now: the runner takes the answers out
    journal = Journal.open(claimed.journal, description.identity(), anew=plan.force and not plan.resume)
    try:
        started = now_utc()
        runner = Runner(suite, setup, provider, plan.limits, journal, claimed.stored, fold.keep, plan.force)
        kept = runner.run(chosen, repeats, show)
        times = {"started": started, "finished": now_utc()}
        result = fold.result(kept, runner.stop_reason, tariff_of(plan), runner.pace.to_json(), times)
        if result["counts"]["scored"]:
            write_result(out, result)
            journal.close(remove=result["complete"])
        else:
            journal.close(remove=not kept_journal and not journal.appended)
    finally:
        journal.close()
    return out, result


def told_by(suite: Suite) -> Callable[[Path, Mapping[str, Any]], Told] | None:
    """How the answers of a stored row are found, where a play is several requests; None where it is one."""
    if not suite.REPLAYS:
        return None

    def of_result(out: Path, result: Mapping[str, Any]) -> Told:
        if not suite.TRANSCRIPTS_BESIDE:
            return lambda row: (suite.answers_of(row["transcript"]), suite.notes_of(row["transcript"]))
        found = read_transcripts(out, result["transcripts"])
        return lambda row: (suite.answers_of(found[row["task_id"], row["repeat"]]),
                            suite.notes_of(found[row["task_id"], row["repeat"]]))

    return of_result


def tariff_of(plan: Plan) -> Tariff | None:
    """The price as given, else the list price of the model, also where a router puts the vendor before its name."""
    from infranode_eval.budget import Price, read_prices  # late: needed once, at the end

    if plan.price_in is not None and plan.price_out is not None:
        return Tariff(Price(plan.price_in, plan.price_out), None, "as given")
    table = read_prices()
    price = table.prices.get(plan.model) or table.prices.get(plan.model.rpartition("/")[2])
    return Tariff(price, table.currency, list_price(table)) if price else None


def chosen_tasks(tasks: Sequence[Task], plan: Plan, claimed: Claim) -> tuple[list[Task], int]:
    """The tasks under --limit or --per-category, and the repeats; what an earlier run has answered stays in the file
    all the same."""
    answered = {task_id for task_id, _ in claimed.stored}
    limit = len(tasks) if plan.limit is None else plan.limit
    among = None if plan.per_category is None else sample_of(tasks, plan.per_category)
    chosen = [task for i, task in enumerate(tasks)
              if (i < limit and (among is None or task.task_id in among)) or task.task_id in answered]
    return chosen, max((plan.repeats, *(repeat for _, repeat in claimed.stored)))


def sample_of(tasks: Sequence[Task], per_category: int) -> frozenset[str]:
    """Ids of so many tasks of each category, drawn by the hash of their ids: no choice of ours, and always the same."""
    by_category: dict[str, list[str]] = {}
    for task in tasks:
        by_category.setdefault(task.category, []).append(task.task_id)
    return frozenset(task_id for ids in by_category.values()
                     for task_id in sorted(ids, key=fingerprint)[:per_category])


def _description(plan: Plan, suite: Suite, setup: Setup, tasks: Sequence[Task], provider: Provider,
                 tools: Toolset) -> Description:
    """tools: as they stand; their hash is that of a run under an arm, too, and the arm stands in the settings."""
    settings: dict[str, Any] = {**setup.sampling.to_json(), "limit": plan.limit, "repeats": plan.repeats,
                                **_settings_of_arm(plan)}
    if plan.per_category is not None:
        settings["per_category"] = plan.per_category
    if setup.scene.zone is not None:
        settings["zone"] = setup.scene.zone
    settings |= {**setup.scene.settings, **_world(tasks)}
    if isinstance(provider, Recorded):
        settings |= provider.settings
    if setup.offering and plan.arm == "nearest_3":
        possible, count = setup.offering.share_possible(tuple(tasks))
        settings["gold_offered"] = {"tasks": possible, "of": count}
    if not provider.deterministic:
        settings |= {"base_url": _without_secrets(plan.base_url), "timeout_s": plan.timeout_s,
                     "concurrency": plan.limits.concurrency, "rpm": plan.limits.rpm, "tpm": plan.limits.tpm,
                     "retries": plan.limits.retries, "max_wait_s": plan.limits.max_wait_s}
        settings |= _settings_sent(plan, setup.mode, provider, parallel_of(plan.parallel, tasks))
    return Description(plan.suite, set_named(plan, suite, tasks), plan.model, plan.backend, setup.mode, provider.setup,
                       suite.hashes(tasks, tools, setup), settings)


def _world(tasks: Sequence[Task]) -> dict[str, Any]:
    """The world that the tasks are played in, where they name one; {} where they name none, or several."""
    worlds = {canonical_json(world): world for task in tasks if (world := task.extra.get("world")) is not None}
    return {"world": next(iter(worlds.values()))} if len(worlds) == 1 else {}


def set_named(plan: Plan, suite: Suite, tasks: Sequence[Task]) -> str:
    """What the result calls its set: the name of a user's file whose rows have none, else the set that was chosen."""
    return plan.which if any(task.set is not None for task in tasks) else own_name(plan, suite) or plan.which


def _settings_sent(plan: Plan, mode: str, provider: Provider, parallel: bool | None) -> dict[str, Any]:
    """What shapes every request beside the sampling; null where it was not sent."""
    native = mode == "native"
    switch = native and isinstance(provider, Remote) and provider.parallel_switch and plan.tool_choice != "none"
    settings: dict[str, Any] = {"tool_choice": plan.tool_choice if native else None,
                                "parallel_tool_calls": parallel if switch else None}
    if switch and plan.parallel == "auto":
        settings["parallel_tool_calls_chosen"] = "by the tasks"
    if plan.headers:
        settings["headers"] = {name: MASK for name, _ in plan.headers}
    if plan.extra_body:
        mask = Mask((plan.api_key or "", *(value for _, value in plan.headers)))
        settings["extra_body"] = json.loads(mask.text(json.dumps(plan.extra_body)))
    return settings


def _without_secrets(url: str | None) -> str | None:
    """Scheme, host, port and path: a query may hold a key."""
    parts = urlsplit(url or "")
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}" if url else None
