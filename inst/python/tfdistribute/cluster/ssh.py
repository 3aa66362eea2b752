"""Clusters of hosts that are reached by ssh."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tfdistribute.cluster.addresses import parse_address
from tfdistribute.cluster.spec import (
    EVALUATOR,
    MOST_PROCESSES,
    STALL_TIMEOUT_S,
    Cluster,
    Supervision,
    Task,
    unknown_addresses,
)
from tfdistribute.descriptions import check_maximum, check_minimum
from tfdistribute.errors import ArgumentError, ClusterError

# A host name or alias, with or without a user. Nothing that ssh or a shell would interpret.
_HOST = re.compile(
    r"([A-Za-z0-9_][A-Za-z0-9._-]{0,63}@)?[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9])?"
)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

_MINIMUM = {
    "workers": 1,
    "ps": 0,
    "devices_per_worker": 1,
    "lease_s": 5,
    "start_timeout_s": 1,
    "stall_timeout_s": 1,
    "restarts": 0,
}


@dataclass(frozen=True)
class SshCluster(Cluster, kind="ssh"):
    """Processes on hosts that are reached by ssh; addresses and ports are found when they are started.

    Args:
        hosts: Names that ssh knows; a host that is named several times gets as many of the tasks.
        workers: Processes that train: a chief, and the workers 0, 1, ...
        ps: Parameter servers.
        evaluator: Whether another process evaluates, on the host of the chief.
        devices_per_worker: Devices of each process that trains.
        host_addresses: Addresses by host at which the tasks reach each other; those of other hosts are found.
        ssh: The ssh program and more arguments for it.
        rscript: Rscript on the hosts.
        python: Python of the tasks and of the agent on the hosts; None for that of the session and "python3".
        libraries: Package libraries of R on the hosts; none for those of the session.
        environment: Environment variables of every task.
        lease_s: Seconds without a sign of life after which a host counts as lost, and ends its tasks.
        start_timeout_s: As for a local cluster.
        stall_timeout_s: As for a local cluster.
        restarts: As for a local cluster.

    Raises:
        ArgumentError: a count, a timeout or a variable is out of range.
        ClusterError: a host name or an address is malformed.
    """

    hosts: tuple[str, ...]
    workers: int
    ps: int = 0
    evaluator: bool = True
    devices_per_worker: int = 1
    host_addresses: dict[str, str] = field(default_factory=dict[str, str])
    ssh: tuple[str, ...] = ("ssh",)
    rscript: str = "Rscript"
    python: str | None = None
    libraries: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict[str, str])
    lease_s: float = 30.0
    start_timeout_s: float = 120.0
    stall_timeout_s: float = STALL_TIMEOUT_S
    restarts: int = 3

    def __post_init__(self) -> None:
        """Check counts, timeouts, hosts, addresses and variables."""
        for name, minimum in _MINIMUM.items():
            check_minimum(name, getattr(self, name), minimum)
        for name in ("workers", "ps"):
            check_maximum(name, getattr(self, name), MOST_PROCESSES)
        if not self.hosts:
            raise ClusterError("`hosts` is empty.", "Name at least one host.", argument="hosts")
        for host in self.hosts:
            if _HOST.fullmatch(host) is None:
                raise ClusterError(
                    f"`hosts` holds {host!r}, which is not the name of a host.",
                    'Write "host" or "user@host" with letters, digits, dots and hyphens; a port belongs into '
                    "~/.ssh/config.",
                    argument="hosts",
                    value=host,
                )
        self._check_addresses()
        for name in self.environment:
            if _VARIABLE.fullmatch(name) is None:
                raise ArgumentError(
                    f"`environment` holds {name!r}, which is not the name of a variable.",
                    argument="environment",
                    value=name,
                )

    def _check_addresses(self) -> None:
        for host, text in self.host_addresses.items():
            address = parse_address(text)
            if host not in self.hosts or address is None or ":" in text.rpartition("]")[2]:
                why = "not an address" if host in self.hosts else "not for one of `hosts`"
                raise ClusterError(
                    f"`host_addresses` holds {text!r} for {host!r}, which is {why}.",
                    "Give addresses without ports, with the hosts as names.",
                    argument="host_addresses",
                    value=text,
                )

    @property
    def addresses(self) -> dict[str, tuple[str, ...]]:
        """Empty text for every task: addresses are not known yet."""
        return unknown_addresses(self.workers, self.ps, self.evaluator)

    @property
    def supervision(self) -> Supervision:
        """Its deadlines and restarts, on an open network."""
        return Supervision(self.start_timeout_s, self.stall_timeout_s, self.restarts, "open")

    def host_of(self, task: Task) -> str:
        """Return the host of a task: those that train in turn, servers likewise, the evaluator beside the chief."""
        number = task.index + (task.type == "worker")
        return self.hosts[0 if task.type == EVALUATOR else number % len(self.hosts)]
