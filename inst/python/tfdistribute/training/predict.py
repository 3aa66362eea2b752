"""Predict with a trained model, in this process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tfdistribute.errors import ArgumentError
from tfdistribute.inputs import Input
from tfdistribute.models import Model
from tfdistribute.run_config import RunSettings
from tfdistribute.training.hooks import Run, as_hooks, check_hooks
from tfdistribute.training.preparation import prepare_use, run_seed
from tfdistribute.training.tensorflow_errors import explained


def predict(
    model: Model,
    settings: RunSettings,
    source: Input,
    *,
    checkpoint_path: str | None = None,
    predict_keys: Sequence[str] | None = None,
    hooks: Sequence[Any] = (),
) -> Iterator[dict[str, Any]]:
    """Predict batch by batch, in the order of the input.

    Args:
        model: A trained model.
        settings: The run configuration.
        source: Features; a response is ignored.
        checkpoint_path: A checkpoint's prefix; None for the newest.
        predict_keys: Outputs that are wanted; those that the model has are given. None for all.
        hooks: Hook descriptions and tf.estimator.SessionRunHook objects.

    Returns:
        An iterator of batches: arrays by output name, the first dimension the batch's rows, strings as
        lists of str.

    Raises:
        ArgumentError: the model has none of the wanted outputs.
        ModelDirectoryError: the model was not trained.

    Source:
        https://www.tensorflow.org/api_docs/python/tf/estimator/Estimator#predict
    """
    run = Run.here("predict", model.model_dir)
    check_hooks(hooks, run)
    prepared, checkpoint = prepare_use("predict", model, settings, source, checkpoint_path)
    batches = prepared.estimator.predict(
        source.input_fn("predict", run_seed(settings), packed=True),
        hooks=as_hooks(hooks, run),
        checkpoint_path=checkpoint,
        yield_single_examples=False,
    )

    def wanted() -> Iterator[dict[str, Any]]:
        with explained("predict"), source.serving():
            for batch in batches:
                yield {key: _decoded(value) for key, value in _chosen(batch, predict_keys).items()}

    return wanted()


def joined(batches: Iterator[dict[str, Any]]) -> dict[str, Any]:
    """Put all batches of a prediction together.

    Args:
        batches: What ``predict`` returned.

    Returns:
        Arrays (or lists of str) by output name, over all rows.
    """
    columns: dict[str, list[Any]] = {}
    for batch in batches:
        for key, value in batch.items():
            columns.setdefault(key, []).append(value)
    return {key: np.concatenate(parts, axis=0) for key, parts in columns.items()}


def _chosen(batch: Any, predict_keys: Sequence[str] | None) -> dict[str, Any]:
    outputs = batch if isinstance(batch, dict) else {"output": batch}
    if predict_keys is None:
        return outputs
    chosen = {key: value for key, value in outputs.items() if key in predict_keys}
    if not chosen:
        raise ArgumentError(
            f"`predict_keys` names none of this model's outputs: {', '.join(sorted(outputs))}.",
            "Leave `predict_keys` NULL for all outputs, or name some of these.",
            argument="predict_keys",
            value=", ".join(predict_keys),
        )
    return chosen


def _decoded(value: Any) -> Any:
    array = np.asarray(value)
    if array.dtype != object:
        return array
    flat = [
        item.decode("utf-8", "replace") if isinstance(item, bytes) else str(item)
        for item in array.ravel()
    ]
    return np.array(flat, dtype=object).reshape(array.shape)
