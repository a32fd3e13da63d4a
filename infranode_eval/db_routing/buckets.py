"""The buckets of a panel: how hard a question is by its neighbours, and by a jury where all votes are in.

Pure. Without complete votes no name here speaks of votes. Source: specification, db_routing, 31 to 34a.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

THRESHOLD = 5       # foreign neighbours from which a question is flagged
MAJORITY = 2        # votes of three
BUCKETS = ("easy", "medium", "qq_only_hard", "jury_only_hard", "hard_strict")
NEIGHBOUR_BUCKETS = ("neighbour_free", "neighbour_hard")
UNGRADED = "—"      # of all questions where no neighbours were counted


@dataclass(frozen=True, slots=True)
class Buckets:
    """The bucket of each question by task_id. names: all there can be, the hardest last: it is the headline."""

    of: Mapping[str, str]
    names: tuple[str, ...]

    @property
    def headline(self) -> str:
        return self.names[-1]

    @property
    def sizes(self) -> dict[str, int]:
        """Questions in each bucket, also in empty ones."""
        return {name: sum(bucket == name for bucket in self.of.values()) for name in self.names}


LABELS = {"easy": "leicht", "medium": "mittel", "qq_only_hard": "nur Nachbarn", "jury_only_hard": "nur Jury",
          "hard_strict": "hart", "neighbour_hard": "nachbar-hart", "neighbour_free": "nachbar-frei"}


def bucket_of(foreign: int, votes: int, threshold: int = THRESHOLD) -> str:
    """One of BUCKETS. foreign: neighbours in other databases; votes: of three models, how many are confused.

    Raise ValueError for counts that cannot be.
    """
    if foreign < 0 or not 0 <= votes <= 3:
        raise ValueError(f"expected foreign >= 0 and 0 to 3 votes, found {foreign} and {votes}")
    by_neighbours, by_jury = foreign >= threshold, votes >= MAJORITY
    if by_neighbours:
        return "hard_strict" if by_jury else "qq_only_hard"
    if by_jury:
        return "jury_only_hard"
    return "medium" if foreign or votes else "easy"


def neighbour_bucket(foreign: int, threshold: int = THRESHOLD) -> str:
    """One of NEIGHBOUR_BUCKETS. Raise ValueError for a negative count."""
    if foreign < 0:
        raise ValueError(f"expected foreign >= 0, found {foreign}")
    return "neighbour_hard" if foreign >= threshold else "neighbour_free"


def buckets(foreign: Mapping[str, int | None], votes: Mapping[str, int] | None = None,
            threshold: int = THRESHOLD) -> Buckets:
    """The buckets of all questions. foreign, votes: by task_id.

    votes: None, or short of one question (jury.count_votes gives None then): the neighbours alone decide for all, since
    a table must not mix two notions of hard. A count that is None: nothing was counted, and no question is graded.
    """
    counted = {task: count for task, count in foreign.items() if count is not None}
    if len(counted) < len(foreign):
        return Buckets(dict.fromkeys(foreign, UNGRADED), (UNGRADED,))
    foreign = counted
    if votes is None or not foreign or not foreign.keys() <= votes.keys():
        return Buckets({task: neighbour_bucket(count, threshold) for task, count in foreign.items()},
                       NEIGHBOUR_BUCKETS)
    return Buckets({task: bucket_of(count, votes[task], threshold) for task, count in foreign.items()}, BUCKETS)


def by_database(databases: Iterable[str]) -> dict[str, int]:
    """How many questions each database has, the most first, then by name."""
    counts: dict[str, int] = {}
    for database in databases:
        counts[database] = counts.get(database, 0) + 1
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
