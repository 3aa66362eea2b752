"""TensorFlow's own objects in R: tensors with R's operators, features as one matrix, and feature columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tfdistribute import engine


def describe_column(column: Any) -> dict[str, Any]:
    return engine.features.describe_column(column)


def missing_name(path: tuple[str, ...]) -> None:
    raise engine.tensorflow_1.missing_name(path)


def named_matrix(features: Mapping[str, Any]) -> Any:
    """Combine features of numbers into one tensor; None for others."""
    return engine.features.named_matrix(features)


def tensor_dim(tensor: Any) -> list[int] | None:
    """List the sizes of a tensor's dimensions, -1 for an unknown one."""
    return engine.tensors.dimensions(tensor)


def tensor_function(name: str, values: tuple[Any, ...], options: Mapping[str, Any]) -> Any:
    return engine.tensors.function(name, values, **options)


def tensor_operation(operator: str, operands: tuple[Any, ...]) -> Any:
    return engine.tensors.operation(operator, operands)


def tensor_subset(tensor: Any, positions: tuple[Any, ...], drop: bool) -> Any:
    """Subset a tensor by positions from 1; None for a whole dimension."""
    return engine.tensors.subset(tensor, positions, drop)
