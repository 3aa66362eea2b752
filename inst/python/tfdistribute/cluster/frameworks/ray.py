"""Clusters of actors that Ray starts."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from tfdistribute.cluster.frameworks.framework import FrameworkCluster
from tfdistribute.descriptions.constraints import Fact, Pattern, Text

Placement = Literal["pack", "spread", "strict_pack", "strict_spread"]
_Address = Annotated[
    Text,
    Pattern(
        "auto|(ray://)?([A-Za-z0-9._-]+|\\[[0-9A-Fa-f:.]+\\]):[0-9]{1,5}",
        "`{argument}` is {value}, which is not the address of a Ray cluster.",
        'Use "auto", "host:port" with the port of the head node (6379), or "ray://host:port" (10001).',
    ),
]


@dataclass(frozen=True, kw_only=True)
class RayCluster(FrameworkCluster, kind="ray"):
    """Processes in actors of a placement group; Ray restarts those that are lost.

    Args:
        ps: Parameter servers, a count of at most 1000. Each has its own actor.
        evaluator: Whether an additional process, in the actor of the chief, evaluates checkpoints, TRUE or FALSE.
        cpus_per_worker: CPUs of each actor, a count.
        gpus_per_worker: GPUs of each actor, a count from 0.
        address: Address of the Ray cluster, a string: `"auto"` if this machine is one of its nodes, `"host:port"` of
            its head node, or `"ray://host:port"` for a Ray client.
        placement: How Ray places the actors, a string: `"pack"` on few nodes, `"spread"` on many nodes, `"strict_pack"`
            on exactly one node, or `"strict_spread"` with each on its own node.
    """

    framework: ClassVar[str] = "Ray"
    member: ClassVar[str] = "actor"

    # That of the cluster of which this machine is a node; or host:port, ray://host:port.
    address: _Address = "auto"
    placement: Placement = "pack"
    # Whether the supervisor runs on the head node, and so outlives the session.
    detached: Annotated[bool, Fact.INTERNAL] = False
