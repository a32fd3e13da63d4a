"""Optional packages and programs in tests: skipped where missing, required where INFRANODE_REQUIRE names them (CI)."""

import importlib
import os

import pytest


def need(module):
    """Import `module`; without it skip the test, or fail if INFRANODE_REQUIRE=module,… says it must be there."""
    required = os.environ.get("INFRANODE_REQUIRE", "").split(",")
    if module in required:
        return importlib.import_module(module)
    return pytest.importorskip(module, reason=f"{module} is not installed")


def need_program(name, found):
    """Skip the test where the program is not `found`, or fail if INFRANODE_REQUIRE says that it must be there."""
    if not found:
        if name in os.environ.get("INFRANODE_REQUIRE", "").split(","):
            pytest.fail(f"{name} is required but not installed")
        pytest.skip(f"{name} is not installed")
