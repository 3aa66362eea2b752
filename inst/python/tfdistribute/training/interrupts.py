"""Ctrl-C during training: the step ends and the checkpoint is written before the interrupt is raised."""

from __future__ import annotations

import contextlib
import ctypes
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

# Room for `struct sigaction` on every Linux and macOS; it is only saved and restored.
_SIGACTION_BYTES = 256


class StopRequest:
    """A request to end the training."""

    def __init__(self) -> None:
        self.requested = False

    def __call__(self) -> bool:
        """Return whether the stop was requested."""
        return self.requested

    def on_interrupt_of(self, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Turn the first interrupt inside a function of one argument, such as a progress display, into a request."""

        def interruptible(argument: Any) -> Any:
            try:
                return function(argument)
            except KeyboardInterrupt:
                if self.requested:
                    raise
                self.requested = True
                return None

        return interruptible


@contextlib.contextmanager
def finish_step_on_interrupt() -> Iterator[StopRequest]:
    """Turn the first Ctrl-C into a request to stop; a second one interrupts at once.

    A hook of the training must check the request. When the block ends after a request, KeyboardInterrupt is raised,
    so the caller sees an interrupt and not a success.

    Raises:
        KeyboardInterrupt: the training was interrupted.

    Source:
        https://docs.python.org/3/library/signal.html. An embedding program (R through reticulate) has a
        C handler that trips Python's. It must stay installed, so only Python's handler is replaced.
    """
    request = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield request
        return
    previous = signal.getsignal(signal.SIGINT)

    def note(number: int, frame: Any) -> None:
        if request.requested:
            raise KeyboardInterrupt
        request.requested = True
        if callable(previous):
            # The embedding program's handler clears its own pending flag before it raises.
            with contextlib.suppress(KeyboardInterrupt):
                previous(number, frame)

    _set_python_handler(note)
    try:
        yield request
    finally:
        _set_python_handler(previous)
    if request.requested:
        raise KeyboardInterrupt


def _set_python_handler(
    handler: Callable[[int, Any], Any] | int | signal.Handlers | None,
) -> None:
    library = ctypes.CDLL(None)
    saved = ctypes.create_string_buffer(_SIGACTION_BYTES)
    library.sigaction(signal.SIGINT, None, saved)
    signal.signal(signal.SIGINT, handler)
    library.sigaction(signal.SIGINT, saved, None)
