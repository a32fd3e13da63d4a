"""Which panel a command works on: the project's own, that of a folder, or one in BIRD's layout."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from infranode_eval.db_routing.bird import Bird, bird_panel
from infranode_eval.db_routing.bird_hardness import CHAR, SIGNALS
from infranode_eval.db_routing.panel import Panel, load_panel
from infranode_eval.db_routing.tasks import folder_of
from lm_eval_task.errors import UsageError

BESIDE = Path("results", "db_routing")      # where runs over a BIRD folder keep what belongs to it


def add_panel_flags(parser: ArgumentParser) -> None:
    parser.add_argument("--tasks", type=Path, metavar="DIR", help="folder of a panel; default: the project's own")
    parser.add_argument("--bird", type=Path, metavar="DIR", help="a folder in BIRD's layout instead")
    parser.add_argument("--descriptions", type=Path, metavar="FILE", help="with --bird: database to its paragraph")
    parser.add_argument("--signal", choices=SIGNALS, default=CHAR, help="with --bird: as in the runs; default: char")


def chosen_panel(chosen: Namespace, beside: Path = BESIDE) -> tuple[Panel, Path]:
    """The panel, and the folder where its votes lie. beside: of the results, with --bird.

    Raise UsageError for flags that do not fit together, DataError for a panel that cannot be read.
    """
    if (chosen.bird is None) != (chosen.descriptions is None):
        raise UsageError("--bird DIR and --descriptions FILE go together")
    if chosen.bird is None:
        folder = folder_of(chosen.tasks)
        return load_panel(folder), folder
    if chosen.tasks is not None:
        raise UsageError("--bird and --tasks both name a panel: leave one out")
    return bird_panel(Bird(chosen.bird, chosen.descriptions, chosen.signal, beside)).panel, beside
