"""What is put between an Estimator and its model function."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow as tf


def rename_features(estimator: Any, keys: Mapping[str, str]) -> None:
    """Give features other names inside the model.

    Args:
        estimator: A canned ``tf.estimator.Estimator``; its ``model_fn`` is wrapped in place.
        keys: Names inside the model by names in the data.
    """
    model_fn = estimator._model_fn
    taken = set(keys.values())

    def renaming(features: Any, labels: Any, mode: Any, config: Any) -> Any:
        # A feature that the model does not read must not stand where a renamed one belongs.
        inside = {
            name: value
            for name, value in features.items()
            if name not in keys and name not in taken
        }
        inside.update({key: features[name] for name, key in keys.items() if name in features})
        return model_fn(features=inside, labels=labels, mode=mode, config=config)

    estimator._model_fn = renaming


def whole_labels(estimator: Any) -> None:
    """Let a classifier take classes given as TRUE and FALSE or as floating point numbers, as R's numbers are.

    Args:
        estimator: A canned classifier without a label vocabulary; its ``model_fn`` is wrapped in place. Labels that
            are no whole numbers stop the training with an error.
    """
    model_fn = estimator._model_fn

    def with_whole_labels(features: Any, labels: Any, mode: Any, config: Any) -> Any:
        if labels is not None and (labels.dtype.is_floating or labels.dtype.is_bool):
            whole = tf.cast(labels, tf.int64)
            if labels.dtype.is_floating:
                message = "Labels of a classifier must be whole numbers."
                check = tf.debugging.assert_equal(
                    labels, tf.cast(whole, labels.dtype), message=message
                )
                with tf.control_dependencies([check]):
                    whole = tf.identity(whole)
            labels = whole
        return model_fn(features=features, labels=labels, mode=mode, config=config)

    estimator._model_fn = with_whole_labels


def only_row_count(estimator: Any, weight_key: str | None) -> None:
    """Let a baseline model learn from inputs with several features.

    TensorFlow's baseline compares the features' numbers of rows, and makes its variable depend on that: the variable
    would have to be initialised after the first batch, which is read after all variables are initialised. One feature
    is enough to count rows.

    Args:
        estimator: A baseline ``tf.estimator.Estimator``; its ``model_fn`` is wrapped in place.
        weight_key: Name of the feature that holds the weights, or None.

    Source:
        ``_baseline_model_fn_builder_v2`` in tensorflow_estimator/python/estimator/canned/baseline.py.
    """
    model_fn = estimator._model_fn

    def with_one_feature(features: Any, labels: Any, mode: Any, config: Any) -> Any:
        counted = next((value for name, value in features.items() if name != weight_key), None)
        kept = {name: value for name, value in features.items() if name == weight_key}
        # A name that no feature's safe key can have, so that it never hides the weights.
        kept["rows counted"] = kept[weight_key] if counted is None else counted
        return model_fn(features=kept, labels=labels, mode=mode, config=config)

    estimator._model_fn = with_one_feature


def count_examples() -> Any:
    """Take serialised examples whose features no model reads.

    Returns:
        A ``ServingInputReceiver`` with the input "examples".
    """
    examples = tf.compat.v1.placeholder(tf.string, [None], name="input_example_tensor")
    return tf.estimator.export.ServingInputReceiver({"examples": examples}, {"examples": examples})
