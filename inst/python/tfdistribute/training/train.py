"""Train a model, in this process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfdistribute import engine
from tfdistribute.errors import ArgumentError, InputError
from tfdistribute.inputs import Input
from tfdistribute.models import Model
from tfdistribute.run_config import RunSettings
from tfdistribute.training.history import History, Listener
from tfdistribute.training.hooks import (
    Run,
    as_hooks,
    check_hooks,
    may_end,
    nan_may_end,
    record_interval,
)
from tfdistribute.training.interrupts import StopRequest, finish_step_on_interrupt
from tfdistribute.training.preparation import Prepared, prepare_training, run_seed
from tfdistribute.training.tensorflow_errors import explained
from tfdistribute.training.variables import global_step

RECORD_EVERY_N_STEPS = 10
# R takes about a tenth of a millisecond for a progress bar: ten times a second costs nothing.
REPORT_EVERY_S = 0.1


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

    Args:
        model: What is trained. It goes on from the newest checkpoint in its model_dir.
        settings: The run configuration, its strategy included.
        source: Features and labels.
        steps: Steps to take from here; None for no limit.
        max_steps: Global step to stop at; None for no limit. Not together with steps.
        hooks: Hook descriptions and tf.estimator.SessionRunHook objects.
        saving_listeners: tf.estimator.CheckpointSaverListener objects.
        listener: Told of the progress, ten times a second at most.

    Returns:
        Losses by step and the speed.

    Raises:
        ArgumentError: both steps and max_steps are given.
        InputError: the input never ends and no step count ends the training.
        KeyboardInterrupt: interrupted; the checkpoint of the last step is written.
        TfdistributeError: see ``prepare_training`` and ``failures``.

    Source:
        https://www.tensorflow.org/api_docs/python/tf/estimator/Estimator#train
    """
    check_training(model, source, steps, max_steps, hooks)
    prepared = prepare_training("train", model, settings, source)
    started_at = global_step(model.model_dir)
    history = History(source.facts().global_batch_size, listener, max_steps)
    if steps is not None:
        history.last_step = started_at + steps
    with (
        explained("train"),
        finish_step_on_interrupt() as stop,
        source.serving(),
        nan_may_end(hooks),
        prepared.many_steps(history.note),
    ):
        prepared.estimator.train(
            source.input_fn("train", run_seed(settings), packed=True),
            steps=steps,
            max_steps=max_steps,
            hooks=training_hooks("train", prepared, history, stop, hooks),
            saving_listeners=list(saving_listeners) or None,
        )
    return history


def check_training(
    model: Model,
    source: Input,
    steps: int | None,
    max_steps: int | None,
    hooks: Sequence[Any],
) -> None:
    """See that a training can end, and that its hooks can do their work.

    Raises:
        ArgumentError: both steps and max_steps are given, or a hook has no meaning here.
        InputError: the input never ends and no step count ends the training.
    """
    if steps is not None and max_steps is not None:
        raise ArgumentError(
            f"`steps` ({steps}) and `max_steps` ({max_steps}) cannot both be given.",
            "Give `steps` to count from here, or `max_steps` to stop at a global step.",
            argument="steps",
            value=str(steps),
        )
    check_hooks(hooks, Run.here("train", model.model_dir))
    if steps is None and max_steps is None and not may_end(hooks):
        check_ends(source, "train", "steps")


def training_hooks(
    verb: str, prepared: Prepared, history: History, stop: StopRequest, hooks: Sequence[Any]
) -> list[Any]:
    """Make the hooks that every training gets (the record, and the stop on request), and the user's."""
    prepared.model_hooks.history = history
    if history.listener is not None:
        history.listener = stop.taken_from(history.listener)
    every_n_steps = record_interval(hooks, RECORD_EVERY_N_STEPS)
    return [
        *prepared.session_hooks("train"),
        engine.hooks.RecordTraining(history.note_step, every_n_steps, REPORT_EVERY_S),
        engine.hooks.StopOnRequest(stop),
        *as_hooks(hooks, Run.here(verb, prepared.model.model_dir, history)),
    ]


def check_ends(source: Input, verb: str, argument: str) -> None:
    """See that an input ends by itself.

    Args:
        source: The input.
        verb: The verb that would never end.
        argument: The argument that ends it otherwise.

    Raises:
        InputError: it repeats without end.
    """
    facts = source.facts()
    if facts.rows is not None and facts.epochs is None:
        raise InputError(
            f"{verb} would never end: the input repeats without end (`num_epochs = NULL`) and `{argument}` is NULL.",
            f"Give `{argument}`, or `num_epochs` in input_fn().",
            argument=argument,
            value="NULL",
        )
