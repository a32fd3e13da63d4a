"""Run one query on one database of a panel through the safe executor, and show what a model would see.

    python -m infranode_eval.db_routing sql --database DB "SELECT …"

Exit codes: 0 rows, 1 the query is refused or fails, 2 usage or data.
"""

from __future__ import annotations

from collections.abc import Sequence

from infranode_eval.db_routing.executor import Executor
from infranode_eval.db_routing.panel_choice import add_panel_flags, chosen_panel
from infranode_eval.db_routing.rows import SqlError
from infranode_eval.terminal import Parser, complain, show
from lm_eval_task.errors import BenchError, UsageError

PROG = "sql"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = Parser("python -m infranode_eval.db_routing sql", __doc__)
    parser.add_argument("--database", metavar="DB", required=True, help="its name or its alias")
    parser.add_argument("sql", help="one SELECT")
    add_panel_flags(parser)
    try:
        chosen = parser.parse_args(arguments)
        panel, _ = chosen_panel(chosen)
        name = panel.aliases.get(chosen.database, chosen.database)
        if name not in panel.databases:
            raise UsageError(f"there is no database {chosen.database}; known: {', '.join(sorted(panel.databases))}")
        with Executor({name: panel.databases[name].path}, 1) as executor:
            found = executor.run(name, chosen.sql)
    except BenchError as error:
        complain(PROG, str(error))
        return error.exit_code
    if isinstance(found, SqlError):
        complain(PROG, found.message)
        return 1
    show(f"{found.text()}\n")
    return 0
