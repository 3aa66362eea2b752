"""Jobs on Vertex AI: their specification, a stand-in for the SDK, and the SDK with a JobService over gRPC."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.platform_jobs import platform_job, vertex
from support.vertex_service import PARENT, FakeService, job_service, use_fake_sdk

from tfdistribute import storage
from tfdistribute.errors import BackendError, ClusterError
from tfdistribute.launch import job_handle
from tfdistribute.launch.platforms import managed_job
from tfdistribute.launch.platforms.archive import pack
from tfdistribute.launch.platforms.vertex import Vertex, job_specification


class Bucket:
    """Remote storage in memory."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}

    def write(self, path: str, content: bytes) -> None:
        self.files[path] = content

    def make_directory(self, path: str) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        raise OSError(None, "nothing else is stored")


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Bucket:
    made = Bucket()
    monkeypatch.setattr(storage, "of", lambda path: made)
    managed_job._known.clear()
    return made


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> FakeService:
    return use_fake_sdk(monkeypatch)


def specification(tmp_path: Path, verb: str = "train", **fields: Any) -> dict[str, Any]:
    cluster = vertex(**fields)
    job = platform_job(tmp_path, cluster, verb)
    return job_specification(cluster, job, pack(job.directory))


def test_the_position_of_a_pool_is_its_role(tmp_path: Path):
    with_evaluator = specification(tmp_path, "train_and_evaluate", workers=3)
    counts = [pool.get("replicaCount") for pool in with_evaluator["workerPoolSpecs"]]
    assert counts == [1, 2, None, 1]
    alone = specification(tmp_path, workers=1)
    assert len(alone["workerPoolSpecs"]) == 1
    servers = specification(tmp_path, workers=1, ps=2, accelerator="NVIDIA_TESLA_T4")
    assert [pool.get("replicaCount") for pool in servers["workerPoolSpecs"]] == [1, None, 2]
    assert "acceleratorType" not in servers["workerPoolSpecs"][2]["machineSpec"]


def test_a_submitted_job_is_followed(tmp_path: Path, bucket: Bucket, service: FakeService):
    job = platform_job(tmp_path, vertex())
    handle = managed_job.submit(job)
    assert handle["submitted"]["name"] == f"{PARENT}/customJobs/1"
    assert service.endpoints == ["europe-west4-aiplatform.googleapis.com"]
    (path,) = bucket.files
    assert path == f"gs://bucket/jobs/{job.id}/job.tar.gz"
    (sent,) = service.jobs.values()
    assert path in json.dumps(sent)
    state = job_handle.job_state(handle)
    assert state["state"] == "starting"
    assert [row["task"] for row in state["tasks"]] == ["chief 0", "worker 0"]
    managed_job._known.clear()
    labels = {"task_name": "workerpool1-0"}
    service.entries = [
        SimpleNamespace(resource=SimpleNamespace(labels=labels), payload={"message": "INFO: hello"})
    ]
    assert job_handle.job_logs(handle) == ["[worker 0] INFO: hello"]
    assert job_handle.stop_job(handle)["state"] == "stopped"


def test_the_message_of_a_failed_job_is_its_error(
    tmp_path: Path, bucket: Bucket, service: FakeService
):
    handle = managed_job.submit(platform_job(tmp_path, vertex()))
    message = "The replica workerpool1-0 exited with a non-zero status of 1."
    service.states[handle["submitted"]["name"]] = ("JOB_STATE_FAILED", message)
    state = job_handle.job_state(handle)
    assert state["state"] == "failed"
    assert message in state["failure"]["problem"]


def test_a_job_that_is_not_there_any_more_counts_as_stopped(bucket: Bucket, service: FakeService):
    platform = Vertex(vertex())
    assert platform.state(f"{PARENT}/customJobs/9").state == "stopped"
    platform.cancel(f"{PARENT}/customJobs/9")


def test_a_missing_sdk_is_named(tmp_path: Path, bucket: Bucket, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(__import__("sys").modules, "google.cloud.aiplatform_v1", None)
    with pytest.raises(BackendError, match="pip install google-cloud-aiplatform"):
        managed_job.submit(platform_job(tmp_path, vertex()))
    assert bucket.files == {}


@pytest.mark.parametrize(
    "field, value",
    [
        ("project", "My Project"),
        ("location", "europe"),
        ("machine_type", "n1 standard"),
        ("accelerator", "t4"),
        ("network", "default"),
        ("staging", "s3://bucket"),
        ("service_account", "-x"),
    ],
)
def test_text_that_vertex_does_not_accept_is_refused(field: str, value: Any):
    with pytest.raises(ClusterError, match=f"`{field}` holds"):
        vertex(**{field: value})


# The SDK is large, and not among the packages of the tests: the stand-in above has its names.
@pytest.mark.full
def test_the_sdk_of_google_accepts_and_carries_the_same_calls(
    tmp_path: Path, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
):
    sdk = pytest.importorskip("google.cloud.aiplatform_v1")
    with job_service(sdk) as client:
        monkeypatch.setattr(Vertex, "client", lambda self, sdk: client())
        fields: dict[str, Any] = {
            "accelerator": "NVIDIA_TESLA_T4",
            "time_limit_s": 3600.0,
            "network": "projects/1/global/networks/a",
            "service_account": "trainer@my-project.iam.gserviceaccount.com",
        }
        handle = managed_job.submit(platform_job(tmp_path, vertex(**fields), "train_and_evaluate"))
        state = job_handle.job_state(handle)
        assert [row["task"] for row in state["tasks"]] == ["chief 0", "worker 0", "evaluator 0"]
        assert job_handle.stop_job(handle)["state"] == "stopped"
        assert Vertex(vertex()).state(f"{PARENT}/customJobs/9").state == "stopped"
        with pytest.raises(ClusterError, match="does not know such a job"):
            managed_job.submit(platform_job(tmp_path, vertex(accelerator="NVIDIA_T9")))
