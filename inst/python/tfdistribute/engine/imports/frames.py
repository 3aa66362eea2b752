"""Memory for the frames of functions."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])

# Of 8 bytes each; a frame takes about 25. What no frame reaches takes no memory.
_SLOTS = 32_768


def in_one_chunk(function: F) -> F:
    """Keep the frames of a function, and of all that it calls, in one chunk of memory.

    CPython keeps frames in chunks of 16 KB. It maps a chunk for the first frame that does not fit, and unmaps it when
    that returns, so a loop of calls at the end of a chunk does both in each turn: 13,000 times from the start of R to
    the end of a first step. If one frame needs more, its chunk is larger, and frames of later calls fit into the rest.
    """
    plain = cast("FunctionType", function)
    plain.__code__ = plain.__code__.replace(co_stacksize=_SLOTS)
    return function
