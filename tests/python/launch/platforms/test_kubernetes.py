"""Jobs on Kubernetes: their objects, and kubectl against a server with Kubernetes' schemas."""

from __future__ import annotations

import base64
import dataclasses
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.kubernetes_schemas import SCHEMAS, mistakes
from support.kubernetes_server import KubernetesServer, kubernetes_server
from support.platform_jobs import as_handle, kubernetes, platform_job

from tfdistribute import errors
from tfdistribute.bridge.clusters import check_cluster
from tfdistribute.cluster.managed import JOB_KINDS, KubernetesCluster
from tfdistribute.errors import (
    ArgumentError,
    BackendError,
    ClusterError,
    ModelError,
    TfdistributeError,
)
from tfdistribute.launch import job_handle
from tfdistribute.launch.job import Job
from tfdistribute.launch.platforms import managed_job
from tfdistribute.launch.platforms.archive import pack
from tfdistribute.launch.platforms.kubernetes import job_objects

FAKE_KUBECTL = str(Path(__file__).parents[2] / "support" / "kubernetes_server.py")
MODEL_ERROR = ModelError("`units` is 0.", "Use at least 1.")


@pytest.fixture
def server() -> Iterator[KubernetesServer]:
    with kubernetes_server() as made:
        yield made
    managed_job._known.clear()


@pytest.fixture(params=["fake", pytest.param("real", marks=pytest.mark.full)])
def job(request: pytest.FixtureRequest, tmp_path: Path, server: KubernetesServer) -> Job:
    """A job for that server, submitted by the stand-in for kubectl, or by a kubectl that is installed here."""
    program = [sys.executable, FAKE_KUBECTL] if request.param == "fake" else ["kubectl"]
    if shutil.which(program[0]) is None:
        pytest.skip("needs kubectl")
    return platform_job(tmp_path, kubernetes(kubectl=(*program, "--server", server.url)))


def objects(tmp_path: Path, verb: str = "train", **fields: Any) -> list[dict[str, Any]]:
    cluster = kubernetes(**fields)
    job = platform_job(
        tmp_path, cluster, verb, model_dir="/models/cars" if cluster.volumes else "gs://b/m"
    )
    return job_objects(cluster, job, pack(job.directory))


def test_a_command_with_a_line_break_is_not_written_to_a_manifest(tmp_path: Path):
    job = platform_job(tmp_path, kubernetes(), command=["Rscript", "-e", "a\nb"])
    with pytest.raises(ArgumentError, match="`command` must be text without line breaks"):
        job_objects(kubernetes(), job, pack(job.directory))


def pod(server: KubernetesServer, job: Job, role: str, index: int, **status: Any) -> None:
    labels = {
        "tfdistribute/job": job.id,
        "training.kubeflow.org/replica-type": role,
        "training.kubeflow.org/replica-index": str(index),
    }
    server.add_pod(f"{job.id}-{role}-{index}", labels, status, nodeName="node-7")


def terminated(code: int, **details: Any) -> list[dict[str, Any]]:
    return [{"name": "tensorflow", "state": {"terminated": {"exitCode": code, **details}}}]


FULL = {
    "ps": 1,
    "gpus": 2,
    "cpus": 1.5,
    "memory": "16Gi",
    "volumes": {"/models": "models-claim"},
    "secrets": ("storage-key",),
    "environment": {"A": "no"},
    "service_account": "trainer",
    "time_limit_s": 3600.0,
    "queue": "team-queue",
}


@pytest.mark.parametrize("job_kind", JOB_KINDS)
@pytest.mark.parametrize("fields", [{}, FULL], ids=["least", "all"])
def test_the_objects_of_a_job_fit_the_schemas_of_kubernetes(
    tmp_path: Path, job_kind: str, fields: dict[str, Any]
):
    made = objects(tmp_path, "train_and_evaluate", job_kind=job_kind, **fields)
    for each in made:
        plural = f"{each['kind'].lower()}s"
        # What is sent is JSON.
        assert list(mistakes(json.loads(json.dumps(each)), SCHEMAS[plural])) == []


