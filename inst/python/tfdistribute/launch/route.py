"""Whether a training is performed in this process, or by a job that it starts. Plain Python."""

from __future__ import annotations

from collections.abc import Mapping

from tfdistribute.cluster.addresses import Address, parse_address
from tfdistribute.cluster.hosts import is_here, resolve
from tfdistribute.cluster.spec import Cluster, ClusterSpec
from tfdistribute.cluster.tf_config import read_tf_config
from tfdistribute.errors import ClusterError
from tfdistribute.task_events import JOB


def starts_job(cluster: Cluster, environment: Mapping[str, str]) -> bool:
    """Say who performs a training with a cluster.

    Args:
        cluster: The cluster of the run configuration.
        environment: Variables by name, such as ``os.environ``.

    Returns:
        True where a job is to be started on this machine. False where this process is a task: because a job has
        started it, because TF_CONFIG says so, whatever the run configuration has, or because the cluster names it.

    Raises:
        ClusterError: the cluster has tasks on other machines, and this process is none of its tasks; or TF_CONFIG
            cannot be read.
    """
    if environment.get(JOB):
        # Also the only task of a cluster of one.
        return False
    config = read_tf_config(environment)
    if config is not None and config.task_type is not None and config.tasks > 1:
        return False
    if not isinstance(cluster, ClusterSpec):
        return True
    if cluster.task is not None:
        return False
    elsewhere = _elsewhere(cluster)
    if elsewhere is not None:
        raise ClusterError(
            f"`cluster` has tasks on {elsewhere}, where this session cannot start processes, and does not say which "
            "task this process is.",
            "Start this script on each host, with the TF_CONFIG that as_tf_config(cluster, task) writes for the task.",
            argument="cluster",
            value=elsewhere,
        )
    return True


def _elsewhere(cluster: ClusterSpec) -> str | None:
    addresses: list[Address] = []
    for _, text in cluster.placed():
        address = parse_address(text)
        assert address is not None
        addresses.append(address)
    found = resolve(addresses)
    away = (each.host for each in addresses if not is_here(found.get(each.host, ())))
    return next(away, None)
