"""A pipeline: the stages of a model on one device each, and a batch in several micro-batches.

A gradient is the sum over micro-batches. The loss and the optimizer do not depend on them.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from tfdistribute.engine.model_parts import copied_stages, repeated_stages
from tfdistribute.engine.model_parts.assignment import (
    ModelScope,
    logical_device,
    required_scope,
)
from tfdistribute.errors import ModelError, StrategyError

Stage = Callable[[Any], Any]


def pipeline(inputs: Any, stages: Sequence[Stage], micro_batches: int = 1) -> Any:
    """Apply functions one after another, each on a logical device of its own.

    Each function is called once, with the first micro-batch, and its operations are copied for the others. A function
    whose operations cannot be copied (loops as in Keras's LSTM, gradients written by hand) is called for each
    micro-batch, with the same variables.

    Args:
        inputs: A tensor, or a structure of tensors, with a row for each example.
        stages: Functions of the result of the previous one. They return tensors with a row for each example. With
            more stages than devices, neighbors share a device.
        micro_batches: Parts of a batch, as equal as possible. A stage normalizes over the examples of a part.

    Returns:
        Tensors for the whole batch, from the last stage.

    Raises:
        ModelError: if no model function is being called, or a stage takes or returns something else.
        StrategyError: if a replica has more devices than there are stages.

    Source:
        https://arxiv.org/abs/1811.06965, "GPipe".
    """
    scope = required_scope("pipeline()")
    _check(stages, micro_batches, scope)
    _check_rows(inputs, "`inputs`")
    devices = _deal(len(stages), max(1, len(scope.devices)))
    parts = [inputs] if micro_batches == 1 else _split(inputs, micro_batches)
    for number, (device, stage) in enumerate(zip(devices, stages, strict=True), start=1):
        with logical_device(device):
            parts = _apply(stage, number, parts, scope)
    if len(parts) == 1:
        return parts[0]
    with logical_device(devices[-1]):
        return tf.nest.map_structure(lambda *values: tf.concat(values, 0), *parts)


def _check(stages: Sequence[Stage], micro_batches: int, scope: ModelScope) -> None:
    if not stages:
        raise ModelError(
            "pipeline() has no stages.", "Give functions after the inputs.", argument="stages"
        )
    if micro_batches < 1:
        raise ModelError(
            f"`micro_batches` must be at least 1, not {micro_batches}.",
            value=str(micro_batches),
        )
    if len(stages) < len(scope.devices):
        count, devices = len(stages), len(scope.devices)
        raise StrategyError(
            f"pipeline() has {count} stage{'' if count == 1 else 's'}, and a replica {devices} devices: "
            f"{devices - count} of them would be idle.",
            f"Split the model into {devices} stages, or use {count} device{'' if count == 1 else 's'} per replica.",
            argument="stages",
            value=str(count),
        )


def _check_rows(values: Any, what: str) -> None:
    leaves = tf.nest.flatten(values)
    wrong = [leaf for leaf in leaves if not tf.is_tensor(leaf) or not isinstance(leaf, tf.Tensor)]
    content = None
    if wrong or not leaves:
        content = type(wrong[0]).__name__ if wrong else "nothing"
    elif any(leaf.shape.rank == 0 for leaf in leaves):
        content = "a tensor without rows"
    if content is not None:
        raise ModelError(
            f"{what} of pipeline() holds {content}, and its parts are dense tensors with a row for each example.",
            "Convert it before the pipeline, and reduce over examples after it.",
            argument="inputs" if what == "`inputs`" else "stages",
            value=content,
        )


def _deal(stages: int, devices: int) -> list[int]:
    """Give neighboring stages to devices: 5 stages on 2 devices are 0 0 0 1 1."""
    return [place * devices // stages for place in range(stages)]


def _split(inputs: Any, parts: int) -> list[Any]:
    first = tf.nest.flatten(inputs)[0]
    rows = first.shape[0] if first.shape.rank else None
    if rows is None:
        rows = tf.shape(first)[0]
    # The first parts are the larger ones: with few rows, the last are empty.
    bounds = [-(-(index * rows) // parts) for index in range(parts + 1)]
    return [_rows(inputs, begin, end) for begin, end in itertools.pairwise(bounds)]


def _rows(inputs: Any, begin: Any, end: Any) -> Any:
    return tf.nest.map_structure(lambda value: value[begin:end], inputs)


def _apply(stage: Stage, number: int, parts: list[Any], scope: ModelScope) -> list[Any]:
    first = tf.nest.map_structure(tf.identity, parts[0])
    with repeated_stages.remember_variables() as memory:
        output = stage(first)
    _check_rows(output, f"stage {number}")
    others = list(enumerate(parts[1:], start=1))
    if not others:
        return [output]
    copies = copied_stages.StageCopies(first, output)
    if not copies.possible:
        return [output, *(memory.call_again(stage, part, index) for index, part in others)]
    scope.has_copies = True
    return [output, *(copies.copy(part, index) for index, part in others)]
