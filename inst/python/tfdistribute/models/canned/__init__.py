"""TensorFlow's canned Estimators."""

from tfdistribute.models.canned import (
    baseline,
    combined,
    dnn,
    linear,
    tabular,
    tabular_classifier,
    trees,
)
