"""Connection checks for the other tasks of a cluster."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Callable, Sequence

from tfdistribute.cluster.addresses import parse_address
from tfdistribute.cluster.spec import Task

TasksWithAddresses = Sequence[tuple[Task, str]]

# Timeout of one attempt to connect.
_CONNECT_S = 2.0
_POLL_S = 0.2


def is_listening(address: str) -> bool:
    """Return whether something listens at "host:port"; the connection is closed at once."""
    place = parse_address(address)
    if place is None or place.port is None:
        return False
    with contextlib.suppress(OSError):
        socket.create_connection((place.host, place.port), timeout=_CONNECT_S).close()
        return True
    return False


def unreachable(tasks: TasksWithAddresses) -> list[tuple[Task, str]]:
    """List the tasks at whose addresses nothing listens."""
    return [(task, address) for task, address in tasks if not is_listening(address)]


def wait_for(
    tasks: TasksWithAddresses,
    deadline_s: float,
    on_missing: Callable[[TasksWithAddresses], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> list[tuple[Task, str]]:
    """Wait until all tasks listen, and return those that still do not.

    Args:
        tasks: The tasks with their addresses.
        deadline_s: Maximum wait in seconds.
        on_missing: Called once with the tasks that do not listen yet, if there are any.
        should_stop: Returns True to give up before the deadline.
    """
    end = time.monotonic() + deadline_s
    missing = unreachable(tasks)
    if missing and on_missing is not None:
        on_missing(missing)
    while missing and time.monotonic() < end and not (should_stop and should_stop()):
        time.sleep(_POLL_S)
        missing = unreachable(missing)
    return missing


def format_tasks(tasks: TasksWithAddresses) -> str:
    """Format tasks for a message: "worker 0 (host:port), worker 1 (host:port)"."""
    return ", ".join(f"{task} ({address})" for task, address in tasks)
