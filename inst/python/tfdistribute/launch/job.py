"""Specification of a job."""

import dataclasses
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

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
from tfdistribute.descriptions import Description, check_choice, check_directory, check_text, read
from tfdistribute.errors import ArgumentError, ClusterError
from tfdistribute.files import is_remote, read_json
from tfdistribute.launch.host import logs
from tfdistribute.task_events import JOB

FILE = "job.json"
VERBS = ("train", "train_and_evaluate", "evaluate", "predict", "script")
# Verbs that only read checkpoints, and the activity of their tasks.
READING = {"evaluate": "evaluating", "predict": "predicting"}

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True)
class Job(Description):
    """The specification that the supervisor reads.

    Args:
        id: Unique among the jobs of this user.
        verb: One of ``VERBS``; "script" for any script.
        model_dir: An absolute path or an address with a scheme, or None if it is not known.
        digest: SHA-256 of the description that the tasks read; None for scripts.
        input_files: Files that the tasks read, absolute.
        parent_pid: Process with which the job ends; None for none.
        services: Addresses in the tasks' input at which other programs of this machine listen.
        tracks: Whether the chief logs to a tracker, which may be anywhere.

    Raises ArgumentError for an unknown verb, an empty command, or an id that cannot be part of a path.
    """

    id: str
    cluster: Cluster
    verb: str
    command: tuple[str, ...]
    directory: str
    working_directory: str
    model_dir: str | None = None
    environment: dict[str, str] = field(default_factory=dict[str, str])
    digest: str | None = None
    input_files: tuple[str, ...] = ()
    tensorflow: str | None = None
    max_steps: int | None = None
    parent_pid: int | None = None
    services: tuple[str, ...] = ()
    tracks: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not _ID.fullmatch(self.id):
            raise ArgumentError(
                f"`id` is {self.id!r}, which is not the id of a job.",
                "Use letters, digits, hyphens and underscores.",
                value=self.id,
            )
        check_choice("verb", self.verb, VERBS)
        if not self.command:
            raise ArgumentError(
                "`command` is empty.",
            )
        if self.model_dir is not None:
            check_directory("model_dir", self.model_dir)
        check_text("working_directory", self.working_directory, "Start the job in another one.")
        if not self.trains and isinstance(self.cluster, LocalCluster):
            workers = dataclasses.replace(self.cluster, ps=0, evaluator=False)
            object.__setattr__(self, "cluster", workers)

    @property
    def tasks(self) -> tuple[Task, ...]:
        """Tasks to start; no evaluator for "train"."""
        return tuple(
            task for task in self.cluster.tasks if task.type != EVALUATOR or self.verb != "train"
        )

    @property
    def trains(self) -> bool:
        """Whether the tasks may write checkpoints to model_dir."""
        return self.verb not in READING

    @property
    def activity(self) -> str:
        """State of the job after its start: "training", "evaluating" or "predicting"."""
        return READING.get(self.verb, "training")

    @property
    def chief(self) -> Task:
        chief = chief_of(self.tasks)
        assert chief is not None
        return chief

    @property
    def is_script(self) -> bool:
        """Whether only the exit code of a process shows that its work is done."""
        return self.verb == "script"

    @property
    def local_model_dir(self) -> str | None:
        return None if self.model_dir is None or is_remote(self.model_dir) else self.model_dir

    @property
    def log_directories(self) -> list[str]:
        """Directories for the logs, the preferred one first; not in model_dir if the job only reads there."""
        if not self.trains:
            return [logs.fallback_directory(self.id)]
        return logs.log_directories(self.id, self.local_model_dir, self.working_directory)

    @property
    def is_on_loopback(self) -> bool:
        """Whether all addresses also exist in a private network."""
        return not isinstance(self.cluster, ClusterSpec) or all(
            (address := parse_address(text)) is not None and address.is_loopback
            for _, text in self.cluster.tasks_at_addresses()
        )


def read_job(path: str) -> Job:
    try:
        content = read_json(path)
        if not isinstance(content, dict):
            raise ValueError("it does not hold an object")
    except (OSError, ValueError) as error:
        raise ArgumentError(
            f'`path` "{path}" is not a job: {error}.',
            "Give the job.json in a job's private directory.",
            value=path,
        ) from error
    return read(Job, cast("dict[str, Any]", content))


def job_values(job: Job) -> dict[str, Any]:
    cluster = {"kind": job.cluster.kind, **dataclasses.asdict(job.cluster)}
    return {**dataclasses.asdict(job), "cluster": cluster}


def write_job(job: Job) -> str:
    path = os.path.join(job.directory, FILE)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(descriptor, "w", encoding="utf-8") as file:
        json.dump(job_values(job), file)
    return path


def must_launch(cluster: Cluster, environment: Mapping[str, str]) -> bool:
    """Return whether a training with a cluster needs a job, because this process is not one of its tasks.

    Raises ClusterError if the cluster has tasks elsewhere and none is this process, or TF_CONFIG cannot be read.
    """
    if environment.get(JOB):
        # Checked first, because the TF_CONFIG of a cluster of one task looks like no cluster.
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
            value=elsewhere,
        )
    return True


def _elsewhere(cluster: ClusterSpec) -> str | None:
    addresses: list[Address] = []
    for _, text in cluster.tasks_at_addresses():
        address = parse_address(text)
        assert address is not None
        addresses.append(address)
    ip_addresses = resolve_hosts(addresses)
    away = (each.host for each in addresses if not is_this_machine(ip_addresses.get(each.host, ())))
    return next(away, None)
