"""Layers of tabular models against the same layers by TensorFlow's own functions and gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

VALUES = np.concatenate([np.linspace(-30, 30, 241), [-1e4, -90, 0, 25, 90, 1e4]]).astype("float32")


@pytest.mark.parametrize("name", ["mish", "selu"])
def test_an_activation_and_its_share_have_the_gradients_of_tensorflow(
    tensorflow: Any, name: str
) -> None:
    from tfdistribute.engine.tabular import network

    tf = tensorflow
    values = tf.constant(np.stack([VALUES, VALUES[::-1]])[:, :, None])
    share = tf.constant([[[0.7]], [[1.3]]])
    weights = tf.constant(np.random.default_rng(1).normal(size=values.shape).astype("float32"))

    def plain(x: Any, s: Any) -> Any:
        y = x * tf.tanh(tf.nn.softplus(x)) if name == "mish" else tf.nn.selu(x)
        return (1 - s) * x + s * y

    results: list[Any] = []
    for function in (plain, lambda x, s: network.mixed(network.ACTIVATIONS[name], x, s)):
        with tf.GradientTape() as tape:
            tape.watch([values, share])
            found = function(values, share)
        gradients = tape.gradient(found, [values, share], output_gradients=weights)
        results.append([found, *gradients])
    for wanted, found in zip(*results, strict=True):
        scale = 1e4 if wanted.shape == share.shape else np.maximum(1, np.abs(wanted))
        np.testing.assert_allclose(found / scale, wanted / scale, atol=5e-6)


def test_dropout_omits_a_share_of_the_units_and_keeps_the_sum(tensorflow: Any) -> None:
    from tfdistribute.engine.tabular import network

    tensorflow.random.set_seed(4)
    values = tensorflow.ones([3, 101, 1001])
    for rate in (0.0, 0.15, 0.5):
        with tensorflow.GradientTape() as tape:
            tape.watch(values)
            kept, factor = network.drop(values, tensorflow.constant(rate))
            found = kept * factor
        omitted = np.asarray(found) == 0
        # Three standard deviations, and the grid of bytes.
        assert abs(omitted.mean() - rate) < 3 * np.sqrt(rate / omitted.size) + 1 / 512
        np.testing.assert_allclose(np.mean(found), 1, atol=0.01)
        np.testing.assert_array_equal(tape.gradient(found, values), found)
        # Neighbors, whose bytes come from one number, are independent.
        both = (omitted[..., :-1] & omitted[..., 1:]).mean()
        assert abs(both - omitted.mean() ** 2) < 0.003
