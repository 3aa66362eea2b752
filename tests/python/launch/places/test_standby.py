"""Processes that have loaded TensorFlow, and take the tasks of a restart."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest
from support.job_fakes import fake_job, result, row, state_when
from support.remote_hosts import fake_ssh, mark, marked, soon

from tfdistribute.launch.job_handle import is_running, job_state, reap_supervisors, stop_job
from tfdistribute.launch.start import start_supervisor

__all__ = ["mark"]

pytestmark = [pytest.mark.jobs, pytest.mark.usefixtures("own_temporary_directory")]

TRAINS = (("waits_on_interrupt",), ("session", 0), ("train", 3), ("checkpoint", 3), ("sleep", 60))
ENDS = (("train", 8, 4), ("finish", 8))
HANGS = (("session", 3), ("sleep", 60))
PLACES = ["local", "ssh"]


def start(mark: Path, place: str, acts: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Start a job of two workers whose tasks can wait for another one."""
    described: dict[str, Any] = {"workers": 2, "evaluator": False}
    if place == "ssh":
        hosts = {"hosts": ["node-a", "node-b"], "ssh": [fake_ssh(mark)], "python": "python3"}
        described = {"cluster": {"kind": "ssh", **hosts, **described}}
    job = fake_job(
        mark, {"chief": TRAINS, "worker": TRAINS, **acts}, digest="0" * 64, **described, **fields
    )
    return start_supervisor(job)


def trained(job: dict[str, Any], restarts: int = 0) -> dict[str, Any]:
    """The state of the job when both workers have trained after a number of restarts."""

    def is_there(state: dict[str, Any]) -> bool:
        is_training = (state["state"], state["restarts"]) == ("training", restarts)
        return is_training and all(each["step"] == 3 and each["pid"] for each in state["tasks"])

    return state_when(job, is_there, 30)


def pids(state: dict[str, Any]) -> dict[str, int]:
    return {each["task"]: each["pid"] for each in state["tasks"]}


def prepared(mark: Path, state: dict[str, Any]) -> list[int]:
    """Processes that wait for a task."""
    others = set(marked(mark)) - set(pids(state).values())
    return [pid for pid in others if b"TFDISTRIBUTE_EVENTS=\0" in environment(pid)]


def environment(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""


def lose(state: dict[str, Any], task: str) -> None:
    os.kill(row(state, task)["pid"], signal.SIGKILL)


@pytest.mark.parametrize("place", PLACES)
def test_a_restart_uses_the_processes_that_are_left_and_one_that_was_prepared(
    mark: Path, place: str
):
    job = start(mark, place, {})
    first = trained(job)
    assert prepared(mark, first) == []
    lose(first, "worker 0")
    second = trained(job, 1)
    assert pids(second)["chief 0"] == pids(first)["chief 0"]
    assert pids(second)["worker 0"] != pids(first)["worker 0"]
    # One for each host.
    count = 1 if place == "local" else 2
    assert soon(lambda: len(prepared(mark, second)) == count), marked(mark)
    waiting = prepared(mark, second)
    lose(second, "chief 0")
    third = trained(job, 2)
    # On one machine, either takes any of them.
    used = set(pids(third).values())
    assert pids(second)["worker 0"] in used and used & set(waiting)
    stop_job(job)
    result(job, 30)
    assert soon(lambda: not marked(mark), 12), marked(mark)
    logs = {
        name: (mark / "model/logs" / f"{name}.log").read_text() for name in ("chief-0", "worker-0")
    }
    assert all("(start 3)" in text for text in logs.values()), logs


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_lost_process_without_a_task_is_no_failure_of_the_job(mark: Path, number: int):
    job = start(mark, "local", {"chief-0@2": ENDS, "worker-0@2": ENDS})
    lose(trained(job), "worker 0")
    second = trained(job, 1)
    assert soon(lambda: prepared(mark, second))
    (waiting,) = prepared(mark, second)
    os.kill(waiting, number)
    lose(second, "worker 0")
    state = result(job, 30)
    assert (state["state"], state["restarts"]) == ("done", 2), state
    assert soon(lambda: not marked(mark), 12), marked(mark)


SIGNALS = {"stop": signal.SIGTERM, "Ctrl-C": signal.SIGINT, "kill": signal.SIGKILL}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("end", SIGNALS)
def test_waiting_processes_end_with_the_job(mark: Path, place: str, end: str):
    job = start(mark, place, {})
    lose(trained(job), "worker 0")
    second = trained(job, 1)
    assert soon(lambda: prepared(mark, second))
    os.kill(job["pid"], SIGNALS[end])
    assert soon(lambda: not is_running(job), 12)
    assert soon(lambda: not marked(mark), 12), marked(mark)
    reap_supervisors()
    state, step = job_state(job), "Its last checkpoint is of step 3."
    if end != "kill":
        assert (state["state"], state["message"]) == ("stopped", f"The job was stopped. {step}")


@pytest.mark.parametrize(
    ("place", "last", "problem"),
    [
        ("local", TRAINS, "No task made a step in `stall_timeout_s` = 1 seconds. It was restarted"),
        ("ssh", HANGS, "Not every task reached its first step in "),
    ],
)
def test_a_deadline_ends_waiting_processes(mark: Path, place: str, last: Any, problem: str):
    # The first restart prepares a process. The second has one more than tasks.
    dies = (*TRAINS[:-1], ("sleep", 0.3), ("die",))
    later = (*TRAINS[:-2], ("checkpoint", 4), TRAINS[-1])
    acts = {"worker-0@0": dies, "chief-0@1": later, "chief-0@2": last, "worker-0@2": last}
    limits = {"restarts": 2, "start_timeout_s": 2, "stall_timeout_s": 1}
    job = start(mark, place, acts, **limits)
    third = state_when(job, lambda state: state["restarts"] == 2 and all(pids(state).values()), 30)
    assert soon(lambda: prepared(mark, third))
    failure = result(job, 30)["failure"]
    assert failure["problem"].startswith(problem), failure
    assert soon(lambda: not marked(mark), 12), marked(mark)


def test_without_a_restart_no_process_is_prepared(mark: Path):
    job = start(mark, "local", {}, restarts=1)
    first = trained(job)
    assert not soon(lambda: prepared(mark, first), 1)
    lose(first, "worker 0")
    # Another loss would end the job.
    second = trained(job, 1)
    assert not soon(lambda: prepared(mark, second), 1)
    stop_job(job)
    result(job, 30)


def test_a_task_that_does_not_give_up_its_step_gets_a_new_process(mark: Path):
    stubborn = (("stubborn",), *TRAINS[1:])
    job = start(mark, "local", {"chief-0@0": stubborn})
    first = trained(job)
    lose(first, "worker 0")
    assert pids(trained(job, 1))["chief 0"] != pids(first)["chief 0"]
    stop_job(job)
    result(job, 30)


def test_a_start_that_hangs_in_used_processes_is_tried_again_in_new_ones(mark: Path):
    acts = {"chief-0@1": HANGS, "worker-0@1": HANGS}
    job = start(mark, "local", acts, start_timeout_s=5)
    first = trained(job)
    lose(first, "worker 0")
    third = trained(job, 2)
    assert not set(pids(first).values()) & set(pids(third).values())
    stop_job(job)
    result(job, 30)
