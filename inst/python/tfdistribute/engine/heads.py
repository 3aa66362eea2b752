"""Heads that TensorFlow lacks."""

from collections.abc import Mapping, Sequence
from typing import Any

import tensorflow as tf


class StandardizedRegressionHead(tf.estimator.RegressionHead):
    """A head that learns the standardized response, and predicts and evaluates in the unit of the response.

    ``scale`` holds the mean and the standard deviation of each response, and ``limits`` bounds predictions.
    """

    def __init__(
        self,
        scale: Sequence[tuple[float, float]],
        limits: tuple[float, float] | None = None,
        **arguments: Any,
    ) -> None:
        self._limits = limits
        self._mean, self._spread = (list(each) for each in zip(*scale, strict=True))
        self._training = tf.estimator.RegressionHead(
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

    def mean_logits(self, logits: Any) -> Any:
        """Return the mean logits of several models, which are along the first axis."""
        return tf.reduce_mean(logits, 0)

    def _in_unit(self, logits: Any) -> Any:
        values = self.link(logits) * self._spread + self._mean
        return values if self._limits is None else tf.clip_by_value(values, *self._limits)

    def loss(
        self,
        labels: Any,
        logits: Any,
        features: Any = None,
        mode: Any = None,
        regularization_losses: Any = None,
    ) -> Any:
        head: Any = super()
        if mode == tf.estimator.ModeKeys.TRAIN:
            head = self._training
            labels = (self._processed_labels(logits, labels) - self._mean) / self._spread
        return head.loss(labels, logits, features, mode, regularization_losses)

    def predictions(self, logits: Any) -> Any:
        return {"predictions": self._in_unit(logits)}


class CountHead(StandardizedRegressionHead):
    """This is a Poisson model with a logarithmic link. Its mean in ``scale`` is 0."""

    def link(self, logits: Any) -> Any:
        return tf.exp(logits)

    def row_loss(self, labels: Any, predictions: Any) -> Any:
        return predictions - tf.math.xlogy(labels, predictions)


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

    def _processed_labels(self, logits: Any, labels: Any) -> Any:
        return tf.tile(tf.reshape(tf.cast(labels, tf.float32), [-1, 1]), [1, len(self._quantiles)])


# Candidates for the temperature of class probabilities, by the name of the metric.
_TEMPERATURES = {
    f"average_loss_at_temperature_{each:.3g}": each
    for each in (2 ** (quarter / 4) for quarter in range(-2, 9))
}


def losses_at_temperatures(metrics: Mapping[str, float]) -> dict[float, float]:
    """Return the mean losses that a head without a temperature reports, by temperature."""
    return {each: metrics[name] for name, each in _TEMPERATURES.items() if name in metrics}


class _MeanHead(tf.estimator.Head):
    """A head of several models, whose mean logits a temperature divides; None to report only the losses at several.

    Source:
        https://arxiv.org/abs/1706.04599, "On Calibration of Modern Neural Networks".
    """

    def __init__(self, temperature: float | None, **arguments: Any) -> None:
        self._temperature = temperature
        super().__init__(**arguments)

    def mean_logits(self, logits: Any) -> Any:
        """Return the logits of the mean probabilities of several models, which are along the first axis."""
        return self._mean(logits) / (self._temperature or 1.0)

    def metrics(self, regularization_losses: Any = None) -> Any:
        if self._temperature is None:
            return {name: tf.keras.metrics.Mean(name=name) for name in _TEMPERATURES}
        return super().metrics(regularization_losses)

    def update_metrics(
        self,
        eval_metrics: Any,
        features: Any,
        logits: Any,
        labels: Any,
        regularization_losses: Any = None,
    ) -> Any:
        if self._temperature is not None:
            return super().update_metrics(
                eval_metrics, features, logits, labels, regularization_losses
            )
        labels = self._processed_labels(logits, labels)
        for name, each in _TEMPERATURES.items():
            losses, weights = self._unweighted_loss_and_weights(logits / each, labels, features)
            eval_metrics[name].update_state(losses, sample_weight=weights)
        return eval_metrics


class MeanBinaryHead(_MeanHead, tf.estimator.BinaryClassHead):
    def _mean(self, logits: Any) -> Any:
        yes, no = (tf.reduce_logsumexp(tf.math.log_sigmoid(each), 0) for each in (logits, -logits))
        return yes - no


class MeanMultiClassHead(_MeanHead, tf.estimator.MultiClassHead):
    def _mean(self, logits: Any) -> Any:
        return tf.reduce_logsumexp(tf.nn.log_softmax(logits), 0)
