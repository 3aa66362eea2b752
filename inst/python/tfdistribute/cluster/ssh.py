"""Clusters of hosts that are reached by ssh."""

from dataclasses import dataclass, field
from typing import Annotated

from tfdistribute.cluster.addresses import HOST_ADDRESS
from tfdistribute.cluster.hosts import HostsCluster
from tfdistribute.cluster.spec import FlexibleWorkers, Timeout
from tfdistribute.descriptions.constraints import Len, Line, Pattern, Text
from tfdistribute.errors import ClusterError

# A host name or alias, with or without a user. Nothing that ssh or a shell would interpret.
Host = Annotated[
    Text,
    Pattern(
        "([A-Za-z0-9_][A-Za-z0-9._-]{0,63}@)?[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9])?",
        "`{argument}` holds {value}, which is not the name of a host.",
        'Write "host" or "user@host" with letters, digits, dots and hyphens; a port belongs into ~/.ssh/config.',
        "cluster",
    ),
]


@dataclass(frozen=True, kw_only=True)
class SshCluster(HostsCluster, kind="ssh"):
    """Describe a cluster of hosts reached by ssh.

    Args:
        ps: Parameter servers on the hosts in turn, a count of at most 1000.
        evaluator: Whether an additional process, on the first host, evaluates checkpoints, TRUE or FALSE.
        hosts: Names of the hosts as `ssh` accepts them, strings `"host"` or `"user@host"`. A host that is named twice
            gets twice as many processes.
        workers: Processes that train, including the chief, a count of at most 1000. The default is one for each of
            `hosts`. The chief is on the first host, and the others follow in turn. Two counts such as `c(2, 4)` are the
            fewest and the most workers, see section Lost hosts. They require `ps = 0`.
        host_addresses: Addresses at which the hosts reach each other, strings with the hosts as names. The addresses of
            other hosts are determined automatically.
        ssh: The ssh program, a string. More strings are arguments for it, such as `c("ssh", "-F", "config")`.
        resize_every_s: Minimum seconds between a start of the training and a restart that only adds workers, a number.
    """

    workers: FlexibleWorkers
    # A host that is named several times gets as many of the tasks.
    hosts: Annotated[tuple[Host, ...], Len(1)]
    # At which the tasks reach each other; those of other hosts are found.
    host_addresses: dict[str, Annotated[Text, HOST_ADDRESS]] = field(default_factory=dict[str, str])
    ssh: Annotated[tuple[Line, ...], Len(1)] = ("ssh",)
    resize_every_s: Timeout = 60.0

    def __post_init__(self) -> None:
        super().__post_init__()
        for host in self.host_addresses:
            if host not in self.hosts:
                raise ClusterError(
                    f"`host_addresses` holds {host!r}, which is not one of `hosts`.",
                    f"Use the names {', '.join(sorted(set(self.hosts))[:5])}.",
                    value=host,
                )

    @property
    def names_of_hosts(self) -> tuple[str, ...]:
        return self.hosts

    @property
    def given_addresses(self) -> dict[str, str]:
        return self.host_addresses
