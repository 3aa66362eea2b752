"""Clusters whose tasks run on several hosts, and are started there by this package."""

from dataclasses import dataclass, field
from typing import Annotated

from tfdistribute.cluster.spec import (
    EVALUATOR,
    STALL_TIMEOUT_S,
    Restarts,
    StartedCluster,
    Supervision,
    Task,
    Timeout,
)
from tfdistribute.descriptions.constraints import ONE_LINE, Count, Fact, Ge, Line, Pattern

VARIABLE = Pattern(
    "[A-Za-z_][A-Za-z0-9_]*", "`{argument}` holds {value}, which is not the name of a variable."
)
Variables = Annotated[dict[Annotated[str, VARIABLE], Annotated[str, ONE_LINE]], Fact.SECRET]


@dataclass(frozen=True, kw_only=True)
class HostsCluster(StartedCluster):
    """Processes on hosts, with the evaluator on the host of the chief."""

    devices_per_worker: Count = 1
    rscript: Line = "Rscript"
    python: Line | None = None  # None for that of the session.
    libraries: tuple[Line, ...] = ()  # Of R; none for those of the session.
    environment: Variables = field(default_factory=dict[str, str])
    # Without a sign of life for so long, a host counts as lost, and ends its tasks.
    lease_s: Annotated[float, Ge(5)] = 30.0
    start_timeout_s: Timeout = 120.0
    stall_timeout_s: Timeout = STALL_TIMEOUT_S
    restarts: Restarts = 3

    @property
    def names_of_hosts(self) -> tuple[str, ...]:
        raise NotImplementedError

    @property
    def given_addresses(self) -> dict[str, str]:
        """Addresses by host at which the tasks reach each other, as far as the user names them."""
        return {}

    @property
    def supervision(self) -> Supervision:
        return Supervision(self.start_timeout_s, self.stall_timeout_s, self.restarts, "open")

    def host_of(self, task: Task) -> str:
        number = task.index + (task.type == "worker")
        hosts = self.names_of_hosts
        return hosts[0 if task.type == EVALUATOR else number % len(hosts)]
