"""Features as one matrix whose columns have names."""

from __future__ import annotations

from typing import Any

import pytest

tf = pytest.importorskip("tensorflow")

from tfdistribute.engine.estimator.model_inputs import as_codes
from tfdistribute.engine.features import named_matrix

v1 = tf.compat.v1
ROWS = {"a": [1.0, 2.0], "b": [3.0, 4.0]}


def run(build: Any) -> Any:
    with tf.Graph().as_default(), v1.Session() as session:
        value = build()
        session.run([v1.global_variables_initializer(), v1.tables_initializer()])
        return session.run(value)


def matrix(**columns: Any) -> Any:
    return named_matrix({name: tf.constant(values) for name, values in columns.items()})


def test_a_layer_reads_the_columns_in_their_order() -> None:
    ones = v1.ones_initializer()
    made = run(lambda: v1.layers.dense(matrix(**ROWS) * [[1.0, 10.0]], 1, kernel_initializer=ones))
    assert made.tolist() == [[31.0], [42.0]]


def test_feature_columns_read_it_by_name() -> None:
    column = tf.feature_column.numeric_column("b")
    made = run(lambda: v1.feature_column.input_layer(matrix(**ROWS), [column]))
    assert made.tolist() == [[3.0], [4.0]]


def test_it_is_a_read_only_dictionary_of_its_columns() -> None:
    def build() -> Any:
        both = matrix(**ROWS)
        assert list(both) == list(both.keys()) == ["a", "b"]
        assert "a" in both and "c" not in both and len(both) == 2
        assert both.get("c") is None and both.copy() == dict(both.items())
        assert tf.nest.flatten(both) == [both]
        return [both["a"], both[:, 1], *both.values()]

    assert [each.tolist() for each in run(build)] == [[1, 2], [3, 4], [1, 2], [3, 4]]


def test_whole_and_other_numbers_become_float32_and_wide_columns_stay_together() -> None:
    made = run(lambda: matrix(i=[1, 2], m=[[0.5, 1.5], [2.5, 3.5]]))
    assert made.dtype == "float32"
    assert made.tolist() == [[1, 0.5, 1.5], [2, 2.5, 3.5]]
    assert run(lambda: matrix(i=[1, 2], j=[3, 4])).dtype == "int32"


@pytest.mark.parametrize(
    "columns", [{"s": ["x", "y"]}, {"s": ["x"], "a": [1.0]}, {"a": [[[1.0]]], "b": [1.0]}]
)
def test_other_features_are_no_matrix(columns: Any) -> None:
    with tf.Graph().as_default():
        assert matrix(**columns) is None


def test_codes_are_the_positions_of_levels() -> None:
    assert run(lambda: as_codes(tf.constant(["c", "a"]), ["a", "b", "c"])).tolist() == [2, 0]
    assert run(lambda: as_codes(tf.constant([1, 2]), ["a", "b", "c"])).tolist() == [1, 2]
    with pytest.raises(tf.errors.InvalidArgumentError, match="not among the levels"):
        run(lambda: as_codes(tf.constant(["d"]), ["a", "b", "c"]))
