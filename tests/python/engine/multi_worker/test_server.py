"""Servers of tasks: threads for operations, without a server that listens."""

from __future__ import annotations

import json
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tfdistribute.cluster.member import Member
from tfdistribute.cluster.spec import Task
from tfdistribute.run_config import RunSettings, build_run_config
from tfdistribute.run_config.build import Devices, build
from tfdistribute.strategies import MultiWorker
from tfdistribute.training.multi_worker.peers import Peers

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


SETTINGS, DEVICES = RunSettings(strategy=MultiWorker()), Devices(train=(("/device:CPU:0",),))


@pytest.fixture
def enter(monkeypatch: pytest.MonkeyPatch) -> Any:
    def enter(port: int) -> Member:
        cluster = {"chief": [f"localhost:{port}"], "worker": ["localhost:9"]}
        task = {"type": "chief", "index": 0}
        monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": cluster, "task": task}))
        member = Member.here()
        assert member is not None
        return member

    return enter


def key_base(member: Member) -> int:
    return build(SETTINGS, DEVICES, member=member).train_distribute._collective_key_base


def test_tasks_agree_on_the_keys_of_a_training_whatever_failed_before(
    tensorflow: ModuleType, enter: Any
) -> None:
    bases: list[list[int | None]] = []
    # Each is a task of its own. The first training of one of them fails before it has a strategy.
    for port, fails in ((1, False), (2, True)):
        member, found = enter(port), list[int | None]()
        for training in range(3):
            Peers(member)
            found.append(None if fails and training == 0 else key_base(member))
        bases.append(found)
    assert len(set(bases[0])) == 3
    assert bases[0][1:] == bases[1][1:]


def test_estimators_that_tensorflow_trains_have_keys_of_their_own(
    tensorflow: ModuleType, enter: Any
) -> None:
    member = enter(3)
    Peers(member)
    bases = {key_base(member)}
    bases |= {build_run_config(SETTINGS).train_distribute._collective_key_base for _ in range(2)}
    assert len(bases) == 3
