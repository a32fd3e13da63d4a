"""A folder to hand in: the result, its transcripts, the scripts of its workflows, a report.

    python -m infranode_eval.team pack -r RESULT -o submissions/<provider>-<model>/

Every verdict and every number is made anew from the transcripts first; a result that says something else is refused.
That proves that the files fit together, not that they are honest: who invents transcripts can invent fitting ones.
The folder must not exist, or must hold the same pack.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from infranode_eval.terminal import Parser, complain, show
from lm_eval_task.errors import BenchError

PROG = "pack"


def main(arguments: Sequence[str]) -> int:
    parser = Parser("python -m infranode_eval.team pack", __doc__)
    parser.add_argument("-r", "--result", type=Path, required=True, metavar="RESULT")
    parser.add_argument("-o", "--out", type=Path, required=True, metavar="DIR")
    parser.add_argument("-d", "--tasks", metavar="DIR", help="the scenarios, where they are not the project's own")
    try:
        chosen = parser.parse_args(arguments)
        from infranode_eval.team.packing import pack_of, write_pack  # late: --help needs none of it

        new = write_pack(chosen.out, pack_of(chosen.result, chosen.tasks))
    except BenchError as error:
        complain(PROG, str(error))
        return error.exit_code
    show(f"{chosen.out}: {'packed' if new else 'holds this very pack'}; the numbers follow from the transcripts, which "
         "proves that they fit together, not that they are honest\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
