"""Addresses of tasks ("host:port", as in TF_CONFIG), and the hosts behind them."""

import contextlib
import ipaddress
import os
import queue
import re
import socket
import threading
import time
from collections.abc import Generator, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from tfdistribute.descriptions.constraints import Pattern
from tfdistribute.environment import changed_variable
from tfdistribute.rules import Finding

_Task = TypeVar("_Task", bound=Hashable)

# No character that a shell, ssh or a path would interpret.
_HOST = r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9])?)"
_ADDRESS = re.compile(_HOST + r"(?::([A-Za-z0-9]{0,9}))?")
ADDRESS = Pattern(
    _ADDRESS.pattern,
    "`{argument}` holds {value}, which is not an address.",
    'Write "host:port" with letters, digits, dots and hyphens, and an IPv6 address in brackets, as in "[::1]:2222".',
    "cluster",
)
# A missing port is a finding of check_cluster().
PORT = Pattern(
    _HOST
    + "(:(0*([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]))?)?",
    "`{argument}` holds {value}, which has no port from 1 to 65535.",
    'Write "host:port", such as "host-a:2222".',
    "cluster",
)
HOST_ADDRESS = Pattern(
    _HOST,
    "`{argument}` is {value}, which is not an address without a port.",
    'Write a name or an IP address, such as c("node-a" = "10.0.0.1").',
    "cluster",
)
_LOOPBACK_NAMES = ("localhost", "localhost.localdomain", "ip6-localhost")

# A name service that is down would block for half a minute.
LOOKUP_TIMEOUT_S = 0.5
_LOOKUPS = 64

_NO_PROXY = "no_grpc_proxy"


@dataclass(frozen=True)
class Address:
    host: str
    port: int | None  # None if the address has no usable port.

    @property
    def is_ip_address(self) -> bool:
        try:
            ipaddress.ip_address(self.host)
        except ValueError:
            return False
        return True

    @property
    def is_loopback(self) -> bool:
        if self.is_ip_address:
            return ipaddress.ip_address(self.host).is_loopback
        return self.host in _LOOPBACK_NAMES

    @property
    def key(self) -> tuple[str, int | None]:
        """Text and port that two addresses share if they conflict, as all names of the loopback do."""
        return ("localhost" if self.is_loopback else self.host, self.port)


def parse_address(text: str) -> Address | None:
    """Split an address such as "host-a:2222" or "[::1]:2222", with or without a port; None for any other text."""
    match = _ADDRESS.fullmatch(text)
    if match is None:
        return None
    host, port = match[1].lower().strip("[]"), match[2] or ""
    address = Address(host, int(port) if port.isdecimal() and 0 < int(port) < 65536 else None)
    return None if match[1].startswith("[") and not address.is_ip_address else address


def no_port(task: object, text: str) -> Finding:
    return Finding(
        str(task),
        f'The address "{text}" has no port from 1 to 65535.',
        'Write "host:port", such as "host-a:2222".',
    )


def same_addresses(texts: Mapping[_Task, str], keys: Mapping[_Task, Hashable]) -> Iterator[Finding]:
    """Find the tasks whose addresses, or the keys that represent them, repeat an earlier task's."""
    first: dict[Hashable, object] = {}
    for task, key in keys.items():
        other = first.setdefault(key, task)
        if other != task:
            yield Finding(
                str(task),
                f'The address "{texts[task]}" is also the address of {other}.',
                "Give each task its own address.",
            )


def resolve_hosts(
    addresses: Iterable[Address], timeout_s: float = LOOKUP_TIMEOUT_S
) -> dict[str, set[str]]:
    """Look up the IP addresses of hosts in parallel, without hosts that are not found within ``timeout_s``."""
    ip_addresses: dict[str, set[str]] = {}
    names: queue.SimpleQueue[str] = queue.SimpleQueue()
    for address in {each.host: each for each in addresses}.values():
        if address.is_ip_address:
            ip_addresses[address.host] = {address.host}
        elif address.is_loopback:
            ip_addresses[address.host] = {"127.0.0.1"}
        else:
            names.put(address.host)
    deadline = time.monotonic() + timeout_s
    # A lookup cannot be interrupted; a daemon thread does not keep the process alive.
    searches = [
        threading.Thread(target=_look_up, args=(names, ip_addresses, deadline), daemon=True)
        for _ in range(min(names.qsize(), _LOOKUPS))
    ]
    for search in searches:
        search.start()
    for search in searches:
        search.join(max(deadline - time.monotonic(), 0))
    return dict(ip_addresses)


def is_this_machine(ip_addresses: Iterable[str]) -> bool:
    return any(_is_own(address) for address in ip_addresses)


def _look_up(
    names: queue.SimpleQueue[str], ip_addresses: dict[str, set[str]], deadline: float
) -> None:
    with contextlib.suppress(queue.Empty):
        while time.monotonic() < deadline:
            host = names.get_nowait()
            # A malformed name raises UnicodeError.
            with contextlib.suppress(OSError, UnicodeError):
                answers = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
                ip_addresses[host] = {str(answer[4][0]) for answer in answers}


def _is_own(address: str) -> bool:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    # A datagram socket can only be bound to an address of this machine; nothing is sent.
    with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as attempt:
        attempt.bind((address, 0))
        return True
    return False


@contextlib.contextmanager
def without_proxy(addresses: Iterable[str]) -> Generator[None]:
    """Let gRPC connect to tasks directly inside the block, and not through the proxy of the web.

    Source:
        https://grpc.github.io/grpc/core/md_doc_environment_variables.html, ``no_grpc_proxy``
    """
    parsed_addresses = (parse_address(text) for text in addresses)
    hosts = {address.host for address in parsed_addresses if address is not None}
    exclusions = os.environ.get(_NO_PROXY) or os.environ.get("no_proxy", "")
    known = [each.strip() for each in exclusions.split(",") if each.strip()]
    with changed_variable(_NO_PROXY, ",".join([*known, *sorted(hosts.difference(known))])):
        yield
