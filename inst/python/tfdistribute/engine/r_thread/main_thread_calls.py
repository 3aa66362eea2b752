"""Functions that TensorFlow's threads call and the waiting thread runs.

R has one thread. While it waits in ``session.run``, no R function can run. So while a served function is in use,
``session.run`` runs on a worker thread, and the thread that called it serves calls until the step is done::

    function = ServedFunction(draw)
    call = function.in_graph(graph)         # for TensorFlow to keep
    with function.serving():                # sessions of this graph are served in here
        estimator.train(...)

Only sessions of graphs that hold such a function are affected. TensorFlow is patched from the first ``serving()``
until the last one ends.
"""

import contextlib
import queue
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any

import tensorflow as tf

from tfdistribute.engine import patches

# On some platforms a wait without a timeout can miss a signal.
_POLL_S = 0.1


class CallRefusedError(RuntimeError):
    pass


class ServedCallError(RuntimeError):
    """The function failed. Its own error is raised by ``serving()``."""


class ServedFunction:
    """A function for TensorFlow to call from its threads.

    It runs on the serving thread, and its result must not be an R object, because other threads use it.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._channel = _Channel()

    def in_graph(self, graph: Any) -> Callable[..., Any]:
        """Make the callable for operations of a graph; any thread may call it.

        TensorFlow releases it on its own threads, so it holds no reference to the function. It raises
        CallRefusedError outside ``serving()``, and ServedCallError if the function failed.
        """
        self._channel.graphs.add(graph)
        return self._channel.call

    @contextlib.contextmanager
    def serving(self) -> Iterator[None]:
        """Serve calls on this thread, while it waits for a session of the function's graphs.

        Calls that wait when the context ends are rejected. An exception of the function is raised in place of
        TensorFlow's error. Calls in session hooks would not do, because TensorFlow prefetches.
        """
        channel = self._channel
        _open(channel, self._function)
        try:
            yield
        except tf.errors.OpError as error:
            if channel.failure is not None:
                raise channel.failure from error
            raise
        finally:
            _close(channel)


class _Channel:
    def __init__(self) -> None:
        self.graphs: weakref.WeakSet[Any] = weakref.WeakSet()
        self.contexts = 0
        self.dispatcher: _Dispatcher | None = None
        self.function: Callable[..., Any] | None = None
        self.failure: Exception | None = None
        self._lock = threading.Lock()
        self._accepts = False
        self._waiting: set[Future[Any]] = set()

    def call(self, *arguments: Any) -> Any:
        future: Future[Any] = Future()
        with self._lock:
            if not self._accepts or self.dispatcher is None:
                raise CallRefusedError("No verb reads this input.")
            self._waiting.add(future)
            self.dispatcher.calls.put((self, future, arguments))
        try:
            return future.result()
        finally:
            with self._lock:
                self._waiting.discard(future)

    def accept(self) -> None:
        with self._lock:
            self._accepts = self.failure is None

    def refuse(self) -> None:
        with self._lock:
            self._accepts = False
            waiting = list(self._waiting)
        for future in waiting:
            future.cancel()

    def answer(self, future: Future[Any], arguments: tuple[Any, ...]) -> None:
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


class _Dispatcher:
    def __init__(self) -> None:
        self.calls: queue.SimpleQueue[tuple[_Channel, Future[Any], tuple[Any, ...]] | None] = (
            queue.SimpleQueue()
        )
        self.workers: list[_Worker] = []

    def serve_during(self, work: Callable[[], Any]) -> Any:
        """Run a function on a worker thread, and serve calls here until it returns its result or fails."""
        # A new thread for each run would take twice the time of a small step (``bench/served_calls.py``). There is more
        # than one worker only if a served function itself starts a session.
        worker = self.workers.pop() if self.workers else _Worker(self.calls)
        done: Future[Any] = Future()
        worker.works.put((done, work))
        try:
            while not done.done():
                with contextlib.suppress(queue.Empty):
                    call = self.calls.get(timeout=_POLL_S)
                    if call is not None:
                        channel, future, arguments = call
                        channel.answer(future, arguments)
        except BaseException:
            # Interrupted; the worker cannot be interrupted, and ends after its work.
            worker.works.put(None)
            raise
        self.workers.append(worker)
        return done.result()

    def stop_workers(self) -> None:
        while self.workers:
            self.workers.pop().works.put(None)


class _Worker(threading.Thread):
    def __init__(self, calls: queue.SimpleQueue[Any]) -> None:
        # A daemon, so that Python can exit during a step that hangs.
        super().__init__(name="tfdistribute-session", daemon=True)
        self.works: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = (
            queue.SimpleQueue()
        )
        self._calls = calls
        self.start()

    def run(self) -> None:
        while (item := self.works.get()) is not None:
            done, work = item
            try:
                done.set_result(work())
            except BaseException as error:  # noqa: BLE001 - raised on the serving thread
                done.set_exception(error)
            # Keep no references while the thread waits for the next function.
            del item, done, work
            self._calls.put(None)


_lock = threading.Lock()
_channels: list[_Channel] = []
_of_this_thread = threading.local()
_patched = contextlib.ExitStack()


def _open(channel: _Channel, function: Callable[..., Any]) -> None:
    with _lock:
        channel.contexts += 1
        if channel.contexts > 1:
            return
        if not hasattr(_of_this_thread, "dispatcher"):
            _of_this_thread.dispatcher = _Dispatcher()
        channel.dispatcher, channel.function, channel.failure = (
            _of_this_thread.dispatcher,
            function,
            None,
        )
        channel.accept()
        if not _channels:
            _patched.enter_context(
                patches.patch_temporarily("served_sessions", _run_and_serve, _refuse_and_close)
            )
        _channels.append(channel)


def _close(channel: _Channel) -> None:
    with _lock:
        channel.contexts -= 1
        if channel.contexts > 0:
            return
        _channels.remove(channel)
        channel.refuse()
        dispatcher, channel.dispatcher, channel.function = channel.dispatcher, None, None
        if dispatcher is not None and all(
            other.dispatcher is not dispatcher for other in _channels
        ):
            dispatcher.stop_workers()
        if not _channels:
            _patched.close()


def serves(graph: Any) -> bool:
    return bool(_channels_of(graph))


def _channels_of(graph: Any) -> list[_Channel]:
    return [channel for channel in _channels if graph in channel.graphs]


def _run_and_serve(run: Any, session: Any, *arguments: Any) -> Any:
    dispatcher: _Dispatcher | None = getattr(_of_this_thread, "dispatcher", None)
    channels = [
        channel for channel in _channels_of(session.graph) if channel.dispatcher is dispatcher
    ]
    if dispatcher is None or not channels:
        return run(session, *arguments)
    for channel in channels:
        channel.accept()
    return dispatcher.serve_during(lambda: run(session, *arguments))


def _refuse_and_close(close: Any, session: Any) -> None:
    """Close a session after rejecting calls, because threads of its inputs end only after their calls."""
    if not getattr(session, "_closed", True):
        for channel in _channels_of(session.graph):
            channel.refuse()
    close(session)
