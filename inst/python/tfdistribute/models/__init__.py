"""Models: feature columns, optimizers and canned Estimators, as plain values that can be built."""

from tfdistribute.models import (
    canned_baseline,
    canned_combined,
    canned_dnn,
    canned_linear,
    custom,
    feature_columns_categorical,
    feature_columns_crossed,
    feature_columns_dense,
    feature_columns_numeric,
    keras_model,
    wrapped,
)
from tfdistribute.models.description import Model
from tfdistribute.models.feature_columns import FeatureColumn, Need, safe_key
from tfdistribute.models.initializers import Initializer
from tfdistribute.models.optimizers import Optimizer
from tfdistribute.models.parsing import labelled_spec
from tfdistribute.models.serving import examples_receiver, tensors_receiver
from tfdistribute.models.warm_start import WarmStart
from tfdistribute.models.wrapped import Wrapped

# Importing a module registers its members with their family.
MEMBERS = (
    canned_baseline,
    canned_combined,
    canned_dnn,
    canned_linear,
    custom,
    feature_columns_categorical,
    feature_columns_crossed,
    feature_columns_dense,
    feature_columns_numeric,
    keras_model,
    wrapped,
)

__all__ = [
    "MEMBERS",
    "FeatureColumn",
    "Initializer",
    "Model",
    "Need",
    "Optimizer",
    "WarmStart",
    "Wrapped",
    "examples_receiver",
    "labelled_spec",
    "safe_key",
    "tensors_receiver",
]
