"""Verification: does the source of a gold really answer, and with what the question asks for?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from lm_eval_task.errors import DataError, InfraError, RefusedRequestError
from lm_eval_task.records import Call, Task, fingerprint
from lm_eval_task.tools import THE_TWELVE, request_of

LEVELS = ("live", "server", "recording", "snapshot")
_BOARDS = frozenset(("station_board_departures", "station_board_arrivals", "transit_departures"))
_LISTS = frozenset(("list_cities", "sources"))
_SLOW_KEY = "/fuel-prices"       # its terms of use allow about one request a minute


class Reply(Protocol):
    """The part of client.Answer that is judged."""

    status: int
    body: Mapping[str, Any]
    date: str

    @property
    def data(self) -> Any: ...

    @property
    def meta(self) -> Mapping[str, Any]: ...

    @property
    def source_status(self) -> str | None: ...


Ask = Callable[[str], Reply]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a question needs beyond an answer: `topic` a catalogue entry, `evas` numbers in the station list,
    `water` the river at the gauge; `covered` False means that the city lies outside a partial key, `off` that the
    source is known to be switched off or empty, so that any proper answer will do."""

    covered: bool = True
    topic: str | None = None
    evas: frozenset[str] = frozenset()
    water: str | None = None
    off: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """The check of one task. `problem`: why it must not be written, None if it holds.

    verified: one row a gold call, in their order. unverified: indices of accepts whose source is switched off.
    useless: indices of accepts that do not answer, with the reason.
    """

    problem: str | None = None
    verified: tuple[Mapping[str, Any], ...] = ()
    unverified: tuple[int, ...] = ()
    useless: Mapping[int, str] = field(default_factory=dict)


def shape(data: Any) -> str:
    """First 12 hex digits of sha256 over canonical JSON of `structure_of` the data."""
    return fingerprint(structure_of(data))[:12]


def structure_of(data: Any) -> tuple[str, list[str], list[str]]:
    """(form, keys, payload keys) of an answer's data.

    form: "record", "list" or the JSON type; keys: the sorted keys of the record, or of all rows of the list together;
    payload keys: the sorted keys of its `payload` objects (in compare those of each row's `data`). Values and lengths
    do not enter, so the shape moves only when the API's structure moves.
    """
    rows = data if isinstance(data, list) else [data]
    objects = [row for row in rows if isinstance(row, dict)]
    records = objects + [row["data"] for row in objects if isinstance(row.get("data"), dict)]
    payloads = [record["payload"] for record in records if isinstance(record.get("payload"), dict)]
    form = "list" if isinstance(data, list) else "record" if objects else type(data).__name__
    return form, sorted({k for row in objects for k in row}), sorted({k for row in payloads for k in row})


def problem_of(call: Call, reply: Reply, wanted: Wanted = Wanted()) -> str | None:
    """Why the answer to `call` is not what the question needs, as a short reason that can be counted; None if it is."""
    if call.name in _LISTS:
        return None if isinstance(reply.data, list) and reply.data else "empty list"
    if call.name == "compare":
        return _row_problem(call, reply.data)
    status = reply.source_status
    if not wanted.covered:
        return _not_covered_problem(call, reply)
    if wanted.off:
        return None if status in ("ok", "no_data", "disabled") else f"source_status {status}"
    if call.name in _BOARDS:
        return None if status in ("ok", "no_data") else f"source_status {status}"
    if status != "ok":
        return f"source_status {status}"
    if reply.data is None:
        return "data is null"
    return _content_problem(call, reply.data, wanted)


def _row_problem(call: Call, rows: Any) -> str | None:
    """compare: one row a city, every row ok and with data."""
    found = {str(row.get("city")): row for row in rows if isinstance(row, dict)} if isinstance(rows, list) else {}
    for slug in call.arguments["cities"].split(","):
        row = found.get(slug)
        if row is None:
            return "compare: a city has no row"
        if row.get("source_status") != "ok" or row.get("data") is None:
            return f"compare: row {row.get('source_status')}"
    return None


def _not_covered_problem(call: Call, reply: Reply) -> str | None:
    if reply.source_status != "not_covered":
        return f"source_status {reply.source_status} instead of not_covered"
    covered = reply.meta.get("covered_cities")
    if not isinstance(covered, list) or not covered:
        return "not_covered without covered_cities"
    return "not_covered, but the city is among covered_cities" if call.arguments["slug"] in covered else None


def _content_problem(call: Call, data: Any, wanted: Wanted) -> str | None:
    """Data that are there, but not the ones that the question is about."""
    if call.name == "get_city_overview":
        return _overview_problem(data, wanted.topic)
    if isinstance(data, list | dict) and not data:
        return "data is empty"
    payload = data.get("payload") if isinstance(data, dict) else None
    payload = payload if isinstance(payload, dict) else {}
    if wanted.evas and call.arguments.get("resource") == "stations":
        return None if wanted.evas <= _listed_evas(payload) else "the station list lacks the station"
    if wanted.water is not None and wanted.water.lower() not in str(payload.get("water", "")).lower():
        return "the gauge stands at another water"
    return None


def _listed_evas(payload: Mapping[str, Any]) -> set[str]:
    """Every EVA number of a station list, main or other; none where the list has another form."""
    stations = payload.get("stations")
    rows = [row for row in stations if isinstance(row, dict)] if isinstance(stations, list) else []
    more = [row["evas"] for row in rows if isinstance(row.get("evas"), list)]
    return {str(eva) for eva in (*(row.get("eva") for row in rows), *(eva for evas in more for eva in evas))}


