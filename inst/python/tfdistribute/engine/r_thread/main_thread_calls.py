"""Functions that TensorFlow's threads call, and that run on the thread that waits for TensorFlow.

R lives on one thread. While that thread waits in ``session.run``, no R function can run anywhere. So while
a served function is in use, ``session.run`` works on a helper thread, and the thread that called it takes
calls until the step is done::

    function = ServedFunction(draw)
    call = function.in_graph(graph)         # for TensorFlow to keep
    with function.serving():                # sessions of this graph are served in here
        estimator.train(...)

Only sessions of the graphs that a function was given to are treated like this. Nothing of TensorFlow is
exchanged before the first ``serving()`` nor after the last.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any

import tensorflow as tf
from tensorflow.python.client import session

# A wait without a limit could miss a signal on some platforms.
_POLL_S = 0.1


class CallRefusedError(RuntimeError):
    """Nobody serves the call: the session is closed, or the training has ended."""


class ServedCallError(RuntimeError):
    """The function failed; its own error is raised where it is served."""


class ServedFunction:
    """A function for TensorFlow to call from its threads.

    Args:
        function: Runs on the thread that serves it, with the arguments of the call. What it returns goes to
            another thread, and must not be R's.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._line = _Line()

    def in_graph(self, graph: Any) -> Callable[..., Any]:
        """Make the callable that a graph's operations may keep.

        It does not hold the function: TensorFlow lets go of it on threads of its own.

        Args:
            graph: The ``tf.Graph`` whose sessions will call.

        Returns:
            A callable for any thread. It raises CallRefusedError where nobody serves, and ServedCallError
            where the function failed.
        """
        self._line.graphs.add(graph)
        return self._line.call

    @contextlib.contextmanager
    def serving(self) -> Iterator[None]:
        """Serve calls on this thread, while it waits for a session of the function's graphs.

        Calls that are waiting when the context ends are refused.

        Raises:
            Exception: what the function raised, in place of TensorFlow's error that it led to.

        Source:
            Ruled out: drawing in a session hook before each step, because TensorFlow prefetches, and takes
            many steps in one ``session.run`` where it is told to.
        """
        line = self._line
        _open(line, self._function)
        try:
            yield
        except tf.errors.OpError as error:
            if line.failure is not None:
                raise line.failure from error
            raise
        finally:
            _close(line)


class _Line:
    """What connects the threads that call with the thread that serves."""

    def __init__(self) -> None:
        self.graphs: weakref.WeakSet[Any] = weakref.WeakSet()
        self.contexts = 0
        self.desk: _Desk | None = None
        self.function: Callable[..., Any] | None = None
        self.failure: Exception | None = None
        self._lock = threading.Lock()
        self._accepts = False
        self._waiting: set[Future[Any]] = set()

    def call(self, *arguments: Any) -> Any:
        """Have the function called on the serving thread, and wait for its answer."""
        future: Future[Any] = Future()
        with self._lock:
            if not self._accepts or self.desk is None:
                raise CallRefusedError("No verb is drawing from this input.")
            self._waiting.add(future)
            self.desk.calls.put((self, future, arguments))
        try:
            return future.result()
        finally:
            with self._lock:
                self._waiting.discard(future)

    def accept(self) -> None:
        """Take calls, unless the function has failed."""
        with self._lock:
            self._accepts = self.failure is None

    def refuse(self) -> None:
        """Refuse what waits and what comes."""
        with self._lock:
            self._accepts = False
            waiting = list(self._waiting)
        for future in waiting:
            future.cancel()

    def answer(self, future: Future[Any], arguments: tuple[Any, ...]) -> None:
        """Serve one call, on the serving thread."""
        if not future.set_running_or_notify_cancel():
            return
        assert self.function is not None
        try:
            future.set_result(self.function(*arguments))
        except Exception as error:  # noqa: BLE001 - kept here, and raised by serving()
            self.failure = error
            # Without the traceback, whose frames may hold objects of R.
            future.set_exception(ServedCallError(str(error)))
            self.refuse()
        except BaseException:
            future.set_exception(CallRefusedError("Interrupted."))
            raise