def test_a_schema_refuses_what_an_api_server_refuses(tmp_path: Path):
    (*_, made) = objects(tmp_path, memory="16Gi")
    chief = made["spec"]["tfReplicaSpecs"]["Chief"]
    container = chief["template"]["spec"]["containers"][0]
    for place, name, value in (
        (chief, "replicas", "two"),
        (chief["template"]["spec"], "containerz", []),
        (made["spec"]["runPolicy"], "cleanPodPolicy", 3),
        (container["resources"]["limits"], "memory", "lots"),
    ):
        before = dict(place)
        place[name] = value
        assert list(mistakes(made, SCHEMAS["tfjobs"])), name
        place.clear()
        place.update(before)
    assert list(mistakes(made, SCHEMAS["tfjobs"])) == []


def test_a_tfjob_has_the_roles_and_restarts_only_where_that_helps(tmp_path: Path):
    (*_, made) = objects(tmp_path, "train_and_evaluate", workers=3, ps=2)
    replicas = made["spec"]["tfReplicaSpecs"]
    counts = {role: each["replicas"] for role, each in replicas.items()}
    assert counts == {"Chief": 1, "Worker": 2, "PS": 2, "Evaluator": 1}
    assert {each["restartPolicy"] for each in replicas.values()} == {"ExitCode"}
    assert "Evaluator" not in objects(tmp_path, "train")[-1]["spec"]["tfReplicaSpecs"]


def test_servers_of_a_tfjob_take_no_gpus(tmp_path: Path):
    (*_, made) = objects(tmp_path, ps=1, gpus=1)
    has_gpus = {
        role: "resources" in each["template"]["spec"]["containers"][0]
        for role, each in made["spec"]["tfReplicaSpecs"].items()
    }
    assert has_gpus == {"Chief": True, "Worker": True, "PS": False}


def test_the_tasks_of_a_plain_job_know_their_addresses(tmp_path: Path):
    _, service, made = objects(tmp_path, job_kind="Job", workers=2, ps=1)
    pods = made["spec"]["template"]["spec"]
    variables = {each["name"]: each["value"] for each in pods["containers"][0]["env"]}
    name = made["metadata"]["name"]
    assert json.loads(variables["TFDISTRIBUTE_ADDRESSES"]) == {
        "chief": [f"{name}-0.{name}:2222"],
        "worker": [f"{name}-1.{name}:2222"],
        "ps": [f"{name}-2.{name}:2222"],
    }
    assert pods["subdomain"] == service["metadata"]["name"] == name
    assert service["spec"]["publishNotReadyAddresses"]
    assert made["spec"]["completions"] == 3


def test_a_train_job_has_a_runtime_with_the_job_that_kubernetes_alone_would_run(tmp_path: Path):
    _, runtime, made = objects(tmp_path, job_kind="TrainJob", queue="team-queue")
    name = made["metadata"]["name"]
    assert made["spec"]["runtimeRef"] == {
        "apiGroup": "trainer.kubeflow.org",
        "kind": "TrainingRuntime",
        "name": runtime["metadata"]["name"],
    }
    (node,) = runtime["spec"]["template"]["spec"]["replicatedJobs"]
    plain = objects(tmp_path, job_kind="Job")[-1]["spec"]
    text = json.dumps(node["template"]["spec"])
    # JobSet names hosts after the replicated job and its index.
    assert json.loads(text.replace(f"{name}-node-0-", f"{name}-")) == plain
    assert f"{name}-node-0-1.{name}:2222" in text
    assert runtime["spec"]["mlPolicy"] == {"numNodes": 2}


@pytest.mark.parametrize("job_kind", JOB_KINDS)
def test_only_the_job_itself_waits_in_a_queue(tmp_path: Path, job_kind: str):
    label = "kueue.x-k8s.io/queue-name"
    *others, made = objects(tmp_path, job_kind=job_kind, queue="team-queue")
    assert made["metadata"]["labels"][label] == "team-queue"
    assert label not in json.dumps(others)
    assert label not in json.dumps(objects(tmp_path, job_kind=job_kind))


def test_what_the_tasks_read_is_in_a_secret_and_not_in_a_command_line(tmp_path: Path):
    secret, made = objects(tmp_path)
    (name, content), *_ = secret["data"].items()
    assert name == "job.tar.gz"
    assert b"what the tasks read" not in json.dumps(made).encode()
    assert base64.b64decode(content)


