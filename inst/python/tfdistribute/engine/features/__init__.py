"""Features that travel packed, and the feature columns that read them together."""

from tfdistribute.engine.features.numeric_columns import read_together, together
from tfdistribute.engine.features.packed_features import (
    Cut,
    PackedFeatures,
    cut,
    packed,
    unpack_before_model,
)

__all__ = [
    "Cut",
    "PackedFeatures",
    "cut",
    "packed",
    "read_together",
    "together",
    "unpack_before_model",
]
