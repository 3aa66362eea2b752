"""Plan of a training: what each task of a cluster would do."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from tfdistribute.cluster.addresses import parse_address
from tfdistribute.cluster.spec import (
    EVALUATOR,
    Cluster,
    ClusterSpec,
    LocalCluster,
    Task,
    chief_of,
)
from tfdistribute.cluster.tf_config import to_tf_config
from tfdistribute.descriptions import Description
from tfdistribute.sharding import Shard, replica_batch_size


@dataclass(frozen=True)
class Workload(Description):
    """The work of a cluster.

    Args:
        model_dir: Directory of the model's checkpoints.
        rows: Rows of the training input; None if unknown.
        global_batch_size: Examples per training step; None if unknown.
        evaluation_rows: Rows of the evaluation input; None if unknown.
        evaluation_batch_size: Batch size of the evaluation input.
        evaluation_name: Name of the evaluation.
        devices_per_worker: Devices of each process that trains, if the cluster does not say; None if unknown.
        script: The script that every task runs; None for "train.R", or for a verb that starts a local cluster.
    """

    model_dir: str
    rows: int | None = None
    global_batch_size: int | None = None
    evaluation_rows: int | None = None
    evaluation_batch_size: int | None = None
    evaluation_name: str | None = None
    devices_per_worker: int | None = 1
    script: str | None = None


@dataclass(frozen=True)
class TaskPlan:
    """The plan of one task.

    Args:
        task: Its name, such as "worker 1"; "this process" without a cluster.
        port: The port on which it listens; None if it does not listen, or if the port is chosen at the start.
        global_batch_size: Examples per step over all tasks.
        replica_batch_size: Examples per step on one device.
        environment: Its TF_CONFIG; None without a cluster, or while ports are unknown.
        command: Its command, quoted for a shell.
    """

    task: str
    host: str
    port: int | None
    role: str
    reads: str
    global_batch_size: int | None
    replica_batch_size: int | None
    writes: str
    environment: str | None
    command: str


def plan(cluster: Cluster | None, workload: Workload) -> list[TaskPlan]:
    """Plan every task of a cluster, in TensorFlow's order of roles.

    Raises:
        ShardingError: the batch cannot be split evenly over the replicas.
    """
    command = _command(cluster, workload)
    if cluster is None:
        batch, devices = workload.global_batch_size, workload.devices_per_worker
        size = None if batch is None or devices is None else replica_batch_size(batch, devices)
        reads, writes = _rows(workload.rows), f"checkpoints in {workload.model_dir}"
        role = "trains and evaluates"
        return [
            TaskPlan(
                "this process", "localhost", None, role, reads, batch, size, writes, None, command
            )
        ]
    return [_task(cluster, task, text, workload, command) for task, text in cluster.placed()]


def _command(cluster: Cluster | None, workload: Workload) -> str:
    started_by_verb = isinstance(cluster, LocalCluster) and workload.script is None
    what = (
        ["-e", "tfdistribute:::run_task()"] if started_by_verb else [workload.script or "train.R"]
    )
    return shlex.join(["Rscript", *what])


def _task(cluster: Cluster, task: Task, text: str, workload: Workload, command: str) -> TaskPlan:
    address = parse_address(text)
    batch, replica_batch = _batches(cluster, task, workload)
    return TaskPlan(
        task=str(task),
        host=address.host if address else "localhost",
        port=address.port if address and task.type != EVALUATOR else None,
        role=_role(cluster, task),
        reads=_reads(cluster, task, workload),
        global_batch_size=batch,
        replica_batch_size=replica_batch,
        writes=_writes(cluster, task, workload),
        environment=to_tf_config(cluster, task) if isinstance(cluster, ClusterSpec) else None,
        command=command,
    )


def _shard(cluster: Cluster, task: Task, workload: Workload) -> Shard:
    rank = [each for each in cluster.tasks if each.trains].index(task)
    processes = cluster.training_processes
    devices = getattr(cluster, "devices_per_worker", workload.devices_per_worker or 1)
    return Shard(processes, rank, 1 if cluster.has_servers else processes * devices)


def _batches(cluster: Cluster, task: Task, workload: Workload) -> tuple[int | None, int | None]:
    if task.type == EVALUATOR:
        return workload.evaluation_batch_size, workload.evaluation_batch_size
    if task.type == "ps" or workload.global_batch_size is None:
        return None, None
    shard = _shard(cluster, task, workload)
    return workload.global_batch_size, replica_batch_size(
        workload.global_batch_size, shard.replicas
    )


def _role(cluster: Cluster, task: Task) -> str:
    if task.type == EVALUATOR:
        return "evaluates every checkpoint"
    if task.type == "ps":
        return "holds variables"
    return "trains as the chief" if task == chief_of(cluster.tasks) else "trains"


def _reads(cluster: Cluster, task: Task, workload: Workload) -> str:
    if task.type == "ps":
        return "nothing"
    if task.type == EVALUATOR:
        return f"{_rows(workload.evaluation_rows)} of the evaluation, and checkpoints"
    shard = _shard(cluster, task, workload)
    if shard.in_turns:
        return f"batch {shard.pipeline + 1} of every {shard.pipelines}"
    if shard.pipelines == 1:
        return _rows(workload.rows)
    if workload.global_batch_size is None:
        return f"part {shard.pipeline + 1} of {shard.pipelines} of every batch"
    own, size = shard.own_replicas, replica_batch_size(workload.global_batch_size, shard.replicas)
    return f"examples {own.start * size + 1} to {own.stop * size} of every {workload.global_batch_size}"


def _writes(cluster: Cluster, task: Task, workload: Workload) -> str:
    if task.type == "ps":
        return "nothing"
    if task.type == EVALUATOR:
        name = "eval" if workload.evaluation_name is None else f"eval_{workload.evaluation_name}"
        return f"metrics in {workload.model_dir}/{name}"
    return (
        f"checkpoints in {workload.model_dir}"
        if task == chief_of(cluster.tasks)
        else "no checkpoints"
    )


def _rows(rows: int | None) -> str:
    return "all rows" if rows is None else f"all {rows} rows"
