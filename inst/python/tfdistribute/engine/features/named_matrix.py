"""Features of numbers as one matrix whose columns have names."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import tensorflow as tf

from tfdistribute.engine import patches


def named_matrix(features: Mapping[str, Any]) -> Any:
    """Combine the features of a batch into one tensor that also answers by name.

    It has the methods of a read-only dictionary, but is none, because TensorFlow would take a dictionary apart. None
    if the features are not numbers of one kind; whole and floating-point numbers of 32 bits become float32.
    """
    tensors = list(features.values())
    dtypes = {tensor.dtype for tensor in tensors if isinstance(tensor, tf.Tensor)}
    if len(dtypes) > 1 and dtypes <= {tf.float32, tf.int32}:
        tensors = [tf.cast(tensor, tf.float32) for tensor in tensors]
    elif len(dtypes) != 1 or not (
        min(dtypes, key=str).is_floating or min(dtypes, key=str).is_integer
    ):
        return None
    matrix = _join(tensors)
    if matrix is None:
        return None
    patches.put("named_matrix", matrix, "__class__", _class(type(matrix)))
    matrix.columns = dict(features)
    for method in ("keys", "values", "items", "get", "copy"):
        setattr(matrix, method, getattr(matrix.columns, method))
    return matrix


def _join(tensors: list[Any]) -> Any:
    if not all(isinstance(tensor, tf.Tensor) for tensor in tensors):
        return None
    ranks = [tensor.shape.rank for tensor in tensors]
    if all(rank == 1 for rank in ranks):
        return tf.stack(tensors, axis=1)
    if len(tensors) == 1:
        # A tensor of its own, since its class changes.
        return tf.identity(tensors[0])
    if not all(rank in (1, 2) for rank in ranks):
        return None
    wide = [tensor if tensor.shape.rank == 2 else tensor[:, tf.newaxis] for tensor in tensors]
    return tf.concat(wide, axis=1)


class _NamedColumns:
    columns: dict[str, Any]

    def __getitem__(self, key: Any) -> Any:
        return self.columns[key] if isinstance(key, str) else super().__getitem__(key)  # type: ignore[misc]

    def __contains__(self, name: str) -> bool:
        return name in self.columns

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)


@cache
def _class(tensor_class: type) -> type:
    return type("NamedMatrix", (_NamedColumns, tensor_class), {})
