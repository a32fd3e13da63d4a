"""The program behind `stdout_matches`: a child process of its own, because Python's `re` holds the interpreter's lock.

Run by path with `python -I -S`, so it imports nothing of the package. It reads {"pattern", "text", "seconds"} as JSON
from stdin and exits with 0 if the pattern is found in the text, with 1 if it is not; it is killed where it takes more
than so many seconds of processor time, or too much memory.
"""

from __future__ import annotations

import json
import re
import sys
import warnings

_MEMORY = 1_000_000_000


def main() -> int:
    wanted = json.load(sys.stdin)
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (wanted["seconds"], wanted["seconds"] + 1))
    except (ImportError, ValueError, OSError):
        pass                # the host's own limit holds
    warnings.simplefilter("ignore")
    return 0 if re.search(wanted["pattern"], wanted["text"]) else 1


if __name__ == "__main__":
    sys.exit(main())
