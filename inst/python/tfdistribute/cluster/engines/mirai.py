"""Clusters of daemons of R's package mirai, which an R session has set."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from tfdistribute.cluster.engines.engine import EngineCluster
from tfdistribute.cluster.spec import Workers
from tfdistribute.descriptions.constraints import ONE_LINE, Fact, Line


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

    workers: Workers
    profile: Line | None = None
    address: Annotated[str, ONE_LINE, Fact.INTERNAL] = ""
    exchange: Annotated[str, ONE_LINE, Fact.INTERNAL] = ""
