"""The edge to the terminal: usage errors in one line, output that no closed pipe or narrow encoding breaks."""

from __future__ import annotations

import argparse
import os
import sys
from typing import NoReturn

from infranode_eval.harmless import clean
from lm_eval_task.errors import UsageError


class Parser(argparse.ArgumentParser):
    """argparse with the docstring as description, kept as it is; a wrong flag raises UsageError."""

    def __init__(self, prog: str, description: str | None) -> None:
        super().__init__(prog=prog, description=description, formatter_class=argparse.RawDescriptionHelpFormatter,
                         allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{clean(message)}; see --help")


def show(text: str) -> None:
    """Write to stdout; characters that its encoding lacks are spelled out, a reader that went away is no error."""
    encoding = sys.stdout.encoding or "utf-8"
    try:
        sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())   # or the interpreter complains when it ends


def complain(prog: str, message: str) -> None:
    """Write to stderr, each line with the command's name before it."""
    for line in message.split("\n"):
        print(f"{prog}: {clean(line)}", file=sys.stderr)