class _Desk:
    """Where one thread takes calls while TensorFlow works for it."""

    def __init__(self) -> None:
        self.calls: queue.SimpleQueue[tuple[_Line, Future[Any], tuple[Any, ...]] | None] = (
            queue.SimpleQueue()
        )
        self.helpers: list[_Helper] = []

    def take_calls_during(self, work: Callable[[], Any]) -> Any:
        """Do work on a helper thread, and serve calls here until it is done.

        Args:
            work: What makes TensorFlow call.

        Returns:
            What the work returned; its error is raised.
        """
        # More than one helper works only where a served function itself starts a session.
        helper = self.helpers.pop() if self.helpers else _Helper(self.calls)
        done: Future[Any] = Future()
        helper.works.put((done, work))
        try:
            while not done.done():
                with contextlib.suppress(queue.Empty):
                    call = self.calls.get(timeout=_POLL_S)
                    if call is not None:
                        line, future, arguments = call
                        line.answer(future, arguments)
        except BaseException:
            # Interrupted: the helper cannot be; it ends with its work.
            helper.works.put(None)
            raise
        self.helpers.append(helper)
        return done.result()

    def send_helpers_home(self) -> None:
        """End the helper threads, which are idle."""
        while self.helpers:
            self.helpers.pop().works.put(None)


class _Helper(threading.Thread):
    """Does work for a desk, one piece at a time."""

    def __init__(self, calls: queue.SimpleQueue[Any]) -> None:
        # A daemon: Python's end does not wait for a step that hangs.
        super().__init__(name="tfdistribute-session", daemon=True)
        self.works: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = (
            queue.SimpleQueue()
        )
        self._calls = calls
        self.start()

    def run(self) -> None:
        """Work until there is nothing more."""
        while (item := self.works.get()) is not None:
            done, work = item
            try:
                done.set_result(work())
            except BaseException as error:  # noqa: BLE001 - raised where the work was asked for
                done.set_exception(error)
            # Nothing of this piece of work may stay while the thread waits for the next.
            del item, done, work
            self._calls.put(None)


_lock = threading.Lock()
_lines: list[_Line] = []
_own = threading.local()
_run_in_tensorflow = session.BaseSession._call_tf_sessionrun
_close_in_tensorflow = session.BaseSession.close


def _open(line: _Line, function: Callable[..., Any]) -> None:
    with _lock:
        line.contexts += 1
        if line.contexts > 1:
            return
        if not hasattr(_own, "desk"):
            _own.desk = _Desk()
        line.desk, line.function, line.failure = _own.desk, function, None
        line.accept()
        _lines.append(line)
        session.BaseSession._call_tf_sessionrun = _run_and_serve
        session.BaseSession.close = _refuse_and_close


def _close(line: _Line) -> None:
    with _lock:
        line.contexts -= 1
        if line.contexts > 0:
            return
        _lines.remove(line)
        line.refuse()
        desk, line.desk, line.function = line.desk, None, None
        if desk is not None and all(other.desk is not desk for other in _lines):
            desk.send_helpers_home()
        if not _lines:
            session.BaseSession._call_tf_sessionrun = _run_in_tensorflow
            session.BaseSession.close = _close_in_tensorflow


def _lines_into(graph: Any) -> list[_Line]:
    return [line for line in _lines if graph in line.graphs]


def _run_and_serve(self: Any, *arguments: Any) -> Any:
    """Run a step; see ``BaseSession._call_tf_sessionrun`` in tensorflow/python/client/session.py."""
    desk: _Desk | None = getattr(_own, "desk", None)
    lines = [line for line in _lines_into(self.graph) if line.desk is desk]
    if desk is None or not lines:
        return _run_in_tensorflow(self, *arguments)
    for line in lines:
        line.accept()
    return desk.take_calls_during(lambda: _run_in_tensorflow(self, *arguments))


def _refuse_and_close(self: Any) -> None:
    """Close a session. Threads of its inputs end only when their calls do, so these are refused first."""
    if not getattr(self, "_closed", True):
        for line in _lines_into(self.graph):
            line.refuse()
    _close_in_tensorflow(self)
