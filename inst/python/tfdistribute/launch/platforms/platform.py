"""Contract of the managed platforms, which start, restart and end the containers of a job themselves."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from tfdistribute import storage
from tfdistribute.cluster.managed import ManagedCluster
from tfdistribute.descriptions import check_text
from tfdistribute.errors import ClusterError
from tfdistribute.launch.job import Job
from tfdistribute.launch.platforms import entrypoint
from tfdistribute.launch.platforms.archive import FILE, Archive

C = TypeVar("C", bound=ManagedCluster)

# States of a job in which nothing more happens.
ENDED = ("done", "failed", "stopped")


@dataclass(frozen=True)
class TaskState:
    """What a platform knows of a task."""

    task: str
    host: str
    state: str  # "starting", "running", "done" or "failed".
    activity: str  # The state in the platform's words.


@dataclass(frozen=True)
class PlatformState:
    """What a platform knows of a job."""

    state: str  # "starting", "running", "restarting", "done", "failed" or "stopped".
    message: str
    tasks: list[TaskState] = field(default_factory=list[TaskState])
    # See ``errors.as_values``, with "task", "host" and "exit".
    failure: dict[str, Any] | None = None
    restarts: int = 0
    started: float | None = None  # Epoch seconds; None if the platform does not say.
    ended: float | None = None
    notes: list[str] = field(default_factory=list[str])


class Platform(ABC, Generic[C]):
    """A managed platform."""

    def __init__(self, cluster: C) -> None:
        self.cluster = cluster

    @abstractmethod
    def describe(self, job: Job, archive: Archive) -> dict[str, Any]:
        """Return what the platform would be sent, for JSON, which its command line reads. Contacts nothing."""

    @abstractmethod
    def submit(self, job: Job, archive: Archive) -> str:
        """Send a job to the platform; return the name that it has there.

        Raises:
            BackendError: the platform's client is missing.
            ClusterError: the platform refuses the job.
        """

    @abstractmethod
    def state(self, name: str) -> PlatformState:
        """Ask for the state of a job. One that is not there any more counts as stopped."""

    @abstractmethod
    def logs(self, name: str) -> dict[str, list[str]]:
        """Read the lines that the tasks have written, by task."""

    @abstractmethod
    def cancel(self, name: str) -> None:
        """End a job and remove what belongs to it. One that is not there any more is no error."""


def staged_path(cluster: ManagedCluster, job: Job) -> str | None:
    """Return where the archive of a job is put; None if it is sent with the job."""
    return None if cluster.staging is None else f"{cluster.staging.rstrip('/')}/{job.id}/{FILE}"


def stage(cluster: ManagedCluster, job: Job, archive: Archive) -> None:
    """Write the archive of a job into the staging directory, if there is one; ClusterError if it is refused."""
    path = staged_path(cluster, job)
    if path is None:
        return
    try:
        storage.of(path).make_directory(path.rpartition("/")[0])
        storage.of(path).write(path, archive.content)
    except OSError as error:
        raise ClusterError(
            f'`staging` "{cluster.staging}" cannot be written: {error.strerror or error}.',
            "Give a directory in a bucket in which you may create objects.",
            argument="staging",
            value=cluster.staging,
        ) from error


def task_environment(
    cluster: ManagedCluster, job: Job, archive: Archive, directory: str = ""
) -> dict[str, str]:
    """Return the environment variables of every task; ``directory`` has the archive if it is sent with the job."""
    own: Mapping[str, str] = {
        entrypoint.ARCHIVE: staged_path(cluster, job) or f"{directory}/{FILE}",
        entrypoint.ARCHIVE_DIGEST: archive.digest,
        entrypoint.NAME: job.id,
        entrypoint.TASKS: str(len(job.tasks)),
    }
    return {**cluster.environment, **own}


def task_command(job: Job) -> list[str]:
    check_text("command", job.command)
    return ["python", "-m", "tfdistribute", "run-task", "--", *job.command]
