"""Session hooks of a task: reports, peer failure and a common end."""

import contextlib
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from tfdistribute.engine.hooks.step_requirements import StepRequirements

_SERVER = "/job:ps/replica:0/task:0/device:CPU:0"
_POLL_S = 0.1
_PEER_CHECK_S = 2.0
_DISCONNECT_S = 1.0
# TensorFlow has closed a session within this time, or never does.
_GIVE_UP_S = 20.0
# The chief waits this long at the end for a task that answers but takes no step.
_IDLE_S = 60.0


class ReportSteps(tf.estimator.SessionRunHook):
    def __init__(
        self, session_started: Callable[[int], None], steps_taken: Callable[[int, int], None]
    ) -> None:
        self._session_started = session_started
        self._steps_taken = steps_taken

    def begin(self) -> None:
        self._global_step = tf.compat.v1.train.get_or_create_global_step()

    def after_create_session(self, session: Any, coord: Any) -> None:
        self._step = int(session.run(self._global_step))
        self._session_started(self._step)

    def before_run(self, run_context: Any) -> Any:
        return tf.estimator.SessionRunArgs(self._global_step)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        # Some graphs read it before the update, so it is at least one step on.
        self._step = max(int(run_values.results), self._step + 1)
        self._steps_taken(self._step, 1)

    def required_steps(self, loss: Any) -> StepRequirements:
        return StepRequirements(note_skipped_steps=self._note_skipped_steps)

    def _note_skipped_steps(self, step: int, losses: Sequence[float]) -> None:
        self._step = step
        if len(losses):
            self._steps_taken(step, len(losses))


class AbortOnLostPeer(tf.estimator.SessionRunHook):
    """Close the session when the current step can never end.

    ``session.run`` waits inside TensorFlow, and closing the session from another thread makes it fail. Closing waits
    for a frozen parameter server, and gRPC connects again, so ``disconnect`` is called again and again. Sometimes even
    that does not help, and ``give_up`` ends the process. ``until_closed`` if other tasks are needed after the last
    step. See ``MasterSession::Close`` in
    tensorflow/core/distributed_runtime/master_session.cc.
    """

    def __init__(
        self,
        is_lost: Callable[[], bool],
        disconnect: Callable[[], None],
        give_up: Callable[[], None],
        until_closed: bool,
    ) -> None:
        self._is_lost = is_lost
        self._disconnect = disconnect
        self._give_up = give_up
        self._until_closed = until_closed
        self._session: Any = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="tfdistribute-watch", daemon=True)

    def watch(self, session: Any) -> None:
        self._session = session
        if not self._thread.is_alive() and not self._ended.is_set():
            self._thread.start()

    def end(self, session: Any) -> None:
        if not self._until_closed:
            self.stop()

    def stop(self) -> None:
        self._ended.set()

    def _watch(self) -> None:
        while not self._ended.wait(_PEER_CHECK_S):
            if self._is_lost():
                self._ended.set()
                closing = start_closing(self._session)
                deadline = time.monotonic() + _GIVE_UP_S
                while closing.is_alive():
                    self._disconnect()
                    closing.join(_DISCONNECT_S)
                    if closing.is_alive() and time.monotonic() > deadline:
                        self._give_up()
                        return


def start_closing(session: Any) -> threading.Thread:
    def close() -> None:
        # Its own close() may be a replacement.
        with contextlib.suppress(tf.errors.OpError):
            type(session).close(session)

    closing = threading.Thread(target=close, name="tfdistribute-close", daemon=True)
    closing.start()
    return closing


class EndBarrier(tf.estimator.SessionRunHook):
    """Make the chief of a parameter server cluster wait for all workers before it writes the last checkpoint.

    Workers share a queue on a parameter server, because a variable would become part of the checkpoints.
    """

    def __init__(self, name: str, is_chief: bool, training_peers: Callable[[], set[str]]) -> None:
        self._name = name
        self._is_chief = is_chief
        self._training_peers = training_peers

    def begin(self) -> None:
        with tf.device(_SERVER):
            queue = tf.queue.FIFOQueue(
                10_000, [tf.string], shapes=[()], shared_name="tfdistribute_ended"
            )
            self._enqueue = queue.enqueue(self._name)
            self._size = queue.size()
            self._dequeue = queue.dequeue()
        self._global_step = tf.compat.v1.train.get_or_create_global_step()

    def end(self, session: Any) -> None:
        if not self._is_chief:
            session.run(self._enqueue)
            return
        ended: set[str] = set()
        step, moved = -1, time.monotonic()
        while self._training_peers() - ended:
            while session.run(self._size):
                ended.add(session.run(self._dequeue).decode())
            now, before = int(session.run(self._global_step)), step
            if now != before:
                step, moved = now, time.monotonic()
            elif time.monotonic() - moved > _IDLE_S:
                return
            time.sleep(_POLL_S)


class ReportSaves(tf.estimator.CheckpointSaverListener):
    def __init__(self, checkpoint_saved: Callable[[int], None]) -> None:
        self._checkpoint_saved = checkpoint_saved

    def after_save(self, session: Any, global_step_value: Any) -> None:
        self._checkpoint_saved(int(global_step_value))
