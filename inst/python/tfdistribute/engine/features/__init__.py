"""Packed features, and the feature columns that read several of them."""

from tfdistribute.engine.features.coded_columns import as_categories, with_codes
from tfdistribute.engine.features.named_matrix import named_matrix
from tfdistribute.engine.features.numeric_columns import join_numeric_columns
from tfdistribute.engine.features.packed_features import (
    ColumnSlice,
    PackedFeatures,
    pack,
    slice_columns,
)
from tfdistribute.engine.features.shared_embeddings import sharing
from tfdistribute.engine.features.standardizer import Standardizer
from tfdistribute.engine.features.wide_columns import RangeNumber, WideNumericColumn