def _overview_problem(data: Any, topic: str | None) -> str | None:
    """The overview itself is always ok: look at the catalogue entry, or at catalogue and highlights as a whole."""
    types = data.get("data_types") if isinstance(data, dict) else None
    if not isinstance(types, list) or not types:
        return "overview: no catalogue"
    if topic is not None:
        entry = next((row for row in types if isinstance(row, dict) and row.get("type") == topic), None)
        return None if entry and isinstance(entry.get("available"), bool) else f"overview: no catalogue entry {topic}"
    highlights = data.get("highlights")
    rows = highlights.values() if isinstance(highlights, dict) else ()
    return None if any(isinstance(row, dict) and row.get("source_status") == "ok" for row in rows) \
        else "overview: no highlight is ok"


class Source:
    """Answers of one source, each request asked once. `level` says what a check against it proves."""

    def __init__(self, ask: Ask, level: str) -> None:
        if level not in LEVELS:
            raise ValueError(f"level {level!r} does not exist; expected one of {', '.join(LEVELS)}")
        self.level = level
        self._ask = ask
        self._answers: dict[str, Reply | str] = {}

    def prefetch(self, tasks: Iterable[Task], progress: Callable[[int, int], None]) -> None:
        """Ask everything that `tasks` need; `progress` gets (done, total).

        Raises InfraError where the source cannot be reached at all, RateLimitedError where it throttles for too long.
        """
        requests = spread(dict.fromkeys(r for task in tasks for r in requests_of(task)))
        for done, request in enumerate(requests):
            progress(done, len(requests))
            self.reply_to(request)
        progress(len(requests), len(requests))

    def reply_to(self, request: str) -> Reply | str:
        """The answer, or the reason why there is none: a wrong call, or a source that stays dead (5xx)."""
        if request not in self._answers:
            try:
                self._answers[request] = self._ask(request)
            except RefusedRequestError as error:
                self._answers[request] = f"wrong call: {error.status} {error.sub or ''}".rstrip()
            except InfraError as error:
                if error.status is None:
                    raise
                self._answers[request] = f"HTTP {error.status} {error.sub or ''}".rstrip()
        return self._answers[request]

    def check(self, task: Task, wanted: Wanted) -> Verdict:
        """Every gold call, every call of `then`, and every accept of a task."""
        verified = []
        for call in task.expected:
            reply, problem = self._judged(call, wanted)
            if problem is not None:
                return Verdict(problem)
            verified.append(self._proof(call, reply))
        for call in map(Call.from_json, task.extra.get("then", ())):
            problem = self._judged(call, Wanted())[1]
            if problem is not None:
                return Verdict(f"then: {problem}")
        unverified, useless = [], {}
        for index, alternative in enumerate(task.accept):
            problem = next(filter(None, (self._judged(call, Wanted())[1] for call in alternative)), None)
            if problem == "source_status disabled":
                unverified.append(index)
            elif problem is not None:
                useless[index] = problem
        return Verdict(None, tuple(verified), tuple(unverified), useless)

    def absence(self, slug: str) -> tuple[dict[str, Any] | None, str | None]:
        """(proof, None) where the registry of cities does not hold the slug, else (None, what stands against it)."""
        registry = Call("list_cities")
        reply, problem = self._judged(registry, Wanted())
        if problem is not None:
            return None, problem
        if any(isinstance(row, dict) and row.get("slug") == slug for row in reply.data):
            return None, f"{slug} is a city of the registry"
        return self._proof(registry, reply), None

    def _judged(self, call: Call, wanted: Wanted) -> tuple[Any, str | None]:
        request = request_of(call)
        if request is None:
            return None, "wrong call: the client refuses it" if call.name in THE_TWELVE else "wrong call: unknown tool"
        reply = self.reply_to(request)
        return (None, reply) if isinstance(reply, str) else (reply, problem_of(call, reply, wanted))

    def _proof(self, call: Call, reply: Reply) -> dict[str, Any]:
        return {"level": self.level, "request": request_of(call), "status": reply.status,
                "source_status": reply.source_status, "date": reply.date, "shape": shape(reply.data)}


def requests_of(task: Task) -> Iterator[str]:
    """The REST requests of every gold, follow-up and accepted call."""
    following = map(Call.from_json, task.extra.get("then", ()))
    for call in (*task.expected, *following, *(call for alternative in task.accept for call in alternative)):
        request = request_of(call)
        if request is not None:
            yield request


def spread(requests: Iterable[str]) -> list[str]:
    """The requests with those to the slow source put evenly between the others."""
    every = list(requests)
    slow = [request for request in every if request.endswith(_SLOW_KEY)]
    rest = [request for request in every if not request.endswith(_SLOW_KEY)]
    for number, request in enumerate(slow):
        rest.insert(number + (len(rest) - number) * number // len(slow), request)
    return rest


def counted(problems: Iterable[str]) -> dict[str, int]:
    """Reasons by frequency, then by name."""
    return dict(sorted(Counter(problems).items(), key=lambda item: (-item[1], item[0])))


def wanted_of(task: Task, topic: str | None = None, water: str | None = None) -> Wanted:
    """What the source must say for a task; topic and water come from its phrasing."""
    following: Sequence[Any] = task.extra.get("then", ())
    evas = frozenset(call["arguments"]["eva"] for call in following if "eva" in call.get("arguments", {}))
    if task.category == "not_covered" and len(task.expected) != 1:
        raise DataError(f"task {task.task_id}: a not_covered task has one gold call")
    return Wanted(task.category != "not_covered", topic, evas, water, task.category == "source_off")
