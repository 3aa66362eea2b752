"""Environment variables that are changed for a while."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator


@contextlib.contextmanager
def changed_variable(name: str, value: str | None) -> Generator[None]:
    """Set an environment variable inside the block, or remove it if the value is None, and put it back at the end."""
    before = os.environ.get(name)
    _set(name, value)
    try:
        yield
    finally:
        _set(name, before)


def _set(name: str, value: str | None) -> None:
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value