def test_a_job_that_is_too_large_for_a_secret_names_staging(tmp_path: Path):
    cluster = kubernetes()
    job = platform_job(tmp_path, cluster)
    large = b"x" * (1024 * 1024 + 1)
    with pytest.raises(ClusterError, match=r"holds 1.0 MB .* holds 1 MB.\nSet `staging`"):
        job_objects(cluster, job, large)
    staged = dataclasses.replace(cluster, staging="gs://b/jobs")
    (made,) = job_objects(staged, job, large)
    assert f"gs://b/jobs/{job.id}/job.tar.gz" in json.dumps(made)


def test_a_model_directory_inside_the_containers_is_refused(tmp_path: Path):
    with pytest.raises(ClusterError, match="is inside the containers"):
        platform_job(tmp_path, kubernetes(), model_dir="/tmp/cars")
    mounted = kubernetes(volumes={"/models": "claim"})
    assert platform_job(tmp_path, mounted, model_dir="/models/cars")
    with pytest.raises(ClusterError, match='a directory below "/models"'):
        platform_job(tmp_path, mounted, model_dir="/models-of-others")


# A stand-in would say nothing about what kubectl reads.
@pytest.mark.full
@pytest.mark.skipif(shutil.which("kubectl") is None, reason="needs kubectl")
@pytest.mark.parametrize(
    "job_kind, kinds",
    [
        ("TFJob", ["secret", "tfjob.kubeflow.org"]),
        ("Job", ["secret", "service", "job.batch"]),
        (
            "TrainJob",
            ["secret", "trainingruntime.trainer.kubeflow.org", "trainjob.trainer.kubeflow.org"],
        ),
    ],
)
def test_kubectl_reads_every_object_of_a_manifest(tmp_path: Path, job_kind: str, kinds: list[str]):
    job = platform_job(tmp_path, kubernetes(job_kind=job_kind))
    command = ["kubectl", "label", "--local", "-f", "-", "a=b", "-o", "name"]
    text, _ = managed_job.describe(job)
    ended = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    assert ended.stdout.split() == [f"{kind}/{job.id}" for kind in kinds]


def test_a_submitted_job_is_followed_and_its_secret_goes_with_it(
    job: Job, server: KubernetesServer
):
    handle = managed_job.submit(job)
    assert server.names("tfjobs") == [job.id]
    (owner,) = server.only("secrets")["metadata"]["ownerReferences"]
    assert owner["uid"] == server.only("tfjobs")["metadata"]["uid"]
    assert job_handle.job_state(handle)["state"] == "starting"
    managed_job._known.clear()

    pod(server, job, "chief", 0, phase="Running")
    pod(server, job, "worker", 0, phase="Pending")
    server.logs[f"{job.id}-chief-0"] = "INFO: one\nERROR: two\n"
    state = job_handle.job_state(handle)
    rows = [(row["task"], row["host"], row["state"]) for row in state["tasks"]]
    assert rows == [("chief 0", "node-7", "running"), ("worker 0", "node-7", "starting")]
    assert state["state"] == "training"
    assert job_handle.job_logs(handle) == ["[chief 0] INFO: one", "[chief 0] ERROR: two"]
    assert job_handle.job_logs(handle, "chief 0", "error") == ["ERROR: two"]

    assert job_handle.stop_job(handle)["state"] == "stopped"
    assert server.names("tfjobs") == server.names("secrets") == []
    # A second time is no error.
    assert job_handle.stop_job(handle)["state"] == "stopped"


def test_what_kubernetes_refuses_is_told_with_a_remedy(job: Job, server: KubernetesServer):
    managed_job.submit(job)
    with pytest.raises(ClusterError, match=f'"{job.id}" already exists\n.*another `name`'):
        managed_job.submit(job)
    assert server.names("secrets") == [job.id]
    server.refusal = (403, "Forbidden", 'User "me" cannot create resource "tfjobs"')
    with pytest.raises(
        ClusterError, match=r'rejected the job: User "me" .*\n.*kubectl auth can-i create'
    ):
        managed_job.submit(job)


def test_nothing_is_left_if_the_secret_is_refused(job: Job, server: KubernetesServer):
    server.objects["secrets", job.id] = {"metadata": {}}
    with pytest.raises(ClusterError, match="already exists"):
        managed_job.submit(job)
    assert server.names("tfjobs") == []


def test_a_missing_operator_has_a_remedy(job: Job, server: KubernetesServer):
    server.refusal = (404, "NotFound", "the server could not find the requested resource")
    with pytest.raises(ClusterError, match="`job_kind` Job needs no operator"):
        managed_job.submit(job)


