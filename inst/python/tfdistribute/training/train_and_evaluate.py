"""Train a model and evaluate it on the way, in this process."""

from __future__ import annotations

from typing import Any

from tfdistribute import engine
from tfdistribute.models import Model
from tfdistribute.run_config import RunSettings
from tfdistribute.training.evaluate import evaluate
from tfdistribute.training.history import History, Listener
from tfdistribute.training.hooks import Run, as_hooks, check_hooks, may_end, nan_may_end
from tfdistribute.training.interrupts import finish_step_on_interrupt
from tfdistribute.training.preparation import check_evaluation, prepare_training, run_seed
from tfdistribute.training.specs import EvalSpec, TrainSpec
from tfdistribute.training.tensorflow_errors import explained
from tfdistribute.training.train import check_ends, training_hooks


def train_and_evaluate(
    model: Model,
    settings: RunSettings,
    train_spec: TrainSpec,
    eval_spec: EvalSpec,
    *,
    listener: Listener | None = None,
) -> History:
    """Train, evaluate after checkpoints and at the end.

    Args:
        model: What is trained.
        settings: The run configuration; its checkpoint intervals say when an evaluation can be.
        train_spec: What to train on.
        eval_spec: What to evaluate on.
        listener: Told of the progress, ten times a second at most.

    Returns:
        Losses by step, every evaluation, and the speed.

    Raises:
        InputError: an input never ends and no step count ends it.
        TfdistributeError: see ``train`` and ``evaluate``.

    Source:
        https://www.tensorflow.org/api_docs/python/tf/estimator/train_and_evaluate
    """
    check_specs(model, train_spec, eval_spec)
    prepared = prepare_training("train_and_evaluate", model, settings, train_spec.source)
    check_evaluation(prepared, eval_spec.source.facts())
    history = History(train_spec.source.facts().global_batch_size, listener, train_spec.max_steps)
    tf, seed = engine.tf, run_seed(settings)
    with (
        explained("train_and_evaluate"),
        finish_step_on_interrupt() as stop,
        train_spec.source.serving(),
        eval_spec.source.serving(),
        nan_may_end(train_spec.hooks),
        prepared.many_steps(history.note),
    ):
        _note_evaluations(prepared.estimator, history)
        tf.estimator.train_and_evaluate(
            prepared.estimator,
            tf.estimator.TrainSpec(
                train_spec.source.input_fn("train", seed, packed=True),
                max_steps=train_spec.max_steps,
                hooks=training_hooks(
                    "train_and_evaluate", prepared, history, stop, train_spec.hooks
                ),
            ),
            tf.estimator.EvalSpec(
                eval_spec.source.input_fn("evaluate", seed, packed=True),
                steps=eval_spec.steps,
                name=eval_spec.name,
                hooks=[
                    *prepared.session_hooks("evaluate"),
                    *as_hooks(eval_spec.hooks, Run.here("evaluate", model.model_dir)),
                ],
                exporters=list(eval_spec.exporters),
                start_delay_secs=eval_spec.start_delay_s,
                throttle_secs=eval_spec.throttle_s,
            ),
        )
    if not history.evaluations:
        # TensorFlow evaluates only where it trained; the model may already have been at max_steps.
        history.note_evaluation(
            evaluate(
                prepared.model,
                settings,
                eval_spec.source,
                steps=eval_spec.steps,
                name=eval_spec.name,
                hooks=eval_spec.hooks,
            )
        )
    return history


def check_specs(model: Model, train_spec: TrainSpec, eval_spec: EvalSpec) -> None:
    """See that training and evaluation can end, and that their hooks can do their work.

    Raises:
        ArgumentError: a hook has no meaning here.
        InputError: an input never ends and no step count ends it.
    """
    check_hooks(train_spec.hooks, Run.here("train_and_evaluate", model.model_dir))
    check_hooks(eval_spec.hooks, Run.here("evaluate", model.model_dir))
    if train_spec.max_steps is None and not may_end(train_spec.hooks):
        check_ends(train_spec.source, "train_and_evaluate", "max_steps")
    if eval_spec.steps is None:
        check_ends(eval_spec.source, "evaluate", "steps")


def _note_evaluations(estimator: Any, history: History) -> None:
    def note(metrics: dict[str, Any], seconds: float) -> None:
        history.leave_out(seconds)
        history.note_evaluation(metrics)

    estimator.observe_evaluations(note)
