"""Contract of the places where tasks run.

A place starts processes on one host. The output and the events of its tasks are appended to files on this machine, so
that all readers of logs and events are the same for every place.
"""

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
        environment: Environment variables besides those that the place has itself.
        log: File on this machine, as ``events``, to which the output is appended.
        cores: Cores that the process may use; empty for all.
        ignores_end: Whether the process ignores SIGTERM, because others than the supervisor send it.
        waits: Whether the process waits for another task when another one of its cluster is lost.
    """

    command: Sequence[str]
    environment: Mapping[str, str]
    directory: str
    log: str
    events: str
    cores: Sequence[int] = ()
    ignores_end: bool = False
    waits: bool = False


class StartedProcess(ABC):
    """The leader of its own session. ``loss`` says why it is out of reach, as the end of a sentence about its host."""

    pid: int
    loss: str | None = None

    @abstractmethod
    def exit_code(self) -> int | None:
        """Return the exit code, negative for a signal; None while it runs.

        At the end, the rest of its process group is killed, and all its output can be read.
        """

    @abstractmethod
    def signal(self, number: int, whole_group: bool = True, if_caught: bool = False) -> None:
        """Send a signal, if the process has not ended and, with ``if_caught``, has a handler."""

    @abstractmethod
    def activity(self) -> Activity:
        """Return what the process has done so far."""

    @abstractmethod
    def wait(self, seconds: float) -> None:
        """Wait for the end of the process, at most this long."""


class Place(ABC):
    """Where tasks run.

    Args:
        address: Address for the tasks of other places.
        directory: Path that the job's private directory has on the host.
        clock_ahead_s: How far the host's clock is ahead of this machine's.
        is_ending: Whether a scheduler has told all processes of the job to end.
        is_leaving: Whether the host has been told to end, and will be out of reach soon.
        is_back: Whether the host can be used, again if it was out of reach.
    """

    host = "localhost"
    address = "127.0.0.1"
    directory: str
    clock_ahead_s = 0.0
    is_ending = False
    is_leaving = False
    is_back = False

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
        """Return whether the disk with ``directory`` is full, so that reports of tasks are lost."""

    @abstractmethod
    def free_ports(self, count: int) -> Sequence[int]:
        """Find free ports."""

    def port_owner(self, port: int) -> str | None:
        """Describe the program that listens on a port; None if it is not known."""
        return None

    @abstractmethod
    def start(self, options: StartOptions) -> StartedProcess:
        """Start a process, or use one that waits; raise OSError if the program cannot be run."""

    @abstractmethod
    def prepare(self, options: StartOptions) -> None:
        """Let one process wait for a task of a later start."""

    def poll(self) -> None:  # noqa: B027 - only places elsewhere have something to do
        """Take what has happened on the host."""

    @property
    def is_lost(self) -> bool:
        """Whether the host is out of reach, or was and is not yet restored."""
        return False

    def reconnect(self) -> None:  # noqa: B027 - only places elsewhere can be lost
        """Begin to connect again to a host that is out of reach."""

    def renew(self, wait: bool = True) -> None:  # noqa: B027
        """Restore the place if its host is out of reach; what is started there is lost if that fails.

        Without ``wait``, only a host to which this place is connected again is restored.
        """

    def end(self) -> None:  # noqa: B027 - only places elsewhere are ended
        """Begin to end whatever is left of the job on the host."""

    def close(self, seconds: float) -> None:  # noqa: B027
        """Wait until nothing is left of the job on the host, at most this long, and release the place."""

    def path(self, path: str, directory: str) -> str:
        """Return where a path below the job's private ``directory`` of this machine is on the host."""
        return self.directory + path.removeprefix(directory)
