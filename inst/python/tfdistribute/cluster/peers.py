"""Connections to the addresses of the other tasks of a cluster."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Sequence

from tfdistribute.cluster.addresses import parse_address
from tfdistribute.cluster.spec import Task

TasksWithAddresses = Sequence[tuple[Task, str]]

# Timeout of one attempt to connect.
_CONNECT_S = 2.0


def is_listening(address: str) -> bool:
    """Return whether something listens at "host:port"; the connection is closed at once.

    The kernel accepts connections for a frozen process too.
    """
    place = parse_address(address)
    if place is None or place.port is None:
        return False
    with contextlib.suppress(OSError):
        socket.create_connection((place.host, place.port), timeout=_CONNECT_S).close()
        return True
    return False


def format_tasks(tasks: TasksWithAddresses) -> str:
    """Format tasks for a message: "worker 0 (host:port), worker 1 (host:port)"."""
    return ", ".join(f"{task} ({address})" for task, address in tasks)
