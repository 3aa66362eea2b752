"""Heads that TensorFlow lacks."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow_estimator.python.estimator.canned.metric_keys import MetricKeys
from tensorflow_estimator.python.estimator.head import base_head


class StandardizedRegressionHead(tf.estimator.RegressionHead):
    """A head that learns the standardized response, and has the unit of the response in all that it reports.

    Gradients come from the loss of the standardized response. The mean of the response may have more digits than
    32 bits hold, so it is subtracted and added in 64 bits.

    Args:
        scale: Means and standard deviations of the responses, in pairs.
        limits: Bounds of predictions.
    """

    def __init__(
        self,
        scale: Sequence[tuple[float, float]],
        limits: tuple[float, float] | None = None,
        **arguments: Any,
    ) -> None:
        self._limits = limits
        self._mean, self._spread = (np.array(each) for each in zip(*scale, strict=True))
        self._learned = tf.estimator.RegressionHead(
            loss_fn=lambda labels, logits: self.row_loss(labels, self.link(logits)), **arguments
        )
        super().__init__(
            loss_fn=lambda labels, logits: self.row_loss(labels, self._in_unit(logits)),
            inverse_link_fn=self._in_unit,
            **arguments,
        )

    def link(self, logits: Any) -> Any:
        """Return predictions of the standardized response."""
        return logits

    def row_loss(self, labels: Any, predictions: Any) -> Any:
        return tf.math.squared_difference(predictions, labels)

    def units_of_loss(self) -> Any:
        """Return the factor from the loss of each standardized response to its loss; None if there is none."""
        return self._spread**2

    def mean_logits(self, logits: Any) -> Any:
        """Return the mean logits of several models, which are along the first axis."""
        return tf.reduce_mean(logits, 0)

    def _in_unit(self, logits: Any) -> Any:
        values = tf.cast(self.link(logits), tf.float64) * self._spread + self._mean
        return values if self._limits is None else tf.clip_by_value(values, *self._limits)

    def _processed_labels(self, logits: Any, labels: Any) -> Any:
        count = self.logits_dimension
        labels = base_head.check_dense_labels_match_logits_and_reshape(labels, logits, count)
        return tf.cast(labels, tf.float64)

    def create_estimator_spec(
        self, features: Any, mode: Any, logits: Any, labels: Any = None, **arguments: Any
    ) -> Any:
        if mode == tf.estimator.ModeKeys.TRAIN:
            return self._training_spec(features, logits, labels, **arguments)
        spec = super().create_estimator_spec(features, mode, logits, labels, **arguments)
        outputs = (spec.export_outputs or {}).items()
        return spec._replace(export_outputs={key: _narrow(each) for key, each in outputs} or None)

    def standardized_labels(self, logits: Any, labels: Any) -> Any:
        standardized = (self._processed_labels(logits, labels) - self._mean) / self._spread
        return tf.cast(standardized, tf.float32)

    def _training_spec(self, features: Any, logits: Any, labels: Any, **arguments: Any) -> Any:
        mode = tf.estimator.ModeKeys.TRAIN
        with tf.name_scope("head"):
            processed = self.standardized_labels(logits, labels)
            learned = self._learned.loss(processed, logits, features, mode)
            units = self.units_of_loss()
            loss = (
                self.loss(labels, logits, features, mode)
                if units is None or np.ptp(units) > 0
                else tf.cast(learned, tf.float64) * units[0]
            )
        train_op = base_head.create_estimator_spec_train_op(
            self.name,
            regularized_training_loss=learned,
            loss_reduction=self.loss_reduction,
            **arguments,
        )
        base_head.create_estimator_spec_summary(loss, summary_key_fn=self._summary_key)
        return tf.estimator.EstimatorSpec(mode, self.predictions(logits), loss, train_op)

    def predictions(self, logits: Any) -> Any:
        return {"predictions": self._in_unit(logits)}

    def metrics(self, regularization_losses: Any = None) -> Any:
        names = (MetricKeys.LOSS_MEAN, MetricKeys.PREDICTION_MEAN, MetricKeys.LABEL_MEAN, "mae")
        means = {name: tf.keras.metrics.Mean(name=name, dtype=tf.float64) for name in names}
        return {**means, "rmse": tf.keras.metrics.RootMeanSquaredError("rmse", tf.float64)}

    def update_metrics(
        self,
        eval_metrics: Any,
        features: Any,
        logits: Any,
        labels: Any,
        regularization_losses: Any = None,
    ) -> Any:
        labels = self._processed_labels(logits, labels)
        losses, weights = self._unweighted_loss_and_weights(logits, labels, features)
        predictions = self._in_unit(logits)
        values = (losses, predictions, labels, tf.abs(predictions - labels))
        for metric, each in zip(eval_metrics.values(), values, strict=False):
            metric.update_state(each, sample_weight=weights)
        eval_metrics["rmse"].update_state(labels, predictions, sample_weight=weights)
        return eval_metrics


def _narrow(output: Any) -> Any:
    """Return an output of an export with 32 bits if it is a regression, for which TensorFlow Serving has no others."""
    regression = tf.estimator.export.RegressionOutput
    return (
        regression(tf.cast(output.value, tf.float32)) if isinstance(output, regression) else output
    )


class CountHead(StandardizedRegressionHead):
    """This is a Poisson model with a logarithmic link. Its mean in ``scale`` is 0."""

    def link(self, logits: Any) -> Any:
        return tf.exp(logits)

    def row_loss(self, labels: Any, predictions: Any) -> Any:
        return predictions - tf.math.xlogy(labels, predictions)

    def units_of_loss(self) -> Any:
        # The logarithm of the unit is a term of the loss.
        return None


class QuantileHead(StandardizedRegressionHead):
    """Quantiles in their order: the first, and the positive differences between neighbors."""

    def __init__(self, quantiles: Sequence[float], **arguments: Any) -> None:
        self._quantiles = list(quantiles)
        super().__init__(**{**arguments, "label_dimension": len(quantiles)})

    def link(self, logits: Any) -> Any:
        return tf.cumsum(tf.concat([logits[:, :1], tf.nn.softplus(logits[:, 1:])], 1), axis=1)

    def row_loss(self, labels: Any, predictions: Any) -> Any:
        above = labels - predictions
        return tf.maximum(above * self._quantiles, above * [each - 1 for each in self._quantiles])

    def units_of_loss(self) -> Any:
        return self._spread

    def _processed_labels(self, logits: Any, labels: Any) -> Any:
        return tf.tile(tf.reshape(tf.cast(labels, tf.float64), [-1, 1]), [1, len(self._quantiles)])


class MeanBinaryHead(tf.estimator.BinaryClassHead):
    def mean_logits(self, logits: Any) -> Any:
        """Return the logits of the mean probabilities of several models, which are along the first axis."""
        yes, no = (tf.reduce_logsumexp(tf.math.log_sigmoid(each), 0) for each in (logits, -logits))
        return yes - no


class MeanMultiClassHead(tf.estimator.MultiClassHead):
    def mean_logits(self, logits: Any) -> Any:
        return tf.reduce_logsumexp(tf.nn.log_softmax(logits), 0)
