"""Clusters of containers that a managed platform starts, restarts and ends."""

import typing
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

from tfdistribute.cluster.hosts import Variables
from tfdistribute.cluster.spec import (
    EVALUATOR,
    STALL_TIMEOUT_S,
    Restarts,
    StartedCluster,
    Supervision,
    Timeout,
    Workers,
)
from tfdistribute.descriptions.constraints import (
    Count,
    Ge,
    Len,
    Line,
    Pattern,
    Text,
)
from tfdistribute.files import is_remote

# The first one is part of every Kubernetes; the others need an operator of Kubeflow.
JobKind = Literal["Job", "TrainJob", "TFJob"]
JOB_KINDS: tuple[str, ...] = typing.get_args(JobKind)


def _name(pattern: str, example: str, platform: str) -> Pattern:
    return Pattern(
        pattern,
        f"`{{argument}}` holds {{value}}, which {platform} does not accept.",
        f'Write it as in "{example}".',
        "cluster",
    )


def _kubernetes(pattern: str, example: str) -> Pattern:
    return _name(pattern, example, "Kubernetes")


def _vertex(pattern: str, example: str) -> Pattern:
    return _name(pattern, example, "Vertex AI")


# Names in Kubernetes: https://kubernetes.io/docs/concepts/overview/working-with-objects/names/. Names of tasks
# contain the job's name, and have at most 63 characters.
_NAMESPACE = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
_OBJECT = r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?"
_REMOTE = Pattern(
    "[A-Za-z][A-Za-z0-9+.-]*://[^\x01-\x1f\x7f-\x9f\u2028\u2029]*",
    '`{argument}` must be a directory on remote storage, such as "gs://bucket/jobs", not {value}.',
)


@dataclass(frozen=True, kw_only=True)
class ManagedCluster(StartedCluster):
    """Fields that several kinds share.

    Args:
        image: A string that names the image.
        workers: Containers that train, including the chief, a count of at most 1000.
        name: Beginning of the job's name, a string of at most 40 lower-case letters, digits and hyphens.
        environment: Environment variables of all containers, strings with names. Everyone who may look at the job can
            read them.
        staging: Directory on remote storage for the job's files, a string. NULL uses a Kubernetes secret.
        time_limit_s: Seconds after which Kubernetes ends the job, a number. NULL for no limit.
        start_timeout_s: Seconds that a container waits for the others, a number.
        stall_timeout_s: Seconds without a step of any process after which the job counts as stalled, a number.
    """

    platform: ClassVar[str] = ""

    workers: Workers
    image: Annotated[
        Text,
        _name("[A-Za-z0-9][A-Za-z0-9._/:@-]{0,511}", "registry.example.org/cars:1", "a registry"),
    ]
    name: Annotated[Text, _name("[a-z]([a-z0-9-]{0,38}[a-z0-9])?", "cars", "the platform")] = (
        "tfdistribute"
    )
    # Everybody who may look at the job can read it.
    environment: Variables = field(default_factory=dict[str, str])
    # Remote directory for what the tasks read of the job; None to send it with the job.
    staging: Annotated[Text, _REMOTE] | None = None
    service_account: Line | None = None
    time_limit_s: Timeout | None = None
    start_timeout_s: Timeout = 600.0  # For the other tasks, whose containers may start much later.
    stall_timeout_s: Timeout = STALL_TIMEOUT_S

    @property
    def supervision(self) -> Supervision:
        return Supervision(self.start_timeout_s, self.stall_timeout_s, 0, "open")

    @property
    def place(self) -> str:
        return self.platform

    @property
    def how_to_keep(self) -> str:
        return 'Give remote storage, such as "gs://bucket/model".'

    def counts(self, evaluates: bool) -> dict[str, int]:
        counts = {role: len(each) for role, each in self.addresses.items()}
        return {role: count for role, count in counts.items() if evaluates or role != EVALUATOR}

    def keeps(self, path: str) -> bool:
        """Return whether what tasks write to a directory outlives their containers."""
        return is_remote(path)


