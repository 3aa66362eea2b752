"""Clusters whose tasks run on several hosts, and are started there by this package."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tfdistribute.cluster.spec import (
    EVALUATOR,
    STALL_TIMEOUT_S,
    StartedCluster,
    Supervision,
    Task,
)
from tfdistribute.descriptions import check_text
from tfdistribute.errors import ArgumentError

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, kw_only=True)
class HostsCluster(StartedCluster):
    """Processes on hosts, with the evaluator on the host of the chief."""

    devices_per_worker: int = 1
    rscript: str = "Rscript"
    python: str | None = None  # None for that of the session.
    libraries: tuple[str, ...] = ()  # Of R; none for those of the session.
    environment: dict[str, str] = field(default_factory=dict[str, str])
    # Without a sign of life for so long, a host counts as lost, and ends its tasks.
    lease_s: float = 30.0
    start_timeout_s: float = 120.0
    stall_timeout_s: float = STALL_TIMEOUT_S
    restarts: int = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("rscript", "python", "libraries", "environment"):
            check_text(name, getattr(self, name))
        for name in self.environment:
            if _VARIABLE.fullmatch(name) is None:
                raise ArgumentError(
                    f"`environment` holds {name!r}, which is not the name of a variable.",
                    argument="environment",
                    value=name,
                )

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
