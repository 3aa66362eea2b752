"""Checks of the loss that a model function returns."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from support import inputs, keras_models
from support.callbacks import as_model_fn
from support.custom_models import described, settings

from tfdistribute.engine.losses import check_one_number, check_rows_apart
from tfdistribute.errors import ModelError
from tfdistribute.training.train import train

v1 = tf.compat.v1
keras = tf.keras

pytestmark = pytest.mark.usefixtures("tensorflow")

WIDTH = 3

Loss = Callable[[Any, Any, Any], Any]


def checked(loss: Loss, rows: int | None = None, labels: tuple[int, ...] = ()) -> None:
    """Check a loss that is made of features, predictions of shape (n, 1), and labels."""
    with tf.Graph().as_default():
        features = {
            "x": v1.placeholder(tf.float32, [rows, WIDTH]),
            "w": v1.placeholder(tf.float32, [rows]),
        }
        given = v1.placeholder(tf.float32, [rows, *labels])
        predictions = v1.layers.dense(features["x"], 1)
        check_rows_apart(loss(given, predictions, features), features, given)


def mean_square(labels: Any, predictions: Any, features: Any) -> Any:
    return tf.reduce_mean(tf.square(labels - predictions))


MIXED_UP: dict[str, Loss] = {
    "difference": mean_square,
    "squared difference": lambda y, p, f: tf.reduce_mean(tf.math.squared_difference(p, y)),
    "absolute": lambda y, p, f: tf.reduce_mean(
        tf.abs(tf.cast(p, tf.float64) - tf.cast(y, "double"))
    ),
    "Keras's function": lambda y, p, f: tf.reduce_mean(keras.losses.mean_squared_error(y, p)),
    "Poisson": lambda y, p, f: tf.reduce_mean(tf.exp(p) - y * p),
    "cross entropy by hand": lambda y, p, f: -tf.reduce_mean(y * tf.math.log(tf.sigmoid(p))),
    "quantile": lambda y, p, f: tf.reduce_mean(tf.maximum(0.5 * (y - p), -0.5 * (y - p))),
    "with a penalty": lambda y, p, f: mean_square(y, p, f) + 0.1 * tf.reduce_sum(tf.square(p)),
    "scaled labels": lambda y, p, f: mean_square((y - 3.0) / f["w"], p, f),
    "weights of losses": lambda y, p, f: tf.reduce_mean(
        f["w"] * tf.square(tf.expand_dims(y, 1) - p)
    ),
}


@pytest.mark.parametrize("loss", MIXED_UP.values(), ids=MIXED_UP)
def test_predictions_of_two_dimensions_do_not_meet_labels_of_one(loss: Loss):
    with pytest.raises(ModelError) as caught:
        checked(loss)
    assert "(batch, 1) and (batch)" in caught.value.problem
    assert "(batch, batch)" in caught.value.problem
    assert "tf$squeeze(predictions, 1L)" in str(caught.value.remedy)
    assert len(str(caught.value)) < 2000


def test_a_batch_of_known_size_is_checked_too():
    with pytest.raises(ModelError, match=r"\(8, 1\) and \(8\)"):
        checked(mean_square, rows=8)


def test_labels_of_two_dimensions_do_not_meet_predictions_of_one():
    with pytest.raises(ModelError) as caught:
        checked(lambda y, p, f: mean_square(y, tf.squeeze(p, 1), f), labels=(1,))
    assert "tf$squeeze(labels, 1L)" in str(caught.value.remedy)


def test_what_the_remedies_say_is_accepted():
    checked(lambda y, p, f: mean_square(y, tf.squeeze(p, 1), f))
    checked(lambda y, p, f: mean_square(tf.squeeze(y, 1), tf.squeeze(p, 1), f), labels=(1,))
    checked(lambda y, p, f: mean_square(tf.expand_dims(y, 0), p, f))


def pairwise_ranking(labels: Any, predictions: Any, features: Any) -> Any:
    scores = tf.squeeze(predictions, 1)
    order = tf.sign(tf.expand_dims(labels, 1) - labels)
    return tf.reduce_mean(tf.nn.softplus(-order * (tf.expand_dims(scores, 1) - scores)))


def cox(labels: Any, predictions: Any, features: Any) -> Any:
    at_risk = tf.cast(labels >= tf.expand_dims(labels, 1), tf.float32)
    risk = tf.reduce_sum(at_risk * tf.exp(tf.transpose(predictions)), axis=1)
    return -tf.reduce_mean(features["w"] * (tf.squeeze(predictions, 1) - tf.math.log(risk)))


def cost_matrix(labels: Any, predictions: Any, features: Any) -> Any:
    costs = tf.square(tf.expand_dims(labels, 1) - tf.squeeze(predictions, 1))
    return tf.reduce_mean(tf.nn.softmax(-costs) * costs)


def contrastive(labels: Any, predictions: Any, features: Any) -> Any:
    embedded = v1.layers.dense(features["x"], 8, name="embedded")
    same = tf.cast(tf.equal(labels[:, None], labels), tf.float32)
    alike = tf.matmul(embedded, embedded, transpose_b=True)
    return tf.reduce_mean(same * (1.0 - alike) + (1.0 - same) * tf.nn.relu(alike))


def attention(labels: Any, predictions: Any, features: Any) -> Any:
    x = tf.expand_dims(features["x"], 2)
    mask = tf.cast(features["x"] > 0, tf.float32)
    scores = v1.layers.dense(x, 1, name="scores")[:, :, 0] + (1.0 - mask) * -1e9
    pooled = tf.reduce_sum(tf.nn.softmax(scores)[:, :, None] * x, axis=1)
    return mean_square(labels, v1.layers.dense(pooled, 1, name="out")[:, 0], features)


def ordinal(labels: Any, predictions: Any, features: Any) -> Any:
    cut_points = v1.get_variable("cuts", [4])
    above = tf.cast(labels[:, None] > tf.range(4.0), tf.float32)
    return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(above, predictions - cut_points))


def centred(labels: Any, predictions: Any, features: Any) -> Any:
    centre = tf.reduce_mean(predictions, axis=0)
    return tf.reduce_mean(tf.square(tf.expand_dims(labels, 1) - centre - predictions))


def quantiles(labels: Any, predictions: Any, features: Any) -> Any:
    levels = tf.constant([0.1, 0.5, 0.9])
    error = labels[:, None] - v1.layers.dense(features["x"], 3, name="levels")
    return tf.reduce_mean(tf.maximum(levels * error, (levels - 1.0) * error))


def classes(labels: Any, predictions: Any, features: Any) -> Any:
    logits = v1.layers.dense(features["x"], 3, name="logits")
    hot = tf.one_hot(tf.cast(labels, tf.int32), 3)
    losses = tf.nn.softmax_cross_entropy_with_logits(hot, logits)
    return tf.reduce_mean(losses * features["w"])


def outer_features(labels: Any, predictions: Any, features: Any) -> Any:
    # A model may pair rows of its own features.
    paired = v1.layers.dense(features["x"], 1, name="paired") - features["w"]
    return mean_square(labels, tf.reduce_mean(tf.tanh(paired), axis=1), features)


PAIRED_OR_PLAIN = (
    pairwise_ranking,
    cox,
    cost_matrix,
    contrastive,
    attention,
    ordinal,
    centred,
    quantiles,
    classes,
    outer_features,
)


@pytest.mark.parametrize("rows", [None, WIDTH])
@pytest.mark.parametrize("loss", PAIRED_OR_PLAIN)
def test_no_alarm_for_models_that_pair_rows_on_purpose_or_not_at_all(loss: Loss, rows: int | None):
    checked(loss, rows)


def test_no_alarm_where_labels_and_predictions_have_one_shape():
    column_weights: Loss = lambda y, p, f: tf.reduce_mean(  # noqa: E731
        tf.expand_dims(f["w"], 1) * tf.square(y - p)
    )
    for loss in (mean_square, column_weights):
        checked(loss, labels=(1,))
        checked(loss, rows=4, labels=(1,))
    checked(mean_square, rows=1)


@pytest.mark.parametrize("shape", [[None], [None, None], [4], [2, 1]])
def test_a_loss_that_is_not_one_number_is_refused(shape: list[int | None]):
    with tf.Graph().as_default():
        loss = v1.placeholder(tf.float32, shape)
        with pytest.raises(ModelError, match="must be one number") as caught:
            check_one_number(loss)
        check_one_number(tf.reduce_mean(loss))
        check_one_number(tf.reshape(tf.reduce_sum(loss), [1]))
        check_one_number(v1.placeholder(tf.float32, None))
    assert "tf$reduce_mean(loss)" in str(caught.value.remedy)
    check_one_number(0.5)


def model_fn_of(loss_of: Callable[[Any, Any], Any]) -> Any:
    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        predicted = keras.layers.Dense(1)(features["x"])
        return {"loss": loss_of(labels, predicted), "predictions": predicted, "optimizer": "sgd"}

    return as_model_fn(model_fn)


@pytest.mark.parametrize("strategy", ["none", "mirrored"])
def test_training_refuses_such_losses_under_every_strategy(tmp_path: Path, strategy: str):
    x = np.random.default_rng(1).normal(size=(8, WIDTH)).astype("float32")
    rows = inputs.in_memory({"x": x, "y": x[:, 0]}, batch_size=4)
    mixed_up = described(model_fn_of(lambda y, p: tf.reduce_mean(tf.square(y - p))), tmp_path)
    with pytest.raises(ModelError, match="each row with every other row"):
        train(mixed_up, settings(strategy), rows)
    several = described(model_fn_of(lambda y, p: tf.square(y - tf.squeeze(p, 1))), tmp_path)
    with pytest.raises(ModelError, match="must be one number"):
        train(several, settings(strategy), rows)
    right = described(
        model_fn_of(lambda y, p: tf.reduce_mean(tf.square(y - tf.squeeze(p, 1)))), tmp_path
    )
    assert train(right, settings(strategy), rows).steps == [1, 2]


def test_a_users_loss_of_a_keras_model_sees_labels_and_outputs_of_one_shape(tmp_path: Path):
    shapes: list[Any] = []

    def own(labels: Any, outputs: Any) -> Any:
        shapes.append((labels.shape.rank, outputs.shape.rank))
        return tf.square(labels - outputs)

    def training(name: str, loss: Any) -> list[float]:
        model = keras_models.described(tmp_path / name, lambda: keras_models.built(loss=loss))
        return train(model, keras_models.settings(), keras_models.source(), steps=2).losses

    assert training("own", own) == pytest.approx(training("known", "mse"))
    assert set(shapes) == {(2, 2)}
