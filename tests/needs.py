"""Optional packages in tests: skipped where they are missing, required where INFRANODE_REQUIRE names them (CI)."""

import importlib
import os

import pytest


def need(module):
    """Import `module`; without it skip the test, or fail if INFRANODE_REQUIRE=module,… says it must be there."""
    required = os.environ.get("INFRANODE_REQUIRE", "").split(",")
    if module in required:
        return importlib.import_module(module)
    return pytest.importorskip(module, reason=f"{module} is not installed")
