"""Supervisor that prepares processes and waits for its job."""

import contextlib
import dataclasses
import json
import os
import socket
import time
from collections.abc import Mapping
from typing import Any

from tfdistribute import storage
from tfdistribute.descriptions import read
from tfdistribute.launch.host.processes import StopRequests
from tfdistribute.launch.job import Job
from tfdistribute.launch.places.local import LocalPlace
from tfdistribute.launch.setup import JobSetup, enter_network
from tfdistribute.launch.task_group import TaskGroup

# The state of a supervisor without a job, beside the state of the job.
STATE_FILE = "prepared.json"

_TICK_S = 0.1
# A session that was killed while it started this supervisor sends nothing.
_FIRST_MESSAGE_S = 60.0
_ANSWER = b"\n"

# What a waiting supervisor has for its job: this machine, whose network it has entered, and notes for the user.
Entered = tuple[LocalPlace, list[str]]


def await_job(directory: str) -> Entered | None:
    """Prepare processes until the job is written; None if it will not be, ClusterError without the wanted network."""
    with socket.socket(fileno=os.dup(0)) as channel, StopRequests() as stops:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        channel.settimeout(_TICK_S)
        waiting = _Waiting(directory, channel)
        while stops.count == 0 and not waiting.is_over:
            line = waiting.next_line()
            if line is not None:
                message = json.loads(line)
                if "run" in message:
                    return waiting.entered
                waiting.session = message["session"]
                waiting.prepare(message["prepare"], message.get("idle_s"))
            waiting.go_on()
    return None


class _Waiting:
    def __init__(self, directory: str, channel: socket.socket) -> None:
        self.entered: Entered | None = None
        self.session: int | None = None
        self._directory = directory
        self._channel = channel
        self._received = b""
        self._is_closed = False
        self._tasks: TaskGroup | None = None
        self._at_once = True
        self._until: float | None = time.monotonic() + _FIRST_MESSAGE_S

    @property
    def is_over(self) -> bool:
        is_late = self._until is not None and time.monotonic() > self._until
        # A child that the session has forked may hold its end of the channel.
        has_session = self.session in (None, os.getppid())
        return self._is_closed or is_late or not has_session

    def next_line(self) -> bytes | None:
        if b"\n" not in self._received:
            try:
                data = self._channel.recv(1 << 16)
            except TimeoutError:
                return None
            except OSError:
                data = b""
            self._received += data
            self._is_closed = not data
            if b"\n" not in self._received:
                return None
        line, _, self._received = self._received.partition(b"\n")
        return line

    def prepare(self, fields: Mapping[str, Any], idle_s: float | None) -> None:
        """Prepare processes for a job with these fields; without ``idle_s`` immediately, for as long as it takes."""
        job = dataclasses.replace(read(Job, fields), directory=self._directory)
        if self.entered is None:
            self.entered = enter_network(job)
        setup = JobSetup(job, self._directory, *self.entered)
        self._tasks = TaskGroup(setup)
        self._tasks.prepare(lambda: False)
        self._at_once = idle_s is None
        self._until = None if idle_s is None else time.monotonic() + idle_s
        self._tasks.prepare_processes(self._at_once)
        if self._at_once:
            # A session that does not wait for the answer may have closed its end.
            with contextlib.suppress(OSError):
                self._channel.sendall(_ANSWER)

    def go_on(self) -> None:
        if self._tasks is None or self.entered is None:
            return
        if not self._at_once:
            self._tasks.prepare_processes(at_once=False)
        ready_processes = self.entered[0].prepared
        values = {
            "pids": [each.pid for each in ready_processes],
            "is_ready": len(ready_processes) == len(self._tasks.tasks)
            and all(e.is_ready for e in ready_processes),
        }
        path = os.path.join(self._directory, STATE_FILE)
        if storage.read_object(path) != values:
            storage.write_object(path, values)
