"""The verb that evaluates a trained model."""

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tfdistribute import engine, history_file
from tfdistribute.checkpoints.mirror import (
    download_exports,
    local_checkpoint,
    local_directory,
    upload_events,
)
from tfdistribute.cluster.member import Member
from tfdistribute.inputs import Input
from tfdistribute.models import Model, check_kinds
from tfdistribute.run_config import RunContext, RunSettings, flatten, preflight
from tfdistribute.training.history import BatchProgress, Listener, metric_values
from tfdistribute.training.hooks import HookContext, as_hooks, check_hooks
from tfdistribute.training.model_directory import as_trained
from tfdistribute.training.multi_worker.inputs import for_task
from tfdistribute.training.preparation import Prepared, check_data, prepare_use
from tfdistribute.training.specs import EvalSpec, check_ends
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


class Evaluation:
    """An evaluation of one checkpoint after another, with the same graph if that can be cached.

    Metrics that do not depend on the batches are computed in large ones, unless ``steps`` or hooks count batches.

    Args:
        job: Name of the job whose evaluator this process is, or None.
    """

    def __init__(
        self,
        prepared: Prepared,
        spec: EvalSpec,
        context: HookContext,
        shard: EvaluationShard | None = None,
        job: str | None = None,
    ) -> None:
        self.prepared = prepared
        self._spec = spec
        self._hooks = as_hooks(spec.hooks, context)
        counts_rows = spec.steps is None and not spec.hooks and _counts_rows(prepared)
        tasks = 1 if shard is None else len(shard.member.training_tasks)
        self.source = spec.input.in_large_batches(tasks) if counts_rows else spec.input
        self._session_hooks = prepared.session_hooks("evaluate")
        in_memory = shard is None and not spec.hooks and not self._session_hooks
        self._rows = prepared.rows(self.source, "evaluate", job) if in_memory else None
        if self._rows is None:
            job = job if shard is None else shard.member.job_name
            input_fn = prepared.input_fn(self.source, "evaluate", job)
            self._input_fn = input_fn if shard is None else for_task(input_fn, shard.member)

    def metrics(self, checkpoint: str, report: Callable[[int], Any]) -> dict[str, Any]:
        """Evaluate a checkpoint; ``report`` gets the number of batches, and may raise KeyboardInterrupt."""
        prepared, spec = self.prepared, self._spec
        checkpoint = local_checkpoint(checkpoint)
        if self._rows is not None:
            return prepared.estimator.evaluate_rows(
                self._rows, prepared.graph_key, checkpoint, spec.name, report, spec.steps
            )
        return prepared.estimator.evaluate(
            self._input_fn,
            steps=spec.steps,
            hooks=[*self._session_hooks, engine.hooks.ReportBatches(report), *self._hooks],
            checkpoint_path=checkpoint,
            name=spec.name,
        )


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
    spec = EvalSpec(as_trained(model).reading(source), steps, name, tuple(hooks))
    context = HookContext.here("evaluate", model.model_dir)
    check_hooks(spec.hooks, context)
    if steps is None:
        check_ends(spec.input, "evaluate", "steps")
    prepared, checkpoint = prepare_use("evaluate", model, settings, spec.input, checkpoint_path)
    evaluation = Evaluation(prepared, spec, context, shard)
    progress = BatchProgress("evaluate", listener, evaluation.source.facts(), steps)
    with (
        translate_errors("evaluate", model.model_dir),
        evaluation.source.serving(),
        contextlib.nullcontext()
        if shard is None
        else prepared.estimator.evaluate_shard(shard.exchange, shard.output_dir),
    ):
        metrics = evaluation.metrics(checkpoint, progress.note_batch)
    upload_events(model.model_dir)
    values = metric_values(metrics)
    if name is None and (shard is None or shard.member.is_chief):
        history_file.append_evaluation(model.model_dir, values)
    return values


def check_evaluation(prepared: Prepared, source: Input) -> None:
    facts = source.facts()
    check_kinds(prepared.model, facts, prepared.directory.kinds)
    check_data(source, prepared.model, prepared.codes)
    devices = prepared.devices
    run = RunContext.of("evaluate", prepared.settings, facts, prepared.model.is_v1_canned())
    replicas = devices.replicas("evaluate")
    preflight(replace(run, replicas=replicas, devices=flatten(devices.evaluate)))


def local_exports(model_dir: str, spec: EvalSpec) -> str:
    """Return the directory of this machine with the exports of a model, which exporters compare with new ones."""
    if spec.exporters:
        download_exports(model_dir)
    return local_directory(model_dir)


def _counts_rows(prepared: Prepared) -> bool:
    options = prepared.estimator.options
    means = options.row_loss is not None and not options.sums_loss
    # Functions for metrics may compute anything of a batch, and replicas divide batches.
    return (
        means and not prepared.model.has_callbacks() and prepared.devices.replicas("evaluate") == 1
    )
