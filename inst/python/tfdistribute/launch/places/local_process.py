"""Processes of this machine that perform a task at once, or are prepared for one that is not known yet.

A prepared process gets its task over a socket that is its standard input: a line of JSON with environment variables,
and the open log. Before, it may report that it is ready.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping

from tfdistribute import task_events
from tfdistribute.launch.host import processes
from tfdistribute.launch.host.logs import open_log
from tfdistribute.launch.host.processes import Activity
from tfdistribute.launch.places.place import StartedProcess, StartOptions

# How much of what a process prints before it has a task is kept.
_MAX_BYTES = 1 << 20


class LocalProcess(StartedProcess):
    """A process that dies with this one."""

    def __init__(self, options: StartOptions) -> None:
        output = open_log(options.log)
        try:
            environment = {**options.environment, **options.task}
            self._process = _start(options, environment, subprocess.DEVNULL, output)
        finally:
            os.close(output)
        self.pid = self._process.pid

    def exit_code(self) -> int | None:
        process = self._process
        if process.returncode is not None:
            return process.returncode
        if hasattr(os, "waitid"):
            flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
            if os.waitid(os.P_PID, process.pid, flags) is None:
                return None
            # Until its leader is reaped, the process group's id cannot be reused.
            self.signal(signal.SIGKILL)
        return process.poll()

    def signal(self, number: int, whole_group: bool = True, if_caught: bool = False) -> None:
        if self._process.returncode is not None:
            return
        if if_caught and not processes.catches(self.pid, number):
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            (os.killpg if whole_group else os.kill)(self.pid, number)

    def activity(self) -> Activity:
        return processes.activity(self.pid)

    def wait(self, seconds: float) -> None:
        if self._process.returncode is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(seconds)


class PreparedProcess(LocalProcess):
    """A process whose task is not known yet.

    Args:
        options: What is known of its start; the log and the task are not.
        directory: Directory of a file for what it prints before it has a task, and then moves into its log.
    """

    def __init__(self, options: StartOptions, directory: str) -> None:
        self.options = options
        self._is_ready = False
        self._log: str | None = None
        self._channel, theirs = socket.socketpair()
        environment = {**options.environment, task_events.PREPARED: "1"}
        try:
            with theirs:
                self._output = tempfile.TemporaryFile(dir=directory)  # noqa: SIM115 - read at its end
                output = self._output.fileno()
                self._process = _start(options, environment, theirs.fileno(), output)
        except OSError:
            self._channel.close()
            raise
        self._channel.setblocking(False)
        self.pid = self._process.pid

    @property
    def is_ready(self) -> bool:
        """Whether it only waits for its task, or has ended."""
        if not self._is_ready:
            with contextlib.suppress(OSError):
                self._channel.recv(1)
                self._is_ready = True
        return self._is_ready

    def begin(self, options: StartOptions) -> bool:
        """Give the process its task; return False if it has ended or is suspended."""
        if self.exit_code() is not None or self.activity().is_suspended:
            self.discard()
            return False
        log = open_log(options.log)
        try:
            message = json.dumps(dict(options.task)).encode() + b"\n"
            socket.send_fds(self._channel, [message], [log])
        except OSError:
            self.discard()
            return False
        finally:
            os.close(log)
        self._channel.close()
        self._log = options.log
        return True

    def exit_code(self) -> int | None:
        """Return the exit code; then the log has what was printed, also by a process that never read its task."""
        code = super().exit_code()
        if code is not None and self._log is not None:
            log, self._log = open_log(self._log), None
            with contextlib.suppress(OSError):
                os.write(log, os.pread(self._output.fileno(), _MAX_BYTES, 0))
            os.close(log)
        return code

    def discard(self) -> None:
        self._channel.close()
        self.signal(signal.SIGKILL)
        self.wait(processes.END_S)


def _start(
    options: StartOptions, environment: Mapping[str, str], standard_input: int, output: int
) -> subprocess.Popen[bytes]:
    parent, cores = os.getpid(), set(options.cores)

    def prepare() -> None:
        processes.die_with_parent(parent)
        if options.ignores_end:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if cores and sys.platform == "linux":
            os.sched_setaffinity(0, cores)

    return subprocess.Popen(
        options.command,
        stdin=standard_input,
        stdout=output,
        stderr=output,
        env=environment,
        cwd=options.directory,
        start_new_session=True,
        preexec_fn=prepare,  # noqa: PLW1509 - this process has one thread
    )
