"""TF_CONFIG of a task that a managed platform has started, from the variables that the platform sets."""

from __future__ import annotations

import json
from collections.abc import Mapping

from tfdistribute.cluster.cluster_spec import read_cluster_spec
from tfdistribute.cluster.spec import EVALUATOR, ROLES, Task
from tfdistribute.cluster.tf_config import TfConfig, parse_tf_config
from tfdistribute.errors import ClusterError
from tfdistribute.files import parse_object

# Addresses of all tasks by role, and the number of this container among them: of an indexed Job of Kubernetes.
ADDRESSES = "TFDISTRIBUTE_ADDRESSES"
INDEX = "JOB_COMPLETION_INDEX"


def platform_tf_config(environment: Mapping[str, str]) -> str | None:
    """Return the TF_CONFIG of this task as text; None if no variable describes a cluster.

    TF_CONFIG counts first, then an indexed Job, then CLUSTER_SPEC. An evaluator leaves the cluster, as TensorFlow
    requires; platforms list it. ClusterError if a variable does not describe a cluster.
    """
    config = (
        parse_tf_config(environment.get("TF_CONFIG", ""))
        or _of_index(environment)
        or read_cluster_spec(environment)
    )
    if config is None or config.task_type is None:
        return None
    roles = config.cluster.items()
    cluster = {role: list(each) for role, each in roles if each and role != EVALUATOR}
    task = {"type": config.task_type, "index": config.task_index}
    return json.dumps({"cluster": cluster, "task": task})


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
