"""Features and labels as TensorFlow's ready-made models expect them."""

from collections.abc import Mapping, Sequence
from typing import Any

import tensorflow as tf

from tfdistribute.columns import LOGICAL


def read_codes(features: dict[str, Any], levels: Mapping[str, Sequence[str]]) -> None:
    for name in levels.keys() & features.keys():
        features[name] = as_codes(features[name], levels[name])


def as_codes(values: Any, levels: Sequence[str]) -> Any:
    """Replace strings by the positions of their levels, from 0; whole numbers are codes already."""
    if values.dtype != tf.string:
        return values
    positions = tf.range(len(levels), dtype=tf.int32)
    initializer = tf.lookup.KeyValueTensorInitializer(tf.constant(list(levels)), positions)
    codes = tf.lookup.StaticHashTable(initializer, -1).lookup(values)
    # The levels of a factor are checked before; strings are not.
    message = (
        f"A value is not among the levels that the model was trained on: {', '.join(levels[:10])}"
    )
    with tf.control_dependencies([tf.debugging.assert_non_negative(codes, message=message)]):
        coded = tf.identity(codes)
    # For the columns of a model function that read labels.
    coded.labels_of_factor = values
    return coded


def rename_features(features: Mapping[str, Any], keys: Mapping[str, str]) -> Mapping[str, Any]:
    if all(name == key for name, key in keys.items()):
        return features
    # A feature that the model does not read must not take the name of a renamed one.
    taken = {*keys, *keys.values()}
    inside = {name: value for name, value in features.items() if name not in taken}
    return {**inside, **{key: features[name] for name, key in keys.items() if name in features}}


def keep_row_count(features: Mapping[str, Any], weight_key: str | None) -> dict[str, Any]:
    """Keep the weights, and one feature to count the rows of a batch.

    The variable of TensorFlow's baseline depends on the row counts of its features, so it would need the first batch
    before it is initialized.

    Source:
        ``_baseline_model_fn_builder_v2`` in tensorflow_estimator/python/estimator/canned/baseline.py.
    """
    weights = {name: value for name, value in features.items() if name == weight_key}
    others = [value for name, value in features.items() if name != weight_key]
    # A name that no feature's safe key can have, so that it never hides the weights.
    return {**weights, "rows counted": next(iter([*others, *weights.values()]))}


def name_labels(labels: Any, classes: Sequence[str]) -> Any:
    """Replace whole numbers by the names of their classes, which are these numbers, or FALSE and TRUE."""
    if labels is None or labels.dtype == tf.string:
        return labels
    if tuple(classes) == LOGICAL:
        return tf.gather(tf.constant(list(classes)), tf.cast(labels, tf.int32))
    return tf.strings.as_string(cast_labels(labels))


def cast_labels(labels: Any) -> Any:
    if labels is None or not (labels.dtype.is_floating or labels.dtype.is_bool):
        return labels
    whole = tf.cast(labels, tf.int64)
    if labels.dtype.is_bool:
        return whole
    message = "Labels of a classifier must be whole numbers."
    check = tf.debugging.assert_equal(labels, tf.cast(whole, labels.dtype), message=message)
    with tf.control_dependencies([check]):
        return tf.identity(whole)
