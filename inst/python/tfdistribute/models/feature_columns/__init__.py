"""Feature columns."""

from tfdistribute.models.feature_columns import categorical, crossed, dense, numeric

__all__ = ["categorical", "crossed", "dense", "numeric"]
