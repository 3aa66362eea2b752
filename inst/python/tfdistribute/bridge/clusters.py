"""Checks, plans and TF_CONFIG of clusters for R. TensorFlow is not started."""

import dataclasses
import os
from collections.abc import Callable, Sequence
from typing import Any

from tfdistribute import engine, plan, versions
from tfdistribute.cluster.checks import check, check_tf_configs
from tfdistribute.cluster.facts import facts_of_cluster
from tfdistribute.cluster.hosts import HostsCluster
from tfdistribute.cluster.managed import KubernetesCluster
from tfdistribute.cluster.slurm_environment import read_slurm
from tfdistribute.cluster.spec import Cluster
from tfdistribute.cluster.tf_config import read_cluster_spec, read_tf_config
from tfdistribute.launch.host.hardware import devices_of_tasks
from tfdistribute.launch.places.connect_hosts import check_hosts_cluster
from tfdistribute.launch.platforms.kubectl import Kubernetes
from tfdistribute.launch.schedulers.registry import scheduler_of
from tfdistribute.run_config import RunSettings, check_settings_of_tasks
from tfdistribute.strategies import Strategy


def check_cluster(
    cluster: Cluster,
    devices_per_worker: int,
    batch_size: int | None = None,
    environment: dict[str, str] | None = None,
    send_members: Callable[[], Any] | None = None,
) -> list[dict[str, Any]]:
    """List the mistakes of a described cluster.

    Args:
        environment: Variables of tasks on other hosts.
        send_members: Called again and again while hosts are connected; None if nobody here starts them.
    """
    devices = devices_of_tasks(cluster, os.environ)
    problems = check(facts_of_cluster(cluster, devices_per_worker, batch_size, devices))
    its = scheduler_of(cluster)
    if its is not None:
        problems += its.check(cluster)
    elif isinstance(cluster, HostsCluster):
        wait = send_members or (lambda: False)
        problems += check_hosts_cluster(cluster, environment or {}, versions.tensorflow(), wait)
    if isinstance(cluster, KubernetesCluster):
        problems += Kubernetes(cluster).check()
    return _as_rows(problems)


def check_tf_config(
    texts: tuple[str, ...],
    devices_per_worker: int,
    batch_size: int | None = None,
    of_this_process: bool = False,
) -> list[dict[str, Any]]:
    late = of_this_process and engine.is_started() and texts[0] != engine.tf_config_at_start()
    return _as_rows(check_tf_configs(texts, devices_per_worker, batch_size, late))


def read_cluster(environment: dict[str, str]) -> dict[str, Any] | None:
    """Read the cluster of this process for cluster_from_environment(): the first that a variable describes."""
    readers = {
        "TF_CONFIG": read_tf_config,
        "SLURM_JOB_ID": read_slurm,
        "CLUSTER_SPEC": read_cluster_spec,
    }
    for source, read in readers.items():
        cluster = read(environment)
        if cluster is not None:
            return {**dataclasses.asdict(cluster), "source": source}
    return None


def plan_tasks(
    cluster: Cluster | None, strategy: Strategy | None, workload: plan.Workload
) -> list[dict[str, Any]]:
    cpus = getattr(strategy, "devices_per_replica", 1)
    devices = devices_of_tasks(cluster, os.environ, logical_cpus=cpus)
    check_settings_of_tasks(RunSettings(strategy=strategy, cluster=cluster), devices=devices)
    return _as_rows(plan.plan(cluster, workload, strategy))


def _as_rows(values: Sequence[Any]) -> list[dict[str, Any]]:
    return [dataclasses.asdict(value) for value in values]
