"""What takes part in the steps of a task of a cluster: only the chief writes, and it writes when all have ended."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf
from tensorflow.python.training import basic_session_run_hooks

from tfdistribute.engine.hooks import savers as hook_savers
from tfdistribute.engine.hooks import step_requirements
from tfdistribute.engine.hooks.step_requirements import StepRequirements

# Where saving must be done by all at once, it cannot go by anybody's clock; TensorFlow takes the same number.
STEPS_INSTEAD_OF_SECONDS = 1000

_SERVER = "/job:ps/replica:0/task:0/device:CPU:0"
_POLL_S = 0.1
_LOOK_EVERY_S = 2.0
# A task that can be reached, but takes no step, is waited for this long at the end.
_PATIENCE_S = 60.0


class NoteSteps(tf.estimator.SessionRunHook):
    """Tell every step of this task.

    Args:
        at_session: Called with the global step at which a session begins.
        after_step: Called with the global step, and how many steps were taken since the last call.
    """

    def __init__(
        self, at_session: Callable[[int], None], after_step: Callable[[int, int], None]
    ) -> None:
        self._at_session = at_session
        self._after_step = after_step

    def begin(self) -> None:
        """Find the global step."""
        self._global_step = tf.compat.v1.train.get_or_create_global_step()

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Count from where the session begins."""
        del coord
        self._step = int(session.run(self._global_step))
        self._at_session(self._step)

    def before_run(self, run_context: Any) -> Any:
        """Ask for the step."""
        del run_context
        return tf.estimator.SessionRunArgs(self._global_step)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Tell it."""
        del run_context
        # Read before the update in some graphs, so never less than one step on.
        self._step = max(int(run_values.results), self._step + 1)
        self._after_step(self._step, 1)

    def required_steps(self, loss: Any) -> StepRequirements:
        """Need none: steps are told afterwards."""
        del loss
        return StepRequirements(note_skipped_steps=self._note_skipped_steps)

    def _note_skipped_steps(self, step: int, losses: Sequence[float]) -> None:
        self._step = step
        if len(losses):
            self._after_step(step, len(losses))


class GiveUp(tf.estimator.SessionRunHook):
    """Close the session when a step under way can never end.

    ``session.run`` waits inside TensorFlow; closing the session from another thread makes it fail.

    Args:
        has_given_up: Asked every few seconds on that thread, while there is a session.
    """

    def __init__(self, has_given_up: Callable[[], bool]) -> None:
        self._has_given_up = has_given_up
        self._session: Any = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="tfdistribute-watch", daemon=True)

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Watch this session."""
        del coord
        self._session = session
        if not self._thread.is_alive() and not self._ended.is_set():
            self._thread.start()

    def end(self, session: Any) -> None:
        """Watch no more."""
        del session
        self.stop()

    def stop(self) -> None:
        """Watch no more, and let the thread end."""
        self._ended.set()

    def _watch(self) -> None:
        while not self._ended.wait(_LOOK_EVERY_S):
            if self._has_given_up():
                self._ended.set()
                self._session.close()


class EndTogether(tf.estimator.SessionRunHook):
    """Let the chief of a parameter server cluster write its last checkpoint when all tasks have ended.

    Workers are not in step: when the chief has seen all of its rows, others may still train on theirs.

    Args:
        name: This task.
        is_chief: Whether it is the one that waits.
        others_train: Names the tasks that may still train, as far as can be seen from outside.

    Source:
        A queue on a parameter server, as in https://www.tensorflow.org/api_docs/python/tf/queue/FIFOQueue: a variable
        would become part of the checkpoints.
    """

    def __init__(self, name: str, is_chief: bool, others_train: Callable[[], set[str]]) -> None:
        self._name = name
        self._is_chief = is_chief
        self._others_train = others_train

    def begin(self) -> None:
        """Make the queue that the tasks of a job share."""
        with tf.device(_SERVER):
            queue = tf.queue.FIFOQueue(
                10_000, [tf.string], shapes=[()], shared_name="tfdistribute_ended"
            )
            self._tell = queue.enqueue(self._name)
            self._size = queue.size()
            self._next = queue.dequeue()
        self._global_step = tf.compat.v1.train.get_or_create_global_step()

    def end(self, session: Any) -> None:
        """Tell that this task has ended, or wait until all others have."""
        if not self._is_chief:
            session.run(self._tell)
            return
        ended: set[str] = set()
        step, moved = -1, time.monotonic()
        while self._others_train() - ended:
            while session.run(self._size):
                ended.add(session.run(self._next).decode())
            now, before = int(session.run(self._global_step)), step
            if now != before:
                step, moved = now, time.monotonic()
            elif time.monotonic() - moved > _PATIENCE_S:
                return
            time.sleep(_POLL_S)


