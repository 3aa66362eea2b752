"""What a job stands on before its tasks are started: network, lock and logs. Plain Python."""

from __future__ import annotations

from dataclasses import dataclass

from tfdistribute import checkpoints
from tfdistribute.errors import ClusterError
from tfdistribute.launch.host import network, private_directory
from tfdistribute.launch.host.lock import ModelDirectoryLock
from tfdistribute.launch.host.logs import first_usable, log_directories, spare_directory
from tfdistribute.launch.job import Job


@dataclass
class Ground:
    """What is given back when the job has ended.

    Args:
        job: The job.
        logs: Directory of the logs.
        is_private: Whether the tasks have a network of their own.
        notes: What the user should know of it.
        lock: The lock on model_dir; None where the model is not on this machine, or not known.
    """

    job: Job
    logs: str
    is_private: bool
    notes: list[str]
    lock: ModelDirectoryLock | None = None

    @property
    def result_places(self) -> list[str]:
        """Where the result of the job may be written, the best place first."""
        return [self.logs, spare_directory(self.job.id)]

    def release(self) -> None:
        """Give back the lock and remove what killed tasks left in model_dir."""
        if self.job.local_model_dir is not None:
            checkpoints.tidy(self.job.local_model_dir)
        if self.lock is not None:
            self.lock.release()


def prepare(job: Job) -> Ground:
    """Check the private directory, lock model_dir, and make the logs' directory and the network.

    Args:
        job: The job.

    Returns:
        What the job stands on.

    Raises:
        ArgumentError: the private directory is not private.
        ModelDirectoryError: model_dir is another job's, or cannot be written.
        ClusterError: a private network was asked for, and cannot be had.
    """
    private_directory.check_private(job.directory)
    model_dir = job.local_model_dir
    lock = None if model_dir is None else ModelDirectoryLock(model_dir)
    try:
        logs = _logs(job)
        is_private, notes = _network(job)
    except BaseException:
        if lock is not None:
            lock.release()
        raise
    if lock is not None and not lock.is_supported:
        notes.append("The file system of `model_dir` has no locks: let no other job write there.")
    return Ground(job, logs, is_private, notes, lock)


def _logs(job: Job) -> str:
    candidates = log_directories(job.id, job.local_model_dir, job.working_directory)
    # As the last resort logs stand where everything else of the job does, and go with it.
    return first_usable(candidates) or job.directory


def _network(job: Job) -> tuple[bool, list[str]]:
    wanted = job.supervision.network
    if wanted == "open":
        return False, [network.OPEN_RISK]
    reason = _why_open(job) or network.why_not_private()
    if reason is None:
        network.enter_private()
        return True, []
    if wanted == "private":
        raise ClusterError(
            f'`network` is "private", but this job cannot have a network of its own: {reason}.',
            'Use `network = "open"` on a machine behind a firewall, or ask for user namespaces.',
            argument="network",
            value="private",
        )
    return False, [f"{network.OPEN_RISK} Why not private: {reason}."]


def _why_open(job: Job) -> str | None:
    if job.model_dir is not None and job.local_model_dir is None:
        return f'`model_dir` "{job.model_dir}" is reached through the network'
    if not job.is_on_loopback:
        return "the cluster's addresses are not of the loopback"
    return None
