"""A job: what is to be done, by which tasks, under whose watch. Plain Python."""

from __future__ import annotations

import dataclasses
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tfdistribute.cluster.addresses import (
    Address,
    is_this_machine,
    parse_address,
    resolve_hosts,
)
from tfdistribute.cluster.spec import (
    EVALUATOR,
    Cluster,
    ClusterSpec,
    LocalCluster,
    Task,
    chief_of,
)
from tfdistribute.cluster.tf_config import read_tf_config
from tfdistribute.descriptions import Description, read
from tfdistribute.errors import ArgumentError, ClusterError
from tfdistribute.task_events import JOB

FILE = "job.json"
VERBS = ("train", "train_and_evaluate", "script")

# It stands in paths.
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_REMOTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


@dataclass(frozen=True)
class Job(Description):
    """What the supervisor reads.

    Args:
        id: Its name among all jobs of this user.
        cluster: Who takes part; on this machine.
        verb: "train", "train_and_evaluate", or "script" for whatever a script does.
        command: What starts a task, as an argument list.
        directory: The job's private directory.
        working_directory: Where the tasks run.
        strategy: Kind of the strategy, such as "multi_worker"; None where a script will say.
        model_dir: Directory of the checkpoints, absolute or with a scheme; None where it is not known.
        environment: Variables that every task gets besides those that the supervisor has.
        digest: SHA-256 of the description that the tasks read; None for scripts.
        max_steps: Step at which the training ends; None where it is not known.
        parent_pid: The process with which the job ends; None for none.

    Raises:
        ArgumentError: an unknown verb, no command, or a name that paths do not take.
    """

    id: str
    cluster: Cluster
    verb: str
    command: tuple[str, ...]
    directory: str
    working_directory: str
    strategy: str | None = None
    model_dir: str | None = None
    environment: dict[str, str] = field(default_factory=dict[str, str])
    digest: str | None = None
    max_steps: int | None = None
    parent_pid: int | None = None

    def __post_init__(self) -> None:
        """Check the verb, the command and the name."""
        if not _NAME.fullmatch(self.id):
            raise ArgumentError(
                f"`id` is {self.id!r}, which is no name of a job.",
                "Use letters, digits, hyphens and underscores.",
                argument="id",
                value=self.id,
            )
        if self.verb not in VERBS:
            raise ArgumentError(
                f"`verb` is {self.verb!r}, which no job performs.",
                f"Use one of {', '.join(VERBS)}.",
                argument="verb",
                value=self.verb,
            )
        if not self.command:
            raise ArgumentError(
                "`command` is empty.", "Give what starts a task.", argument="command"
            )

    @property
    def tasks(self) -> tuple[Task, ...]:
        """The tasks that are started: training alone needs no evaluator."""
        return tuple(
            task for task in self.cluster.tasks if task.type != EVALUATOR or self.verb != "train"
        )

    @property
    def chief(self) -> Task:
        """The task that writes checkpoints."""
        chief = chief_of(self.tasks)
        assert chief is not None
        return chief

    @property
    def is_script(self) -> bool:
        """Whether only the end of a process says that its work is done."""
        return self.verb == "script"

    @property
    def local_model_dir(self) -> str | None:
        """The model's directory where it is one of this machine."""
        return None if self.model_dir is None or is_remote(self.model_dir) else self.model_dir

    @property
    def supervision(self) -> LocalCluster:
        """Deadlines, restarts and network; for a cluster of given addresses the defaults."""
        return self.cluster if isinstance(self.cluster, LocalCluster) else LocalCluster(workers=1)

    @property
    def is_on_loopback(self) -> bool:
        """Whether every task is reached under an address that a private network has too."""
        return not isinstance(self.cluster, ClusterSpec) or all(
            (address := parse_address(text)) is not None and address.is_loopback
            for _, text in self.cluster.placed()
        )

    def addressed(self, ports: tuple[int, ...]) -> ClusterSpec:
        """Give the cluster its ports; one of given addresses keeps them."""
        if isinstance(self.cluster, LocalCluster):
            return self.cluster.with_ports(ports)
        assert isinstance(self.cluster, ClusterSpec)
        return self.cluster


def is_remote(path: str) -> bool:
    """Say whether a path is of another machine's storage, such as "gs://bucket/model"."""
    return _REMOTE.match(path) is not None


def read_job(path: str) -> Job:
    """Read a job from its file.

    Args:
        path: JSON.

    Returns:
        The job.

    Raises:
        ArgumentError: the file cannot be read, or is no job.
    """
    try:
        with open(path, encoding="utf-8") as file:
            content: Any = json.load(file)
    except (OSError, ValueError) as error:
        raise ArgumentError(
            f'`path` "{path}" holds no job: {error}.',
            "Give the job.json of a job's private directory.",
            argument="path",
            value=path,
        ) from error
    return read(Job, content)


def described_job(fields: Mapping[str, Any]) -> Job:
    """Make a job from plain values, such as R gives them.

    Args:
        fields: The fields of a job.

    Returns:
        The job.

    Raises:
        ArgumentError: a field is missing or does not fit.
    """
    return read(Job, fields)


def write_job(job: Job) -> str:
    """Write a job into its private directory.

    Returns:
        The file's path.
    """
    cluster = {"kind": job.cluster.kind, **dataclasses.asdict(job.cluster)}
    path = os.path.join(job.directory, FILE)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(descriptor, "w", encoding="utf-8") as file:
        json.dump({**dataclasses.asdict(job), "cluster": cluster}, file)
    return path


def must_launch(cluster: Cluster, environment: Mapping[str, str]) -> bool:
    """Say who performs a training with a cluster.

    Args:
        cluster: The cluster of the run configuration.
        environment: Variables by name, such as ``os.environ``.

    Returns:
        True where a job is to be started on this machine. False where this process is a task: because a job has
        started it, because TF_CONFIG says so, whatever the run configuration has, or because the cluster names it.

    Raises:
        ClusterError: the cluster has tasks on other machines, and this process is none of its tasks; or TF_CONFIG
            cannot be read.
    """
    if environment.get(JOB):
        # Also the only task of a cluster of one.
        return False
    config = read_tf_config(environment)
    if config is not None and config.task_type is not None and config.tasks > 1:
        return False
    if not isinstance(cluster, ClusterSpec):
        return True
    if cluster.task is not None:
        return False
    elsewhere = _elsewhere(cluster)
    if elsewhere is not None:
        raise ClusterError(
            f"`cluster` has tasks on {elsewhere}, where this session cannot start processes, and does not say which "
            "task this process is.",
            "Start this script on each host, with the TF_CONFIG that as_tf_config(cluster, task) writes for the task.",
            argument="cluster",
            value=elsewhere,
        )
    return True


def _elsewhere(cluster: ClusterSpec) -> str | None:
    addresses: list[Address] = []
    for _, text in cluster.placed():
        address = parse_address(text)
        assert address is not None
        addresses.append(address)
    found = resolve_hosts(addresses)
    away = (each.host for each in addresses if not is_this_machine(found.get(each.host, ())))
    return next(away, None)
