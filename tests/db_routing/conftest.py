"""The small panel, written once."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from infranode_eval.db_routing.tasks import RoutingTask
from tests.db_routing.tiny_panel import tiny_tasks


@pytest.fixture(scope="session")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, RoutingTask]:
    """The questions by the end of their ids: "laden-001"."""
    found = tiny_tasks(tmp_path_factory.mktemp("panel"))
    return {task.task_id.removeprefix("db_routing-"): task for task in found}


@pytest.fixture
def task(tasks: Mapping[str, RoutingTask]) -> RoutingTask:
    """A question that db_02 answers, asked with the order db_02, db_03, db_01 or another one."""
    return tasks["laden-001"]
