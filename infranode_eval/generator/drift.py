"""Drift: how what the API answers now differs from what a file of tasks says of it, row by row and as a whole.

A row is `moved` where its gold no longer holds, `changed` where it holds but the answer looks different, `unknown`
where the API gave no answer (5xx, timeout, a highlight or a row in error), and `back` where it is retired and would
hold again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from infranode_eval.generator.surroundings import Change, changes_of
from infranode_eval.generator.templates import phrasings
from infranode_eval.generator.verify import (
    Ask,
    Reply,
    Wanted,
    problem_of,
    requests_of,
    shape,
    spread,
    structure_of,
    wanted_of,
)
from infranode_eval.harmless import clean
from infranode_eval.infranode.client import utc_day
from lm_eval_task.dataset import retirement_of
from lm_eval_task.errors import IncompleteError, InfraError, ProviderError, RateLimitedError, RefusedRequestError
from lm_eval_task.records import Call, Task
from lm_eval_task.tools import Toolset, request_of

GRADES = ("moved", "changed", "unknown", "back")
MOST_UNKNOWN = 0.5          # above this share of the rows the source is down, and nothing is known about drift
_PASSING = ("compare: row error", "overview: no highlight is ok")     # problems that a dead upstream explains
_UNREACHED, _SILENT = 5, 50     # requests in a row without any answer, and with one that says nothing

Progress = Callable[[int, int], None]
Remembered = Callable[[str], Any]


@dataclass(frozen=True, slots=True)
class Refusal:
    """The API says that the call is wrong."""

    reason: str


@dataclass(frozen=True, slots=True)
class Silence:
    """No answer now, which says nothing about the call."""

    reason: str


class Answers:
    """What a source says to each request, asked once. Silence is noted and borne, but not for ever.

    Raise the error itself after _UNREACHED requests in a row that reached nobody, or _SILENT that stayed without an
    answer, and AuthError at once.
    """

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._known: dict[str, Reply | Refusal | Silence] = {}
        self._unreached = self._silent = 0

    def to(self, request: str) -> Reply | Refusal | Silence:
        if request not in self._known:
            self._known[request] = self._fresh(request)
        return self._known[request]

    def replies(self) -> dict[str, Reply]:
        """Those that answered so far, by request."""
        return {k: v for k, v in self._known.items() if not isinstance(v, Refusal | Silence)}

    def _fresh(self, request: str) -> Reply | Refusal | Silence:
        found: Reply | Refusal | Silence
        try:
            found = self._ask(request)
        except RefusedRequestError as error:
            found = Refusal(f"wrong call: {error.status} {_short(error.sub or '')}".rstrip())
        except (InfraError, RateLimitedError) as error:
            self._bear(error)
            return Silence(_words(error))
        self._unreached = self._silent = 0
        return found

    def _bear(self, error: ProviderError) -> None:
        self._silent += 1
        self._unreached = 0 if error.status else self._unreached + 1
        if self._unreached >= _UNREACHED or self._silent >= _SILENT:
            raise error


def _words(error: ProviderError) -> str:
    said = _short(error.sub or "")
    return f"HTTP {error.status} {said}".rstrip() if error.status else f"no answer ({said})"


def _short(value: Any) -> str:
    """Whatever a stranger's answer holds in place of a code, as one short harmless line."""
    return clean(str(value))[:60]


@dataclass(frozen=True, slots=True)
class Finding:
    """One row. subject: key, type or tool that it is about; request: of the call that decides; before, now: status,
    source_status and shape as the row's proof says and as the API answers."""

    task_id: str
    set: str | None
    grade: str
    subject: str
    request: str
    reason: str
    before: str
    now: str


@dataclass(frozen=True, slots=True)
class Drift:
    """What one look at the API found. day: ISO day of the answers; checked: rows in use, retired: rows out of use."""

    day: str
    checked: int
    retired: int
    findings: tuple[Finding, ...]
    changes: tuple[Change, ...]

    def of(self, grade: str) -> list[Finding]:
        return [found for found in self.findings if found.grade == grade]


