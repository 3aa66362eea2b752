"""Processes of this machine."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence

from tfdistribute.cluster import ports
from tfdistribute.environment import available_cores
from tfdistribute.launch.host import hardware, processes
from tfdistribute.launch.host.logs import open_log
from tfdistribute.launch.host.processes import Activity
from tfdistribute.launch.places.place import LEAST_BYTES, Place, StartedProcess, StartOptions

# In a private network every port is free.
_FIRST_PRIVATE_PORT = 2222


class LocalProcess(StartedProcess):
    def __init__(self, options: StartOptions) -> None:
        output = open_log(options.log)
        try:
            self._process = _start(options, output)
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


def _start(options: StartOptions, output: int) -> subprocess.Popen[bytes]:
    parent, cores = os.getpid(), set(options.cores)

    def prepare() -> None:
        processes.die_with_parent(parent)
        if options.ignores_end:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if cores and sys.platform == "linux":
            os.sched_setaffinity(0, cores)

    return subprocess.Popen(
        options.command,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        env=options.environment,
        cwd=options.directory,
        start_new_session=True,
        preexec_fn=prepare,  # noqa: PLW1509 - this process has one thread
    )


class LocalPlace(Place):
    def __init__(self, directory: str, is_private: bool) -> None:
        self.directory = directory
        self.is_private = is_private

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

    def start(self, options: StartOptions) -> StartedProcess:
        return LocalProcess(options)
