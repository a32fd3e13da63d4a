"""Runs of the team suite side by side: score, scenario by scenario, cost, what was refused.

    python -m infranode_eval.team compare -r A -r B …       two results or more, the best first
    --format text|markdown

The same tables as report.py --suite team, in which runs that were made otherwise are told apart.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from infranode_eval.terminal import Parser, complain, show
from lm_eval_task.errors import BenchError, DataError, UsageError

PROG = "compare"


def main(arguments: Sequence[str]) -> int:
    parser = Parser("python -m infranode_eval.team compare", __doc__)
    parser.add_argument("-r", "--result", type=Path, action="append", default=[], metavar="FILE", dest="results")
    parser.add_argument("-d", "--tasks", metavar="DIR", help="the scenarios, where they are not the project's own")
    parser.add_argument("--format", choices=("text", "markdown"), default="text")
    try:
        chosen = parser.parse_args(arguments)
        results = list({path.resolve(): path for path in chosen.results}.values())
        if len(results) < 2:
            raise UsageError(f"give two results or more, each with -r; found {len(results)}")
        show(side_by_side(results, chosen.tasks, chosen.format))
    except BenchError as error:
        complain(PROG, str(error))
        return error.exit_code
    return 0


def side_by_side(results: Sequence[Path], folder: str | None, form: str) -> str:
    """The tables. Raise DataError for a file that is no result of this suite."""
    # late: --help needs none of it
    from infranode_eval.reports.intake import summaries_of
    from infranode_eval.reports.sections import report_sections
    from infranode_eval.reports.tasksets import team_sets
    from infranode_eval.tables import render
    from infranode_eval.team.tools import toolset

    sets, tools = team_sets(folder), toolset()
    found = [one for path in results for one in summaries_of(path, tools, sets)]
    for one in found:
        if one.team is None:
            raise DataError(f"is a run of suite {one.run.suite}; expected suite team", one.run.path)
    return render(report_sections(found), form)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
