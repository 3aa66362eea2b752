"""The verb that evaluates a trained model."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tfdistribute import engine, history_file
from tfdistribute.cluster.member import Member
from tfdistribute.inputs import Input
from tfdistribute.models import Model
from tfdistribute.run_config import RunSettings
from tfdistribute.training.history import BatchProgress, Listener, metric_values
from tfdistribute.training.hooks import HookContext, as_hooks, check_hooks
from tfdistribute.training.multi_worker.inputs import for_task
from tfdistribute.training.preparation import Prepared, prepare_use
from tfdistribute.training.specs import check_ends
from tfdistribute.training.tensorflow_errors import translate_errors


@dataclass(frozen=True)
class EvaluationShard:
    """The part of an evaluation that one task of a cluster performs.

    Args:
        exchange: Called with the states of this task's metrics after its last batch: arrays by the names of their
            variables. Returns their sums over all tasks, from which the metrics are then read; or None for the
            metrics of this task's rows alone.
        output_dir: Where summaries are written; None for the model's own directory.
    """

    member: Member
    exchange: Any
    output_dir: str | None = None


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
    shard: EvaluationShard | None = None,
) -> dict[str, float]:
    """Compute the metrics of a model in this process; every row counts once.

    Metrics that do not depend on the batches are computed in large ones, unless ``steps`` or hooks count batches.

    ``loss`` is the mean of the batches' losses, in which each batch counts by its rows. This is the mean over all rows
    if the model's loss is a mean over the rows of its batch.

    Args:
        steps: Batches to evaluate; None for all.
        checkpoint_path: Prefix of the checkpoint, or None, which means the newest one.
        name: Name of the evaluation, for a model that is evaluated on several data sets.
        listener: Called with the progress, at most ten times a second.
        shard: This process's part, if it is a task that shares the evaluation with others; None to evaluate all rows.
            The chief notes the result in the history of the model.

    Raises:
        InputError: if the input never ends and steps is None.
        ModelDirectoryError: if the model was not trained.
        UnsupportedError: if a shard is evaluated, and the state of a metric is not a sum over rows.

    Source:
        https://www.tensorflow.org/api_docs/python/tf/estimator/Estimator#evaluate
    """
    source = source.reading(model.types_read())
    context = HookContext.here("evaluate", model.model_dir)
    check_hooks(hooks, context)
    if steps is None:
        check_ends(source, "evaluate", "steps")
    prepared, checkpoint = prepare_use("evaluate", model, settings, source, checkpoint_path)
    counts_rows = steps is None and not hooks and _counts_rows(prepared)
    if counts_rows:
        source = source.in_large_batches(1 if shard is None else len(shard.member.training_tasks))
    progress = BatchProgress("evaluate", listener, source.facts(), steps)
    rows = prepared.rows(source, "evaluate") if counts_rows and shard is None else None
    with (
        translate_errors("evaluate", model.model_dir),
        source.serving(),
        contextlib.nullcontext()
        if shard is None
        else prepared.estimator.evaluate_shard(shard.exchange, shard.output_dir),
    ):
        if rows is not None:
            metrics = prepared.estimator.evaluate_rows(
                rows, prepared.graph_key, checkpoint, name, progress.note_batch
            )
        else:
            metrics = prepared.estimator.evaluate(
                _input_fn(prepared, source, shard),
                steps=steps,
                hooks=[
                    *prepared.session_hooks("evaluate"),
                    engine.hooks.ReportBatches(progress.note_batch),
                    *as_hooks(hooks, context),
                ],
                checkpoint_path=checkpoint,
                name=name,
            )
    values = metric_values(metrics)
    if name is None and (shard is None or shard.member.is_chief):
        history_file.append(model.model_dir, history_file.EVALUATIONS, [values])
    return values


def _counts_rows(prepared: Prepared) -> bool:
    options = prepared.estimator.options
    means = options.row_loss is not None and not options.sums_loss
    # Functions for metrics may compute anything of a batch, and replicas divide batches.
    return (
        means and not prepared.model.has_callbacks() and prepared.devices.replicas("evaluate") == 1
    )


def _input_fn(prepared: Prepared, source: Input, shard: EvaluationShard | None) -> Any:
    if shard is None:
        return prepared.input_fn(source, "evaluate")
    return for_task(prepared.input_fn(source, "evaluate", shard.member.job_name), shard.member)