def test_a_missing_kubectl_is_told_with_a_remedy(tmp_path: Path):
    job = platform_job(tmp_path, kubernetes(kubectl=("/no/kubectl",)))
    with pytest.raises(BackendError, match="`kubectl` '/no/kubectl' cannot be run: No such file"):
        managed_job.submit(job)


@pytest.fixture
def train_job(tmp_path: Path, server: KubernetesServer) -> Job:
    program = (sys.executable, FAKE_KUBECTL, "--server", server.url)
    cluster = kubernetes(job_kind="TrainJob", queue="team-queue", kubectl=program)
    return platform_job(tmp_path, cluster)


def test_a_train_job_comes_and_goes_with_its_runtime(train_job: Job, server: KubernetesServer):
    handle = managed_job.submit(train_job)
    kinds = ("trainjobs", "trainingruntimes", "secrets")
    assert [server.names(kind) for kind in kinds] == [[train_job.id]] * 3
    server.only("trainjobs")["status"] = {"conditions": [{"type": "Suspended", "status": "True"}]}
    state = job_handle.job_state(handle)
    assert (state["state"], state["message"]) == (
        "starting",
        "The job waits in the queue team-queue.",
    )
    managed_job._known.clear()
    server.only("trainjobs")["status"] = {"conditions": [{"type": "Complete", "status": "True"}]}
    assert job_handle.job_state(handle)["state"] == "done"
    # A second job of this name leaves the first one alone.
    with pytest.raises(ClusterError, match="already exists"):
        managed_job.submit(train_job)
    assert server.names("trainjobs") == [train_job.id]
    assert job_handle.stop_job(handle)["state"] == "stopped"
    assert [server.names(kind) for kind in kinds] == [[]] * 3


def test_no_runtime_is_left_of_a_train_job_that_is_refused(
    train_job: Job, server: KubernetesServer
):
    server.objects["trainjobs", train_job.id] = {"metadata": {}}
    with pytest.raises(ClusterError, match="already exists"):
        managed_job.submit(train_job)
    assert server.names("trainingruntimes") == []


def kinds_of(*kinds: str) -> dict[str, Any]:
    return {"resources": [{"kind": kind} for kind in kinds]}


def test_a_check_names_the_kinds_of_job_that_a_cluster_has(server: KubernetesServer):
    program = (sys.executable, FAKE_KUBECTL, "--server", server.url)
    server.api = {
        "/apis/batch/v1": kinds_of("Job", "CronJob"),
        "/apis/trainer.kubeflow.org/v1alpha1": kinds_of("TrainJob"),
        # Another operator of this group.
        "/apis/kubeflow.org/v1": kinds_of("Notebook"),
    }
    cluster = kubernetes(kubectl=program, queue="team-queue")
    queue, kind, note = check_cluster(cluster, 1)
    assert queue["message"] == '`queue` is "team-queue", and the cluster does not have Kueue.'
    assert kind["message"] == '`job_kind` is "TFJob", which the cluster does not have.'
    assert kind["fix"].startswith("Use one of Job, TrainJob, or install Kubeflow's training")
    assert (note["severity"], note["message"]) == (
        "note",
        "The cluster has the kinds Job, TrainJob.",
    )
    server.api["/apis/kueue.x-k8s.io"] = {"kind": "APIGroup"}
    (note,) = check_cluster(dataclasses.replace(cluster, job_kind="TrainJob"), 1)
    assert note["severity"] == "note"


def test_a_check_without_a_cluster_names_what_fails():
    (finding,) = check_cluster(kubernetes(kubectl=("/no/kubectl",)), 1)
    assert finding["message"].startswith("`kubectl` '/no/kubectl' cannot be run")


@pytest.fixture
def running(tmp_path: Path, server: KubernetesServer) -> tuple[Job, dict[str, Any]]:
    """A submitted job and its object."""
    program = (sys.executable, FAKE_KUBECTL, "--server", server.url)
    job = platform_job(tmp_path, kubernetes(kubectl=program))
    managed_job.submit(job)
    return job, server.only("tfjobs")


