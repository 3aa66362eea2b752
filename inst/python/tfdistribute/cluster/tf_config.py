"""TF_CONFIG, the variable that describes a cluster to TensorFlow, and CLUSTER_SPEC, in which Vertex AI does so."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from tfdistribute.cluster.spec import EVALUATOR, PS, ClusterSpec, Task
from tfdistribute.errors import ClusterError
from tfdistribute.files import parse_json, parse_object

_MOST_CHARACTERS = 200
REMEDY = (
    'Write it as {"cluster": {"chief": ["host:port"], "worker": ["host:port"]}, '
    '"task": {"type": "chief", "index": 0}}, or unset TF_CONFIG to train on this machine alone.'
)

VARIABLE = "CLUSTER_SPEC"

ROLES_OF_POOLS = {
    "workerpool0": "chief",
    "workerpool1": "worker",
    "workerpool2": PS,
    "workerpool3": EVALUATOR,
}
# An index with more digits is not one.
_MOST_DIGITS = 20


@dataclass(frozen=True)
class TfConfig:
    cluster: dict[str, tuple[str, ...]]
    task_type: str | None = None  # None if TF_CONFIG names no task.
    task_index: int = 0

    @property
    def tasks(self) -> int:
        listed = sum(len(addresses) for addresses in self.cluster.values())
        unlisted = self.task_type == "evaluator" and "evaluator" not in self.cluster
        return listed + (1 if unlisted and listed else 0)

    @property
    def task(self) -> str:
        return "no task" if self.task_type is None else f"{self.task_type} {self.task_index}"


def read_tf_config(environment: Mapping[str, str]) -> TfConfig | None:
    """Read the cluster; None if TF_CONFIG is not set or names neither cluster nor task.

    ClusterError if it is not JSON or does not have TensorFlow's form. Addresses are not checked.
    """
    config = parse_tf_config(environment.get("TF_CONFIG", ""))
    if config is not None:
        _check_task(config)
    return config


def parse_tf_config(text: str) -> TfConfig | None:
    text = text.strip()
    if not text:
        return None
    try:
        content = parse_json(text, _without_duplicates)
    except json.JSONDecodeError as error:
        near = " ".join(text[max(error.pos - 15, 0) : error.pos + 15].split())
        raise ClusterError(
            f"TF_CONFIG is not JSON: {error.msg} at line {error.lineno}, column {error.colno}, "
            f"near `{near}`.",
            REMEDY,
            argument="TF_CONFIG",
            value=near,
        ) from error
    except ValueError as error:
        raise ClusterError(
            f"TF_CONFIG cannot be read: {error}.", REMEDY, argument="TF_CONFIG"
        ) from error
    settings = _mapping(content, "TF_CONFIG")
    if "sparseCluster" in settings:
        raise ClusterError(
            'TF_CONFIG has a "sparseCluster", which is not supported: each task must know all others.',
            f"{REMEDY} In a TFJob of Kubeflow, remove `enableDynamicWorker`.",
            argument="TF_CONFIG",
        )
    cluster = {
        role: _addresses(addresses, f'TF_CONFIG["cluster"]["{role}"]')
        for role, addresses in _mapping(settings.get("cluster", {}), 'TF_CONFIG["cluster"]').items()
    }
    task = _mapping(settings.get("task", {}), 'TF_CONFIG["task"]')
    if not cluster and not task:
        return None
    return _with_task(cluster, task)


def to_tf_config(cluster: ClusterSpec, task: Task) -> str:
    """Write the TF_CONFIG of one task, a line of JSON; TensorFlow requires that it leaves out the evaluator."""
    if task not in cluster.tasks:
        raise ClusterError(
            f"`task` is {task}, which the cluster does not have.",
            f"Use one of {', '.join(str(each) for each in cluster.tasks)}.",
            value=str(task),
        )
    roles = {role: list(each) for role, each in cluster.addresses.items() if role != EVALUATOR}
    return json.dumps({"cluster": roles, "task": {"type": task.type, "index": task.index}})


def _with_task(cluster: dict[str, tuple[str, ...]], task: dict[str, Any]) -> TfConfig:
    role, index = task.get("type"), task.get("index", 0)
    if role is None:
        return TfConfig(cluster)
    if isinstance(index, str) and index.isdecimal() and len(index) < _MOST_DIGITS:
        index = int(index)
    if not isinstance(role, str) or isinstance(index, bool) or not isinstance(index, int):
        raise _misfit('TF_CONFIG["task"]', "a type and an index from 0", task)
    return TfConfig(cluster, role, index)


def _check_task(config: TfConfig) -> None:
    role, index = config.task_type, config.task_index
    if role is None:
        return
    if index < 0:
        task = {"type": role, "index": index}
        raise _misfit('TF_CONFIG["task"]', "a type and an index from 0", task)
    size = len(config.cluster.get(role, ()))
    # An evaluator is not part of the training cluster and need not be listed.
    if config.cluster and index >= size and not (role == "evaluator" and size == 0):
        raise ClusterError(
            f'TF_CONFIG says that this process is {role} {index}, but its cluster has {size} "{role}".',
            "Make task and cluster agree.",
            argument="TF_CONFIG",
            value=f"{role} {index}",
        )


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Reject names that occur twice, of which Python would keep the last."""
    values: dict[str, Any] = {}
    for name, value in pairs:
        if name in values:
            raise ClusterError(
                f'TF_CONFIG has "{name[:_MOST_CHARACTERS]}" twice.',
                "Keep one of them.",
                argument="TF_CONFIG",
                value=name[:_MOST_CHARACTERS],
            )
        values[name] = value
    return values


def _mapping(value: object, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _misfit(name, "an object in braces", value)
    return cast("dict[str, Any]", value)


def _addresses(value: object, name: str) -> tuple[str, ...]:
    entries = value
    if isinstance(value, dict):
        by_index = cast("dict[str, object]", value)
        entries = [by_index.get(str(index)) for index in range(len(by_index))]
        if None in entries:
            raise ClusterError(
                f"{name} is a sparse cluster, which is not supported: it leaves out index {entries.index(None)}.",
                "Give the addresses of all its tasks, as a list.",
                argument="TF_CONFIG",
            )
    if not isinstance(entries, list):
        raise _misfit(name, "a list of addresses", entries)
    addresses = cast("list[object]", entries)
    if not all(isinstance(address, str) and address for address in addresses):
        raise _misfit(name, "a list of addresses", addresses)
    return tuple(str(address) for address in addresses)


def _misfit(name: str, expected: str, value: object) -> ClusterError:
    try:
        shown = json.dumps(value)
    except RecursionError:
        shown = "deeply nested values"
    if len(shown) > _MOST_CHARACTERS:
        shown = f"{shown[: _MOST_CHARACTERS - 3]}..."
    return ClusterError(
        f"{name} must be {expected}, not {shown}.",
        REMEDY,
        argument="TF_CONFIG",
        value=shown,
    )


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
