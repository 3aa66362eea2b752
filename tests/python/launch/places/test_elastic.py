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
from support.fault_jobs import FaultJob, fault_job
from support.job_fakes import fake_job, result, row, state_when
from support.remote_hosts import fake_ssh, mark, marked, parent, soon

from tfdistribute.launch.job_handle import reap_supervisors, stop_job
from tfdistribute.launch.start import start_supervisor

__all__ = ["mark"]

pytestmark = pytest.mark.jobs

LONG = (("session", 0), ("train", 3), ("sleep", 60))
LEASE_S = 5


def cluster(mark: Path, workers: int | tuple[int, int], **fields: Any) -> dict[str, Any]:
    return {
        "kind": "ssh",
        "hosts": ["node-a", "node-b", "node-c"],
        "workers": workers,
        "evaluator": False,
        "ssh": [fake_ssh(mark)],
        "python": sys.executable,
        "lease_s": LEASE_S,
        **fields,
    }


def connections(mark: Path, host: str) -> list[int]:
    return [pid for pid, line in marked(mark).items() if f"-- {host}" in line]


def cut(mark: Path, host: str) -> None:
    (fake,) = connections(mark, host)
    os.killpg(fake, signal.SIGKILL)


def take_away(mark: Path, host: str) -> None:
    (mark / f"fake-ssh.{host}.away").touch()
    cut(mark, host)


def bring_back(mark: Path, *hosts: str) -> None:
    for host in hosts:
        (mark / f"fake-ssh.{host}.away").unlink()


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
def test_hosts_that_are_lost_one_after_the_other_count_as_one_restart(mark: Path):
    # Their processes wait for the next task.
    trains = (("waits_on_interrupt",), *LONG)
    acts = {f"{name}@0": trains for name in ("chief-0", "worker-0", "worker-1")}
    acts |= {"chief": (("sleep", 60),), "worker": (("sleep", 60),)}
    job = start_supervisor(fake_job(mark, acts, cluster=cluster(mark, 3), digest="0" * 64))
    first = state_when(job, lambda state: all(each["step"] == 3 for each in state["tasks"]))
    cut(mark, "node-b")
    state_when(
        job,
        lambda state: (
            all(each["pid"] for each in state["tasks"])
            and row(state, "worker 0")["pid"] != row(first, "worker 0")["pid"]
        ),
        30,
    )
    cut(mark, "node-c")
    lost = "worker 1 was lost with its host node-c"
    state = state_when(job, lambda state: any(lost in note for note in state["notes"]), 30)
    stop_job(job, 20)
    reap_supervisors()
    assert state["restarts"] == 1, state["notes"]


def agent_of(state: dict[str, Any], host: str) -> int:
    """The agent on a host, which is the parent of the host's task."""
    (pid,) = (each["pid"] for each in state["tasks"] if each["host"] == host and each["pid"])
    return parent(pid)


def announce_end(state: dict[str, Any], host: str) -> None:
    """Send SIGTERM to all processes of a host, as a shutdown does."""
    (task,) = (each["pid"] for each in state["tasks"] if each["host"] == host and each["pid"])
    for pid in (agent_of(state, host), task):
        os.kill(pid, signal.SIGTERM)


SAVES = (("session", 0), ("save_on_interrupt", 3), ("train", 3), ("sleep", 60))


def test_hosts_that_are_back_are_used_at_the_next_checkpoint(mark: Path):
    acts = {
        "chief-0@0": LONG,
        "worker": LONG,
        "chief-0@1": (("session", 2), ("save_on_interrupt", 8), ("train", 8, 3), ("sleep", 60)),
        "chief-0@2": (("session", 8), ("train", 12, 9), ("finish", 12)),
        **{f"worker-{index}@2": (("train", 12, 9), ("finish", 12)) for index in range(2)},
    }
    described = cluster(mark, (1, 3), resize_every_s=1)
    job = start_supervisor(fake_job(mark, acts, cluster=described, restarts=1))
    state_when(job, lambda state: all(each["step"] == 3 for each in state["tasks"]))
    take_away(mark, "node-b")
    take_away(mark, "node-c")
    state_when(job, lambda state: row(state, "chief 0")["step"] == 8, 30)
    bring_back(mark, "node-b", "node-c")
    state = result(job, 40)
    reap_supervisors()
    assert (state["state"], state["restarts"], state["steps_lost"]) == ("done", 1, 1), state
    assert state["checkpoint"] == 12
    rows = [(each["first_step"], each["workers"]) for each in state["history"]["workers"]]
    # One of them may be back before the other.
    assert rows in ([(0, 3), (2, 1), (8, 3)], [(0, 3), (2, 1), (8, 2)]), rows
    assert any(note.startswith("node-") and "can be used again." in note for note in state["notes"])
    (first, *_, last) = state["goodput"]["restarts"]
    assert "was lost with its host" in first["why"]
    assert "can be used again" in last["why"]
    assert soon(lambda: not marked(mark), 12), marked(mark)


