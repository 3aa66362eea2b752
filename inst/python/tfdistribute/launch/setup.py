"""Resources that a job holds: network, lock and log directory."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from typing import Any

from tfdistribute.checkpoints.leftovers import tidy
from tfdistribute.cluster.hosts import HostsCluster
from tfdistribute.cluster.slurm import SlurmCluster
from tfdistribute.errors import ClusterError
from tfdistribute.launch.host import network, private_directory, processes
from tfdistribute.launch.host.lock import ModelDirectoryLock
from tfdistribute.launch.host.logs import fallback_directory, first_usable
from tfdistribute.launch.host.remote_logs import move_logs
from tfdistribute.launch.host.stop_requests import StopRequests
from tfdistribute.launch.job import Job
from tfdistribute.launch.places.local import LocalPlace
from tfdistribute.launch.state import write_result
from tfdistribute.task_events import RESULTS


@dataclass
class JobSetup:
    """The resources of a running job.

    Args:
        place: This machine, with the network of the tasks.
        lock: The lock on model_dir; None if model_dir is remote or unknown, or the job does not write there.
    """

    job: Job
    logs: str
    place: LocalPlace
    notes: list[str]
    lock: ModelDirectoryLock | None = None

    @property
    def is_private(self) -> bool:
        return self.place.is_private

    @property
    def result_directories(self) -> list[str]:
        return [self.logs, fallback_directory(self.job.id)]

    @property
    def _is_nobodys(self) -> bool:
        """Whether the session has ended and removed its temporary files, ``model_dir`` among them."""
        pid, model_dir = self.job.parent_pid, self.job.local_model_dir
        is_gone = model_dir is not None and not os.path.isdir(os.path.dirname(model_dir))
        return is_gone and pid is not None and processes.start_time(pid) is None

    def keep(self, values: dict[str, Any], stops: StopRequests) -> dict[str, Any]:
        """Write the last state of a job where it stays, beside its results, and return it.

        For remote storage, with the logs there.
        """
        if values["ended"] is None or self._is_nobodys:
            return values
        if values["state"] == "done" and not self.job.trains:
            # The logs of such a job are in the directory for temporary files, as its private directory is.
            with contextlib.suppress(OSError):
                os.replace(
                    *(os.path.join(each, RESULTS) for each in (self.job.directory, self.logs))
                )
        write_result(values, self.result_directories)
        moved = move_logs(self.job, self.logs, values, lambda: stops.count > 1)
        if moved["logs"] == values["logs"] and moved["notes"] != values["notes"]:
            write_result(moved, self.result_directories)
        return moved

    def release(self) -> None:
        """Release the lock, and remove what killed tasks left in model_dir."""
        if self.lock is not None and self.job.local_model_dir is not None:
            tidy(self.job.local_model_dir)
            self.lock.release()


def set_up(job: Job, entered: tuple[LocalPlace, list[str]] | None = None) -> JobSetup:
    """Check the private directory, lock model_dir, and make the log directory and the network.

    ``entered`` is the result of ``enter_network``, if that was called before.
    """
    private_directory.check_private(job.directory)
    model_dir = job.local_model_dir
    # A job that only reads checkpoints may run beside a training.
    lock = None if model_dir is None or not job.trains else ModelDirectoryLock(model_dir)
    try:
        candidates = job.log_directories
        # As a last resort logs go into the private directory, and are removed with it.
        logs = first_usable(candidates) or job.directory
        place, notes = entered or enter_network(job)
    except BaseException:
        if lock is not None:
            lock.release()
        raise
    if lock is not None and not lock.is_supported:
        notes = [
            *notes,
            "The file system of `model_dir` has no locks: let no other job write there.",
        ]
    return JobSetup(job, logs, place, notes, lock)


def enter_network(job: Job) -> tuple[LocalPlace, list[str]]:
    """Enter a private network if wanted and possible; return this machine with it, and notes for the user."""
    is_open = LocalPlace(job.directory, is_private=False)
    if isinstance(job.cluster, SlurmCluster):
        return is_open, [network.NODES_RISK]
    if isinstance(job.cluster, HostsCluster):
        return is_open, [network.HOSTS_RISK]
    wanted = job.cluster.supervision.network
    if wanted == "open":
        return is_open, [network.OPEN_RISK]
    reason = why_open(job) or network.why_not_private()
    if reason is None:
        network.enter_private()
        return LocalPlace(job.directory, is_private=True), []
    if wanted == "private":
        raise ClusterError(
            f'`network` is "private", but this job cannot have a network of its own: {reason}.',
            'Use `network = "open"` on a machine behind a firewall, or ask for user namespaces.',
            argument="network",
            value="private",
        )
    return is_open, [f"{network.OPEN_RISK} Why not private: {reason}."]


def why_open(job: Job) -> str | None:
    """Say why the tasks of a job cannot have a network of their own, whatever the kernel allows; None if they can."""
    if job.model_dir is not None and job.local_model_dir is None:
        return f'`model_dir` "{job.model_dir}" is reached through the network'
    if not job.is_on_loopback:
        return "the cluster's addresses are not loopback addresses"
    return None
