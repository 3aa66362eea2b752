"""R's functions of tensors, with every version of TensorFlow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tfdistribute import engine


@pytest.mark.versions
def test_every_function_of_the_group_math_is_in_tensorflow(tensorflow: Any) -> None:
    table = engine.tensors.functions._MATH
    x = tensorflow.constant([0.25, 0.5])
    for name in table.keys() - {"acosh"}:
        assert np.all(np.isfinite(engine.tensors.function(name, [x]))), name
    assert float(engine.tensors.function("acosh", [tensorflow.constant(1.0)])) == 0.0


def test_numbers_and_variables_join_tensors_of_a_graph(tensorflow: Any) -> None:
    tf = tensorflow
    with tf.Graph().as_default():
        column = tf.compat.v1.placeholder(tf.float32, [None])
        counts = tf.compat.v1.placeholder(tf.int32, [None, 2])
        joined = engine.tensors.function("cbind", [2.0, column, counts])
        with tf.compat.v1.Session() as session:
            found = session.run(joined, {column: [1.0, 3.0], counts: [[1, 2], [3, 4]]})
    assert found.tolist() == [[2, 1, 1, 2], [2, 3, 3, 4]]
    assert found.dtype == np.float32
