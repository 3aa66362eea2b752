"""Fault injection into jobs of real TensorFlow processes under the real supervisor, with a leak check."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from support import job_fakes
from tfdistribute.cluster.ports import listener
from tfdistribute.launch import job_handle
from tfdistribute.launch.job_handle import reap_supervisors
from tfdistribute.launch.start import start_supervisor

TASK = Path(__file__).with_name("fault_task.py")

# Time limit of a job on a busy machine; pytest kills a test after 300 seconds.
LIMIT_S = 240.0


class FaultJob:
    """A job that trains ``fault_task``'s model in ``directory``.

    Args:
        directory: Directory through which tasks and test communicate.
        handle: The job's handle.
        limit_s: Time limit of the whole job.
    """

    def __init__(self, directory: Path, handle: Mapping[str, Any], limit_s: float) -> None:
        self.directory = directory
        self.handle = handle
        self._deadline = time.monotonic() + limit_s
        self.model_dir = Path(handle["model_dir"])

    @property
    def state(self) -> dict[str, Any]:
        return job_handle.job_state(self.handle)

    @property
    def _remaining_s(self) -> float:
        return self._deadline - time.monotonic()

    def row(self, task: str) -> dict[str, Any]:
        return job_fakes.row(self.state, task)

    def await_state(self, condition: Any) -> dict[str, Any]:
        try:
            return job_fakes.state_when(self.handle, condition, self._remaining_s)
        except AssertionError as late:
            raise AssertionError(f"{late}\n{self.logs()}") from late

    def await_stop(self, number: int) -> None:
        """Wait until a task has reached its stop."""
        arrived = self.directory / f"arrived-{number}"
        self.await_state(lambda _: arrived.exists())

    def go_on(self, number: int) -> None:
        (self.directory / f"go-{number}").touch()

    def kill(self, task: str) -> None:
        pid = self.row(task)["pid"]
        assert pid in job_fakes.processes_of(self.handle)
        os.kill(pid, signal.SIGKILL)

    def end(self) -> dict[str, Any]:
        """Wait for the end, check that only the result is left, and return it."""
        try:
            state = job_fakes.result(self.handle, self._remaining_s)
        except AssertionError as late:
            raise AssertionError(f"{late}\n{self.logs()}") from late
        assert job_fakes.processes_of(self.handle) == []
        left = [*self.model_dir.glob("tmp_*"), *self.model_dir.glob("*_temp")]
        assert left == []
        if state["network"] == "open":
            owners = [listener(row["port"]) for row in state["tasks"] if row["port"]]
            # A test may itself hold a port.
            assert all(owner is None or owner.pid == os.getpid() for owner in owners)
        return state

    def logs(self) -> str:
        found = sorted(Path(self.handle["logs"]).glob("*.log"))
        return "\n".join(f"--- {path.name}\n{_end_of(path)}" for path in found)


@contextlib.contextmanager
def fault_job(
    directory: Path, options: Mapping[str, Any], limit_s: float = LIMIT_S, **fields: Any
) -> Iterator[FaultJob]:
    """Run a job, and always end it.

    Args:
        directory: Root directory of the job's files.
        options: Options of ``fault_task``; ``config`` without its cluster.
        limit_s: Time limit of the whole job.
        fields: Fields of the cluster and of the job, as for ``job_fakes.fake_job``.
    """
    directory.mkdir(exist_ok=True)
    model_dir = fields.pop("model_dir", str(directory / "custom" / "model"))
    # A cluster of addresses names its evaluator.
    evaluator = {} if "cluster" in fields else {"evaluator": False}
    fields = {"start_timeout_s": limit_s, **evaluator, **fields}
    command = [sys.executable, str(TASK), str(directory), json.dumps(options)]
    job = job_fakes.fake_job(directory, {}, command=command, model_dir=model_dir, **fields)
    handle = start_supervisor(job)
    try:
        yield FaultJob(directory, handle, limit_s)
    finally:
        if job_handle.is_running(handle):
            os.kill(handle["pid"], signal.SIGKILL)
        reap_supervisors()


def _end_of(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")[-4000:]
