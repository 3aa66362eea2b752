"""Faults drawn from a seed: a job ends with the undisturbed weights, or with a classed error within a minute.

``make chaos RUNS=20 SEED=7`` runs the seeds 7, 8, ... 26, and says how each ended, with the goodput of jobs. Their
trainings are short, so most of their time is the first start. ``make check-all`` runs a few fixed seeds. The limit is
for an idle machine: ``make chaos LIMIT_S=120`` is for one that is twice as slow.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from support import cluster_task, job_fakes
from support.checkpoints import assert_alike, break_newest_checkpoint, variables
from support.cluster_job import Job, job, with_deadlines
from support.fault_jobs import FaultJob, fault_job
from support.hosts import Host, can_have_networks, several_hosts

from tfdistribute import errors

# Private directories go to the test's own temporary directory.
pytestmark = [
    pytest.mark.full,
    pytest.mark.jobs,
    pytest.mark.usefixtures("own_temporary_directory"),
]

LAST_STEP = 30
# Time from a fault to its classed error.
ERROR_S = float(os.environ.get("CHAOS_LIMIT_S", "60"))
MULTI_WORKER = {"strategy": {"kind": "multi_worker"}}
FIRST_SEED = int(os.environ.get("CHAOS_SEED", "1"))
SEEDS = range(FIRST_SEED, FIRST_SEED + int(os.environ.get("CHAOS_RUNS", "4")))


@dataclass(frozen=True)
class Fault:
    """A fault.

    Args:
        place: "job" for a supervised job on this machine, "hosts" for tasks on two hosts.
        action: What happens to the task.
        task: Name of the task.
        moment: Where the task is: a stop of ``fault_task``, or seconds after the start of the tasks.
    """

    place: str
    action: str
    task: str
    moment: str


def draw(seed: int) -> Fault:
    """Draw a fault; the same seed draws the same fault."""
    source = random.Random(seed)
    if source.random() < 0.4:
        actions = ["kill", "freeze", *(["cut"] if can_have_networks() else [])]
        task = source.choice(["chief-0", "worker-0"])
        return Fault("hosts", source.choice(actions), task, f"{source.uniform(0, 15):.1f}")
    action = source.choice(["kill", "terminate", "freeze", "freeze briefly", "break and kill"])
    task = source.choice(["chief-0", "worker-0", "evaluator-0"])
    stops = ["start", "begin", f"step-{source.randrange(1, LAST_STEP)}"]
    if task == "chief-0":
        stops.append(f"save-{source.choice([10, 20, 30])}")
    return Fault("job", action, task, "start" if task == "evaluator-0" else source.choice(stops))


@pytest.fixture(scope="module")
def undisturbed(tensorflow: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Variables after the same steps in one undisturbed process."""
    del tensorflow
    directory = tmp_path_factory.mktemp("undisturbed")
    answer = cluster_task.train(directory, "custom", {"max_steps": LAST_STEP})
    assert "value" in answer
    return variables(directory / "custom" / "model")


@pytest.mark.parametrize("seed", SEEDS)
def test_a_fault_ends_in_the_undisturbed_weights_or_a_classed_error(
    undisturbed: dict[str, Any], tmp_path: Path, seed: int
) -> None:
    fault = draw(seed)
    sys.stdout.write(f"{seed}: {fault}\n")
    if fault.place == "job":
        seconds, outcome = disturb_a_job(fault, tmp_path, undisturbed)
    else:
        with several_hosts(2) as hosts:
            seconds, outcome = disturb_hosts(fault, tmp_path, hosts, undisturbed)
    sys.stdout.write(f"{seed}: {outcome} after {seconds:.1f} s\n")


