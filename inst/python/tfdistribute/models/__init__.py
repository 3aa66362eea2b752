"""Models: feature columns, optimizers and canned Estimators, as plain values that can be built."""

# Importing a module registers its members with their family.
from tfdistribute.models import canned, custom, feature_columns, keras, wrapped
from tfdistribute.models.description import Model
from tfdistribute.models.feature_columns.description import FeatureColumn, Need, safe_key
from tfdistribute.models.feature_columns.initializers import Initializer
from tfdistribute.models.optimizers import Optimizer
from tfdistribute.models.parsing import labelled_spec
from tfdistribute.models.serving import examples_receiver, tensors_receiver
from tfdistribute.models.warm_start import WarmStart
from tfdistribute.models.wrapped import Wrapped

__all__ = [
    "FeatureColumn",
    "Initializer",
    "Model",
    "Need",
    "Optimizer",
    "WarmStart",
    "Wrapped",
    "canned",
    "custom",
    "examples_receiver",
    "feature_columns",
    "keras",
    "labelled_spec",
    "safe_key",
    "tensors_receiver",
    "wrapped",
]
