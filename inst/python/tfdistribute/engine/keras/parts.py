"""Parts, inputs, responses and initial weights of Keras models, for the Estimators of Keras 2 and Keras 3."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from tfdistribute.engine.features.packed_features import Features
from tfdistribute.engine.keras.models import KerasFacts
from tfdistribute.engine.repairs.replicated_variables import components
from tfdistribute.engine.step import accumulate, replica_scale
from tfdistribute.errors import InputError, ModelError, UnsupportedError

# The mean loss over rows; Estimator reserves the name "loss" for the mean over batches.
ROW_LOSS = "average_loss"

Router = Callable[[Mapping[str, Any]], Mapping[str, Sequence[str]]]


@dataclass(frozen=True)
class KerasParts:
    known: KerasFacts
    # Makes a new legacy one; None for Keras 3, which trains with its own.
    optimizer: Callable[[], Any] | None
    custom_objects: Mapping[str, Any]
    router: Router  # From tensors by feature to the names of the features that each input reads.
    weights: str | None = None

    def split(self, features: Any) -> tuple[Any, Any]:
        if self.weights is None:
            return features, None
        features = dict(features)
        return features, features.pop(self.weights, None)


def input_tensors(parts: KerasParts, features: Any) -> list[Any]:
    if not isinstance(features, Mapping):
        # As in Keras, a bare tensor belongs to the only input.
        features = {parts.known.inputs[0][0]: features}
    routes = parts.router(features)
    tensors = []
    for name, shape, dtype in parts.known.inputs:
        together = None
        if len(routes[name]) > 1 and dtype == "float32" and isinstance(features, Features):
            together = features.as_matrix(routes[name])
        if together is None:
            read = [_as_input(features[feature], shape, dtype) for feature in routes[name]]
            together = read[0] if len(read) == 1 else tf.concat(read, axis=1)
        tensors.append(together)
    return tensors


def _as_input(tensor: Any, shape: tuple[int | None, ...], dtype: str) -> Any:
    tensor = tf.convert_to_tensor(tensor)
    if tensor.dtype != dtype:
        tensor = tf.cast(tensor, dtype)
    if tensor.shape.rank == 1 and len(shape) == 1:
        return tf.expand_dims(tensor, 1)
    if tensor.shape.rank == 2 and not shape:
        return tf.squeeze(tensor, 1)
    return tensor


def responses(known: KerasFacts, labels: Any) -> Any:
    names = [name for name, loss in known.losses.items() if loss is not None]
    if labels is None:
        raise InputError(
            "The input has no response, which the Keras model's loss compares its output with.",
            "Give a response in input_fn().",
            argument="response",
        )
    if isinstance(labels, (Mapping, list, tuple)) or len(known.outputs) == 1:
        return labels
    if len(names) != 1:
        listed = ", ".join(f'"{name}"' for name in names)
        raise InputError(
            f"The Keras model's outputs {listed} each need a response, and the input has one.",
            "Let a function return a dataset with a named list of responses (see input_dataset()), or give a loss "
            "to one output only.",
            argument="response",
            value=listed,
        )
    return {names[0]: labels}


def mean_of_rows(mean: Any, output: Any) -> Any:
    """Return a loss times the scale of its replica; UnsupportedError for the masked output of a micro-batch."""
    mask = getattr(output, "_keras_mask", None)
    if mask is None:
        return replica_scale.scaled(mean)
    if accumulate.current() is not None:
        raise UnsupportedError(
            "The loss of a Keras model is a mean over the values that a mask leaves, whose number differs in "
            "`micro_batches`.",
            "Leave `micro_batches` out, or give the mask as weights: input_fn(weights = ).",
            argument="micro_batches",
        )
    return replica_scale.scaled(mean, tf.reduce_sum(tf.cast(mask, tf.float32)))


def prediction(known: KerasFacts, outputs: Sequence[Any]) -> Any:
    predictions = dict(zip(known.outputs, outputs, strict=True))
    return tf.estimator.EstimatorSpec(
        tf.estimator.ModeKeys.PREDICT,
        predictions=predictions,
        export_outputs={"predict": tf.estimator.export.PredictOutput(predictions)},
    )


def load_values(variables: Sequence[Any], values: Sequence[Any]) -> Callable[[Any, Any], None]:
    """Initialize variables that no checkpoint restores, without constants in the graph."""

    def init(_scaffold: Any, session: Any) -> None:
        copies = [
            (copy.initializer, value)
            for variable, value in zip(variables, values, strict=True)
            for copy in components(variable)
        ]
        feed = {initializer.inputs[1]: value for initializer, value in copies}
        session.run([initializer for initializer, _ in copies], feed)

    return init


def nothing(what: str, remedy: str) -> ModelError:
    return ModelError(f"`keras_model` has {what}.", remedy, value=what)
