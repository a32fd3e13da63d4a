"""The suites by name, and the values that a suite and the runner share.

A suite is a module with `load`, `play` and `score` (specification: design, "A suite is three functions"), and with
what a run needs to know of it besides; nothing else knows a suite by its name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from infranode_eval.arms.offer import Offer, Offering
from infranode_eval.providers.protocol import Answer, Messages, Provider, ProviderOptions, Sampling, Tools
from lm_eval_task.errors import UsageError
from lm_eval_task.prompt import messages, prompt_prefix
from lm_eval_task.records import Score, Task, tasks_fingerprint
from lm_eval_task.tools import Toolset

if TYPE_CHECKING:
    from infranode_eval.budget import Forecast

MAIN = "single"
NOTHING: Mapping[str, Any] = {}
SUITES = (MAIN, "bench", "chain", "db_routing", "team")
IN_ORDER = "in order"       # each stored answer belongs to the next request, which must be its own
BY_REQUEST = "by request"   # each belongs to the request with its key, whenever that is asked
MANY = 10 ** 6
ALL_MODES = ("prompt", "native")


@dataclass(frozen=True, slots=True)
class Scene:
    """What surrounds the questions of a run.

    messages: (mode, tools, question) → the chat messages; None: as the main suite puts its questions. zone: of local
    time ("+02:00", "Europe/Berlin"), where a suite judges times. several: a prompt asks for all calls in one reply.
    about: which text precedes the questions, in one line. notes: what may be an oversight in the user's file.
    settings: what a suite's own flags have set; recorded, and part of what a run is.
    """

    messages: Callable[[str, Toolset, str], list[dict[str, Any]]] | None = None
    zone: str | None = None
    several: bool = False
    about: str = ""
    notes: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Setup:
    """What is the same for all tasks of a run, or for one task of it.

    tools: those that are offered. tools_json: the same as `tools=` takes them, built once. prefix: all of a prompt but
    the question, in prompted mode, built once as well. offering: the arm of the run, or what its tasks narrow; offer:
    what it offers here. None: the tools as they stand. scene: what surrounds the question.
    """

    mode: str
    tools: Toolset
    tools_json: Tools
    sampling: Sampling
    prefix: str = ""
    offering: Offering | None = None
    offer: Offer | None = None
    scene: Scene = field(default_factory=Scene)

    @classmethod
    def of(cls, mode: str, tools: Toolset, sampling: Sampling, offering: Offering | None = None,
           scene: Scene | None = None) -> Setup:
        return cls._offered(mode, tools, sampling, offering, offering.whole if offering else None, scene or Scene())

    @classmethod
    def _offered(cls, mode: str, tools: Toolset, sampling: Sampling, offering: Offering | None,
                 offer: Offer | None, scene: Scene) -> Setup:
        tools, intro = (offer.tools, offer.intro) if offer else (tools, None)
        prefix = prompt_prefix(tools, intro) if mode == "prompt" and scene.messages is None else ""
        return cls(mode, tools, tools.to_json(), sampling, prefix, offering, offer, scene)

    def for_task(self, task_id: str, question: str = "") -> Setup:
        """The set-up as this task sees it."""
        if self.offering is None or self.offering.choose is None:
            return self
        offer = self.offering.for_task(task_id, question)
        if offer is self.offer:
            return self
        return Setup._offered(self.mode, offer.tools, self.sampling, None, offer, self.scene)

    def offer_for(self, task: Task) -> Offer | None:
        """What an arm offers for a task, without rendering it; None for the tools as they stand."""
        return self.offering.for_task(task.task_id, task.question) if self.offering else self.offer

    def messages(self, question: str) -> list[dict[str, Any]]:
        """As `prompt.messages`, without rendering the tools once more; or as the scene puts its questions."""
        if self.scene.messages is not None:
            return self.scene.messages(self.mode, self.tools, question)
        if self.mode == "prompt":
            return [{"role": "user", "content": self.prefix + question}]
        return messages(self.mode, self.tools, question, self.offer.intro if self.offer else None)

    @property
    def before_question(self) -> str:
        """All text that is sent with every question; in native mode without the tools, which travel beside it."""
        return "".join(message["content"] for message in self.messages(""))


@dataclass(frozen=True, slots=True)
class Transcript:
    """What was said about one task: all messages in the OpenAI chat shape, and the answers among them in order.

    course: what a suite that executes calls keeps of the play; it joins the row, and its results the file. keys: those
    of the answers' requests, where a play has had more answers than it tells; None: all of them in order.
    """

    messages: Messages
    answers: tuple[Answer, ...]
    course: Course | None = None
    keys: tuple[str, ...] | None = None


class Course(Protocol):
    """What happened in a play of several requests."""

    def to_json(self) -> dict[str, Any]:
        """The `transcript` of a row, in which results stand under their sha256."""
        ...

    def bodies(self) -> Mapping[str, str]:
        """sha256 → text of each result."""
        ...


def failure_of(task: Task, outcome: str, why: str, sub: str | None = None) -> Score:
    """The scorer's failure row."""
    return Score.failure(outcome, why, sub)


def usual_hashes(suite: Suite, tasks: Sequence[Task], tools: Toolset, setup: Setup) -> dict[str, str]:
    """Those of a suite whose runs hang on nothing else."""
    return {"tasks": tasks_fingerprint(tasks), "tools": tools.fingerprint, "prompt": suite.prompt_hash(setup)}


def play_once(task: Task, provider: Provider, setup: Setup) -> Transcript:
    """One request, at most one reply: nothing is executed. Raises what the provider raises."""
    asked = setup.messages(task.question)
    answer = provider.ask(asked, setup.tools_json if setup.mode == "native" else None, setup.sampling)
    return Transcript((*asked, answer.message), (answer,))


