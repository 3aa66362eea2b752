"""Checkpoints and summaries of a cluster. The chief writes them, and the other tasks take part."""

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf
from tensorflow.python.training import basic_session_run_hooks

from tfdistribute.engine.graph import walk
from tfdistribute.engine.hooks import savers, step_requirements

# Tasks that must save together cannot use their own clocks. TensorFlow uses the same number.
STEPS_INSTEAD_OF_SECONDS = 1000


class _Saver(tf.estimator.CheckpointSaverHook):
    required_steps = step_requirements.by_global_step

    def after_create_session(self, session: Any, coord: Any) -> None:
        if self._timer._every_steps is None and saves_collectively(session.graph):
            self._timer = basic_session_run_hooks.SecondOrStepTimer(
                every_steps=STEPS_INSTEAD_OF_SECONDS
            )
        super().after_create_session(session, coord)


class _TakePart(_Saver):
    """Compute the values that the chief saves, at the same steps, and write nothing.

    Saving a moving average of batch normalization is a sum over all tasks, for which the chief would wait forever.
    """

    def begin(self) -> None:
        self._global_step_tensor = tf.compat.v1.train.get_or_create_global_step()
        self._summary_writer = _NoWriter()

    def after_create_session(self, session: Any, coord: Any) -> None:
        graph = session.graph
        self._saved = _saved_operations(graph) if saves_collectively(graph) else []
        self._save_graph_def = False
        super().after_create_session(session, coord)

    def _save(self, session: Any, step: int) -> bool:
        if self._saved:
            session.run(self._saved)
        return False


class _NoWriter:
    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *args, **kwargs: None


def checkpoint_hooks(config: Any, scaffold: Any, in_step: bool, is_chief: bool) -> list[Any]:
    if not in_step:
        return savers.checkpoints(config, scaffold) if is_chief else []
    return savers.checkpoints(config, scaffold, _Saver if is_chief else _TakePart)


def summary_hooks(config: Any, scaffold: Any, in_step: bool, is_chief: bool) -> list[Any]:
    hooks: list[Any] = []
    output = {"output_dir": config.model_dir} if is_chief else {"summary_writer": _NoWriter()}
    if config.save_summary_steps and (in_step or is_chief):
        hooks.append(savers.summaries(scaffold, config.save_summary_steps, **output))
    if config.log_step_count_steps and is_chief:
        hooks.append(savers.speed(config.log_step_count_steps, **output))
    return hooks


def silence(hooks: Sequence[Any]) -> list[Any]:
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
