"""Feature columns, one file per family."""

from tfdistribute.models.feature_columns import categorical, crossed, derived, numeric
