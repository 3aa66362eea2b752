"""Heads that TensorFlow lacks."""

from __future__ import annotations

from collections.abc import Sequence
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
        self._training = tf.estimator.RegressionHead(**arguments)
        super().__init__(
            loss_fn=lambda labels, logits: tf.math.squared_difference(
                self._in_unit(logits), labels
            ),
            inverse_link_fn=self._in_unit,
            **arguments,
        )

    def _in_unit(self, logits: Any) -> Any:
        values = logits * self._spread + self._mean
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
            labels = (tf.cast(labels, tf.float32) - self._mean) / self._spread
        return head.loss(labels, logits, features, mode, regularization_losses)

    def predictions(self, logits: Any) -> Any:
        return {"predictions": self._in_unit(logits)}