@dataclass(frozen=True, kw_only=True)
class KubernetesCluster(ManagedCluster, kind="kubernetes"):
    """Describe containers on Kubernetes.

    Args:
        job_kind: `"Job"` (default) for Kubernetes alone, `"TrainJob"` for Kubeflow's Trainer, or `"TFJob"` for its
            training operator.
        namespace: Where the job is created, a string.
        queue: Local queue of Kueue in which the job waits for free nodes, a string; NULL for none.
        gpus: GPUs of each container that trains or evaluates, a count from 0. Parameter servers have them, too, except
            those in a `"TFJob"`.
        cpus: Cores that each container requests, a number. NULL for no request.
        memory: Memory that each container may use, a string such as `"16Gi"`. NULL for no limit.
        volumes: Names of persistent volume claims, strings with the paths at which the containers see them as names.
        secrets: Names of Kubernetes secrets whose keys become environment variables, strings.
        service_account: Service account of the containers, a string. NULL uses the namespace's default.
        restarts: Maximum number of restarts of containers, a count. A `"TFJob"` has no limit.
        kubectl: Strings that name the kubectl program and, optionally, arguments for it, such as `c("kubectl",
            "--context", "training")`.
    """

    platform: ClassVar[str] = "Kubernetes"

    job_kind: JobKind = "Job"
    namespace: Annotated[Text, _kubernetes(_NAMESPACE, "default")] = "default"
    # A local queue of Kueue.
    queue: Annotated[Text, _kubernetes(_NAMESPACE, "team-queue")] | None = None
    gpus: Annotated[int, Ge(0)] = 0
    cpus: Annotated[float, Ge(0.001)] | None = None
    memory: Annotated[Text, _kubernetes("[0-9]+([.][0-9]+)?([KMGTPE]i?|k|m)?", "16Gi")] | None = (
        None
    )
    # Claims of persistent volumes by the path at which the tasks see them.
    volumes: dict[
        Annotated[str, _kubernetes("(/[A-Za-z0-9._-]+)+", "/models")],
        Annotated[Text, _kubernetes(_OBJECT, "models-claim")],
    ] = field(default_factory=dict[str, str])
    # Their keys become environment variables of the tasks.
    secrets: tuple[Annotated[Text, _kubernetes(_OBJECT, "storage-key")], ...] = ()
    service_account: Annotated[Text, _kubernetes(_OBJECT, "trainer")] | None = None
    restarts: Restarts = 3
    kubectl: Annotated[tuple[Line, ...], Len(1)] = ("kubectl",)

    @property
    def devices_per_worker(self) -> int:
        return max(self.gpus, 1)

    @property
    def place(self) -> str:
        return f"pods in namespace {self.namespace}"

    def keeps(self, path: str) -> bool:
        inside = (path == mount or path.startswith(f"{mount}/") for mount in self.volumes)
        return super().keeps(path) or any(inside)

    @property
    def how_to_keep(self) -> str:
        below = (
            f'a directory below "{next(iter(self.volumes))}"' if self.volumes else "add `volumes`"
        )
        return f'Give remote storage, such as "gs://bucket/model", or {below}.'


@dataclass(frozen=True, kw_only=True)
class VertexCluster(ManagedCluster, kind="vertex"):
    """Describe containers on Vertex AI.

    Args:
        time_limit_s: Seconds after which Vertex AI ends the job, a number. NULL for its limit of seven days.
        project: A string that names the Google Cloud project.
        location: Region, a string such as `"europe-west4"`.
        staging: Directory in Cloud Storage for the files of the job, a string such as `"gs://bucket/jobs"`.
        machine_type: A string that names the machine type of each container.
        accelerator: Vertex AI's name of an accelerator, a string such as `"NVIDIA_TESLA_T4"`. NULL for none.
        accelerators: Accelerators of each container that trains or evaluates, a count.
        service_account: Service account of the containers, a string. NULL for Vertex AI's own.
        network: Full name of a network with which the job is peered, a string. NULL for none.
        restarts: Whether the job is restarted when a container was, TRUE or FALSE.
    """

    platform: ClassVar[str] = "Vertex AI"

    project: Annotated[Text, _vertex("[a-z0-9][a-z0-9:.-]{0,61}[a-z0-9]", "my-project")]
    location: Annotated[Text, _vertex("[a-z]+(-[a-z]+)*[0-9]+", "europe-west4")]
    staging: Annotated[Text, _vertex("gs://[a-z0-9][!-~]*", "gs://bucket/jobs")] = field()
    machine_type: Annotated[Text, _vertex("[a-z][a-z0-9-]{0,61}[a-z0-9]", "n1-standard-8")] = (
        "n1-standard-8"
    )
    accelerator: Annotated[Text, _vertex("[A-Z][A-Z0-9_]{0,61}", "NVIDIA_TESLA_T4")] | None = None
    accelerators: Count = 1
    service_account: (
        Annotated[
            Text,
            _vertex(
                "[A-Za-z0-9][A-Za-z0-9._@-]{0,251}", "trainer@my-project.iam.gserviceaccount.com"
            ),
        ]
        | None
    ) = None
    # Full name of a network with which the job is peered.
    network: (
        Annotated[
            Text,
            _vertex("projects/[0-9]+/global/networks/[a-z0-9-]+", "projects/1/global/networks/a"),
        ]
        | None
    ) = None
    restarts: bool = True  # Of the whole job, when a replica was restarted.

    @property
    def devices_per_worker(self) -> int:
        return 1 if self.accelerator is None else self.accelerators

    @property
    def place(self) -> str:
        return f"Vertex AI in {self.location}"

    def keeps(self, path: str) -> bool:
        return super().keeps(path) or path.startswith("/gcs/")

    @property
    def how_to_keep(self) -> str:
        return 'Give a directory in Cloud Storage, such as "gs://bucket/model".'
