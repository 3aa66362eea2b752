"""The verb that trains a model and evaluates its checkpoints."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tfdistribute import engine, history_file
from tfdistribute.cluster.member import enter_cluster
from tfdistribute.models import Model
from tfdistribute.run_config import RunSettings
from tfdistribute.training.evaluate import Evaluation, check_evaluation, local_exports
from tfdistribute.training.history import History, Listener
from tfdistribute.training.hooks import HookContext
from tfdistribute.training.hooks.early_stopping import notes_on_evaluations
from tfdistribute.training.model_directory import as_trained, require_checkpoint
from tfdistribute.training.multi_worker.assignment import TaskAssignment
from tfdistribute.training.multi_worker.perform import perform
from tfdistribute.training.preparation import TrainingHere, training_here
from tfdistribute.training.specs import EvalSpec, Training, TrainSpec
from tfdistribute.training.train import trainer_of


def train_and_evaluate(
    model: Model,
    settings: RunSettings,
    train_spec: TrainSpec,
    eval_spec: EvalSpec,
    *,
    listener: Listener | None = None,
) -> History:
    """Train, and evaluate after checkpoints and at the end.

    A process that is a task of a cluster performs its part; only the evaluator evaluates. ``listener`` is called with
    the progress, at most ten times a second. Raises InputError if an input never ends and no step count ends it, and
    the errors of ``train`` and ``evaluate``, and ArgumentError for a tabular model.

    Source:
        https://www.tensorflow.org/api_docs/python/tf/estimator/train_and_evaluate
    """
    member, trainer = enter_cluster(settings.cluster, settings.protocol), trainer_of(model)
    eval_spec = replace(eval_spec, input=as_trained(model).reading(eval_spec.input))
    asked = Training(
        "train_and_evaluate", model, settings, train_spec, eval_spec, listener=listener
    )
    training = trainer.begin(asked, member)
    if member is not None:
        return perform(TaskAssignment(**vars(training), member=member), trainer.task)
    training.check()
    with training_here(
        training, check=lambda prepared: check_evaluation(prepared, eval_spec.input)
    ) as here:
        _train_and_evaluate(here, training, eval_spec)
    return here.history


def _train_and_evaluate(here: TrainingHere, training: Training, eval_spec: EvalSpec) -> None:
    prepared, history, model_dir = here.prepared, here.history, here.prepared.model.model_dir
    evaluation = Evaluation(prepared, eval_spec, HookContext.here("evaluate", model_dir))
    hooks, settings = training.train.hooks, training.settings
    for text in notes_on_evaluations(
        hooks, eval_spec.throttle_secs, settings, history, prepared.first_step
    ):
        history.note(text)
    known = history_file.read_evaluations(model_dir, of_training=True)
    engine.best_exports.remember(eval_spec.exporters, local_exports(model_dir, eval_spec), known)
    evaluate = _noting(evaluation, history, here.stop)
    with evaluation.source.serving(), prepared.estimator.evaluate_with(evaluate):
        trainer_of(training.model).train(here, training)
        if not history.evaluations:
            # TensorFlow evaluates only after it has trained, and the model may already have been at max_steps. Others
            # do not evaluate.
            evaluate(require_checkpoint(model_dir, None, "evaluate"))


def _noting(
    evaluation: Evaluation, history: History, stop: Callable[[], bool]
) -> Callable[[str], dict[str, Any]]:
    def end_if_requested(_batch: int) -> None:
        if stop():
            raise KeyboardInterrupt

    def evaluate(checkpoint: str) -> dict[str, Any]:
        began = time.monotonic()
        metrics = evaluation.metrics(checkpoint, end_if_requested)
        history.exclude(time.monotonic() - began)
        history.note_evaluation(metrics)
        return metrics

    return evaluate
