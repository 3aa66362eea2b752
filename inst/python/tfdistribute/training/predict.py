"""The verb that predicts with a trained model."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tfdistribute import engine
from tfdistribute.cluster.member import Member
from tfdistribute.errors import ArgumentError, ModelError
from tfdistribute.inputs import Input
from tfdistribute.models import Model
from tfdistribute.run_config import RunSettings
from tfdistribute.training.history import BatchProgress, Listener
from tfdistribute.training.hooks import HookContext, as_hooks, check_hooks
from tfdistribute.training.model_directory import as_trained
from tfdistribute.training.multi_worker.inputs import for_task
from tfdistribute.training.preparation import prepare_use
from tfdistribute.training.tensorflow_errors import translate_errors

_ROW_PER_ROW = (
    "Give each output one row per row of the features, for example with tf.fill(), or choose the outputs that have "
    "them with `predict_keys`."
)


def predict(
    model: Model,
    settings: RunSettings,
    source: Input,
    *,
    checkpoint_path: str | None = None,
    predict_keys: Sequence[str] | None = None,
    hidden_keys: Sequence[str] | None = None,
    hooks: Sequence[Any] = (),
    listener: Listener | None = None,
    member: Member | None = None,
    in_large_batches: bool = False,
) -> Iterator[dict[str, Any]]:
    """Predict in this process, batch by batch, in the order of the input.

    Args:
        checkpoint_path: Prefix of the checkpoint, or None, which means the newest one.
        predict_keys: Names of the outputs to return; names that the model does not have are ignored. None for all.
        hidden_keys: Names of outputs to leave out if predict_keys is None; None for none.
        listener: Called with the progress, at most ten times a second.
        member: This process as a task that predicts its shard of the rows; None to predict all rows.
        in_large_batches: Whether batches may be larger than the input's, see ``Input.in_large_batches``.

    Returns:
        An iterator of batches: arrays by output name, with the rows of the batch as first dimension. Strings are
        arrays of str objects.

    Raises:
        ArgumentError: if the model has none of the outputs in predict_keys.
        ModelDirectoryError: if the model was not trained.

    Source:
        https://www.tensorflow.org/api_docs/python/tf/estimator/Estimator#predict
    """
    source = as_trained(model).reading(source)
    if in_large_batches:
        source = source.in_large_batches()
    context = HookContext.here("predict", model.model_dir)
    check_hooks(hooks, context)
    prepared, checkpoint = prepare_use("predict", model, settings, source, checkpoint_path)
    progress = BatchProgress("predict", listener, source.facts())
    outputs = engine.inference.OutputChoice(
        None if predict_keys is None else tuple(predict_keys), tuple(hidden_keys or ())
    )
    rows = prepared.rows(source, "predict") if member is None else None
    if rows is None:
        source.facts().check_rows()
    input_fn = prepared.input_fn(source, "predict")
    batches = prepared.estimator.predict_batches(
        (input_fn if member is None else for_task(input_fn, member)) if rows is None else rows,
        None if hooks else prepared.graph_key,
        checkpoint,
        outputs,
        as_hooks(hooks, context),
        progress.note_batch,
    )

    def decode_batches() -> Iterator[dict[str, Any]]:
        predicted = 0
        with translate_errors("predict"), source.serving():
            for batch in batches:
                outputs = select_outputs(batch, predict_keys)
                decoded = {key: _decode(value) for key, value in outputs.items()}
                predicted += _count_rows(decoded)
                yield decoded
        if rows is not None and not hooks and predicted != source.facts().rows:
            raise ModelError(
                f"`predictions` has {predicted} rows for {source.facts().rows} rows of features.",
                _ROW_PER_ROW,
                value=str(predicted),
            )

    return decode_batches()


def _count_rows(outputs: dict[str, Any]) -> int:
    return max((len(value) for value in outputs.values() if value.ndim), default=0)


def _check_rows(outputs: dict[str, Any]) -> None:
    """Raise ModelError for an output without rows, or with fewer than another one."""
    rows = {key: len(value) if value.ndim else None for key, value in outputs.items()}
    longest = max(rows, key=lambda key: rows[key] or 0)
    for key, count in rows.items():
        if count is None or count != rows[longest]:
            held = "no row" if count is None else f"{count} row{'s' * (count != 1)}"
            compared = "" if key == longest else f', where "{longest}" has {rows[longest]}'
            raise ModelError(
                f'The output "{key}" of `predictions` has {held} in a batch{compared}.',
                _ROW_PER_ROW,
                argument="predictions",
                value=key,
            )


def concatenate(batches: Iterator[dict[str, Any]]) -> dict[str, Any]:
    """Join batches; ModelError if an output of one does not have a row per row."""
    columns: dict[str, list[Any]] = {}
    for batch in batches:
        _check_rows(batch)
        for key, value in batch.items():
            columns.setdefault(key, []).append(value)
    return {key: np.concatenate(parts, axis=0) for key, parts in columns.items()}


def select_outputs(batch: Any, predict_keys: Sequence[str] | None) -> dict[str, Any]:
    outputs = batch if isinstance(batch, dict) else {"output": batch}
    if predict_keys is None:
        return outputs
    selected = {key: value for key, value in outputs.items() if key in predict_keys}
    if not selected:
        raise ArgumentError(
            f"`predict_keys` names none of this model's outputs: {', '.join(sorted(outputs))}.",
            "Leave `predict_keys` NULL for all outputs, or name some of these.",
            value=", ".join(predict_keys),
        )
    return selected


def _decode(value: Any) -> Any:
    if isinstance(value, engine.inference.CodedStrings):
        return value.decode()
    return np.asarray(value)
