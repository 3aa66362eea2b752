"""Addresses of tasks: "host:port", as TF_CONFIG writes them. Plain Python."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass

# Nothing that a shell, ssh or a path would read as more than a name.
_ADDRESS = re.compile(
    r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9])?)(?::([A-Za-z0-9]{0,9}))?"
)
_LOOPBACK_NAMES = ("localhost", "localhost.localdomain", "ip6-localhost")


@dataclass(frozen=True)
class Address:
    """Where a task is reached.

    Args:
        host: A name or a number, without brackets, in lower case.
        port: 1 to 65535; None where the address has none that can be used.
    """

    host: str
    port: int | None

    @property
    def is_number(self) -> bool:
        """Whether the host is an IP address, which needs no name service."""
        try:
            ipaddress.ip_address(self.host)
        except ValueError:
            return False
        return True

    @property
    def is_loopback(self) -> bool:
        """Whether the host means, on every machine, the machine itself."""
        if self.is_number:
            return ipaddress.ip_address(self.host).is_loopback
        return self.host in _LOOPBACK_NAMES

    @property
    def key(self) -> tuple[str, int | None]:
        """Equal for addresses that cannot both be had: all names of the loopback are one host."""
        return ("localhost" if self.is_loopback else self.host, self.port)


def parse_address(text: str) -> Address | None:
    """Take an address apart.

    Args:
        text: Such as "host-a:2222", "10.0.0.1:2222" or "[::1]:2222"; the port may be missing.

    Returns:
        Host and port; None where the text is no address, for example because it holds characters that a shell
        would interpret.
    """
    match = _ADDRESS.fullmatch(text)
    if match is None:
        return None
    host, port = match[1].lower().strip("[]"), match[2] or ""
    address = Address(host, int(port) if port.isdecimal() and 0 < int(port) < 65536 else None)
    return None if match[1].startswith("[") and not address.is_number else address
