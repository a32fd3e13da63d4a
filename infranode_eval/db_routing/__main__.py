"""python -m infranode_eval.db_routing panel …: work on the embedded panel."""

from __future__ import annotations

import sys

from infranode_eval.db_routing.panel_command import main

if __name__ == "__main__":
    sys.exit(main())
