"""What each task of a cluster does, before anything is started. Plain Python."""

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
class Work(Description):
    """What a cluster is to do.

    Args:
        model_dir: Directory of the model's checkpoints.
        rows: Rows of the training input; None where they are not known.
        global_batch_size: Examples of one training step; None where they are not known.
        evaluation_rows: Rows of the evaluation input; None where they are not known.
        evaluation_batch_size: Examples of a batch of the evaluation input.
        evaluation_name: Name of the evaluation.
        devices_per_worker: Devices of each process that trains, where the cluster does not say; None where they are
            not known.
        script: The script that every task runs; None for "train.R", and for the verb that starts a local cluster.
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
    """One task.

    Args:
        task: Its name, such as "worker 1"; "this process" without a cluster.
        host: Where it runs.
        port: The port on which it listens; None where it listens on none, or on one that is chosen at the start.
        role: What it is for.
        reads: The part of the data that it reads.
        global_batch_size: Examples of one step, over all tasks.
        replica_batch_size: Examples of one step that one device sees.
        writes: What it leaves, and where.
        environment: TF_CONFIG, the one variable that it gets; None where ports are not known, or without a cluster.
        command: What starts it, quoted for a shell.
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


def plan(cluster: Cluster | None, work: Work) -> list[TaskPlan]:
    """Say what every task would do.

    Args:
        cluster: The cluster; None for this process alone.
        work: What it is to do.

    Returns:
        One row per task, in TensorFlow's order of roles.

    Raises:
        ShardingError: the batch cannot be split evenly over the replicas.
    """
    command = _command(cluster, work)
    if cluster is None:
        batch, devices = work.global_batch_size, work.devices_per_worker
        size = None if batch is None or devices is None else replica_batch_size(batch, devices)
        reads, writes = _rows(work.rows), f"checkpoints in {work.model_dir}"
        role = "trains and evaluates"
        return [
            TaskPlan(
                "this process", "localhost", None, role, reads, batch, size, writes, None, command
            )
        ]
    return [_task(cluster, task, text, work, command) for task, text in cluster.placed()]


def _command(cluster: Cluster | None, work: Work) -> str:
    started_by_a_verb = isinstance(cluster, LocalCluster) and work.script is None
    what = ["-e", "tfdistribute::run_task()"] if started_by_a_verb else [work.script or "train.R"]
    return shlex.join(["Rscript", *what])


def _task(cluster: Cluster, task: Task, text: str, work: Work, command: str) -> TaskPlan:
    address = parse_address(text)
    known = isinstance(cluster, ClusterSpec)
    batch, replica_batch = _batches(cluster, task, work)
    return TaskPlan(
        task=str(task),
        host=address.host if address else "localhost",
        port=address.port if address and task.type != EVALUATOR else None,
        role=_role(cluster, task),
        reads=_reads(cluster, task, work),
        global_batch_size=batch,
        replica_batch_size=replica_batch,
        writes=_writes(cluster, task, work),
        environment=to_tf_config(cluster, task) if known else None,
        command=command,
    )


def _shard(cluster: Cluster, task: Task, work: Work) -> Shard:
    position = [each for each in cluster.tasks if each.trains].index(task)
    processes = cluster.training_processes
    devices = getattr(cluster, "devices_per_worker", work.devices_per_worker or 1)
    return Shard(processes, position, 1 if cluster.has_servers else processes * devices)


def _batches(cluster: Cluster, task: Task, work: Work) -> tuple[int | None, int | None]:
    if task.type == EVALUATOR:
        return work.evaluation_batch_size, work.evaluation_batch_size
    if task.type == "ps" or work.global_batch_size is None:
        return None, None
    shard = _shard(cluster, task, work)
    return work.global_batch_size, replica_batch_size(work.global_batch_size, shard.replicas)


def _role(cluster: Cluster, task: Task) -> str:
    if task.type == EVALUATOR:
        return "evaluates every checkpoint"
    if task.type == "ps":
        return "keeps variables"
    return "trains, and leads" if task == chief_of(cluster.tasks) else "trains"


def _reads(cluster: Cluster, task: Task, work: Work) -> str:
    if task.type == "ps":
        return "nothing"
    if task.type == EVALUATOR:
        return f"{_rows(work.evaluation_rows)} of the evaluation, and checkpoints"
    shard = _shard(cluster, task, work)
    if shard.in_turns:
        return f"batch {shard.pipeline + 1} of every {shard.pipelines}"
    if shard.pipelines == 1:
        return _rows(work.rows)
    if work.global_batch_size is None:
        return f"part {shard.pipeline + 1} of {shard.pipelines} of every batch"
    own, size = shard.own_replicas, replica_batch_size(work.global_batch_size, shard.replicas)
    return f"examples {own.start * size + 1} to {own.stop * size} of every {work.global_batch_size}"


def _writes(cluster: Cluster, task: Task, work: Work) -> str:
    if task.type == "ps":
        return "nothing"
    if task.type == EVALUATOR:
        name = "eval" if work.evaluation_name is None else f"eval_{work.evaluation_name}"
        return f"metrics in {work.model_dir}/{name}"
    return (
        f"checkpoints in {work.model_dir}"
        if task == chief_of(cluster.tasks)
        else "nothing that stays"
    )


def _rows(rows: int | None) -> str:
    return "all rows" if rows is None else f"all {rows} rows"
