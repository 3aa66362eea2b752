"""Resources that a job holds, and its time on its machine."""

import contextlib
import os
from dataclasses import dataclass
from typing import Any

from tfdistribute.checkpoints.lock import ModelDirectoryLock
from tfdistribute.checkpoints.newest import tidy
from tfdistribute.cluster.hosts import HostsCluster
from tfdistribute.cluster.ssh import SshCluster
from tfdistribute.errors import ClusterError
from tfdistribute.launch.host import network, private_directory, processes
from tfdistribute.launch.host.logs import fallback_directory, is_usable
from tfdistribute.launch.host.processes import SIGNALS, StopRequests
from tfdistribute.launch.host.remote_logs import move_logs
from tfdistribute.launch.job import Job
from tfdistribute.launch.places.local import LocalPlace
from tfdistribute.launch.state import JobState, Progress, write_result
from tfdistribute.launch.task_view import TaskView
from tfdistribute.task_events import RESULTS

# How long the chief may take to save a checkpoint.
SAVE_S = 4.0


class Allocation:
    """This machine, as long as the user wants. Schedulers of other machines end a supervisor and start it again."""

    starts_before = 0
    signals: tuple[str, ...] = SIGNALS

    def resume(self, state: JobState, progress: Progress) -> None:
        """Take over what the supervisor had at its last end."""

    def keep(self, progress: Progress, at_once: bool = False) -> None:
        """Keep what a later start needs; ``at_once`` even if that was done a moment ago."""

    def save_s(self, stops: StopRequests) -> float:
        return SAVE_S

    def reason_to_restart(self, stops: StopRequests) -> str | None:
        """Say why the supervisor will be started again after a signal; None if it will not."""
        return None

    def why_stopped(self, stops: StopRequests) -> str:
        return "The job was stopped."

    def reason_to_move(self, lost: TaskView, progress: Progress) -> str | None:
        """Say why the job continues elsewhere after the loss of a task; None if it does not."""
        return None


@dataclass
class JobSetup:
    """The resources of a running job; no lock if model_dir is remote or unknown, or only read."""

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
    def _is_abandoned(self) -> bool:
        # The session has ended and removed its temporary files, ``model_dir`` among them.
        pid, model_dir = self.job.parent_pid, self.job.local_model_dir
        is_gone = model_dir is not None and not os.path.isdir(os.path.dirname(model_dir))
        return is_gone and pid is not None and processes.start_time(pid) is None

    def keep(self, values: dict[str, Any], stops: StopRequests) -> dict[str, Any]:
        """Write the last state where it stays, with the logs for remote storage, and return it."""
        if values["ended"] is None or self._is_abandoned:
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


def set_up(job: Job) -> JobSetup:
    """Check the private directory, lock model_dir, and make the log directory and the network."""
    private_directory.check_private(job.directory)
    model_dir = job.local_model_dir
    # A job that only reads checkpoints may run beside a training.
    lock = None if model_dir is None or not job.trains else ModelDirectoryLock(model_dir)
    try:
        candidates = job.log_directories
        # As a last resort logs go into the private directory, and are removed with it.
        logs = next(filter(is_usable, candidates), None) or job.directory
        place, notes = _enter_network(job)
        if place.is_private:
            _check_services(job)
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


def _check_services(job: Job) -> None:
    if job.services:
        raise ClusterError(
            f'The training names "{job.services[0]}", where a program of this machine listens. The tasks do not reach '
            "it, because they have a network of their own.",
            'Use `network = "open"` in local_cluster(), or read what the program provides before the training.',
            argument="network",
            value=job.cluster.supervision.network,
        )


def _enter_network(job: Job) -> tuple[LocalPlace, list[str]]:
    """Enter a private network if wanted and possible; return this machine with it, and notes for the user."""
    is_open = LocalPlace(job.directory, is_private=False)
    if isinstance(job.cluster, HostsCluster):
        own = isinstance(job.cluster, SshCluster)
        return is_open, [network.HOSTS_RISK if own else network.NODES_RISK]
    wanted = job.cluster.supervision.network
    if wanted == "open":
        return is_open, [network.OPEN_RISK]
    reason = _why_open(job) or network.why_not_private()
    if reason is None:
        network.enter_private()
        return LocalPlace(job.directory, is_private=True), []
    if wanted == "private":
        raise ClusterError(
            f'`network` is "private", but this job cannot have a network of its own: {reason}.',
            'Use `network = "open"` on a machine behind a firewall, or ask for user namespaces.',
            value="private",
        )
    return is_open, [f"{network.OPEN_RISK} Why not private: {reason}."]


def _why_open(job: Job) -> str | None:
    """Say why the tasks cannot have a network of their own, whatever the kernel allows; None if they can."""
    if job.model_dir is not None and job.local_model_dir is None:
        return f'`model_dir` "{job.model_dir}" is reached through the network'
    if job.tracks:
        return "`track` logs through the network"
    if not job.is_on_loopback:
        return "the cluster's addresses are not loopback addresses"
    return None
