"""TF_CONFIG of a task that a managed platform has started, from the variables that the platform sets."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from tfdistribute.cluster.spec import EVALUATOR, ROLES, Task
from tfdistribute.cluster.tf_config import TfConfig, parse_tf_config
from tfdistribute.errors import ClusterError
from tfdistribute.files import parse_object

# Addresses of all tasks by role, and the number of this container among them: of an indexed Job of Kubernetes.
ADDRESSES = "TFDISTRIBUTE_ADDRESSES"
INDEX = "JOB_COMPLETION_INDEX"
# Set by Vertex AI: https://cloud.google.com/vertex-ai/docs/training/distributed-training
CLUSTER_SPEC = "CLUSTER_SPEC"
POOLS = {
    "workerpool0": "chief",
    "workerpool1": "worker",
    "workerpool2": "ps",
    "workerpool3": EVALUATOR,
}


def platform_tf_config(environment: Mapping[str, str]) -> str | None:
    """Return the TF_CONFIG of this task as text; None if no variable describes a cluster.

    TF_CONFIG counts first, then an indexed Job, then CLUSTER_SPEC. An evaluator leaves the cluster, as TensorFlow
    requires; platforms list it.

    Raises:
        ClusterError: a variable does not describe a cluster.
    """
    found = (
        parse_tf_config(environment.get("TF_CONFIG", ""))
        or _of_index(environment)
        or parse_cluster_spec(environment.get(CLUSTER_SPEC, ""))
    )
    if found is None or found.task_type is None:
        return None
    cluster = {role: list(each) for role, each in found.cluster.items() if role != EVALUATOR}
    task = {"type": found.task_type, "index": found.task_index}
    return json.dumps({"cluster": cluster, "task": task})


def parse_cluster_spec(text: str) -> TfConfig | None:
    """Parse Vertex AI's CLUSTER_SPEC; None if it is empty.

    Raises:
        ClusterError: it is not JSON, or does not have Vertex AI's form.
    """
    if not text.strip():
        return None
    content = parse_object(text) or {}
    cluster, task = content.get("cluster"), content.get("task")
    if not isinstance(cluster, dict) or not isinstance(task, dict):
        raise _misfit(CLUSTER_SPEC, text)
    pools, own = cast("dict[str, Any]", cluster), cast("dict[str, Any]", task)
    addresses = {
        POOLS[pool]: tuple(str(each) for each in pools[pool]) for pool in POOLS if pools.get(pool)
    }
    pool, index = own.get("type"), own.get("index", 0)
    if pool not in POOLS or not str(index).isdecimal():
        raise _misfit(CLUSTER_SPEC, text)
    return TfConfig(addresses, POOLS[str(pool)], int(index))


def _of_index(environment: Mapping[str, str]) -> TfConfig | None:
    text, index = environment.get(ADDRESSES, ""), environment.get(INDEX, "")
    if not text or not index.isdecimal():
        return None
    addresses = parse_object(text)
    if addresses is None:
        raise _misfit(ADDRESSES, text)
    roles = {role: tuple(addresses[role]) for role in ROLES if addresses.get(role)}
    tasks = [Task(role, number) for role in roles for number in range(len(roles[role]))]
    if int(index) >= len(tasks):
        raise _misfit(INDEX, index)
    task = tasks[int(index)]
    return TfConfig(roles, task.type, task.index)


def _misfit(variable: str, text: str) -> ClusterError:
    return ClusterError(
        f"{variable} does not describe a cluster: {text[:200]!r}.",
        "Let the platform set it, or set TF_CONFIG, which counts first.",
        argument=variable,
        value=text[:200],
    )
