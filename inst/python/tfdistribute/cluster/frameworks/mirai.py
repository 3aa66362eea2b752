"""Clusters of daemons of R's package mirai, which an R session has set."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from tfdistribute.cluster.frameworks.framework import FrameworkCluster
from tfdistribute.descriptions.constraints import ONE_LINE, Fact, Line


@dataclass(frozen=True, kw_only=True)
class MiraiCluster(FrameworkCluster, kind="mirai"):
    """Processes in the daemons of an R session, to which only the session can send the members.

    Args:
        ps: Parameter servers, a count of at most 1000. Each has its own daemon.
        evaluator: Whether an additional process, in the daemon of the chief, evaluates checkpoints, TRUE or FALSE.
        workers: Processes that train, including the chief, a count of at most 1000. Each has its own daemon. Two
            counts such as `c(2, 4)` are the fewest and the most workers, see section Lost daemons. They require
            `ps = 0`.
        profile: Compute profile, a string. NULL uses the current profile of mirai.
    """

    framework: ClassVar[str] = "mirai"
    member: ClassVar[str] = "daemon"

    profile: Line | None = None
    address: Annotated[str, ONE_LINE, Fact.INTERNAL] = ""
    exchange: Annotated[str, ONE_LINE, Fact.INTERNAL] = ""
