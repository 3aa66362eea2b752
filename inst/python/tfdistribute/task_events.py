"""Task events for the supervisor: JSON lines in a file, written by the task and read by the supervisor.

Nothing is written unless TFDISTRIBUTE_EVENTS names the file, so a script behaves the same with and without a job. A
failure is also written to the file that TFDISTRIBUTE_FAILURE names.
"""

import contextlib
import faulthandler
import json
import math
import os
import signal
import time
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from tfdistribute import errors
from tfdistribute.files import json_values, parse_object

# Environment variables that the supervisor sets for each task: the job's private directory, the file of the task's
# events, the number of restarts before, the SHA-256 of the job's description, and the model_dir that is locked.
JOB = "TFDISTRIBUTE_JOB"
EVENTS = "TFDISTRIBUTE_EVENTS"
ATTEMPT = "TFDISTRIBUTE_ATTEMPT"
DIGEST = "TFDISTRIBUTE_DIGEST"
MODEL_DIR = "TFDISTRIBUTE_MODEL_DIR"
# The open socket through which a process gets another task, if its supervisor restarts tasks.
CHANNEL = "TFDISTRIBUTE_CHANNEL"
# Set in containers, which no supervisor watches: the file into which the first failure of the task is written.
FAILURE = "TFDISTRIBUTE_FAILURE"

# Folder of the private directory into which tasks write results that are too large for events.
RESULTS = "results"

# Names of the shares of time in which steps wait for input and GPUs are busy, and of memory and power of the GPUs.
UTILIZATION = ("input_wait", "gpu_utilization", "gpu_memory_mb", "gpu_power_w")

# Minimum interval between heartbeats.
STEP_EVERY_S = 0.1

_STDERR = 2

_MAX_READ_BYTES = 1 << 22
# Size from which a file whose events were read is replaced by a new one.
ROTATE_BYTES = 1 << 20
_OLD = ".old"

# Time and number of the step that this process last emitted, and the time of a failure that it emitted.
_emitted: dict[str, float] = {}


def is_supervised() -> bool:
    return bool(os.environ.get(EVENTS))


def is_in_job() -> bool:
    return bool(os.environ.get(JOB))


def attempt() -> int:
    """Return how often the job was restarted before this process started: 0 at first, and outside a job."""
    text = os.environ.get(ATTEMPT, "")
    return int(text) if text.isdecimal() else 0


def emit_started() -> None:
    """Emit "started", and make SIGUSR1 write the stacks of all threads to standard error."""
    _emitted.clear()
    dump_stacks_on_signal()
    emit("started", pid=os.getpid())


def dump_stacks_on_signal() -> None:
    """Make SIGUSR1 write the stacks of all threads to standard error, by C code, while TensorFlow waits."""
    # In a Python embedded in R, sys.stderr is not a file; the descriptor is.
    with contextlib.suppress(AttributeError, OSError):
        faulthandler.register(signal.SIGUSR1, file=_STDERR, all_threads=True)


def emit(event: str, **fields: Any) -> None:
    """Append one event with the current time; numbers that JSON cannot represent become null.

    An event that cannot be written is dropped, because a full disk must not end the job here.
    """
    files = [(EVENTS, os.O_APPEND), *([(FAILURE, os.O_EXCL)] if event == "failed" else [])]
    given = [(path, how) for name, how in files if (path := os.environ.get(name))]
    if not given:
        return
    line = json.dumps(json_values({"event": event, "time": time.time(), **fields}), default=str)
    for path, how in given:
        with contextlib.suppress(OSError):
            # A single write of a whole line: concurrent writers and readers never see half a line.
            descriptor = os.open(path, os.O_WRONLY | how | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                os.write(descriptor, f"{line}\n".encode())
            finally:
                os.close(descriptor)


def emit_step(
    step: int,
    loss: float | None = None,
    speed: float | None = None,
    utilization: Mapping[str, float] = MappingProxyType({}),
) -> None:
    """Emit the last trained step, its loss, examples per second and use, at most ten times a second.

    A repeated step is emitted immediately, because a new session has started from a checkpoint.
    """
    now = time.monotonic()
    is_soon = now - _emitted.get("step", -math.inf) < STEP_EVERY_S
    if not is_supervised() or (is_soon and step > _emitted["number"]):
        return
    _emitted["step"], _emitted["number"] = now, step
    known = {"loss": loss, "examples_per_second": speed, **utilization}
    emit("step", step=step, **{name: value for name, value in known.items() if value is not None})


def emit_failure(error: BaseException) -> None:
    values = errors.as_values(error)
    _emitted["failed"] = float(values["transient"])
    emit("failed", **values)


def has_lost_task() -> bool:
    """Return whether this task has failed because of another one."""
    return _emitted.get("failed") == 1.0


def has_emitted_failure() -> bool:
    return "failed" in _emitted


class EventFile:
    """The events of one task, read in the order in which they were written.

    Lines that are not events are skipped, because the task's own code may write to the file. The file need not exist
    yet. A file that has grown large is renamed, and removed at the next time, because a task may still be writing to
    it. Tasks open the file for each event.
    """

    def __init__(self, path: str) -> None:
        self._new = _Lines(path)
        self._old = _Lines(path + _OLD)

    def read_new(self) -> list[dict[str, Any]]:
        events = (_parse_event(line) for line in self.read_lines())
        return [event for event in events if event is not None]

    def read_lines(self) -> list[bytes]:
        # Before the first rotation there is no other file to look for.
        lines = [*(self._old.read() if self._old.position else ()), *self._new.read()]
        if self._new.position >= ROTATE_BYTES:
            self._rotate()
        return lines

    def _rotate(self) -> None:
        with contextlib.suppress(OSError):
            os.replace(self._new.path, self._old.path)
            self._old.position, self._old.rest = self._new.position, self._new.rest
            self._new.position, self._new.rest = 0, b""


class _Lines:
    def __init__(self, path: str) -> None:
        self.path = path
        self.position = 0
        self.rest = b""

    def read(self) -> list[bytes]:
        try:
            new_bytes = os.stat(self.path).st_size - self.position
            if new_bytes <= 0:
                return []
            with open(self.path, "rb", buffering=0) as file:
                file.seek(self.position)
                # Memory for as much as is read is allocated at each call.
                read = file.read(min(new_bytes, _MAX_READ_BYTES))
        except OSError:
            return []
        self.position += len(read)
        *lines, self.rest = (self.rest + read).split(b"\n")
        return lines


def whole_number(value: object) -> int | None:
    return int(value) if isinstance(value, (int, float)) and value == value // 1 else None


def number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None


def _parse_event(line: bytes) -> dict[str, Any] | None:
    event = parse_object(line)
    if event is None or not isinstance(event.get("event"), str):
        return None
    return event if isinstance(event.get("time"), (int, float)) else None
