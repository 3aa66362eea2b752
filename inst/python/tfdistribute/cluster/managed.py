"""Clusters of containers that a managed platform starts, restarts and ends."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar

from tfdistribute.cluster.spec import (
    EVALUATOR,
    STALL_TIMEOUT_S,
    StartedCluster,
    Supervision,
)
from tfdistribute.descriptions import check_choice, check_text
from tfdistribute.errors import ArgumentError, ClusterError
from tfdistribute.files import is_remote

# Names in Kubernetes: https://kubernetes.io/docs/concepts/overview/working-with-objects/names/. Names of tasks
# contain the job's name, and have at most 63 characters.
_NAMESPACE = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
_OBJECT = r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?"
_ACCOUNT = r"[A-Za-z0-9][A-Za-z0-9._@-]{0,251}"

# The first one is part of every Kubernetes; the others need an operator of Kubeflow.
JOB_KINDS = ("Job", "TrainJob", "TFJob")


@dataclass(frozen=True, kw_only=True)
class ManagedCluster(StartedCluster):
    platform: ClassVar[str] = ""
    # What text can be, and an example, by field.
    patterns: ClassVar[dict[str, tuple[str, str]]] = {
        "image": (r"[A-Za-z0-9][A-Za-z0-9._/:@-]{0,511}", "registry.example.org/cars:1"),
        "name": (r"[a-z]([a-z0-9-]{0,38}[a-z0-9])?", "cars"),
        "environment": (r"[A-Za-z_][A-Za-z0-9_]*", "OMP_NUM_THREADS"),
    }

    image: str
    name: str = "tfdistribute"
    # Everybody who may look at the job can read it.
    environment: dict[str, str] = field(default_factory=dict[str, str])
    # Remote directory for what the tasks read of the job; None to send it with the job.
    staging: str | None = None
    service_account: str | None = None
    time_limit_s: float | None = None
    start_timeout_s: float = 600.0  # For the other tasks, whose containers may start much later.
    stall_timeout_s: float = STALL_TIMEOUT_S

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, (pattern, example) in self.patterns.items():
            for text in _texts(getattr(self, name)):
                if re.fullmatch(pattern, text) is None:
                    raise ClusterError(
                        f"`{name}` holds {text!r}, which {self.platform} does not accept.",
                        f'Write it as in "{example}".',
                        argument=name,
                        value=text,
                    )
        for name in ("environment", "staging", "service_account"):
            check_text(name, getattr(self, name))
        if self.staging is not None and not is_remote(self.staging):
            raise ArgumentError(
                f'`staging` must be remote storage, such as "gs://bucket/jobs", not "{self.staging}".',
                argument="staging",
                value=self.staging,
            )

    @property
    def supervision(self) -> Supervision:
        return Supervision(self.start_timeout_s, self.stall_timeout_s, 0, "open")

    @property
    def place(self) -> str:
        return self.platform

    @property
    def keeping(self) -> str:
        return 'Give remote storage, such as "gs://bucket/model".'

    def counts(self, evaluates: bool) -> dict[str, int]:
        counts = {role: len(each) for role, each in self.addresses.items()}
        return {role: count for role, count in counts.items() if evaluates or role != EVALUATOR}

    def keeps(self, path: str) -> bool:
        """Return whether what tasks write to a directory outlives their containers."""
        return is_remote(path)


@dataclass(frozen=True, kw_only=True)
class KubernetesCluster(ManagedCluster, kind="kubernetes"):
    platform: ClassVar[str] = "Kubernetes"
    patterns: ClassVar[dict[str, tuple[str, str]]] = {
        **ManagedCluster.patterns,
        "namespace": (_NAMESPACE, "default"),
        "queue": (_NAMESPACE, "team-queue"),
        "memory": (r"[0-9]+(\.[0-9]+)?([KMGTPE]i?|k|m)?", "16Gi"),
        "secrets": (_OBJECT, "storage-key"),
        "service_account": (_OBJECT, "trainer"),
    }

    job_kind: str = JOB_KINDS[0]
    namespace: str = "default"
    queue: str | None = None  # A local queue of Kueue.
    gpus: int = 0
    cpus: float | None = None
    memory: str | None = None
    # Claims of persistent volumes by the path at which the tasks see them.
    volumes: dict[str, str] = field(default_factory=dict[str, str])
    secrets: tuple[str, ...] = ()  # Their keys become environment variables of the tasks.
    restarts: int = 3
    kubectl: tuple[str, ...] = ("kubectl",)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_text("kubectl", self.kubectl)
        check_choice("job_kind", self.job_kind, JOB_KINDS)
        for path, claim in self.volumes.items():
            if (
                re.fullmatch(r"(/[A-Za-z0-9._-]+)+", path) is None
                or re.fullmatch(_OBJECT, claim) is None
            ):
                raise ClusterError(
                    f"`volumes` holds {claim!r} for {path!r}, which Kubernetes does not accept.",
                    'Give names of claims with paths as their names: c("/models" = "models-claim").',
                    argument="volumes",
                    value=claim,
                )

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
    def keeping(self) -> str:
        below = (
            f'a directory below "{next(iter(self.volumes))}"' if self.volumes else "add `volumes`"
        )
        return f'Give remote storage, such as "gs://bucket/model", or {below}.'


@dataclass(frozen=True, kw_only=True)
class VertexCluster(ManagedCluster, kind="vertex"):
    platform: ClassVar[str] = "Vertex AI"
    patterns: ClassVar[dict[str, tuple[str, str]]] = {
        **ManagedCluster.patterns,
        "project": (r"[a-z0-9][a-z0-9:.-]{0,61}[a-z0-9]", "my-project"),
        "location": (r"[a-z]+(-[a-z]+)*[0-9]+", "europe-west4"),
        "machine_type": (r"[a-z][a-z0-9-]{0,61}[a-z0-9]", "n1-standard-8"),
        "accelerator": (r"[A-Z][A-Z0-9_]{0,61}", "NVIDIA_TESLA_T4"),
        "service_account": (_ACCOUNT, "trainer@my-project.iam.gserviceaccount.com"),
        "network": (r"projects/[0-9]+/global/networks/[a-z0-9-]+", "projects/1/global/networks/a"),
        "staging": (r"gs://[a-z0-9][^\s]*", "gs://bucket/jobs"),
    }

    project: str
    location: str
    machine_type: str = "n1-standard-8"
    accelerator: str | None = None
    accelerators: int = 1
    network: str | None = None  # Full name of a network with which the job is peered.
    restarts: bool = True  # Of the whole job, when a replica was restarted.

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.staging is None:
            raise ArgumentError("Vertex AI needs `staging`, a gs:// directory.", argument="staging")

    @property
    def devices_per_worker(self) -> int:
        return 1 if self.accelerator is None else self.accelerators

    @property
    def place(self) -> str:
        return f"Vertex AI in {self.location}"

    def keeps(self, path: str) -> bool:
        return super().keeps(path) or path.startswith("/gcs/")

    @property
    def keeping(self) -> str:
        return 'Give a directory in Cloud Storage, such as "gs://bucket/model".'


def _texts(value: object) -> Iterable[str]:
    if value is None:
        return ()
    return (value,) if isinstance(value, str) else (str(each) for each in value)  # type: ignore[union-attr]
