"""Plan of a training: what each task of a cluster would do."""

import dataclasses
import shlex
from dataclasses import dataclass

from tfdistribute.cluster.addresses import Address, parse_address
from tfdistribute.cluster.checks import batch_does_not_divide
from tfdistribute.cluster.facts import facts_of_cluster
from tfdistribute.cluster.hosts import HostsCluster
from tfdistribute.cluster.managed import ManagedCluster
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
from tfdistribute.errors import ShardingError
from tfdistribute.sharding import Shard, replica_batch_size
from tfdistribute.strategies import Strategy
from tfdistribute.strategies.description import ReplicaDevices
from tfdistribute.strategies.device_names import check_per_replica, group_devices, short_names


@dataclass(frozen=True)
class Workload(Description):
    model_dir: str
    rows: int | None = None
    global_batch_size: int | None = None
    evaluation_rows: int | None = None
    evaluation_batch_size: int | None = None
    evaluation_name: str | None = None
    # If the cluster does not say. Without a cluster, those of the strategy count.
    devices_per_worker: int | None = 1
    script: str | None = None  # None for "train.R", or for a verb that starts a local cluster.
    micro_batches: int = 1  # Parts in which each replica computes its batch.
    precision: str = "float32"


@dataclass(frozen=True)
class TaskPlan:
    task: str  # Such as "worker 1"; "this process" without a cluster.
    host: str
    port: int | None  # None if it does not listen, or if the port is chosen at the start.
    role: str
    reads: str
    global_batch_size: int | None
    replica_batch_size: int | None
    writes: str
    environment: str | None  # Its TF_CONFIG; None without a cluster, or while ports are unknown.
    command: str  # Quoted for a shell.
    # For each part of a model in parts, the devices of all replicas that train it.
    logical_devices: tuple[str, ...] = ()
    micro_batches: int | None = None  # None if the task does not train.
    precision: str | None = None  # None if the task computes nothing.


def plan(
    cluster: Cluster | None, workload: Workload, strategy: Strategy | None = None
) -> list[TaskPlan]:
    """Plan every task, in TensorFlow's order of roles; ShardingError or StrategyError for work that does not divide."""
    command = _command(cluster, workload)
    replicas = _Replicas.of(strategy, cluster, workload)
    if cluster is None:
        batch, count = workload.global_batch_size, replicas.count
        size = None if batch is None or count is None else replica_batch_size(batch, count)
        reads, writes = _rows(workload.rows), f"checkpoints in {workload.model_dir}"
        role = "trains and evaluates"
        return [
            TaskPlan(
                "this process",
                "localhost",
                None,
                role,
                reads,
                batch,
                size,
                writes,
                None,
                command,
                replicas.logical_devices,
                workload.micro_batches,
                workload.precision,
            )
        ]
    _check_numbers_of_workers(cluster, workload, replicas.count or 1)
    return [
        _task(cluster, task, text, workload, command, replicas)
        for task, text in cluster.tasks_at_addresses()
    ]


def _check_numbers_of_workers(cluster: Cluster, workload: Workload, replicas: int) -> None:
    facts = facts_of_cluster(cluster, global_batch_size=workload.global_batch_size)
    if facts.fewest_workers in (None, cluster.training_processes):
        return
    for finding in batch_does_not_divide(dataclasses.replace(facts, devices_per_worker=replicas)):
        raise ShardingError(
            finding.message,
            finding.fix,
            argument=finding.field,
            value=str(workload.global_batch_size),
        )


@dataclass(frozen=True)
class _Replicas:
    count: int | None  # None if it depends on the machine.
    logical_devices: tuple[str, ...]

    @classmethod
    def of(
        cls, strategy: Strategy | None, cluster: Cluster | None, workload: Workload
    ) -> "_Replicas":
        per_replica = getattr(strategy, "devices_per_replica", 1)
        if cluster is None and strategy is not None:
            rows = strategy.described_replicas()
        else:
            given = getattr(cluster, "devices_per_worker", workload.devices_per_worker or 1)
            # A worker with one CPU device gets as many as its replica needs.
            devices = per_replica if given == 1 else given
            check_per_replica(devices, per_replica)
            rows = group_devices(short_names(devices), per_replica)
        if rows is None:
            return cls(None, ())
        return cls(len(rows), _logical_devices(rows, getattr(strategy, "devices", None)))


def _logical_devices(rows: ReplicaDevices, named: object) -> tuple[str, ...]:
    if len(rows[0]) == 1:
        return ()
    columns = [", ".join(names) for names in zip(*rows, strict=True)]
    if isinstance(named, tuple):
        return tuple(columns)
    return tuple(f"{names.replace('CPU', 'GPU')} (or {names})" for names in columns)


def _command(cluster: Cluster | None, workload: Workload) -> str:
    kinds = (LocalCluster, HostsCluster, ManagedCluster)
    started_by_verb = isinstance(cluster, kinds) and workload.script is None
    what = (
        ["-e", "tfdistribute:::run_task()"] if started_by_verb else [workload.script or "train.R"]
    )
    return shlex.join([getattr(cluster, "rscript", "Rscript"), *what])


def _task(
    cluster: Cluster, task: Task, text: str, workload: Workload, command: str, replicas: _Replicas
) -> TaskPlan:
    address = parse_address(text)
    count = replicas.count or 1
    batch, replica_batch = _batches(cluster, task, workload, count)
    return TaskPlan(
        task=str(task),
        host=_host(cluster, task, address),
        port=address.port if address and task.type != EVALUATOR else None,
        role=_role(cluster, task),
        reads=_reads(cluster, task, workload, count),
        global_batch_size=batch,
        replica_batch_size=replica_batch,
        writes=_writes(cluster, task, workload),
        environment=to_tf_config(cluster, task) if isinstance(cluster, ClusterSpec) else None,
        command=command,
        logical_devices=replicas.logical_devices if task.trains else (),
        micro_batches=workload.micro_batches if task.trains else None,
        precision=None if task.type == "ps" else workload.precision,
    )


def _host(cluster: Cluster, task: Task, address: Address | None) -> str:
    if isinstance(cluster, HostsCluster):
        return cluster.host_of(task)
    if isinstance(cluster, ManagedCluster):
        return cluster.place
    return address.host if address else "localhost"


def _shard(cluster: Cluster, task: Task, replicas: int) -> Shard:
    rank = [each for each in cluster.tasks if each.trains].index(task)
    processes = cluster.training_processes
    return Shard(processes, rank, 1 if cluster.has_servers else processes * replicas)


def _batches(
    cluster: Cluster, task: Task, workload: Workload, replicas: int
) -> tuple[int | None, int | None]:
    if task.type == EVALUATOR:
        return workload.evaluation_batch_size, workload.evaluation_batch_size
    if task.type == "ps" or workload.global_batch_size is None:
        return None, None
    shard = _shard(cluster, task, replicas)
    return workload.global_batch_size, replica_batch_size(
        workload.global_batch_size, shard.replicas
    )


def _role(cluster: Cluster, task: Task) -> str:
    if task.type == EVALUATOR:
        return "evaluates every checkpoint"
    if task.type == "ps":
        return "holds variables"
    return "trains as the chief" if task == chief_of(cluster.tasks) else "trains"


def _reads(cluster: Cluster, task: Task, workload: Workload, replicas: int) -> str:
    if task.type == "ps":
        return "nothing"
    if task.type == EVALUATOR:
        return f"{_rows(workload.evaluation_rows)} of the evaluation, and checkpoints"
    shard = _shard(cluster, task, replicas)
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
