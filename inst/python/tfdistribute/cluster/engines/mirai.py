"""Clusters of daemons of R's package mirai, which an R session has set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tfdistribute.cluster.engines.engine import EngineCluster
from tfdistribute.descriptions import check_text


@dataclass(frozen=True, kw_only=True)
class MiraiCluster(EngineCluster, kind="mirai"):
    """Processes in the daemons of an R session, to which only the session can send the members.

    Args:
        profile: The compute profile in which they are set; None for the session's current one.
        address: Where the daemons reach this machine. The session knows it when the job starts.
        exchange: Private directory in which the session reads which members to send, and says why it cannot.
    """

    engine: ClassVar[str] = "mirai"
    member: ClassVar[str] = "daemon"
    # Not tried: a training that goes on with fewer daemons.
    can_lose_hosts: ClassVar[bool] = False

    profile: str | None = None
    address: str = ""
    exchange: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("profile", "address", "exchange"):
            check_text(name, getattr(self, name))
