"""How ``tf.train.Example`` messages are read: one entry for each feature, by the features' own names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tfdistribute import engine
from tfdistribute.columns import ColumnFacts
from tfdistribute.errors import ModelError
from tfdistribute.models.feature_columns.crossed import Crossed
from tfdistribute.models.feature_columns.description import WHOLE_NUMBERS, FeatureColumn, safe_key


def parse_example_spec(
    columns: Iterable[FeatureColumn], features: Mapping[str, ColumnFacts] | None = None
) -> dict[str, Any]:
    """Say how the features of some columns are read from ``tf.train.Example`` messages.

    TensorFlow has such a function too, whose result does not always give what the model was trained on. It takes every
    feature that is crossed by its name for strings, whose hashes are not those of whole numbers. It reads them as
    sparse tensors, which a cross puts before dense ones, and the hash depends on the order. And it refuses a whole
    number that is read as a number and as a category.

    Args:
        columns: Feature columns.
        features: What is known of the features that the model was trained on; None for nothing, where features that
            are crossed by their names are taken for strings.

    Returns:
        ``tf.io.FixedLenFeature`` or ``tf.io.VarLenFeature`` by feature.

    Raises:
        ModelError: two columns read one feature in ways that one message cannot serve.

    Source:
        https://www.tensorflow.org/api_docs/python/tf/feature_column/make_parse_example_spec, and
        ``_sparse_cross_internal`` in tensorflow/python/ops/sparse_ops.py.
    """
    spec: dict[str, Any] = {}
    for column in columns:
        names = {safe_key(need.feature): need.feature for need in column.needs()}
        crossed = _crossed_by_name(column)
        parsed = engine.tf.feature_column.make_parse_example_spec([column.build()])
        for key, usual in parsed.items():
            name = names[key]
            entry = _dense((features or {}).get(name)) if name in crossed else usual
            spec[name] = _joined(name, spec[name], entry) if name in spec else entry
    return spec


def labelled_spec(
    columns: Iterable[FeatureColumn],
    label_key: str,
    label: Any,
    weight_column: str | None,
) -> dict[str, Any]:
    """Say how features, label and weight are read from ``tf.train.Example`` messages.

    Args:
        columns: Feature columns.
        label_key: Name of the label.
        label: A ``tf.io.FixedLenFeature``.
        weight_column: Name of the weights, or None.

    Returns:
        Entries by name.

    Raises:
        ModelError: the label or the weight is also a feature.

    Source:
        https://www.tensorflow.org/api_docs/python/tf/estimator/classifier_parse_example_spec
    """
    tf = engine.tf
    spec = parse_example_spec(columns)
    added = [("label_key", label_key, label)]
    if weight_column is not None:
        added.append(("weight_column", weight_column, tf.io.FixedLenFeature((1,), tf.float32)))
    for argument, name, entry in added:
        if name in spec:
            raise ModelError(
                f'`{argument}` is "{name}", which is also a feature or the label.',
                "Leave it out of the feature columns.",
                argument=argument,
                value=name,
            )
        spec[name] = entry
    return spec


def _crossed_by_name(column: FeatureColumn) -> set[str]:
    if isinstance(column, Crossed):
        inner = [_crossed_by_name(key) for key in column.keys if isinstance(key, FeatureColumn)]
        return set[str]().union({key for key in column.keys if isinstance(key, str)}, *inner)
    wrapped = getattr(column, "categorical_column", None)
    return set() if wrapped is None else _crossed_by_name(wrapped)


def _dense(known: ColumnFacts | None) -> Any:
    tf = engine.tf
    if known is None:
        return tf.io.FixedLenFeature((1,), tf.string)
    dtype = tf.int64 if known.type in WHOLE_NUMBERS else tf.string
    return tf.io.FixedLenFeature(known.shape or (1,), dtype)


def _joined(name: str, first: Any, second: Any) -> Any:
    tf = engine.tf
    types = {first.dtype, second.dtype}
    # A whole number may be a number, a category, and crossed by its name.
    joint = first.dtype if len(types) == 1 else tf.int64
    if types - {joint} - {tf.float32, tf.string} or types == {tf.float32, tf.string}:
        raise ModelError(
            f'The columns read the feature "{name}" in two ways ({_shown(first)}, {_shown(second)}), '
            "and a tf.train.Example holds it in one.",
            "Give `input` or `serving_input_receiver_fn` to export_savedmodel().",
            argument="feature_columns",
            value=name,
        )
    fixed = [entry for entry in (first, second) if isinstance(entry, tf.io.FixedLenFeature)]
    if not fixed:
        return tf.io.VarLenFeature(joint)
    default = next((e.default_value for e in fixed if e.default_value is not None), None)
    if default is not None and joint == tf.int64:
        default = tuple(int(value) for value in default)
    return tf.io.FixedLenFeature(fixed[0].shape, joint, default)


def _shown(entry: Any) -> str:
    several = isinstance(entry, engine.tf.io.VarLenFeature)
    return f"{'any number of' if several else 'one'} {entry.dtype.name}"
