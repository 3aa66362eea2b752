"""Environment of this process: its variables, its host and its user."""

from __future__ import annotations

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
