"""Contract of the managed platforms, which start, restart and end the containers of a job themselves."""

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
from tfdistribute.launch.platforms.archive import FILE, digest_of

C = TypeVar("C", bound=ManagedCluster)

ENDED = ("done", "failed", "stopped")


@dataclass(frozen=True)
class TaskState:
    task: str
    host: str
    state: str  # "starting", "running", "done" or "failed".
    activity: str  # The state in the platform's words.


@dataclass(frozen=True)
class PlatformState:
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
    def __init__(self, cluster: C) -> None:
        self.cluster = cluster

    @abstractmethod
    def describe(self, job: Job, archive: bytes) -> dict[str, Any]:
        """Return the object for the platform as JSON values, without contacting it."""

    @abstractmethod
    def submit(self, job: Job, archive: bytes) -> str:
        """Send a job, and return its name there.

        Raises BackendError without the platform's client, and ClusterError if the platform rejects the job.
        """

    @abstractmethod
    def state(self, name: str) -> PlatformState:
        """Read the state of a job. One that is not there any more counts as stopped."""

    @abstractmethod
    def logs(self, name: str) -> dict[str, list[str]]:
        """Read the lines that the tasks have written, by task."""

    @abstractmethod
    def cancel(self, name: str) -> None:
        """End a job and remove what belongs to it. One that is not there any more is no error."""


def staged_path(cluster: ManagedCluster, job: Job) -> str | None:
    """Return where the archive of a job is put; None if it is sent with the job."""
    return None if cluster.staging is None else f"{cluster.staging.rstrip('/')}/{job.id}/{FILE}"


def stage(cluster: ManagedCluster, job: Job, archive: bytes) -> None:
    """Write the archive of a job into the staging directory, if there is one; ClusterError if that fails."""
    path = staged_path(cluster, job)
    if path is None:
        return
    try:
        storage.of(path).make_directory(path.rpartition("/")[0])
        storage.of(path).write(path, archive)
    except OSError as error:
        raise ClusterError(
            f'`staging` "{cluster.staging}" cannot be written: {error.strerror or error}.',
            "Give a directory in a bucket in which you may create objects.",
            value=cluster.staging,
        ) from error


def task_environment(
    cluster: ManagedCluster, job: Job, archive: bytes, directory: str = ""
) -> dict[str, str]:
    """Return the variables of every task; ``directory`` has the archive if it is sent with the job."""
    own: Mapping[str, str] = {
        entrypoint.ARCHIVE: staged_path(cluster, job) or f"{directory}/{FILE}",
        entrypoint.ARCHIVE_DIGEST: digest_of(archive),
        entrypoint.NAME: job.id,
        entrypoint.TASKS: str(len(job.tasks)),
    }
    return {**cluster.environment, **own}


def task_command(job: Job) -> list[str]:
    check_text("command", job.command)
    return ["python", "-m", "tfdistribute", "run-task", "--", *job.command]


def without_empty(**parts: Any) -> dict[str, Any]:
    """Return the parts of an object that are given; a platform rejects some that are empty."""
    return {name: part for name, part in parts.items() if part not in (None, {}, [])}
