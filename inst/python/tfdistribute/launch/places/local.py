"""Processes of this machine, which perform a task immediately, or are prepared for one that is not known yet.

A prepared process gets its task from a socket as standard input: a line of JSON with environment variables, and the
open log. Before, it may report that it is ready.
"""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence

from tfdistribute import task_events
from tfdistribute.cluster import ports
from tfdistribute.environment import available_cores
from tfdistribute.launch.host import hardware, processes
from tfdistribute.launch.host.logs import open_log
from tfdistribute.launch.host.processes import Activity
from tfdistribute.launch.places.place import LEAST_BYTES, Place, StartedProcess, StartOptions

# In a private network every port is free.
_FIRST_PRIVATE_PORT = 2222
# How much of the output of a process without a task is kept.
_MAX_BYTES = 1 << 20


class LocalProcess(StartedProcess):
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
    """A process without a task. A file in ``directory`` has its output, which later moves into its log."""

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
        """Whether it only waits for its task. It is not ready if it has ended, which its exit code shows later."""
        if not self._is_ready:
            with contextlib.suppress(OSError):
                self._is_ready = bool(self._channel.recv(1))
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
        # The log then also has the output of a process that never read its task.
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


class LocalPlace(Place):
    def __init__(self, directory: str, is_private: bool) -> None:
        self.directory = directory
        self.is_private = is_private
        self._prepared: list[PreparedProcess] = []
        self._has_lost = False

    @property
    def environment(self) -> Mapping[str, str]:
        return os.environ

    def cores(self) -> list[int]:
        return available_cores()

    def gpus(self, environment: Mapping[str, str]) -> list[str]:
        return hardware.available_gpus({**os.environ, **environment})

    def lacks_space(self) -> bool:
        with contextlib.suppress(OSError):
            return shutil.disk_usage(self.directory).free < LEAST_BYTES
        return False

    def free_ports(self, count: int) -> Sequence[int]:
        if self.is_private:
            return range(_FIRST_PRIVATE_PORT, _FIRST_PRIVATE_PORT + count)
        return ports.free_ports(count)

    def port_owner(self, port: int) -> str | None:
        owner = ports.listener(port)
        return None if owner is None else str(owner)

    @property
    def prepared(self) -> list[PreparedProcess]:
        waiting = [each for each in self._prepared if each.exit_code() is None]
        self._has_lost |= len(waiting) < len(self._prepared)
        self._prepared = waiting
        return list(waiting)

    def start(self, options: StartOptions) -> StartedProcess:
        for process in self.prepared:
            if process.options.prepares(options):
                self._prepared.remove(process)
                if process.begin(options):
                    return process
        return LocalProcess(options)

    def prepare(self, tasks: Sequence[StartOptions], at_once: bool) -> None:
        """Prepare the processes that are missing for tasks, and end those that are not for any of them.

        Without ``at_once``, they take one core and a share of the memory, and end when memory is scarce. None starts
        after that, or after one has ended on its own, because the next one might end, too.
        """
        if not at_once and self._prepared and hardware.is_memory_scarce():
            tasks, self._has_lost = (), True
        others, missing = self.prepared, list[StartOptions]()
        is_preparing = not all(each.is_ready for each in others)
        for options in tasks:
            candidate = next((each for each in others if each.options.prepares(options)), None)
            if candidate is None:
                missing.append(options)
            else:
                others.remove(candidate)
        for process in others:
            self._prepared.remove(process)
            process.discard()
        if missing and not at_once:
            is_possible = not (is_preparing or self._has_lost) and hardware.has_spare_memory()
            missing = missing[: int(is_possible)]
        for options in missing:
            # The start of the task reports why a program cannot be run.
            with contextlib.suppress(OSError):
                self._prepared.append(PreparedProcess(options, self.directory))
