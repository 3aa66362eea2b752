"""Faults that a restart cannot fix, and some that need none: each is reported, or the job succeeds anyway."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support import job_fakes
from support.fault_jobs import fault_job
from support.small_disks import small_disk

from tfdistribute.checkpoints.contents import is_whole
from tfdistribute.cluster.ports import free_ports
from tfdistribute.launch.host import network

# Private directories go to the test's own temporary directory.
pytestmark = [pytest.mark.jobs, pytest.mark.usefixtures("own_temporary_directory")]

MULTI_WORKER = {"strategy": {"kind": "multi_worker"}}

# Delay of a late task. The result does not depend on it, so it is shorter than a minute.
LATE_S = float(os.environ.get("TFDISTRIBUTE_TEST_LATE_S", "20"))

# Timeout for a task that never starts: TensorFlow's import on a busy machine, plus a margin.
NEVER_S = 15.0


@contextmanager
def listening(port: int) -> Iterator[None]:
    """Occupy a port of this machine, as another program would."""
    with socket.socket() as taken:
        taken.bind(("", port))
        taken.listen()
        yield


def own_address() -> str | None:
    """A non-loopback address of this machine."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        try:
            # Nothing is sent: connecting only selects a route.
            any_socket.connect(("192.0.2.1", 9))
        except OSError:
            return None
        return str(any_socket.getsockname()[0])


@pytest.mark.full
def test_a_late_worker_is_waited_for_by_name(tmp_path: Path):
    options = {"max_steps": 5, "stops": ["worker-0 start"], "config": MULTI_WORKER}
    with fault_job(tmp_path, options) as job:
        state = job.await_state(
            lambda state: job_fakes.row(state, "chief 0")["activity"] == "waiting for worker 0"
        )
        assert job_fakes.row(state, "worker 0")["state"] == "starting"
        time.sleep(max(0.0, state["started"] + LATE_S - time.time()))
        job.go_on(0)
        state = job.end()
    assert (state["state"], state["global_step"], state["restarts"]) == ("done", 5, 0)


@pytest.mark.full
def test_a_missing_worker_is_named_when_the_start_times_out(tmp_path: Path):
    options = {"max_steps": 5, "stops": ["worker-0 start"], "config": MULTI_WORKER}
    with fault_job(tmp_path, options, start_timeout_s=NEVER_S) as job:
        state = job.end()
    assert (state["state"], state["restarts"]) == ("failed", 0)
    failure = state["failure"]
    assert failure["kind"] == "lost_peer"
    assert "worker 0 (pid " in failure["problem"]
    assert 'never reached it, it is "starting"' in failure["problem"]
    assert failure["argument"] == "start_timeout_s"
    assert NEVER_S <= state["ended"] - state["started"] < NEVER_S + 20


@pytest.mark.full
def test_a_taken_port_is_named_and_the_job_moves_to_other_ports(tmp_path: Path):
    options = {"max_steps": 5, "stops": ["worker-0 start"], "config": MULTI_WORKER}
    with fault_job(tmp_path, options, network="open") as job:
        job.await_stop(0)
        port = job.row("worker 0")["port"]
        with listening(port):
            job.go_on(0)
            state = job.end()
    assert (state["state"], state["global_step"], state["restarts"]) == ("done", 5, 0), job.logs()
    by = f"Port {port} of worker 0 is taken by"
    (note,) = [note for note in state["notes"] if note.startswith(by)]
    assert f"(pid {os.getpid()})" in note
    assert note.endswith("Trying other ports.")
    assert job_fakes.row(state, "worker 0")["port"] != port


@pytest.mark.full
def test_a_taken_port_fails_a_cluster_with_fixed_addresses(tmp_path: Path):
    address = own_address() or "127.0.0.1"
    port, other = free_ports(2)
    cluster = {
        "kind": "addresses",
        "chief": [f"{address}:{port}"],
        "worker": [f"{address}:{other}"],
    }
    options = {"max_steps": 5, "config": MULTI_WORKER}
    with listening(port), fault_job(tmp_path, options, cluster=cluster) as job:
        state = job.end()
    if state["network"] == "private":
        # In a private network every port is free.
        assert (state["state"], network.why_not_private()) == ("done", None)
        return
    failure = state["failure"]
    assert (state["state"], failure["kind"], failure["task"]) == ("failed", "port", "chief 0")
    assert f"Port {port} of chief 0 is taken by" in failure["problem"]
    assert f"(pid {os.getpid()})" in failure["problem"]


@pytest.mark.full
def test_a_worker_that_runs_out_of_data_fails_the_job_without_a_restart(
    tmp_path: Path,
):
    options = {"config": MULTI_WORKER, "uneven": True}
    with fault_job(tmp_path, options, environment={"TEST_SHORT": "chief-0"}) as job:
        state = job.end()
    failure = state["failure"]
    assert (state["state"], failure["kind"], state["restarts"]) == ("failed", "input", 0)
    assert failure["problem"].startswith("chief 0 ran out of data after step 5,")


def test_a_full_disk_fails_the_job_and_keeps_the_last_checkpoint(tmp_path: Path):
    options = {"max_steps": 30, "stops": ["chief-0 step-14"], "config": MULTI_WORKER}
    job_directory, model = tmp_path / "job", tmp_path / "job" / "custom" / "model"
    model.parent.mkdir(parents=True)
    with small_disk(tmp_path / "disk", 4) as disk:
        model.symlink_to(disk.path)
        stand_in = {} if disk.is_real else {"full_at": 20}
        with fault_job(job_directory, {**options, **stand_in}, limit_s=120) as job:
            job.await_stop(0)
            disk.fill()
            job.go_on(0)
            state = job.end()
        failure = state["failure"]
        assert (state["state"], state["restarts"]) == ("failed", 0), job.logs()
        assert (failure["task"], failure["kind"]) == ("chief 0", "model_directory")
        assert f'The disk that holds `model_dir` "{model}" is full.' in failure["problem"]
        assert is_whole(str(model / "model.ckpt-10"))
        disk.empty()
        with fault_job(job_directory, options, limit_s=120) as job:
            state = job.end()
        assert (state["state"], state["global_step"]) == ("done", 30), job.logs()
        assert state["history"]["training"]["step"][0] == 11