def disturb_a_job(fault: Fault, directory: Path, expected: dict[str, Any]) -> tuple[float, str]:
    """Run a job and strike; return the seconds from the fault to the end, and how it ended."""
    stops = [f"{fault.task} {fault.moment}"]
    options = {"max_steps": LAST_STEP, "stops": stops, "config": MULTI_WORKER}
    deadlines = {"start_timeout_s": 40, "stall_timeout_s": 40}
    # With a digest, as in R, a restart uses the processes that are left.
    fields = {"max_steps": LAST_STEP, "evaluator": True, "digest": "0" * 64, **deadlines}
    with fault_job(directory, options, **fields) as running:
        running.await_stop(0)
        struck = time.time()
        strike(fault, running)
        state = running.end()
    seconds = state["ended"] - struck
    if state["state"] == "done":
        assert_alike(variables(running.model_dir), expected)
        return (
            seconds,
            f"the undisturbed weights, {state['restarts']} restarts, {state['goodput']['text']}",
        )
    assert state["state"] == "failed", state
    assert_classed(state["failure"])
    assert seconds < ERROR_S, state["failure"]
    return seconds, state["failure"]["kind"]


def strike(fault: Fault, running: FaultJob) -> None:
    name = fault.task.replace("-", " ")
    # The state is written some time after the task has started.
    state = running.await_state(lambda state: job_fakes.row(state, name)["pid"] is not None)
    pid = job_fakes.row(state, name)["pid"]
    if fault.action == "break and kill" and (running.model_dir / "checkpoint").exists():
        break_newest_checkpoint(running.model_dir)
    numbers = {
        "terminate": signal.SIGTERM,
        "freeze": signal.SIGSTOP,
        "freeze briefly": signal.SIGSTOP,
    }
    os.kill(pid, numbers.get(fault.action, signal.SIGKILL))
    running.go_on(0)
    if fault.action == "freeze briefly":
        time.sleep(5)
        os.kill(pid, signal.SIGCONT)


def disturb_hosts(
    fault: Fault, directory: Path, hosts: list[Host], expected: dict[str, Any]
) -> tuple[float, str]:
    """Train on two hosts and strike; return the seconds from the fault to the others' end, and how they ended."""
    outcomes: list[str] = []
    options = {"models": ["custom"], "max_steps": LAST_STEP, "config": MULTI_WORKER}
    with job(directory, options, hosts=hosts) as running:
        running.start_all(TEST_STEP_S="0.1", **with_deadlines(running, start_timeout_s=40))
        time.sleep(float(fault.moment))
        struck = time.monotonic()
        is_too_late = strike_host(fault, running)
        others = [name for name in running.processes if name != fault.task]
        running.wait(*others, timeout_s=ERROR_S + 120)
        seconds = time.monotonic() - struck
        for name in others:
            answer = running.answer(name, "custom")
            if "error" in answer:
                assert_classed(answer["error"])
                assert seconds < ERROR_S, answer["error"]
                outcomes.append(answer["error"]["kind"])
            elif is_too_late or fault.task != "chief-0":
                # It came too late to matter; a chief may have been lost before its last checkpoint.
                assert_alike(variables(running.model_dir("custom")), expected)
                outcomes.append("the undisturbed weights")
    return seconds, ", ".join(outcomes) or "too early for the last checkpoint"


def strike_host(fault: Fault, running: Job) -> bool:
    """Strike; return whether the task had already ended."""
    process = running.processes[fault.task]
    if process.poll() is not None:
        return True
    if fault.action == "cut":
        running.hosts[fault.task].cut()
    else:
        process.send_signal(signal.SIGKILL if fault.action == "kill" else signal.SIGSTOP)
    return False


def assert_classed(failure: dict[str, Any]) -> None:
    """Check that a failure is an error of this package that says what happened."""
    kinds = set(errors._classes(errors.TfdistributeError))
    assert failure["kind"] in kinds - {"error"}, failure
    assert failure["problem"]
    assert "Traceback" not in failure["problem"]


def test_the_same_seed_draws_the_same_fault() -> None:
    assert [draw(seed) for seed in range(50)] == [draw(seed) for seed in range(50)]
    drawn = [draw(seed) for seed in range(200)]
    assert {each.place for each in drawn} == {"job", "hosts"}
    assert len({(each.place, each.action, each.task) for each in drawn}) > 12
