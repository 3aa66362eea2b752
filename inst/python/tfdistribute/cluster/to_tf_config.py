"""Write TF_CONFIG for a task of a cluster. Plain Python."""

from __future__ import annotations

import json

from tfdistribute.cluster.spec import EVALUATOR, ClusterSpec, Task
from tfdistribute.errors import ClusterError


def to_tf_config(cluster: ClusterSpec, task: Task) -> str:
    """Write what the environment of one task says.

    Args:
        cluster: The cluster. Its evaluator stands outside the ``cluster`` dictionary, as TensorFlow wants it.
        task: One of its tasks.

    Returns:
        JSON, on one line.

    Raises:
        ClusterError: the cluster has no such task.

    Source:
        https://www.tensorflow.org/guide/distributed_training, "Setting up the TF_CONFIG environment variable".
    """
    if task not in cluster.tasks:
        raise ClusterError(
            f"`task` is {task}, which the cluster does not have.",
            f"Use one of {', '.join(str(each) for each in cluster.tasks)}.",
            argument="task",
            value=str(task),
        )
    roles = {role: list(each) for role, each in cluster.addresses.items() if role != EVALUATOR}
    return json.dumps({"cluster": roles, "task": {"type": task.type, "index": task.index}})
