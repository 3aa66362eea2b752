"""Contract of schedulers, such as Slurm, that run the supervisor of a job."""

from dataclasses import dataclass
from typing import Protocol

from tfdistribute.launch.job import Job


@dataclass(frozen=True)
class QueueEntry:
    """A job in the queue: ``state`` such as "PENDING", "" if unknown, and ``nodes`` as Slurm writes them."""

    state: str = ""
    reason: str = ""
    nodes: str = ""

    @property
    def waits(self) -> bool:
        return self.state in ("PENDING", "CONFIGURING", "REQUEUED", "SUSPENDED", "REQUEUE_HOLD")


class Scheduler(Protocol):
    """A module that knows jobs by a key of its own."""

    NAME: str
    # Output of a supervisor in the directory of the logs.
    OUTPUT: str
    # The key of a job with an id while it is submitted; empty if it is not known.
    KEY: str

    def submit(self, job: Job, logs: str) -> str: ...

    def queue_entry(self, key: str, /) -> QueueEntry | None:
        """Return the entry of a job; None if the scheduler does not answer."""
        ...

    def signal_batch(self, key: str, name: str, /) -> bool:
        """Send a signal to the supervisor of a running job only; return whether that was possible."""
        ...

    def cancel(self, key: str, /) -> None:
        """Take a waiting job from the queue, and ask the supervisor of a running one to end."""
        ...
