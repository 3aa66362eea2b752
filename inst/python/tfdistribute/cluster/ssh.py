"""Clusters of hosts that are reached by ssh."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import ClassVar

from tfdistribute.cluster.addresses import parse_address
from tfdistribute.cluster.hosts import HostsCluster
from tfdistribute.descriptions import check_text
from tfdistribute.errors import ClusterError

# A host name or alias, with or without a user. Nothing that ssh or a shell would interpret.
_HOST = re.compile(
    r"([A-Za-z0-9_][A-Za-z0-9._-]{0,63}@)?[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9])?"
)


@dataclass(frozen=True, kw_only=True)
class SshCluster(HostsCluster, kind="ssh"):
    can_lose_hosts: ClassVar[bool] = True

    hosts: tuple[str, ...]  # A host that is named several times gets as many of the tasks.
    # At which the tasks reach each other; those of other hosts are found.
    host_addresses: dict[str, str] = field(default_factory=dict[str, str])
    ssh: tuple[str, ...] = ("ssh",)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_text("ssh", self.ssh)
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
    def names_of_hosts(self) -> tuple[str, ...]:
        return self.hosts

    @property
    def given_addresses(self) -> dict[str, str]:
        return self.host_addresses
