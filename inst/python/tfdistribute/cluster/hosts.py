"""Hosts as this machine sees them. Plain Python."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterable

from tfdistribute.cluster.addresses import Address

# A name service that is down would keep a caller for half a minute.
DEADLINE_S = 0.5


def resolve(hosts: Iterable[Address], deadline_s: float = DEADLINE_S) -> dict[str, set[str]]:
    """Look up hosts, all at the same time.

    Args:
        hosts: Addresses; their ports do not matter.
        deadline_s: Seconds after which a host that was not found counts as one that has no address.

    Returns:
        IP addresses by host; hosts that were not found are left out.
    """
    found: dict[str, set[str]] = {}
    searches: list[threading.Thread] = []
    for address in {each.host: each for each in hosts}.values():
        if address.is_number:
            found[address.host] = {address.host}
        elif address.is_loopback:
            found[address.host] = {"127.0.0.1"}
        else:
            # The name service cannot be interrupted; a thread of this kind does not keep the process alive.
            search = threading.Thread(target=_look_up, args=(address.host, found), daemon=True)
            search.start()
            searches.append(search)
    deadline = time.monotonic() + deadline_s
    for search in searches:
        search.join(max(deadline - time.monotonic(), 0))
    return dict(found)


def is_here(ip_addresses: Iterable[str]) -> bool:
    """Say whether one of these IP addresses is this machine's own."""
    return any(_is_own(address) for address in ip_addresses)


def _look_up(host: str, found: dict[str, set[str]]) -> None:
    # Names that no name service accepts raise UnicodeError.
    with contextlib.suppress(OSError, UnicodeError):
        answers = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
        found[host] = {str(answer[4][0]) for answer in answers}


def _is_own(address: str) -> bool:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    # A datagram socket can be bound to own addresses only; nothing is sent.
    with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as attempt:
        attempt.bind((address, 0))
        return True
    return False
