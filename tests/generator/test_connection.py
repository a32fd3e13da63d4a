"""Connections: what a check against each source proves, and what the meta file says about it."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from infranode_eval.generator.connection import Wish, connect
from infranode_eval.infranode import facts
from infranode_eval.infranode.server import LoopbackServer
from infranode_eval.infranode.snapshot import Snapshot
from lm_eval_task.errors import BenchError, InfraError


def test_the_embedded_model_proves_consistency_on_its_own_day() -> None:
    connection = connect(Wish("snapshot"))
    assert connection.level == connection.described["level"] == "snapshot"
    assert connection.described["world_hash"] == facts.world_hash()
    assert connection.client.get("/cities").date == facts.raw()["clock"]["local"][:10]
    connection.close()


def test_our_model_behind_an_address_is_still_our_model() -> None:
    with LoopbackServer(Snapshot()) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        connection = connect(Wish("live", base_url=server.base_url, rps=1000))
        assert connection.level == "snapshot"
        connection.close()
        server.shutdown()


def test_the_public_address_is_live_without_a_request() -> None:
    connection = connect(Wish("live"))
    assert connection.level == "live"
    connection.close()


def test_a_server_that_is_not_there_is_an_error() -> None:
    with pytest.raises(InfraError):
        connect(Wish("live", base_url="http://127.0.0.1:9/api/v1"))


def test_a_recording_claims_no_more_than_what_was_recorded(tmp_path: Path) -> None:
    recorded = connect(Wish("snapshot", record=str(tmp_path / "r.jsonl")))
    recorded.client.get("/cities")
    recorded.close()
    connection = connect(Wish(replay=str(tmp_path / "r.jsonl")))
    assert (connection.level, connection.described["recorded"]) == ("snapshot", "snapshot")
    assert connection.client.get("/cities").status == 200
    connection.close()


def test_a_recording_that_is_not_there_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(BenchError, match="none"):
        connect(Wish(replay=str(tmp_path / "none.jsonl")))
