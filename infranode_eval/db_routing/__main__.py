"""The commands of the routing suite beside its runs.

    python -m infranode_eval.db_routing panel …        work on the embedded panel
    python -m infranode_eval.db_routing jury …         ask a model how confusing the questions are
    python -m infranode_eval.db_routing sql …          run a query on a database as a model would
    python -m infranode_eval.db_routing rescan FILE    read stored transcripts again

Each explains itself with --help.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module

from infranode_eval.terminal import complain, show

COMMANDS = ("panel", "jury", "sql", "rescan")


def main(arguments: Sequence[str]) -> int:
    """The exit code of the command that is named first."""
    name, *rest = arguments or ("",)
    if name in ("-h", "--help"):
        show(f"{__doc__}")
        return 0
    if name not in COMMANDS:
        complain("db_routing", f"expected one of {', '.join(COMMANDS)}, found {name!r}; see --help")
        return 2
    command = import_module(f"infranode_eval.db_routing.{name}_command")    # late: each loads only what it needs
    return command.main(arguments if name == "panel" else rest)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
