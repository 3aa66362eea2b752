"""The training loss as it is reported, over all replicas."""

from __future__ import annotations

from typing import Any

import tensorflow as tf


def report_mean(estimator: Any) -> None:
    """Let an Estimator report the mean of its replicas' losses where each is a mean.

    Canned models of TensorFlow 2 divide the loss by the number of replicas for the gradients only, and Estimator then
    adds up the replicas' undivided losses: with n replicas it reports n times the loss. Weights are not concerned. A
    loss that is a sum over examples stays a sum over all replicas.

    Args:
        estimator: A canned ``tf.estimator.Estimator``; its ``model_fn`` is wrapped in place.

    Source:
        ``_get_loss_reduce_op_for_reporting`` in tensorflow_estimator/python/estimator/estimator.py.
    """
    model_fn = estimator._model_fn

    def reporting_mean(features: Any, labels: Any, mode: Any, config: Any) -> Any:
        spec = model_fn(features=features, labels=labels, mode=mode, config=config)
        # Without this mark Estimator adds the losses up, whatever their reduction.
        tf.compat.v1.get_default_graph()._is_loss_scaled_by_optimizer = True
        return spec

    estimator._model_fn = reporting_mean


def report_row_mean(estimator: Any) -> None:
    """Let an evaluation report the mean loss over rows, where Estimator takes the mean over batches.

    An odd last batch would count as much as a whole one. Only for models without weights whose loss is a mean.

    Args:
        estimator: A canned ``tf.estimator.Estimator``; its ``evaluate`` is wrapped in place.

    Source:
        ``_evaluate_build_graph`` in tensorflow_estimator/python/estimator/estimator.py.
    """
    evaluate = estimator.evaluate

    def over_rows(*args: Any, **kwargs: Any) -> Any:
        metrics = evaluate(*args, **kwargs)
        return {**metrics, "loss": metrics.get("average_loss", metrics.get("loss"))}

    estimator.evaluate = over_rows
