"""Processes of this machine."""

import contextlib
import dataclasses
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
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


class LocalProcess(StartedProcess):
    """The process of one task, new or ``waiting`` for it. It ends as this one when it waits for another task."""

    def __init__(self, options: StartOptions, waiting: "LocalProcess | None" = None) -> None:
        output = open_log(options.log)
        try:
            if waiting is None:
                self._process, self._channel = _start(options, output)
            else:
                self._process, self._channel = waiting._process, waiting._channel
                task = {"environment": dict(options.environment), "cores": list(options.cores)}
                socket.send_fds(self._channel, [json.dumps(task).encode()], [output])
        finally:
            os.close(output)
        self.pid = self._process.pid
        self.code: int | None = None

    @property
    def is_waiting(self) -> bool:
        is_running = self.code is not None and self._process.poll() is None
        return is_running and not self.activity().is_suspended

    def exit_code(self) -> int | None:
        process = self._process
        if self.code is None:
            with contextlib.suppress(OSError):
                self.code = next(iter(self._channel.recv(1)), None)
        if self.code is not None or process.returncode is not None:
            return process.returncode if self.code is None else self.code
        if hasattr(os, "waitid"):
            flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
            if os.waitid(os.P_PID, process.pid, flags) is None:
                return None
            # Until its leader is reaped, the process group's id cannot be reused.
            self.signal(signal.SIGKILL)
        return process.poll()

    def signal(self, number: int, whole_group: bool = True, if_caught: bool = False) -> None:
        if self.code is not None or self._process.returncode is not None:
            return
        if if_caught and not processes.catches(self.pid, number):
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            (os.killpg if whole_group else os.kill)(self.pid, number)

    def activity(self) -> Activity:
        return processes.activity(self.pid)

    def wait(self, seconds: float) -> None:
        if self.exit_code() is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(seconds)


def _start(options: StartOptions, output: int) -> tuple[subprocess.Popen[bytes], socket.socket]:
    parent, cores = os.getpid(), set(options.cores)

    def prepare() -> None:
        processes.die_with_parent(parent)
        if options.ignores_end:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if cores and sys.platform == "linux":
            os.sched_setaffinity(0, cores)

    channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    channel.setblocking(False)
    own = {task_events.CHANNEL: str(theirs.fileno())} if options.waits else {}
    with theirs:
        process = subprocess.Popen(
            options.command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env={**options.environment, **own},
            pass_fds=[theirs.fileno()] if own else (),
            cwd=options.directory,
            start_new_session=True,
            preexec_fn=prepare,  # noqa: PLW1509 - this process has one thread
        )
    return process, channel


class LocalPlace(Place):
    def __init__(self, directory: str, is_private: bool) -> None:
        self.directory = directory
        self.is_private = is_private
        self._processes: list[LocalProcess] = []
        self._next_port = _FIRST_PRIVATE_PORT

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
            # A process that gets another task still listens on its former port.
            self._next_port += count
            return range(self._next_port - count, self._next_port)
        return ports.free_ports(count)

    def port_owner(self, port: int) -> str | None:
        owner = ports.listener(port)
        return None if owner is None else str(owner)

    def start(self, options: StartOptions) -> LocalProcess:
        process = None
        for each in self._waiting() if options.waits else ():
            self._processes.remove(each)
            with contextlib.suppress(OSError):
                process = LocalProcess(options, each)
                break
        self._processes.append(process or LocalProcess(options))
        return self._processes[-1]

    def prepare(self, options: StartOptions) -> None:
        if not self._waiting():
            environment = {**options.environment, task_events.EVENTS: ""}
            with contextlib.suppress(OSError):
                process = LocalProcess(dataclasses.replace(options, environment=environment))
                process.code = 0
                self._processes.append(process)

    def _waiting(self) -> list[LocalProcess]:
        known = self._processes
        self._processes = [each for each in known if each.exit_code() is None or each.is_waiting]
        return [each for each in self._processes if each.is_waiting]
