"""Resources that a job holds: network, lock and log directory."""

from __future__ import annotations

from dataclasses import dataclass

from tfdistribute.checkpoints.leftovers import tidy
from tfdistribute.cluster.hosts import HostsCluster
from tfdistribute.cluster.slurm import SlurmCluster
from tfdistribute.errors import ClusterError
from tfdistribute.launch.host import network, private_directory
from tfdistribute.launch.host.lock import ModelDirectoryLock
from tfdistribute.launch.host.logs import fallback_directory, first_usable
from tfdistribute.launch.job import Job


@dataclass
class JobSetup:
    """The resources of a running job.

    Args:
        logs: Directory of the logs.
        is_private: Whether the tasks have a network of their own.
        lock: The lock on model_dir; None if model_dir is remote or unknown, or the job does not write there.
    """

    job: Job
    logs: str
    is_private: bool
    notes: list[str]
    lock: ModelDirectoryLock | None = None

    @property
    def result_directories(self) -> list[str]:
        """Directories for the result of the job, the preferred one first."""
        return [self.logs, fallback_directory(self.job.id)]

    def release(self) -> None:
        """Release the lock, and remove what killed tasks left in model_dir."""
        if self.lock is not None and self.job.local_model_dir is not None:
            tidy(self.job.local_model_dir)
            self.lock.release()


def set_up(job: Job) -> JobSetup:
    """Check the private directory, lock model_dir, and make the log directory and the network."""
    private_directory.check_private(job.directory)
    model_dir = job.local_model_dir
    # A job that only reads checkpoints may run beside a training.
    lock = None if model_dir is None or not job.trains else ModelDirectoryLock(model_dir)
    try:
        candidates = job.log_directories
        # As a last resort logs go into the private directory, and are removed with it.
        logs = first_usable(candidates) or job.directory
        is_private, notes = _enter_network(job)
    except BaseException:
        if lock is not None:
            lock.release()
        raise
    if lock is not None and not lock.is_supported:
        notes.append("The file system of `model_dir` has no locks: let no other job write there.")
    return JobSetup(job, logs, is_private, notes, lock)


def _enter_network(job: Job) -> tuple[bool, list[str]]:
    """Enter a private network if wanted and possible; return whether, and notes for the user."""
    if isinstance(job.cluster, SlurmCluster):
        return False, [network.NODES_RISK]
    if isinstance(job.cluster, HostsCluster):
        return False, [network.HOSTS_RISK]
    wanted = job.cluster.supervision.network
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
        return "the cluster's addresses are not loopback addresses"
    return None
