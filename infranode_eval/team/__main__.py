"""The commands of the team suite beside those of the project.

    python -m infranode_eval.team check [-d DIR] [--strict]     is a collection of scenarios fit to be run?
    python -m infranode_eval.team run …                         as run_eval.py --suite team …
    python -m infranode_eval.team resume -o OUT                 go on with a run; -O OLD -o NEW: with a copy of it
    python -m infranode_eval.team stats [-d DIR]                how much there is in the scenarios
    python -m infranode_eval.team compare -r A -r B …           runs side by side
    python -m infranode_eval.team pack -r RESULT -o DIR         a folder to hand in: result, transcripts, report

Each explains itself with --help.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module

from infranode_eval.console import main as project
from infranode_eval.terminal import complain, show

COMMANDS = ("check", "run", "resume", "stats", "compare", "pack")


def main(arguments: Sequence[str]) -> int:
    """The exit code of the command that is named first."""
    name, *rest = arguments or ("",)
    if name in ("-h", "--help"):
        show(f"{__doc__}")
        return 0
    if name not in COMMANDS:
        complain("team", f"expected one of {', '.join(COMMANDS)}, found {name!r}; see --help")
        return 2
    if name == "run":
        return project(["run", "--suite", "team", *rest])
    command = import_module(f"infranode_eval.team.{name}_command")      # late: each loads only what it needs
    return command.main(rest)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
