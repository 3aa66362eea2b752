"""Connections to the addresses of the other tasks of a cluster."""

import contextlib
import os
import socket
from collections.abc import Sequence

from tfdistribute.cluster.addresses import parse_address, resolve_hosts
from tfdistribute.cluster.spec import Task

TasksWithAddresses = Sequence[tuple[Task, str]]

_DESCRIPTORS = "/proc/self/fd"
_CONNECT_S = 2.0


def is_listening(address: str) -> bool:
    """Return whether something listens at "host:port"; the kernel accepts for a frozen process, too."""
    return connection_error(address) is None


def connection_error(address: str) -> OSError | None:
    """Return why no connection can be made, or None; ConnectionRefusedError if the host can be reached."""
    place = parse_address(address)
    if place is None or place.port is None:
        return OSError(f"no port in {address}")
    try:
        socket.create_connection((place.host, place.port), timeout=_CONNECT_S).close()
    except OSError as error:
        return error
    return None


def disconnect(address: str) -> None:
    """Shut down this process's connections to "host:port", so that requests to a frozen process end (Linux only)."""
    place = parse_address(address)
    if place is None or not os.path.isdir(_DESCRIPTORS):
        return
    hosts = resolve_hosts([place]).get(place.host, set())
    for text in os.listdir(_DESCRIPTORS):
        # Other threads open and close files meanwhile, and a descriptor may be no connection.
        with contextlib.suppress(OSError, ValueError), _connection(int(text)) as each:
            host, port = each.getpeername()[:2]
            # IPv4 addresses are mapped by sockets of IPv6.
            if port == place.port and str(host).removeprefix("::ffff:") in hosts:
                each.shutdown(socket.SHUT_RDWR)


def _connection(descriptor: int) -> socket.socket:
    copy = os.dup(descriptor)
    try:
        return socket.socket(fileno=copy)
    except OSError:
        os.close(copy)
        raise


def format_tasks(tasks: TasksWithAddresses) -> str:
    return ", ".join(f"{task} ({address})" for task, address in tasks)
