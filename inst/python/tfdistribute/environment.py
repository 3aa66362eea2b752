"""Environment of this process: its variables, its cores, its host and its user."""

import contextlib
import getpass
import os
import socket
import time
from collections.abc import Generator


@contextlib.contextmanager
def changed_variable(name: str, value: str | None) -> Generator[None]:
    before = os.environ.get(name)
    _set(name, value)
    try:
        yield
    finally:
        _set(name, before)


def available_cores() -> list[int]:
    """List the cores that this process may use; empty if the system does not report them."""
    if not hasattr(os, "sched_getaffinity"):
        return []
    return sorted(os.sched_getaffinity(0))


def core_count() -> int:
    return len(available_cores()) or os.cpu_count() or 1


def describe_process() -> str:
    """Describe this process, from now on, for the error of another that finds a model directory in use."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = str(os.geteuid())
    since = time.strftime("%Y-%m-%d %H:%M:%S")
    return f"{socket.gethostname()}, pid {os.getpid()}, user {user}, since {since}"


def _set(name: str, value: str | None) -> None:
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value
