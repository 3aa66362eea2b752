"""Evaluate a trained model, in this process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfdistribute.inputs import Input
from tfdistribute.models import Model
from tfdistribute.run_config import RunSettings
from tfdistribute.training.hooks import Run, as_hooks, check_hooks
from tfdistribute.training.preparation import prepare_use, run_seed
from tfdistribute.training.tensorflow_errors import explained
from tfdistribute.training.train import check_ends


def evaluate(
    model: Model,
    settings: RunSettings,
    source: Input,
    *,
    steps: int | None = None,
    checkpoint_path: str | None = None,
    name: str | None = None,
    hooks: Sequence[Any] = (),
) -> dict[str, float]:
    """Compute a model's metrics, every row counted once.

    Args:
        model: A trained model.
        settings: The run configuration; without eval_distribute the evaluation is exact.
        source: Features and labels.
        steps: Batches to evaluate; None for all.
        checkpoint_path: A checkpoint's prefix; None for the newest.
        name: Name of the evaluation, where a model is evaluated on several data sets.
        hooks: Hook descriptions and tf.estimator.SessionRunHook objects.

    Returns:
        Metrics by name, ``loss`` and ``global_step`` among them.

    Raises:
        InputError: the input never ends and steps is None.
        ModelDirectoryError: the model was not trained.

    Source:
        https://www.tensorflow.org/api_docs/python/tf/estimator/Estimator#evaluate
    """
    run = Run.here("evaluate", model.model_dir)
    check_hooks(hooks, run)
    if steps is None:
        check_ends(source, "evaluate", "steps")
    prepared, checkpoint = prepare_use("evaluate", model, settings, source, checkpoint_path)
    with explained("evaluate"), source.serving():
        metrics = prepared.estimator.evaluate(
            source.input_fn("evaluate", run_seed(settings), packed=True),
            steps=steps,
            hooks=[*prepared.session_hooks("evaluate"), *as_hooks(hooks, run)],
            checkpoint_path=checkpoint,
            name=name,
        )
    return {str(key): float(value) for key, value in metrics.items()}