def drift_of(tasks: Sequence[Task], ask: Ask, document: Callable[[str], Any], tools: Toolset, progress: Progress,
             remembered: Remembered | None = None) -> Drift:
    """Ask for every row, retired ones included, and for what lies around them.

    document: the JSON value at a path of the site root. remembered: the data that a request once brought, if anyone
    knows, to name the fields behind a changed shape. Raise IncompleteError where more than MOST_UNKNOWN of the rows in
    use got no answer, and what Answers raises.
    """
    answers = Answers(ask)
    requests = spread(dict.fromkeys(request for task in tasks for request in requests_of(task)))
    for done, request in enumerate(requests):
        progress(done, len(requests))
        answers.to(request)
    progress(len(requests), len(requests))
    used = [task for task in tasks if retirement_of(task) is None]
    found = [finding for task in used if (finding := _finding(task, answers, remembered)) is not None]
    unknown = sum(finding.grade == "unknown" for finding in found)
    if unknown > MOST_UNKNOWN * sum(bool(task.expected) for task in used):
        raise IncompleteError(f"{unknown} of {len(used)} rows got no answer, so the source is down and nothing is "
                              "known about drift; nothing was written")
    found += _back([task for task in tasks if retirement_of(task) is not None], answers)
    changes = changes_of(answers.to, answers.replies, document, tools)
    day = max((reply.date for reply in answers.replies().values()), default=utc_day())
    return Drift(day, len(used), len(tasks) - len(used), tuple(found), changes)


# --- one row ----------------------------------------------------------------------------------------------------------

@dataclass(frozen=True, slots=True)
class _Look:
    """One call of a row. problem: why it does not hold; silent: why nobody knows; neither: it holds."""

    call: Call
    request: str
    proof: Mapping[str, Any]
    reply: Reply | None = None
    problem: str | None = None
    silent: str | None = None

    @property
    def reshaped(self) -> bool:
        """Another structure under the same source_status; a board that is empty now has no structure to compare."""
        return self.reply is not None and "shape" in self.proof and self.proof["shape"] != shape(self.reply.data) \
            and self.proof.get("source_status") == self.reply.source_status

    @property
    def before(self) -> str:
        return _state(self.proof["status"], self.proof["source_status"], self.proof["shape"]) if self.proof else "–"

    @property
    def now(self) -> str:
        if self.reply is None:
            return (self.problem or self.silent or "").removeprefix("wrong call: ")
        return _state(self.reply.status, self.reply.source_status, shape(self.reply.data))


def _state(status: int, source_status: Any, found: str) -> str:
    return " ".join([str(status), *([_short(source_status)] if source_status else []), found])


def _finding(task: Task, answers: Answers, remembered: Remembered | None) -> Finding | None:
    """A gold that moved decides; then silence, since nobody knows whether it holds; then what changed."""
    looks = list(_looks(task, answers))
    for grade, decides in (("moved", [look for look in looks if look.problem]),
                           ("unknown", [look for look in looks if look.silent])):
        if decides:
            return _found(task, grade, decides[0], decides[0].problem or decides[0].silent or "")
    reshaped = [look for look in looks if look.reshaped]
    reasons = [_reshaping(look, remembered) for look in reshaped] + _lost_accepts(task, answers)
    return _found(task, "changed", (reshaped or looks)[0], "; ".join(reasons)) if reasons else None


def _found(task: Task, grade: str, look: _Look, reason: str) -> Finding:
    arguments = look.call.arguments
    subject = str(arguments.get("resource") or arguments.get("type") or look.call.name)
    return Finding(task.task_id, task.set, grade, subject, look.request, reason, look.before, look.now)


