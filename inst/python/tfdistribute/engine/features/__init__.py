"""Packed features, and the feature columns that read several of them at once."""

from tfdistribute.engine.features.numeric_columns import join_numeric_columns
from tfdistribute.engine.features.packed_features import (
    ColumnSlice,
    PackedFeatures,
    pack,
    slice_columns,
)

__all__ = [
    "ColumnSlice",
    "PackedFeatures",
    "join_numeric_columns",
    "pack",
    "slice_columns",
]