class TellSaves(tf.estimator.CheckpointSaverListener):
    """Tell every checkpoint that was written.

    Args:
        model_dir: Directory of the model.
        after_save: Called with the checkpoint's prefix and its step.
    """

    def __init__(self, model_dir: str, after_save: Callable[[str, int], None]) -> None:
        self._model_dir = model_dir
        self._after_save = after_save

    def after_save(self, session: Any, global_step_value: Any) -> None:
        """Tell it."""
        del session
        prefix = tf.train.latest_checkpoint(self._model_dir)
        if prefix is not None:
            self._after_save(prefix, int(global_step_value))


class _Saver(tf.estimator.CheckpointSaverHook):
    """Save by steps where all tasks must take part in saving, whatever was asked for."""

    required_steps = step_requirements.by_global_step

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Settle how often to save, and write the first checkpoint."""
        if self._timer._every_steps is None and saves_together(session.graph):
            self._timer = basic_session_run_hooks.SecondOrStepTimer(
                every_steps=STEPS_INSTEAD_OF_SECONDS
            )
        super().after_create_session(session, coord)


class _TakePart(_Saver):
    """Compute what the chief saves, at the same steps, and write nothing.

    Where a variable is kept differently by each task (as moving averages of a batch normalisation are), saving it is a
    sum over all tasks, and the chief would wait for ever for the others.
    """

    def begin(self) -> None:
        """Find the step; TensorFlow would open a file here."""
        self._global_step_tensor = tf.compat.v1.train.get_or_create_global_step()
        self._summary_writer = _NoWriter()

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Settle how often, and take part in the first checkpoint."""
        graph = session.graph
        self._saved = _saved(graph) if saves_together(graph) else []
        self._save_graph_def = False
        super().after_create_session(session, coord)

    def _save(self, session: Any, step: int) -> bool:
        del step
        if self._saved:
            session.run(self._saved)
        return False


class _NoWriter:
    """A writer of summaries that writes nothing."""

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *args, **kwargs: None


def of_the_chief(config: Any, scaffold: Any, in_step: bool) -> list[Any]:
    """Make the hook that writes checkpoints as the run configuration says, if it does."""
    make = _Saver if in_step else tf.estimator.CheckpointSaverHook
    return hook_savers.checkpoints(config, scaffold, make)


def beside_the_chief(config: Any, scaffold: Any) -> list[Any]:
    """Make the hook by which a task takes part in the chief's checkpoints."""
    return hook_savers.checkpoints(config, scaffold, _TakePart)


def summaries(config: Any, scaffold: Any, in_step: bool, quiet: bool) -> list[Any]:
    """Make the hooks that write summaries and speed as the run configuration says.

    Args:
        config: A ``tf.estimator.RunConfig``.
        scaffold: The scaffold of the training.
        in_step: Whether all tasks must compute a summary together.
        quiet: Whether this task writes nothing.

    Returns:
        ``tf.estimator.SessionRunHook`` objects.
    """
    hooks: list[Any] = []
    where = {"summary_writer": _NoWriter()} if quiet else {"output_dir": config.model_dir}
    if config.save_summary_steps and (in_step or not quiet):
        hooks.append(hook_savers.summaries(scaffold, config.save_summary_steps, **where))
    if config.log_step_count_steps and not quiet:
        hooks.append(hook_savers.speed(config.log_step_count_steps, **where))
    return hooks


def quietened(hooks: Sequence[Any]) -> list[Any]:
    """Let hooks that write files write nothing, because this task is not the chief.

    Args:
        hooks: ``tf.estimator.SessionRunHook`` objects.

    Returns:
        The hooks, those that write summaries with nowhere to write them, and without those that write checkpoints.
    """
    for hook in hooks:
        if isinstance(hook, (tf.estimator.SummarySaverHook, tf.estimator.StepCounterHook)):
            hook._summary_writer = _NoWriter()
    return [hook for hook in hooks if not isinstance(hook, hook_savers.SaveElsewhere)]


def saves_together(graph: Any) -> bool:
    """Say whether saving the variables of a graph needs the other tasks."""
    seen: set[Any] = set()
    waiting = _saved(graph)
    while waiting:
        operation = waiting.pop()
        if operation in seen:
            continue
        seen.add(operation)
        if operation.type.startswith("Collective"):
            return True
        waiting += [each.op for each in operation.inputs]
        waiting += operation.control_inputs
    return False


def _saved(graph: Any) -> list[Any]:
    """The operations whose results are written into checkpoints."""
    savers = [each for each in graph.get_operations() if each.type == "SaveV2"]
    # The first three inputs are the file's name, the names and the slices.
    return [tensor.op for saver in savers for tensor in saver.inputs[3:]]
