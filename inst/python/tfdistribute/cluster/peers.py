"""Whether other tasks of a cluster can be reached. Plain Python."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Callable, Sequence

from tfdistribute.cluster.addresses import parse_address
from tfdistribute.cluster.spec import Task

Placed = Sequence[tuple[Task, str]]

# A host that does not answer at all is tried this long.
_CONNECT_S = 2.0
_POLL_S = 0.2


def answers(address: str) -> bool:
    """Say whether something listens at an address.

    Args:
        address: "host:port".

    Returns:
        True when a connection could be made; it is closed at once.
    """
    place = parse_address(address)
    if place is None or place.port is None:
        return False
    with contextlib.suppress(OSError):
        socket.create_connection((place.host, place.port), timeout=_CONNECT_S).close()
        return True
    return False


def silent(tasks: Placed) -> list[tuple[Task, str]]:
    """List the tasks at whose addresses nothing listens."""
    return [(task, address) for task, address in tasks if not answers(address)]


def wait_for(
    tasks: Placed,
    deadline_s: float,
    told: Callable[[Placed], None] | None = None,
    stopped: Callable[[], bool] | None = None,
) -> list[tuple[Task, str]]:
    """Wait until tasks can be reached.

    Args:
        tasks: The tasks with their addresses.
        deadline_s: Seconds to wait at most.
        told: Called once with those that are missing, when there is something to wait for.
        stopped: Says whether to give up before the deadline.

    Returns:
        The tasks that did not come; empty where all are there.
    """
    end = time.monotonic() + deadline_s
    missing = silent(tasks)
    if missing and told is not None:
        told(missing)
    while missing and time.monotonic() < end and not (stopped and stopped()):
        time.sleep(_POLL_S)
        missing = silent(missing)
    return missing


def named(tasks: Placed) -> str:
    """Write tasks for a message: "worker 0 (host:port), worker 1 (host:port)"."""
    return ", ".join(f"{task} ({address})" for task, address in tasks)
