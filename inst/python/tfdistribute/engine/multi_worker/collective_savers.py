"""Checkpoints and summaries of a cluster: the chief writes them, and the other tasks take part."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf
from tensorflow.python.training import basic_session_run_hooks

from tfdistribute.engine.graph import walk
from tfdistribute.engine.hooks import savers, step_requirements

# Tasks that must save together cannot use their own clocks. TensorFlow uses the same number.
STEPS_INSTEAD_OF_SECONDS = 1000


class _Saver(tf.estimator.CheckpointSaverHook):
    """Save by steps if all tasks must take part, even if seconds were asked for."""

    required_steps = step_requirements.by_global_step

    def after_create_session(self, session: Any, coord: Any) -> None:
        if self._timer._every_steps is None and saves_collectively(session.graph):
            self._timer = basic_session_run_hooks.SecondOrStepTimer(
                every_steps=STEPS_INSTEAD_OF_SECONDS
            )
        super().after_create_session(session, coord)


class _TakePart(_Saver):
    """Compute what the chief saves, at the same steps, and write nothing.

    If each task keeps its own value of a variable (a moving average of batch normalisation), saving it is a sum over
    all tasks, and the chief would wait for ever for the others.
    """

    def begin(self) -> None:
        """Find the step. TensorFlow would open a file here."""
        self._global_step_tensor = tf.compat.v1.train.get_or_create_global_step()
        self._summary_writer = _NoWriter()

    def after_create_session(self, session: Any, coord: Any) -> None:
        graph = session.graph
        self._saved = _saved_operations(graph) if saves_collectively(graph) else []
        self._save_graph_def = False
        super().after_create_session(session, coord)

    def _save(self, session: Any, step: int) -> bool:
        del step
        if self._saved:
            session.run(self._saved)
        return False


class _NoWriter:
    """A summary writer that writes nothing."""

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *args, **kwargs: None


def chief_savers(config: Any, scaffold: Any, in_step: bool) -> list[Any]:
    make = _Saver if in_step else tf.estimator.CheckpointSaverHook
    return savers.checkpoints(config, scaffold, make)


def worker_savers(config: Any, scaffold: Any) -> list[Any]:
    """Create the hook with which a worker takes part in the chief's checkpoints."""
    return savers.checkpoints(config, scaffold, _TakePart)


def summary_hooks(config: Any, scaffold: Any, in_step: bool, is_chief: bool) -> list[Any]:
    """Create the hooks that write summaries and speed; only the chief has a writer."""
    hooks: list[Any] = []
    output = {"output_dir": config.model_dir} if is_chief else {"summary_writer": _NoWriter()}
    if config.save_summary_steps and (in_step or is_chief):
        hooks.append(savers.summaries(scaffold, config.save_summary_steps, **output))
    if config.log_step_count_steps and is_chief:
        hooks.append(savers.speed(config.log_step_count_steps, **output))
    return hooks


def silence(hooks: Sequence[Any]) -> list[Any]:
    """Keep the hooks of a task that is not the chief from writing checkpoints and summaries."""
    for hook in hooks:
        if isinstance(hook, (tf.estimator.SummarySaverHook, tf.estimator.StepCounterHook)):
            hook._summary_writer = _NoWriter()
    return [hook for hook in hooks if not isinstance(hook, savers.SaveElsewhere)]


def saves_collectively(graph: Any) -> bool:
    """Return whether saving the variables of a graph needs the other tasks."""
    needed = walk.ancestors(_saved_operations(graph))
    return any(operation.type.startswith("Collective") for operation in needed)


def _saved_operations(graph: Any) -> list[Any]:
    nodes = [each for each in graph.get_operations() if each.type == "SaveV2"]
    # The first three inputs are the file's name, the names and the slices.
    return [tensor.op for node in nodes for tensor in node.inputs[3:]]
