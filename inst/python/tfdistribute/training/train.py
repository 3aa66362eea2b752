"""The verb that trains a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfdistribute.inputs import Input
from tfdistribute.interrupts import finish_step_on_interrupt
from tfdistribute.models import Model
from tfdistribute.run_config import RunSettings
from tfdistribute.training.checks import check_training
from tfdistribute.training.history import History, Listener
from tfdistribute.training.hooks import suppress_nan_error
from tfdistribute.training.multi_worker.assignment import TaskAssignment, current_member
from tfdistribute.training.multi_worker.perform import perform
from tfdistribute.training.preparation import prepare_training
from tfdistribute.training.specs import TrainSpec
from tfdistribute.training.tensorflow_errors import translate_errors
from tfdistribute.training.variables import global_step


def train(
    model: Model,
    settings: RunSettings,
    source: Input,
    *,
    steps: int | None = None,
    max_steps: int | None = None,
    hooks: Sequence[Any] = (),
    saving_listeners: Sequence[Any] = (),
    listener: Listener | None = None,
) -> History:
    """Train until the steps are done or the input ends.

    A process that is a task of a cluster performs its part of the training; an evaluator returns at once.

    Args:
        model: The model. Training continues from the newest checkpoint in its model_dir.
        settings: The run configuration with its strategy and cluster.
        source: Features and labels.
        steps: Steps to take from here; None for no limit.
        max_steps: Global step to stop at; None for no limit. Not together with steps.
        hooks: Hook descriptions and tf.estimator.SessionRunHook objects.
        saving_listeners: tf.estimator.CheckpointSaverListener objects.
        listener: Called with the progress, at most ten times a second.

    Returns:
        Losses by step and the speed, as this process saw them.

    Raises:
        ArgumentError: both steps and max_steps are given.
        InputError: the input never ends and no step count ends the training.
        KeyboardInterrupt: interrupted; the checkpoint of the last step is written.
        TfdistributeError: see ``prepare_training``, ``translate_errors`` and ``perform``.

    Source:
        https://www.tensorflow.org/api_docs/python/tf/estimator/Estimator#train
    """
    member = current_member(settings)
    if member is not None:
        spec = TrainSpec(source, max_steps, tuple(hooks))
        return perform(
            TaskAssignment(
                "train",
                member,
                model,
                settings,
                spec,
                steps=steps,
                saving_listeners=saving_listeners,
                listener=listener,
            )
        )
    check_training(model, source, steps, max_steps, hooks)
    with translate_errors("train", model.model_dir):
        prepared = prepare_training("train", model, settings, source)
    step = global_step(model.model_dir)
    ends = [max_steps, *(step + n for n in (steps, prepared.steps_of(source)) if n is not None)]
    last_step = min((end for end in ends if end is not None), default=None)
    batch_size = source.facts().global_batch_size
    history = History(batch_size, listener, last_step, model.model_dir)
    with (
        history.save(),
        translate_errors("train", model.model_dir),
        finish_step_on_interrupt() as stop,
        source.serving(),
        suppress_nan_error(hooks),
        prepared.many_steps(history.note),
    ):
        prepared.estimator.train(
            prepared.input_fn(source, "train"),
            steps=steps,
            max_steps=prepared.stop_step(max_steps, last_step) if steps is None else None,
            hooks=prepared.training_hooks("train", history, stop, hooks),
            saving_listeners=[*prepared.saving_listeners(history), *saving_listeners] or None,
        )
    return history
