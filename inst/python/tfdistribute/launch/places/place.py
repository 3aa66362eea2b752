"""Contract of the places where tasks run.

A place starts processes on one host and gives access to them. Whatever the host, the output and the events of its tasks
are appended to files on this machine, so that all readers of logs and events are the same for every place.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tfdistribute.launch.host.processes import Activity

# With fewer bytes a disk counts as full.
LEAST_BYTES = 1 << 14


@dataclass(frozen=True)
class StartOptions:
    """Parameters of a start.

    Args:
        command: The command, as an argument list.
        environment: Environment variables besides those that the place has itself.
        task: Environment variables that tell the process its task. One that was prepared gets them afterwards.
        log: File on this machine to which the output is appended.
        events: File on this machine to which the events are appended.
        cores: Cores that the process may use; empty for all.
        ignores_end: Whether the process ignores SIGTERM, because others than the supervisor send it.
    """

    command: Sequence[str]
    environment: Mapping[str, str]
    task: Mapping[str, str]
    directory: str
    log: str
    events: str
    cores: Sequence[int] = ()
    ignores_end: bool = False

    def prepares(self, other: StartOptions) -> bool:
        """Return whether a process that was prepared with these options can perform the task of others."""
        return (
            list(self.command) == list(other.command)
            and self.environment == other.environment
            and self.directory == other.directory
            and tuple(self.cores) == tuple(other.cores)
        )


class StartedProcess(ABC):
    """A process that a place has started, the leader of a session of its own.

    Args:
        pid: Its process id on its host.
        loss: Why the process is out of reach, as the end of a sentence about its host; None if it is not.
    """

    pid: int
    loss: str | None = None

    @abstractmethod
    def exit_code(self) -> int | None:
        """Return the exit code, negative for a signal; None while it runs.

        When it has ended, what is left of its process group is killed, and all that it wrote can be read.
        """

    @abstractmethod
    def signal(self, number: int, whole_group: bool = True, if_caught: bool = False) -> None:
        """Send a signal to the process, or to its whole process group; do nothing if it has ended.

        With ``if_caught`` only a process that has a handler for the signal gets it.
        """

    @abstractmethod
    def activity(self) -> Activity:
        """Return what the process has done so far."""

    @abstractmethod
    def wait(self, seconds: float) -> None:
        """Wait for the end of the process, at most this long."""


class Place(ABC):
    """Where tasks run.

    Args:
        address: Address at which the tasks of other places reach those of this one.
        directory: Path of the job's private directory on the host.
        clock_ahead_s: How far the host's clock is ahead of this machine's.
        is_ending: Whether a scheduler has told the processes there to end.
    """

    host = "localhost"
    address = "127.0.0.1"
    directory: str
    clock_ahead_s = 0.0
    is_ending = False

    @property
    @abstractmethod
    def environment(self) -> Mapping[str, str]:
        """Environment variables of this process that tasks of the place inherit."""

    @abstractmethod
    def cores(self) -> list[int]:
        """List the cores that tasks may use; empty if they are not known."""

    @abstractmethod
    def gpus(self, environment: Mapping[str, str]) -> list[str]:
        """List the GPUs that tasks with these variables may use, as CUDA_VISIBLE_DEVICES names them."""

    @abstractmethod
    def lacks_space(self) -> bool:
        """Return whether the disk with ``directory`` is full: what tasks report is lost then."""

    @abstractmethod
    def free_ports(self, count: int) -> Sequence[int]:
        """Find free ports."""

    @abstractmethod
    def port_owner(self, port: int) -> str | None:
        """Describe the program that listens on a port; None if it is not known."""

    @abstractmethod
    def start(self, options: StartOptions) -> StartedProcess:
        """Start a process; raise OSError if the program cannot be run."""

    def prepare(self, tasks: Sequence[StartOptions], at_once: bool) -> None:  # noqa: B027 - optional
        """Prepare processes for the next starts of tasks: all at once, or one after another in later calls.

        Places that cannot do so start their processes with the task.
        """

    def poll(self) -> None:  # noqa: B027 - only places elsewhere have something to do
        """Take what has happened on the host."""

    def renew(self) -> None:  # noqa: B027 - only places elsewhere can be lost
        """Restore the place if its host is out of reach; what is started there is lost if that fails."""

    def end(self) -> None:  # noqa: B027 - only places elsewhere are ended
        """Begin to end whatever is left of the job on the host."""

    def close(self, seconds: float) -> None:  # noqa: B027
        """Wait until nothing is left of the job on the host, at most this long, and release the place."""

    def path(self, path: str, directory: str) -> str:
        """Return where a path below the job's private ``directory`` of this machine is on the host."""
        return self.directory + path.removeprefix(directory)
