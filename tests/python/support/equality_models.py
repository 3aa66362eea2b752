"""Model functions whose training gives identical bits, however replicas are run.

Each synchronises the replicas in its own way: once per variable, once per optimizer, inside the forward pass, with
dense gradients or with rows of an embedding. Initial values are seeded, because otherwise they depend on the order in
which operations are created.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

v1 = tf.compat.v1

FEATURES = 4


def batches(replica_batch_size: int = 8, batch_count: int = 60) -> tf.data.Dataset:
    """Make the training data of all models.

    Args:
        replica_batch_size: Rows per batch; each replica takes one batch per step.
        batch_count: Number of batches.

    Returns:
        Dataset of ({"x": float32 [rows, 4]}, float32 [rows, 1]).
    """
    generator = np.random.default_rng(7)
    x = generator.normal(size=(replica_batch_size * batch_count, FEATURES)).astype("float32")
    y = (x @ np.array([[1.0], [-2.0], [0.5], [0.25]]) + 0.1).astype("float32")
    rows = tf.data.Dataset.from_tensor_slices(({"x": x}, y))
    return rows.batch(replica_batch_size, drop_remainder=True)


def dense_with_sgd(features: Any, labels: Any, mode: str) -> tf.estimator.EstimatorSpec:
    """Two layers and plain gradient descent: the base of all other models."""
    output, loss = _output(_hidden(features), labels)
    optimizer = v1.train.GradientDescentOptimizer(0.05)
    return _spec(mode, loss, output, labels, lambda: optimizer.minimize(loss, global_step=_step()))


def batch_norm_with_adam(features: Any, labels: Any, mode: str) -> tf.estimator.EstimatorSpec:
    """Moving averages, updated through UPDATE_OPS: control dependencies extend into the merge call."""
    hidden = v1.layers.batch_normalization(_hidden(features), training=mode == "train")
    output, loss = _output(hidden, labels)

    def train() -> Any:
        with tf.control_dependencies(v1.get_collection(v1.GraphKeys.UPDATE_OPS)):
            return v1.train.AdamOptimizer(0.01).minimize(loss, global_step=_step())

    return _spec(mode, loss, output, labels, train)


def keras_layers(
    features: Any, labels: Any, mode: str, loss_share: float = 1
) -> tf.estimator.EstimatorSpec:
    """Keras layers and a legacy Keras optimizer: one merge call reduces gradients, one applies them.

    Such an optimizer sums over replicas: loss_share is the fraction of its mean loss that each passes.
    """
    glorot = tf.keras.initializers.GlorotUniform
    network = tf.keras.Sequential(
        [
            tf.keras.layers.Dense(8, "relu", kernel_initializer=glorot(3)),
            tf.keras.layers.Dense(1, kernel_initializer=glorot(4)),
        ]
    )
    output = network(features["x"], training=mode == "train")
    loss = tf.reduce_mean((labels - output) ** 2)

    def train() -> Any:
        optimizer = tf.keras.optimizers.legacy.Adam(0.01)
        optimizer.iterations = _step()
        return optimizer.get_updates(loss * loss_share, network.trainable_variables)[0]

    return _spec(mode, loss, output, labels, train)


def clipped_momentum(features: Any, labels: Any, mode: str) -> tf.estimator.EstimatorSpec:
    """Gradients clipped by their global norm before they are applied."""
    output, loss = _output(_hidden(features), labels)

    def train() -> Any:
        optimizer = v1.train.MomentumOptimizer(0.02, 0.9)
        gradients, variables = zip(*optimizer.compute_gradients(loss), strict=True)
        clipped, _ = tf.clip_by_global_norm(gradients, 1.0)
        pairs = list(zip(clipped, variables, strict=True))
        return optimizer.apply_gradients(pairs, global_step=_step())

    return _spec(mode, loss, output, labels, train)


def all_reduce_in_model(features: Any, labels: Any, mode: str) -> tf.estimator.EstimatorSpec:
    """Normalisation over the global batch: merge calls in the forward pass and in its gradient."""
    hidden = _hidden(features)
    replica = tf.distribute.get_replica_context()
    mean = replica.all_reduce(tf.distribute.ReduceOp.MEAN, tf.reduce_mean(hidden, 0))
    squares = tf.reduce_mean((hidden - mean) ** 2, 0)
    variance = replica.all_reduce(tf.distribute.ReduceOp.MEAN, squares)
    output, loss = _output((hidden - mean) / tf.sqrt(variance + 0.01), labels)
    optimizer = v1.train.GradientDescentOptimizer(0.05)
    return _spec(mode, loss, output, labels, lambda: optimizer.minimize(loss, global_step=_step()))


def embedding_with_adagrad(features: Any, labels: Any, mode: str) -> tf.estimator.EstimatorSpec:
    """An embedding, whose gradient is a set of table rows (IndexedSlices)."""
    identifiers = tf.cast(tf.abs(features["x"]) * 3, tf.int64) % 10
    table = v1.get_variable("embedding", [10, 4], initializer=_glorot(5))
    embedded = tf.reshape(tf.nn.embedding_lookup(table, identifiers), [-1, 4 * FEATURES])
    output, loss = _output(tf.concat([embedded, features["x"]], 1), labels)
    optimizer = v1.train.AdagradOptimizer(0.1)
    return _spec(mode, loss, output, labels, lambda: optimizer.minimize(loss, global_step=_step()))


def two_optimizers(features: Any, labels: Any, mode: str) -> tf.estimator.EstimatorSpec:
    """A wide and a deep part, each with its own optimizer, and the step counted by hand."""
    wide = v1.layers.dense(features["x"], 1, kernel_initializer=_glorot(6), name="wide")
    with v1.variable_scope("deep"):
        deep, _ = _output(_hidden(features), labels)
    output = wide + deep
    loss = v1.losses.mean_squared_error(labels, output)

    def train() -> Any:
        variables = v1.trainable_variables()
        wide_variables = [v for v in variables if v.name.startswith("wide")]
        deep_variables = [v for v in variables if v.name.startswith("deep")]
        updates = [
            v1.train.FtrlOptimizer(0.05).minimize(loss, var_list=wide_variables),
            v1.train.RMSPropOptimizer(0.01).minimize(loss, var_list=deep_variables),
        ]
        with tf.control_dependencies(updates):
            return tf.group(*updates, v1.assign_add(_step(), 1))

    return _spec(mode, loss, output, labels, train)


def loss_scale(features: Any, labels: Any, mode: str) -> tf.estimator.EstimatorSpec:
    """An optimizer wrapped around another, with its own merge call."""
    output, loss = _output(_hidden(features), labels)
    inner = v1.train.GradientDescentOptimizer(0.05)
    optimizer = v1.mixed_precision.MixedPrecisionLossScaleOptimizer(inner, 128.0)
    return _spec(mode, loss, output, labels, lambda: optimizer.minimize(loss, global_step=_step()))


MODELS: dict[str, Callable[..., tf.estimator.EstimatorSpec]] = {
    model.__name__: model
    for model in (
        dense_with_sgd,
        batch_norm_with_adam,
        keras_layers,
        clipped_momentum,
        all_reduce_in_model,
        embedding_with_adagrad,
        two_optimizers,
        loss_scale,
    )
}


def _glorot(seed: int) -> Any:
    return v1.glorot_uniform_initializer(seed=seed)


def _hidden(features: Any) -> tf.Tensor:
    return v1.layers.dense(features["x"], 8, activation=tf.nn.relu, kernel_initializer=_glorot(21))


def _output(hidden: tf.Tensor, labels: Any) -> tuple[tf.Tensor, tf.Tensor]:
    output = v1.layers.dense(hidden, 1, kernel_initializer=_glorot(31))
    return output, v1.losses.mean_squared_error(labels, output)


def _step() -> Any:
    return v1.train.get_or_create_global_step()


def _spec(
    mode: str, loss: Any, output: Any, labels: Any, train: Callable[[], Any]
) -> tf.estimator.EstimatorSpec:
    if mode == "train":
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train())
    metrics = {
        "mean_absolute_error": v1.metrics.mean_absolute_error(labels, output),
        "accuracy": v1.metrics.accuracy(labels > 0, output > 0),
        "auc": v1.metrics.auc(labels > 0, tf.sigmoid(output)),
    }
    return tf.estimator.EstimatorSpec(
        mode, loss=loss, predictions={"output": output}, eval_metric_ops=metrics
    )
