"""Requests to exported models: serving input receivers and ``tf.train.Example`` parsing."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tfdistribute import engine
from tfdistribute.columns import ColumnFacts
from tfdistribute.errors import ModelError
from tfdistribute.models.feature_columns.crossed import Crossed
from tfdistribute.models.feature_columns.description import WHOLE_NUMBERS, FeatureColumn, safe_key


def examples_receiver(
    columns: Sequence[FeatureColumn], features: Mapping[str, ColumnFacts] | None = None
) -> Callable[[], Any]:
    spec = parse_example_spec(columns, features)
    return engine.tf.estimator.export.build_parsing_serving_input_receiver_fn(spec)


def tensors_receiver(features: Mapping[str, ColumnFacts]) -> Callable[[], Any]:
    def receiver() -> Any:
        tf = engine.tf
        tensors = {
            name: tf.compat.v1.placeholder(
                tf.as_dtype(facts.dtype), [None, *facts.shape], name=_operation_name(name)
            )
            for name, facts in features.items()
        }
        return tf.estimator.export.ServingInputReceiver(tensors, dict(tensors))

    return receiver


def _operation_name(feature: str) -> str:
    # Outside of scopes, TensorFlow allows fewer first characters.
    return re.sub("^(?=[^A-Za-z0-9.])", "feature", safe_key(feature))


def filling_receiver(
    receiver: Callable[[], Any], replacements: Mapping[str, Any]
) -> Callable[[], Any]:
    """Replace NaN in the features of a receiver."""
    tf = engine.tf

    def filled(name: str, values: Any) -> Any:
        if name not in replacements or not getattr(values, "dtype", tf.string).is_floating:
            return values
        replacement = tf.constant(replacements[name], values.dtype)
        return tf.where(tf.math.is_nan(values), replacement, values)

    def fill() -> Any:
        request = receiver()
        if not isinstance(request.features, Mapping):
            return request
        features = {name: filled(name, each) for name, each in request.features.items()}
        return request._replace(features=features)

    return fill if replacements else receiver


def parse_example_spec(
    columns: Iterable[FeatureColumn], features: Mapping[str, ColumnFacts] | None = None
) -> dict[str, Any]:
    """Make the parse specification for the features that columns read from ``tf.train.Example`` messages.

    TensorFlow's own function parses features crossed by name as sparse strings, which changes their hashes
    (``_sparse_cross_internal`` in tensorflow/python/ops/sparse_ops.py), and rejects a whole number that is also a
    category. Without ``features``, crossed names count as strings. ModelError if columns disagree about a feature.
    """
    spec: dict[str, Any] = {}
    for column in columns:
        names = {safe_key(each.feature): each.feature for each in column.requirements()}
        crossed = _crossed_by_name(column)
        parsed = engine.tf.feature_column.make_parse_example_spec([column.build()])
        for key, usual in parsed.items():
            name = names[key]
            entry = _dense((features or {}).get(name)) if name in crossed else usual
            entry = _with_default(entry, (features or {}).get(name))
            spec[name] = _merged(name, spec[name], entry) if name in spec else entry
    return spec


def parse_example_spec_with_label(
    columns: Iterable[FeatureColumn],
    label_key: str,
    label: Any,
    weight_column: str | None,
) -> dict[str, Any]:
    """Make the parse specification for features, label and weight; ModelError if one of these is also a feature."""
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


def _with_default(entry: Any, known: ColumnFacts | None) -> Any:
    if known is None or known.fill is None or getattr(entry, "default_value", "") is not None:
        return entry
    fill = known.fill if isinstance(known.fill, str) else entry.dtype.as_numpy_dtype(known.fill)
    return entry._replace(default_value=[fill])


def _merged(name: str, first: Any, second: Any) -> Any:
    tf = engine.tf
    types = {first.dtype, second.dtype}
    # A whole number can be read as a number, as a category, and crossed by name.
    joint = first.dtype if len(types) == 1 else tf.int64
    if types - {joint} - {tf.float32, tf.string} or types == {tf.float32, tf.string}:
        raise ModelError(
            f'The columns read the feature "{name}" in two ways ({_in_words(first)}, {_in_words(second)}), '
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


def _in_words(entry: Any) -> str:
    several = isinstance(entry, engine.tf.io.VarLenFeature)
    return f"{'any number of' if several else 'one'} {entry.dtype.name}"
