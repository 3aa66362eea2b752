"""Evaluation and prediction by the processes of a cluster, for R.

The processes call ``perform_evaluation`` and ``perform_prediction``. The session that starts them calls the others,
which do not start TensorFlow.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from tfdistribute import history_file
from tfdistribute.bridge.estimators import read_estimator
from tfdistribute.cluster.spec import LocalCluster
from tfdistribute.errors import ClusterError, InputError, RunConfigError
from tfdistribute.inputs import Input
from tfdistribute.launch.host import logs, private_directory
from tfdistribute.launch.job import must_launch
from tfdistribute.run_config import RunSettings
from tfdistribute.training import evaluate_shard, predict_shard
from tfdistribute.training.hooks import read_hooks
from tfdistribute.training.model_directory import require_checkpoint
from tfdistribute.training.tasks.shard_files import ShardFiles

Wire = Mapping[str, Any]


def prepare_shards(
    cluster: LocalCluster,
    config: RunSettings | None,
    verb: str,
    model_dir: str,
    checkpoint_path: str | None = None,
    input: Input | None = None,  # noqa: A002
) -> dict[str, Any]:
    """Check an evaluation or a prediction by several processes, and make the directory of its results.

    Args:
        cluster: Its training tasks share the rows.
        verb: "evaluate" or "predict".
        checkpoint_path: A checkpoint's prefix; None for the newest.
        input: The rows; None if they are in memory.

    Returns:
        ``results``, the directory of its tasks' results, which the caller removes, ``checkpoint`` (the same for every
        task, also while a training goes on), and ``in_turns`` as for ``read_predictions``.

    Raises:
        ClusterError: this process is a task of a cluster.
        InputError: the rows cannot be divided, or not be put in order.
        ModelDirectoryError: the model was not trained.
        RunConfigError: the configuration divides evaluations itself.
    """
    if not must_launch(cluster, os.environ):
        raise ClusterError(
            "This process is already a task of a cluster, so it cannot start another one.",
            f"Call {verb}() without `cluster`: this task then reads all rows.",
            argument="cluster",
        )
    if config is not None and config.eval_distribute is not None and verb == "evaluate":
        raise RunConfigError(
            "`eval_distribute` divides an evaluation over devices, and `cluster` over processes.",
            "Give one of them; with `cluster`, every row counts once.",
            argument="eval_distribute",
            value=config.eval_distribute.kind,
        )
    order = "turns" if input is None else input.shard_order()
    _check_order(order, verb)
    checkpoint = require_checkpoint(model_dir, checkpoint_path, verb)
    return {
        "results": private_directory.new_directory(),
        "checkpoint": checkpoint,
        "in_turns": order == "turns",
    }


def perform_evaluation(
    estimator: Wire,
    input: Input,  # noqa: A002
    hooks: tuple[Any, ...] | None = None,
    **options: Any,
) -> None:
    model, settings = read_estimator(estimator)
    evaluate_shard(model, settings, input, hooks=tuple(read_hooks(hooks)), **options)


def perform_prediction(
    estimator: Wire,
    input: Input,  # noqa: A002
    predict_keys: tuple[str, ...] | None = None,
    hidden_keys: tuple[str, ...] | None = None,
    hooks: tuple[Any, ...] | None = None,
    **options: Any,
) -> None:
    model, settings = read_estimator(estimator)
    options |= {"predict_keys": predict_keys, "hidden_keys": hidden_keys}
    predict_shard(model, settings, input, hooks=tuple(read_hooks(hooks)), **options)


def read_metrics(results: str, model_dir: str, name: str | None = None) -> dict[str, float]:
    """Read the metrics that the tasks have computed, and note them in the history of the model.

    Args:
        results: As ``prepare_shards`` returned it.
        name: Name of the evaluation; the history holds those without a name.
    """
    metrics = ShardFiles(results).read_metrics()
    if name is None:
        history_file.append(model_dir, history_file.EVALUATIONS, [metrics])
    return metrics


def read_predictions(results: str, tasks: int, in_turns: bool) -> dict[str, Any]:
    """Read the predictions of all tasks, in the order of the input: arrays by the name of the output."""
    return ShardFiles(results).read_predictions(tasks, in_turns)


def remove_logs(id: str) -> None:  # noqa: A002
    logs.remove_fallback(id)


def _check_order(order: str, verb: str) -> None:
    if verb == "predict" and order in ("own", "none"):
        raise InputError(
            "The predictions of several workers cannot be put in the order of a function that returns a dataset.",
            "Give a data frame or files, or predict without `cluster`.",
            argument="input_fn",
        )
    if order == "none":
        raise InputError(
            "The input function has no argument `input_context`, so every worker would evaluate all of its rows.",
            "Let it take `input_context` and read the share of input_context$input_pipeline_id of "
            "input_context$num_input_pipelines, or evaluate without `cluster`.",
            argument="input_fn",
        )
