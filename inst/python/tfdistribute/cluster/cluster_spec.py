"""CLUSTER_SPEC, in which Vertex AI describes the cluster to custom containers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from tfdistribute.cluster.spec import EVALUATOR, PS
from tfdistribute.cluster.tf_config import TfConfig, parse_tf_config
from tfdistribute.errors import ClusterError
from tfdistribute.files import parse_object

VARIABLE = "CLUSTER_SPEC"

ROLES_OF_POOLS = {
    "workerpool0": "chief",
    "workerpool1": "worker",
    "workerpool2": PS,
    "workerpool3": EVALUATOR,
}


def read_cluster_spec(environment: Mapping[str, str]) -> TfConfig | None:
    """Read the cluster and the task of this process; None without CLUSTER_SPEC, or for a single process.

    Its form: https://cloud.google.com/vertex-ai/docs/training/distributed-training, "Format CLUSTER_SPEC".
    """
    text = environment.get(VARIABLE, "").strip()
    if not text:
        return None
    content = parse_object(text.encode())
    cluster, task = (content or {}).get("cluster"), (content or {}).get("task")
    if not isinstance(cluster, dict) or not isinstance(task, dict):
        raise _unreadable(text)
    pools = cast("dict[str, Any]", cluster)
    own = dict(cast("dict[str, Any]", task))
    role = ROLES_OF_POOLS.get(str(own.get("type")))
    if role is None or not set(pools) <= set(ROLES_OF_POOLS):
        raise _unreadable(text)
    own["type"] = role
    roles = {ROLES_OF_POOLS[pool]: addresses for pool, addresses in pools.items()}
    # The evaluator is not part of the cluster that trains.
    roles.pop(EVALUATOR, None)
    try:
        config = parse_tf_config(json.dumps({"cluster": roles, "task": own}))
    except ClusterError as error:
        raise _unreadable(text) from error
    return None if config is None or config.tasks < 2 else config


def _unreadable(text: str) -> ClusterError:
    return ClusterError(
        f"{VARIABLE} is {text[:200]!r}, which is not the form of Vertex AI.",
        'Write it as {"cluster": {"workerpool0": ["host:port"], "workerpool1": ["host:port"]}, '
        '"task": {"type": "workerpool0", "index": 0}}, or set TF_CONFIG: it is used instead.',
        argument=VARIABLE,
        value=text[:200],
    )
