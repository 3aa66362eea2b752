"""Parsing of ``tf.train.Example`` messages into features and label."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tfdistribute import engine
from tfdistribute.columns import ColumnFacts


def make_parse(
    columns: Mapping[str, ColumnFacts],
    label: str | None,
    defaults: Mapping[str, tuple[float, ...]],
) -> Callable[..., Any]:
    tf = engine.tf
    # Messages have only one integer type.
    spec: dict[str, Any] = {}
    for name, facts in columns.items():
        dtype = tf.as_dtype("int64" if facts.dtype == "int32" else facts.dtype)
        numbers = defaults.get(name) if facts.type != "string" and name != label else None
        default = None
        if numbers is not None:
            given = np.array(numbers if len(numbers) > 1 else numbers * facts.width)
            default = given.astype(dtype.as_numpy_dtype).reshape(facts.shape)
        spec[name] = tf.io.FixedLenFeature(facts.shape, dtype, default)

    def parse(matrices: tuple[Any, ...], _tables: tuple[Any, ...]) -> Any:
        # Parse all batches of a chunk together: TensorFlow divides them over its threads.
        messages = matrices[0][..., 0]
        parsed = tf.io.parse_example(tf.reshape(messages, [-1]), spec)
        rows = tf.shape(messages)
        found: dict[str, Any] = {}
        for name, facts in columns.items():
            values = tf.reshape(parsed[name], tf.concat([rows, facts.shape], 0))
            values.set_shape([*messages.shape, *facts.shape])
            found[name] = tf.cast(values, tf.int32) if facts.dtype == "int32" else values
        if label is None:
            return found
        labels = found.pop(label)
        return found, labels

    return parse
