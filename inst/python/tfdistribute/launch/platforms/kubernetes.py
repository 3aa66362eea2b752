"""Objects of Kubernetes that make up a job."""

import base64
import json
from collections.abc import Mapping
from typing import Any

from tfdistribute.cluster.managed import KubernetesCluster
from tfdistribute.cluster.spec import EVALUATOR, PS
from tfdistribute.errors import ClusterError
from tfdistribute.launch.job import Job
from tfdistribute.launch.platforms.archive import FILE
from tfdistribute.launch.platforms.entrypoint import ADDRESSES, RETRY
from tfdistribute.launch.platforms.platform import task_command, task_environment, without_empty

Object = dict[str, Any]

# Labels: the name on objects and pods of a job, and the queue of a job for Kueue.
LABEL = "tfdistribute/job"
_QUEUE = "kueue.x-k8s.io/queue-name"

# Kubeflow's Trainer takes the parts of a TrainJob from it.
RUNTIME = "TrainingRuntime"
_TRAINER = "trainer.kubeflow.org"
_NODE = "node"

_API_VERSIONS = {
    **dict.fromkeys(("Secret", "Service", "Pod"), "v1"),
    "Job": "batch/v1",
    "TFJob": "kubeflow.org/v1",
    **dict.fromkeys(("TrainJob", RUNTIME), f"{_TRAINER}/v1alpha1"),
}

# Kubeflow's operator looks for a container of this name, and for the port of this name.
CONTAINER = "tensorflow"
_PORT_NAME, _PORT = "tfjob-port", 2222
_REPLICAS = {"chief": "Chief", "worker": "Worker", PS: "PS", EVALUATOR: "Evaluator"}

_MOUNT = "/var/run/tfdistribute"

# Maximum of a Secret: https://kubernetes.io/docs/concepts/configuration/secret/, "Restriction on Secret size".
_MOST_BYTES = 1024 * 1024

# Codes of lost tasks and of signals: SIGINT, SIGABRT, SIGBUS, SIGKILL, SIGSEGV and SIGTERM.
_RETRIED = (130, 134, 135, 137, RETRY, 139, 143)

# The chief needs time to save a checkpoint.
_GRACE_S = 30


def job_objects(cluster: KubernetesCluster, job: Job, archive: bytes) -> list[Object]:
    """Return the objects of a job, itself last; ClusterError if what the tasks read is too large for a Secret."""
    secret = [] if cluster.staging is not None else [_secret(cluster, job, archive)]
    kinds = {"TFJob": _tf_job, "TrainJob": _train_job, "Job": _indexed_job}
    made = [*secret, *kinds[cluster.job_kind](cluster, job, archive)]
    if cluster.queue is not None:
        made[-1]["metadata"]["labels"][_QUEUE] = cluster.queue
    return made


def api_path(kind: str) -> str:
    version = _API_VERSIONS[kind]
    return f"/apis/{version}" if "/" in version else f"/api/{version}"


def _object(kind: str, cluster: KubernetesCluster, job: Job, **parts: Any) -> Object:
    metadata = {"name": job.id, "namespace": cluster.namespace, "labels": {LABEL: job.id}}
    return {"apiVersion": _API_VERSIONS[kind], "kind": kind, "metadata": metadata, **parts}


def _secret(cluster: KubernetesCluster, job: Job, archive: bytes) -> Object:
    size = len(archive)
    if size > _MOST_BYTES:
        raise ClusterError(
            f"The job holds {size / 1e6:.1f} MB of data and variables, and a Kubernetes secret holds 1 MB.",
            "Set `staging` to remote storage, or let the input read files, as with input_csv() and input_parquet().",
            argument="staging",
            value="NULL",
        )
    data = {FILE: base64.b64encode(archive).decode()}
    return _object("Secret", cluster, job, type="Opaque", data=data)


def _tf_job(cluster: KubernetesCluster, job: Job, archive: bytes) -> list[Object]:
    counts = cluster.counts(job.verb != "train")
    policy = without_empty(cleanPodPolicy="Running", activeDeadlineSeconds=_deadline(cluster))
    replicas = {
        _REPLICAS[role]: {
            "replicas": count,
            # Codes from 128 on are retried, and others are not.
            "restartPolicy": "ExitCode",
            "template": _template(cluster, job, archive, role),
        }
        for role, count in counts.items()
    }
    spec = {"runPolicy": policy, "tfReplicaSpecs": replicas}
    return [_object("TFJob", cluster, job, spec=spec)]


