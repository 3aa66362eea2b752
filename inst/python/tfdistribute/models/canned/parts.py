"""The parts that canned models are put together from: wide and deep."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfdistribute import engine
from tfdistribute.errors import ModelError
from tfdistribute.models.feature_columns.description import FeatureColumn


def built(columns: Sequence[FeatureColumn]) -> list[Any]:
    """Make the feature columns of a part, numeric ones together where that changes no number.

    Args:
        columns: Its columns.
    """
    return engine.features.join_numeric_columns([column.build() for column in columns])


def check_wide(columns: Sequence[FeatureColumn], argument: str) -> None:
    """See that a linear part has columns.

    Args:
        columns: Its columns.
        argument: The argument that holds them.

    Raises:
        ModelError: there are none.
    """
    if not columns:
        raise ModelError(f"`{argument}` is empty.", "Give at least one column.", argument=argument)


def check_deep(
    columns: Sequence[FeatureColumn], hidden_units: Sequence[int], argument: str, units: str
) -> None:
    """See that layers have columns that they can take, and sizes.

    Args:
        columns: The columns of the input layer.
        hidden_units: Units per layer.
        argument: The argument that holds the columns.
        units: The argument that holds the units.

    Raises:
        ModelError: no columns, a bare categorical column, or no units.
    """
    check_wide(columns, argument)
    for column in columns:
        if not column.is_dense:
            raise ModelError(
                f'`{argument}` has the categorical column "{column.name}", which layers cannot take as it is.',
                "Wrap it in column_indicator() or column_embedding().",
                argument=argument,
                value=column.name,
            )
    if not hidden_units or any(each < 1 for each in hidden_units):
        raise ModelError(
            f"`{units}` must be whole numbers of at least 1, one per layer, not {list(hidden_units)}.",
            f"Give {units} = c(64, 32) for two layers.",
            argument=units,
            value=str(list(hidden_units)),
        )