def _looks(task: Task, answers: Answers) -> Iterator[_Look]:
    """Every gold call with its proof, then the calls that may follow."""
    phrasing = phrasings().get(str(task.extra.get("phrasing", "")))
    wanted = wanted_of(task, phrasing.topic, phrasing.water) if phrasing else wanted_of(task)
    proofs = task.extra.get("verified") or []
    proofs = list(proofs) if isinstance(proofs, list) else [proofs]
    proofs += [{}] * (len(task.expected) - len(proofs))
    for call, proof in zip(task.expected, proofs, strict=False):
        yield _look(call, proof, wanted, answers)
    for call in map(Call.from_json, task.extra.get("then", ())):
        yield _look(call, {}, Wanted(), answers, "then: ")


def _look(call: Call, proof: Mapping[str, Any], wanted: Wanted, answers: Answers, prefix: str = "") -> _Look:
    request = request_of(call)
    if request is None:
        return _Look(call, "–", proof, problem=f"{prefix}wrong call: the client refuses it")
    reply = answers.to(request)
    if isinstance(reply, Refusal):
        return _Look(call, request, proof, problem=prefix + reply.reason)
    if isinstance(reply, Silence):
        return _Look(call, request, proof, silent=prefix + reply.reason)
    problem = problem_of(call, reply, wanted)
    if problem in _PASSING and _upstream_failed(reply):
        return _Look(call, request, proof, reply, silent=f"{prefix}{problem}")
    return _Look(call, request, proof, reply, prefix + _short(problem) if problem else None)


def _upstream_failed(reply: Reply) -> bool:
    """Does a row of /compare or a highlight of an overview say that its upstream gave an error just now?"""
    data = reply.data
    rows = data if isinstance(data, list) else ()
    if isinstance(data, dict) and isinstance(data.get("highlights"), dict):
        rows = list(data["highlights"].values())
    return any(isinstance(row, dict) and row.get("source_status") == "error" for row in rows)


def _lost_accepts(task: Task, answers: Answers) -> list[str]:
    """Accepted answers that no longer answer, but for those that were never seen to answer; silence says nothing."""
    unverified = task.extra.get("accept_unverified", ())
    lost = []
    for index, alternative in enumerate(task.accept):
        looks = [_look(call, {}, Wanted(), answers) for call in alternative]
        problem = next((look.problem for look in looks if look.problem), None)
        if problem is not None and not (index in unverified and problem == "source_status disabled"):
            lost.append(f"accept {index}: {problem}")
    return lost


def _reshaping(look: _Look, remembered: Remembered | None) -> str:
    """The fields that came and went, where somebody remembers the answer that the proof was made from."""
    data = look.reply.data if look.reply is not None else None
    old = remembered(look.request) if remembered is not None else None
    if old is None or shape(old) != look.proof["shape"]:
        return "another shape"
    was, now = structure_of(old), structure_of(data)
    signs = [f"{was[0]} → {now[0]}"] if was[0] != now[0] else []
    for place, before, after in (("", was[1], now[1]), ("payload.", was[2], now[2])):
        signs += [f"+{place}{key}" for key in after if key not in before]
        signs += [f"−{place}{key}" for key in before if key not in after]
    return ", ".join(signs)


def _back(retired: Sequence[Task], answers: Answers) -> list[Finding]:
    """Retired rows that hold again; of a retired pair both sides must."""
    looks = {task.task_id: list(_looks(task, answers)) for task in retired}
    held = {key for key, inside in looks.items() if inside and not any(look.problem or look.silent for look in inside)}
    return [_found(task, "back", looks[task.task_id][0], _retired_words(task)) for task in retired
            if task.task_id in held and (task.extra.get("pair") in held or task.extra.get("pair") not in looks)]


def _retired_words(task: Task) -> str:
    retirement = retirement_of(task)
    return f"retired on {retirement.date}: {retirement.reason}" if retirement else ""


def by_subject(findings: Iterable[Finding]) -> dict[tuple[str, str], list[Finding]]:
    """Findings by (subject, reason), the most frequent first."""
    groups: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.subject, finding.reason), []).append(finding)
    return dict(sorted(groups.items(), key=lambda item: (-len(item[1]), item[0])))
