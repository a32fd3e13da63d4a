"""The program behind `stdout_matches`: a child process of its own, because Python's `re` holds the interpreter's lock.

Run by path with `python -I -S`, so it imports nothing of the package. It reads {"pattern", "text", "seconds"} as JSON
from stdin and exits with 0 if the pattern is found in the text, with 3 if it is not or takes too much memory, and with
any other status where it could not search; it is killed (SIGXCPU) after so many seconds of processor time.
"""

from __future__ import annotations

import json
import re
import sys
import warnings

_MEMORY = 1_000_000_000
_ABSENT = 3             # 1 is how Python ends that has lost its way


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
    try:
        return 0 if re.search(wanted["pattern"], wanted["text"]) else _ABSENT
    except (MemoryError, RecursionError):
        return _ABSENT


if __name__ == "__main__":
    sys.exit(main())
