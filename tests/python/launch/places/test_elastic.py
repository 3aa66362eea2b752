"""Jobs that go on with the hosts that are left, and use those that are back."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from support import cluster_task
from support.checkpoints import assert_alike, variables
from support.fault_jobs import fault_job
from support.job_fakes import fake_job, result, state_when
from support.remote_hosts import fake_ssh, mark, marked, soon

from tfdistribute.launch.job_handle import reap_supervisors
from tfdistribute.launch.start import start_supervisor

__all__ = ["mark"]

pytestmark = pytest.mark.jobs

LONG = (("session", 0), ("train", 3), ("sleep", 60))
LEASE_S = 5


def cluster(mark: Path, workers: tuple[int, int]) -> dict[str, Any]:
    return {
        "kind": "ssh",
        "hosts": ["node-a", "node-b", "node-c"],
        "workers": workers,
        "evaluator": False,
        "ssh": [fake_ssh(mark)],
        "python": sys.executable,
        "lease_s": LEASE_S,
    }


def connections(mark: Path, host: str) -> list[int]:
    return [pid for pid, line in marked(mark).items() if f"-- {host}" in line]


def take_away(mark: Path, host: str) -> None:
    (mark / f"fake-ssh.{host}.away").touch()
    (fake,) = connections(mark, host)
    os.killpg(fake, signal.SIGKILL)


def bring_back(mark: Path, host: str) -> None:
    (mark / f"fake-ssh.{host}.away").unlink()
    # The supervisor looks for it, although all goes well without it.
    assert soon(lambda: connections(mark, host), 2 * LEASE_S)
    time.sleep(1)


def hosts_of(state: dict[str, Any]) -> dict[str, str]:
    return {each["task"]: each["host"] for each in state["tasks"] if each["pid"] is not None}


def test_the_chief_moves_from_a_host_that_stays_lost(mark: Path):
    acts = {
        "chief-0@0": LONG,
        "worker": LONG,
        "chief-0@1": (("session", 2), ("train", 8, 3), ("finish", 8)),
    }
    acts |= {f"worker-{index}@1": (("train", 8, 3), ("finish", 8)) for index in range(2)}
    job = start_supervisor(fake_job(mark, acts, cluster=cluster(mark, (2, 3))))
    state_when(job, lambda state: all(each["step"] == 3 for each in state["tasks"]))
    take_away(mark, "node-a")
    state = result(job, 30)
    reap_supervisors()
    assert state["state"] == "done", state["failure"]
    assert [(each["task"], each["host"], each["state"]) for each in state["tasks"]] == [
        ("chief 0", "node-b", "done"),
        ("worker 0", "node-c", "done"),
        ("worker 1", "node-a", "stopped"),
    ]
    assert state["restarts"] == 1
    assert "The workers are now on node-b, node-c." in state["notes"]
    assert state["history"]["workers"] == [
        {"first_step": 0, "last_step": 2, "workers": 3, "hosts": "node-a, node-b, node-c"},
        {"first_step": 2, "last_step": 8, "workers": 2, "hosts": "node-b, node-c"},
    ]
    assert soon(lambda: not marked(mark), 12), marked(mark)


def test_too_few_hosts_fail_the_job_and_are_named(mark: Path):
    acts = {"chief": LONG, "worker": LONG}
    job = start_supervisor(fake_job(mark, acts, cluster=cluster(mark, (2, 3))))
    state_when(job, lambda state: all(each["step"] == 3 for each in state["tasks"]))
    take_away(mark, "node-a")
    take_away(mark, "node-c")
    state = result(job, 30)
    reap_supervisors()
    assert state["failure"]["kind"] == "cluster"
    assert state["failure"]["problem"] == (
        "The lost hosts leave 1 worker, and the job needs at least 2: node-a (it cannot be reached), node-c (it cannot "
        "be reached)."
    )
    assert soon(lambda: not marked(mark), 12), marked(mark)


@pytest.mark.full
@pytest.mark.usefixtures("own_temporary_directory")
def test_three_two_and_three_workers_train_the_weights_of_one_process(
    tensorflow: ModuleType, mark: Path
):
    undisturbed = mark / "undisturbed"
    undisturbed.mkdir()
    cluster_task.train(undisturbed, "custom", {"max_steps": 30})
    stops = ["chief-0 step-14", "chief-0 step-24"]
    config = {"strategy": {"kind": "multi_worker"}}
    options = {"max_steps": 30, "stops": stops, "config": config}
    with fault_job(mark / "job", options, cluster=cluster(mark, (2, 3)), max_steps=30) as job:
        job.await_stop(0)
        assert list(hosts_of(job.state).values()) == ["node-a", "node-b", "node-c"]
        take_away(mark, "node-b")
        job.go_on(0)
        job.await_stop(1)
        assert list(hosts_of(job.state).values()) == ["node-a", "node-c"]
        bring_back(mark, "node-b")
        os.kill(job.row("worker 0")["pid"], signal.SIGKILL)
        job.go_on(1)
        job.await_state(lambda state: len(hosts_of(state)) == 3)
        assert list(hosts_of(job.state).values()) == ["node-a", "node-b", "node-c"]
        state = job.end()
    assert (state["state"], state["global_step"], state["restarts"]) == ("done", 30, 2), state
    rows = [(each["first_step"], each["last_step"]) for each in state["history"]["workers"]]
    assert rows == [(0, 10), (10, 20), (20, 30)]
    assert [each["workers"] for each in state["history"]["workers"]] == [3, 2, 3]
    found = variables(job.model_dir)
    assert_alike(found, variables(undisturbed / "custom" / "model"), rtol=1e-6, atol=1e-6)
