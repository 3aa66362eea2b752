"""Clusters of actors that Ray starts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from tfdistribute.cluster.engines.engine import EngineCluster
from tfdistribute.descriptions import check_choice, check_text
from tfdistribute.errors import ArgumentError

PLACEMENTS = ("pack", "spread", "strict_pack", "strict_spread")
_ADDRESS = re.compile(r"auto|(ray://)?([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):[0-9]{1,5}")


@dataclass(frozen=True, kw_only=True)
class RayCluster(EngineCluster, kind="ray"):
    """Processes in actors of a placement group; Ray restarts those that are lost."""

    engine: ClassVar[str] = "Ray"
    member: ClassVar[str] = "actor"

    address: str = "auto"  # That of the cluster of which this machine is a node; or host:port, ray://host:port.
    placement: str = "pack"
    detached: bool = (
        False  # Whether the supervisor runs on the head node, and so outlives the session.
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("placement", self.placement, PLACEMENTS)
        check_text("address", self.address)
        if _ADDRESS.fullmatch(self.address) is None:
            raise ArgumentError(
                f"`address` is {self.address!r}, which is not the address of a Ray cluster.",
                'Use "auto", "host:port" with the port of the head node (6379), or "ray://host:port" (10001).',
                argument="address",
                value=self.address,
            )
