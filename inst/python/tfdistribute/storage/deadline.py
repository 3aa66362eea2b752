"""Deadlines for storage that does not answer, whose clients try again for minutes."""

import errno
import threading
import time
from collections.abc import Callable
from typing import TypeVar

from tfdistribute.errors import TfdistributeError

T = TypeVar("T")

# How long records of a model may take to be read.
READ_S = 30.0

_TICK_S = 0.05


def within(limit_s: float, function: Callable[[], T], is_over: Callable[[], bool] = bool) -> T:
    """Call a function in a thread, which storage without an answer may hold, and return its result.

    Raises OSError if it does not end in time, or if ``is_over`` returns True first.
    """
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(function())
        except BaseException as error:  # noqa: BLE001 - raised below, in the thread that called
            errors.append(error)

    thread = threading.Thread(target=run, name="tfdistribute-storage", daemon=True)
    thread.start()
    end = time.monotonic() + limit_s
    while thread.is_alive() and time.monotonic() < end and not is_over():
        thread.join(_TICK_S)
    if results:
        return results[0]
    if errors:
        raise errors[0]
    late = f"it did not end in {limit_s:g} seconds"
    raise OSError(errno.ETIMEDOUT, "it was stopped" if is_over() else late)


def reason_of(error: OSError | TfdistributeError) -> str:
    return (
        error.problem.rstrip(".") if isinstance(error, TfdistributeError) else str(error.strerror)
    )