def _train_job(cluster: KubernetesCluster, job: Job, archive: bytes) -> list[Object]:
    # The runtime has no framework, but the whole template of the job, because versions of the Trainer differ in what a
    # TrainJob may change in a runtime.
    spec = _job_spec(cluster, job, archive, f"{job.id}-{_NODE}-0")
    step = {f"{_TRAINER}/trainjob-ancestor-step": "trainer"}
    node = {"name": _NODE, "template": {"metadata": {"labels": step}, "spec": spec}}
    parts = {
        "mlPolicy": {"numNodes": spec["completions"]},
        "template": {"spec": {"replicatedJobs": [node]}},
    }
    reference = {"apiGroup": _TRAINER, "kind": RUNTIME, "name": job.id}
    return [
        _object(RUNTIME, cluster, job, spec=parts),
        _object("TrainJob", cluster, job, spec={"runtimeRef": reference}),
    ]


def _indexed_job(cluster: KubernetesCluster, job: Job, archive: bytes) -> list[Object]:
    addresses = {
        "clusterIP": "None",
        "selector": {LABEL: job.id},
        # Tasks look for each other while they start.
        "publishNotReadyAddresses": True,
        "ports": [{"name": _PORT_NAME, "port": _PORT}],
    }
    return [
        _object("Service", cluster, job, spec=addresses),
        _object("Job", cluster, job, spec=_job_spec(cluster, job, archive, job.id)),
    ]


def _job_spec(cluster: KubernetesCluster, job: Job, archive: bytes, hosts: str) -> Object:
    counts = cluster.counts(job.verb != "train")
    tasks = [role for role, count in counts.items() for _ in range(count)]
    addresses = {
        role: [f"{hosts}-{n}.{job.id}:{_PORT}" for n, each in enumerate(tasks) if each == role]
        for role in counts
    }
    # All pods of a Job are alike.
    template = _template(
        cluster, job, archive, "chief", {ADDRESSES: json.dumps(addresses, sort_keys=True)}
    )
    template["spec"] |= {"restartPolicy": "Never", "subdomain": job.id}
    on_exit = {"containerName": CONTAINER, "operator": "NotIn", "values": list(_RETRIED)}
    return without_empty(
        completionMode="Indexed",
        completions=len(tasks),
        parallelism=len(tasks),
        backoffLimit=cluster.restarts * len(tasks),
        activeDeadlineSeconds=_deadline(cluster),
        podFailurePolicy={"rules": [{"action": "FailJob", "onExitCodes": on_exit}]},
        template=template,
    )


def _deadline(cluster: KubernetesCluster) -> int | None:
    return None if cluster.time_limit_s is None else int(cluster.time_limit_s)


def _template(
    cluster: KubernetesCluster,
    job: Job,
    archive: bytes,
    role: str,
    more: Mapping[str, str] | None = None,
) -> Object:
    variables = {**task_environment(cluster, job, archive, _MOUNT), **(more or {})}
    mounts, volumes = _volumes(cluster, job)
    container = without_empty(
        name=CONTAINER,
        image=cluster.image,
        command=task_command(job),
        env=[{"name": name, "value": value} for name, value in variables.items()],
        ports=[{"name": _PORT_NAME, "containerPort": _PORT}],
        envFrom=[{"secretRef": {"name": name}} for name in cluster.secrets],
        resources=_resources(cluster, role),
        volumeMounts=mounts,
    )
    return {
        "metadata": {
            "labels": {LABEL: job.id},
            # A sidecar would neither let tasks connect to each other nor end with them.
            "annotations": {"sidecar.istio.io/inject": "false"},
        },
        "spec": without_empty(
            containers=[container],
            terminationGracePeriodSeconds=_GRACE_S,
            volumes=volumes,
            serviceAccountName=cluster.service_account,
        ),
    }


def _resources(cluster: KubernetesCluster, role: str) -> Object:
    gpus = str(cluster.gpus) if cluster.gpus and role != PS else None
    # More than the requested cores may be used if nobody else does.
    cpus = None if cluster.cpus is None else f"{cluster.cpus:g}"
    return without_empty(
        requests=without_empty(cpu=cpus),
        limits=without_empty(memory=cluster.memory, **{"nvidia.com/gpu": gpus}),
    )


def _volumes(cluster: KubernetesCluster, job: Job) -> tuple[list[Object], list[Object]]:
    mounts: list[Object] = []
    volumes: list[Object] = []
    for number, (path, claim) in enumerate(cluster.volumes.items(), start=1):
        name = f"volume-{number}"
        mounts.append({"name": name, "mountPath": path})
        volumes.append({"name": name, "persistentVolumeClaim": {"claimName": claim}})
    if cluster.staging is None:
        mounts.append({"name": "job", "mountPath": _MOUNT, "readOnly": True})
        volumes.append({"name": "job", "secret": {"secretName": job.id}})
    return mounts, volumes
