"""Contract of schedulers, such as Slurm: programs that run the supervisor of a job inside its cluster."""

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from tfdistribute.cluster.spec import Cluster
from tfdistribute.launch.job import Job
from tfdistribute.launch.places.transport import Transport
from tfdistribute.rules import Finding

# Fast startup, as for every supervisor: Python ignores environment variables and installed packages.
_CODE = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); "
    "from tfdistribute.launch.schedulers.supervisor import main; main(*sys.argv[1:])"
)


def supervisor_command(python: str | None, directory: str, where: str, scheduler: str) -> list[str]:
    """Return the command that a scheduler runs: the supervisor of the job in ``directory``.

    ``where`` is what ``Scheduler.begin`` gets, and ``scheduler`` a name of the registry.
    """
    root = str(Path(__file__).parents[3])
    return [python or sys.executable, "-I", "-S", "-c", _CODE, root, directory, where, scheduler]


@dataclass(frozen=True)
class QueueEntry:
    """A job as its scheduler knows it.

    Args:
        phase: "ends" while its supervisor can no longer be signaled; "ended" also if the scheduler has forgotten it.
        words: Why it waits, or how it ended, in the scheduler's own words.
    """

    phase: Literal["waits", "runs", "ends", "ended", "cancelled"]
    words: str = ""


@dataclass(frozen=True)
class Start:
    """One start of a supervisor.

    Args:
        cluster: The cluster of the job, as it is reached from there, with its hosts.
        starts_before: How often the scheduler has started the supervisor before.
    """

    cluster: Cluster
    key: str
    starts_before: int = 0


class Scheduler(ABC):
    """A scheduler, which knows a job by a key, a text.

    ``name`` is its name in sentences, and ``output`` the name of the file in the directory of the logs into which a
    supervisor prints, where {} is the ``number`` of the job.
    """

    name: ClassVar[str]
    output: ClassVar[str]

    @abstractmethod
    def takes(self, cluster: Cluster) -> bool:
        """Return whether it runs the supervisors of a cluster's jobs."""

    @abstractmethod
    def submit(self, job: Job, logs: str) -> str:
        """Let ``supervisor_command()`` run for a job whose files are written, and return its key.

        ClusterError if the job is not accepted, or cannot ever start.
        """

    @abstractmethod
    def entry(self, key: str) -> QueueEntry | None:
        """Return the entry of a job; None if the scheduler does not answer."""

    @abstractmethod
    def signal(self, key: str, name: str) -> bool:
        """Send a signal such as "TERM" to the supervisor of a running job only; return whether that was possible."""

    @abstractmethod
    def cancel(self, key: str) -> None:
        """Take a waiting job from the queue, and ask the supervisor of a running one to end."""

    @abstractmethod
    def begin(self, job: Job, where: str) -> Start:
        """Describe the start of the supervisor in this process, which got the text ``where`` from ``submit``."""

    def early_key(self, job_id: str) -> str:
        """Return the key of a job while it is submitted; empty if it is not known."""
        return ""

    def number(self, key: str) -> str:
        """Return how users call a job."""
        return key

    def check_available(self) -> None:  # noqa: B027 - most schedulers say so when a job is submitted
        """Raise BackendError if jobs cannot be submitted from this machine."""

    def check(self, cluster: Any) -> list[Finding]:
        """List the mistakes of a cluster of which the scheduler knows, without submitting a job."""
        return []

    def own_directories(self) -> list[str]:
        """List the private directories of this user's jobs in the queue, as far as the scheduler keeps them."""
        return []

    def transports(self, cluster: Any) -> Callable[[str], Transport] | None:
        """Return how the supervisor reaches the hosts that the scheduler allocates; None if a framework has them."""
        return None

    # A scheduler that ends a job and starts it again also has these.

    # Signal that announces the end of a job's time.
    time_signal: ClassVar[str | None] = None

    def may_restart(self, cluster: Any) -> bool:
        """Return whether a job of the cluster goes on in another start."""
        return False

    def save_s(self, cluster: Any) -> float | None:
        """Return the seconds that the chief has to save its model after ``time_signal``; None for the usual ones."""
        return None

    def is_restarted(self, key: str, starts_before: int, or_will_be: bool = True) -> bool:
        """Return whether the scheduler has queued an ending job again, or will do so; True if it does not say."""
        return False

    def restart(self, key: str) -> str | None:
        """Let a running job queue again, which ends its processes; return the scheduler's words if that fails."""
        return f"{self.name} starts no job again"
