"""Jobs for managed platforms, which read a small task file."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from tfdistribute.cluster.managed import KubernetesCluster, ManagedCluster, VertexCluster
from tfdistribute.launch.job import Job
from tfdistribute.launch.platforms import managed_job

IMAGE = "registry.example.org/cars:1"


def kubernetes(**fields: Any) -> KubernetesCluster:
    return KubernetesCluster(**{"image": IMAGE, "workers": 2, "job_kind": "TFJob", **fields})


def vertex(**fields: Any) -> VertexCluster:
    values = {
        "image": IMAGE,
        "workers": 2,
        "project": "my-project",
        "location": "europe-west4",
        "staging": "gs://bucket/jobs",
    }
    return VertexCluster(**{**values, **fields})


def platform_job(
    directory: Path, cluster: ManagedCluster, verb: str = "train", **fields: Any
) -> Job:
    """Make a job; the command of its tasks is "true"."""
    home = directory / "private"
    home.mkdir(exist_ok=True)
    (home / "task.rds").write_bytes(b"what the tasks read")
    (home / "lock").touch()
    values = {
        "directory": str(home),
        "verb": verb,
        "command": ["true"],
        "working_directory": "/",
        "model_dir": "gs://bucket/model",
    }
    return managed_job.describe_job(cluster, "id_1", **{**values, **fields})


def as_handle(job: Job) -> dict[str, Any]:
    """Return the handle of a job under the name that Kubernetes gives it."""
    cluster = job.cluster
    values = {"kind": cluster.kind, **dataclasses.asdict(cluster)}
    name = {"name": job.id, "cluster": values, "max_steps": None}
    return {"id": job.id, "verb": job.verb, "model_dir": job.model_dir, "submitted": name}
