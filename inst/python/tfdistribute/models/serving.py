"""What a request to an exported model holds, as functions that TensorFlow's export calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tfdistribute import engine
from tfdistribute.columns import ColumnFacts
from tfdistribute.models.feature_columns.description import FeatureColumn, safe_key
from tfdistribute.models.parsing import parse_example_spec


def examples_receiver(
    columns: Sequence[FeatureColumn], features: Mapping[str, ColumnFacts] | None = None
) -> Callable[[], Any]:
    """Make a receiver of serialised ``tf.train.Example`` messages.

    Args:
        columns: The columns whose features are in the messages.
        features: What is known of the features that the model was trained on; None for nothing.

    Returns:
        A function that returns a ``ServingInputReceiver`` with one input, "examples": strings.

    Raises:
        ModelError: two columns read one feature in ways that one message cannot serve.
    """
    spec = parse_example_spec(columns, features)
    return engine.tf.estimator.export.build_parsing_serving_input_receiver_fn(spec)


def tensors_receiver(features: Mapping[str, ColumnFacts]) -> Callable[[], Any]:
    """Make a receiver of one tensor for each feature.

    Args:
        features: The features by name.

    Returns:
        A function that returns a ``ServingInputReceiver`` whose inputs have the features' names, types and shapes,
        with any number of rows.
    """

    def receiver() -> Any:
        tf = engine.tf
        tensors = {
            name: tf.compat.v1.placeholder(
                tf.as_dtype(facts.dtype), [None, *facts.shape], name=safe_key(name)
            )
            for name, facts in features.items()
        }
        return tf.estimator.export.ServingInputReceiver(tensors, dict(tensors))

    return receiver