@pytest.mark.parametrize("host", ["node-a", "node-b"])
def test_an_announced_end_saves_a_checkpoint_and_counts_as_no_failure(mark: Path, host: str):
    acts = {
        "chief-0@0": SAVES,
        "worker": LONG,
        "chief-0@1": (("session", 3), ("train", 8, 4), ("finish", 8)),
        "worker-0@1": (("train", 8, 4), ("finish", 8)),
    }
    described = cluster(mark, (2, 3))
    job = start_supervisor(fake_job(mark, acts, cluster=described, restarts=0))
    state = state_when(job, lambda state: all(each["step"] == 3 for each in state["tasks"]))
    announce_end(state, host)
    state = result(job, 30)
    reap_supervisors()
    assert (state["state"], state["restarts"], state["steps_lost"]) == ("done", 0, 0), state
    left = [each for each in ("node-a", "node-b", "node-c") if each != host]
    assert state["history"]["workers"][-1]["hosts"] == ", ".join(left)
    assert any(each.startswith(f"The end of {host} was announced.") for each in state["notes"])
    assert soon(lambda: not marked(mark), 12), marked(mark)


def test_without_other_hosts_the_training_waits_until_the_host_is_back(mark: Path):
    acts = {
        "chief-0@0": SAVES,
        "worker": LONG,
        "chief-0@1": (("session", 3), ("train", 8, 4), ("finish", 8)),
        **{f"worker-{index}@1": (("train", 8, 4), ("finish", 8)) for index in range(2)},
    }
    job = start_supervisor(fake_job(mark, acts, cluster=cluster(mark, 3), restarts=0))
    state = state_when(job, lambda state: all(each["step"] == 3 for each in state["tasks"]))
    announce_end(state, "node-b")
    state_when(job, lambda state: state["state"] == "restarting")
    (fake,) = connections(mark, "node-b")
    os.killpg(fake, signal.SIGKILL)
    state = result(job, 30)
    reap_supervisors()
    assert (state["state"], state["restarts"], state["steps_lost"]) == ("done", 0, 0), state
    assert state["history"]["workers"] == [
        {"first_step": 0, "last_step": 8, "workers": 3, "hosts": "node-a, node-b, node-c"}
    ]


@pytest.mark.full
def test_a_chief_that_cannot_save_does_not_keep_the_others(mark: Path):
    stuck = (("session", 0), ("checkpoint", 2), ("stubborn",), ("train", 3), ("sleep", 60))
    acts = {
        "chief-0@0": stuck,
        "worker": LONG,
        "chief-0@1": (("session", 2), ("train", 8, 3), ("finish", 8)),
        "worker-0@1": (("train", 8, 3), ("finish", 8)),
    }
    job = start_supervisor(fake_job(mark, acts, cluster=cluster(mark, (2, 3)), restarts=0))
    state = state_when(job, lambda state: all(each["step"] == 3 for each in state["tasks"]))
    began = time.monotonic()
    announce_end(state, "node-c")
    state = result(job, 50)
    reap_supervisors()
    assert (state["state"], state["restarts"], state["steps_lost"]) == ("done", 0, 1), state
    assert time.monotonic() - began < 45
    assert soon(lambda: not marked(mark), 12), marked(mark)


def test_a_job_that_is_stopped_while_its_chief_saves_ends_soon(mark: Path):
    acts = {"chief": (("stubborn",), *LONG), "worker": LONG}
    job = start_supervisor(fake_job(mark, acts, cluster=cluster(mark, (2, 3))))
    state = state_when(job, lambda state: all(each["step"] == 3 for each in state["tasks"]))
    announce_end(state, "node-c")
    time.sleep(1)
    began = time.monotonic()
    state = stop_job(job)
    assert (state["state"], time.monotonic() - began < 15) == ("stopped", True), state
    assert soon(lambda: not marked(mark), 12), marked(mark)


def test_a_host_that_is_lost_while_the_training_moves_is_left_out(mark: Path):
    ends = {"chief-0@2": (("session", 3), ("train", 8, 4), ("finish", 8))}
    acts = {
        "chief-0@0": SAVES,
        "worker": LONG,
        "chief-0@1": (("session", 3), ("sleep", 60)),
        "worker-0@1": (("sleep", 60),),
        **ends,
    }
    job = start_supervisor(fake_job(mark, acts, cluster=cluster(mark, (1, 3)), restarts=1))
    state = state_when(job, lambda state: all(each["step"] == 3 for each in state["tasks"]))
    announce_end(state, "node-c")
    # In the new start, before its first step, the next host disappears.
    state_when(job, lambda state: list(hosts_of(state).values()) == ["node-a", "node-b"], 30)
    take_away(mark, "node-b")
    state = result(job, 40)
    reap_supervisors()
    assert (state["state"], state["restarts"]) == ("done", 1), state
    assert state["history"]["workers"][-1]["hosts"] == "node-a"
    assert soon(lambda: not marked(mark), 12), marked(mark)


