"""Servers of tasks: threads for operations, without a server that listens."""

from __future__ import annotations

from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tfdistribute.cluster.member import Member
from tfdistribute.cluster.spec import Task

CLUSTER = {"chief": ("localhost:1",), "worker": ("localhost:2",)}


@pytest.mark.parametrize(("cores", "threads"), [(1, 2), (2, 0), (8, 0)])
def test_two_threads_share_a_core_without_waiting_in_loops(
    tensorflow: ModuleType, monkeypatch: pytest.MonkeyPatch, cores: int, threads: int
) -> None:
    from tfdistribute.engine.multi_worker import server

    made: list[Any] = []
    monkeypatch.setattr(server, "core_count", lambda: cores)
    monkeypatch.setattr(server, "_servers", {})
    monkeypatch.setattr(
        tensorflow.distribute, "Server", lambda *_, config, **__: made.append(config)
    )
    strategy = SimpleNamespace(configure=lambda session_config: None)

    server.start_server(Member(CLUSTER, Task("worker", 0)), strategy, None)

    (config,) = made
    assert config.inter_op_parallelism_threads == threads
    assert config.experimental.disable_thread_spinning == (cores == 1)
