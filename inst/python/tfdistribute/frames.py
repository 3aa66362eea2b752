"""Room for the frames of functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

# Of 8 bytes each; a frame takes about 25. Memory that no frame reaches is not used.
_SLOTS = 32_768


def room_for_calls(function: F) -> F:
    """Keep the frames of all functions that this one calls in one chunk of memory.

    CPython keeps frames in chunks of 16 KB. It maps a chunk when a call needs it, and unmaps it when that call returns.
    A loop of calls at the end of a chunk does so in each turn: 13,000 times between the start of R and the end of a
    first step. A chunk is larger if the first frame in it needs more.
    """
    code: Any = getattr(function, "__code__")  # noqa: B009
    setattr(function, "__code__", code.replace(co_stacksize=_SLOTS))  # noqa: B010
    return function