def test_a_host_that_comes_and_goes_within_a_start_costs_nothing(mark: Path):
    acts = {
        "chief-0@0": LONG,
        "worker": (("sleep", 60),),
        "worker-0@0": LONG,
        "worker-1@0": LONG,
        "chief-0@1": (("session", 2), ("save_on_interrupt", 8), ("train", 8, 3), ("sleep", 60)),
        "chief-0@2": (("session", 8), ("sleep", 60)),
        "chief-0@3": (("session", 8), ("train", 12, 9), ("finish", 12)),
        "worker-0@3": (("train", 12, 9), ("finish", 12)),
    }
    described = cluster(mark, (1, 3), resize_every_s=1)
    job = start_supervisor(fake_job(mark, acts, cluster=described, restarts=2))
    state_when(job, lambda state: all(each["step"] == 3 for each in state["tasks"]))
    take_away(mark, "node-b")
    state_when(job, lambda state: row(state, "chief 0")["step"] == 8, 30)
    bring_back(mark, "node-b")
    everywhere = ["node-a", "node-b", "node-c"]
    # It is lost again before the first step of the start that uses it.
    state_when(
        job,
        lambda state: (
            any("can be used again" in note for note in state["notes"])
            and list(hosts_of(state).values()) == everywhere
        ),
        30,
    )
    began = time.monotonic()
    take_away(mark, "node-b")
    state = result(job, 60)
    reap_supervisors()
    # The first loss has cost a step, and the second none.
    assert (state["state"], state["restarts"], state["steps_lost"]) == ("done", 2, 1), state
    assert (state["checkpoint"], time.monotonic() - began < 60) == (12, True)
    assert state["history"]["workers"][-1]["hosts"] == "node-a, node-c"
    assert soon(lambda: not marked(mark), 12), marked(mark)


class Starts:
    """The starts of a job, which differ by the process of the chief."""

    def __init__(self, job: FaultJob) -> None:
        self.job = job
        self.chiefs: set[int | None] = {None}

    def await_hosts(self, *names: str) -> dict[str, Any]:
        """Wait until these hosts train in a new start."""
        state = self.job.await_state(
            lambda state: (
                [*hosts_of(state).values()] == [f"node-{name}" for name in names]
                and row(state, "chief 0")["pid"] not in self.chiefs
                and row(state, "chief 0")["step"] is not None
            )
        )
        self.chiefs.add(row(state, "chief 0")["pid"])
        return state


@pytest.mark.full
@pytest.mark.usefixtures("own_temporary_directory")
def test_workers_that_come_and_go_train_the_weights_of_one_process(
    tensorflow: ModuleType, mark: Path
):
    # Without a stop, the rest would take so long that each host that is back is worth a restart.
    options = {"max_steps": 3000, "config": {"strategy": {"kind": "multi_worker"}}}
    described = cluster(mark, (1, 3), resize_every_s=1)
    fields = {"environment": {"TEST_STEP_S": "0.1"}, "restarts": 1, "max_steps": 3000}
    with fault_job(mark / "job", options, cluster=described, **fields) as job:
        starts = Starts(job)
        starts.await_hosts("a", "b", "c")
        job.await_state(lambda state: (state["checkpoint"] or 0) >= 10)
        take_away(mark, "node-b")
        take_away(mark, "node-c")
        starts.await_hosts("a")
        bring_back(mark, "node-b", "node-c")
        announce_end(starts.await_hosts("a", "b", "c"), "node-b")
        starts.await_hosts("a", "c")
        (fake,) = connections(mark, "node-b")
        os.killpg(fake, signal.SIGKILL)
        starts.await_hosts("a", "b", "c")
        last = stop_job(job.handle)
        state = job.end()
    assert (state["state"], state["restarts"], last["checkpoint"] > 20) == ("stopped", 1, True)
    workers = [each["workers"] for each in state["history"]["workers"]]
    # A host may be back before another one.
    assert workers in ([3, 1, 3, 2, 3], [3, 1, 2, 3, 2, 3]), state["history"]["workers"]
    (undisturbed := mark / "undisturbed").mkdir()
    cluster_task.train(undisturbed, "custom", {"max_steps": last["checkpoint"]})
    expected = variables(undisturbed / "custom" / "model")
    assert_alike(variables(job.model_dir), expected, rtol=1e-6, atol=1e-6)
