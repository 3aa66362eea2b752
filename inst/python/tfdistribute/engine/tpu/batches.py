"""Batches whose size is known when the graph is built. A TPU runs a program that was compiled for it."""

from collections.abc import Callable
from typing import Any

import tensorflow as tf
from tensorflow.python.util import nest

from tfdistribute.errors import InputError


def of_fixed_size(input_fn: Callable[..., Any], batch_size: int | None) -> Callable[..., Any]:
    """Make an input function return batches of a known size; a ``batch_size`` of None leaves it to the dataset.

    Raises InputError if a feature or the label holds strings, is not dense, or has a shape not known in advance.
    """

    def read_fixed_batches(input_context: Any = None) -> Any:
        dataset = input_fn(input_context=input_context)
        for path, each in _parts(dataset):
            _check_type(path, each)
        if batch_size is not None:
            dataset = _with_rows(dataset, batch_size)
        for path, each in _parts(dataset):
            if not each.shape.is_fully_defined():
                raise InputError(
                    f"{path} has the shape {_format(each.shape)}, and a TPU needs batches of one known size.",
                    "Let the dataset repeat without end, and batch it with drop_remainder = TRUE.",
                    argument="input_fn",
                    value=_format(each.shape),
                )
        return dataset

    return read_fixed_batches


def _parts(dataset: Any) -> list[tuple[str, Any]]:
    spec = dataset.element_spec
    pair = spec if isinstance(spec, tuple) else (spec, None)
    named_specs: list[tuple[str, Any]] = []
    for what, part in zip(("feature", "label"), pair, strict=False):
        if part is not None:
            for path, each in nest.flatten_with_joined_string_paths(part):
                named_specs.append((f'The {what} "{path}"' if path else f"The {what}", each))
    return named_specs


def _check_type(path: str, spec: Any) -> None:
    if not isinstance(spec, tf.TensorSpec):
        raise InputError(
            f"{path} is a {type(spec).__name__.removesuffix('Spec')}, and a TPU takes dense tensors only.",
            "Make it dense in the dataset, with tf$sparse$to_dense() or a fixed length.",
            argument="input_fn",
            value=type(spec).__name__,
        )
    if spec.dtype == tf.string:
        raise InputError(
            f"{path} holds strings, which a TPU cannot compute with.",
            "Convert it to numbers in the dataset, or leave it out.",
            argument="input_fn",
            value="string",
        )


def _with_rows(dataset: Any, batch_size: int) -> Any:
    def set_rows(tensor: Any) -> Any:
        if not tensor.shape.rank:
            return tensor
        return tf.ensure_shape(tensor, [batch_size, *tensor.shape[1:]])

    def set_all_rows(*parts: Any) -> Any:
        batch = tf.nest.map_structure(set_rows, parts)
        return batch if len(batch) > 1 else batch[0]

    return dataset.map(set_all_rows)


def _format(shape: Any) -> str:
    return f"({', '.join('?' if size is None else str(size) for size in shape)})"