def test_the_error_of_a_container_is_that_of_the_job(
    running: tuple[Job, dict[str, Any]], server: KubernetesServer
):
    job, made = running
    made["status"] = {
        "conditions": [{"type": "Failed", "status": "True", "message": "TFJob failed."}],
        "completionTime": "2024-01-01T00:00:10Z",
    }
    words = json.dumps(errors.as_values(MODEL_ERROR))
    # The chief was lost with the worker, and says so first.
    pod(server, job, "chief", 0, phase="Failed", containerStatuses=terminated(138, finishedAt="1"))
    status = terminated(1, finishedAt="2", message=words)
    pod(server, job, "worker", 0, phase="Failed", containerStatuses=status)
    state = job_handle.job_state(as_handle(job))
    failure = state["failure"]
    assert state["state"] == "failed"
    assert state["ended"] == 1704067210
    assert failure["task"] == "worker 0"
    assert failure["host"] == "node-7"
    assert (failure["kind"], failure["problem"]) == ("model", "`units` is 0.")


def test_too_little_memory_is_named(running: tuple[Job, dict[str, Any]], server: KubernetesServer):
    job, made = running
    made["status"] = {"conditions": [{"type": "Failed", "status": "True"}]}
    status = terminated(137, reason="OOMKilled")
    pod(server, job, "chief", 0, phase="Failed", containerStatuses=status)
    failure = job_handle.job_state(as_handle(job))["failure"]
    assert failure["problem"].startswith("chief 0 was ended because it took more memory")
    assert failure["remedy"].startswith("Increase `memory`")


def test_what_keeps_a_container_from_starting_is_a_note(
    running: tuple[Job, dict[str, Any]], server: KubernetesServer
):
    job, _ = running
    waiting = {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}
    status = [{"name": "tensorflow", "state": waiting}]
    pod(server, job, "chief", 0, phase="Pending", containerStatuses=status)
    unschedulable = {"type": "PodScheduled", "status": "False", "message": "0/3 nodes have a GPU"}
    pod(server, job, "worker", 0, phase="Pending", conditions=[unschedulable])
    creating = [{"name": "tensorflow", "state": {"waiting": {"reason": "ContainerCreating"}}}]
    pod(server, job, "worker", 1, phase="Pending", containerStatuses=creating)
    assert job_handle.job_state(as_handle(job))["notes"] == [
        "chief 0 does not start: ImagePullBackOff: no such image",
        "worker 0 does not start: 0/3 nodes have a GPU",
    ]


def test_restarts_and_the_end_are_told(
    running: tuple[Job, dict[str, Any]], server: KubernetesServer
):
    job, made = running
    made["status"] = {
        "conditions": [
            {"type": "Restarting", "status": "True", "message": "worker 0 is restarted."}
        ]
    }
    state = job_handle.job_state(as_handle(job))
    assert (state["state"], state["message"]) == ("restarting", "worker 0 is restarted.")
    managed_job._known.clear()
    made["status"] = {"conditions": [{"type": "Succeeded", "status": "True"}]}
    state = job_handle.job_state(as_handle(job))
    assert state["state"] == "done"
    assert state["ended"] is not None
    # It is not asked for again.
    server.refusal = (500, "InternalError", "down")
    assert job_handle.job_state(as_handle(job)) == state


def test_a_pod_of_a_plain_job_is_named_after_its_task(tmp_path: Path, server: KubernetesServer):
    program = (sys.executable, FAKE_KUBECTL, "--server", server.url)
    job = platform_job(tmp_path, kubernetes(job_kind="Job", ps=1, kubectl=program))
    managed_job.submit(job)
    template = server.only("jobs")["spec"]["template"]["spec"]
    for number in range(3):
        labels = {
            "tfdistribute/job": job.id,
            "batch.kubernetes.io/job-completion-index": str(number),
        }
        server.add_pod(f"pod-{number}", labels, {"phase": "Running"}, **template)
    state = job_handle.job_state(as_handle(job))
    assert [row["task"] for row in state["tasks"]] == ["chief 0", "worker 0", "ps 0"]


@pytest.mark.parametrize(
    "field, value",
    [
        ("image", "--privileged"),
        ("image", "a b"),
        ("namespace", "Default"),
        ("namespace", "a/b"),
        ("name", "x" * 41),
        ("memory", "lots"),
        ("secrets", ("a", "$(b)")),
        ("volumes", {"models": "claim"}),
        ("volumes", {"/models": "../claim"}),
        ("environment", {"A B": "1"}),
    ],
)
def test_text_that_kubernetes_does_not_accept_is_refused(field: str, value: Any):
    with pytest.raises(TfdistributeError, match=rf"`{field}(\$/models)?` holds"):
        KubernetesCluster(**{"image": "a", "workers": 1, field: value})
