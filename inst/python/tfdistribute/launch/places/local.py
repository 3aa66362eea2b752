"""Processes of this machine."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Mapping, Sequence

from tfdistribute.cluster import ports
from tfdistribute.launch.host import hardware
from tfdistribute.launch.places.local_process import LocalProcess, PreparedProcess
from tfdistribute.launch.places.place import LEAST_BYTES, Place, StartedProcess, StartOptions

# In a private network every port is free.
_FIRST_PRIVATE_PORT = 2222


class LocalPlace(Place):
    """This machine.

    Args:
        directory: The job's private directory.
        is_private: Whether the job has a network of its own.
    """

    def __init__(self, directory: str, is_private: bool) -> None:
        self.directory = directory
        self.is_private = is_private
        self._prepared: list[PreparedProcess] = []
        self._has_lost = False

    @property
    def environment(self) -> Mapping[str, str]:
        return os.environ

    def cores(self) -> list[int]:
        return hardware.available_cores()

    def gpus(self, environment: Mapping[str, str]) -> list[str]:
        return hardware.available_gpus({**os.environ, **environment})

    def lacks_space(self) -> bool:
        with contextlib.suppress(OSError):
            return shutil.disk_usage(self.directory).free < LEAST_BYTES
        return False

    def free_ports(self, count: int) -> Sequence[int]:
        """Find free ports; always the same in a private network."""
        if self.is_private:
            return range(_FIRST_PRIVATE_PORT, _FIRST_PRIVATE_PORT + count)
        return ports.free_ports(count)

    def port_owner(self, port: int) -> str | None:
        owner = ports.listener(port)
        return None if owner is None else str(owner)

    @property
    def prepared(self) -> list[PreparedProcess]:
        """The processes that wait for a task, or will soon."""
        waiting = [each for each in self._prepared if each.exit_code() is None]
        self._has_lost |= len(waiting) < len(self._prepared)
        self._prepared = waiting
        return list(waiting)

    def start(self, options: StartOptions) -> StartedProcess:
        """Start a process that dies with this one, or give the task to one that was prepared for it."""
        for process in self.prepared:
            if process.options.prepares(options):
                self._prepared.remove(process)
                if process.begin(options):
                    return process
        return LocalProcess(options)

    def prepare(self, tasks: Sequence[StartOptions], at_once: bool) -> None:
        """Prepare the processes that are missing for tasks, and end those that are not for any of them.

        Those that need not be there at once take one core, and at most a share of the memory: when it becomes scarce,
        they end. None is started after that, or after one has ended by itself: the next might end, too.
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
            # The start of the task tells why a program cannot be run.
            with contextlib.suppress(OSError):
                self._prepared.append(PreparedProcess(options, self.directory))
