"""Custom jobs of Vertex AI through Google's Python SDK, which is imported when a job is submitted or followed."""

import importlib
import json
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any

from tfdistribute import errors
from tfdistribute.cluster.managed import VertexCluster
from tfdistribute.cluster.spec import PS
from tfdistribute.cluster.tf_config import ROLES_OF_POOLS
from tfdistribute.errors import BackendError, ClusterError, TrainingError
from tfdistribute.launch.job import Job
from tfdistribute.launch.platforms.platform import (
    Platform,
    PlatformState,
    TaskState,
    stage,
    task_command,
    task_environment,
    without_empty,
)

# In all other states, such as "queued" and "pending", the job starts.
_STATES = {
    "running": "running",
    "updating": "running",
    "cancelling": "running",
    "succeeded": "done",
    "failed": "failed",
    "expired": "failed",
    "cancelled": "stopped",
}
_SDK = "google.cloud.aiplatform_v1", "google-cloud-aiplatform"
_MOST_LINES = 10000


class Vertex(Platform[VertexCluster]):
    def describe(self, job: Job, archive: bytes) -> dict[str, Any]:
        return job_specification(self.cluster, job, archive)

    def submit(self, job: Job, archive: bytes) -> str:
        sdk = _module(*_SDK)
        values = {
            "displayName": job.id,
            "jobSpec": job_specification(self.cluster, job, archive),
        }
        try:
            request = sdk.CustomJob.from_json(json.dumps(values))
        except Exception as error:
            raise ClusterError(
                f"Vertex AI does not know such a job: {error}",
                "Use Vertex AI's own names, such as NVIDIA_TESLA_T4 for `accelerator`.",
                argument="cluster",
            ) from error
        stage(self.cluster, job, archive)
        parent = f"projects/{self.cluster.project}/locations/{self.cluster.location}"
        with _refusals("create the job"):
            answer = self.client(sdk).create_custom_job(parent=parent, custom_job=request)
        return str(answer.name)

    def state(self, name: str) -> PlatformState:
        sdk = _module(*_SDK)
        try:
            with _refusals("show the job"):
                job = self.client(sdk).get_custom_job(name=name)
        except ClusterError as error:
            if _is_missing(error):
                return PlatformState("stopped", "The job is not there any more.", ended=time.time())
            raise
        named = job.state.name.removeprefix("JOB_STATE_").lower()
        state = _STATES.get(named, "starting")
        said = job.error.message if job.error else ""
        message = f'Vertex AI reports the state "{named}". {said}'.strip()
        return PlatformState(
            state,
            message,
            [TaskState(task, self.cluster.location, state, state) for task in _tasks(job)],
            failure={**errors.as_values(TrainingError(message)), "task": None}
            if state == "failed"
            else None,
            started=_seconds(job.start_time),
            ended=_seconds(job.end_time),
        )

    def logs(self, name: str) -> dict[str, list[str]]:
        sdk = _module("google.cloud.logging", "google-cloud-logging")
        number = name.rpartition("/")[2]
        wanted = f'resource.type="ml_job" AND resource.labels.job_id="{number}"'
        with _refusals("show its logs"):
            entries = sdk.Client(project=self.cluster.project).list_entries(
                filter_=wanted, max_results=_MOST_LINES
            )
            lines: dict[str, list[str]] = {}
            for entry in entries:
                replica = str(entry.resource.labels.get("task_name"))
                payload: Any = entry.payload
                text = payload if isinstance(payload, str) else payload.get("message", "")
                lines.setdefault(_task_of(replica), []).extend(str(text).splitlines())
        return lines

    def cancel(self, name: str) -> None:
        sdk = _module(*_SDK)
        try:
            with _refusals("cancel the job"):
                self.client(sdk).cancel_custom_job(name=name)
        except ClusterError as error:
            if not _is_missing(error):
                raise

    def client(self, sdk: Any) -> Any:
        endpoint = f"{self.cluster.location}-aiplatform.googleapis.com"
        return sdk.JobServiceClient(client_options={"api_endpoint": endpoint})


def job_specification(cluster: VertexCluster, job: Job, archive: bytes) -> dict[str, Any]:
    """Return a CustomJobSpec in JSON form for the SDK and ``gcloud ai custom-jobs create --config``."""
    counts = cluster.counts(job.verb != "train")
    last = max(index for index, role in enumerate(ROLES_OF_POOLS.values()) if role in counts)
    pools = [
        # The position of a pool is its role, so one without replicas stays.
        _pool(cluster, job, archive, role, counts[role]) if role in counts else {}
        for role in list(ROLES_OF_POOLS.values())[: last + 1]
    ]
    limit = None if cluster.time_limit_s is None else f"{int(cluster.time_limit_s)}s"
    return without_empty(
        workerPoolSpecs=pools,
        scheduling=without_empty(restartJobOnWorkerRestart=cluster.restarts, timeout=limit),
        serviceAccount=cluster.service_account,
        network=cluster.network,
    )


def _pool(
    cluster: VertexCluster, job: Job, archive: bytes, role: str, count: int
) -> dict[str, Any]:
    machine: dict[str, Any] = {"machineType": cluster.machine_type}
    if cluster.accelerator is not None and role != PS:
        machine["acceleratorType"] = cluster.accelerator
        machine["acceleratorCount"] = cluster.accelerators
    variables = task_environment(cluster, job, archive)
    return {
        "machineSpec": machine,
        "replicaCount": count,
        "containerSpec": {
            "imageUri": cluster.image,
            "command": task_command(job),
            "env": [{"name": name, "value": value} for name, value in variables.items()],
        },
    }


@contextmanager
def _refusals(action: str) -> Generator[None]:
    try:
        yield
    except Exception as error:
        if not type(error).__module__.startswith("google."):
            raise
        text = str(getattr(error, "message", "") or error)
        raise ClusterError(
            f"Vertex AI did not {action}: {text}",
            "Check the project, the location and your rights; `gcloud auth application-default login` gives this "
            "session your credentials.",
            argument="cluster",
        ) from error


def _is_missing(error: ClusterError) -> bool:
    # google.api_core.exceptions.NotFound
    return type(error.__cause__).__name__ == "NotFound"


def _module(name: str, package: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise BackendError(
            f"The Python package {package} is needed for Vertex AI, and cannot be imported: {error}.",
            f"Install it into this session's Python: pip install {package}.",
        ) from error


def _tasks(job: Any) -> Iterator[str]:
    for role, pool in zip(ROLES_OF_POOLS.values(), job.job_spec.worker_pool_specs, strict=False):
        yield from (f"{role} {index}" for index in range(int(pool.replica_count)))


def _task_of(replica: str) -> str:
    pool, _, index = replica.partition("-")
    return f"{ROLES_OF_POOLS[pool]} {index}" if pool in ROLES_OF_POOLS else replica


def _seconds(moment: Any) -> float | None:
    return float(moment.timestamp()) if moment else None
