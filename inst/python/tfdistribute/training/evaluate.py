"""The verb that evaluates a trained model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfdistribute import engine, history_file
from tfdistribute.inputs import Input
from tfdistribute.models import Model
from tfdistribute.run_config import RunSettings
from tfdistribute.training.checks import check_ends
from tfdistribute.training.history import BatchProgress, Listener
from tfdistribute.training.hooks import HookContext, as_hooks, check_hooks
from tfdistribute.training.preparation import prepare_use
from tfdistribute.training.tensorflow_errors import translate_errors


def evaluate(
    model: Model,
    settings: RunSettings,
    source: Input,
    *,
    steps: int | None = None,
    checkpoint_path: str | None = None,
    name: str | None = None,
    hooks: Sequence[Any] = (),
    listener: Listener | None = None,
) -> dict[str, float]:
    """Compute the metrics of a model in this process; every row counts once.

    Args:
        model: A trained model.
        settings: The run configuration; without eval_distribute the evaluation is exact.
        source: Features and labels.
        steps: Batches to evaluate; None for all.
        checkpoint_path: A checkpoint's prefix; None for the newest.
        name: Name of the evaluation, for a model that is evaluated on several data sets.
        hooks: Hook descriptions and tf.estimator.SessionRunHook objects.
        listener: Called with the progress, at most ten times a second.

    Returns:
        Metrics by name, ``loss`` and ``global_step`` among them.

    Raises:
        InputError: the input never ends and steps is None.
        ModelDirectoryError: the model was not trained.

    Source:
        https://www.tensorflow.org/api_docs/python/tf/estimator/Estimator#evaluate
    """
    context = HookContext.here("evaluate", model.model_dir)
    check_hooks(hooks, context)
    if steps is None:
        check_ends(source, "evaluate", "steps")
    prepared, checkpoint = prepare_use("evaluate", model, settings, source, checkpoint_path)
    progress = BatchProgress("evaluate", listener, source.facts(), steps)
    with translate_errors("evaluate", model.model_dir), source.serving():
        metrics = prepared.estimator.evaluate(
            prepared.input_fn(source, "evaluate"),
            steps=steps,
            hooks=[
                *prepared.session_hooks("evaluate"),
                engine.hooks.ReportBatches(progress.note_batch),
                *as_hooks(hooks, context),
            ],
            checkpoint_path=checkpoint,
            name=name,
        )
    values = {str(key): float(value) for key, value in metrics.items()}
    if name is None:
        history_file.append(model.model_dir, history_file.EVALUATIONS, [values])
    return values
