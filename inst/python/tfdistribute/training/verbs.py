"""The verbs that train: in this process alone, or as the task of a cluster that it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfdistribute.inputs import Input
from tfdistribute.models import Model
from tfdistribute.run_config import RunSettings
from tfdistribute.training import train as alone
from tfdistribute.training import train_and_evaluate as alone_and_evaluate
from tfdistribute.training.history import History, Listener
from tfdistribute.training.specs import EvalSpec, TrainSpec
from tfdistribute.training.tasks.assignment import Work, joined
from tfdistribute.training.tasks.perform import perform


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

    In a task of a cluster the task's part is performed, without an evaluation: an evaluator returns at once.

    Args:
        model: What is trained. It goes on from the newest checkpoint in its model_dir.
        settings: The run configuration, its strategy and cluster included.
        source: Features and labels.
        steps: Steps to take from here; None for no limit.
        max_steps: Global step to stop at; None for no limit. Not together with steps.
        hooks: Hook descriptions and tf.estimator.SessionRunHook objects.
        saving_listeners: tf.estimator.CheckpointSaverListener objects.
        listener: Told of the progress, ten times a second at most.

    Returns:
        Losses by step and the speed, as this process saw them.

    Raises:
        TfdistributeError: see ``train.train`` and ``as_task.perform``.
    """
    member = joined(settings)
    if member is None:
        return alone.train(
            model,
            settings,
            source,
            steps=steps,
            max_steps=max_steps,
            hooks=hooks,
            saving_listeners=saving_listeners,
            listener=listener,
        )
    spec = TrainSpec(source, max_steps, hooks)
    work = Work("train", model, settings, spec, None, steps, saving_listeners, listener)
    return perform(work, member)


def train_and_evaluate(
    model: Model,
    settings: RunSettings,
    train_spec: TrainSpec,
    eval_spec: EvalSpec,
    *,
    listener: Listener | None = None,
) -> History:
    """Train, evaluate after checkpoints and at the end.

    In a task of a cluster the task's part is performed: only the evaluator evaluates.

    Args:
        model: What is trained.
        settings: The run configuration; its checkpoint intervals say when an evaluation can be.
        train_spec: What to train on.
        eval_spec: What to evaluate on.
        listener: Told of the progress, ten times a second at most.

    Returns:
        Losses by step, evaluations, and the speed, as this process saw them.

    Raises:
        TfdistributeError: see ``train_and_evaluate.train_and_evaluate`` and ``as_task.perform``.
    """
    member = joined(settings)
    if member is None:
        return alone_and_evaluate.train_and_evaluate(
            model, settings, train_spec, eval_spec, listener=listener
        )
    work = Work("train_and_evaluate", model, settings, train_spec, eval_spec, listener=listener)
    return perform(work, member)
