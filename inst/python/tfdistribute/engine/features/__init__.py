"""Features that travel packed, and the feature columns that read them together."""

from tfdistribute.engine.features.numeric_columns import together
from tfdistribute.engine.features.packed_features import (
    Cut,
    PackedFeatures,
    cut,
    packed,
)

__all__ = [
    "Cut",
    "PackedFeatures",
    "cut",
    "packed",
    "together",
]