@dataclass(frozen=True, slots=True)
class Starter:
    """A folder of the package's data to begin with, and the command that follows: @CASES@, @TOOLS@ and @FOLDER@ stand
    for paths in it."""

    folder: str
    next: str


class Suite(Protocol):
    """The shape of a suite module."""

    MAX_TOKENS: int         # default of --max-tokens
    MODE: str               # default of --mode
    MODES: tuple[str, ...]  # what --mode may be
    UNMARKED_MODE: str      # the mode that does not stand in the names of results
    SETS: tuple[str, ...]   # what --set chooses among; the first is its default
    OWN_SETS: bool          # a user's own file has these sets as well, so that they stand in the names of its results
    BASELINE: str           # the program that is asked where no model is named
    PROGRAMS: Mapping[str, Callable[[ProviderOptions], Provider]]   # its own, by name; empty: the baselines of all
    TAKES_ARMS: bool        # --arm and --shuffle-tools make sense
    STARTER: Starter | None     # what --init writes
    OWN_FLAGS: tuple[str, ...]   # flags that only this suite takes, by their names in the results' settings
    REPLAYS: str | None     # a play is several requests, and stored answers are given IN_ORDER or BY_REQUEST; else None
    PLAYS_AT_ONCE: int      # so many plays at most are under way
    TRANSCRIPTS_BESIDE: bool     # transcripts go into a file beside the results, not into the rows
    OWN_ARMS: tuple[str, ...]    # what --arm takes besides; the chosen one becomes the own flag `condition`
    TAKES_BLANK: bool            # a blank reply that has cost tokens is an answer, not a failure
    SECOND_PASS: bool            # what failed is played once more before the run ends
    TOOLS_OF_TASKS: bool         # the tools follow from the file or folder of the tasks

    def read_tools(self, path: str | Path | None) -> Toolset:
        """The tools of a file, without a path the suite's own. Raise DataError."""
        ...

    def load(self, path: str | Path | None, tools: Toolset, which: str) -> tuple[Task, ...]:
        """The tasks of a set, validated. Raise DataError or UsageError."""
        ...

    def scene(self, path: str | Path | None, tools: Toolset, own: Mapping[str, Any] = NOTHING) -> Scene:
        """What surrounds the questions of a file. own: the flags of OWN_FLAGS that are set. Raise DataError."""
        ...

    def offering(self, tasks: Sequence[Task], tools: Toolset) -> Offering | None:
        """What single tasks narrow the tools to; None where all see all of them."""
        ...

    def play(self, task: Task, provider: Provider, setup: Setup) -> Transcript:
        """Ask until the task is over. The same replies give the same requests. Lets ProviderError through."""
        ...

    def answers_of(self, transcript: Mapping[str, Any]) -> Sequence[Answer]:
        """The answers of a stored transcript, in the order in which they came; only where REPLAYS."""
        ...

    def score(self, task: Task, transcript: Transcript, setup: Setup) -> Score:
        """The verdict; pure."""
        ...

    def failure(self, task: Task, outcome: str, why: str, sub: str | None = None) -> Score:
        """The verdict where no answer was obtained; `outcome` is one of FAILURES."""
        ...

    def prompt_hash(self, setup: Setup) -> str:
        """sha256 over what a model is told besides the question."""
        ...

    def hashes(self, tasks: Sequence[Task], tools: Toolset, setup: Setup) -> dict[str, str]:
        """What makes two runs comparable, by name: sha256 of "tasks", "tools" (as they stand), "prompt", …"""
        ...

    def eligible(self, tasks: Sequence[Task], setup: Setup) -> Sequence[Task]:
        """Those of the tasks that can be put as the set-up wants them."""
        ...

    def notes_of(self, transcript: Mapping[str, Any]) -> Mapping[str, Any]:
        """What a stored play read elsewhere, by name; only where REPLAYS."""
        ...

    def aggregate(self, pairs: Sequence[tuple[Task, Score]]) -> dict[str, float | None]:
        """The metrics over rows; a failure counts as not solved. None where a metric has no row."""
        ...

    def forecast(self, tasks: Sequence[Task], setup: Setup, count: Callable[[str], int]) -> Forecast | None:
        """What a run takes, where a task is more than one request; None: the tasks and their prompts tell it."""
        ...

    def headline(self, metrics: Mapping[str, float | None], strict: bool) -> dict[str, float | None] | None:
        """The numbers that lead, first the one that counts; strict: under --streng. None: the usual ones."""
        ...

    def summary(self, result: Mapping[str, Any]) -> Iterator[str] | None:
        """The numbers of a result as lines of text; None: the usual table."""
        ...


@runtime_checkable
class Sourced(Protocol):
    """A suite whose own flags may name what it asks."""

    def source(self, path: Path | None, own: Mapping[str, Any], folder: Path) -> Any:
        """What `load`, `read_tools` and `scene` take for a path, with its name as `stem`; None for the suite's own.

        path: of --tasks. folder: of the results, for what is kept beside them. Raise UsageError for flags that do not
        fit together.
        """
        ...


@runtime_checkable
class Staffing(Protocol):
    """A suite that asks several models in one play."""

    def staffed(self, main: Provider, own: Mapping[str, Any], options: ProviderOptions) -> Provider:
        """The provider of a run with others beside it. Raise UsageError for those that cannot be opened."""
        ...


def open_suite(name: str) -> Suite:
    """Raise UsageError for an unknown suite."""
    if name not in SUITES:
        raise UsageError(f"suite {name!r} does not exist; expected one of {', '.join(SUITES)}")
    return import_module(f"{__name__}.{name}")
