"""Reasons to move a healthy training, without processes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tfdistribute.cluster.spec import LocalCluster
from tfdistribute.cluster.ssh import SshCluster
from tfdistribute.launch import placement
from tfdistribute.launch.placement import Resizing, saves_time
from tfdistribute.launch.reports.goodput import Goodput
from tfdistribute.launch.state import Progress

EVERY_S = 30.0


@pytest.mark.parametrize(
    ("steps", "workers", "more", "is_worth_it"),
    [
        # A step takes 0.1 seconds, and the start 4.
        (81, 1, 2, True),
        (79, 1, 2, False),
        (61, 1, 3, True),
        (59, 1, 3, False),
        (161, 3, 4, True),
        (159, 3, 4, False),
        (0, 1, 4, False),
        (None, 3, 4, True),
    ],
)
def test_more_workers_must_save_more_time_than_a_start_takes(
    steps: int | None, workers: int, more: int, is_worth_it: bool
):
    measured = Goodput(start_s=4.0, step_s=0.1)
    assert saves_time(measured, steps, workers, more) is is_worth_it
    assert not saves_time(Goodput(start_s=4.0), steps, workers, more)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    made = SimpleNamespace(now=100.0)
    monkeypatch.setattr(placement, "time", SimpleNamespace(monotonic=lambda: made.now))
    return made


def trained(last_step: int | None) -> Progress:
    progress = Progress()
    for mark in (("begin", 0), ("start", 0), ("session", 2, 0), ("step", 4, 1), ("step", 8, 41)):
        progress.sums.mark(*mark)
    progress.global_step, progress.last_step = 41, last_step
    return progress


def asked(
    tasks: Any, last_step: int | None = 1000, trains: bool = True, **cluster: Any
) -> Resizing:
    fields = {"workers": (1, 3), "resize_every_s": EVERY_S, **cluster}
    described = SshCluster(hosts=("a", "b", "c"), **fields)
    job = SimpleNamespace(cluster=described, trains=trains)
    return Resizing(job, tasks, trained(last_step))  # type: ignore[arg-type]


def test_hosts_that_are_back_are_used_but_not_too_often(clock: SimpleNamespace):
    tasks = SimpleNamespace(leaving=[], returned=["b", "b", "c"], hosts=("a",))
    moves = asked(tasks)
    clock.now += EVERY_S - 1
    assert moves.reason() is None
    clock.now += 2
    assert moves.reason() == "b and c can be used again."
    moves.started_at = clock.now
    assert moves.reason() is None
    late = asked(tasks, last_step=60)
    clock.now += 2 * EVERY_S
    assert moves.reason() is not None
    assert late.reason() is None
    tasks.returned = []
    assert moves.reason() is None


def test_an_announced_end_does_not_wait(clock: SimpleNamespace):
    tasks = SimpleNamespace(leaving=["b"], returned=["c"], hosts=("a", "b"))
    assert asked(tasks).reason() == "The end of b was announced."
    assert asked(tasks, trains=False).reason() is None
    servers = asked(tasks, workers=2, ps=1)
    assert servers.reason() is None


def test_a_local_cluster_never_moves(clock: SimpleNamespace):
    tasks = SimpleNamespace(leaving=[], returned=["b"], hosts=("a",))
    job = SimpleNamespace(cluster=LocalCluster(workers=2), trains=True)
    moves = Resizing(job, tasks, trained(None))  # type: ignore[arg-type]
    clock.now += 1e6
    assert moves.reason() is None
