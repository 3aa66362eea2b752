"""Calls of Keras 3 models as functions of the values of their variables."""

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from tfdistribute.engine.keras.parts import KerasParts
from tfdistribute.engine.step import accumulate
from tfdistribute.errors import UnsupportedError

# Added to the state of a random generator for each replica and micro-batch, so that they draw different numbers.
_SEED_STRIDE = 1_000_003
_MICRO_BATCH_STRIDE = 7_919


@dataclass(frozen=True)
class ModelCall:
    outputs: list[Any]
    penalties: list[Any]
    # For each weight, its value before the call and those that layers assigned, in order.
    weights: list[list[Any]]
    others: list[Any]

    def latest(self) -> list[Any]:
        return [values[-1] for values in self.weights]

    def gradients(self, loss: Any) -> list[Any]:
        """Return the gradients of all weights as in fit(), where assignments pass no gradient on."""
        flat = [value for values in self.weights for value in values]
        found = iter(tf.gradients(loss, flat))
        return [_sum([next(found) for _ in values]) for values in self.weights]


def call_model(
    parts: KerasParts,
    weights: Sequence[Any],
    others: Sequence[Any],
    tensors: Sequence[Any],
    training: bool,
) -> ModelCall:
    """Call the model as fit() does, with these values of its variables; UnsupportedError if replicas assign weights."""
    model = parts.known.model
    structure = getattr(model, "_inputs_struct", None)
    inputs = tensors[0] if structure is None else tf.nest.pack_sequence_as(structure, tensors)
    offsets = [_seed_offset(value) if training else None for value in others]
    shifted = [
        value if offset is None else value + offset
        for value, offset in zip(others, offsets, strict=True)
    ]
    variables = [*model.trainable_variables, *model.non_trainable_variables]
    mode = {"training": training} if model._call_has_training_arg else {}
    with _scope(zip(variables, [*weights, *shifted], strict=True)) as scope:
        outputs = model(inputs, **mode)
        penalties = list(model.losses)
    values = [
        [value, *scope.assigned.get(id(variable), [])]
        for variable, value in zip(model.trainable_variables, weights, strict=True)
    ]
    if any(len(each) > 1 for each in values) and training:
        _check_alone()
    after = [scope.get_current_value(each) for each in model.non_trainable_variables]
    after = [
        value if offset is None else value - offset
        for value, offset in zip(after, offsets, strict=True)
    ]
    return ModelCall(tf.nest.flatten(outputs), penalties, values, after)


def _scope(values: Any) -> Any:
    base: Any = importlib.import_module("keras").StatelessScope

    class Scope(base):
        def __init__(self) -> None:
            super().__init__(state_mapping=list(values), collect_losses=True)
            self.assigned: dict[int, list[Any]] = {}

        def add_update(self, update: Any) -> None:
            variable, value = update
            value = tf.stop_gradient(value)
            self.assigned.setdefault(id(variable), []).append(value)
            super().add_update((variable, value))

    return Scope()


def _check_alone() -> None:
    replicas = tf.distribute.get_strategy().num_replicas_in_sync
    if replicas > 1 or accumulate.current() is not None:
        raise UnsupportedError(
            "A layer of the Keras model assigns a trainable weight in call(), as SpectralNormalization does, which "
            "several devices and micro-batches would do more than once.",
            "Train on one device without `micro_batches`, or leave the layer out.",
            argument="keras_model",
            value=str(replicas),
        )


def _sum(gradients: Sequence[Any]) -> Any:
    found = [each for each in gradients if each is not None]
    if len(found) < 2:
        return found[0] if found else None
    return tf.add_n([tf.convert_to_tensor(each) for each in found])


def _seed_offset(value: Any) -> Any:
    """Return the offset of this replica and micro-batch for a random generator's state; None for other variables."""
    replicas = tf.distribute.get_strategy().num_replicas_in_sync
    step = accumulate.current()
    is_state = value.dtype in (tf.uint32, tf.int32, tf.int64) and value.shape == [2]
    if not is_state or (replicas == 1 and step is None):
        return None
    number = tf.constant(0)
    if replicas > 1:
        number += tf.distribute.get_replica_context().replica_id_in_sync_group * _SEED_STRIDE
    if step is not None:
        number += step.index * _MICRO_BATCH_STRIDE
    return tf.stack([tf.cast(number, value.dtype), tf.zeros([], value.dtype)])
