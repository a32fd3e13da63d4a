"""Where a run writes: may the file be (re)written, and which answers of an earlier run does it already hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infranode_eval.journal import Entry, journal_path, read_journal, stored_answers
from infranode_eval.providers.protocol import Answer
from infranode_eval.results import Description, check_writable, entries_of, read_result
from lm_eval_task.errors import UsageError


class Taken(UsageError):
    """A run stands there, and the flags allow neither to continue nor to replace it."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A destination that may be written.

    stored: answers to reuse, by (task_id, repeat). forced: settings that differ from the run that got them.
    """

    out: Path
    stored: MutableMapping[tuple[str, int], Sequence[Entry]]
    forced: tuple[str, ...] = ()

    @property
    def journal(self) -> Path:
        return journal_path(self.out)


# A row that stands for several requests → its answers in order, and what it read elsewhere by name.
Told = Callable[[Mapping[str, Any]], tuple[Sequence[Answer], Mapping[str, Any]]]


def claim(out: Path, description: Description, *, deterministic: bool, resume: bool, force: bool,
          told: Callable[[Path, Mapping[str, Any]], Told] | None = None) -> Claim:
    """Raise Taken if a run stands there that the flags do not allow to continue or to replace.

    told: for a results file, how the answers of its rows are found, where a row stands for several requests.

    A place that cannot be written: UsageError. A file that is no results file is never replaced, whatever the flags:
    DataError.
    """
    check_writable(out)
    journal = journal_path(out)
    old = Description.of_result(read_result(out)) if out.exists() else None
    if (old is None and not journal.exists()) or (force and not resume):
        return Claim(out, {})
    if deterministic:
        if not force:
            _check_own(out, old, description)
        return Claim(out, {})
    if not resume:
        _check_same(out, journal, old, description)
        present = [str(path) for path in (out, journal) if path.exists()]
        raise Taken(f"{' and '.join(present)} exist{'s' if len(present) == 1 else ''}; --resume continues {out}, "
                    f"--force starts it anew (and {journal})")
    return _resumed(out, journal, description, force, told)


def _check_own(out: Path, old: Description | None, description: Description) -> None:
    """A deterministic run may write the same file again, nothing else. old: None where only a journal stands."""
    if old is None or journal_path(out).exists():
        differing = {"the journal of an unfinished run"}
    else:
        differing = _differences(old.identity(), description) - {"hash of prompt"}   # baselines see no prompt
        differing |= {k for k in ("limit", "repeats") if old.settings.get(k) != description.settings.get(k)}
    if differing:
        raise _another_run(out, differing)


def _check_same(out: Path, journal: Path, old: Description | None, description: Description) -> None:
    """Raise Taken if file or journal answer another question; old: the run of the file, where there is one."""
    identities = [old.identity()] if old else []
    if journal.exists():
        identities.append(read_journal(journal)[0])
    differing = {name for one in identities if one for name in _differences(one, description)}
    if differing:
        raise _another_run(out, differing)


def _another_run(out: Path, differing: Iterable[str]) -> Taken:
    return Taken(f"{out} holds another run ({', '.join(sorted(differing))}); choose another --out, or --force to "
                 f"replace it (and {journal_path(out)})")


def _resumed(out: Path, journal: Path, description: Description, force: bool,
             told: Callable[[Path, Mapping[str, Any]], Told] | None) -> Claim:
    """The answers of journal and results file, each once; refuse if they answer another question."""
    entries: list[Entry] = []
    differing: set[str] = set()
    if journal.exists():
        identity, entries = read_journal(journal)
        differing |= _differences(identity, description) if identity else set()
    if out.exists():
        result = read_result(out)
        differing |= _differences(Description.of_result(result).identity(), description)
        known = {(e.task_id, e.repeat, e.key) for e in entries}
        found = entries_of(result, told(out, result) if told else None)
        entries += [e for e in found if (e.task_id, e.repeat, e.key) not in known]
    if differing and not force:
        names = ", ".join(sorted(differing))
        raise Taken(f"{out} holds another run ({names}) and cannot be resumed: {names} differ"
                    f"{'s' if len(differing) == 1 else ''}; repeat that run's settings, choose another --out, or add "
                    "--force to go on all the same (recorded)")
    return Claim(out, stored_answers(entries), tuple(sorted(differing)))


def _differences(identity: Mapping[str, Any], description: Description) -> set[str]:
    ours = description.identity()
    return {k for k in {**ours, **identity} if identity.get(k) != ours.get(k)}
