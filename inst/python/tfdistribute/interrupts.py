"""Ctrl-C in an embedding program, which ends a training after its step, and everything else immediately.

R through reticulate has a C handler of its own for SIGINT, which trips Python's and notes the interrupt for R, too. It
stays installed. The functions here only replace what Python does.
"""

import contextlib
import ctypes
import os
import signal
import threading
import time
from collections.abc import Callable, Generator
from typing import Any

# Room for `struct sigaction` on every Linux and macOS; it is only saved and restored.
_SIGACTION_BYTES = 256
# Within this time, two interrupts are one: R and Python may both notice a Ctrl-C while a function of R runs.
SAME_S = 0.3


class StopRequest:
    """A request to stop, which is called by the training to know whether there is one.

    Args:
        before: Called once when the training knows of the request, which then counts ``patience_s`` later.
    """

    def __init__(self, before: Callable[[], Any] | None = None, patience_s: float = 0.0) -> None:
        self.requested = False
        self._at = 0.0
        self._before, self._patience_s = before, patience_s

    def __call__(self) -> bool:
        if self.requested and self._before is not None:
            before, self._before = self._before, None
            before()
        return self.requested and time.monotonic() - self._at >= self._patience_s

    def interrupt(self) -> None:
        """Make the first interrupt a request; the second one raises KeyboardInterrupt."""
        now = time.monotonic()
        if self.requested and now - self._at > SAME_S:
            raise KeyboardInterrupt
        if not self.requested:
            self.requested, self._at = True, now

    def on_interrupt_of(self, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Turn the first interrupt inside a function of one argument, such as a progress display, into a request."""

        def interruptible(argument: Any) -> Any:
            try:
                return function(argument)
            except KeyboardInterrupt:
                self.interrupt()
                return None

        return interruptible


@contextlib.contextmanager
def finish_step_on_interrupt(
    request: StopRequest | None = None,
) -> Generator[StopRequest, None, None]:
    """Turn the first Ctrl-C into a request to stop; a second one interrupts immediately.

    A hook of the training must check the request. When the block ends after a request, KeyboardInterrupt is raised, so
    the caller sees an interrupt and not a success.
    """
    request = request or StopRequest()
    with _handled_by(request.interrupt):
        yield request
    if request.requested:
        raise KeyboardInterrupt


@contextlib.contextmanager
def end_after_sigterm() -> Generator[None, None, None]:
    """Treat SIGTERM as Ctrl-C inside the block, and end this process by it when the block has been left.

    Nothing changes if the program has a handler of its own, or on another thread than the main one.
    """
    on_main = threading.current_thread() is threading.main_thread()
    if not on_main or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        yield
        return
    received = False

    def interrupt(_number: int, frame: Any) -> None:
        nonlocal received
        received = True
        handler = signal.getsignal(signal.SIGINT)
        if not callable(handler):
            raise KeyboardInterrupt
        handler(signal.SIGINT, frame)

    signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if received:
            os.kill(os.getpid(), signal.SIGTERM)


@contextlib.contextmanager
def raise_on_interrupt() -> Generator[None, None, None]:
    """Make every Ctrl-C raise KeyboardInterrupt inside the block, within the current operation of TensorFlow."""
    with _handled_by(_raise):
        yield


@contextlib.contextmanager
def defer_interrupt() -> Generator[None, None, None]:
    """Delay a Ctrl-C until the end of a block that must not be left half done."""
    request = StopRequest()

    def note() -> None:
        request.requested = True

    with _handled_by(note):
        yield
    if request.requested:
        raise KeyboardInterrupt


def _raise() -> None:
    raise KeyboardInterrupt


@contextlib.contextmanager
def _handled_by(handler: Callable[[], None]) -> Generator[None, None, None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = signal.getsignal(signal.SIGINT)
    _set_python_handler(lambda number, frame: handler())
    try:
        yield
    finally:
        _set_python_handler(previous)


def keep_handler() -> Callable[[], None]:
    """Return a function that puts the current C handler of SIGINT back in place of another library's."""
    library = ctypes.CDLL(None)
    saved = ctypes.create_string_buffer(_SIGACTION_BYTES)
    library.sigaction(signal.SIGINT, None, saved)
    return lambda: library.sigaction(signal.SIGINT, saved, None)


def _set_python_handler(
    handler: Callable[[int, Any], Any] | int | signal.Handlers | None,
) -> None:
    put_back = keep_handler()
    signal.signal(signal.SIGINT, handler)
    put_back()
