"""Go on with a run of the team suite that ended early.

    python -m infranode_eval.team resume -o OUT …           as run_eval.py --suite team --out OUT --resume …
    python -m infranode_eval.team resume -O OLD -o NEW …    on a copy of its result and journal; NEW must not exist

The other flags of the run (--model-json, --model, …) must be given again.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from infranode_eval.beside import transcripts_path
from infranode_eval.console import main as project
from infranode_eval.journal import journal_path
from infranode_eval.results import read_result, write_result
from infranode_eval.terminal import Parser, complain
from lm_eval_task.errors import BenchError, UsageError

PROG = "resume"


def main(arguments: Sequence[str]) -> int:
    parser = Parser("python -m infranode_eval.team resume", __doc__)
    parser.add_argument("-O", "--old", type=Path, metavar="OLD", help="result or journal of the run to copy")
    parser.add_argument("-o", "--out", type=Path, required=True, metavar="OUT", help="the result to go on with")
    try:
        chosen, rest = parser.parse_known_args(arguments)
        if chosen.old is not None:
            copy_run(chosen.old, chosen.out)
        elif not chosen.out.exists() and not journal_path(chosen.out).exists():
            raise UsageError(f"there is no run at {chosen.out} to go on with: neither a result nor "
                             f"{journal_path(chosen.out).name}; `run --out {chosen.out}` begins one")
    except BenchError as error:
        complain(PROG, str(error))
        return error.exit_code
    return project(["run", "--suite", "team", "--out", str(chosen.out), "--resume", *rest])


def copy_run(old: Path, new: Path) -> None:
    """Result, transcripts and journal of a run under another name.

    Raise UsageError where nothing stands under the old one, or something under the new one.
    """
    taken = [path for path in (new, journal_path(new), transcripts_path(new)) if path.exists()]
    if taken:
        raise UsageError(f"{taken[0]} exists; choose another -o, or resume it with -o alone")
    if not old.exists() and not journal_path(old).exists():
        raise UsageError(f"there is no run at {old}: neither a result nor {journal_path(old).name}")
    new.parent.mkdir(parents=True, exist_ok=True)
    if journal_path(old).exists():
        shutil.copyfile(journal_path(old), journal_path(new))
    if old.exists():
        result = read_result(old)
        told = result.get("transcripts")
        if told:
            shutil.copyfile(transcripts_path(old), transcripts_path(new))
            result["transcripts"] = {**told, "file": transcripts_path(new).name}
        write_result(new, result)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
