"""Feature columns, one file for each family of kinds."""

from tfdistribute.models.feature_columns import categorical, crossed, derived, numeric

__all__ = ["categorical", "crossed", "derived", "numeric"]
