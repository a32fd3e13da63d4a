"""The console command of the installed package: `infranode-tool-eval run|report|selftest|measure|generate …`.

The commands are the scripts at the root of a checkout; the wheel carries them along in infranode_eval/commands/.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

COMMANDS = {"run": "run_eval", "report": "report", "selftest": "selftest", "measure": "measure",
            "generate": "generate"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command with the arguments behind its name; the exit status is the command's own."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    name, rest = (given[0], given[1:]) if given else ("", [])
    if name not in COMMANDS:
        known = "|".join(COMMANDS)
        asked_for_help = name in ("-h", "--help")
        print(f"usage: infranode-tool-eval {known} [--help] …", file=sys.stdout if asked_for_help else sys.stderr)
        return 0 if asked_for_help else 2
    return _load(COMMANDS[name]).main(rest)


def script_of(module: str) -> Path:
    """Where a command's script lies: beside the package's commands, or at the root of the checkout."""
    package = Path(__file__).resolve().parent
    installed = package / "commands" / f"{module}.py"
    return installed if installed.is_file() else package.parent / f"{module}.py"


def _load(module: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(module, script_of(module))
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[module] = loaded
    spec.loader.exec_module(loaded)
    return loaded


if __name__ == "__main__":
    sys.exit(main())
